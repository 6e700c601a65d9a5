"""Charts that move without a kernel: Vega-Lite with sliders, numbers embedded, a still picture where none can run."""

from __future__ import annotations

import functools
import io
import json
import os
import zlib
from pathlib import Path
from typing import Any

import altair as alt
import geopandas as gpd
import matplotlib as mpl
import pandas as pd
from PIL import Image

from dpsim.figures import house_style
from dpsim.figures.house_style import OTHER, OURS, PAPER, TRUE

SCALE = 2
"""Pixels of the still picture for each pixel of the chart."""

LARGEST = 1_000_000
"""Bytes that a chart may have: a page that shows it stays below 1.5 MB with Vega itself."""


class Moving:
    """A chart to show: it moves in JupyterLab and on the site, and stands still as a picture elsewhere.

    Parameters
    ----------
    chart : altair chart
        With its parameters bound to inputs; every number it needs embedded.
    alt_text : str
        What the chart shows, in a sentence: for readers who do not see it.
    """

    def __init__(self, chart: alt.TopLevelMixin, alt_text: str) -> None:
        self.spec: dict[str, Any] = chart.properties(
            usermeta={"embedOptions": {"actions": False}}, description=alt_text, background="white"
        ).to_dict()
        self.spec["datasets"] = {**self.spec.get("datasets", {}), **_named_once(self.spec)}
        self.alt_text = alt_text

    @functools.cached_property
    def png(self) -> bytes:
        """The chart as it starts, as a picture."""
        import vl_convert

        vl_convert.register_font_directory(os.path.join(mpl.get_data_path(), "fonts", "ttf"))
        return bytes(vl_convert.vegalite_to_png(self.spec, scale=SCALE))

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return both forms: JupyterLab draws the first, what cannot shows the second."""
        still, text = io.BytesIO(), {"text/plain": self.alt_text}
        Image.open(io.BytesIO(self.png)).reduce(SCALE).save(still, "png")
        return {"application/vnd.vegalite.v5+json": self.spec, "image/png": still.getvalue(), **text}, {}


def save_moving(moving: Moving, name: str, data: pd.DataFrame, output: str) -> None:
    """Write output/name.json (the chart), .png (as it starts) and .csv (its numbers); nothing when output is "".

    Parameters
    ----------
    moving : Moving
    name : str
        As in `save`.
    data : DataFrame
        The numbers of the chart.
    output : str
        The folder of the results.

    Raises
    ------
    ValueError
        For a chart of more than a million bytes.
    """
    if not output:
        return
    text = json.dumps(moving.spec, sort_keys=True, separators=(",", ":")) + "\n"
    if len(text) > LARGEST:
        raise ValueError(f"chart {name} must have at most {LARGEST} bytes, got {len(text)}")
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for ending, contents in (("json", text.encode()), ("png", moving.png)):
        partial = folder / f".{name}.partial"
        partial.write_bytes(contents)
        os.replace(partial, folder / f"{name}.{ending}")
    house_style.save_table(data, name, output)


def slider(name: str, label: str, low: float, high: float, step: float, start: float) -> alt.Parameter:
    """Return a parameter that a slider sets, usable from the keyboard."""
    return alt.param(name=name, value=start, bind=alt.binding_range(min=low, max=high, step=step, name=f"{label} "))


def _text(chart: alt.Chart, words: str) -> alt.Chart:
    """Return a line of text above a chart, an expression of Vega over the one row that is left of the table."""
    return (
        chart.transform_calculate(words=words)
        .mark_text(align="left", fontSize=12, lineBreak="|")
        .encode(text="words:N", x=alt.value(0))
    )


def dirichlet_row(costs: pd.DataFrame, draws: pd.DataFrame, border: float, shift: float) -> Moving:
    """Return the chart of one row of five shares: the two Beta densities, delta shaded, epsilon, and one draw.

    Parameters
    ----------
    costs : DataFrame
        Columns k, epsilon, delta, epsilon_at_1e-6, log_beta (of a = k border and a + k shift).
    draws : DataFrame
        Columns k, category, share, true.
    border, shift : float

    Returns
    -------
    Moving
    """
    ks, epsilons = sorted(costs["k"].unique()), sorted(costs["epsilon"].unique())
    k = slider("k", "k", ks[0], ks[-1], ks[1] - ks[0], 60)
    epsilon = slider("epsilon", "ε", epsilons[0], epsilons[-1], epsilons[1] - epsilons[0], 0.5)
    table = alt.Chart(_embedded(costs)).transform_filter("datum.k == k && abs(datum.epsilon - epsilon) < 1e-9")
    words = _text(
        table,
        "'δ = ' + format(datum.delta, '.3g') + ' at ε = ' + format(datum.epsilon, '.2f') + "
        "'|at δ = 1e-6 the same release costs ε = ' + format(datum.epsilon_at_1e_6, '.3f')",
    ).properties(width=300, height=34)
    points = alt.sequence(0.0025, 1.0, 0.0025, as_="x")
    a, b = f"(k * {border})", f"(k * {border + shift})"
    constants = {round(float(row.k), 6): float(row.log_beta) for row in costs.drop_duplicates("k").itertuples()}
    listed = "[" + ",".join(repr(constants[round(float(value), 6)]) for value in ks) + "]"
    place = f"round((k - {ks[0]}) / {ks[1] - ks[0]})"
    base = alt.Chart(points).transform_calculate(
        p=f"exp(({b} - 1) * log(datum.x) + ({a} - 1) * log(1 - datum.x) - {listed}[{place}])",
        q=f"exp(({a} - 1) * log(datum.x) + ({b} - 1) * log(1 - datum.x) - {listed}[{place}])",
        border="exp(epsilon) * datum.q",
    )
    x = alt.X("x:Q", title="share of the two entries that falls to the first", scale=alt.Scale(domain=[0, 1]))
    upper = alt.Y("p:Q", title="density")
    curves = alt.layer(
        base.transform_filter("datum.p > datum.border")
        .mark_area(opacity=0.35, color=OURS)
        .encode(x=x, y=upper, y2="border:Q"),
        base.mark_line(color=PAPER).encode(x=x, y=upper),
        base.mark_line(color=TRUE).encode(x=x, y=alt.Y("q:Q", title="density")),
        base.mark_line(color=OURS, strokeDash=[4, 3], clip=True).encode(x=x, y=alt.Y("border:Q", title="density")),
    ).properties(width=300, height=190)
    drawn = alt.Chart(_embedded(draws)).transform_filter("datum.k == k")
    share = alt.Y("share:Q", title="share", scale=alt.Scale(domain=[0, 1]))
    category = alt.X("category:N", title="category", axis=alt.Axis(labelAngle=0))
    bars = alt.layer(
        drawn.mark_bar(color=PAPER, opacity=0.75).encode(x=category, y=share),
        drawn.mark_tick(color=TRUE, thickness=2).encode(x=category, y=alt.Y("true:Q", title="share")),
    ).properties(width=170, height=190)
    chart = alt.vconcat(words, alt.hconcat(curves, bars)).add_params(k, epsilon)
    return Moving(
        _styled(chart),
        "Two Beta densities of neighbouring inputs, the part above e to the epsilon shaded: its area is delta. "
        "Beside them one private draw of the five shares. Sliders set k and epsilon.",
    )


def manhattan(zones: gpd.GeoDataFrame, shares: pd.DataFrame) -> Moving:
    """Return the map of Manhattan: how far each zone's private long-run share is from the true one, by epsilon.

    It starts with the mechanism that is furthest from the truth: the other's map may show next to no colour.

    Parameters
    ----------
    zones : GeoDataFrame
        zone and its outline in degrees.
    shares : DataFrame
        Columns mechanism, epsilon, zone, percent.

    Returns
    -------
    Moving
    """
    epsilons = sorted(shares["epsilon"].unique())
    place = slider("place", "ε: step", 0, len(epsilons) - 1, 1, len(epsilons) // 2)
    ways = list(dict.fromkeys(shares["mechanism"]))
    start = shares.loc[shares["percent"].abs().idxmax(), "mechanism"]
    way = alt.param(name="way", value=start, bind=alt.binding_radio(options=ways, name="released by "))
    listed = "[" + ",".join(map(repr, map(float, epsilons))) + "]"
    outlines = json.loads(zones.to_json())
    for feature in outlines["features"]:
        feature["geometry"]["coordinates"] = _rounded(feature["geometry"]["coordinates"])
    colour = alt.Color(
        "percent:Q",
        title=["difference of the", "long-run share, %"],
        scale=alt.Scale(type="symlog", constant=1, domain=[-100, 100], scheme="blueorange", clamp=True),
        legend=alt.Legend(values=[-100, -10, -1, 0, 1, 10, 100], orient="bottom", gradientLength=240),
    )
    kept = alt.Chart(_embedded(shares)).transform_filter(f"datum.mechanism == way && datum.epsilon == {listed}[place]")
    shapes = alt.Data(values=outlines["features"])
    shown = (
        kept.transform_lookup(
            lookup="zone", from_=alt.LookupData(data=shapes, key="properties.zone", fields=["type", "geometry"])
        )
        .mark_geoshape(stroke="white", strokeWidth=0.6)
        .encode(color=colour, tooltip=["zone:Q", alt.Tooltip("percent:Q", format="+.2f")])
        .project(type="mercator")
        .properties(width=260, height=380)
    )
    words = _text(
        kept.transform_aggregate(half="mean(gap)", groupby=["mechanism", "epsilon"]),
        "'ε = ' + datum.epsilon + ', ' + datum.mechanism + '|mean difference ' + format(datum.half, '.3g') + ' %'",
    ).properties(width=300, height=34)
    return Moving(
        _styled(alt.vconcat(words, shown).add_params(place, way)),
        "Map of 63 taxi zones of Manhattan, coloured by the relative difference between the private and the true "
        "long-run share of trips. A slider sets epsilon, a choice sets the mechanism.",
    )


def word_distances(laws: pd.DataFrame, errors: pd.DataFrame) -> Moving:
    """Return the chart of both laws of the distance of a private word, and of the reduction of its error.

    Parameters
    ----------
    laws : DataFrame
        Columns epsilon, mechanism, distance, probability.
    errors : DataFrame
        Columns epsilon, exponential, permute_and_flip, reduction, limit.

    Returns
    -------
    Moving
    """
    grid = sorted(errors["epsilon"].unique())
    epsilon = slider("epsilon", "ε", grid[0], grid[-1], grid[1] - grid[0], 6)
    here = "abs(datum.epsilon - epsilon) < 1e-9"
    colour = alt.Color(
        "mechanism:N",
        title=None,
        scale=alt.Scale(domain=["exponential mechanism", "permute-and-flip"], range=[OTHER, PAPER]),
        legend=alt.Legend(orient="top"),
    )
    bars = (
        alt.Chart(_embedded(laws))
        .transform_filter(here)
        .mark_bar()
        .encode(
            x=alt.X("distance:O", title="letters changed", axis=alt.Axis(labelAngle=0)),
            xOffset="mechanism:N",
            y=alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1])),
            color=colour,
        )
        .properties(width=290, height=190)
    )
    base = alt.Chart(_embedded(errors))
    x = alt.X("epsilon:Q", title="ε")
    y = alt.Y(
        "reduction:Q", title="reduction of the error", scale=alt.Scale(domain=[0, 0.55]), axis=alt.Axis(format="%")
    )
    curve = alt.layer(
        base.mark_line(color=PAPER).encode(x=x, y=y),
        base.mark_line(color=OURS, strokeDash=[4, 3]).encode(x=x, y=alt.Y("limit:Q")),
        base.transform_filter(here).mark_point(color=PAPER, filled=True, size=70).encode(x=x, y=y),
        alt.Chart(alt.Data(values=[{"half": 0.5}])).mark_rule(color=TRUE).encode(y="half:Q"),
    ).properties(width=200, height=190)
    words = _text(
        base.transform_filter(here),
        "'expected letters changed: ' + format(datum.exponential, '.3f') + ' and ' + "
        "format(datum.permute_and_flip, '.3f') + '|' + format(datum.reduction, '.1%') + ' less; at most a half'",
    ).properties(width=300, height=34)
    return Moving(
        _styled(alt.vconcat(words, alt.hconcat(bars, curve)).add_params(epsilon)),
        "The laws of the number of letters changed by both mechanisms, and the reduction of the expected number by "
        "permute-and-flip against epsilon, below its proven limit of one half. A slider sets epsilon.",
    )


def plan_values(values: pd.DataFrame, best: float) -> Moving:
    """Return the chart of fifty private plans: their values and bounds, by k.

    Parameters
    ----------
    values : DataFrame
        Columns k, epsilon, what, value.
    best : float
        The value of the best plan.

    Returns
    -------
    Moving
    """
    grid = sorted(values["k"].unique())
    k = slider("place", "k: step", 0, len(grid) - 1, 1, len(grid) // 2)
    listed = "[" + ",".join(map(repr, map(float, grid))) + "]"
    names = list(dict.fromkeys(values["what"]))
    span = alt.Scale(domain=[float(values["value"].min()), float(values["value"].max())])
    kept = alt.Chart(_embedded(values)).transform_filter(f"datum.k == {listed}[place]")
    colour = alt.Color("what:N", legend=None, scale=alt.Scale(domain=names, range=[PAPER, TRUE, PAPER, PAPER]))
    dots = (
        kept.transform_window(number="row_number()", groupby=["what"])
        .transform_calculate(aside="(datum.number * 21) % 50")
        .mark_circle(size=22, opacity=0.6)
        .encode(
            x=alt.X("what:N", sort=names, title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title="value of the plan", scale=span),
            xOffset="aside:Q",
            color=colour,
        )
    )
    line = alt.Chart(alt.Data(values=[{"best": best}])).mark_rule(strokeDash=[2, 2]).encode(y="best:Q")
    words = _text(
        kept.transform_filter("datum.what == 'true model'").transform_aggregate(
            mean="mean(value)", epsilon="mean(epsilon)", groupby=["k"]
        ),
        f"'k = ' + datum.k + ', ε = ' + format(datum.epsilon, '.3g') + ' at δ = 1e-3 for one vector|the plans earn ' + "
        f"format(datum.mean, '.3f') + ' of {best:.3f} on average'",
    ).properties(width=300, height=34)
    return Moving(
        _styled(alt.vconcat(words, alt.layer(dots, line).properties(width=320, height=220)).add_params(k)),
        "Fifty private plans for four startups: pessimistic bound, value in the true model, value in the private "
        "model, optimistic bound. A slider sets k.",
    )


def histogram_law(law: pd.DataFrame) -> Moving:
    """Return the chart of the law of a released histogram's distance from the true one, by t.

    Parameters
    ----------
    law : DataFrame
        Columns t, epsilon, distance, probability.

    Returns
    -------
    Moving
    """
    grid = sorted(law["t"].unique())
    place = slider("place", "t: step", 0, len(grid) - 1, 1, len(grid) // 2)
    listed = "[" + ",".join(map(repr, map(float, grid))) + "]"
    kept = alt.Chart(_embedded(law)).transform_filter(f"datum.t == {listed}[place]")
    bars = (
        kept.mark_bar(color=PAPER)
        .encode(
            x=alt.X("distance:O", title="1-norm distance from the true histogram", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1])),
        )
        .properties(width=320, height=200)
    )
    words = _text(
        kept.transform_calculate(part="datum.distance * datum.probability").transform_aggregate(
            mean="sum(part)", epsilon="mean(epsilon)", groupby=["t"]
        ),
        "'t = ' + format(datum.t, '.3g') + ': ε = ' + format(datum.epsilon, '.3f') + '|mean distance ' + "
        "format(datum.mean, '.3f')",
    ).properties(width=300, height=34)
    return Moving(
        _styled(alt.vconcat(words, bars).add_params(place)),
        "The law of the 1-norm distance between a released histogram and the true one. A slider sets the temperature.",
    )


def which_mechanism(errors: pd.DataFrame) -> Moving:
    """Return the chart that answers which mechanism to use: error against epsilon, for a chosen subject.

    Parameters
    ----------
    errors : DataFrame
        Columns subject (what is released, of which data, the unit), mechanism, epsilon, error, metric.

    Returns
    -------
    Moving
    """
    subjects = list(dict.fromkeys(errors["subject"]))
    subject = alt.param(
        name="subject", value=subjects[0], bind=alt.binding_select(options=subjects, name="what is released ")
    )
    kept = alt.Chart(_embedded(errors)).transform_filter("datum.subject == subject")
    lines = (
        kept.mark_line(point=True)
        .encode(
            x=alt.X("epsilon:Q", title="ε, the exact privacy", scale=alt.Scale(type="log")),
            y=alt.Y("error:Q", title="error", scale=alt.Scale(type="log")),
            color=alt.Color("mechanism:N", title=None, legend=alt.Legend(orient="bottom", columns=1, labelLimit=300)),
            tooltip=["mechanism:N", alt.Tooltip("epsilon:Q", format=".3g"), alt.Tooltip("error:Q", format=".3g")],
        )
        .properties(width=360, height=240)
    )
    words = _text(
        kept.transform_aggregate(metric="min(metric)", groupby=["subject"]), "'error: ' + datum.metric"
    ).properties(width=300, height=34)
    return Moving(
        _styled(alt.vconcat(words, lines).add_params(subject)),
        "Error of each mechanism against its exact epsilon, for the subject chosen in the list.",
    )


def _embedded(table: pd.DataFrame) -> alt.Data:
    """Return a table as text within the chart, with six significant digits: a fifth of what named rows would take."""
    text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    parse = {str(name): "number" for name in table.select_dtypes("number")}  # or 10 would stand before 2
    return alt.Data(values=text, format=alt.CsvDataFormat(type="csv", parse=parse))


def _named_once(part: Any) -> dict[str, str]:
    """Return the tables of a chart by name, having put the names in their places: parts that share one hold it once."""
    found: dict[str, str] = {}
    if isinstance(part, dict):
        data = part.get("data")
        if isinstance(data, dict) and isinstance(data.get("values"), str):
            text = data.pop("values")
            data["name"] = f"table{zlib.crc32(text.encode()):08x}"
            found[data["name"]] = text
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        found |= _named_once(inner)
    return found


def _styled(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    """Return the chart in the project's look."""
    return chart.configure(font="DejaVu Sans, sans-serif").configure_view(stroke=None).configure_axis(grid=False)


def _rounded(coordinates: Any) -> Any:
    """Return nested coordinates to five digits: about a metre."""
    if isinstance(coordinates, (list, tuple)):
        return [_rounded(part) for part in coordinates]
    return round(float(coordinates), 5)
