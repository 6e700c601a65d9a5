from .model import (
    MDP as MDP,
    startup_mdp as startup_mdp,
    STARTUP_STATES as STARTUP_STATES,
    STARTUP_ACTIONS as STARTUP_ACTIONS,
    random_mdp as random_mdp,
)
from .private_model import (
    privatize as privatize,
    perturb as perturb,
    perturb_with_noise as perturb_with_noise,
)
from .planning import (
    synthesize as synthesize,
    evaluate as evaluate,
    iterations_needed as iterations_needed,
)
from .bounds import (
    value_bounds as value_bounds,
    cost_of_privacy as cost_of_privacy,
)
from .concentration import (
    concentration_radius as concentration_radius,
)
from . import (
    model as model,
    private_model as private_model,
    planning as planning,
    concentration as concentration,
    bounds as bounds,
)
