from .mechanism import (
    privatize as privatize,
    metropolis as metropolis,
)
from .exact_sampling import (
    sample_exact as sample_exact,
)
from .mechanism import (
    sensitivity as sensitivity,
    epsilon_bound as epsilon_bound,
    objective as objective,
    log_stationary as log_stationary,
)
from .limit import (
    exact_epsilon_limit as exact_epsilon_limit,
    epsilon_at_delta as epsilon_at_delta,
    delta_at_epsilon as delta_at_epsilon,
    expected_objective as expected_objective,
)
from .mixing import (
    MixingDelta as MixingDelta,
    mixing_delta as mixing_delta,
    transition_matrix as transition_matrix,
    k_step_law as k_step_law,
)
from .mechanism import (
    running_objective as running_objective,
    stopping_times as stopping_times,
)
from .space import (
    configurations as configurations,
    configuration_index as configuration_index,
)
from .noise import (
    add_zero_sum_laplace as add_zero_sum_laplace,
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
