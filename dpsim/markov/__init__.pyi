from .stationary import (
    transition_matrix as transition_matrix,
    stationary_distribution as stationary_distribution,
)
from .walks import (
    random_walk as random_walk,
)
from .coefficients import (
    total_variation as total_variation,
    ergodicity_coefficient as ergodicity_coefficient,
    fundamental_matrix as fundamental_matrix,
)
