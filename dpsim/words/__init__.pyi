from .mechanism import (
    privatize_word as privatize_word,
)
from .selection import (
    log_word_probability as log_word_probability,
    permute_and_flip_pmf as permute_and_flip_pmf,
    exponential_pmf as exponential_pmf,
    staircase_pmf as staircase_pmf,
    best_offset as best_offset,
    expected_error as expected_error,
    expected_error_bounds as expected_error_bounds,
    expected_error_floor as expected_error_floor,
    reduction_limit as reduction_limit,
    error_reduction as error_reduction,
    tail_bound as tail_bound,
    draw_distances as draw_distances,
    log_integrals as log_integrals,
    least_expected_error as least_expected_error,
    MECHANISMS as MECHANISMS,
)
from .exact_epsilon import (
    WordEpsilon as WordEpsilon,
    exact_word_epsilon as exact_word_epsilon,
)
from .automaton import (
    alphabet_counts as alphabet_counts,
    log_integers as log_integers,
    HammingAutomaton as HammingAutomaton,
)
from .space import (
    Chain as Chain,
    successors as successors,
    WordSpace as WordSpace,
    word_space as word_space,
)
from .suffix_tables import (
    log_counts_of_words as log_counts_of_words,
    log_normalisers as log_normalisers,
    start_log_counts as start_log_counts,
    suffix_table as suffix_table,
    sample_chain as sample_chain,
    tilted_table as tilted_table,
    sample_tilted as sample_tilted,
    chain_policy as chain_policy,
)
from .normaliser_bound import (
    NormaliserRatio as NormaliserRatio,
    Side as Side,
    Window as Window,
    normaliser_ratio as normaliser_ratio,
)
from .pair_search import (
    Law as Law,
    random_pairs as random_pairs,
    search as search,
)
from . import (
    mechanism as mechanism,
    selection as selection,
    exact_epsilon as exact_epsilon,
    automaton as automaton,
    space as space,
    suffix_tables as suffix_tables,
    normaliser_bound as normaliser_bound,
    pair_search as pair_search,
)
