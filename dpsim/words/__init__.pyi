from .private_word import (
    privatize as privatize,
)
from .exact_epsilon import (
    exact_word_epsilon as exact_word_epsilon,
    word_epsilon_bounds as word_epsilon_bounds,
)
from .automaton import (
    HammingAutomaton as HammingAutomaton,
    alphabet_counts as alphabet_counts,
    chain_counts as chain_counts,
)
from .distances import (
    pmf as pmf,
    expected_error as expected_error,
    expected_error_bounds as expected_error_bounds,
    expected_error_floor as expected_error_floor,
    least_expected_error as least_expected_error,
    least_mean_error as least_mean_error,
    reduction_limit as reduction_limit,
    draw_distances as draw_distances,
)
from . import (
    private_word as private_word,
    space as space,
    exact_epsilon as exact_epsilon,
    automaton as automaton,
    distances as distances,
    normaliser_bound as normaliser_bound,
)
