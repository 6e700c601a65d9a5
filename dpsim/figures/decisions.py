"""Drawings of decision processes: a model of investments, values with their bounds, costs against epsilon.

Each function draws columns of tables that are already computed, on axes that are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.figures.house_style import BAND, OTHER, OURS, PAPER, TRUE

DODGE = 1.035
"""Factor on a logarithmic axis between neighbouring error bars."""

VALUES = {
    "optimistic": ("optimistic and pessimistic bound", PAPER, "--"),
    "private": ("value in the private model", PAPER, "-"),
    "non_private": ("value in the true model", TRUE, "-"),
    "pessimistic": (None, PAPER, "--"),
}
"""Label, colour and dashes of a policy's four values."""


def draw_startups(
    ax: Any, prices: ArrayLike, closing: ArrayLike, chances: ArrayLike, terminal: Mapping[str, float]
) -> None:
    """Draw the model of four startups: search, deals, what holding or investing does, success and failure.

    No text is on an arrow.

    Parameters
    ----------
    ax : matplotlib axes
    prices, closing : array_like, shape (4,)
        Price of a deal, and the probability that it closes.
    chances : array_like, shape (4, 2, 2)
        Probabilities of success and failure in a stage, held and invested in.
    terminal : mapping
        What the states end with.
    """
    shape = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "0.3"}
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "bbox": shape}
    spots = {"search": (0.0, 0.0), "success": (9.4, 1.9), "failure": (9.4, -1.9)}
    boxes = {
        name: ax.text(*spot, f"{name}\nends with {terminal[name]:g}", **look, zorder=3) for name, spot in spots.items()
    }
    deals = checks.real("prices", prices), checks.real("closing", closing), checks.real("chances", chances)
    for i, (price, closes, (held, invested)) in enumerate(zip(*deals)):
        name = f"startup {i + 1}"
        spots[name] = (5.3, 3.6 - 2.4 * i)
        lines = [f"{name}, ends with {terminal[name]:g}"]
        for verb, (up, down) in (("held", held), ("invested in", invested)):
            lines.append(f"{verb}: succeeds {up:.2f}, fails {down:.2f}")
        boxes[name] = ax.text(*spots[name], "\n".join(lines), **look, zorder=3)
        _join(ax, boxes["search"], boxes[name], 0.8 - 0.2 * i, 0.5, PAPER)
        (x, y), label = spots[name], f"price {price:g}, closes with {closes:g}"
        x -= 1.8  # an arrow goes from edge to edge
        tilt = {"rotation": np.degrees(np.arctan2(y, x)), "rotation_mode": "anchor", "transform_rotates_text": True}
        ax.text(0.45 + x / 2, y / 2 + 0.28 - 0.09 * i, label, fontsize=6, ha="center", va="bottom", color=PAPER, **tilt)
        for end, colour, out in (("success", OTHER, 0.65), ("failure", OURS, 0.35)):
            _join(ax, boxes[name], boxes[end], out, 0.8 - 0.2 * i, colour)
    ax.set(xlim=(-0.8, 10.3), ylim=(-4.6, 4.6))
    ax.set_axis_off()


def _join(ax: Any, start: Any, end: Any, out: float, into: float, colour: str) -> None:
    """Draw an arrow from the right side of a box, at the height `out` of it, to the left side of another."""
    line = {"arrowstyle": "->", "color": colour, "lw": 0.8, "shrinkA": 0, "shrinkB": 1}
    sides = {"xycoords": end.get_bbox_patch(), "textcoords": start.get_bbox_patch()}
    ax.annotate("", (0.0, into), (1.0, out), arrowprops=line, zorder=4, **sides)  # drawn once the boxes have a place


