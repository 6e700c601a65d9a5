"""The densities of a Dirichlet draw for two neighbours, with controls that set the noise."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from dpsim.figures.explore import WIDTH, Moving, embedded, encode, radio
from dpsim.figures.house_style import OTHER, OURS, TRUE


def beta_densities(
    curves: pd.DataFrame,
    costs: pd.DataFrame,
    start: dict[str, float],
    *,
    many: str,
    every: str = "",
) -> Moving:
    """Return a chart of two densities with the delta between them shaded, beside a curve of this delta against `many`.

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
    every : str, optional
        A control for whose every value a thin line of delta is drawn. The line of the chosen value is thick.
    """
    *moving, _, p, q = map(str, curves.columns)
    controls = [name for name in moving if name != many]
    held = curves if many in moving else costs
    options = {name: sorted(held[name].unique().tolist()) for name in (*controls, many)}
    params = [
        radio(f"v_{name}", f"{name} ", start[name], found)
        for name, found in options.items()
    ]
    x = encode("y", title="y, what the onlooker sees", axis={"tickCount": 5})
    area = {"type": "area", "color": OURS, "opacity": 0.6, "clip": True}
    between = {"x": x, "y": encode(p), "y2": {"field": q}}
    apart = {
        "transform": [{"filter": f"datum['{p}'] > datum['{q}']"}],
        "mark": area,
        "encoding": between,
    }
    law = {
        "field": "law",
        "legend": {"title": None, "orient": "top", "labelLimit": 300},
    }
    encoding = {
        "x": x,
        "y": encode("density", scale={"domain": [0, 4]}, title="density"),
    }
    for channel, looks in ("color", [TRUE, OTHER]), ("strokeDash", [[1, 0], [4, 2]]):
        encoding[channel] = law | {"scale": {"domain": [p, q], "range": looks}}
    fold = {"fold": [p, q], "as": ["law", "density"]}
    lines = {
        "transform": [fold],
        "mark": {"type": "line", "clip": True},
        "encoding": encoding,
    }
    powers = "datum.value < 1e-5 ? '10⁻⁶' : datum.value < 1e-3 ? '10⁻⁴' : datum.label"
    ticks = {"values": [1e-6, 1e-4, 0.01, 1], "labelExpr": powers, "format": "~g"}
    delta = {
        "x": encode(
            many, scale={"type": "log", "nice": False}, axis={"values": options[many]}
        ),
        "y": encode(
            "delta",
            title="δ",
            scale={"type": "log", "domain": [1e-6, 1], "clamp": True},
            axis=ticks,
        ),
    }
    here = [
        {"filter": f"datum['{many}'] == v_{many}"},
        {"calculate": "pow(10, floor(log(datum.delta) / LN10) - 1)", "as": "unit"},
        {
            "calculate": "'δ = ' + format(ceil(datum.delta / datum.unit - 1e-9) * datum.unit, '.2~g')",
            "as": "told",
        },
    ]
    rises = bool(costs[[many, "delta"]].corr("spearman").iloc[0, 1] > 0)
    side = {
        "expr": f"{json.dumps(rises)} && v_{many} == {options[many][-1]} ? 'right' : 'left'"
    }
    beside = {
        "align": side,
        "dx": 4,
        "dy": 20 if rises else -8,
    }  # on the side where the line does not pass
    dot = {"type": "point", "filled": True, "size": 90, "color": OURS}
    text = {"type": "text", "fontSize": 14, **beside}
    cost: list[dict[str, Any]] = [
        {"mark": {"type": "line", "color": OURS}, "encoding": delta},
        {"transform": here, "mark": dot, "encoding": delta},
        {
            "transform": here,
            "mark": text,
            "encoding": delta | {"text": encode("told", "nominal")},
        },
    ]
    if every:
        cost[0]["mark"]["strokeWidth"] = 3
        corner = {
            "x": {"value": WIDTH // 2 - 80},
            "y": {"value": 215},
        }  # below all lines
        cost[2]["mark"] = {"type": "text", "fontSize": 14, "align": "right"}
        cost[2]["encoding"] = corner | {"text": encode("told", "nominal")}
        picked = {"filter": f"abs(datum['{every}'] - v_{every}) < 1e-9"}
        cost = [
            layer | {"transform": [picked, *layer.get("transform", [])]}
            for layer in cost
        ]
        dashes = {"domain": options[every], "range": [[1, 0], [6, 3], [2, 2]]}
        line: dict[str, Any] = {"field": every, "type": "nominal", "scale": dashes}
        line["legend"] = {
            "title": f"{every} =",
            "orient": "top",
            "symbolStrokeColor": OURS,
        }
        thin = {"type": "line", "color": OURS, "strokeWidth": 1}
        dashed = delta | {"strokeDash": line}
        cost[0]["encoding"] = dashed
        cost.insert(0, {"mark": thin, "encoding": dashed})
    spec: dict[str, Any] = {"params": params, "datasets": {}, "hconcat": []}
    if every:
        spec["resolve"] = {
            "scale": {"color": "independent", "strokeDash": "independent"}
        }
    for name, table, moved_by, layer in (
        ("curves", curves, moving, [apart, lines]),
        ("costs", costs, [name for name in controls if name != every], cost),
    ):
        chosen = " && ".join(
            f"abs(datum['{control}'] - v_{control}) < 1e-9" for control in moved_by
        )
        held_as = embedded(table)
        spec["datasets"][name] = held_as["datasets"]["table"]
        panel = {
            "data": held_as["data"] | {"name": name},
            "transform": [{"filter": chosen}],
            "layer": layer,
        }
        spec["hconcat"].append(panel | {"width": WIDTH // 2 - 70, "height": 230})
    alt = f"Two densities with the delta between them shaded, and delta against {many}; moved by {', '.join(options)}."
    return Moving(spec, alt)
