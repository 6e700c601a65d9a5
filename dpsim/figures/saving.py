"""Saves figures, tables and numbers, and shows them in a notebook."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from IPython import get_ipython
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from dpsim import checks, files
from dpsim.figures.house_style import OURS, SMALL
from dpsim.ledger.table_formats import Table, html_table

THUMBNAIL = "thumbnail"
"""The name of the picture that a notebook's opening shows."""

THUMBNAIL_DPI = 120
"""With it, a thumbnail of 3.5 inches is 420 pixels wide, so it fills no screen."""


def save(
    fig: Figure, name: str, data: pd.DataFrame, output: str, *, owner_only: bool = False
) -> None:
    """Write a figure to output/name.png and the plotted numbers to output/name.csv.

    If the environment variable PDF is 1, write output/name.pdf as well. The files
    contain neither dates nor versions. In a notebook, the png is then shown at half its
    size, unless it is the thumbnail, which the notebook's opening shows, and the figure
    is closed. Each file is rendered only once. Therefore an artist
    whose place depends on another artist, such as an arrow that begins at a box, needs
    a higher zorder than the other artist.

    Parameters
    ----------
    fig : Figure
    name : str of lower-case letters, digits and underscores, like "fig1_kl"
    data : DataFrame
        The plotted numbers in tidy form, from `shorten`, with units in the names of the
        columns.
    output : str, the folder of the results; "" writes nothing
    owner_only : bool, whether the figure shows somebody's data
        The names of the files then end with _OWNER_ONLY, the files say that they are
        only for the owner of the data, and nobody else can read them (mode 0600).
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
    picture = folder / f"{name}.png"
    canvas = fig.canvas
    dpi = fig.dpi
    wanted = THUMBNAIL_DPI if name == THUMBNAIL else plt.rcParams["savefig.dpi"]
    fig.dpi = dpi if wanted == "figure" else wanted
    # fig.savefig would render the figure twice.
    with files.replacing(picture, owner_only=owner_only) as partial:
        FigureCanvasAgg(fig).print_png(partial, metadata={"Software": None})
    if os.environ.get("PDF") == "1":
        # This import takes as long as rendering a figure.
        from matplotlib.backends.backend_pdf import FigureCanvasPdf

        fig.set_layout_engine("none")  # so that the layout is that of the png
        with files.replacing(folder / f"{name}.pdf", owner_only=owner_only) as partial:
            FigureCanvasPdf(fig).print_pdf(partial, metadata={"CreationDate": None})
    fig.set_canvas(canvas)
    fig.dpi = dpi
    if get_ipython() is not None:
        plt.close(fig)
        if name != THUMBNAIL:
            with Image.open(picture) as image:
                display(image.reduce(2))  # type: ignore[no-untyped-call]


def save_table(
    data: pd.DataFrame, name: str, output: str, *, owner_only: bool = False
) -> None:
    """Write a table to output/name.csv, with six significant digits.

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


def show_table(table: pd.DataFrame) -> Table:
    """Return a table that Jupyter shows without its index, aligned to the left.

    Parameters
    ----------
    table : DataFrame, whose numbers are already formatted

    Returns
    -------
    Table
        An object that Jupyter shows as HTML and Python prints as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsim import figures
    >>> table = pd.DataFrame({"zones": ["63", "45"], "error": ["0.01", "0.2"]})
    >>> print(figures.show_table(table))
    zones | error
    63 | 0.01
    45 | 0.2
    """
    rows = [[html.escape(str(value)) for value in row] for row in table.to_numpy()]
    return Table(html_table([*map(str, table)], rows))


def save_numbers(
    numbers: Mapping[str, float], output: str, *, owner_only: bool = False
) -> None:
    """Write the main numbers of a run to output/numbers.json.

    They have six significant digits. Notebooks without published numbers use this
    function in place of `ledger.record`.

    Parameters
    ----------
    numbers : mapping of str to finite float, at least one, with units in the names
    output : as in `save`
    owner_only : bool, whether somebody's data can be learnt from the numbers
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
