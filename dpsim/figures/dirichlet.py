"""Drawings of the Dirichlet mechanism: the densities of the release for two neighbours, with controls that set the
noise, and the error of a private matrix's stationary distribution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim.figures.explore import WIDTH, Moving, embedded, encode, radio
from dpsim.figures.house_style import OTHER, OURS, PAPER, PUBLISHED, TRUE, mark_published, mark_source, shorten, size

FIRST, LAST = 0.5, 9.0
"""Where the axis of epsilon in Fallin et al.'s Figure 2 begins and ends."""


def beta_densities(curves: pd.DataFrame, costs: pd.DataFrame, start: dict[str, float], *, many: str) -> Moving:
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
    """
    *moving, _, p, q = map(str, curves.columns)
    controls = [name for name in moving if name != many]
    held = curves if many in moving else costs
    options = {name: sorted(held[name].unique().tolist()) for name in (*controls, many)}
    params = [radio(f"v_{name}", f"{name} ", start[name], found) for name, found in options.items()]
    x = encode("y", title="y, what the onlooker sees", axis={"tickCount": 5})
    area = {"type": "area", "color": OURS, "opacity": 0.6, "clip": True}
    between = {"x": x, "y": encode(p), "y2": {"field": q}}
    apart = {"transform": [{"filter": f"datum['{p}'] > datum['{q}']"}], "mark": area, "encoding": between}
    law = {"field": "law", "legend": {"title": None, "orient": "top", "labelLimit": 300}}
    encoding = {"x": x, "y": encode("density", scale={"domain": [0, 4]}, title="density")}
    for channel, looks in ("color", [TRUE, OTHER]), ("strokeDash", [[1, 0], [4, 2]]):
        encoding[channel] = law | {"scale": {"domain": [p, q], "range": looks}}
    fold = {"fold": [p, q], "as": ["law", "density"]}
    lines = {"transform": [fold], "mark": {"type": "line", "clip": True}, "encoding": encoding}
    powers = "datum.value < 1e-5 ? '10⁻⁶' : datum.value < 1e-3 ? '10⁻⁴' : datum.label"
    ticks = {"values": [1e-6, 1e-4, 0.01, 1], "labelExpr": powers, "format": "~g"}
    delta = {
        "x": encode(many, scale={"type": "log", "nice": False}, axis={"values": options[many]}),
        "y": encode("delta", title="δ", scale={"type": "log", "domain": [1e-6, 1], "clamp": True}, axis=ticks),
    }
    here = [
        {"filter": f"datum['{many}'] == v_{many}"},
        {"calculate": "pow(10, floor(log(datum.delta) / LN10) - 1)", "as": "unit"},
        {"calculate": "'δ = ' + format(ceil(datum.delta / datum.unit - 1e-9) * datum.unit, '.2~g')", "as": "told"},
    ]
    rises = bool(costs[[many, "delta"]].corr("spearman").iloc[0, 1] > 0)
    side = {"expr": f"{json.dumps(rises)} && v_{many} == {options[many][-1]} ? 'right' : 'left'"}
    beside = {"align": side, "dx": 4, "dy": 20 if rises else -8}  # on the side where the line does not pass
    dot = {"type": "point", "filled": True, "size": 90, "color": OURS}
    text = {"type": "text", "fontSize": 14, **beside}
    cost = [
        {"mark": {"type": "line", "color": OURS}, "encoding": delta},
        {"transform": here, "mark": dot, "encoding": delta},
        {"transform": here, "mark": text, "encoding": delta | {"text": encode("told", "nominal")}},
    ]
    spec: dict[str, Any] = {"params": params, "datasets": {}, "hconcat": []}
    for name, table, moved_by, layer in ("curves", curves, moving, [apart, lines]), ("costs", costs, controls, cost):
        chosen = " && ".join(f"abs(datum['{control}'] - v_{control}) < 1e-9" for control in moved_by)
        held_as = embedded(table)
        spec["datasets"][name] = held_as["datasets"]["table"]
        panel = {"data": held_as["data"] | {"name": name}, "transform": [{"filter": chosen}], "layer": layer}
        spec["hconcat"].append(panel | {"width": WIDTH // 2 - 70, "height": 230})
    alt = f"Two densities with the delta between them shaded, and delta against {many}; moved by {', '.join(options)}."
    return Moving(spec, alt)


def stationary_errors(
    P: ArrayLike,
    private: ArrayLike,
    table: pd.DataFrame,
    widths: Sequence[float],
    least_k: float,
    printed: Sequence[tuple[float, float]],
    source: str,
) -> Any:
    """Return a figure with Figure 2 (the error of the stationary distribution against epsilon) beside two heatmaps.

    Parameters
    ----------
    P, private : array_like, shape (n, n), true matrix and a private version
    table : DataFrame, rows by growing k; columns k, mean_of_norms, standard_error, theorem3, epsilon_b<b> for each b
    widths : sequence of two floats, the paper's b and another reading of it
    least_k : float, the smallest k that Assumption 2 allows; the curves are thin below it
    printed : sequence of (epsilon, error), as the paper prints them
    source : str, the source of the data
    """
    fig, axes = plt.subplot_mosaic("TE;PE", figsize=size(2, 3.8), width_ratios=[1, 2.2])
    true, released, table = *(shorten(pd.DataFrame(matrix)) for matrix in (P, private)), shorten(table)
    for place, values, title in ("T", true, "true matrix $P$"), ("P", released, r"a private matrix $\tilde P$"):
        shown = {"cmap": "Greys", "vmin": 0, "vmax": np.max([true, released])}
        image = axes[place].imshow(values.where(true > 0), **shown)
        axes[place].set(title=title, xticks=[], yticks=[])
        axes[place].spines[:].set(visible=True, color="0.7")
    fig.colorbar(image, ax=[axes["T"], axes["P"]], shrink=0.5, pad=0.03)
    allowed = table[table.k >= least_k * (1 - 1e-5)]  # k has six digits
    error, curves, others, thin = axes["E"], [], [], {"lw": 0.7, "ms": 3, "mfc": "none", "mew": 0.7, "zorder": 1}
    for b, marks, colour in zip(widths, ("o-", "^:"), (PAPER, "#56B4E9")):
        shown = table.assign(epsilon=table[f"epsilon_b{b:g}"]).query(f"epsilon <= {1.01 * LAST}")
        part = shown[shown.k >= allowed.k.min()]
        bars = {"yerr": 2 * part.standard_error, "fmt": marks, "color": colour, "label": f"$b={b:g}$"}
        curves.append(error.errorbar(part.epsilon, part.mean_of_norms, **bars))
        broken = shown[(shown.k <= allowed.k.min()) & (shown.epsilon >= 0.99 * FIRST)]
        if len(broken) > 1:  # the last of them is the first that is allowed
            words = f"$b={b:g}$, $k<{least_k:g}$:\nAssumption 2 broken"
            others += error.plot(broken.epsilon, broken.mean_of_norms, marks, label=words, color=colour, **thin)
    for point, offset in zip(printed, ((-8, -62), (6, -12))):
        mark_published(error, *point, f"{point[1]:g}", offset=offset)
    others += error.plot([], [], "D", mfc="none", mec=PUBLISHED, label="printed in the paper")
    low, high = allowed.theorem3.min(), allowed.theorem3.max()
    words = f"The bound of Theorem 3, {low:.0f} to {high:.0f},\nis far above this axis."
    error.text(0.98, 0.5, words, transform=error.transAxes, ha="right")
    error.set(xlabel=r"$\epsilon$ of Theorem 1", ylabel=r"$\mathbb{E}\,\|\pi-\tilde\pi\|_1$")
    error.set(xlim=(0, 1.03 * LAST), ylim=(0, None))
    error.legend(handles=curves + others, loc="upper right")
    mark_source(fig, source)
    return fig
