"""Drawings of decision processes: the values of private plans, and the model of four startups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpsim.checks import Array
from dpsim.figures.explore import WIDTH, Moving, embedded, encode, note, slider
from dpsim.figures.house_style import (
    OTHER,
    OURS,
    PAPER,
    TRUE,
    mark_source,
    plain_ticks,
    size,
)

VALUES: dict[str, dict[str, Any]] = {
    "optimistic": {
        "ls": "--",
        "color": PAPER,
        "ecolor": "#7FB8D8",
        "label": "the paper's bounds",
    },
    "private": {"ls": "-", "color": PAPER, "label": "in the private model"},
    "true": {"ls": "-", "color": TRUE, "label": "in the true model"},
    "pessimistic": {"ls": "--", "color": PAPER, "ecolor": "#7FB8D8"},
}
"""The look of each of a policy's four values in a figure, and its label."""
K_TICKS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
"""Where the axes of k have ticks, in plain numbers."""


def draw_plans(table: pd.DataFrame) -> Figure:
    """Return Figure 1 of Gohari, Hale, Topcu 2020: a policy's values in two examples (a, b), and the cost of privacy
    (c).

    Parameters
    ----------
    table : DataFrame, columns example, k and, for each name in VALUES and for cost, <name>_mean and <name>_sd
    """
    fig, axes = plt.subplots(1, 3, figsize=size(2, 2.8))
    for ax, marker, (name, part) in zip(
        axes, "os", table.groupby("example", sort=False)
    ):
        draw_values(ax, part, f"value, {name}")
        cost = {"label": f"c: {name}", "marker": marker, "mfc": "w", "color": PAPER}
        draw_values(axes[2], part, "cost of privacy", {"cost": cost})
    axes[2].set_ylim(0, None)
    for ax, letter in zip(axes, "abc"):
        ax.set_title(letter, loc="left", fontweight="bold")
    lines, names = (
        a + c for a, c in zip(*(ax.get_legend_handles_labels() for ax in axes[[0, 2]]))
    )
    fig.legend(
        lines,
        names,
        loc="outside upper left",
        ncols=5,
        columnspacing=1.2,
        handlelength=1.6,
    )
    mark_source(
        fig,
        "Startups: a stand-in. Example 2: a random model. The values of k are our choice.",
    )
    return fig


def draw_values(
    ax: Any,
    table: pd.DataFrame,
    label: str,
    looks: Mapping[str, Mapping[str, Any]] = VALUES,
) -> None:
    """Draw means against k, with one standard deviation as bars, by default those of a policy's four values.

    Parameters
    ----------
    ax : Axes
    table : DataFrame, columns k and, for each name in looks, <name>_mean and <name>_sd
    label : str, the label of the values
    looks : mapping, for each name the keywords of its line
    """
    for name, look in looks.items():
        ax.errorbar(
            table["k"],
            table[f"{name}_mean"],
            table[f"{name}_sd"],
            lw=1,
            elinewidth=0.6,
            capsize=1.5,
            **look,
        )
    ax.set(xscale="log", xlabel="$k$", ylabel=label)
    plain_ticks(ax.xaxis, K_TICKS)


