"""Runs notebooks with papermill, each in its own process, and handles their parameters, the keys of their runs, and
grids."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
