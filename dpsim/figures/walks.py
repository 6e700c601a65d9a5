"""Walks beside each other: a small map for each, the steps written on the segments they visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim.datasets.roads import RoadChain
from dpsim.figures import house_style, maps


def draw_walks(axes: Sequence[Any], chain: RoadChain, walks: Mapping[str, ArrayLike], colours: Sequence[str]) -> None:
    """Draw each walk on a map of its own, with its name above and the numbers of its steps beside its segments.

    Parameters
    ----------
    axes : sequence of Axes
        One for each walk. The first map carries the source line.
    chain : RoadChain
        The road network.
    walks : mapping of str to array_like of int
        Name of each walk and its states, consecutive ones equal or with a common intersection.
    colours : sequence of str
        One for each walk.

    Raises
    ------
    ValueError
        When the numbers of axes, walks and colours differ, or a walk cannot be driven.
    """
    if not len(axes) == len(walks) == len(colours):
        raise ValueError(
            f"axes and colours must be as many as walks, {len(walks)}, got {len(axes)} axes and {len(colours)} colours"
        )
    for ax, name, colour in zip(axes, walks, colours):
        maps.draw_network(ax, chain)
        ax.set_title(name, color=colour)
    house_style.mark_source(axes[0].figure, maps.ROADS_SOURCE)
    for ax, states, colour in zip(axes, walks.values(), colours):  # numbers find their places once all maps stand
        seen = [np.flatnonzero(np.asarray(states) == place) for place in range(len(chain.segments))]
        maps.draw_walk(ax, chain, states, names=[", ".join(map(str, steps)) for steps in seen], colour=colour)
