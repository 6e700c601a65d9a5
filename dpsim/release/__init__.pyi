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
from .support import (
    Support as Support,
    PrivatePairs as PrivatePairs,
    all_pairs as all_pairs,
    declared_graph as declared_graph,
    private_pairs as private_pairs,
    from_pairs as from_pairs,
    counts_on as counts_on,
    checked_table as checked_table,
    seen_pairs as seen_pairs,
)
from .chain import (
    PrivateChain as PrivateChain,
    release_chain as release_chain,
    held_limits as held_limits,
    in_words as in_words,
    replaced as replaced,
    unit_of as unit_of,
    RELEASED as RELEASED,
)
from .draws import (
    noisy_counts as noisy_counts,
)
from .estimate import (
    Estimate as Estimate,
    estimated as estimated,
    row_sums as row_sums,
)
from .files import (
    write_release as write_release,
    load_release as load_release,
    new_folder as new_folder,
    owner_folder as owner_folder,
)
from .owner import (
    counted as counted,
    compared as compared,
)
from .report import (
    page as page,
)
from .audit import (
    replicated as replicated,
    privacy_loss as privacy_loss,
    delta_lower_bound as delta_lower_bound,
)
from .intervals import (
    probability_intervals as probability_intervals,
    stationary_intervals as stationary_intervals,
    passage_intervals as passage_intervals,
    conditional_interval as conditional_interval,
)
from .budget import (
    Limit as Limit,
    spend as spend,
    spent as spent,
    composed as composed,
    covers as covers,
)
from .planning import (
    plan as plan,
    measured as measured,
    warnings as warnings,
)
from .inputs import (
    read_categories as read_categories,
    read_graph as read_graph,
    read_totals as read_totals,
)
from .command import (
    run as run,
    plan_lines as plan_lines,
)
from . import support as support, chain as chain, draws as draws, estimate as estimate, budget as budget
from . import intervals as intervals, planning as planning, owner as owner, report as report, files as files
from . import inputs as inputs, audit as audit, command as command
