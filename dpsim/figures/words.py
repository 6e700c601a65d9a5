"""Drawings of private words: two neighbours' releases, error bounds, errors with their reduction, errors per optimum.

Each function draws the columns it names of a table that is already computed, on axes that are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from dpsim.figures import house_style
from dpsim.figures.house_style import OTHER, OURS, PAPER, TRUE, mark_published

COLOURS = {"permute-and-flip": PAPER, "exponential": OTHER, "staircase": OURS}
"""One colour for each mechanism on words, here and in the notebook's text."""


def draw_neighbours(axes: Sequence[Any], table: pd.DataFrame, neighbours: Sequence[str], epsilon: float) -> None:
    """Draw on two axes what is released from two adjacent words: the probabilities, and their ratio within e^epsilon.

    Parameters
    ----------
    axes : sequence of two Axes
    table : DataFrame
        Columns released and probability_<word> for both neighbours, one row for each candidate.
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
    _plain_ticks(axes[1], (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8))
    axes[1].set_xticks(place, table["released"], rotation=90, family="monospace")


def draw_bounds(ax: Any, x: pd.Series, table: pd.DataFrame, *, named: bool = False) -> None:
    """Draw an exact error between Theorem 2's bounds, with the sharper floor; below 0 letters the axes are shaded.

    Parameters
    ----------
    ax : Axes
    x : Series
        Of the rows of the table.
    table : DataFrame
        Columns lower_theorem2, upper_theorem2, exact, floor.
    named : bool
        Whether to write which bound is which beside the lines.
    """
    for column in ("upper_theorem2", "lower_theorem2"):
        ax.plot(x, table[column], "--", color=PAPER)
    ax.plot(x, table["floor"], ":", color=OURS, label=r"floor, from $1-uq\geq(1-u)^q$")
    ax.plot(x, table["exact"], color=OURS, label="exact")
    ax.axhspan(-10.0, 0.0, color="0.9", lw=0, zorder=0)
    bottom, top = min(0.0, table["lower_theorem2"].min()), table["upper_theorem2"].max()
    ax.set(ylim=(bottom - 0.05 * (top - bottom), top + 0.05 * (top - bottom)))
    if named:
        middle = len(x) // 3
        for column, level in (("upper", "bottom"), ("lower", "top")):
            place = (x.iloc[middle], table[f"{column}_theorem2"].iloc[middle])
            side = {"ha": "left"} if column == "upper" else {"ha": "right"}
            ax.annotate(
                column,
                place,
                (3, 3) if column == "upper" else (-3, -1),
                textcoords="offset points",
                va=level,
                color=PAPER,
                fontsize=7,
                **side,
            )


def draw_errors(
    axes: Sequence[Any], table: pd.DataFrame, published: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """Draw on two axes the errors of permute-and-flip and of the exponential mechanism, and the reduction below.

    Parameters
    ----------
    axes : sequence of two Axes
    table : DataFrame
        Columns epsilon, reduction and, for each mechanism, <name>_exact, <name>_sampled, <name>_standard_error with
        underscores in the name.
    published : mapping of str to sequence of pairs
        For each mechanism the printed points (epsilon, error).
    """
    for mechanism in ("permute-and-flip", "exponential"):
        name, colour = mechanism.replace("-", "_"), COLOURS[mechanism]
        axes[0].plot(table["epsilon"], table[f"{name}_exact"], color=colour, label=mechanism)
        dots = {"fmt": ".", "ms": 2.5, "lw": 0.5, "color": colour}
        axes[0].errorbar(table["epsilon"], table[f"{name}_sampled"], 2 * table[f"{name}_standard_error"], **dots)
        for epsilon, error in published[mechanism]:
            if table["epsilon"].min() <= epsilon <= table["epsilon"].max():
                offset = (5, 4) if mechanism == "exponential" else (-5, -12)
                mark_published(axes[0], epsilon, error, f"{error:g}", offset=offset, colour=colour)
    axes[1].plot(table["epsilon"], table["reduction"], color=OURS)
    axes[0].set(yscale="log")
    _plain_ticks(axes[0], (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))
    axes[1].set(xlabel=r"$\epsilon$", ylim=(0, 0.6))


def draw_reduction(ax: Any, table: pd.DataFrame, published: Sequence[tuple[float, float]]) -> None:
    """Draw how much permute-and-flip can lower the error: the proven limit, an ensemble's band, one trip, the paper.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
        Columns epsilon, limit, low, median, high, trip.
    published : sequence of pairs
        The printed points (epsilon, reduction).
    """
    ax.fill_between(table["epsilon"], table["limit"], 1.0, color="0.9", lw=0)
    ax.text(table["epsilon"].max(), 0.53, "impossible", ha="right", va="bottom", color="0.3", fontsize=7)
    ax.plot(table["epsilon"], table["limit"], color=TRUE, label="limit, any words")
    band = {**house_style.BAND, "color": PAPER, "label": "9 of 10 random trips"}
    ax.fill_between(table["epsilon"], table["low"], table["high"], **band)
    ax.plot(table["epsilon"], table["median"], color=PAPER, label="median trip")
    ax.plot(table["epsilon"], table["trip"], color=OURS, label="calibrated trip")
    for epsilon, value in published:
        mark_published(ax, epsilon, value, f"{value:g}", offset=(-6, 6))
    ax.set(xlabel=r"$\epsilon$", ylabel="reduction of the error", ylim=(0, 0.8))
    ax.legend(loc="upper left", ncols=2, columnspacing=1.0)


def draw_against_optimum(ax: Any, table: pd.DataFrame, title: str) -> None:
    """Draw each mechanism's error divided by the least possible one, against the epsilon it really spends.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
        Columns mechanism, epsilon_exact, error, least_error.
    title : str
    """
    for mechanism, part in table.groupby("mechanism", sort=False):
        line = "--" if mechanism == "exponential" else "-"
        ratio = part["error"] / part["least_error"]
        ax.plot(
            part["epsilon_exact"],
            ratio,
            line,
            color=COLOURS[str(mechanism)],
            label=mechanism,
            zorder=2 + (line == "--"),
        )
    ax.axhline(1.0, color=TRUE, lw=0.8, zorder=0)
    ax.set(xlabel=r"exact $\epsilon$", xlim=(0, 6), yscale="log")
    _plain_ticks(ax, (1, 1.2, 1.5, 2, 3, 4, 6, 10))
    ax.set_title(title, fontsize=7)


def _plain_ticks(ax: Any, values: Sequence[float]) -> None:
    """Write these values, those within the limits, as plain numbers on a logarithmic axis."""
    ax.yaxis.set_major_locator(FixedLocator(list(values)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
