from .chain import (
    Support as Support,
    PrivateChain as PrivateChain,
    all_pairs as all_pairs,
    declared_graph as declared_graph,
    counts_on as counts_on,
    release_chain as release_chain,
    release_papers_chain as release_papers_chain,
    OBSERVED as OBSERVED,
    SIMULATION as SIMULATION,
)
from .draws import (
    Source as Source,
    log_gamma as log_gamma,
    dirichlet_rows as dirichlet_rows,
    noisy_totals as noisy_totals,
    chosen_labels as chosen_labels,
)
from .files import (
    write_release as write_release,
    new_folder as new_folder,
    side_car as side_car,
    utility_table as utility_table,
    report as report,
    owner_utility as owner_utility,
)
from .audit import (
    replicated_events as replicated_events,
    released_rows as released_rows,
    telling as telling,
    audited as audited,
)
from .command import (
    run as run,
    read_categories as read_categories,
    read_graph as read_graph,
)
from . import chain as chain, draws as draws, files as files, audit as audit, command as command
