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
    counts_file as counts_file,
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
from .fetch import (
    Month as Month,
    fetch_taxi_month as fetch_taxi_month,
)
from . import (
    tables as tables,
    taxi as taxi,
    roads as roads,
    fetch as fetch,
)
