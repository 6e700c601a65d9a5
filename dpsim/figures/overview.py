"""The figures of the overview: Ann's count, releases of a class, Manhattan, and all
claims."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from dpsim.figures.explore import WIDTH, Moving, embedded, encode, note, radio, slider
from dpsim.figures.house_style import (
    OTHER,
    OURS,
    PAPER,
    SMALL,
    TRUE,
    size,
)

VERDICTS = {
    "agrees": (PAPER, "circle"),
    "differs": ("#E69F00", "triangle-up"),
    "contradicted": (OURS, "square"),
    "slip": ("#CC79A7", "cross"),
    "not tested": ("#999999", "diamond"),
}
"""The colour and the symbol of each verdict."""

TOLD = ("where", "quantity", "printed", "shown", "sentence")
"""The columns that are shown when the mouse is over a claim."""

CLASSES = ["below 0.1", "0.1 to 1", "1 to 10", "10 to 100", "above 100"]
SHADES = ["#fddcb8", "#fdae6b", "#f57f20", "#d94701", "#7f2704"]
"""The classes of the map of Manhattan, and their colours."""

ENDS = [
    {
        "aggregate": [
            {"op": "min", "field": "line", "as": "low"},
            {"op": "max", "field": "line", "as": "high"},
        ],
        "groupby": ["paper"],
    },
    {"calculate": "datum.low - 0.6", "as": "first"},
    {"calculate": "datum.high + 0.6", "as": "last"},
]
"""The transforms that find the first and the last line of each paper."""


def odds_chart(doubt: pd.DataFrame) -> Moving:
    """Return a chart of the published count with and without Ann.

    Parameters
    ----------
    doubt : DataFrame
        The columns are epsilon, published (the count), without and with (its
        probability without Ann and with her), odds (with / without) and limit
        (e^epsilon).

    Returns
    -------
    Moving
        A chart with a slider for epsilon.
    """
    where = {"field": "published", "type": "ordinal"}
    shown = {"domain": ["without", "with"], "range": [TRUE, PAPER]}
    legend = {"title": None, "labelExpr": "datum.label + ' Ann'", "orient": "top"}
    laws = {
        "transform": [{"fold": ["without", "with"], "as": ["Ann", "probability"]}],
        "mark": {"type": "bar", "opacity": 0.75},
        "encoding": {
            "x": where | {"title": None, "axis": {"labels": False}},
            "xOffset": {"field": "Ann", "sort": ["without", "with"]},
            "y": encode("probability", scale={"domain": [0, 1]}),
            "color": {"field": "Ann", "scale": shown, "legend": legend},
        },
        "width": 640,
        "height": 150,
    }
    factor = encode(
        "odds",
        scale={"type": "log", "domain": [0.005, 200]},
        axis={
            "title": "factor for the odds",
            "values": [0.01, 0.1, 1, 10, 100],
            "format": "~g",
        },
    )
    dots = {
        "mark": {"type": "point", "filled": True, "size": 50, "color": PAPER},
        "encoding": {
            "x": where
            | {"title": "published count of Ann's grade", "axis": {"labelAngle": 0}},
            "y": factor,
        },
    }
    ends = {"calculate": "[datum.limit, 1 / datum.limit]", "as": "end"}
    limits = {
        "transform": [ends, {"flatten": ["end"]}],
        "mark": {"type": "rule", "strokeDash": [4, 3]},
        "encoding": {"y": factor | {"field": "end"}},
    }
    says = (
        "'ε = ' + format(epsilon, '.1f') + ': the odds change by a factor of at most "
        "' + format(ceil(100 * exp(epsilon)) / 100, ',.2f')"
    )
    spec = {
        "params": [slider("epsilon", "ε ", 1, 0.1, 5, 0.1)],
        "title": {"text": {"expr": says}, "anchor": "start"},
        **embedded(doubt),
        "transform": [{"filter": "abs(datum.epsilon - epsilon) < 0.05"}],
        "vconcat": [laws, {"layer": [limits, dots], "width": 640, "height": 110}],
    }
    alt = (
        "How probable each published count is with and without Ann, and by which "
        "factor it changes the odds, at a chosen epsilon."
    )
    return Moving(spec, alt)


def draw_releases(table: pd.DataFrame) -> Figure:
    """Return a figure of many releases of a class, with one panel for each mechanism.

    Parameters
    ----------
    table : DataFrame, with at most eight mechanisms
        The columns are mechanism, of_a_paper (whether a paper of this project proposes
        it), grade, true (the number of students) and four quantiles of the released
        numbers (low, lower, upper and high).

    Returns
    -------
    Figure
        Two rows of four panels, 7.2 in wide.
    """
    fig, axes = plt.subplots(2, 4, figsize=size(2, 3.6), sharex=True, sharey=True)
    for ax, (name, part) in zip(axes.flat, table.groupby("mechanism", sort=False)):
        colour = PAPER if part["of_a_paper"].all() else OTHER
        ax.vlines(part["grade"], part["low"], part["high"], color=colour, lw=1)
        ax.vlines(part["grade"], part["lower"], part["upper"], color=colour, lw=5)
        ax.plot(part["grade"], part["true"], "_", color=TRUE, ms=12, mew=1.2)
        ax.set_title(name, fontsize=SMALL)
        ax.axhline(0, color="0.7", lw=0.6, zorder=0)
        ax.margins(x=0.12)
    for ax in axes[:, 0]:
        ax.set_ylabel("students")
    for ax in axes[-1]:
        ax.set_xlabel("grade")
    return fig


def manhattan(zones: Any, shares: pd.DataFrame) -> Moving:
    """Return maps of the taxis that each mechanism places in a wrong zone of Manhattan.

    Parameters
    ----------
    zones : GeoDataFrame, the zones and their outlines in degrees
    shares : DataFrame
        The columns are mechanism, epsilon, zone, wrong (by how many of 100,000 taxis
        the zone's private number differs from the true one) and total (how many of
        100,000 taxis are in a wrong zone).

    Returns
    -------
    Moving
        The maps side by side, with buttons for epsilon.
    """
    mechanisms = list(shares["mechanism"].unique())
    epsilons = sorted(map(float, shares["epsilon"].unique()))
    metres = functools.partial(json.loads, parse_float=lambda x: round(float(x), 5))
    outlines = metres(zones.to_json())["features"]
    ends = [-1, 0.1, 1, 10, 100, math.inf]
    sizes = pd.cut(shares["wrong"], ends, labels=CLASSES, right=False)
    shares = shares.assign(size=sizes)
    colour = encode(
        "size",
        "nominal",
        title="too many or too few, of 100,000 taxis (stand-in data)",
        scale={"domain": CLASSES, "range": SHADES},
        legend={"orient": "bottom", "titleLimit": 400},
    )
    geometry = {
        "data": {
            "values": json.dumps(outlines, separators=(",", ":")),
            "format": {"type": "json"},
        },
        "key": "properties.zone",
        "fields": ["type", "geometry"],
    }
    shapes = {
        "transform": [{"lookup": "zone", "from": geometry}],
        "mark": {"type": "geoshape", "stroke": "white", "strokeWidth": 0.6},
        "projection": {"type": "mercator"},
        "encoding": {
            "color": colour,
            "tooltip": [{"field": "zone"}, encode("wrong", format=",.2r")],
        },
    }
    by = ["mechanism", "epsilon"]
    number = note(
        "format(datum.total, ',.2r')",
        by,
        ["total"],
        baseline="top",
        x=10,
        y=6,
        fontSize=22,
        fontWeight="bold",
    )
    words = "['of 100,000 taxis', 'in the wrong zone', 'at ε = ' + datum.epsilon]"
    below = note(words, by, ["total"], baseline="top", x=10, y=34)
    maps = [
        {
            "title": mechanism,
            "transform": [{"filter": f"datum.mechanism == {json.dumps(mechanism)}"}],
            "layer": [shapes, number, below],
            "width": (WIDTH - 20) // len(mechanisms),
            "height": 460,
        }
        for mechanism in mechanisms
    ]
    spec = {
        "params": [radio("epsilon", "ε ", epsilons[0], epsilons)],
        **embedded(shares),
        "transform": [{"filter": "datum.epsilon == epsilon"}],
        "hconcat": maps,
        "resolve": {"scale": {"color": "shared"}},
    }
    alt = (
        f"Maps of {len(zones)} taxi zones of Manhattan, one for each mechanism, "
        "coloured by how many of 100,000 taxis are too many or too few in a zone, at "
        "a chosen epsilon."
    )
    return Moving(spec, alt)


def claims_chart(claims: pd.DataFrame) -> Moving:
    """Return a chart of all claims, with a dot for each and a panel for each kind.

    Parameters
    ----------
    claims : DataFrame
        The columns are paper, where, quantity, printed, verdict, shown, sentence, kind
        ("values", "bounds", "statements" or "no ratio"), ratio (our number divided by
        the paper's), label (the words beside the dot) and line (the height of the dot).

    Returns
    -------
    Moving
        Four panels side by side.
    """
    values, *others = [
        _panel(claims, "values", 190, "our number ÷ reported"),
        _panel(claims, "bounds", 140, "our number ÷ bound"),
        _panel(claims, "statements", 145, "our number ÷ limit"),
        _panel(claims, "no ratio", 110, ""),
    ]
    names = {
        "transform": ENDS,
        "mark": {
            "type": "text",
            "align": "left",
            "dy": -8,
            "fontSize": 12,
            "fontWeight": "bold",
        },
        "encoding": {
            "x": {"value": 0},
            "y": _line(claims) | {"field": "first"},
            "text": {"field": "paper"},
        },
    }
    values["layer"].append(names)
    spec = {**embedded(claims), "hconcat": [values, *others], "spacing": 12}
    alt = (
        "A dot for every claim of the papers, at our number divided by the paper's, "
        "with a panel for each kind of claim."
    )
    return Moving(spec, alt)


def _line(claims: pd.DataFrame) -> dict[str, Any]:
    """Return the encoding of a claim's height."""
    last = int(claims["line"].max()) + 1
    scale = {"domain": [-1.5, last], "reverse": True, "nice": False}
    return encode("line", axis=None, scale=scale)


def _panel(claims: pd.DataFrame, kind: str, width: int, title: str) -> dict[str, Any]:
    """Return the panel of one kind of claim, with labels for those that do not hold."""
    verdicts = [verdict for verdict in VERDICTS if verdict in claims["verdict"].array]
    colours, symbols = zip(*(VERDICTS[verdict] for verdict in verdicts))
    word = encode("verdict", "nominal", legend={"title": None, "orient": "top"})
    x = encode(
        "ratio",
        scale={"type": "log", "domain": [0.02, 8], "nice": False},
        title=title,
        axis={"values": [0.1, 0.5, 1, 2, 5], "format": "~g", "labelOverlap": False},
    )
    if kind == "no ratio":
        x = {"value": 8}
    y = _line(claims)
    of_this_kind = [{"filter": f"datum.kind == '{kind}'"}]
    dots = {
        "transform": of_this_kind,
        "mark": {"type": "point", "filled": True, "size": 50},
        "encoding": {
            "x": x,
            "y": y,
            "tooltip": [{"field": name} for name in TOLD],
            "color": word | {"scale": {"domain": verdicts, "range": colours}},
            "shape": word | {"scale": {"domain": verdicts, "range": symbols}},
        },
    }
    labels = {
        "transform": of_this_kind,
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 11},
        "encoding": {"x": x, "y": y, "text": {"field": "label"}},
    }
    at_1 = {
        "transform": ENDS,
        "mark": {"type": "rule", "color": "#aaa"},
        "encoding": {
            "x": {"datum": 1},
            "y": y | {"field": "first"},
            "y2": {"field": "last"},
        },
    }
    layers = [dots, labels] if kind == "no ratio" else [at_1, dots, labels]
    return {"title": kind, "width": width, "height": 600, "layer": layers}
