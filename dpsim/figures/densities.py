"""The densities of a Dirichlet draw for two neighbours, and the delta between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dpsim.figures.explore import WIDTH, Moving, embedded, encode, radio
from dpsim.figures.house_style import OTHER, OURS, TRUE

DELTAS = {1e-6: [1e-6, 1e-4, 0.01, 1], 1e-3: [1e-3, 0.01, 0.1, 1]}
"""The ticks of the axis of delta, by its lower end."""


def beta_densities(
    curves: pd.DataFrame,
    costs: pd.DataFrame,
    start: Mapping[str, float],
    *,
    many: str,
    every: str = "",
    least: float = 1e-6,
    marks: Mapping[str, float] | None = None,
) -> Moving:
    """Return a chart of two densities and the delta between them, and a curve of delta.

    Parameters
    ----------
    curves : DataFrame
        A column for each control, then y in (0, 1) and two densities. The second one is
        multiplied by e^epsilon. The names of the last two columns are the legend.
    costs : DataFrame
        A column for each of these controls, the column `many`, and positive values of
        delta.
    start : mapping, the initial value of each control and of `many`
    many : str
        The column of costs on the horizontal axis, which also has a control. If curves
        has this column, the control offers the values in curves and changes the
        densities. Then costs may contain further values, which make the curve smooth.
    every : str, optional
        A control. A thin curve of delta is plotted for each of its values, and a thick
        one for the chosen value.
    least : float, 1e-6 or 1e-3, the lower end of the axis of delta
    marks : mapping, optional, names of values of delta that dashed lines show
    """
    *moving, _, p, q = map(str, curves.columns)
    controls = [name for name in moving if name != many]
    held = curves if many in moving else costs
    options = {name: sorted(held[name].unique().tolist()) for name in (*controls, many)}
    cost_controls = [name for name in controls if name != every]
    spec: dict[str, Any] = {
        "params": [
            radio(f"v_{name}", f"{name} ", start[name], found)
            for name, found in options.items()
        ],
        "datasets": {
            "curves": embedded(curves)["datasets"]["table"],
            "costs": embedded(costs)["datasets"]["table"],
        },
        "hconcat": [
            _panel("curves", curves, moving, _densities(p, q)),
            _panel(
                "costs",
                costs,
                cost_controls,
                _costs(costs, many, options, every, least),
            ),
        ],
    }
    for words, value in (marks or {}).items():
        place = {"x": {"value": WIDTH // 2 - 74}, "y": {"datum": value}}
        rule = {"type": "rule", "strokeDash": [4, 4], "color": "gray"}
        text = {"type": "text", "text": words, "align": "right", "dy": 12}
        once: dict[str, Any] = {"data": {"values": [{}]}}
        spec["hconcat"][1]["layer"] += [
            {**once, "mark": rule, "encoding": {"y": place["y"]}},
            {**once, "mark": text | {"fontSize": 13}, "encoding": place},
        ]
    alt = (
        "Two densities with the delta between them shaded, and delta against "
        f"{many}. They change with {', '.join(options)}."
    )
    return Moving(spec, alt)


def _chosen(control: str) -> str:
    """Return the expression that is true for the chosen value of a control."""
    return f"abs(datum['{control}'] - v_{control}) < 1e-9"


def _panel(
    name: str,
    table: pd.DataFrame,
    controls: Sequence[str],
    layers: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return a panel that shows the rows of a table that these controls select."""
    return {
        "data": embedded(table)["data"] | {"name": name},
        "transform": [{"filter": " && ".join(map(_chosen, controls)) or "true"}],
        "layer": layers,
        "width": WIDTH // 2 - 70,
        "height": 230,
    }


