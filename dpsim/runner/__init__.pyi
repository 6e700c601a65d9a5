from .parameters import (
    Parameter as Parameter,
    notebook_parameters as notebook_parameters,
    notebook_path as notebook_path,
    parse as parse,
    resolve as resolve,
)
from .keys import (
    key as key,
)
from .schedule import (
    Job as Job,
    Outcome as Outcome,
    Status as Status,
    plan as plan,
    is_current as is_current,
    run as run,
)
from .sweep import (
    points as points,
    run_grid as run_grid,
)
from .refresh import (
    clean as clean,
    cell_metadata as cell_metadata,
    refreshed as refreshed,
    refresh_outputs as refresh_outputs,
)
from .diff import (
    folder as folder,
    numbers as numbers,
    values as values,
    tables as tables,
    describe as describe,
)
from .nbfiles import (
    read as read,
    text as text,
    write as write,
)
from . import (
    parameters as parameters,
    keys as keys,
    schedule as schedule,
    sweep as sweep,
    refresh as refresh,
    diff as diff,
    nbfiles as nbfiles,
)
