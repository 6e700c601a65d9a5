"""Runs notebooks with papermill, each in its own process: their parameters, keys of runs, and grids of parameters."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
