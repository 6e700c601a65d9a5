"""The road network of Gainesville and the Markov chain made from its traffic counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpsim.checks import Array, Integers, Mask
from dpsim.datasets.tables import read_table
from dpsim.numerics import simplex

# The public minima of Fallin et al. 2023, Section V.
ETA, ETA_BAR = 0.10, 0.051


@dataclass(frozen=True, eq=False)
class RoadChain:
    """A Markov chain over the n road segments around the University of Florida; n = 43, or 32 for the core.

    Attributes
    ----------
    segments : DataFrame, row i is state i
        Columns segment, street, from_node, to_node, fdot_roadway, miles, aadt_2022 (vehicles per day).
    intersections : DataFrame, columns node, name, lat, lon (degrees)
    adjacency : bool array (n, n), True where the chain may go from i to j
    traffic_matrix : ndarray, shape (n, n), P_ij proportional to the traffic of j over the j allowed from i; reversible
    transition_matrix : ndarray, shape (n, n)
        For the core, traffic_matrix with each row projected onto the domain with the minima ETA and ETA_BAR (no longer
        reversible); otherwise traffic_matrix itself.
    trip : array of int
        The sensitive trip: trip[0] is the start, and trip[1:] is the word of 14 letters (13 in the core, which lacks
        the last segment).
    """

    segments: pd.DataFrame
    intersections: pd.DataFrame
    adjacency: Mask
    traffic_matrix: Array
    transition_matrix: Array
    trip: Integers


def load_gainesville(core: bool = False) -> RoadChain:
    """Return the Gainesville chain with 43 segments (Benvenuti, Rao, Hale 2026), or its core with 32 (Fallin et al.
    2023, V).

    Parameters
    ----------
    core : bool
        False allows transitions to every other segment that shares an intersection. True also allows transitions to the
        segment itself, so that each row has at least three entries, and projects each row (Euclidean, on its support)
        onto the domain in which W_i holds all but the smallest entry.

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
    flow = adjacency * traffic  # flow[i] sums to the traffic that can follow i
    matrix = flow / flow.sum(axis=1, keepdims=True)
    projected = matrix
    if core:
        protected = simplex.protected_entries(matrix)
        border = {"eta": ETA, "eta_bar": ETA_BAR}
        projected = simplex.project_to_bordered_simplex(
            matrix, protected=protected, support=adjacency, **border
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
