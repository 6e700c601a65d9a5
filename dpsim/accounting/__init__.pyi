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
    Plan as Plan,
    unit_epsilon as unit_epsilon,
    calibrate as calibrate,
    row_error_bound as row_error_bound,
    plan as plan,
    events_needed as events_needed,
    EVENT as EVENT,
)
from .noise import (
    laplace_delta as laplace_delta,
    gaussian_scale as gaussian_scale,
    laplace_scale as laplace_scale,
)
from .audit import (
    clopper_pearson as clopper_pearson,
    delta_bounds as delta_bounds,
)
from . import dirichlet as dirichlet, composition as composition, units as units, noise as noise, audit as audit
