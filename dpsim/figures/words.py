"""Drawings of private words: a small chart that moves, the errors of both mechanisms, and private trips segment by
segment.

The drawing functions take axes and the named columns of a computed table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim.datasets.roads import RoadChain
from dpsim.figures import maps
from dpsim.figures.explore import WIDTH, Moving, embedded, note, slider
from dpsim.figures.house_style import (
    DASHES,
    MARKERS,
    OTHER,
    OURS,
    PAPER,
    TRUE,
    mark_published,
    mark_source,
    plain_ticks,
)

COLOURS = {"permute-and-flip": PAPER, "exponential": OTHER, "staircase": OURS}
"""One colour for each mechanism on words, here and in the notebook's text."""


def neighbours(table: pd.DataFrame, pair: Sequence[str], epsilon: float) -> Moving:
    """Return a chart that moves: the errors of each mechanism on one word, and the ratios to another word.

    Parameters
    ----------
    table : DataFrame
        A row for each mechanism, epsilon of a grid, and release. The columns are mechanism, epsilon (promised), exact
        (the exact epsilon), released, probability (given the first word of the pair), ratio (of this probability to the
        probability given the second word).
    pair, epsilon : sequence of two str, and float, the start of the slider
    """
    grid, names = sorted(map(float, table["epsilon"].unique())), list(table["mechanism"].unique())
    mechanism = {"field": "mechanism", "type": "nominal"}
    colour = mechanism | {"scale": {"domain": names, "range": [COLOURS[name] for name in names]}}
    shape = mechanism | {"scale": {"domain": names, "range": ["circle", "triangle-up"]}}
    look = {
        "color": colour | {"legend": {"title": None, "orient": "top"}},
        "shape": shape,
        "xOffset": mechanism | {"scale": {"domain": names}},
    }
    letters = {"labelAngle": 0, "labelFont": "DejaVu Sans Mono, monospace", "labelFontSize": 10}
    word = {"field": "released", "type": "nominal", "sort": None, "title": "released word", "axis": letters}
    steady = {"minExtent": 50}  # so that the moving parts keep their places
    errors = " + ".join(f"(substring(datum.released, {i}, {i + 1}) != '{x}')" for i, x in enumerate(pair[0]))
    share: dict[str, Any] = {"field": "probability", "aggregate": "sum", "title": f"probability if {pair[0]} is true"}
    share |= {"scale": {"domain": [0, 1]}, "axis": steady}
    at: dict[str, Any] = {
        "field": "errors",
        "type": "ordinal",
        "title": "wrong letters of the release",
        "axis": {"labelAngle": 0},
    }
    log = {"scale": {"type": "log", "nice": False, "padding": 14}, "axis": {"format": "~r", "tickCount": 5, **steady}}
    ratio = {"field": "ratio", "title": f"ratio to that of {pair[1]}", **log}

    def dots(y: dict[str, Any]) -> dict[str, Any]:
        encoding = {"x": word, "y": {"type": "quantitative", **y}, **look}
        return {"mark": {"type": "point", "filled": True, "size": 45, "opacity": 1}, "encoding": encoding}

    def limit(factor: str, **mark: Any) -> dict[str, Any]:
        end = {"transform": [{"calculate": factor, "as": "end"}], "mark": {"type": "rule", **mark}}
        y = {"type": "quantitative", **ratio, "field": "end", "aggregate": "mean"}
        return end | {"encoding": {"y": y} | ({} if "color" in mark else {"color": colour})}

    below = [limit(f"exp({sign}datum.epsilon)", color=TRUE, strokeDash=[6, 3]) for sign in ("", "-")]
    below += [limit(f"exp({sign}datum.exact)") for sign in ("", "-")] + [dots(ratio)]
    factor = "', a factor of about ' + format(exp(datum.{}), ',.3~r')"
    promised = "'promised ε = ' + datum.epsilon + " + factor.format("epsilon")
    below.append(note(promised, ["epsilon"], x=0, y=-42))
    for name, y in zip(names, (-25, -8)):
        rounded_up = "format(ceil(100 * datum.exact - 1e-6) / 100, '.2f')"
        exact = f"'exact ε of {name} = ' + {rounded_up} + " + factor.format("exact")
        said = f"datum.mechanism == '{name}' ? {exact} : ''"
        below.append(note(said, ["mechanism", "exact"], x=0, y=y, color=COLOURS[name]))
    bars = {"x": at, "y": {"type": "quantitative", **share}, "color": look["color"], "xOffset": look["xOffset"]}
    above = {"transform": [{"calculate": errors, "as": "errors"}], "mark": {"type": "bar"}, "encoding": bars}
    panels = [{"height": 130, **above}, {"height": 200, "layer": below}]
    spec = {
        "params": [slider("promise", "promised ε ", epsilon, grid[0], grid[-1], grid[1] - grid[0])],
        **embedded(table),
        "transform": [{"filter": "abs(datum.epsilon - promise) < 1e-6"}],
        "vconcat": [{"width": WIDTH - 90, **panel} for panel in panels],
        "resolve": {"scale": {"x": "independent", "xOffset": "independent"}},
    }
    return Moving(spec, f"What each mechanism releases from {pair[0]}, and its ratio to the same from {pair[1]}.")


