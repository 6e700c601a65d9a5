"""The common style of all figures, with maps, graphs, and interactive charts that need no running kernel."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
