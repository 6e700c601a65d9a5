from .private_word import (
    privatize as privatize,
)
from .exact_epsilon import (
    exact_word_epsilon as exact_word_epsilon,
)
from .automaton import (
    HammingAutomaton as HammingAutomaton,
    alphabet_counts as alphabet_counts,
    chain_counts as chain_counts,
)
from .permute_and_flip import (
    pmf as pmf,
    expected_error as expected_error,
    draw_distances as draw_distances,
)
from .least_error import (
    least_expected_error as least_expected_error,
    least_mean_error as least_mean_error,
)
from . import (
    private_word as private_word,
    candidates as candidates,
    exact_epsilon as exact_epsilon,
    automaton as automaton,
    permute_and_flip as permute_and_flip,
    least_error as least_error,
    normaliser_bound as normaliser_bound,
)
