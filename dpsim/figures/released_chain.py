"""The figure that compares a private chain with the data from which it was computed."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpsim.figures.house_style import OTHER, OURS, TRUE, shorten, size

MOST_STATES = 40
"""The number of states in the right panel, which shows the busiest ones."""


def draw_release(pairs: pd.DataFrame, bars: pd.DataFrame | None) -> Figure:
    """Return a figure that compares a private chain with the true one.

    The left panel shows the transition probabilities, and the right panel shows the
    stationary distribution. Only the owner of the data may see them.

    Parameters
    ----------
    pairs : DataFrame
        The columns are true and private, with a row for each pair of states.
    bars : DataFrame, optional
        The columns are stationary, low and high (the released probability of each state
        and its interval) and true. If it is None, the right panel says that there are
        no error bars.

    Returns
    -------
    Figure
        Two panels, 7.2 in wide.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=size(2, 3.1))
    _draw_pairs(left, pairs)
    if bars is None:
        right.text(
            0.5, 0.5, "no error bars of the\nstationary distribution", ha="center"
        )
        right.set_axis_off()
    else:
        _draw_stationary(right, bars)
    return fig


def _draw_pairs(ax: Any, pairs: pd.DataFrame) -> None:
    """Plot all pairs on logarithmic axes, with zeros at the edges."""
    edge = pairs[pairs > 0].min(axis=None) / 3
    occurs = pairs["true"] > 0
    for label, chosen, colour, marker in (
        ("occurs", occurs, OURS, "."),
        ("never occurs", ~occurs, OTHER, "x"),
    ):
        x = pairs["true"][chosen].clip(lower=edge)
        y = pairs["private"][chosen].clip(lower=edge)
        ax.plot(x, y, marker, ms=2.5, color=colour, label=label)
    ax.plot([edge, 1], [edge, 1], color=TRUE, lw=0.6)
    ax.set(xscale="log", yscale="log")
    ax.set_xlabel("true probability (zeros at the left edge)")
    ax.set_ylabel("released probability\n(zeros at the lower edge)")
    ax.legend(markerscale=3)


def _draw_stationary(ax: Any, bars: pd.DataFrame) -> None:
    """Plot how far each true stationary probability is from the released one."""
    busiest = bars.sort_values("stationary", ascending=False).head(MOST_STATES)
    shown = shorten(busiest)
    place = np.arange(len(shown))
    ends = shown[["low", "high"]].div(shown["stationary"], axis=0) - 1
    heights = 100 * ends.abs().to_numpy().T
    true = 100 * (shown["true"] / shown["stationary"] - 1)
    ax.errorbar(
        place, 0 * place, heights, fmt="none", color=OURS, label="90 % interval"
    )
    ax.plot(place, true, "_", color=TRUE, label="true")
    named = place[:: max(1, len(place) // 8)]
    names = [str(state)[:8] for state in shown.index[named]]
    ax.set_xticks(named, names, rotation=90)
    ax.set_xlabel("states, the busiest first")
    ax.set_ylabel("true value minus released value,\nin % of the released value")
    ax.legend(loc="lower left")
