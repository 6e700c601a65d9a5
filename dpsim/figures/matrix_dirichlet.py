"""The maps and Figure 2 of the notebook `matrix_dirichlet` (Fallin et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpsim.datasets.roads import RoadChain
from dpsim.figures.house_style import (
    OURS,
    PAPER,
    PUBLISHED,
    SMALL,
    TRUE,
    mark_published,
    mark_source,
    shorten,
    size,
)
from dpsim.figures.maps import (
    draw_network,
    draw_walk,
    name_segments,
    scale_bar,
    segment_ends,
)

FIRST, LAST = 0.5, 9.0
"""The ends of the axis of epsilon in the paper's Figure 2."""

MARGIN = 260.0
"""The distance, in metres, from the walks to the edge of a map in Figure 1."""


WIDEST = 12.0
"""The width, in points, of the street with the most traffic."""


def draw_traffic(roads: RoadChain, flows: pd.DataFrame, source: str) -> Figure:
    """Return a map of the traffic, and maps of the errors of its predictions.

    Parameters
    ----------
    roads : RoadChain
    flows : DataFrame, with a row for each street
        The columns are shares of the traffic, the true ones first. On the map of each
        other column, a street is as wide as the difference from the true share.
    source : str, the source of the data
    """
    shares = shorten(flows)
    true = shares.iloc[:, 0]
    ends = list(segment_ends(roads))
    fig, axes = plt.subplots(1, shares.shape[1], figsize=size(2, 2.2))
    for ax, (name, share) in zip(axes, shares.items()):
        error = share - true
        wide, colours = share, np.full(len(share), TRUE)
        if name != true.name:
            wide, colours = error.abs(), np.where(error > 0, OURS, PAPER)
        ax.add_collection(LineCollection(ends, linewidths=0.8, colors="0.75"))
        widths = WIDEST * wide / true.max()
        ax.add_collection(LineCollection(ends, linewidths=widths, colors=colours))
        ax.set_title(name.replace(", ", ",\n"), fontsize=SMALL)
        ax.set_aspect("equal")
        ax.margins(0.08)
        ax.autoscale_view()
        ax.set_axis_off()
    scale_bar(axes[0], 500)
    mark_source(fig, source)
    return fig


def draw_walks(roads: RoadChain, walks: pd.DataFrame, source: str) -> Figure:
    """Return Figure 1: a map of each walk, and a table of all steps.

    Parameters
    ----------
    roads : RoadChain
    walks : DataFrame
        The columns are step and the states (0..n-1) of each walk, the true one first.
    source : str, the source of the data
    """
    names = [name for name in walks if name != "step"]
    true = walks[names[0]]
    height = max(1.55 * len(names), 0.22 * (len(walks) + 2))
    places = [[row, "table"] for row in range(len(names))]
    fig, axes = plt.subplot_mosaic(
        places, figsize=size(2, height + 0.4), width_ratios=[2, 1]
    )
    table = axes.pop("table")
    colours = dict.fromkeys(names, PAPER) | {names[0]: TRUE}
    corners = []
    for ax, name in zip(axes.values(), names):
        draw_network(ax, roads)
        corners.append(draw_walk(ax, roads, walks[name], colour=colours[name]))
        ax.text(0.24, 0.95, name, transform=ax.transAxes, va="top", color=colours[name])
    low = np.concatenate(corners).min(axis=0) - MARGIN
    high = np.concatenate(corners).max(axis=0) + MARGIN
    for ax in axes.values():
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    scale_bar(axes[1], 500)
    table.set(xlim=(0.1, len(names) + 0.6), ylim=(0.4 - len(walks), 1.9))
    table.set_axis_off()
    table.axhline(0.5, color="0.6", lw=0.6)
    for column, name in enumerate(["step", *names]):
        colour = colours.get(name, "0.35")
        place = max(column, 0.4 + 0.6 * column)  # the first two columns are narrower
        head = name.replace(", ", ",\n")
        table.text(place, 1.2, head, color=colour, ha="center", va="center")
        for step, street in enumerate(walks[name]):
            moved = column > 1 and street != true.iloc[step]
            box = {
                "facecolor": "none",
                "edgecolor": colour,
                "lw": 0.8,
                "boxstyle": "round,pad=0.15",
            }
            table.text(
                place,
                -step,
                f"{street}",
                color=colour if moved or column <= 1 else "0.35",
                bbox=box if moved else None,
                ha="center",
                va="center",
            )
    mark_source(fig, source)
    fig.draw_without_rendering()
    for ax, name in zip(axes.values(), names):
        name_segments(ax, roads, walks[name], colour=colours[name])
    return fig


