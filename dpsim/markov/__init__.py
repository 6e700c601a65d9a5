"""Finite Markov chains: stationary distributions, coefficients and random walks."""

from dpsim.faces import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
