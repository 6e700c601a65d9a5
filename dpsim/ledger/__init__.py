"""The papers' claims beside our numbers, each claim with a verdict that follows from a
stated rule."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
