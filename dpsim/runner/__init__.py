"""Runs notebooks, each in its own process, with other parameters or over a grid of
them."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
