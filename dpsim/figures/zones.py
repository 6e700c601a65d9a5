"""Rows of maps of the Manhattan zones: one distribution beside others, and how far they are from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from dpsim.figures.house_style import TWO_COLUMNS
from dpsim.figures.maps import choropleth

UPRIGHT = 29.0
"""Degrees that set Manhattan's avenues upright."""
PER_CENT = 20.0
"""The scale of differences runs from minus to plus this; what is beyond has the colour of its end."""


def compare_zones(
    zones: Any, true: ArrayLike, others: ArrayLike, labels: Sequence[str], *, group: ArrayLike, source: str
) -> Any:
    """Return a figure of two columns: the true distribution and the others on one scale, then their differences.

    Parameters
    ----------
    zones, group : outlines, as in `datasets.load_taxi_zones`, and the group 0..m-1 of each
    true : array_like, shape (m,), positive: a probability of each group
    others : array_like, shape (r, m)
        Distributions to compare with it, drawn on the same logarithmic scale, and beside that their differences from
        `true` in per cent of it, on a linear scale of plus and minus 20 %.
    labels : sequence of r str
    source : str, what stands under the figure; it must say "surrogate" where the trips are
    """
    truth, rows = np.asarray(true), np.asarray(others)
    fig, axes = plt.subplots(1, 1 + 2 * len(rows), figsize=(TWO_COLUMNS, 5.0), layout="constrained")
    fig.get_layout_engine().set(rect=(0.0, 0.19, 1.0, 0.76), w_pad=0.0)  # room for the colour bars
    shape: dict[str, Any] = {"group": group, "rotation": UPRIGHT}
    level, change = LogNorm(truth.min(), truth.max()), Normalize(-PER_CENT, PER_CENT)
    for ax, row in zip(axes, [truth, *rows]):
        colours = choropleth(ax, zones, row, norm=level, marks=ax is axes[0], **shape)
    for ax, row in zip(axes[1 + len(rows) :], rows):
        per_cent = 100 * (row / truth - 1)
        differences = choropleth(ax, zones, per_cent, norm=change, cmap="PuOr_r", marks=False, **shape)
    for ax, label in zip(axes, ["true", *labels, *labels]):
        ax.text(0.5, 1.02, label, ha="center", transform=ax.transAxes)
    for x, heading in ((0.29, "stationary distribution"), (0.79, "private minus true")):
        fig.text(x, 0.97, heading, ha="center")
    bar: dict[str, Any] = {"orientation": "horizontal"}
    levels = fig.colorbar(colours, cax=fig.add_axes((0.08, 0.145, 0.42, 0.016)), label="probability of a zone", **bar)
    levels.ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    levels.ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    levels.ax.xaxis.set_minor_formatter(NullFormatter())
    beyond = np.abs(100 * (rows / truth - 1)).max() > PER_CENT
    fig.colorbar(
        differences,
        cax=fig.add_axes((0.62, 0.145, 0.34, 0.016)),
        label="difference, per cent of the true value",
        extend="both" if beyond else "neither",
        **bar,
    )
    fig.text(0.01, 0.005, f"{source}; zone outlines: NYC TLC", color="0.35")
    return fig
