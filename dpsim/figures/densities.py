"""The densities of the release for two neighbours, and the delta between them, with sliders that set the noise."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from dpsim.figures.explore import WIDTH, Moving, embedded
from dpsim.figures.house_style import OTHER, OURS, TRUE

HEIGHT = 230
"""Pixels of each panel."""


def beta_densities(curves: pd.DataFrame, costs: pd.DataFrame, start: dict[str, float], *, many: str) -> Moving:
    """Return a chart of two densities and the delta shaded between them, beside that delta against `many`.

    Parameters
    ----------
    curves : DataFrame
        A column for each control, then y in (0, 1) and two densities, the second times e^epsilon. The names of these
        two columns are the legend.
    costs : DataFrame, with a column for each of the same controls, a column `many`, and positive values of delta
    start : dict, the value at which each control and `many` starts, which must be in its column
    many : str
        The column of costs on the horizontal axis: "rows", the number of such pairs that move at once, or "N", the
        records. Its values are a control too. If curves has this column, the control takes the values in curves and
        moves the densities. Then costs may have further values in between, through which the line is drawn.
    """
    moving = [str(name) for name in curves.columns[:-3]]
    controls = [name for name in moving if name != many]
    p, q = map(str, curves.columns[-2:])
    held = curves if many in moving else costs
    options = {name: sorted(held[name].unique().tolist()) for name in (*controls, many)}
    params = [
        {"name": f"v_{name}", "value": start[name], "bind": {"input": "radio", "options": found, "name": f"{name} "}}
        for name, found in options.items()
    ]
    chosen = {
        panel: " && ".join(f"abs(datum['{name}'] - v_{name}) < 1e-9" for name in names)
        for panel, names in (("curves", moving), ("costs", controls))
    }
    number = {"type": "quantitative"}
    x = {"field": "y", **number, "title": "y, what the onlooker sees", "axis": {"tickCount": 5}}
    high = {"domain": [0, 4]}
    apart = {
        "transform": [{"filter": f"datum['{p}'] > datum['{q}']"}],
        "mark": {"type": "area", "color": OURS, "opacity": 0.6, "clip": True},
        "encoding": {"x": x, "y": {"field": p, **number}, "y2": {"field": q}},
    }
    legend = {"title": None, "orient": "top", "labelLimit": 300}
    look = {"scale": {"domain": [p, q], "range": [TRUE, OTHER]}, "legend": legend}
    lines = {
        "transform": [{"fold": [p, q], "as": ["law", "density"]}],
        "mark": {"type": "line", "clip": True},
        "encoding": {
            "x": x,
            "y": {"field": "density", **number, "scale": high, "title": "density"},
            "color": {"field": "law", **look},
            "strokeDash": {"field": "law", "scale": {"domain": [p, q], "range": [[1, 0], [4, 2]]}, "legend": legend},
        },
    }
    size = {"width": WIDTH // 2 - 70, "height": HEIGHT}
    log: dict[str, Any] = {"type": "log", "domain": [1e-6, 1], "clamp": True}
    powers = "datum.value < 1e-5 ? '10⁻⁶' : datum.value < 1e-3 ? '10⁻⁴' : datum.label"
    ticks = {"values": [1e-6, 1e-4, 0.01, 1], "labelExpr": powers, "format": "~g"}
    delta = {
        "x": {"field": many, **number, "scale": {"type": "log", "nice": False}, "axis": {"values": options[many]}},
        "y": {"field": "delta", **number, "title": "δ", "scale": log, "axis": ticks},
    }
    told = {"text": {"field": "told", "type": "nominal"}, **delta}
    here = [
        {"filter": f"datum['{many}'] == v_{many}"},
        {"calculate": "pow(10, floor(log(datum.delta) / LN10) - 1)", "as": "unit"},
        {"calculate": "'δ = ' + format(ceil(datum.delta / datum.unit - 1e-9) * datum.unit, '.2~g')", "as": "told"},
    ]
    rises = bool(costs[[many, "delta"]].corr("spearman").iloc[0, 1] > 0)
    side = {"expr": f"{json.dumps(rises)} && v_{many} == {options[many][-1]} ? 'right' : 'left'"}
    beside = {"align": side, "dx": 4, "dy": 20 if rises else -8}  # on the side where the line does not pass
    cost = [
        {"mark": {"type": "line", "color": OURS}, "encoding": delta},
        {"transform": here, "mark": {"type": "point", "filled": True, "size": 90, "color": OURS}, "encoding": delta},
        {"transform": here, "mark": {"type": "text", "fontSize": 14, **beside}, "encoding": told},
    ]
    data = {"curves": embedded(curves), "costs": embedded(costs)}
    layers = {"curves": [apart, lines], "costs": cost}
    panels = [
        {"data": table["data"] | {"name": name}, "transform": [{"filter": chosen[name]}], "layer": layers[name], **size}
        for name, table in data.items()
    ]
    spec = {
        "params": params,
        "datasets": {name: table["datasets"]["table"] for name, table in data.items()},
        "hconcat": panels,
    }
    names = ", ".join(options)
    return Moving(
        spec, f"Two densities with the delta between them shaded, and delta against {many}; moved by {names}."
    )
