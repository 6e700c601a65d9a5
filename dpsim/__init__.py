"""Mechanisms, exact privacy and bounds for differentially private Markov chains.

The subpackages are imported when they are first used, so `import dpsim` is fast.
"""

import lazy_loader as _lazy

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
