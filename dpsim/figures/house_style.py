"""The common style of all figures, which is seaborn's with the project's colours, and
functions that write figures and tables."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython import get_ipython
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from PIL import Image

from dpsim import checks, files
from dpsim.ledger.tables import LEFT, RIGHT, Table, html_table
from dpsim.private import round_up as round_up

WIDTHS = {1: 3.5, 2: 7.2}
"""The widths, in inches, of a figure of one column and of a figure across both
columns."""

TRUE = "black"
"""The colour of the truth, and of anything without privacy."""
PAPER = "#0072B2"
"""The colour of the paper's mechanism. Its bound is the same blue, dashed."""
OURS = "#D55E00"
"""The colour of exact results and of our own."""
OTHER = "#009E73"
"""The colour of other mechanisms."""
PUBLISHED = "0.45"
"""The colour of published points, which are hollow grey diamonds with their values
beside them."""

DASHES: dict[str, Any] = {
    TRUE: "",
    PAPER: "",
    OURS: (1, 1),
    OTHER: (3, 1.25, 1.5, 1.25),
}
"""The dashes of each colour, as seaborn and ``ax.plot(..., dashes=...)`` take them.
They also differ in grey."""
BOUND = (4, 1.5)
"""Dashes of a bound."""
MARKERS = {TRUE: "X", PAPER: "o", OURS: "s", OTHER: "^"}
"""Marker of each colour."""

BAND = {"alpha": 0.25, "linewidth": 0}
"""The look of shaded bands, which extend two standard errors to either side, as the
caption says."""

BANDED: dict[str, Any] = {"estimator": "median", "errorbar": ("pi", 100)}
"""Keywords with which seaborn draws the rows of `add_band` as a value and an interval,
without random numbers."""

SMALL = 8.5
"""The size of the smallest text in points, at print size."""

LOOK = {
    "mathtext.fontset": "dejavusans",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.markersize": 4,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.hashsalt": "dpsim",
} | {f"{axis}tick.{kind}.width": 0.6 for axis in "xy" for kind in ("major", "minor")}
"""The settings that differ from seaborn's theme."""


def style() -> None:
    """Set seaborn's theme in the project's colours, with no text below 8.5 pt, thin
    lines, and png files at 200 dpi.

    Tables that are printed as text show all columns, as pandas does in a kernel but not
    if it was imported before one.
    """
    colours = [PAPER, OURS, OTHER, "#CC79A7", "#E69F00", "#56B4E9"]
    sns.set_theme(
        "paper", "ticks", colours, font="DejaVu Sans", font_scale=SMALL / 8.8, rc=LOOK
    )
    pd.set_option("display.max_columns", 20)


def looks(
    colours: Mapping[str, str], *, bounds: Collection[str] = (), markers: bool = False
) -> dict[str, Any]:
    """Return the keywords ``palette`` and ``dashes`` (and ``markers``) of seaborn's
    line plots.

    Parameters
    ----------
    colours : mapping, a colour for each name in the column that is both `hue` and `style`
        TRUE, PAPER, OURS and OTHER have dashes and a marker of their own; any other colour that matplotlib knows is
        plotted as a solid line with round markers.
    bounds : collection of str, the names of the bounds, which are drawn dashed
    markers : bool, whether points are marked

    Examples
    --------
    >>> from dpsim import figures
    >>> figures.looks({"exact": figures.PAPER, "bound": figures.PAPER}, bounds=["bound"])["dashes"]
    {'exact': '', 'bound': (4, 1.5)}
    """
    for name, colour in colours.items():
        if not is_color_like(colour):
            raise ValueError(
                f"colours must be colours that matplotlib knows, got {colour!r} for {name!r}"
            )
    dashes = {
        name: BOUND if name in bounds else DASHES.get(colour, "")
        for name, colour in colours.items()
    }
    found: dict[str, Any] = {"palette": dict(colours), "dashes": dashes}
    if markers:
        found["markers"] = {
            name: MARKERS.get(colour, "o") for name, colour in colours.items()
        }
    return found


def size(columns: int, height: float) -> tuple[float, float]:
    """Return the width and height in inches of a figure across this number of columns
    of a page.

    Parameters
    ----------
    columns : int, 1 or 2
    height : float, in (0, 12], inches

    Examples
    --------
    >>> from dpsim import figures
    >>> figures.size(1, 2.5)
    (3.5, 2.5)
    """
    width = WIDTHS[checks.integer("columns", columns, 1, 2)]
    return width, checks.scalar("height", height, 0, 12, open_low=True)


