from .support import (
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
    held_limits as held_limits,
    in_words as in_words,
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
    replicated_events as replicated_events,
    released_rows as released_rows,
    telling as telling,
    audited as audited,
)
from .inputs import (
    Input as Input,
    read_categories as read_categories,
    read_graph as read_graph,
)
from .command import (
    run as run,
)
from . import support as support, chain as chain, draws as draws, estimate as estimate
from . import owner as owner, report as report
from . import inputs as inputs, files as files, audit as audit, command as command
