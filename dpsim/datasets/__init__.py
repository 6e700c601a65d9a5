"""The papers' tables, the data sets behind them, and where each of them comes from."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
