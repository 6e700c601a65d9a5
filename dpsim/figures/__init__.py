"""The common style of figures, and functions that plot maps, graphs and charts."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
