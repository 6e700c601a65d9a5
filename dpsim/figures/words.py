"""Drawings of private words: two neighbours' releases, errors of both mechanisms, private trips step by step.

Each function draws, on axes that are given, the columns it names of a table that is already computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim.datasets.roads import RoadChain
from dpsim.figures import maps
from dpsim.figures.house_style import (
    DASHES,
    MARKERS,
    OTHER,
    OURS,
    PAPER,
    TRUE,
    mark_published,
    mark_source,
    plain_ticks,
)

COLOURS = {"permute-and-flip": PAPER, "exponential": OTHER, "staircase": OURS}
"""One colour for each mechanism on words, here and in the notebook's text."""


def draw_neighbours(axes: Sequence[Any], table: pd.DataFrame, neighbours: Sequence[str], epsilon: float) -> None:
    """Draw on two axes what is released from two adjacent words: the probabilities, and their ratio within e^epsilon.

    Parameters
    ----------
    axes : sequence of two Axes
    table : DataFrame, columns released and probability_<word> for both neighbours, a row for each candidate
    neighbours : sequence of two str
    epsilon : float
    """
    place = np.arange(len(table))
    aside = 0.14  # of the distance of two words, so that equal probabilities stay two dots
    first, second = (table[f"probability_{word}"] for word in neighbours)
    looks: tuple[dict[str, Any], ...] = ({"color": PAPER}, {"color": PAPER, "mfc": "white"})
    for word, share, look, side in zip(neighbours, (first, second), looks, (-aside, aside)):
        axes[0].plot(place + side, share, "o", label=f"the secret word is {word}", **look)
    axes[0].set(ylabel="probability", yscale="log")
    axes[0].legend(loc="upper right")
    axes[1].vlines(place, 1.0, first / second, color=TRUE, lw=0.8)
    axes[1].plot(place, first / second, "o", color=TRUE)
    for power in (epsilon, -epsilon):
        axes[1].axhline(np.exp(power), color=PAPER, ls="--")
    axes[1].axhline(1.0, color="0.6", lw=0.6)
    axes[1].text(place[-1], 0.8 * np.exp(epsilon), r"$e^{\epsilon}$", color=PAPER, ha="right", va="top")
    axes[1].text(place[-1], 1.25 * np.exp(-epsilon), r"$e^{-\epsilon}$", color=PAPER, ha="right", va="bottom")
    axes[1].set(ylabel="ratio", yscale="log", xlabel="released word")
    plain_ticks(axes[1].yaxis, (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8))
    axes[1].set_xticks(place, table["released"], rotation=90, family="monospace")


def draw_errors(
    ax: Any, table: pd.DataFrame, published: Mapping[str, Sequence[tuple[float, float]]], *, letters: str = "letters"
) -> None:
    """Draw the expected and the sampled errors of both mechanisms, and what the paper prints, within the x-limits.

    Parameters
    ----------
    ax : Axes
    table : DataFrame, columns mechanism, epsilon, error_expected, error_sampled, standard_error
    published : mapping, for each mechanism the sequence of printed points (epsilon, error)
    letters : str, what the letters of these words are called
    """
    for mechanism, part in table.groupby("mechanism", sort=False):
        colour = COLOURS[str(mechanism)]
        line = {"color": colour, "label": mechanism, "zorder": 3, "dashes": DASHES[colour] or (None, None)}
        ax.plot(part["epsilon"], part["error_expected"], **line)
        dots = {"fmt": MARKERS[colour], "ms": 3, "lw": 0.6, "color": colour}
        ax.errorbar(part["epsilon"], part["error_sampled"], 2 * part["standard_error"], **dots)
        for epsilon, error in published[str(mechanism)]:
            if table["epsilon"].min() <= epsilon <= table["epsilon"].max():
                above = mechanism == "exponential"
                mark_published(ax, epsilon, error, f"{error:g}", offset=(6, 5) if above else (-6, -13))
    ax.set(yscale="log", xlabel=r"$\epsilon$", ylabel=f"wrong {letters}")
    plain_ticks(ax.yaxis, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))


def draw_trips(axes: Sequence[Any], below: Any, roads: RoadChain, trips: Mapping[str, ArrayLike]) -> None:
    """Draw trips on maps that name the segments, and below them segment by segment; the first trip is the true one.

    Parameters
    ----------
    axes : sequence of Axes, one map for each trip
    below : Axes of the segments: a row for each trip; what differs from the true trip is in a box
    roads : RoadChain
    trips : mapping of str to array_like of int, shape (steps + 1,), equally long, by name
    """
    true = np.asarray(next(iter(trips.values())))
    below.set(xlim=(-3.0, len(true) - 0.4), ylim=(0.6 - len(trips), 1.5))
    below.set_axis_off()
    for row, (ax, (name, trip)) in enumerate(zip(axes, trips.items())):
        colour = PAPER if row else TRUE
        maps.draw_network(ax, roads)
        maps.draw_walk(ax, roads, trip, colour=colour)
        ax.set_title(name)
        below.text(-0.8, -row, name, ha="right", va="center", color=colour)
        for step, segment in enumerate(np.asarray(trip).tolist()):
            box = {"facecolor": "none", "edgecolor": colour, "lw": 0.8, "boxstyle": "round,pad=0.15"}
            moved = {"bbox": box, "color": colour} if segment != true[step] else {"color": "0.35" if row else TRUE}
            below.text(step, -row, f"{segment}", ha="center", va="center", **moved)
    below.text(-0.8, 1, "step", ha="right", va="center", color="0.35")
    for step in range(len(true)):
        below.text(step, 1, f"{step}", ha="center", va="center", color="0.35")
    below.axhline(0.5, color="0.6", lw=0.6)
    mark_source(below.figure, f"{maps.ROADS_SOURCE}; the wider a road, the more traffic")
    below.figure.draw_without_rendering()
    for ax, trip in zip(axes, trips.values()):
        maps.name_segments(ax, roads, trip, colour=PAPER if ax is not axes[0] else TRUE)