def draw_errors(
    ax: Any, table: pd.DataFrame, published: Mapping[str, Sequence[tuple[float, float]]], *, letters: str = "letters"
) -> None:
    """Draw the expected and the sampled errors of both mechanisms, and the paper's printed points, within the x-limits.

    Parameters
    ----------
    ax : Axes
    table : DataFrame, columns mechanism, epsilon, error_expected, error_sampled, standard_error
    published : mapping, for each mechanism the sequence of printed points (epsilon, error)
    letters : str, how the letters of these words are called
    """
    names = list(table["mechanism"].unique())
    for mechanism, part in table.groupby("mechanism", sort=False):
        colour = COLOURS[str(mechanism)]
        line = {"color": colour, "label": mechanism, "zorder": 3, "dashes": DASHES[colour] or (None, None)}
        ax.plot(part["epsilon"], part["error_expected"], **line)
        dots = {"fmt": MARKERS[colour], "ms": 3, "lw": 0.6, "color": colour}
        ax.errorbar(part["epsilon"], part["error_sampled"], 2 * part["standard_error"], **dots)
        for epsilon, error in published[str(mechanism)]:
            if table["epsilon"].min() <= epsilon <= table["epsilon"].max():
                above = mechanism == "exponential"
                said = above and any((epsilon, error) in published[str(other)] for other in names if other != mechanism)
                text = "" if said else f"{error:g}"  # a value printed for both mechanisms is written once
                mark_published(ax, epsilon, error, text, offset=(6, 5) if above else (-6, -13))
    ax.set(yscale="log", xlabel=r"promised $\epsilon$", ylabel=f"wrong {letters}")
    plain_ticks(ax.yaxis, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))


def draw_trips(axes: Sequence[Any], below: Any, roads: RoadChain, trips: Mapping[str, ArrayLike]) -> None:
    """Draw trips on maps that name the segments, and in a table segment by segment; the first trip is the true one.

    Parameters
    ----------
    axes : sequence of Axes, one map for each trip
    below : Axes of the segments: a column for each trip, in which differences from the true trip are in a box
    roads : RoadChain
    trips : mapping of str to array_like of int, shape (steps + 1,), equally long, by name
    """
    true = np.asarray(next(iter(trips.values())))
    below.set(xlim=(-1.7, len(trips) - 0.3), ylim=(0.4 - len(true), 1.5))
    below.set_axis_off()
    for column, (ax, (name, trip)) in enumerate(zip(axes, trips.items())):
        colour = PAPER if column else TRUE
        maps.draw_network(ax, roads)
        maps.draw_walk(ax, roads, trip, colour=colour, aside=60.0)
        ax.set_title(name)
        below.text(column, 1, name, ha="center", va="center", color=colour)
        for step, segment in enumerate(np.asarray(trip).tolist()):
            box = {"facecolor": "none", "edgecolor": colour, "lw": 0.8, "boxstyle": "round,pad=0.15"}
            moved = {"bbox": box, "color": colour} if segment != true[step] else {"color": "0.35" if column else TRUE}
            below.text(column, -step, f"{segment}", ha="center", va="center", **moved)
    below.text(-1, 1, "step", ha="center", va="center", color="0.35")
    for step in range(len(true)):
        below.text(-1, -step, f"{step}", ha="center", va="center", color="0.35")
    below.axhline(0.5, color="0.6", lw=0.6)
    mark_source(below.figure, f"{maps.ROADS_SOURCE}; the wider a road, the more traffic")
    below.figure.draw_without_rendering()
    for ax, trip in zip(axes, trips.values()):
        maps.name_segments(ax, roads, trip, colour=PAPER if ax is not axes[0] else TRUE)
