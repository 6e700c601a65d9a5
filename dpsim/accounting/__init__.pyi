from .dirichlet import (
    exact_delta as exact_delta,
    log_exact_delta as log_exact_delta,
    exact_epsilon as exact_epsilon,
    privacy_floor as privacy_floor,
    calibrate_k as calibrate_k,
    renyi_divergence as renyi_divergence,
    posterior_delta as posterior_delta,
    log_posterior_delta as log_posterior_delta,
    posterior_epsilon as posterior_epsilon,
    posterior_floor as posterior_floor,
    calibrate_kappa as calibrate_kappa,
)
from .composition import (
    Composition as Composition,
    compose as compose,
    compose_posterior as compose_posterior,
)
from .units import (
    Unit as Unit,
    Noise as Noise,
    laplace_noise as laplace_noise,
    gaussian_noise as gaussian_noise,
    gaussian_delta_bound as gaussian_delta_bound,
    chosen_noise as chosen_noise,
    pair_threshold as pair_threshold,
    pair_delta as pair_delta,
    EVENT as EVENT,
    LAPLACE as LAPLACE,
    GAUSSIAN as GAUSSIAN,
)
from .noise import (
    gaussian_delta as gaussian_delta,
    laplace_delta as laplace_delta,
    gaussian_scale as gaussian_scale,
    laplace_scale as laplace_scale,
)
from .audit import (
    clopper_pearson as clopper_pearson,
    delta_bounds as delta_bounds,
    hockey_stick as hockey_stick,
    implied_delta as implied_delta,
    exceedances as exceedances,
)
from . import dirichlet as dirichlet, composition as composition, units as units, noise as noise, audit as audit
