"""dpsim: mechanisms, accounting and bounds behind a living compendium of private Markov chains.

One idea per module; a notebook imports the module it speaks of. Nothing is imported here, so that a small
script does not pay for the plotting stack.
"""

__version__ = "0.1.0"
