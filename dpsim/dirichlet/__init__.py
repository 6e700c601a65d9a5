"""The Dirichlet mechanism for probability vectors and transition matrices."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
