"""Drawings of private words: a small interactive chart, and the errors of both mechanisms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dpsim.figures.explore import WIDTH, Moving, embedded, encode, note, slider
from dpsim.figures.house_style import OTHER, OURS, PAPER, TRUE, looks, mark_published, plain_ticks

COLOURS = {"permute-and-flip": PAPER, "exponential": OTHER, "staircase": OURS}
"""One colour for each mechanism on words, here and in the notebook's text."""


def neighbours(table: pd.DataFrame, pair: Sequence[str], epsilon: float) -> Moving:
    """Return an interactive chart of the errors of each mechanism on one word, and of the ratios of its probabilities
    to those for another word.

    Parameters
    ----------
    table : DataFrame
        A row for each mechanism, epsilon of a grid, and release. The columns are mechanism, epsilon (promised), exact
        (the exact epsilon), released, probability (given the first word of the pair), ratio (of this probability to the
        probability given the second word).
    pair, epsilon : sequence of two str, the two words, and float, the start of the slider
    """
    grid, names = sorted(map(float, table["epsilon"].unique())), list(table["mechanism"].unique())
    mechanism, top = encode("mechanism", "nominal"), {"title": None, "orient": "top"}
    colour = mechanism | {"scale": {"domain": names, "range": [COLOURS[name] for name in names]}}
    look = {"color": colour | {"legend": top}, "xOffset": mechanism | {"scale": {"domain": names}}}
    shape = mechanism | {"scale": {"domain": names, "range": ["circle", "triangle-up"]}}
    steady = {"minExtent": 50}  # so that the moving parts keep their places
    wrong = " + ".join(f"(substring(datum.released, {i}, {i + 1}) != '{x}')" for i, x in enumerate(pair[0]))
    errors = encode("errors", "ordinal", title="wrong letters of the release", axis={"labelAngle": 0})
    share = encode("probability", aggregate="sum", title=f"probability if {pair[0]} is true", axis=steady)
    bars = {"x": errors, "y": share | {"scale": {"domain": [0, 1]}}, **look}
    above = {"transform": [{"calculate": wrong, "as": "errors"}], "mark": {"type": "bar"}, "encoding": bars}
    letters = {"labelAngle": 0, "labelFont": "DejaVu Sans Mono, monospace", "labelFontSize": 10}
    word = encode("released", "nominal", sort=None, title="released word", axis=letters)
    log, ticks = {"type": "log", "nice": False, "padding": 14}, {"format": "~r", "tickCount": 5, **steady}
    ratio = encode("ratio", title=f"ratio to that of {pair[1]}", scale=log, axis=ticks)
    end = {"y": ratio | {"field": "end", "aggregate": "mean"}}
    below: list[dict[str, Any]] = []
    dashed = {"color": TRUE, "strokeDash": [6, 3]}
    for column, mark, encoding in (("epsilon", dashed, end), ("exact", {}, end | {"color": colour})):
        for sign in ("", "-"):
            limit = [{"calculate": f"exp({sign}datum.{column})", "as": "end"}]
            below.append({"transform": limit, "mark": {"type": "rule", **mark}, "encoding": encoding})
    dots = {"type": "point", "filled": True, "size": 45, "opacity": 1}
    below.append({"mark": dots, "encoding": {"x": word, "y": ratio, "shape": shape, **look}})
    factor = "', a factor of about ' + format(exp(datum.{}), ',.3~r')"
    promised = "'promised ε = ' + datum.epsilon + " + factor.format("epsilon")
    below.append(note(promised, ["epsilon"], x=0, y=-42))
    for name, y in zip(names, (-25, -8)):
        rounded_up = "format(ceil(100 * datum.exact - 1e-6) / 100, '.2f')"
        exact = f"'exact ε of {name} = ' + {rounded_up} + " + factor.format("exact")
        said = f"datum.mechanism == '{name}' ? {exact} : ''"
        below.append(note(said, ["mechanism", "exact"], x=0, y=y, color=COLOURS[name]))
    panels = [{"height": 130, **above}, {"height": 200, "layer": below}]
    spec = {
        "params": [slider("promise", "promised ε ", epsilon, grid[0], grid[-1], grid[1] - grid[0])],
        **embedded(table),
        "transform": [{"filter": "abs(datum.epsilon - promise) < 1e-6"}],
        "vconcat": [{"width": WIDTH - 90, **panel} for panel in panels],
        "resolve": {"scale": {"x": "independent", "xOffset": "independent"}},
    }
    return Moving(spec, f"What each mechanism releases from {pair[0]}, and its ratio to the same from {pair[1]}.")


def draw_errors(ax: Any, table: pd.DataFrame, published: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw the expected and the sampled errors of both mechanisms, and the paper's points within the range of epsilon.

    Parameters
    ----------
    ax : Axes
    table : DataFrame, columns mechanism, epsilon, error_expected, error_sampled, standard_error
    published : mapping, for each mechanism the sequence of printed points (epsilon, error)
    """
    look = looks(COLOURS, markers=True)
    for mechanism, part in table.groupby("mechanism", sort=False):
        colour, dashes, marker = (look[kind][mechanism] for kind in ("palette", "dashes", "markers"))
        line = {"color": colour, "label": mechanism, "zorder": 3, "dashes": dashes or (None, None)}
        ax.plot(part["epsilon"], part["error_expected"], **line)
        dots = {"fmt": marker, "ms": 3, "lw": 0.6, "color": colour}
        ax.errorbar(part["epsilon"], part["error_sampled"], 2 * part["standard_error"], **dots)
        above = mechanism == "exponential"
        for epsilon, error in published[str(mechanism)]:
            if part["epsilon"].min() <= epsilon <= part["epsilon"].max():
                twice = above and (epsilon, error) in published["permute-and-flip"]  # its value is written there
                mark_published(ax, epsilon, error, "" if twice else f"{error:g}", offset=(6, 5) if above else (-6, -13))
    ax.set(yscale="log", xlabel=r"promised $\epsilon$", ylabel="wrong segments")
    plain_ticks(ax.yaxis, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))
