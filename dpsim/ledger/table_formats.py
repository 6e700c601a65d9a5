"""Tables as HTML, as Markdown and as plain text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

STYLE = "text-align: left; vertical-align: top"
"""The style of a cell.

Every cell contains its own style, because JupyterLab removes style sheets and ids from
the outputs of untrusted notebooks, and in a fresh clone every notebook is untrusted.
"""


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = ""
) -> str:
    """Return a table as HTML.

    Parameters
    ----------
    columns : sequence of str
        The names of the columns.
    rows : iterable of sequences of str
        The cells of each row, as HTML.
    caption : str
        The caption, as HTML; "" for none.
    """
    head = _cells("th", [html.escape(name, quote=False) for name in columns])
    lines = ['<table class="dataframe">']
    if caption:
        lines.append(f'<caption style="{STYLE}">{caption}</caption>')
    lines += [f"<thead>{head}</thead>", "<tbody>"]
    lines += [_cells("td", row) for row in rows]
    return "\n".join([*lines, "</tbody>", "</table>"])


def _cells(tag: str, row: Sequence[str]) -> str:
    """Return a row of a table as HTML."""
    cells = "".join(f'<{tag} style="{STYLE}">{cell}</{tag}>' for cell in row)
    return f"<tr>{cells}</tr>"


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
