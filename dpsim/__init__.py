"""dpsim: mechanisms, accounting and bounds for a living compendium of private Markov chains.

The subpackages load when they are first used, so that `import dpsim` takes almost no time.
"""

import lazy_loader as _lazy

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
