from .mechanism import (
    privatize as privatize,
    privatize_word as privatize_word,
)
from .space import (
    ANYWHERE as ANYWHERE,
)
from .exact_epsilon import (
    WordEpsilon as WordEpsilon,
    exact_word_epsilon as exact_word_epsilon,
)
from .automaton import (
    HammingAutomaton as HammingAutomaton,
    alphabet_counts as alphabet_counts,
)
from .selection import (
    MECHANISMS as MECHANISMS,
    expected_error as expected_error,
    least_expected_error as least_expected_error,
    permute_and_flip_pmf as permute_and_flip_pmf,
    exponential_pmf as exponential_pmf,
    log_word_probability as log_word_probability,
    best_offset as best_offset,
    draw_distances as draw_distances,
    expected_error_bounds as expected_error_bounds,
    expected_error_floor as expected_error_floor,
    reduction_limit as reduction_limit,
    error_reduction as error_reduction,
    tail_bound as tail_bound,
)
from . import (
    mechanism as mechanism,
    space as space,
    exact_epsilon as exact_epsilon,
    automaton as automaton,
    selection as selection,
    suffix_tables as suffix_tables,
    normaliser_bound as normaliser_bound,
    pair_search as pair_search,
)
