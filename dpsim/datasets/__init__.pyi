from .csv_files import (
    load_grades as load_grades,
)
from .taxi import (
    load_taxi_zones as load_taxi_zones,
    load_zone_adjacency as load_zone_adjacency,
    load_taxi_trips as load_taxi_trips,
    trips_label as trips_label,
    known_trips as known_trips,
    counts_matrix as counts_matrix,
    merge_zones as merge_zones,
    MERGE_RULES as MERGE_RULES,
)
from .roads import (
    load_gainesville as load_gainesville,
    onward_drives as onward_drives,
)
from . import (
    csv_files as csv_files,
    taxi as taxi,
    roads as roads,
    taxi_month as taxi_month,
    download as download,
)
