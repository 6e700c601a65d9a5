from .unit import (
    Unit as Unit,
)
from .counts import (
    Counts as Counts,
)
from .noise import (
    Noise as Noise,
    laplace_noise as laplace_noise,
    pair_threshold as pair_threshold,
)
from .table import (
    count_transitions as count_transitions,
    count_trajectories as count_trajectories,
)
from .sources import (
    read as read,
)
from .labels import (
    positions as positions,
)
from .support import (
    declared as declared,
    Support as Support,
    PrivatePairs as PrivatePairs,
    all_pairs as all_pairs,
    declared_graph as declared_graph,
    private_pairs as private_pairs,
    from_pairs as from_pairs,
    counts_on as counts_on,
    seen_pairs as seen_pairs,
)
from .chain import (
    PrivateChain as PrivateChain,
    release_chain as release_chain,
)
from .draws import (
    noisy_counts as noisy_counts,
)
from .estimate import (
    Estimate as Estimate,
    estimated as estimated,
)
from .files import (
    prepared as prepared,
    load_release as load_release,
)
from .owner import (
    compared as compared,
    told as told,
)
from .budget import (
    Limit as Limit,
    spend as spend,
)
from .planning import (
    plan as plan,
)
from .command import (
    privatize as privatize,
    run as run,
    plan_lines as plan_lines,
)
from . import table as table, times as times, support as support, chain as chain, draws as draws, budget as budget
from . import estimate as estimate, intervals as intervals, planning as planning, owner as owner, report as report
from . import files as files, command as command
