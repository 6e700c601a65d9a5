"""Taxi trips between Manhattan's zones, and the rules for merging zones."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from dpsim import checks, files
from dpsim.checks import Integers, Mask
from dpsim.datasets.csv_files import read_bytes, read_table
from dpsim.datasets.taxi_month import OFFICIAL

ENDS = ["origin", "destination"]
TRIP_COLUMNS = [*ENDS, "trips"]
MERGE_RULES = ("fewest departures", "busiest neighbour", "rarest trip", "one by one")
"""The rules by which `merge_zones` can merge zones."""


def load_taxi_zones() -> Any:
    """Return Manhattan's 63 taxi zones as a GeoDataFrame, sorted by zone.

    The columns are zone (TLC's number), name and geometry (the outline in degrees).

    >>> from dpsim import datasets
    >>> len(datasets.load_taxi_zones())
    63
    """
    import geopandas  # slow to import, and most users of this module need no shapes

    zones = geopandas.read_file(io.BytesIO(read_bytes("nyc/zones.geojson")))
    return zones.astype({"zone": np.int64}).sort_values("zone", ignore_index=True)


def load_zone_adjacency() -> Mask:
    """Return which zones touch, as a symmetric bool array of shape (63, 63).

    Its rows and columns are in the order of `load_taxi_zones`.

    >>> from dpsim import datasets
    >>> datasets.load_zone_adjacency().shape
    (63, 63)
    """
    zones = pd.Index(load_taxi_zones()["zone"])
    pairs = read_table("nyc/zone_adjacency.csv")
    one = zones.get_indexer(pairs["zone"])
    other = zones.get_indexer(pairs["neighbour"])
    touches = np.zeros((len(zones), len(zones)), dtype=bool)
    touches[one, other] = touches[other, one] = True
    return touches


def load_taxi_trips(source: str | os.PathLike[str] = "surrogate") -> pd.DataFrame:
    """Return the numbers of trips, in a table with columns origin, destination, trips.

    Parameters
    ----------
    source : {"surrogate", "official"} or path
        "surrogate" is the stand-in in data/, and "official" is the month that `dpsim
        data fetch` has downloaded. A path is that of a csv, csv.gz or Parquet file with
        the three columns, in which zones are integers or words. It must have at least
        one row, no empty label and no repeated pair, and its numbers of trips must be
        whole and at least 0.

    Returns
    -------
    trips : DataFrame, with columns origin, destination and trips (int)

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.load_taxi_trips().columns.tolist()
    ['origin', 'destination', 'trips']
    """
    if source == "surrogate":
        return read_table("nyc/od_surrogate_2025-01.csv")
    if source == "official":
        source = OFFICIAL.counts
        if not source.is_file():
            raise ValueError(
                'source "official" is not available yet: run `dpsim data fetch` first, '
                'or give "surrogate" or the path of a table'
            )
    path = Path(source)
    table = _read(path)
    if table.empty:
        raise ValueError(f"{path}: the table has no rows, it must have at least one")
    labels = table[ENDS].astype("str").apply(lambda ends: ends.str.strip())
    labels = labels.replace(files.WHOLE_TEXT, r"\1", regex=True)
    missing = np.argwhere((table[ENDS].isna() | (labels == "")).to_numpy())
    if len(missing):
        row, end = missing[0]
        raise ValueError(
            f"{path}: column {ENDS[end]} must have a label in each row, "
            f"got none in data row {row + 1}"
        )
    if labels.apply(lambda ends: ends.str.fullmatch(r"0|-?[1-9]\d{0,17}")).all(
        axis=None
    ):
        labels = labels.astype(np.int64)
    if (twice := labels.duplicated()).any():
        pair = labels[twice].iloc[0].tolist()
        raise ValueError(
            f"{path}: each pair of origin and destination must occur once, "
            f"got {pair} in two rows or more"
        )
    return labels.assign(
        trips=checks.integers(
            f"{path}: column trips", table["trips"].to_numpy(), 0, 2**53
        )
    )


def trips_label(source: str | os.PathLike[str]) -> str:
    """Return the name of the trips of this source, for figures and tables.

    Only the stand-in is called a surrogate.

    Parameters
    ----------
    source : as in `load_taxi_trips`

    Returns
    -------
    label : str

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.trips_label("official"), datasets.trips_label("my_city.csv")
    ('NYC TLC, January 2025', "user's data")
    """
    return {"surrogate": "surrogate data", "official": f"NYC TLC, {OFFICIAL.name}"}.get(
        os.fspath(source), "user's data"
    )


def _read(path: Path) -> pd.DataFrame:
    """Return the three columns of a file. Labels in a text file remain text."""
    try:
        if path.suffix == ".parquet":
            # The index may contain the zones.
            table = pd.read_parquet(path).reset_index()
        else:
            table = pd.read_csv(
                path,
                dtype=dict.fromkeys(ENDS, str),
                keep_default_na=False,
                encoding="utf-8-sig",
            )
        return table[TRIP_COLUMNS]
    # The errors of pandas and Arrow are ValueErrors.
    except (OSError, ValueError, KeyError, EOFError, zlib.error) as error:
        raise ValueError(
            'trips must be "surrogate", "official" or a table (csv, csv.gz or Parquet) '
            f"with columns {', '.join(TRIP_COLUMNS)}, "
            f"got {os.fspath(path)!r} ({str(error)[:200]})"
        ) from error


def known_trips(source: str) -> str:
    """Return a source of trips, as `load_taxi_trips` takes it, after checking that all
    its trips are between the 63 zones of `load_taxi_zones`.

    Trips between other zones raise ValueError. They can be counted and released, but
    they can neither be shown on a map nor merged.

    Parameters
    ----------
    source : str

    Returns
    -------
    source : str

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.known_trips("surrogate")
    'surrogate'
    """
    counts_matrix(load_taxi_trips(source), load_taxi_zones()["zone"])
    return source


def counts_matrix(trips: pd.DataFrame, zones: Sequence[Any] | ArrayLike) -> Integers:
    """Return the numbers of trips from zones[i] to zones[j] as a matrix, shape (n, n).

    A pair without a row gets the count 0.

    Parameters
    ----------
    trips : DataFrame, as from `load_taxi_trips`, between zones in `zones` only
    zones : sequence of n distinct labels

    Returns
    -------
    counts : ndarray of int, shape (n, n), with the origins as rows

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import datasets
    >>> columns = {"origin": [4, 12], "destination": [12, 12], "trips": [5, 2]}
    >>> datasets.counts_matrix(pd.DataFrame(columns), [4, 12]).tolist()
    [[0, 5], [0, 2]]
    """
    if not isinstance(trips, pd.DataFrame) or not set(TRIP_COLUMNS) <= set(
        trips.columns
    ):
        raise ValueError(
            f"trips must be a table with columns {', '.join(TRIP_COLUMNS)}, "
            f"got {type(trips).__name__}"
        )
    index = pd.Index(zones)
    if not index.is_unique:
        raise ValueError(
            f"zones must be distinct, got {index[index.duplicated()][0]} more than once"
        )
    strangers = trips.loc[~trips[ENDS].isin(index).all(axis=1), ENDS]
    if len(strangers):
        raise ValueError(
            f"trips must be between the {len(index)} zones, "
            f"got {strangers.iloc[0].tolist()}"
        )
    table = trips.groupby(ENDS, dropna=False)["trips"].sum().unstack(fill_value=0)
    return table.reindex(index=index, columns=index, fill_value=0).to_numpy(np.int64)


def merge_zones(
    counts: ArrayLike,
    adjacency: ArrayLike,
    target: int,
    *,
    rule: str = "fewest departures",
) -> tuple[Integers, Integers]:
    """Merge groups of zones that touch, two at a time, until `target` groups are left.

    Benvenuti et al. 2026, Supplement E, merge zones that have little data, but the
    paper does not state the rule.

    Parameters
    ----------
    counts : array_like of int, at least 0, shape (n, n), with the origins as rows
    adjacency : bool array, shape (n, n), symmetric, True for zones that touch
    target : int, between the number of connected components of the adjacency and n
    rule : {"fewest departures", "busiest neighbour", "rarest trip", "one by one"}
        With "fewest departures", the group with the fewest departures joins the
        touching group with the fewest departures. With "busiest neighbour", the same
        group joins the touching group with the most departures. With "rarest trip", the
        group with the smallest positive count in its row, where epsilon is largest,
        joins the touching group with the fewest departures. With "one by one", the
        unmerged zone with the smallest positive count in its row or column joins the
        touching group with the most zones. Among equally suitable groups, the one with
        the fewest departures is taken, and then the one with the lowest zone.

    Returns
    -------
    merged : array of int, shape (target, target)
        The counts between groups. The diagonal contains the trips within each group.
    group : array of int, shape (n,), the group of each zone
        The groups 0..target-1 are in the order of their lowest zones.

    Examples
    --------
    >>> from dpsim import datasets
    >>> touch = [[False, True], [True, False]]
    >>> merged, group = datasets.merge_zones([[9, 1], [2, 3]], touch, 1)
    >>> merged.tolist(), group.tolist()
    ([[15]], [0, 0])
    """
    rule = checks.choice("rule", rule, MERGE_RULES)
    merged = checks.integers("counts", counts, 0)
    n = len(np.atleast_1d(merged))
    if merged.shape != (n, n) or not n:
        raise ValueError(f"counts must be a square matrix, got shape {merged.shape}")
    touches = np.array(checks.mask("adjacency", adjacency, merged.shape))
    if (touches != touches.T).any():
        raise ValueError(
            "adjacency must be symmetric, "
            f"got {np.argwhere(touches > touches.T)[0]} in one direction only"
        )
    np.fill_diagonal(touches, False)
    target = checks.integer(
        "target", target, connected_components(touches, directed=False)[0] or 1, n
    )

    group = np.arange(n)  # the lowest zone of each zone's group
    for _ in range(n - target):
        low, high = sorted(_next_pair(merged, touches, group, rule))
        for array in (merged, touches):
            array[low] += array[high]
            array[:, low] += array[:, high]
            array[high] = 0
            array[:, high] = 0
        touches[low, low] = False
        group[group == high] = low
    alive, label = np.unique(group, return_inverse=True)
    return merged[np.ix_(alive, alive)], label


def _next_pair(
    counts: Integers, touches: Mask, group: Integers, rule: str
) -> tuple[int, int]:
    """Return the two groups to merge next."""
    departures = counts.sum(axis=1)
    zones = np.bincount(group, minlength=len(counts))
    positive = np.where(counts > 0, counts, np.iinfo(np.int64).max)
    rarest = positive.min(axis=1)
    fewest, wanted = {
        "fewest departures": (departures, departures),
        "busiest neighbour": (departures, -departures),
        "rarest trip": (rarest, departures),
        "one by one": (np.minimum(rarest, positive.min(axis=0)), -zones),
    }[rule]

    def best(key: Integers, groups: Mask) -> int:
        """Return the group with the smallest key, then with the fewest departures."""
        among = np.flatnonzero(groups)
        return int(among[np.lexsort((departures[among], key[among]))[0]])

    movable = touches.sum(axis=1) > 0
    if rule == "one by one":
        movable &= zones == zones[movable].min()
    leaving = best(fewest, movable)
    return leaving, best(wanted, touches[leaving])
