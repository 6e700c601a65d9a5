"""Tables as HTML, as Markdown and as plain text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

LEFT = "text-align: left; vertical-align: top"
"""The style of a cell that contains text.

Every cell contains its own style, because JupyterLab removes style sheets and ids from
the outputs of untrusted notebooks, and in a fresh clone every notebook is untrusted.
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
    """Return a table made by `html_table` as text with one line for each row. Programs
    that cannot show HTML show this text."""
    text = re.sub(r"</t[hd]><t[hd][^>]*>", " | ", table)
    text = text.replace("<br>", " ")
    lines = re.sub(r"<[^>]+>", "", text).splitlines()
    return html.unescape("\n".join(line for line in lines if line.strip()))


def markdown_table(
    columns: Sequence[str],
    rows: Iterable[Iterable[object]],
    words: Sequence[int] = (0,),
) -> str:
    """Return a table as Markdown, without a trailing line break.

    Parameters
    ----------
    columns : sequence of str
        The names of the columns.
    rows : iterable of iterables
        The cells of each row.
    words : sequence of int
        The positions, counted from 0, of the columns that contain text. All other
        columns are right-aligned, as numbers usually are.
    """
    marks = ["---" if place in words else "---:" for place in range(len(columns))]
    lines = []
    for cells in (columns, marks, *rows):
        escaped = [str(cell).replace("|", "\\|") for cell in cells]
        lines.append(f"| {' | '.join(escaped)} |")
    return "\n".join(lines)


class Table:
    """A table made by `html_table` that Jupyter can show."""

    def __init__(self, text: str) -> None:
        self.html = text

    def __str__(self) -> str:
        return plain_table(self.html)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": str(self)}
