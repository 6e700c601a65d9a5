from .private_matrix import (
    privatize as privatize,
    noisy_matrix as noisy_matrix,
)
from .mechanism import (
    dirichlet_mechanism as dirichlet_mechanism,
)
from .theorem1 import (
    theorem1_vector_epsilon as theorem1_vector_epsilon,
    theorem1_delta_bounds as theorem1_delta_bounds,
    leaving_probability as leaving_probability,
    extreme_points as extreme_points,
    delta_monte_carlo as delta_monte_carlo,
)
from .accuracy import (
    expected_kl as expected_kl,
    expected_kl_bound as expected_kl_bound,
    expected_chain_kl as expected_chain_kl,
    expected_absolute_error as expected_absolute_error,
    expected_absolute_error_bound as expected_absolute_error_bound,
    log_absolute_error_lower_bound as log_absolute_error_lower_bound,
    monte_carlo_error as monte_carlo_error,
)
from .matrix import (
    theorem1_matrix_epsilon as theorem1_matrix_epsilon,
)
from .from_counts import (
    rows as rows,
    private_counts as private_counts,
    row_privacy as row_privacy,
    posterior_absolute_error as posterior_absolute_error,
)
from .stationary_bounds import (
    mean_kl_bound as mean_kl_bound,
    stationary_bound as stationary_bound,
    ergodicity_bound as ergodicity_bound,
    matrix_dirichlet_bound as matrix_dirichlet_bound,
)
from . import (
    mechanism as mechanism,
    theorem1 as theorem1,
    accuracy as accuracy,
    matrix as matrix,
    from_counts as from_counts,
    stationary_bounds as stationary_bounds,
    private_matrix as private_matrix,
)
