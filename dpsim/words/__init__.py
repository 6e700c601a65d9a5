"""Private words by permute-and-flip over an automaton and by other mechanisms."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
