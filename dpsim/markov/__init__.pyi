from .stationary import (
    transition_matrix as transition_matrix,
    stationary_distribution as stationary_distribution,
)
from .sparse import (
    stationary_error as stationary_error,
)
from .walks import (
    random_walk as random_walk,
)
from .coefficients import (
    total_variation as total_variation,
    ergodicity_coefficient as ergodicity_coefficient,
    half_row_distance as half_row_distance,
    fundamental_matrix as fundamental_matrix,
)
