from .unit import (
    Unit as Unit,
)
from .discrete_laplace import (
    Noise as Noise,
    laplace_noise as laplace_noise,
    noisy_counts as noisy_counts,
    pair_threshold as pair_threshold,
)
from .table import (
    Counts as Counts,
    count_transitions as count_transitions,
    count_trajectories as count_trajectories,
)
from .sources import (
    read as read,
)
from .support import (
    declare as declare,
    Support as Support,
    all_pairs as all_pairs,
    declared_graph as declared_graph,
    private_pairs as private_pairs,
    counts_on as counts_on,
)
from .chain import (
    PrivateChain as PrivateChain,
    release_chain as release_chain,
)
from .estimate import (
    estimate_chain as estimate_chain,
)
from .release_folder import (
    load as load,
)
from .budget import (
    Limit as Limit,
)
from .expected_error import (
    plan as plan,
)
from .options import (
    Options as Options,
    ReleaseOptions as ReleaseOptions,
)
from .private_chain import (
    privatize as privatize,
)
from . import times as times
