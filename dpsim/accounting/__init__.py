"""Exact epsilon and delta, composition, the scale of noise, and bounds by sampling."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
