"""One look for every figure, and the one way to write it: png, pdf and the numbers it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from cycler import cycler
from IPython import get_ipython
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from PIL import Image

from dpsim import checks, files

ONE_COLUMN = 3.5
"""Width in inches of a figure of one column."""
TWO_COLUMNS = 7.2
"""Width in inches of a figure across both columns."""

TRUE = "black"
"""What is true, or without privacy."""
PAPER = "#0072B2"
"""The paper's mechanism; its bound is the same blue, dashed."""
OURS = "#D55E00"
"""What is exact, or ours."""
OTHER = "#009E73"
"""Another mechanism to compare with."""
PUBLISHED = "0.45"
"""Published points: hollow diamonds in grey, their value beside them."""

BAND = {"alpha": 0.25, "linewidth": 0}
"""Shaded bands: two standard errors either side, and the caption says so."""


GREY = ".15"
"""Of axes and text: softer than black."""
CYCLE = (
    *("#4C72B0", "#DD8452", "#55A868", "#C44E52", "#8172B3"),
    *("#937860", "#DA8BC3", "#8C8C8C", "#CCB974", "#64B5CD"),
)
"""Colours of lines that name none: seaborn's "deep"."""

LOOK = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=CYCLE),
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.major.size": 4.8,
    "ytick.major.size": 4.8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.size": 3.2,
    "ytick.minor.size": 3.2,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "grid.color": ".8",
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.hashsalt": "dpsim",
}


def style() -> None:
    """Set the project's look for all figures of this process: 8 pt sans serif, thin lines, 200 dpi png."""
    mpl.rcParams.update(LOOK)


def size(columns: int, height: float) -> tuple[float, float]:
    """Return the figure size in inches.

    Parameters
    ----------
    columns : {1, 2}
        How many columns of a page it spans.
    height : float
        In inches, in (0, 12].

    Returns
    -------
    width, height : float
        In inches.

    Raises
    ------
    ValueError
        Outside these ranges.

    Examples
    --------
    >>> from dpsim import figures
    >>> figures.size(1, 2.5)
    (3.5, 2.5)
    """
    width = ONE_COLUMN if checks.integer("columns", columns, 1, 2) == 1 else TWO_COLUMNS
    return width, checks.scalar("height", height, 0, 12, open_low=True)


def mark_published(
    ax: Any, x: float, y: float, label: str, *, offset: tuple[float, float] = (5, 5), colour: str = PUBLISHED
) -> None:
    """Mark a published point with a hollow diamond and write its value beside it.

    Parameters
    ----------
    ax : Axes
    x, y : float
        Of the point, in units of the axes.
    label : str
        The value as the paper prints it. More than 20 points away it is joined to its point by a thin line.
    offset : tuple of float
        Of the label, in points.
    colour : str
        Grey, or that of its mechanism where several share the axes.
    """
    ax.plot([x], [y], "D", mfc="none", mec=colour, mew=1.0, ms=5, zorder=5, clip_on=False)
    far = offset[0] ** 2 + offset[1] ** 2 > 20**2
    line = {"arrowstyle": "-", "lw": 0.5, "color": colour, "shrinkA": 1, "shrinkB": 4} if far else None
    text = {"fontsize": 6.5, "color": "0.3", "va": "center" if far else "baseline"}
    ax.annotate(label, (x, y), xytext=offset, textcoords="offset points", arrowprops=line, **text)


def mark_source(fig: Figure, text: str) -> None:
    """Write small under a figure, at the left, where its data come from.

    Parameters
    ----------
    fig : Figure
    text : str
    """
    fig.supxlabel(text, x=0.01, ha="left", fontsize=6, color="0.35")


def save(fig: Figure, name: str, data: pd.DataFrame, output: str) -> None:
    """Write output/name.png, .pdf and .csv (the plotted numbers, %.10g); write nothing when output is "".

    Parameters
    ----------
    fig : Figure
    name : str
        Like "fig1_kl": lower-case letters, digits and underscores.
    data : DataFrame
        The plotted numbers, tidy, units in the column names.
    output : str
        The folder of the results.

    Raises
    ------
    ValueError
        For a bad name or an empty table.

    Notes
    -----
    Files are free of dates and versions and appear whole or not at all. A notebook then shows the png, at half its
    size, and the figure is closed. Each file is drawn once, so what is placed by another artist (an arrow by a box)
    needs the higher zorder.
    """
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(f"name must be lower-case letters, digits and underscores, got {name!r}")
    if data.empty:
        raise ValueError(f"data must hold the plotted numbers of {name}, got an empty table")
    if not output:
        return
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    canvas, dpi, wanted = fig.canvas, fig.dpi, mpl.rcParams["savefig.dpi"]
    fig.dpi = dpi if wanted == "figure" else wanted
    with files.replacing(folder / f"{name}.png") as partial:  # not savefig, which would draw each of them twice
        FigureCanvasAgg(fig).print_png(partial, metadata={"Software": None})
    fig.set_layout_engine("none")  # the png's layout is also that of the pdf
    with files.replacing(folder / f"{name}.pdf") as partial:
        FigureCanvasPdf(fig).print_pdf(partial, metadata={"CreationDate": None})
    fig.set_canvas(canvas)
    fig.dpi = dpi
    if get_ipython() is not None:  # the page shows what was saved, at half the size, not a drawing of its own
        plt.close(fig)
        with Image.open(folder / f"{name}.png") as picture:
            display(picture.reduce(2))  # type: ignore[no-untyped-call]
    save_table(data, name, output)


def save_table(data: pd.DataFrame, name: str, output: str) -> None:
    """Write output/name.csv (%.10g), for tables that have no figure; write nothing when output is "".

    Parameters
    ----------
    data, name, output
        As in `save`.

    Raises
    ------
    ValueError
        As `save` does.
    """
    if not output:
        return
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    files.write_csv(folder / f"{name}.csv", data)


def save_numbers(numbers: Mapping[str, float], output: str) -> None:
    """Write output/numbers.json, what a run is summed up by: sweeps gather it; write nothing when output is "".

    For notebooks that settle no published numbers; those record them in the ledger.

    Parameters
    ----------
    numbers : mapping of str to float
        Finite numbers by name, units in the names; written with ten digits.
    output : str
        The folder of the results.

    Raises
    ------
    ValueError
        For a number that is not finite, and for no numbers at all.
    """
    if not numbers:
        raise ValueError("numbers must hold the key numbers of the run, got none")
    rounded = {str(name): float(f"{checks.scalar(name, value):.10g}") for name, value in numbers.items()}
    if output:
        Path(output).mkdir(parents=True, exist_ok=True)
        files.write_json(Path(output) / "numbers.json", rounded)