def _densities(p: str, q: str) -> list[dict[str, Any]]:
    """Return the area where the density p is above q, and the lines of both."""
    x = encode("y", title="y, what the onlooker sees", axis={"tickCount": 5})
    area = {
        "transform": [{"filter": f"datum['{p}'] > datum['{q}']"}],
        "mark": {"type": "area", "color": OURS, "opacity": 0.6, "clip": True},
        "encoding": {"x": x, "y": encode(p), "y2": {"field": q}},
    }
    law = {
        "field": "law",
        "legend": {"title": None, "orient": "top", "labelLimit": 300},
    }
    colours = {"domain": [p, q], "range": [TRUE, OTHER]}
    dashes = {"domain": [p, q], "range": [[1, 0], [4, 2]]}
    lines = {
        "transform": [{"fold": [p, q], "as": ["law", "density"]}],
        "mark": {"type": "line", "clip": True},
        "encoding": {
            "x": x,
            "y": encode("density", scale={"domain": [0, 4]}, title="density"),
            "color": law | {"scale": colours},
            "strokeDash": law | {"scale": dashes},
        },
    }
    return [area, lines]


def _costs(
    costs: pd.DataFrame,
    many: str,
    options: Mapping[str, list[float]],
    every: str,
    least: float,
) -> list[dict[str, Any]]:
    """Return the curve of delta, with a dot and a number at the chosen value."""
    powers = "datum.value < 1e-5 ? '10⁻⁶' : datum.value < 1e-3 ? '10⁻⁴' : datum.label"
    place = {
        "x": encode(
            many, scale={"type": "log", "nice": False}, axis={"values": options[many]}
        ),
        "y": encode(
            "delta",
            title="δ",
            scale={"type": "log", "domain": [least, 1], "clamp": True},
            axis={
                "values": DELTAS[least],
                "labelExpr": powers,
                "format": "~g",
            },
        ),
    }
    rounded_up = "ceil(datum.delta / datum.unit - 1e-9) * datum.unit"
    here: list[dict[str, Any]] = [
        {"filter": f"datum['{many}'] == v_{many}"},
        {"calculate": "pow(10, floor(log(datum.delta) / LN10) - 1)", "as": "unit"},
        {"calculate": f"'δ = ' + format({rounded_up}, '.2~g')", "as": "told"},
    ]
    line = {"type": "line", "color": OURS}
    dot = {"type": "point", "filled": True, "size": 90, "color": OURS}
    text: dict[str, Any] = {"type": "text", "fontSize": 14}
    told = {"text": encode("told", "nominal")}
    rises = bool(costs[[many, "delta"]].corr("spearman").iloc[0, 1] > 0)
    if not every:
        # The value is written on the side of the dot where the curve does not pass.
        beside = {"align": "right" if rises else "left", "dx": -4 if rises else 4}
        text |= beside | {"dy": -8}
        return [
            {"mark": line, "encoding": place},
            {"transform": here, "mark": dot, "encoding": place},
            {"transform": here, "mark": text, "encoding": place | told},
        ]
    by_line = place | {"detail": encode(every, "nominal")}
    named = place | {"text": encode("name", "nominal")}
    ends = [
        {"filter": f"datum['{many}'] == {costs[many].max()}"},
        {"calculate": f"'{every} = ' + datum['{every}']", "as": "name"},
    ]
    # The value is written in the lower corner that the curves leave free.
    side = "right" if rises else "left"
    below = {"x": {"value": WIDTH // 2 - 80 if rises else 10}, "y": {"value": 215}}
    picked = {"filter": _chosen(every)}
    return [
        {"mark": line | {"strokeWidth": 1}, "encoding": by_line},
        {"transform": [picked], "mark": line | {"strokeWidth": 3}, "encoding": by_line},
        {
            "transform": ends,
            "mark": text | {"fontSize": 12, "align": "left", "dx": 4},
            "encoding": named,
        },
        {"transform": [picked, *here], "mark": dot, "encoding": place},
        {
            "transform": [picked, *here],
            "mark": text | {"align": side},
            "encoding": below | told,
        },
    ]
