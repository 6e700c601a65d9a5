"""The figures of the notebook `mdp_policy_synthesis`: plans, forecasts and startups."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from dpsim.checks import Array
from dpsim.figures.explore import WIDTH, Moving, embedded, encode, note, slider
from dpsim.figures.house_style import (
    OTHER,
    OURS,
    PAPER,
    SMALL,
    TRUE,
    draw_band,
    mark_source,
    plain_ticks,
    size,
)
from dpsim.figures.price import EPSILONS, draw_odds

LOOKS = {
    "success": (OTHER, "w"),
    "no change": ("0.85", "k"),
    "failure": (OURS, "w"),
}
"""The colours of the bars and of the numbers in them."""
K_TICKS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
"""The ticks of the axes of k."""


def draw_plans(table: pd.DataFrame) -> Figure:
    """Return Figure 1 of Gohari, Hale, Topcu 2020.

    It shows a policy's values in two examples (a, b), and the cost of privacy (c). The
    points are means, and the error bars extend one standard deviation on either side.

    Parameters
    ----------
    table : DataFrame
        The columns are example, k, and <name>_mean and <name>_sd for the names
        optimistic, private, true, pessimistic and cost.
    """
    fig, axes = plt.subplots(1, 3, figsize=size(2, 2.8))
    light = "#7FB8D8"
    for ax, marker, (name, part) in zip(
        axes, "os", table.groupby("example", sort=False)
    ):
        _draw_means(ax, part, "optimistic", "--", "bounds, our reading", bars=light)
        _draw_means(ax, part, "private", "-", "in the private model")
        _draw_means(ax, part, "true", "-", "in the true model", colour=TRUE)
        _draw_means(ax, part, "pessimistic", "--", bars=light)
        _draw_means(axes[2], part, "cost", f"{marker}-", f"c: {name}")
        ax.set_ylabel(f"value, {name}")
    axes[2].set_ylabel("cost of privacy")
    axes[2].set_ylim(0, None)
    for ax, letter in zip(axes, "abc"):
        ax.set_title(letter, loc="left", fontweight="bold")
    values, value_names = axes[0].get_legend_handles_labels()
    costs, cost_names = axes[2].get_legend_handles_labels()
    fig.legend(
        values + costs,
        value_names + cost_names,
        loc="outside upper left",
        ncols=5,
        columnspacing=1.2,
        handlelength=1.6,
    )
    mark_source(
        fig,
        "Startups: a stand-in. Example 2: a random model. "
        "The values of k are our choice.",
    )
    return fig


def _draw_means(
    ax: Any,
    table: pd.DataFrame,
    name: str,
    marks: str,
    label: str | None = None,
    *,
    colour: str = PAPER,
    bars: str | None = None,
) -> None:
    """Plot <name>_mean against k, with error bars <name>_sd in the colour `bars`."""
    ax.errorbar(
        table["k"],
        table[f"{name}_mean"],
        table[f"{name}_sd"],
        fmt=marks,
        color=colour,
        ecolor=bars,
        label=label,
        lw=1,
        mfc="w",
        elinewidth=0.6,
        capsize=1.5,
    )
    ax.set(xscale="log", xlabel="$k$")
    plain_ticks(ax.xaxis, K_TICKS)


def plan_chart(table: pd.DataFrame, run_if: float, k: float) -> Moving:
    """Return a chart of a private probability and of the plan made from it.

    Parameters
    ----------
    table : DataFrame
        The columns are k, low and high (the ends of a bin), true and neighbour (the
        probability that the draw is in the bin, for the true probability and for its
        neighbour), true_runs and neighbour_runs (the probability that the plan runs the
        machine).
    run_if : float, the end of a bin
        The plan runs the machine if the draw is larger.
    k : float, the initial value of the slider
    """
    grid = sorted(map(float, table["k"].unique()))
    title = f"sampled probability; beyond {run_if:g} the plan runs the machine"
    bins = {
        "x": encode("low", title=title),
        "y": encode("true", title="probability of a bin", axis={"minExtent": 40}),
    }
    runs = {"test": f"datum.low > {run_if - 1e-6}", "value": PAPER}
    bars = {
        "mark": "bar",
        "encoding": bins
        | {
            "x2": {"field": "high"},
            "y2": {"datum": 0},
            "color": {"condition": runs, "value": "#bbb"},
        },
    }
    steps = {
        "mark": {"type": "line", "interpolate": "step-after", "color": TRUE},
        "encoding": bins | {"y": bins["y"] | {"field": "neighbour"}},
    }
    room = {  # invisible points, so that the axis ends above every bar
        "mark": {"type": "point", "opacity": 0},
        "transform": [
            {"calculate": "1.1 * max(datum.true, datum.neighbour)", "as": "room"}
        ],
        "encoding": {"y": bins["y"] | {"field": "room"}},
    }
    odds = (
        "max(datum.true_runs / datum.neighbour_runs, "
        "(1 - datum.neighbour_runs) / (1 - datum.true_runs))"
    )
    says = (
        "'k = ' + datum.k + ': the exact ε of the action is '"
        f" + format(ceil(100 * log({odds})) / 100, '.2f')"
        " + '; the plan is right in ' + format(100 * datum.true_runs, '.0f')"
        " + '% of the draws.'"
    )
    told = note(says, ["k", "true_runs", "neighbour_runs"], x=0, y=-10)
    here = {"filter": "abs(datum.k - chosen) < 1e-6"}
    first = {"filter": "datum.low == 0"}
    below = []
    for name, colour in ("true_runs", PAPER), ("neighbour_runs", TRUE):
        y = encode(name, title="probability to run", scale={"domain": [0, 1]})
        line = {"type": "line", "color": colour}
        dot = {"type": "point", "filled": True, "size": 90, "color": colour}
        for mark, rows in (line, [first]), (dot, [first, here]):
            encoding = {"x": encode("k"), "y": y | {"axis": {"minExtent": 40}}}
            below.append({"mark": mark, "transform": rows, "encoding": encoding})
    above = {"layer": [bars, steps, room, told], "transform": [here]}
    panel = {"width": WIDTH - 80, "height": 170}
    spec = {
        "params": [slider("chosen", "k ", k, grid[0], grid[-1], grid[1] - grid[0])],
        **embedded(table),
        "vconcat": [above | panel, {"layer": below} | panel | {"height": 110}],
    }
    alt = (
        "Above, bars and a line show how probable each draw is from the true "
        "probability and its neighbour. Below, two curves show for each k how probable "
        "it is that the plan runs the machine; they move apart as k grows."
    )
    return Moving(spec, alt)


def draw_startups(chances: Array) -> Figure:
    """Return a figure of what may happen to each startup in one stage, as stacked bars.

    Startups with the same probabilities share their bars.

    Parameters
    ----------
    chances : ndarray, shape (startups, 2, 2)
        For each startup, the probabilities of success and failure in a stage if it is
        held and if it is invested in.
    """
    alike: dict[bytes, list[int]] = {}
    for i, own in enumerate(chances):
        alike.setdefault(own.tobytes(), []).append(i)
    fig, ax = plt.subplots(figsize=size(2, 1 + 0.65 * len(alike)))
    ticks = {}
    for place, same in enumerate(alike.values()):
        several = "s" if len(same) > 1 else ""
        named = f"startup{several} {', '.join(str(i + 1) for i in same)}: held"
        for action, word in enumerate((named, "invested in")):
            y = 2.7 * place + action
            ticks[y] = word
            success, failure = chances[same[0], action]
            stays = 1 - success - failure
            left = 0.0
            for share, (colour, ink) in zip((success, stays, failure), LOOKS.values()):
                ax.barh(y, share, 0.85, left, color=colour, edgecolor="w")
                ax.text(
                    left + share / 2,
                    y,
                    f"{share:.2f}",
                    color=ink,
                    fontsize=SMALL,
                    ha="center",
                    va="center",
                )
                left += share
    ax.set_yticks(list(ticks), ticks.values())
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="probability in one stage")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    fig.legend(ax.patches[:3], LOOKS, loc="outside upper right", ncols=3)
    mark_source(fig, "A stand-in: we have not seen the numbers of the paper.")
    return fig


def draw_forecasts(table: pd.DataFrame, best: float, without: float) -> Figure:
    """Return a figure of what private plans promise and what they are worth.

    Parameters
    ----------
    table : DataFrame
        The columns epsilon, mechanism, forecast, worth and standard_error (of worth).
    best, without : float
        The worth of the best plan, and of one that does not use the data.
    """
    fig, ax = plt.subplots(figsize=size(2, 3.2))
    for mechanism, colour in (("Laplace", OTHER), ("Dirichlet", PAPER)):
        part = table[table["mechanism"] == mechanism]
        epsilon, worth = part["epsilon"], part["worth"]
        ax.plot(epsilon, part["forecast"], "--", color=colour)
        ax.plot(epsilon, worth, color=colour, label=mechanism)
        draw_band(ax, epsilon, worth, part["standard_error"], colour)
    ax.axhline(best, color=TRUE, lw=0.8)
    ax.axhline(without, color="0.5", lw=0.8, ls=":")
    for x, y, words in (
        (0.9, 1.28 * best, "what Vera expects (dashed)"),
        (0.9, 0.58 * best, "what Vera gets"),
        (12, 0.85 * best, "the best plan"),
        (12, 1.05 * without, "a fair die"),
    ):
        ax.text(x, y, words)
    ax.set(xscale="log", xlim=(0.5, 20), ylim=(0, 1.1 * table["forecast"].max()))
    ax.set(xlabel=r"exact $\epsilon$", ylabel="value of the plan (millions)")
    plain_ticks(ax.xaxis, EPSILONS)
    draw_odds(ax)
    fig.legend(loc="outside upper center", ncols=2)
    mark_source(fig, "Four startups: a stand-in")
    return fig
