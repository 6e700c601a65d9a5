"""The tables in data/, checked byte for byte when read, and the Markov chains and counts made of them.

The folder is the project's (dpsim.project), so this works from a clone (installed editable), not from a wheel.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from dpsim import checks, project, simplex
from dpsim.events import count_transitions as count_transitions  # where the design looks for it

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

TRIP_COLUMNS = ("origin", "destination", "trips")
MERGE_RULES = ("fewest departures", "busiest neighbour", "rarest trip")
# The border of the simplex in Fallin et al. 2023, Section V.
ETA, ETA_BAR = 0.10, 0.051


def checksums() -> dict[str, str]:
    """Return the sha256 of every table, by its path relative to data/.

    Raises ValueError when there is no data/ beside the package.
    """
    listing = project.data() / "checksums.txt"
    if not listing.is_file():
        raise ValueError(
            f"{listing} is missing: dpsim reads its tables from the clone it is installed from; "
            "run `pip install -e .` there, or restore the folder with `git checkout -- data`"
        )
    lines = listing.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line.strip())
    return {name.strip(): digest for digest, name in pairs}


def read_bytes(name: str) -> bytes:
    """Return the contents of one table of data/ ("nyc/zones.geojson" say) once its sha256 is right.

    Raises ValueError for a name without checksum, and for a missing or damaged file, with the remedy.
    """
    recorded = checksums()
    checks.choice("name", name, recorded)
    remedy = f"restore it with `git checkout -- data/{name}`"
    try:
        contents = (project.data() / name).read_bytes()
    except OSError as error:
        raise ValueError(f"data/{name} cannot be read ({error.strerror}): {remedy}") from error
    if hashlib.sha256(contents).hexdigest() != recorded[name]:
        raise ValueError(
            f"data/{name} is damaged or changed (its sha256 is not the one in data/checksums.txt): {remedy}, "
            "or renew its line there if the change is meant"
        )
    return contents


def read_table(name: str) -> pd.DataFrame:
    """Return one csv table of data/, its checksum verified. Raises ValueError like `read_bytes`."""
    return pd.read_csv(io.BytesIO(read_bytes(name)))


def load_sources() -> pd.DataFrame:
    """Return columns file, contents, source, licence, sha256 (as recorded), status: one row for each table.

    status: "intact", or what is wrong with the file and what to do. Raises ValueError when sources.csv itself,
    or the list of checksums, is missing or damaged.
    """
    sources = read_table("sources.csv")
    recorded = checksums()
    return sources.assign(
        sha256=[recorded[name] for name in sources["file"]], status=[_status(name) for name in sources["file"]]
    )


def _status(name: str) -> str:
    try:
        read_bytes(name)
    except ValueError as error:
        return str(error)
    return "intact"


def load_grades() -> pd.DataFrame:
    """Return columns grade (A, B, C, D, F) and students (98 in all): Benvenuti et al. 2026, Section 6.1."""
    return read_table("grades/calculus_1.csv")


def load_taxi_zones() -> Any:
    """Return a GeoDataFrame: zone (id, ascending), name, geometry (longitude and latitude in degrees)."""
    import geopandas  # slow to import, and most users of this module need no shapes

    zones = geopandas.read_file(io.BytesIO(read_bytes("nyc/zones.geojson")))
    return zones.astype({"zone": np.int64}).sort_values("zone", ignore_index=True)


def load_zone_adjacency() -> Mask:
    """Return (63, 63) symmetric booleans: which zones touch, in the order of load_taxi_zones."""
    zones = pd.Index(load_taxi_zones()["zone"])
    pairs = read_table("nyc/zone_adjacency.csv")
    one, other = zones.get_indexer(pairs["zone"]), zones.get_indexer(pairs["neighbour"])
    touches = np.zeros((len(zones), len(zones)), dtype=bool)
    touches[one, other] = touches[other, one] = True
    return touches


def load_taxi_trips(source: str | os.PathLike[str] = "surrogate") -> pd.DataFrame:
    """Return columns origin, destination, trips: one row for each pair of zones, trips whole and >= 0.

    source: "surrogate" for the table in data/ (see data/README.md; what is drawn from it says "surrogate"),
    "official" for the month that `dpsim data fetch` has downloaded and counted (63 zones), or the path of a
    csv or parquet table with these three columns; its other columns are dropped, zones may
    be integers or words. Raises ValueError naming the file, the column and the values when a column or a
    label is missing, a number of trips is negative or not whole, a pair occurs twice, or there is no row.
    """
    if source == "surrogate":
        return read_table("nyc/od_surrogate_2025-01.csv")
    if source == "official":
        from dpsim import fetch  # which needs this module

        source = fetch.counts_file()
        if not source.is_file():
            raise ValueError(
                'source "official" is not available yet: run `dpsim data fetch` first, or give "surrogate" or the '
                "path of a .csv or .parquet table"
            )
    path = Path(source)
    table = _read_user_table(path)
    missing = [column for column in TRIP_COLUMNS if column not in table.columns]
    if missing:
        raise ValueError(f"{path}: column {missing[0]} is missing, the table has {', '.join(map(str, table.columns))}")
    if table.empty:
        raise ValueError(f"{path}: the table has no rows, it must have at least one")
    table = pd.DataFrame(
        {
            "origin": _labels(path, "origin", table["origin"]),
            "destination": _labels(path, "destination", table["destination"]),
            "trips": _whole_numbers(path, "trips", table["trips"]),
        }
    )
    if table["origin"].dtype.kind != table["destination"].dtype.kind:
        raise ValueError(
            f"{path}: origin and destination must both be integers or both words, got "
            f"{table['origin'].iloc[0]!r} and {table['destination'].iloc[0]!r}"
        )
    twice = table.duplicated(["origin", "destination"])
    if twice.any():
        origin, destination = table.loc[twice, ["origin", "destination"]].iloc[0]
        raise ValueError(f"{path}: origin {origin}, destination {destination} must occur once, got two rows or more")
    return table


def counts_matrix(trips: pd.DataFrame, zones: Sequence[Any] | ArrayLike) -> Integers:
    """Return the (n, n) counts of trips from zones[i] to zones[j], zero for pairs without a row.

    trips: a table as load_taxi_trips returns it. zones: n distinct labels.
    Raises ValueError for another table, for repeated zones and for a trip whose end is not among them.
    """
    if not isinstance(trips, pd.DataFrame) or not set(TRIP_COLUMNS) <= set(trips.columns):
        raise ValueError(f"trips must be a table with columns {', '.join(TRIP_COLUMNS)}, got {type(trips).__name__}")
    index = pd.Index(zones)
    if not index.is_unique:
        raise ValueError(f"zones must be distinct, got {index[index.duplicated()][0]} more than once")
    ends = {}
    for column in ("origin", "destination"):
        ends[column] = index.get_indexer(trips[column])
        if (ends[column] < 0).any():
            stranger = trips[column][ends[column] < 0].iloc[0]
            raise ValueError(f"trips: {column} must be one of the {len(index)} zones, got {stranger}")
    counts = np.zeros((len(index), len(index)), dtype=np.int64)
    np.add.at(counts, (ends["origin"], ends["destination"]), trips["trips"].to_numpy(np.int64))
    return counts


def merge_zones(
    counts: ArrayLike, adjacency: ArrayLike, target: int, *, rule: str = "fewest departures"
) -> tuple[Integers, Integers]:
    """Return (merged, group): (target, target) counts between groups of zones, and each zone's group.

    Pairs of neighbours are joined one at a time until `target` groups are left; merged counts add up, trips
    within a group included. group (n,) has values 0..target-1, in the order of each group's lowest zone.
    Benvenuti et al. 2026 (Supplement E) merge zones with little data into adjacent ones without giving the
    rule; ours is "fewest departures":
      "fewest departures"  the group with the fewest departures joins its neighbour with the fewest;
      "busiest neighbour"  the same group joins its neighbour with the most departures;
      "rarest trip"        the group with the smallest positive count (at equal counts, with the fewest
                           departures), where epsilon is largest, joins its neighbour with the fewest.
    Further ties go to the lowest zone. counts: (n, n) non-negative integers, row = origin; adjacency: (n, n)
    symmetric booleans. Raises ValueError when shapes or values do not fit and when target is not between the
    number of connected components of the adjacency and n.
    """
    rule = checks.choice("rule", rule, MERGE_RULES)
    merged, touches = _square_counts(counts), _square_adjacency(adjacency)
    n = len(merged)
    if len(touches) != n:
        raise ValueError(f"adjacency must have the shape of counts {merged.shape}, got {touches.shape}")
    target = checks.integer("target", target, connected_components(touches, directed=False)[0] or 1, n)

    group = np.arange(n)  # each zone's group, named by its lowest zone
    for _ in range(n - target):
        leaving, joined = _next_pair(merged, touches, np.unique(group), rule)
        low, high = sorted((leaving, joined))
        merged[low] += merged[high]
        merged[:, low] += merged[:, high]
        touches[low] |= touches[high]
        touches[:, low] |= touches[:, high]
        touches[low, low] = False
        for array in (merged, touches):  # the row and column given up must not count any more
            array[high], array[:, high] = 0, 0
        group[group == high] = low
    alive, label = np.unique(group, return_inverse=True)
    return merged[np.ix_(alive, alive)], label


@dataclass(frozen=True, eq=False)
class RoadChain:
    """A Markov chain over the n road segments round the University of Florida; n = 43, or 32 for the core.

    segments       columns segment, street, from_node, to_node, fdot_roadway, miles, aadt_2022 (vehicles per
                   day); row i is state i
    intersections  columns node, name, lat, lon (degrees)
    adjacency      (n, n) booleans, True where the chain may go from i to j
    traffic_matrix (n, n), P_ij proportional to the traffic of j over the j allowed from i; reversible
    stationary     (n,), the stationary distribution of traffic_matrix, in closed form
    transition_matrix  (n, n), for the core traffic_matrix with each row projected on the bordered simplex
                   (ETA, ETA_BAR; no longer reversible), else traffic_matrix itself
    largest_change the largest |transition_matrix - traffic_matrix| over the entries
    trip           states of the sensitive trip: trip[0] the start, trip[1:] the word of 14 letters (13 in the
                   core, which lacks the last segment)
    """

    segments: pd.DataFrame
    intersections: pd.DataFrame
    adjacency: Mask
    traffic_matrix: Array
    stationary: Array
    transition_matrix: Array
    largest_change: float
    trip: Integers


def load_gainesville(core: bool = False) -> RoadChain:
    """Return the Gainesville chain: 43 segments (Benvenuti et al. 2026, permute-and-flip) or the core of 32.

    core=False: transitions to every segment that shares an intersection, itself excluded. core=True (Fallin
    et al. 2023, Section V): itself included, so that each row has at least three entries, and each row
    projected (Euclidean, on its support) on the bordered simplex with W_i all but its smallest entry.
    Raises ValueError when a file is missing or damaged.
    """
    segments = read_table("gainesville/segments.csv")
    if core:
        segments = segments[segments["core"] == 1].reset_index(drop=True)
    start, end = (segments[column].to_numpy(object) for column in ("from_node", "to_node"))
    adjacency = np.logical_or.reduce([a[:, None] == b for a in (start, end) for b in (start, end)]).astype(bool)
    np.fill_diagonal(adjacency, core)

    traffic = segments["aadt_2022"].to_numpy(float)
    flow = adjacency * traffic  # flow[i] sums to the traffic that can follow i
    matrix = flow / flow.sum(axis=1, keepdims=True)
    stationary = traffic * flow.sum(axis=1)
    projected = _bordered(matrix) if core else matrix
    order = segments["trip_position"].dropna().sort_values().index
    return RoadChain(
        segments=segments.drop(columns=["core", "trip_position"]),
        intersections=read_table("gainesville/intersections.csv"),
        adjacency=adjacency,
        traffic_matrix=matrix,
        stationary=stationary / stationary.sum(),
        transition_matrix=projected,
        largest_change=float(np.abs(projected - matrix).max()),
        trip=order.to_numpy(np.int64),
    )


def _bordered(matrix: Array) -> Array:
    protected = simplex.protected_entries(matrix)
    return simplex.project_to_bordered_simplex(
        matrix, eta=ETA, eta_bar=ETA_BAR, protected=protected, support=matrix > 0
    )


def _next_pair(counts: Integers, touches: Mask, alive: Integers, rule: str) -> tuple[int, int]:
    """Return the two groups to join next, among the groups that have a neighbour."""
    departures = counts.sum(axis=1)
    lonely = alive[touches[alive].any(axis=1)]
    rarest = np.where(counts[lonely] > 0, counts[lonely], np.iinfo(np.int64).max).min(axis=1)
    keys = (lonely, departures[lonely], rarest) if rule == "rarest trip" else (lonely, departures[lonely])
    leaving = lonely[np.lexsort(keys)[0]]
    near = np.flatnonzero(touches[leaving])
    sign = -1 if rule == "busiest neighbour" else 1
    return int(leaving), int(near[np.lexsort((near, sign * departures[near]))[0]])


def _square_counts(counts: ArrayLike) -> Integers:
    entries = checks.real("counts", counts, 0.0, 2.0**53)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1] or not entries.size:
        raise ValueError(f"counts must be a square matrix, got shape {entries.shape}")
    if (entries != np.floor(entries)).any():
        raise ValueError(f"counts must be integers, got {entries[entries != np.floor(entries)][0]:g}")
    return entries.astype(np.int64)


def _square_adjacency(adjacency: ArrayLike) -> Mask:
    touches = np.array(adjacency)
    if touches.dtype != bool or touches.ndim != 2 or touches.shape[0] != touches.shape[1]:
        raise ValueError(f"adjacency must be a square boolean matrix, got {touches.dtype} of shape {touches.shape}")
    if (touches != touches.T).any():
        i, j = np.argwhere(touches != touches.T)[0].tolist()
        raise ValueError(f"adjacency must be symmetric, got {touches[i, j]} at ({i}, {j}) and not at ({j}, {i})")
    np.fill_diagonal(touches, False)
    return touches


def _read_user_table(path: Path) -> pd.DataFrame:
    kinds = {".csv": _read_csv, ".parquet": pd.read_parquet}
    if path.suffix.lower() not in kinds:
        raise ValueError(f'source must be "surrogate" or the path of a .csv or .parquet table, got {str(path)!r}')
    if not path.is_file():
        raise ValueError(f"source: there is no file {str(path)!r}")
    try:
        return kinds[path.suffix.lower()](path)
    except (ValueError, OSError) as error:  # a parser's own message says where, but not which file
        raise ValueError(f"{path}: not a readable {path.suffix.lower()[1:]} table ({error})") from error


def _read_csv(path: Path) -> pd.DataFrame:
    # "N/A" and the like are legitimate names (a borough is called so): only an empty field is missing.
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def _labels(path: Path, name: str, column: pd.Series) -> pd.Series:
    """Return zone labels without gaps: int64 when all are whole numbers, else words."""
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise ValueError(f"{path}: column {name} must have a label in each row, got none in data row {row + 1}")
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        return _whole_numbers(path, name, column, low=-(2**53))
    return column.astype(str)


def _whole_numbers(path: Path, name: str, column: pd.Series, low: int = 0) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    bad = ~((numbers >= low) & (numbers <= 2**53) & (numbers == np.floor(numbers)))
    if bad.any() or pd.api.types.is_bool_dtype(column.dtype):
        values = list(dict.fromkeys(map(str, column[bad if bad.any() else ~bad])))
        shown = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
        raise ValueError(f"{path}: column {name} must be integers of at least {low}, got {shown}")
    return pd.Series(numbers.astype(np.int64))
