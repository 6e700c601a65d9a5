"""Privacy accounting: exact epsilon and delta, composition, the scales of noise, and audits by random draws."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
