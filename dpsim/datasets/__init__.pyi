from .tables import (
    checksums as checksums,
    read_bytes as read_bytes,
    read_table as read_table,
    load_sources as load_sources,
    load_grades as load_grades,
)
from .taxi import (
    load_taxi_zones as load_taxi_zones,
    load_zone_adjacency as load_zone_adjacency,
    load_taxi_trips as load_taxi_trips,
    known_zones as known_zones,
    counts_matrix as counts_matrix,
    merge_zones as merge_zones,
)
from .roads import (
    RoadChain as RoadChain,
    load_gainesville as load_gainesville,
    ETA as ETA,
    ETA_BAR as ETA_BAR,
)
from .spill import connect as connect
from .sources import open_events as open_events
from .events import (
    count_transitions as count_transitions,
    count_trajectories as count_trajectories,
    distinct_labels as distinct_labels,
    in_order as in_order,
    as_declared as as_declared,
    positions as positions,
)
from .limits import (
    Limits as Limits,
)
from .fetch import (
    Expected as Expected,
    Month as Month,
    folder as folder,
    counts_file as counts_file,
    fetch_taxi_month as fetch_taxi_month,
)
from . import (
    tables as tables,
    taxi as taxi,
    roads as roads,
    events as events,
    sources as sources,
    spill as spill,
    fetch as fetch,
)
