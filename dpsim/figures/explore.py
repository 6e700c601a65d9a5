"""Interactive charts in Vega-Lite that need no running kernel, and images of them."""

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
from dpsim.figures.saving import save_table

SCALE = 2
"""The size of the image relative to that of the chart, in each direction."""

WIDTH = 720
"""The width of a chart in pixels, which is that of the text."""

MOST_BYTES = 1_000_000
"""The largest size of a chart in bytes. A page with such a chart and with Vega stays
below 1.5 MB."""

INK = "black"
"""The colour of texts. A dark theme would make them white on a white background."""
LINES = "#888"
"""The colour of axes."""

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
"""The configuration of all charts. The font comes with matplotlib."""


class Moving:
    """A chart that is interactive in JupyterLab and on the site, and a static image
    elsewhere.

    Parameters
    ----------
    spec : dict
        The specification in Vega-Lite. All numbers of the chart are in its `datasets`.
    alt_text : str, a description of the chart for readers who do not see it
    """

    def __init__(self, spec: dict[str, Any], alt_text: str) -> None:
        self.spec: dict[str, Any] = {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "config": LOOK,
            "usermeta": {"embedOptions": {"actions": False}},
            "description": alt_text,
            "background": "white",
            **spec,
        }
        self.alt_text = alt_text

    @functools.cached_property
    def png(self) -> bytes:
        """The chart in its initial state, as a png image."""
        import vl_convert

        vl_convert.register_font_directory(f"{mpl.get_data_path()}/fonts/ttf")
        return bytes(vl_convert.vegalite_to_png(self.spec, scale=SCALE))

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the chart for JupyterLab, and an image for other programs."""
        still = io.BytesIO()
        Image.open(io.BytesIO(self.png)).reduce(SCALE).save(still, "png")
        return {
            "application/vnd.vegalite.v5+json": self.spec,
            "image/png": still.getvalue(),
            "text/plain": self.alt_text,
        }, {}


def save_moving(moving: Moving, name: str, data: pd.DataFrame, output: str) -> None:
    """Write a chart to output/name.json, its image to .png and its numbers to .csv.

    Parameters
    ----------
    moving : Moving, of at most a million bytes
    name, data, output : as in `figures.save`
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
    """Return the encoding of a column, with further properties such as a title."""
    return {"field": field, "type": kind, **look}


def note(
    words: str, by: Sequence[str], means: Sequence[str] = (), **mark: Any
) -> dict[str, Any]:
    """Return a layer of a chart that writes a text for each group of its rows.

    Parameters
    ----------
    words : str, an expression of Vega over the fields of `by` and `means`
    by : sequence of str, the fields that define the groups
    means : sequence of str, the fields that are averaged over each group
    mark : the properties of the text, for example its position
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
    """Return a chart parameter that the reader sets with a slider.

    Parameters
    ----------
    name : str, the parameter's name in expressions
    label : str, the text beside the slider
    value : float, the initial value
    low, high, step : float, the limits of the slider and its step

    Examples
    --------
    >>> from dpsim.figures import explore
    >>> explore.slider("k", "k ", 10, 1, 100, 1)["bind"]["max"]
    100
    """
    control = {"input": "range", "min": low, "max": high, "step": step, "name": label}
    return {"name": name, "value": value, "bind": control}


def radio(
    name: str, label: str, value: float, options: Sequence[float]
) -> dict[str, Any]:
    """Return a chart parameter like the one from `slider`, but with radio buttons."""
    control = {"input": "radio", "options": options, "name": label}
    return {"name": name, "value": value, "bind": control}


def embedded(table: pd.DataFrame) -> dict[str, Any]:
    """Return the keys `datasets` and `data` for a chart of this table.

    The table is stored as text, which takes a fifth of the space of a list of rows.

    Parameters
    ----------
    table : DataFrame, in tidy form

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> figures.embedded(pd.DataFrame({"x": [1, 2]}))["datasets"]["table"]
    'x\\n1\\n2\\n'
    """
    # As text, 10 would be sorted before 2.
    parse = {str(column): "number" for column in table.select_dtypes("number")}
    text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return {
        "datasets": {"table": text},
        "data": {"name": "table", "format": {"type": "csv", "parse": parse}},
    }
