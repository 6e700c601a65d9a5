"""Interactive charts that need no running kernel, written as Vega-Lite with controls
and embedded numbers, together with static images of them."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from PIL import Image

from dpsim import files
from dpsim.figures.house_style import save_table

SCALE = 2
"""How many pixels the static image has, in each direction, for each pixel of the
chart."""

WIDTH = 720
"""The width of a chart in pixels. A chart is as wide as the text, like a figure of two
columns on its page."""

MOST_BYTES = 1_000_000
"""The largest size of a chart in bytes, so that a page that shows it stays below 1.5
MB, including Vega itself."""

INK, LINES = "black", "#888"
"""The colours of a chart's texts and of its axes. A dark theme would make both white,
on our white background."""

TEXTS = {
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelColor": INK,
    "titleColor": INK,
}

LOOK = {
    "font": "DejaVu Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {"grid": False, "domainColor": LINES, "tickColor": LINES, **TEXTS},
    "legend": TEXTS,
    "header": {"labelColor": INK, "titleColor": INK},
    "title": {
        "fontSize": 12,
        "fontWeight": "normal",
        "color": INK,
        "subtitleColor": INK,
    },
    "style": {
        part: {"fill": INK}
        for part in ("guide-label", "guide-title", "group-title", "group-subtitle")
    },
    "text": {"color": INK},
}
"""The look of all charts. Its font comes with matplotlib."""


class Moving:
    """A chart that is interactive in JupyterLab and on the site, and a static image
    elsewhere.

    Parameters
    ----------
    spec : dict, Vega-Lite, whose parameters are bound to inputs and whose numbers are
        all in `datasets`
    alt_text : str, a sentence that describes the chart, for readers who do not see it
    """

    def __init__(self, spec: dict[str, Any], alt_text: str) -> None:
        schema = {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "config": LOOK,
        }
        about = {
            "usermeta": {"embedOptions": {"actions": False}},
            "description": alt_text,
            "background": "white",
        }
        self.spec: dict[str, Any] = schema | about | spec
        self.alt_text = alt_text

    @functools.cached_property
    def png(self) -> bytes:
        """The chart in its initial state, as a png image."""
        import vl_convert

        vl_convert.register_font_directory(f"{mpl.get_data_path()}/fonts/ttf")
        return bytes(vl_convert.vegalite_to_png(self.spec, scale=SCALE))

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return both forms, because JupyterLab draws the chart, but other programs show the image."""
        still = io.BytesIO()
        text = {"text/plain": self.alt_text}
        Image.open(io.BytesIO(self.png)).reduce(SCALE).save(still, "png")
        return {
            "application/vnd.vegalite.v5+json": self.spec,
            "image/png": still.getvalue(),
            **text,
        }, {}


def save_moving(moving: Moving, name: str, data: pd.DataFrame, output: str) -> None:
    """Write output/name.json (the chart), .png (its initial state) and .csv (its
    numbers), or nothing if output is "".

    Parameters
    ----------
    moving : Moving, of at most a million bytes
    name, data, output : as in `save`
    """
    if not output:
        return
    text = json.dumps(moving.spec, sort_keys=True, separators=(",", ":")) + "\n"
    if len(text) > MOST_BYTES:
        raise ValueError(
            f"chart {name} must have at most {MOST_BYTES} bytes, got {len(text)}"
        )
    save_table(data, name, output)
    files.write_text(Path(output) / f"{name}.json", text)
    with files.replacing(Path(output) / f"{name}.png") as partial:
        partial.write_bytes(moving.png)


def encode(field: str, kind: str = "quantitative", **look: Any) -> dict[str, Any]:
    """Return the encoding of a column of a chart's table, with further keywords of
    Vega-Lite, for example its title."""
    return {"field": field, "type": kind, **look}


def note(
    words: str, by: Sequence[str], means: Sequence[str] = (), **mark: Any
) -> dict[str, Any]:
    """Return a layer of a chart that writes one text for each group of its rows.

    Parameters
    ----------
    words : str, an expression of Vega over the fields of `by` and `means`
    by, means : sequence of str, the fields that define the groups, and fields that are
        averaged over each group
    mark : keywords of the text, for example its place
    """
    averages = [{"op": "mean", "field": field, "as": field} for field in means] or [
        {"op": "count", "as": "rows"}
    ]
    return {
        "transform": [
            {"aggregate": averages, "groupby": list(by)},
            {"calculate": words, "as": "words"},
        ],
        "mark": {"type": "text", "align": "left", "fontSize": 13, **mark},
        "encoding": {"text": encode("words", "nominal")},
    }


def slider(
    name: str, label: str, value: float, low: float, high: float, step: float
) -> dict[str, Any]:
    """Return a parameter of a chart that a slider sets.

    Parameters
    ----------
    name, label : str, its name in expressions, and the text beside the slider
    value, low, high, step : float, its value at the start, its limits, and its step

    Examples
    --------
    >>> from dpsim import figures
    >>> figures.slider("k", "k ", 10, 1, 100, 1)["bind"]["max"]
    100
    """
    control = {"input": "range", "min": low, "max": high, "step": step, "name": label}
    return {"name": name, "value": value, "bind": control}


def radio(
    name: str, label: str, value: float, options: Sequence[float]
) -> dict[str, Any]:
    """Return a parameter of a chart, like that of `slider`, that radio buttons set,
    with a button for each option."""
    return {
        "name": name,
        "value": value,
        "bind": {"input": "radio", "options": options, "name": label},
    }


def embedded(table: pd.DataFrame) -> dict[str, Any]:
    """Return the keys `datasets` and `data` of a chart of this table. The table is
    stored as text, which takes a fifth of the space that its rows would take.

    Parameters
    ----------
    table : DataFrame, tidy: a row for each mark and a column for each field

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> figures.embedded(pd.DataFrame({"x": [1, 2]}))["datasets"]["table"]
    'x\\n1\\n2\\n'
    """
    parse = {
        str(column): "number" for column in table.select_dtypes("number")
    }  # otherwise 10 would be sorted before 2
    text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return {
        "datasets": {"table": text},
        "data": {"name": "table", "format": {"type": "csv", "parse": parse}},
    }
