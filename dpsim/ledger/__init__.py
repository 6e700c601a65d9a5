"""The papers' claims beside our numbers, each claim with a verdict that follows from a
stated rule."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