def plan_chart(table: pd.DataFrame, run_if: float, k: float) -> Moving:
    """Return a chart with a slider for k. It shows the distribution of a private probability, and how often the plan
    made from this probability runs the machine.

    Parameters
    ----------
    table : DataFrame
        Columns k (a grid), epsilon, low and high (the ends of a bin), true and neighbour (the probability that the draw
        is in the bin, for the true and for the neighbouring probability), true_runs and neighbour_runs (the probability
        that the plan runs the machine).
    run_if : float, the end of a bin; the plan runs the machine if the draw is to the right of it
    k : float, the start of the slider
    """
    grid = sorted(map(float, table["k"].unique()))
    steady = {"minExtent": 40}
    x = encode(
        "low", title=f"probability drawn; beyond {run_if:g} the plan runs the machine"
    )
    y = encode("true", title="probability of a bin", axis=steady)
    colour = {
        "condition": {"test": f"datum.low > {run_if - 1e-6}", "value": PAPER},
        "value": "#bbb",
    }
    bars = {
        "x": x,
        "x2": {"field": "high"},
        "y": y,
        "y2": {"datum": 0},
        "color": colour,
    }
    steps = {"type": "line", "interpolate": "step-after", "color": TRUE}
    room = [
        {"calculate": "1.1 * max(datum.true, datum.neighbour)", "as": "room"}
    ]  # the axis ends above every bar
    odds = "max(datum.true_runs / datum.neighbour_runs, (1 - datum.neighbour_runs) / (1 - datum.true_runs))"
    says = "'k = ' + datum.k + ': ε = ' + format(ceil(100 * datum.epsilon) / 100, '.2f') + ' for the draw, '"
    says += f" + format(ceil(100 * log({odds})) / 100, '.2f') + ' for the plan, which is right in '"
    says += " + format(100 * datum.true_runs, '.0f') + '% of the draws.'"
    above = [
        {"mark": "bar", "encoding": bars},
        {"mark": steps, "encoding": {"x": x, "y": y | {"field": "neighbour"}}},
        {
            "mark": {"type": "point", "opacity": 0},
            "transform": room,
            "encoding": {"y": y | {"field": "room"}},
        },
        note(says, ["k", "epsilon", "true_runs", "neighbour_runs"], x=0, y=-10),
    ]
    here = {"filter": "abs(datum.k - chosen) < 1e-6"}
    first = {"filter": "datum.low == 0"}
    below = []
    last = {"filter": f"datum.low == 0 && datum.k == {grid[-1]:g}"}
    sides = (
        ("true", PAPER, 12, "true probability (bars)"),
        ("neighbour", TRUE, -10, "neighbour (line)"),
    )
    for name, ink, dy, side in sides:
        share = encode(
            f"{name}_runs",
            title="probability to run",
            scale={"domain": [0, 1]},
            axis=steady,
        )
        curve = {"transform": [first], "encoding": {"x": encode("k"), "y": share}}
        dot = {"type": "point", "filled": True, "size": 90, "color": ink, "opacity": 1}
        text = {
            "type": "text",
            "align": "right",
            "dy": dy,
            "color": ink,
            "text": f"from the {side}",
        }
        below.append(curve | {"mark": {"type": "line", "color": ink}})
        below.append(curve | {"mark": dot, "transform": [here, first]})
        below.append(curve | {"mark": text, "transform": [last]})
    panels = [
        {"layer": above, "transform": [here], "height": 170},
        {"layer": below, "height": 110},
    ]
    spec = {
        "params": [slider("chosen", "k ", k, grid[0], grid[-1], grid[1] - grid[0])],
        **embedded(table),
        "vconcat": [{"width": WIDTH - 80, **panel} for panel in panels],
    }
    alt = (
        "Above, bars and a line show how probable each draw is from the true probability and its neighbour. Below, "
        "two curves show for each k how probable it is that the plan runs the machine; they move apart as k grows."
    )
    return Moving(spec, alt)


def draw_startups(
    ax: Any,
    prices: Array,
    closing: Array,
    chances: Array,
    terminal: Mapping[str, float],
) -> None:
    """Draw the model of four startups: the search, the deals, the effects of holding or investing, success and failure.

    No text covers an arrow.

    Parameters
    ----------
    ax : Axes
    prices, closing : ndarray, shape (4,), the price of each deal, and the probability that it closes
    chances : ndarray, shape (4, 2, 2), probabilities of success and failure in a stage, when held and when invested in
    terminal : mapping, the terminal values of the states
    """
    shape = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "0.3"}
    look: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": 8.5,
        "bbox": shape,
        "zorder": 3,
    }
    boxes = {}
    for name, x, y in (
        ("search", -0.2, 0.0),
        ("success", 9.6, 1.9),
        ("failure", 9.6, -1.9),
    ):
        boxes[name] = ax.text(x, y, f"{name}\nworth {terminal[name]:g}", **look)
    for i, (price, closes, stages) in enumerate(zip(prices, closing, chances)):
        name = f"startup {i + 1}"
        y = 3.6 - 2.4 * i
        lines = [f"{name}, worth {terminal[name]:g}"]
        for verb, (up, down) in zip(("held", "invested in"), stages):
            lines.append(f"{verb}: success {up:.2f}, failure {down:.2f}")
        boxes[name] = ax.text(5.6, y, "\n".join(lines), **look)
        _join(ax, boxes["search"], boxes[name], 0.8 - 0.2 * i, 0.5, PAPER, "-")
        ax.text(
            2.25,
            y / 2 + 0.45 - 0.17 * i,
            f"price {price:g}, closes {closes:g}",
            fontsize=8.5,
            ha="center",
            va="bottom",
            color=PAPER,
            rotation=np.degrees(np.arctan2(0.93 * y, 3.8)),
            rotation_mode="anchor",
            transform_rotates_text=True,
        )
        for end, colour, dashes, out in (
            ("success", OTHER, "-", 0.65),
            ("failure", OURS, "--", 0.35),
        ):
            _join(ax, boxes[name], boxes[end], out, 0.8 - 0.2 * i, colour, dashes)
    ax.set(xlim=(-0.8, 10.3), ylim=(-4.6, 4.6))
    ax.set_axis_off()
    mark_source(
        ax.figure,
        "A stand-in: our copy of the paper does not list the numbers of its model.",
    )


def _join(
    ax: Any, start: Any, end: Any, out: float, into: float, colour: str, dashes: str
) -> None:
    """Draw an arrow from the right side of a box to the left side of another, at the relative heights `out` and
    `into`."""
    line = {
        "arrowstyle": "->",
        "color": colour,
        "ls": dashes,
        "lw": 0.8,
        "shrinkA": 0,
        "shrinkB": 1,
    }
    ax.annotate(
        "",
        (0.0, into),
        (1.0, out),
        xycoords=end.get_bbox_patch(),
        textcoords=start.get_bbox_patch(),
        arrowprops=line,
        zorder=4,  # drawn once the boxes have a place
    )
