"""Tables as HTML, as Markdown and as plain text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

LEFT = "text-align: left; vertical-align: top"
"""The style of a cell that contains text.

Every cell states its style, because JupyterLab drops style sheets and ids from the
outputs of a notebook that is not trusted, and in a fresh clone no notebook is trusted.
"""

RIGHT = "text-align: right; vertical-align: top"
"""The style of a cell that contains a number."""


def html_table(
    columns: Mapping[str, str], rows: Iterable[Sequence[str]], caption: str = ""
) -> str:
    """Return a table as HTML.

    Parameters
    ----------
    columns : mapping
        The style of each column, LEFT or RIGHT, by the column's name.
    rows : iterable of sequences of str
        The cells of each row, as HTML.
    caption : str
        The caption, as HTML; "" for none.
    """
    styles = list(columns.values())
    head = "".join(
        f'<th style="{style}">{html.escape(name, quote=False)}</th>'
        for name, style in columns.items()
    )
    lines = ['<table class="dataframe">']
    if caption:
        lines.append(f'<caption style="{LEFT}">{caption}</caption>')
    lines.append(f"<thead><tr>{head}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        cells = zip(styles, row, strict=True)
        inner = "".join(f'<td style="{style}">{cell}</td>' for style, cell in cells)
        lines.append(f"<tr>{inner}</tr>")
    lines.append("</tbody>")
    lines.append("</table>")
    return "\n".join(lines)


def plain_table(table: str) -> str:
    """Return a table of `html_table` as text with one line for each row, for programs
    that cannot show HTML."""
    text = re.sub(r"</t[hd]><t[hd][^>]*>", " | ", table)
    text = text.replace("<br>", " ")
    lines = re.sub(r"<[^>]+>", "", text).splitlines()
    return html.unescape("\n".join(line for line in lines if line.strip()))


def markdown_table(
    columns: Sequence[str],
    rows: Iterable[Iterable[object]],
    words: Sequence[int] = (0,),
) -> str:
    """Return a table as Markdown, without a line break at its end.

    Parameters
    ----------
    columns : sequence of str
        The names of the columns.
    rows : iterable of iterables
        The cells of each row.
    words : sequence of int
        The positions of the columns with text, counted from 0. All other columns are
        aligned right, like numbers.
    """
    marks = ["---" if place in words else "---:" for place in range(len(columns))]
    lines = []
    for cells in (columns, marks, *rows):
        escaped = [str(cell).replace("|", "\\|") for cell in cells]
        lines.append(f"| {' | '.join(escaped)} |")
    return "\n".join(lines)


class Table:
    """A table of `html_table` that Jupyter can show."""

    def __init__(self, text: str) -> None:
        self.html = text

    def __str__(self) -> str:
        return plain_table(self.html)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": str(self)}
