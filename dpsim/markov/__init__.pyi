from .stationary import (
    transition_matrix as transition_matrix,
    stationary_distribution as stationary_distribution,
)
from .sparse import (
    canonical as canonical,
    stochastic as stochastic,
    classes as classes,
    refuse_reducible as refuse_reducible,
    sparse_stationary as sparse_stationary,
    stationary_error as stationary_error,
    sparse_ergodicity_coefficient as sparse_ergodicity_coefficient,
)
from .coefficients import (
    total_variation as total_variation,
    ergodicity_coefficient as ergodicity_coefficient,
    half_row_distance as half_row_distance,
    fundamental_matrix as fundamental_matrix,
)
from .walks import (
    random_walk as random_walk,
)
from . import stationary as stationary, sparse as sparse, coefficients as coefficients, walks as walks
