"""The picture of the price of privacy, on the same axes in every notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from dpsim import checks
from dpsim.figures.house_style import SMALL, draw_means, plain_ticks, size
from dpsim.private import round_up

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
"""Where the axis of epsilon has ticks."""

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
    """Return the picture of a price: the error of each mechanism against its exact epsilon, and above it how sure
    somebody with even odds can become.

    Parameters
    ----------
    table : DataFrame
        The columns of COLUMNS: the exact epsilon (or a proven upper bound) at this
        delta, the mechanism, its expected error, the standard error (0 if the error is
        exact), and the unit of the error. The curve of a mechanism begins at its
        smallest epsilon.
    label : str
        The label of the error, with its unit.
    colours : mapping
        The colour of each mechanism, in the order of the legend.
    without : float, optional
        The error of a release that does not look at the data, which is drawn as a line.
    log : bool
        Whether the axis of the error is logarithmic.
    """
    if missing := [name for name in COLUMNS if name not in table]:
        raise ValueError(
            f"table must have the columns {', '.join(COLUMNS)}, but lacks {', '.join(missing)}"
        )
    for name in table["mechanism"].unique():
        checks.choice("mechanism of table", name, colours)
    fig, ax = plt.subplots(figsize=size(2, 3.2))
    for name, colour in colours.items():
        part = table[table["mechanism"] == name].sort_values("epsilon")
        draw_means(
            ax,
            part["epsilon"],
            part["error"],
            part["standard_error"],
            colour,
            label=name,
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
        decades = range(-9, 10)
        plain_ticks(ax.yaxis, [digit * 10.0**k for k in decades for digit in (1, 2, 5)])
    else:
        highest = max(table["error"].max(), without or 0)
        ax.set_ylim(0, 1.1 * highest)
    plain_ticks(ax.xaxis, EPSILONS)
    odds = ax.secondary_xaxis("top")
    odds.set_xlabel("what even odds (50 %) become at most", fontsize=SMALL)
    shares = [100 / (1 + math.exp(-e)) for e in EPSILONS]
    odds.set_xticks(
        EPSILONS,
        [f"{round_up(share, '.5g' if share > 99.9 else '.3g')} %" for share in shares],
    )
    odds.minorticks_off()
    fig.legend(loc="outside upper center", ncols=4)
    return fig
