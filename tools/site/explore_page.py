"""The page of charts that move: Vega from the site itself, the charts that the
notebooks wrote, a still picture without scripts."""

from __future__ import annotations

import copy
import csv
import html
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import notebook_pages
import vl_convert
from markup import plain, without_formulas

from dpsim import paths

SCRIPT = "vega.min.js"
"""Vega, of the npm package of that name; Vega-Lite is compiled to it here, so that the
page need not load it."""

INTRODUCTION = (
    "Move the sliders with the mouse, a finger or the arrow keys. Everything runs in "
    "this page: no kernel, no server, no request to anywhere. The numbers are those "
    "of the notebooks, which made the charts; each chart's table can be downloaded "
    "below it."
)

START = """\
<script>
async function draw(place) {
  var scripts = [...place.querySelectorAll("script")];
  var [wide, narrow] = scripts.map(function (script) {
    return JSON.parse(script.textContent);
  });
  narrow.data.forEach(function (table) {
    function same(other) { return other.name === table.name; }
    if (table.shared) table.values = wide.data.find(same).values;
  });
  var spec = window.innerWidth < 600 ? narrow : wide;
  var view = new vega.View(vega.parse(spec), {
    renderer: "svg",
    container: place.querySelector(".chart"),
    bind: place.querySelector(".controls"),
    hover: true
  });
  await view.runAsync();
  var chart = place.querySelector(".chart");
  // scrolled with the keys too
  if (chart.scrollWidth > chart.clientWidth) chart.tabIndex = 0;
  place.querySelectorAll(".vega-bind").forEach(function (line) {
    var label = line.querySelector(".vega-bind-name, label, span");
    line.querySelectorAll("input, select").forEach(function (input) {
      var name = label ? label.textContent.trim() : "value";
      if (input.type !== "radio") input.setAttribute("aria-label", name);
    });
  });
  place.classList.add("ready");
}
(async function () {
  for (const place of document.querySelectorAll(".moving")) {
    await draw(place);
    // shown before the next one is drawn
    await new Promise(function (next) { setTimeout(next); });
  }
  var named = location.hash && document.getElementById(location.hash.slice(1));
  // the page has grown: what its address names is elsewhere now
  if (named) named.scrollIntoView();
})();
</script>"""
"""Draws every chart and names its controls."""


def charts(
    notebooks: Mapping[str, Any],
) -> list[tuple[notebook_pages.Figure, dict[str, Any]]]:
    """Return the notebooks' figures that move, with their charts."""
    found = []
    for name, notebook in notebooks.items():
        for figure in notebook_pages.figures(name, notebook, paths.figures() / name):
            chart = paths.figures() / name / f"{figure.stem}.json"
            if chart.is_file():
                found.append((figure, json.loads(chart.read_text(encoding="utf-8"))))
    return found


def page(notebooks: Mapping[str, Any]) -> str:
    """Return the page: for each chart its section's words, the notebook that it comes
    from, the chart with its still picture, its caption, its files."""
    parts = ["# Explore", INTRODUCTION]
    parts += [f'<script src="_static/vega/{SCRIPT}"></script>']
    for figure, spec in charts(notebooks):
        title = html.escape(plain(notebook_pages.title(notebooks[figure.notebook])))
        parts.append(_section(figure, spec, title))
    return "\n\n".join([*parts, START])


def copy_script(modules: Path, target: Path) -> None:
    """Copy Vega from the package that npm has fetched."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(modules / "vega" / "build" / SCRIPT, target / SCRIPT)


PHONE = 326
"""The width in pixels that a phone of 390 pixels has for a chart."""

LONGEST_TITLE = 40
"""Characters of an axis' title that a phone shows in one line."""


