"""Exact epsilon and delta, composition, the scale of noise, and bounds by sampling."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