def shorten(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its numbers shortened to six significant digits, as its csv
    will hold them.

    Figures should be plotted from this table, because the last digits of a float differ between processors and would
    change the pixels of a line.

    Parameters
    ----------
    table : DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> figures.shorten(pd.DataFrame({"share": [1 / 3]})).share.tolist()
    [0.333333]
    """
    kept = table.copy()
    floats = table.select_dtypes("floating")
    kept[floats.columns] = floats.map(lambda value: float(files.number(value)))
    return kept


def add_band(table: pd.DataFrame, value: str, error: str) -> pd.DataFrame:
    """Return the table with each row three times: unchanged, and with `value` moved
    down and up by two times `error`.

    Seaborn draws it with a band or error bars when it is given ``**figures.BANDED``.

    Parameters
    ----------
    table : DataFrame
    value, error : str, the columns of a mean and of its standard error

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> figures.add_band(pd.DataFrame({"mean": [1.0], "se": [0.25]}), "mean", "se")["mean"].tolist()
    [1.0, 0.5, 1.5]
    """
    ends = [
        table.assign(**{value: table[value] + side * 2.0 * table[error]})
        for side in (-1, 1)
    ]
    return pd.concat([table, *ends], ignore_index=True)


def draw_means(
    ax: Any,
    x: Sequence[float],
    means: Sequence[float],
    standard_errors: Sequence[float],
    colour: str,
    **look: Any,
) -> None:
    """Draw means as a line in the style of its colour, with a band of two standard
    errors to either side.

    Parameters
    ----------
    ax : Axes
    x, means, standard_errors : sequence of float
    colour : str
    look : keywords of ``ax.plot``, for example `label`
    """
    middle = np.asarray(means, dtype=float)
    reach = 2 * np.asarray(standard_errors, dtype=float)
    ax.plot(x, middle, color=colour, **({"dashes": DASHES.get(colour, "")} | look))
    ax.fill_between(x, middle - reach, middle + reach, color=colour, **BAND)


def plain_ticks(axis: Any, values: Sequence[float]) -> None:
    """Write only these values, as plain numbers, on a logarithmic axis, or every second
    one if there is too little room.

    Parameters
    ----------
    axis : ``ax.xaxis`` or ``ax.yaxis``
    values : sequence of float
    """
    low, high = axis.get_view_interval()
    step = 1 + sum(low <= value <= high for value in values) // (
        8 if axis.axis_name == "x" else 11
    )
    axis.set(
        major_locator=FixedLocator(list(values)[::step]),
        major_formatter="{x:g}",
        minor_locator=NullLocator(),
    )


def mark_published(
    ax: Any, x: float, y: float, label: str, *, offset: tuple[float, float] = (5, 5)
) -> None:
    """Mark a published point with a hollow grey diamond and write its value beside it.

    Parameters
    ----------
    ax : Axes
    x, y : float, the point
    label : str, the value as the paper reports it
    offset : tuple of float, the offset of the label in points; beyond 20 a thin line joins the label to its point
    """
    ax.plot(
        [x], [y], "D", mfc="none", mec=PUBLISHED, mew=1.0, ms=5, zorder=5, clip_on=False
    )
    far = offset[0] ** 2 + offset[1] ** 2 > 20**2
    line = (
        {"arrowstyle": "-", "lw": 0.5, "color": PUBLISHED, "shrinkA": 1, "shrinkB": 4}
        if far
        else None
    )
    text = {"fontsize": SMALL, "color": "0.3", "va": "center" if far else "baseline"}
    ax.annotate(
        label,
        (x, y),
        xytext=offset,
        textcoords="offset points",
        arrowprops=line,
        **text,
    )


def mark_source(fig: Figure, text: str) -> None:
    """Write the source of the data under a figure, at the left.

    Parameters
    ----------
    fig : Figure
    text : str
    """
    fig.supxlabel(text, x=0.01, ha="left", fontsize=SMALL, color="0.35")


def save(
    fig: Figure, name: str, data: pd.DataFrame, output: str, *, owner_only: bool = False
) -> None:
    """Write output/name.png and .csv (the plotted numbers), and also .pdf if the
    environment variable PDF is 1.

    The files contain neither dates nor versions. A notebook then shows the png at half
    its size, and the figure is closed. Each file is drawn only once, so an artist whose
    place depends on another one (an arrow at a box) needs a higher zorder than the
    other one.

    Parameters
    ----------
    fig : Figure
    name : str, like "fig1_kl": lower-case letters, digits and underscores
    data : DataFrame, tidy, the plotted numbers as `shorten` returns them, with units in
        the column names
    output : str, the folder of the results; "" writes nothing
    owner_only : bool, whether the figure shows somebody's data
        The files are then called name_OWNER_ONLY, say inside that they are only for the
        owner of the data, and can be read by nobody else (mode 0600).
    """
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(
            f"name must be lower-case letters, digits and underscores, got {name!r}"
        )
    if data.empty:
        raise ValueError(
            f"data must hold the plotted numbers of {name}, got an empty table"
        )
    if not output:
        return
    save_table(data, name, output, owner_only=owner_only)
    if owner_only:
        name = f"{name}_{files.OWNER_ONLY}"
        fig.suptitle(files.OWNER_NOTE, fontsize=SMALL, color=OURS)
    folder = Path(output)
    canvas = fig.canvas
    dpi = fig.dpi
    wanted = plt.rcParams["savefig.dpi"]
    fig.dpi = dpi if wanted == "figure" else wanted
    with files.replacing(
        folder / f"{name}.png", owner_only=owner_only
    ) as partial:  # not savefig, which would draw each of them twice
        FigureCanvasAgg(fig).print_png(partial, metadata={"Software": None})
    if os.environ.get("PDF") == "1":
        from matplotlib.backends.backend_pdf import (
            FigureCanvasPdf,
        )  # its import takes as long as drawing a figure

        fig.set_layout_engine("none")  # the png's layout is also that of the pdf
        with files.replacing(folder / f"{name}.pdf", owner_only=owner_only) as partial:
            FigureCanvasPdf(fig).print_pdf(partial, metadata={"CreationDate": None})
    fig.set_canvas(canvas)
    fig.dpi = dpi
    if (
        get_ipython() is not None
    ):  # the page shows the saved picture at half its size and not another drawing
        plt.close(fig)
        with Image.open(folder / f"{name}.png") as picture:
            display(picture.reduce(2))  # type: ignore[no-untyped-call]


def save_table(
    data: pd.DataFrame, name: str, output: str, *, owner_only: bool = False
) -> None:
    """Write output/name.csv (six significant digits) for a table without a figure.

    Parameters
    ----------
    data, name, output, owner_only : as in `save`
    """
    if not output:
        return
    if owner_only:
        name = f"{name}_{files.OWNER_ONLY}"
        data = data.assign(note=files.OWNER_NOTE)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    files.write_csv(folder / f"{name}.csv", data, owner_only=owner_only)


def show_table(
    table: pd.DataFrame, form: str = ".4g", forms: Mapping[str, str] | None = None
) -> Table:
    """Return a table that Jupyter shows without its index, with words at the left of
    their columns and numbers at the right.

    Parameters
    ----------
    table : DataFrame
    form : str
        The format of numbers, for example ".3f".
    forms : mapping, optional
        The formats of some columns, by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> table = pd.DataFrame({"zones": [63, 45], "error": [0.01234, 0.2]})
    >>> print(figures.show_table(table, ".2f", {"zones": "d"}))
    zones | error
    63 | 0.01
    45 | 0.20
    """
    numbers = set(table.select_dtypes("number").columns)
    styles = {str(name): RIGHT if name in numbers else LEFT for name in table}
    spec = dict.fromkeys(numbers, form) | dict(forms or {})
    columns = [
        [html.escape(format(value, spec.get(name, ""))) for value in table[name]]
        for name in table
    ]
    return Table(html_table(styles, zip(*columns)))


def save_numbers(
    numbers: Mapping[str, float], output: str, *, owner_only: bool = False
) -> None:
    """Write the key numbers of a run to output/numbers.json, for notebooks that do not
    check published numbers.

    Parameters
    ----------
    numbers : mapping of str to float, at least one; finite, with units in the names
    output : as in `save`
    owner_only : bool, whether they are computed from somebody's data and not private
        The file is then called numbers_OWNER_ONLY.json, and nobody else can read it
        (mode 0600).
    """
    if not numbers:
        raise ValueError("numbers must hold at least one number, got {}")
    rounded = {
        str(name): json.loads(files.number(checks.scalar(name, value)))
        for name, value in numbers.items()
    }
    if output:
        Path(output).mkdir(parents=True, exist_ok=True)
        name = f"numbers_{files.OWNER_ONLY}.json" if owner_only else "numbers.json"
        files.write_json(Path(output) / name, rounded, owner_only=owner_only)
