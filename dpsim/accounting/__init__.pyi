from .exact import (
    exact_delta as exact_delta,
    exact_epsilon as exact_epsilon,
    calibrate_k as calibrate_k,
    privacy_floor as privacy_floor,
    calibrate_kappa as calibrate_kappa,
    posterior_floor as posterior_floor,
)
from .composition import (
    compose as compose,
)
from .noise_scales import (
    gaussian_scale as gaussian_scale,
    laplace_scale as laplace_scale,
)
from .audit import (
    delta_bounds as delta_bounds,
)
from . import (
    composition as composition,
    exact as exact,
    noise_scales as noise_scales,
    audit as audit,
)