def stationary_errors(
    P: ArrayLike,
    private: ArrayLike,
    table: pd.DataFrame,
    widths: Sequence[float],
    least_k: float,
    printed: Sequence[tuple[float, float]],
    source: str,
) -> Figure:
    """Return Figure 2: the error of the stationary distribution, beside two heatmaps.

    Parameters
    ----------
    P, private : array_like, shape (n, n), the true matrix and a private version of it
    table : DataFrame, sorted by k
        The columns are k, mean_of_norms, standard_error, theorem3 and, for each b,
        epsilon_b<b>.
    widths : sequence of two floats, the paper's b and another reading of it
    least_k : float
        The smallest k that Assumption 2 allows. The curves are thin where k is smaller.
    printed : sequence of two pairs (epsilon, error), as reported in the paper
    source : str, the source of the data
    """
    fig, axes = plt.subplot_mosaic("TE;PE", figsize=size(2, 3.8), width_ratios=[1, 2.2])
    true = shorten(pd.DataFrame(P))
    released = shorten(pd.DataFrame(private))
    table = shorten(table)
    darkest = np.max([true, released])
    for place, values, title in (
        ("T", true, "true matrix $P$"),
        ("P", released, r"a private matrix $\tilde P$"),
    ):
        feasible = values.where(true > 0)
        image = axes[place].imshow(feasible, cmap="Greys", vmin=0, vmax=darkest)
        axes[place].set(title=title, xticks=[], yticks=[])
        axes[place].spines[:].set(visible=True, color="0.7")
    fig.colorbar(image, ax=[axes["T"], axes["P"]], shrink=0.5, pad=0.03)
    allowed = table[table.k >= least_k * (1 - 1e-5)]  # because k has six digits
    error = axes["E"]
    curves = []
    others = []
    for b, marks, colour in zip(widths, ("o-", "^:"), (PAPER, "#56B4E9")):
        shown = table.assign(epsilon=table[f"epsilon_b{b:g}"])
        shown = shown[shown.epsilon <= 1.01 * LAST]
        part = shown[shown.k >= allowed.k.min()]
        curves.append(
            error.errorbar(
                part.epsilon,
                part.mean_of_norms,
                2 * part.standard_error,
                fmt=marks,
                color=colour,
                label=f"$b={b:g}$",
            )
        )
        broken = shown[(shown.k <= allowed.k.min()) & (shown.epsilon >= 0.99 * FIRST)]
        if len(broken) > 1:  # the last of these points is allowed and joins the curves
            others += error.plot(
                broken.epsilon,
                broken.mean_of_norms,
                marks,
                label=f"$b={b:g}$, $k<{least_k:g}$:\nAssumption 2 broken",
                color=colour,
                lw=0.7,
                ms=3,
                mfc="none",
                mew=0.7,
                zorder=1,
            )
    for point, offset in zip(printed, ((-8, -62), (6, -12))):
        mark_published(error, *point, f"{point[1]:g}", offset=offset)
    others += error.plot(
        [], [], "D", mfc="none", mec=PUBLISHED, label="reported in the paper"
    )
    low, high = allowed.theorem3.min(), allowed.theorem3.max()
    words = f"The bound of Theorem 3, {low:.0f} to {high:.0f},\nis far above this axis."
    error.text(0.98, 0.5, words, transform=error.transAxes, ha="right")
    error.set(xlabel=r"$\epsilon$ of Theorem 1", xlim=(0, 1.03 * LAST))
    error.set(ylabel=r"$\mathbb{E}\,\|\pi-\tilde\pi\|_1$", ylim=(0, None))
    error.legend(handles=curves + others, loc="upper right")
    mark_source(fig, source)
    return fig
