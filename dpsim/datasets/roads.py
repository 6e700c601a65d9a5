"""The roads of Gainesville, and the Markov chain made from their traffic counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks
from dpsim.checks import Array, Integers, Mask
from dpsim.datasets.csv_files import read_table
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

    Returns
    -------
    chain : RoadChain

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.load_gainesville().adjacency.shape
    (43, 43)
    >>> datasets.load_gainesville(core=True).adjacency.shape
    (32, 32)
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


def onward_drives(
    roads: RoadChain, start: int, *, through: bool = False
) -> dict[str, Any]:
    """Return the network of the drives that never turn back on the spot.

    Which segments may follow depends on more than the last one, so several states of
    this network stand for the same segment.

    Parameters
    ----------
    roads : RoadChain
    start : int, the segment on which all drives begin
    through : bool
        By default, a drive never returns to the segment from which it has just come,
        and a state is a segment with the one before it. With `through`, a drive leaves
        each segment at the end that it has not entered, and a state is a segment with
        the end at which it is left.

    Returns
    -------
    dict, the arguments of the functions of `words`
        adjacency : bool array (states, states)
        letters : list, the segment of each state, after a label for the first state
        start : str, this label

    Examples
    --------
    >>> from dpsim import datasets, words
    >>> roads = datasets.load_gainesville()
    >>> network = datasets.onward_drives(roads, start=3)
    >>> sum(words.HammingAutomaton(roads.trip[1:], **network).counts)
    47492957
    """
    start = checks.integer("start", start, 0, len(roads.adjacency) - 1)
    ends = roads.segments[["from_node", "to_node"]].to_numpy(object)

    def following(segment: int, memory: Any) -> list[tuple[int, Any]]:
        if not through:
            onto = np.flatnonzero(roads.adjacency[segment]).tolist()
            return [(other, segment) for other in onto if other != memory]
        exits = ends[segment] if memory is None else [memory]
        return [
            (other, ends[other][1 - at])
            for exit in exits
            for other, at in np.argwhere(ends == exit).tolist()
            if other != segment
        ]

    states: list[tuple[int, Any]] = [(start, None)]
    arrows = []
    for origin, state in enumerate(states):  # the list grows
        for other in following(*state):
            if other not in states:
                states.append(other)
            arrows.append((origin, states.index(other)))
    adjacency = np.zeros((len(states), len(states)), dtype=bool)
    adjacency[tuple(np.transpose(arrows))] = True
    label = f"start on {start}"
    letters = [label, *(segment for segment, _ in states[1:])]
    return {"adjacency": adjacency, "letters": letters, "start": label}
