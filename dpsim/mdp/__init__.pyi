from .model import (
    MDP as MDP,
    random_mdp as random_mdp,
    startup_mdp as startup_mdp,
    STARTUP_STATES as STARTUP_STATES,
    STARTUP_ACTIONS as STARTUP_ACTIONS,
)
from .planning import (
    synthesize as synthesize,
    evaluate as evaluate,
    iterations_needed as iterations_needed,
)
from .privacy import (
    privatize as privatize,
    value_bounds as value_bounds,
    cost_of_privacy as cost_of_privacy,
)
from .concentration import (
    concentration_radius as concentration_radius,
    deviation_probability as deviation_probability,
)
from .inner_problem import (
    extreme_values as extreme_values,
)
from . import (
    model as model,
    planning as planning,
    privacy as privacy,
    concentration as concentration,
    inner_problem as inner_problem,
)
