from .runs import (
    Run as Run,
    plan_runs as plan_runs,
    run as run,
)
from .grid import (
    gather as gather,
    plan_grid as plan_grid,
    run_on_cluster as run_on_cluster,
)
from . import (
    grid as grid,
    keys as keys,
    runs as runs,
)
