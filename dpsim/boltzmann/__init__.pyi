from .private_histogram import (
    privatize as privatize,
)
from .sampling import (
    metropolis as metropolis,
    sample_exact as sample_exact,
)
from .distribution import (
    objective as objective,
    log_stationary as log_stationary,
)
from .epsilon import (
    sensitivity as sensitivity,
    epsilon_bound as epsilon_bound,
    exact_epsilon_limit as exact_epsilon_limit,
    epsilon_at_delta as epsilon_at_delta,
)
from .mixing import (
    mixing_bound as mixing_bound,
    mixing_delta as mixing_delta,
    metropolis_matrix as metropolis_matrix,
    k_step_distribution as k_step_distribution,
)
from .histograms import (
    configurations as configurations,
    configuration_index as configuration_index,
)
from .zero_sum_noise import (
    add_zero_sum_laplace as add_zero_sum_laplace,
    nearest_histogram as nearest_histogram,
)
from . import (
    private_histogram as private_histogram,
    distribution as distribution,
    sampling as sampling,
    epsilon as epsilon,
    mixing as mixing,
    histograms as histograms,
    zero_sum_noise as zero_sum_noise,
)
