"""The style that all figures share: sizes, colours, lines, bands and marks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import ArrayLike

from dpsim import checks, files

WIDTHS = {1: 3.5, 2: 7.2}
"""The widths in inches of a figure of one column and of a figure of two columns."""

TRUE = "black"
"""The colour of the truth, and of anything without privacy."""
PAPER = "#0072B2"
"""The colour of the paper's mechanism, and of its bound, which is dashed."""
OURS = "#D55E00"
"""The colour of exact results, and of our own mechanisms."""
OTHER = "#009E73"
"""The colour of all other mechanisms."""
PUBLISHED = "0.45"
"""The grey of published points."""

DASHES: dict[str, Any] = {
    TRUE: "",
    PAPER: "",
    OURS: (1, 1),
    OTHER: (3, 1.25, 1.5, 1.25),
}
"""The dashes of the line of each colour, as `Axes.plot` takes them. They can be told
apart in grey."""
BOUND = (4, 1.5)
"""The dashes of a bound."""

SMALL = 8.5
"""The size of the smallest text, in points."""


def style() -> None:
    """Set the project's style (dpsim.mplstyle, beside this file) for all figures.

    Tables that are printed as text then show up to 20 columns, as they do if pandas is
    imported in a kernel.
    """
    plt.style.use(Path(__file__).with_name("dpsim.mplstyle"))
    plt.rcParams["svg.hashsalt"] = "dpsim"  # a style file may not set it
    pd.set_option("display.max_columns", 20)


def size(columns: int, height: float) -> tuple[float, float]:
    """Return the width and height of a figure, in inches.

    Parameters
    ----------
    columns : int, 1 or 2, the number of page columns that the figure spans
    height : float, in (0, 12], inches

    Returns
    -------
    tuple of float
        The width and the height.

    Examples
    --------
    >>> from dpsim import figures
    >>> figures.size(1, 2.5)
    (3.5, 2.5)
    """
    width = WIDTHS[checks.integer("columns", columns, 1, 2)]
    return width, checks.scalar("height", height, 0, 12, open_low=True)


def shorten(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its floats rounded to six significant digits.

    A csv contains the numbers in this form. Figures should be plotted from them too,
    because the last digits of a float differ between processors and can change a pixel.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    DataFrame
        A copy with rounded floats.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> figures.shorten(pd.DataFrame({"share": [1 / 3]})).share.tolist()
    [0.333333]
    """
    rounded = table.copy()
    floats = table.select_dtypes("floating")
    rounded[floats.columns] = floats.map(lambda value: float(files.number(value)))
    return rounded


def draw_lines(
    ax: Any,
    table: pd.DataFrame,
    x: str,
    y: str,
    names: str,
    colours: Mapping[str, str],
    *,
    bounds: Collection[str] = (),
    error: str | None = None,
) -> None:
    """Plot a line for each name in a column of a table, with the dashes of its colour.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
    x, y, names : str, the columns of the two coordinates and of the name
    colours : mapping, the colour of each name, in the order of the legend
        A colour that is not in DASHES gets a solid line.
    bounds : collection of str, the names of the bounds, whose lines are dashed
    error : str, optional, the column of the standard errors, for `draw_band`
    """
    for name, colour in colours.items():
        part = table[table[names] == name].sort_values(x)
        dashes = BOUND if name in bounds else DASHES.get(colour, "")
        ax.plot(part[x], part[y], color=colour, dashes=dashes, label=name)
        if error:
            draw_band(ax, part[x], part[y], part[error], colour)


def draw_band(
    ax: Any,
    x: ArrayLike,
    means: ArrayLike,
    standard_errors: ArrayLike,
    colour: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
) -> None:
    """Shade a band of two standard errors to either side of the means.

    Parameters
    ----------
    ax : Axes
    x, means, standard_errors : array_like of float
    colour : str
    low, high : float, optional, the limits at which the band is cut off
    """
    middle = np.asarray(means, dtype=float)
    reach = 2 * np.asarray(standard_errors, dtype=float)
    below = np.clip(middle - reach, low, high)
    above = np.clip(middle + reach, low, high)
    ax.fill_between(x, below, above, color=colour, alpha=0.25, linewidth=0)


def plain_ticks(axis: Any, values: Sequence[float]) -> None:
    """Put ticks at these values of a logarithmic axis, and write them as plain numbers.

    If there is too little room for all of them, some are left out at regular intervals.

    Parameters
    ----------
    axis : ``ax.xaxis`` or ``ax.yaxis``
    values : sequence of float
    """
    low, high = axis.get_view_interval()
    room = 8 if axis.axis_name == "x" else 11
    step = 1 + sum(low <= value <= high for value in values) // room
    axis.set(
        major_locator=FixedLocator(list(values)[::step]),
        major_formatter="{x:g}",
        minor_locator=NullLocator(),
    )


def mark_published(
    ax: Any, x: float, y: float, label: str, *, offset: tuple[float, float] = (5, 5)
) -> None:
    """Mark a published point with a hollow grey diamond, and write its value beside it.

    Parameters
    ----------
    ax : Axes
    x, y : float, the point
    label : str, the value as the paper reports it
    offset : tuple of float
        The offset of the label in points. If it is longer than 20 points, a thin line
        joins the label to the point.
    """
    ax.plot(
        [x], [y], "D", mfc="none", mec=PUBLISHED, mew=1.0, ms=5, zorder=5, clip_on=False
    )
    far = np.hypot(*offset) > 20
    line = {
        "arrowstyle": "-",
        "lw": 0.5,
        "color": PUBLISHED,
        "shrinkA": 1,
        "shrinkB": 4,
    }
    ax.annotate(
        label,
        (x, y),
        xytext=offset,
        textcoords="offset points",
        arrowprops=line if far else None,
        fontsize=SMALL,
        color="0.3",
        va="center" if far else "baseline",
    )


def mark_source(fig: Figure, text: str) -> None:
    """Write the source of the data below a figure.

    Parameters
    ----------
    fig : Figure
    text : str
    """
    fig.supxlabel(text, x=0.01, ha="left", fontsize=SMALL, color="0.35")