def narrow(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a chart as a phone shows it: no wider than PHONE, with texts at their
    size."""
    spec = _closed_up(spec)
    for width in range(280, 100, -10):
        made = _stacked(spec, width)
        svg = vl_convert.vegalite_to_svg(made)
        if float(re.findall(r'width="([\d.]+)"', svg)[0]) <= PHONE:
            return made
    title = spec["description"]
    raise ValueError(f"chart does not fit a width of {PHONE} pixels: {title}")


LINE = 11
"""The height of a line of claims on a phone, in pixels."""

NEW_LINES: list[dict[str, Any]] = [
    {
        "joinaggregate": [{"op": "min", "field": "line", "as": "begin"}],
        "groupby": ["paper"],
    },
    {
        "window": [{"op": "row_number", "as": "row"}],
        "sort": [{"field": "line", "order": "ascending"}],
    },
    {
        "window": [{"op": "dense_rank", "as": "rank"}],
        "sort": [{"field": "begin", "order": "ascending"}],
    },
    {"calculate": "datum.row + 2 * datum.rank - 3", "as": "line"},
]
"""The transforms that put the claims of one panel on lines without gaps, apart from two
lines above each paper."""


def _closed_up(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a chart whose panels share their lines, as the chart of all claims does,
    with lines and papers' names of each panel's own. Other charts stay as they are."""
    panels = spec.get("hconcat", [])
    if '"field": "line"' not in json.dumps(panels):
        return spec
    rows = list(csv.DictReader(spec["datasets"]["table"].splitlines()))
    names = panels[0]["layer"][-1]
    made = []
    for panel in panels:
        papers = [row["paper"] for row in rows if row["kind"] == panel["title"]]
        last = len(papers) + 2 * len(set(papers)) - 2
        panel = copy.deepcopy(panel)
        panel["transform"] = [
            {"filter": f"datum.kind == '{panel['title']}'"},
            *NEW_LINES,
        ]
        panel |= {"width": PHONE, "height": LINE * (last + 2)}
        if names not in panel["layer"]:
            panel["layer"].append(copy.deepcopy(names))
        for layer in panel["layer"]:
            layer["encoding"]["y"]["scale"]["domain"] = [-1.5, last]
        made.append(panel)
    return {**spec, "hconcat": made}


def _stacked(part: Any, width: int) -> Any:
    """Return a part of a chart with its panels one below the other, none wider than
    `width`, and its long texts in several lines."""
    if isinstance(part, list):
        return [_stacked(each, width) for each in part]
    if not isinstance(part, dict):
        return part
    made = {
        "vconcat" if key == "hconcat" else key: value
        if key in ("data", "datasets")
        else _stacked(value, width)
        for key, value in part.items()
    }
    if isinstance(made.get("width"), (int, float)):
        made["width"] = min(made["width"], width)
    if legend := made.get("legend"):
        place = "top" if legend.get("orient") == "top" else "bottom"
        made["legend"] = {**legend, "orient": place, "columns": 2}
    if made.get("labelAngle") == 0:
        made |= {"labelAngle": -45, "labelAlign": "right"}
        made["labelOverlap"] = "parity"
        if "labelExpr" in made:  # of several lines
            made |= {"labelAngle": -90, "labelFontSize": 10, "labelLineHeight": 10}
            made |= {"labelBaseline": "middle"}
    title = made.get("title")
    if isinstance(title, str) and len(title) > LONGEST_TITLE:
        made["title"] = re.split("(?<=[;,]) ", title)
    mark = made.get("mark")
    if isinstance(mark, dict) and mark["type"] == "text" and mark.get("y", 0) < 0:
        mark |= {"y": 2 * mark["y"] - 20, "fontSize": 12}
        made["transform"] = [_in_lines(step) for step in made["transform"]]
    x = made.get("x")
    if isinstance(x, dict) and isinstance(x.get("value"), (int, float)):
        x["value"] = min(x["value"], width - 10)
    return made


def _in_lines(step: dict[str, Any]) -> dict[str, Any]:
    """Return a transformation whose words, if it makes any, are broken after a colon,
    semicolon or comma and before a factor."""
    if step.get("as") != "words":
        return step
    broken = f"replace({step['calculate']}, regexp('([:;,]) ', 'g'), '$1\\n')"
    broken = f"replace({broken}, ' by a factor', '\\nby a factor')"
    return {**step, "calculate": f"split({broken}, '\\n')"}


def _embedded(spec: dict[str, Any]) -> str:
    """Return a chart, wide and narrow, as Vega in two scripts; the numbers, which both
    use, stand in the first only."""
    wide = vl_convert.vegalite_to_vega(spec)
    phone = vl_convert.vegalite_to_vega(narrow(spec))
    values = {table["name"]: table.get("values") for table in wide["data"]}
    for table in phone["data"]:
        if table.get("values") and table["values"] == values.get(table["name"]):
            del table["values"]
            table["shared"] = True
    texts = [
        json.dumps(each, separators=(",", ":")).replace("</", "<\\/")
        for each in (wide, phone)
    ]
    return "\n".join(
        f'<script type="application/json">{text}</script>' for text in texts
    )


def caption(figure: notebook_pages.Figure) -> str:
    """Return the caption without formulas, without its number, which charts of several
    notebooks share, and without remarks that the chart moves in JupyterLab: here it
    moves too."""
    caption = re.sub(r"\s*\([^()]*JupyterLab[^()]*\)", "", figure.caption)
    caption = re.sub(
        r"^\*\*(?:Paper, )?Figure\s[\w–-]+\.(\*\* )?\s*",
        lambda m: "" if m[1] else "**",
        caption,
    )
    return without_formulas(caption, markup=True)


def _section(figure: notebook_pages.Figure, spec: dict[str, Any], title: str) -> str:
    """Return one chart with its heading, its notebook, its words and its files."""
    base = f"figures/{figure.notebook}/{figure.stem}"
    width, height = notebook_pages.screen_size(
        paths.figures() / figure.notebook / f"{figure.stem}.png", 0.5
    )
    alt = html.escape(spec.get("description", plain(figure.caption)))
    heading = re.sub(r"^\d+\.\s*", "", figure.section)
    place = f"notebooks/{figure.notebook}.html#{figure.anchor}"
    source = f'<p class="source">From the notebook <a href="{place}">{title}</a></p>'
    still = f'<img src="{base}.png" alt="{alt}" width="{width}" height="{height}">'
    files = " · ".join(
        f'<a href="{base}.{end}" download>{end}</a>' for end in ("csv", "png", "json")
    )
    return "\n\n".join(
        [
            f"## {heading}",
            source,
            f'<figure class="published moving" id="{figure.anchor}">\n'
            f'<div class="chart" role="group" aria-label="{alt}"></div>\n'
            f'<div class="controls"></div>\n<noscript>{still}</noscript>\n'
            f"{_embedded(spec)}\n<figcaption>",
            notebook_pages.with_site_links(
                caption(figure), f"notebooks/{figure.notebook}.html"
            ),
            f'<p class="downloads">{files}</p>\n</figcaption>\n</figure>',
        ]
    )
