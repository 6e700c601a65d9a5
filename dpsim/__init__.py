"""Mechanisms, exact privacy and bounds for differentially private Markov chains.

    words, boltzmann     private words, trips and histograms
    dirichlet, mdp       private probabilities, transition matrices and plans
    accounting           the exact epsilon of these mechanisms, alone or composed
    markov               stationary distributions and walks of Markov chains
    numerics             functions that stay accurate where the usual formulas fail
    datasets             the tables that the papers use, or stand-ins for them
    ledger               the papers' claims beside our numbers
    figures              the common style, maps, graphs and interactive charts
    runner               runs of the notebooks, as `dpsim run` makes them

`dpsim.words.privatize` and its namesakes in `boltzmann`, `dirichlet` and `mdp` make a
private release in one call. `dpsim.load_release` reads a release that somebody has
published. A subpackage is imported when it is first used, so `import dpsim` is fast.
"""

from dpsim.faces import attach as _attach

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
