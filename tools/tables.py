"""A table in Markdown, as the pages of measurements have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    words: Sequence[int] = (0,),
) -> str:
    """Return the table; words: the places of the columns that hold no numbers."""
    marks = ["---" if place in words else "---:" for place in range(len(columns))]
    return "\n".join(
        f"| {' | '.join(map(str, row))} |" for row in (columns, marks, *rows)
    )
