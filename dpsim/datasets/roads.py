"""The roads of Gainesville, and the Markov chain made from their traffic counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpsim.checks import Array, Integers, Mask
from dpsim.datasets.tables import read_table
from dpsim.numerics import simplex

ETA = 0.10
"""The public minimum of the protected entries (Fallin et al. 2023, Section V)."""
ETA_BAR = 0.051
"""The public minimum of the sum of the other entries of a row."""


@dataclass(frozen=True, eq=False)
class RoadChain:
    """A Markov chain over n road segments around the University of Florida.

    Attributes
    ----------
    segments : DataFrame, whose row i describes state i
        The columns are segment, street, from_node, to_node, fdot_roadway, miles and
        aadt_2022 (vehicles per day).
    intersections : DataFrame, with columns node, name, lat and lon (in degrees)
    adjacency : bool array, shape (n, n), True where the chain may go from i to j
    traffic_matrix : ndarray, shape (n, n), reversible
        Where the chain may go from i to j, entry (i, j) is proportional to the traffic
        of j.
    transition_matrix : ndarray, shape (n, n)
        The traffic_matrix itself or, in the core, its rows projected onto the domain
        with the minima ETA and ETA_BAR. The chain of the core is not reversible.
    trip : array of int
        The sensitive trip. It consists of the start and a word of 14 segments (13 in
        the core, which lacks the last one).
    """

    segments: pd.DataFrame
    intersections: pd.DataFrame
    adjacency: Mask
    traffic_matrix: Array
    transition_matrix: Array
    trip: Integers


def load_gainesville(core: bool = False) -> RoadChain:
    """Return the chain of 43 segments in Gainesville, or its core of 32 segments.

    From a segment, the chain may go to any other segment that shares an intersection
    with it. The whole chain stands in for that of Benvenuti, Rao, Hale 2026, and the
    core for that of Fallin et al. 2023, Section V.

    Parameters
    ----------
    core : bool
        Whether to return the core. In the core, the chain may also stay on a segment,
        so that each row has at least three positive entries, of which all but the
        smallest one are protected.

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.load_gainesville().adjacency.shape, datasets.load_gainesville(core=True).adjacency.shape
    ((43, 43), (32, 32))
    """
    segments = read_table("gainesville/segments.csv")
    if core:
        segments = segments[segments["core"] == 1].reset_index(drop=True)
    start, end = (
        segments[column].to_numpy(object) for column in ("from_node", "to_node")
    )
    adjacency = np.logical_or.reduce(
        [a[:, None] == b for a in (start, end) for b in (start, end)]
    ).astype(bool)
    np.fill_diagonal(adjacency, core)

    traffic = segments["aadt_2022"].to_numpy(float)
    flow = adjacency * traffic
    matrix = flow / flow.sum(axis=1, keepdims=True)
    projected = matrix
    if core:
        projected = simplex.project_to_bordered_simplex(
            matrix,
            eta=ETA,
            eta_bar=ETA_BAR,
            protected=simplex.protected_entries(matrix),
            support=adjacency,
        )
    order = segments["trip_position"].dropna().sort_values().index
    return RoadChain(
        segments=segments.drop(columns=["core", "trip_position"]),
        intersections=read_table("gainesville/intersections.csv"),
        adjacency=adjacency,
        traffic_matrix=matrix,
        transition_matrix=projected,
        trip=order.to_numpy(np.int64),
    )
