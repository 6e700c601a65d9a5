"""The figure of the price of privacy, which has the same axes in every notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from dpsim import checks
from dpsim.figures.house_style import SMALL, draw_lines, plain_ticks, size
from dpsim.private import round_up

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
"""The ticks of the axis of epsilon."""

COLUMNS = ("epsilon", "delta", "mechanism", "error", "standard_error", "unit")
"""The columns of a table of prices."""


def draw_price(
    table: pd.DataFrame,
    label: str,
    colours: Mapping[str, str],
    *,
    without: float | None = None,
    log: bool = False,
) -> Figure:
    """Return a figure that plots each mechanism's error against its exact epsilon.

    The upper axis shows how sure an onlooker can become of something that seemed as
    likely as not.

    Parameters
    ----------
    table : DataFrame
        The columns of COLUMNS, which are the exact epsilon (or a proven upper bound on
        it), its delta, the mechanism, the expected error, the standard error (0 if the
        error was computed exactly), and the unit of the error.
    label : str, the label of the error, with its unit
    colours : mapping, the colour of each mechanism, in the order of the legend
    without : float, optional, the error of a release that does not use the data
    log : bool, whether the axis of the error is logarithmic

    Returns
    -------
    Figure
        One panel, 7.2 in wide.
    """
    if missing := [name for name in COLUMNS if name not in table]:
        raise ValueError(
            f"table must have the columns {', '.join(COLUMNS)}, but lacks "
            f"{', '.join(missing)}"
        )
    for name in table["mechanism"].unique():
        checks.choice("mechanism of table", name, colours)
    fig, ax = plt.subplots(figsize=size(2, 3.2))
    draw_lines(
        ax, table, "epsilon", "error", "mechanism", colours, error="standard_error"
    )
    if without is not None:
        ax.axhline(without, color="0.5", lw=0.8, ls=":")
        ax.annotate(
            "without the data",
            (1, without),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            fontsize=SMALL,
            color="0.35",
        )
    ax.set(xscale="log", xlim=(0.1, 10), xlabel=r"exact $\epsilon$", ylabel=label)
    if log:
        ax.set_yscale("log")
        ticks = [digit * 10.0**k for k in range(-9, 10) for digit in (1, 2, 5)]
        plain_ticks(ax.yaxis, ticks)
    else:
        ax.set_ylim(0, 1.1 * max(table["error"].max(), without or 0))
    plain_ticks(ax.xaxis, EPSILONS)
    draw_odds(ax)
    fig.legend(loc="outside upper center", ncols=4)
    return fig


def draw_odds(ax: Any) -> None:
    """Put an axis above that of epsilon, which says what even odds become at most.

    Parameters
    ----------
    ax : Axes
    """
    odds = ax.secondary_xaxis("top")
    odds.set_xlabel("what even odds (50 %) become at most", fontsize=SMALL)
    shares = [100 / (1 + math.exp(-e)) for e in EPSILONS]
    odds.set_xticks(
        EPSILONS,
        [f"{round_up(share, '.5g' if share > 99.9 else '.3g')} %" for share in shares],
    )
    odds.minorticks_off()
