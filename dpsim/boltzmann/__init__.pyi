from .mechanism import (
    objective as objective,
    log_stationary as log_stationary,
    sensitivity as sensitivity,
    epsilon_bound as epsilon_bound,
    metropolis as metropolis,
    running_objective as running_objective,
    stopping_times as stopping_times,
)
from .exact_sampling import (
    sample_exact as sample_exact,
    tilted_tables as tilted_tables,
)
from .limit import (
    expected_objective as expected_objective,
    log_normalisers as log_normalisers,
    partial_sums as partial_sums,
    exact_epsilon_limit as exact_epsilon_limit,
    scaled_points as scaled_points,
    delta_at_epsilon as delta_at_epsilon,
    epsilon_at_delta as epsilon_at_delta,
)
from .mixing import (
    MixingDelta as MixingDelta,
    transition_matrix as transition_matrix,
    k_step_law as k_step_law,
    spectral_gap as spectral_gap,
    mixing_delta as mixing_delta,
)
from .space import (
    histogram as histogram,
    weight_matrix as weight_matrix,
    temperature as temperature,
    diagonal_exponents as diagonal_exponents,
    configurations as configurations,
    configuration_index as configuration_index,
    ordered_pairs as ordered_pairs,
    after_move as after_move,
    refuse_beyond as refuse_beyond,
)
from .noise import (
    add_discrete_laplace as add_discrete_laplace,
    add_discrete_gaussian as add_discrete_gaussian,
    discrete_gaussian_delta as discrete_gaussian_delta,
    calibrate_sigma as calibrate_sigma,
    nearest_histogram as nearest_histogram,
)
from . import (
    mechanism as mechanism,
    exact_sampling as exact_sampling,
    limit as limit,
    mixing as mixing,
    space as space,
    noise as noise,
)
