"""The two tables of the ledger, which are read once and rejected if any row cannot be
judged."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from dpsim import paths

PAPER = ("id", "notebook", "reference", "address", "answer")
"""The columns of data/papers.csv."""

NUMBER, TEXT = "a number", "a text"

COLUMNS = {
    "id": [TEXT],
    "paper": [TEXT],
    "where": [TEXT],
    "quantity": [TEXT],
    "quote": [TEXT],
    "published": ["", NUMBER, "falls", "rises"],
    "unit": ["", TEXT],
    "claim": ["value", "bound", "trend", "statement", "slip"],
    "inputs": ["any", "paper", "example", "chosen", "lost", "none"],
    "relation": ["", "at most", "at least", "equal to"],
    "limit": ["", NUMBER],
    "draws": ["", NUMBER],
    "deviation": ["", NUMBER],
    "expected": ["", NUMBER],
    "section": [TEXT],
    "sentence": [TEXT],
    "sent": ["", "no", "yes"],
}
"""The columns of data/published.csv, which data/LEDGER.md explains, and what each may
hold; "" is an empty field."""

NEEDS = {
    "value": {"published": [NUMBER]},
    "bound": {
        "published": [NUMBER],
        "relation": ["at most", "at least"],
        "limit": [""],
    },
    "trend": {"published": ["falls", "rises"], "relation": [""], "limit": [""]},
    "statement": {"published": [""]},
    "slip": {"published": [NUMBER], "relation": [""], "limit": [""]},
}
"""What the columns of a row must hold, for each kind of claim."""


def papers() -> pd.DataFrame:
    """Return data/papers.csv indexed by id, in the order of the report. A paper is
    declared only there.

    Returns
    -------
    DataFrame
        `notebook` is the notebook that checks the paper's rows, `reference` gives
        authors, year and subject, `address` is the address of the paper in
        CITATION.cff, and `answer` is what its authors answered, or "".

    Examples
    --------
    >>> from dpsim import ledger
    >>> set(ledger.papers().index) == set(ledger.published()["paper"])
    True
    """
    path = paths.data() / "papers.csv"
    (_, head), *lines = _lines(path) or [(0, [])]
    if head != list(PAPER):
        raise ValueError(
            f"{path}: the columns must be {','.join(PAPER)}, got {','.join(head)}"
        )
    for line, fields in lines:
        if len(fields) != len(PAPER):
            raise ValueError(
                f"{path}, line {line}: {len(fields)} columns instead of {len(PAPER)}"
            )
    return pd.DataFrame(
        [fields for _, fields in lines], columns=head, dtype=str
    ).set_index("id")


def published(paper: str = "") -> pd.DataFrame:
    """Return data/published.csv indexed by id: what the papers say, and the basis of
    the verdict on each claim.

    Parameters
    ----------
    paper : str
        The id of the paper whose rows are returned, or "" for all papers. The rows of
        other papers are not read, so a mistake in them does not matter.

    Returns
    -------
    DataFrame
        Columns as in data/LEDGER.md. `published`, `expected`, `limit`, `draws` and
        `deviation` are numbers, and NaN if the field does not hold a number. The column
        `printed` is the text of `published`, and `published_unit`, `expected_unit` and
        `limit_unit` are the units of their last digits.

    If a row could not be judged, a ValueError names the file, the row and the column.

    Examples
    --------
    >>> from dpsim import ledger
    >>> bool(ledger.published().index.is_unique)
    True
    """
    path = paths.data() / "published.csv"
    return _published(path, _stamp(path), tuple(papers().index), paper).copy()


@functools.lru_cache(maxsize=32)
def _published(
    path: Path, stamp: tuple[int, ...], known: tuple[str, ...], paper: str
) -> pd.DataFrame:
    """Return the rows of a paper, or of all papers, if none of them has a mistake."""
    rows: dict[str, dict[str, str]] = {}
    (_, head), *lines = _lines(path) or [(0, [])]
    if head != list(COLUMNS):
        raise ValueError(
            f"{path}: the columns must be {','.join(COLUMNS)}, got {','.join(head)}"
        )
    for line, fields in lines:
        if paper and fields[1:2] != [paper]:
            continue
        where = f"{path}, row {fields[0]} (line {line})"
        if len(fields) != len(COLUMNS):
            advice = "a text that holds a comma stands between double quotes"
            raise ValueError(
                f"{where}: {len(fields)} columns instead of {len(COLUMNS)}; {advice}"
            )
        row = dict(zip(COLUMNS, fields))
        for column, mistake in _mistakes(row, known, rows):
            raise ValueError(f"{where}, column {column}: {mistake}")
        rows[row["id"]] = row
    table = pd.DataFrame(rows.values(), columns=list(COLUMNS), dtype=object).set_index(
        "id"
    )
    table["printed"] = table["published"]
    for column in ("published", "expected", "limit"):
        table[f"{column}_unit"] = [_unit(text) for text in table[column]]
    for column in (column for column, allowed in COLUMNS.items() if NUMBER in allowed):
        table[column] = [_number(text) for text in table[column]]
    return table


def how_many() -> int:
    """Return how many rows data/published.csv has."""
    return len(_lines(paths.data() / "published.csv")) - 1


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the lines of a table as `_read` does, which reads an unchanged file only
    once."""
    return _read(path, _stamp(path))


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes whenever a file is written."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=8)
def _read(path: Path, stamp: tuple[int, ...]) -> list[tuple[int, list[str]]]:
    """Return the lines of a table as texts, each with the number of its last line in
    the file."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            return [(reader.line_num, fields) for fields in reader if fields]
        except (csv.Error, ValueError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _mistakes(
    row: dict[str, str], papers: Sequence[str], above: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield each column whose value is not allowed, and what it must be."""
    claim = row["claim"]
    needs = NEEDS.get(claim, {})
    for column, allowed in {**COLUMNS, "paper": papers, **needs}.items():
        text = row[column]
        is_number = not math.isnan(_number(row[column]))
        if not (
            text in allowed
            or (NUMBER in allowed and is_number)
            or (TEXT in allowed and text.strip())
        ):
            choices = " or ".join(filter(None, allowed)) or "empty"
            yield (
                column,
                f"must be {choices}{f' for a {claim}' if column in needs else ''}, got {text!r}",
            )
    if row["id"] in above:
        yield "id", "is the id of a row above"
    if not row["id"].startswith(f"{row['paper']}."):
        yield "id", "must begin with the paper and a dot"
    if not row["expected"] and not (row["inputs"] == "none" and row["unit"] == "s"):
        yield (
            "expected",
            "must be the value that was verified here, and only seconds have none",
        )
    if row["draws"] and not _number(row["draws"]) >= 1:
        yield "draws", f"must be at least 1, got {row['draws']!r}"
    if row["deviation"] and not _number(row["deviation"]) >= 0:
        yield "deviation", f"must be at least 0, got {row['deviation']!r}"
    if bool(row["draws"]) != bool(row["deviation"]):
        yield (
            "deviation",
            "must be given together with draws: the standard deviation of one of them",
        )
    try:
        row["sentence"].format(found=Found(1), limit=Found(1))
    except (ValueError, LookupError, AttributeError, TypeError):
        yield (
            "sentence",
            f"must hold only {{found}} and {{limit}} in braces, with formats, got {row['sentence']!r}",
        )
    if claim != "bound" and bool(row["limit"]) != bool(row["relation"]):
        yield "limit", "must be given together with relation"
    if (
        claim == "statement"
        and row["inputs"] in ("any", "paper", "example")
        and not row["limit"]
    ):
        yield "limit", "must be the number that a statement allows"


class Found(float):
    """A recorded value in a sentence or table. It is written with four digits unless
    the format specifies a different number, and with a space before "%". If the format
    begins with "by", the text says how far the value falls or rises."""

    def __format__(self, spec: str) -> str:
        if spec.startswith("by"):
            return (
                f"{'falls' if self < 0 else 'rises'} by {Found(abs(self)):{spec[2:]}}"
            )
        whole = self == np.round(self) and abs(self) < 1e9
        return float.__format__(self, spec or (".0f" if whole else ".4g")).replace(
            "%", " %"
        )


def _number(text: str) -> float:
    """Return a finite number, or NaN for a text that is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _unit(text: str) -> float:
    """Return the unit of the last digit of a printed number (0.01 for 4.69, 1e-6 for
    3e-6), or NaN for other texts."""
    try:
        return float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)))
    except ArithmeticError:
        return math.nan