def draw_values(ax: Any, table: pd.DataFrame) -> None:
    """Draw a policy's private and true value between their bounds against k, one standard deviation as error bars.

    Bars stand side by side.

    Parameters
    ----------
    ax : matplotlib axes
    table : DataFrame
        Columns k and, for each name in VALUES, <name>_mean and <name>_sd.
    """
    for side, (name, (label, colour, dashes)) in enumerate(VALUES.items()):
        x = table["k"] * DODGE ** (side - 1.5)
        bars: dict[str, Any] = {"lw": 1, "elinewidth": 0.6, "capsize": 1.5}
        ax.errorbar(x, table[f"{name}_mean"], table[f"{name}_sd"], color=colour, ls=dashes, label=label, **bars)
    ax.set(xscale="log", xlabel="$k$")


def draw_costs(axes: Sequence[Any], table: pd.DataFrame, floors: Mapping[str, float], looks: Mapping[str, Any]) -> None:
    """Draw the cost of privacy against epsilon on two axes, the epsilon axis broken where nothing is for a factor 3.

    Without such a gap the second axes are hidden.

    Parameters
    ----------
    axes : two matplotlib axes
    table : DataFrame
        Columns example, epsilon, cost_mean.
    floors : mapping
        For each example an epsilon that no k passes, drawn dotted.
    looks : mapping
        For each example keywords of its line.
    """
    seen = np.sort(np.concatenate([table["epsilon"], list(floors.values())]))
    seen = seen[seen > 0]
    ratios = seen[1:] / seen[:-1]
    broken = len(ratios) > 0 and ratios.max() > 3
    border = float(np.sqrt(seen[ratios.argmax()] * seen[ratios.argmax() + 1])) if broken else np.inf
    for name, part in table.groupby("example", sort=False):
        for ax, inside in ((axes[0], part["epsilon"] < border), (axes[1], part["epsilon"] >= border)):
            ax.plot(part["epsilon"][inside], part["cost_mean"][inside], label=name, ms=3.5, **looks[str(name)])
        floor = floors[str(name)]
        axes[int(floor >= border)].axvline(floor, color=looks[str(name)]["color"], lw=0.8, ls=":")
    for ax, part in zip(axes, (seen[seen < border], seen[seen >= border])):
        if len(part):
            room = 0.08 * (part[-1] - part[0]) + 0.01 * part[-1]
            ax.set_xlim(part[0] - room, part[-1] + room)
        ax.set_ylim(0, None)
    axes[1].set_visible(broken)
    if broken:
        _break(axes)


def _break(axes: Sequence[Any]) -> None:
    """Mark that two axes side by side are one, cut."""
    axes[1].spines["left"].set_visible(False)
    axes[1].tick_params(left=False, labelleft=False)
    slash = {"marker": [(-0.5, -1), (0.5, 1)], "ms": 6, "ls": "none", "color": "black", "mew": 0.7, "clip_on": False}
    axes[0].plot([1], [0], transform=axes[0].transAxes, **slash)
    axes[1].plot([0], [0], transform=axes[1].transAxes, **slash)


def draw_banded(
    ax: Any, table: pd.DataFrame, runs: int, curves: Mapping[str, tuple[str, str, str]], x: str = "k"
) -> None:
    """Draw means with a band of two standard errors, both axes logarithmic.

    Parameters
    ----------
    ax : matplotlib axes
    table : DataFrame
        Columns x and, for each name in curves, <name>_mean and <name>_sd over the runs.
    runs : int
        Number of runs behind each mean.
    curves : mapping
        Label, colour and dashes of each curve.
    x : str
        Column of the horizontal axis.
    """
    for name, (label, colour, dashes) in curves.items():
        mean, error = table[f"{name}_mean"], 2 * table[f"{name}_sd"] / np.sqrt(runs)
        ax.plot(table[x], mean, color=colour, ls=dashes, label=label)
        ax.fill_between(table[x], np.maximum(mean - error, 1e-12), mean + error, color=colour, **BAND)
    ax.set(xscale="log", yscale="log", xlabel=f"${x}$")
    shown = [float(table[f"{name}_mean"][table[f"{name}_mean"] > 0].min()) for name in curves]
    if isinstance(ax, Axes) and np.isfinite(shown).any():
        ax.set_ylim(0.5 * min(value for value in shown if np.isfinite(value)), None)
