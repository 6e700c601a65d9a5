"""Runs notebooks, each in its own process, also with other parameters or over a grid of
parameter values."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
