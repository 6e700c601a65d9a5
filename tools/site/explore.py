"""The page of charts that move: Vega from the site itself, the charts that the
notebooks wrote, a still picture without scripts."""

from __future__ import annotations

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
    "Move the sliders with the mouse, a finger or the arrow keys. Everything runs in this page: no kernel, no "
    "server, no request to anywhere. The numbers are those of the notebooks, which made the charts; each "
    "chart's table can be downloaded below it."
)

START = """\
<script>
async function draw(place) {
  var spec = JSON.parse(place.querySelector("script").textContent);
  if (window.innerWidth < 700) {  // a phone: charts keep their size, and stand below each other
    spec.marks.forEach(function (part) { if (part.layout) part.layout.columns = 1; });
  }
  var view = new vega.View(vega.parse(spec), {
    renderer: "svg", container: place.querySelector(".chart"), bind: place.querySelector(".controls"), hover: true
  });
  await view.runAsync();
  var chart = place.querySelector(".chart");
  if (chart.scrollWidth > chart.clientWidth) chart.tabIndex = 0;  // scrolled with the keys too
  place.querySelectorAll(".vega-bind").forEach(function (line) {
    var label = line.querySelector(".vega-bind-name, label, span");
    line.querySelectorAll("input, select").forEach(function (input) {
      if (input.type !== "radio") input.setAttribute("aria-label", label ? label.textContent.trim() : "value");
    });
  });
  place.classList.add("ready");
}
(async function () {
  for (const place of document.querySelectorAll(".moving")) {
    await draw(place);
    await new Promise(function (next) { setTimeout(next); });  // shown before the next one is drawn
  }
  var named = location.hash && document.getElementById(location.hash.slice(1));
  if (named) named.scrollIntoView();  // the page has grown: what its address names is elsewhere now
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


def _caption(figure: notebook_pages.Figure) -> str:
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
    embedded = json.dumps(
        vl_convert.vegalite_to_vega(spec), separators=(",", ":")
    ).replace("</", "<\\/")
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
            f'<figure class="published moving" id="{figure.anchor}">\n<div class="chart" role="group" '
            f'aria-label="{alt}"></div>\n<div class="controls"></div>\n<noscript>{still}</noscript>\n'
            f'<script type="application/json">{embedded}</script>\n<figcaption>',
            notebook_pages.with_site_links(
                _caption(figure), f"notebooks/{figure.notebook}.html"
            ),
            f'<p class="downloads">{files}</p>\n</figcaption>\n</figure>',
        ]
    )
