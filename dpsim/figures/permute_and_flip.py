"""The figures of the notebook `permute_and_flip`: the chart of a word, drives on a map,
and the errors of both mechanisms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from dpsim.datasets.roads import RoadChain
from dpsim.figures.explore import WIDTH, Moving, embedded, encode, note, slider
from dpsim.figures.house_style import (
    BOUND,
    DASHES,
    OTHER,
    OURS,
    PAPER,
    TRUE,
    mark_published,
    plain_ticks,
    size,
)
from dpsim.figures.maps import (
    draw_network,
    draw_walk,
    mark_ends,
    name_segments,
    scale_bar,
    segment_ends,
    walk_stops,
)

FIXED = "#E6A0C4"
"""The colour of segments without a substitute. Black numbers can be read on it."""

COLOURS = {"permute-and-flip": PAPER, "exponential": OTHER, "staircase": OURS}
"""The colour of each mechanism on words."""


MARKERS = {"permute-and-flip": "o", "exponential": "^"}
"""The marker of the sampled errors of each mechanism."""


def word_chart(table: pd.DataFrame, pair: Sequence[str], epsilon: float) -> Moving:
    """Return a chart of each mechanism's errors on a word, with a slider for epsilon.

    A lower panel shows how many times as probable each release is given this word as
    given another one.

    Parameters
    ----------
    table : DataFrame
        A row for each mechanism, epsilon, and group of releases that share the same
        distance from each word. The columns are mechanism, epsilon (promised), exact
        (the exact epsilon), released (the words of the group, separated by spaces),
        wrong (their distance from the first word), probability (of the group, given the
        first word) and ratio (of this probability to the one given the second word).
    pair : sequence of two str, the words
    epsilon : float, the initial value of the slider
    """
    first, second = pair
    grid = sorted(map(float, table["epsilon"].unique()))
    names = list(table["mechanism"].unique())
    mechanism = encode("mechanism", "nominal")
    shades = {"domain": names, "range": [COLOURS[name] for name in names]}
    look = {
        "color": mechanism
        | {"scale": shades, "legend": {"title": None, "orient": "top"}},
        "xOffset": mechanism | {"scale": {"domain": names}},
    }
    panels = [_wrong_letters(first, look), _ratios(first, second, names, look)]
    spec = {
        "params": [
            slider(
                "promise", "promised ε ", epsilon, grid[0], grid[-1], grid[1] - grid[0]
            )
        ],
        **embedded(table),
        "transform": [{"filter": "abs(datum.epsilon - promise) < 1e-6"}],
        "vconcat": [panel | {"width": WIDTH - 90} for panel in panels],
        "resolve": {"scale": {"x": "independent", "xOffset": "independent"}},
    }
    alt = (
        f"How probable each release of each mechanism is from {first}, and how many "
        f"times as probable as from {second}."
    )
    return Moving(spec, alt)


STEADY = {"minExtent": 50}
"""The axes of both panels, which do not move when a label becomes wider."""


def _wrong_letters(first: str, look: dict[str, Any]) -> dict[str, Any]:
    """Return the upper panel of `word_chart`, the number of wrong letters."""
    wrong = encode(
        "wrong", "ordinal", title="wrong letters of the release", axis={"labelAngle": 0}
    )
    share = encode(
        "probability",
        aggregate="sum",
        title=f"probability if {first} is true",
        axis=STEADY,
        scale={"domain": [0, 1]},
    )
    return {"mark": "bar", "encoding": {"x": wrong, "y": share, **look}, "height": 130}


def _ratios(
    first: str, second: str, names: Sequence[str], look: dict[str, Any]
) -> dict[str, Any]:
    """Return the lower panel of `word_chart`, with a text above it."""
    two = 2 * len(first) + 1  # the characters of two words, which fit on one line
    lines = f"[slice(datum.label, 0, {two}), slice(datum.label, {two + 1})]"
    word = encode(
        "released",
        "nominal",
        sort=None,
        title=f"released word, from nearer to {first} to nearer to {second}",
        axis={
            "labelAngle": 0,
            "labelFont": "DejaVu Sans Mono, monospace",
            "labelFontSize": 11,
            "labelExpr": f"length(datum.label) > {two} ? {lines} : datum.label",
        },
    )
    ratio = encode(
        "ratio",
        title=f"times as probable as from {second}",
        scale={"type": "log", "nice": False, "padding": 14},
        axis={"format": "~r", "tickCount": 5, **STEADY},
    )
    marks = {"domain": names, "range": ["circle", "triangle-up"]}
    shape = encode("mechanism", "nominal", scale=marks)
    dots = {
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
        "encoding": {"x": word, "y": ratio, "shape": shape, **look},
    }
    promised = {
        "mark": {"type": "rule", "color": TRUE, "strokeDash": [6, 3]},
        "encoding": {"y": ratio | {"field": "end", "aggregate": "mean"}},
    }
    limits = [
        promised | {"transform": [{"calculate": f"exp({sign}epsilon)", "as": "end"}]}
        for sign in ("datum.", "-datum.")
    ]
    factor = "', a factor of about ' + format(exp(datum.{}), ',.3~r')"
    said = "'promised ε = ' + datum.epsilon + " + factor.format("epsilon")
    texts = [note(said, ["epsilon"], x=0, y=-42)]
    rounded_up = "format(ceil(100 * datum.exact - 1e-6) / 100, '.2f')"
    for name, y in zip(names, (-25, -8)):
        exact = f"'exact ε of {name} = ' + {rounded_up} + " + factor.format("exact")
        said = f"datum.mechanism == '{name}' ? {exact} : ''"
        texts.append(note(said, ["mechanism", "exact"], x=0, y=y, color=COLOURS[name]))
    return {"layer": [*limits, dots, *texts], "height": 200}


def draw_drives(
    axes: Sequence[Any],
    roads: RoadChain,
    drives: Mapping[str, Sequence[int]],
    fixed: Sequence[bool],
) -> None:
    """Plot drives on maps that name their segments, and count the wrong ones.

    Parameters
    ----------
    axes : sequence of Axes, one map for each drive
    roads : RoadChain
    drives : mapping
        The segments of each drive by its name, beginning with the public start. The
        first drive is the true one.
    fixed : sequence of bool, for each step, whether no other segment fits there
    """
    true, *_ = drives.values()
    stuck = segment_ends(roads)[np.array(true)[np.array(fixed)]]
    for ax, (name, drive) in zip(axes, drives.items()):
        draw_network(ax, roads)
        scale_bar(ax, 1000)
        if ax is axes[0]:
            ax.set_title(name, pad=2)
            ax.add_collection(LineCollection(stuck, colors=FIXED, lw=5, zorder=3))
            draw_walk(ax, roads, drive, colour=TRUE)
            continue
        wrong = np.count_nonzero(np.array(drive) != true)
        ax.set_title(f"{name}, {wrong} wrong", pad=2)
        line = walk_stops(roads, drive)
        ax.plot(*walk_stops(roads, true).T, color=TRUE, lw=0.8, zorder=3)
        ax.plot(*line.T, color=PAPER, lw=2.6, zorder=4)
        mark_ends(ax, line, PAPER, 4.5)
    axes[0].figure.draw_without_rendering()
    for ax, drive in zip(axes, drives.values()):
        colour = TRUE if ax is axes[0] else PAPER
        name_segments(ax, roads, drive, colour=colour)


def draw_two_drives(
    roads: RoadChain, true: Sequence[int], private: Sequence[int]
) -> Figure:
    """Return the thumbnail: the true drive and a private one on a bare map.

    Parameters
    ----------
    roads : RoadChain
    true, private : sequence of int, segments, which begin with the public start
    """
    fig, ax = plt.subplots(figsize=(3.5, 2.4))
    draw_network(ax, roads)
    for drive, colour, name in ((true, TRUE, "true"), (private, PAPER, "private")):
        line = walk_stops(roads, drive)
        ax.plot(*line.T, color=colour, lw=4, zorder=4, label=name)
        ax.plot(*line[-1], "s", ms=9, color=colour, zorder=5)
    ax.plot(*line[0], "o", ms=11, mfc="white", mec=TRUE, mew=2.5, zorder=6)
    fig.legend(loc="outside right center", fontsize=15, handlelength=0.8)
    return fig


def draw_competition(
    table: pd.DataFrame, names: Mapping[str, int], tipping: float, allowed: float
) -> Figure:
    """Return a figure of the wrong segments of a private drive against epsilon.

    Parameters
    ----------
    table : DataFrame
        The columns are b, epsilon and wrong_segments.
    names : mapping, the b of each name
    tipping : float, the tipping point for b = 1; those of other b are b times as large
    allowed : float, the largest epsilon of the shaded area
    """
    fig, ax = plt.subplots(figsize=size(2, 3.2))
    for shade, (name, b) in zip((0.0, 0.25, 0.5), names.items()):
        x, y = table.loc[table["b"] == b, ["epsilon", "wrong_segments"]].to_numpy().T
        colour = np.array(to_rgb(PAPER)) * (1 - shade) + shade
        ax.plot(x, y, color=colour)
        point = (b * tipping, np.interp(b * tipping, x, y))
        ax.plot(*point, "o", color=colour)
        ax.annotate(name, point, (8, 0), textcoords="offset points", va="center")
    left, right = min(table["epsilon"]), max(table["epsilon"])
    ax.axvspan(left, allowed, color="0.9", zorder=0)
    ax.text(allowed, 0.3, "what Nora allows ", color="0.35", ha="right")
    ax.set(xscale="log", xlim=(left, right), ylim=(0, None))
    ax.set(xlabel=r"promised $\epsilon$", ylabel="wrong segments")
    plain_ticks(ax.xaxis, (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))
    return fig


def draw_counts(table: pd.DataFrame, error: float) -> Figure:
    """Return a figure of the errors of published counts, in per cent.

    Parameters
    ----------
    table : DataFrame, sorted by the first column
        The columns are true and published.
    error : float, the error of a count that two lines show
    """
    fig, ax = plt.subplots(figsize=size(2, 2.6))
    true = table["true"]
    for sign in (-1, 1):
        ax.plot(true, sign * 100 * error / true, color=TRUE, dashes=BOUND, lw=1)
    ax.plot(true, 100 * (table["published"] / true - 1), "o", ms=3, color=OTHER)
    ax.set(xscale="log", xlabel="true count of a turn", ylabel="error, per cent")
    plain_ticks(ax.xaxis, (100, 200, 500, 1000, 2000, 5000))
    return fig


def draw_errors(
    ax: Any, table: pd.DataFrame, published: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """Plot the expected and the sampled errors of both mechanisms.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
        The columns are mechanism, epsilon, error_expected, error_sampled and
        standard_error.
    published : mapping, for each mechanism the paper's reported points (epsilon, error)
        Points outside the range of epsilon are left out.
    """
    for mechanism, part in table.groupby("mechanism", sort=False):
        colour = COLOURS[mechanism]
        ax.plot(
            part["epsilon"],
            part["error_expected"],
            color=colour,
            label=mechanism,
            dashes=DASHES[colour],
            zorder=3,
        )
        ax.errorbar(
            part["epsilon"],
            part["error_sampled"],
            2 * part["standard_error"],
            fmt=MARKERS[str(mechanism)],
            ms=3,
            lw=0.6,
            color=colour,
        )
    places = dict.fromkeys(published["exponential"], (6, 5))
    places |= dict.fromkeys(published["permute-and-flip"], (-6, -13))
    for (epsilon, error), place in places.items():
        if table["epsilon"].min() <= epsilon <= table["epsilon"].max():
            mark_published(ax, epsilon, error, f"{error:g}", offset=place)
    ax.set(yscale="log", xlabel=r"promised $\epsilon$", ylabel="wrong segments")
    plain_ticks(ax.yaxis, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))
