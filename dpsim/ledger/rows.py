"""Reads data/papers.csv and data/published.csv, and checks every row."""

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
"""The columns of data/published.csv, each with its allowed values ("" for an empty
field).

data/LEDGER.md explains the columns.
"""

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
"""The values that each kind of claim allows in some columns, instead of those in
COLUMNS."""


def papers() -> pd.DataFrame:
    """Return data/papers.csv, indexed by id and in the order of the report.

    Returns
    -------
    DataFrame
        `notebook` is the notebook that checks the paper's claims, `reference` gives the
        paper's authors, year and subject, `address` is the paper's address in
        CITATION.cff, and `answer` is the authors' answer, or "" if there is none.

    Examples
    --------
    >>> from dpsim import ledger
    >>> set(ledger.papers().index) == set(ledger.published()["paper"])
    True
    """
    path = paths.data() / "papers.csv"
    lines = _lines(path, PAPER)
    for line, fields in lines:
        if len(fields) != len(PAPER):
            raise ValueError(
                f"{path}, line {line}: {len(fields)} columns instead of {len(PAPER)}"
            )
    rows = [fields for _, fields in lines]
    return pd.DataFrame(rows, columns=list(PAPER), dtype=str).set_index("id")


def published(paper: str = "") -> pd.DataFrame:
    """Return data/published.csv, indexed by id: the papers' claims, each with the basis
    of its verdict.

    Parameters
    ----------
    paper : str
        The id of one paper, or "" for all papers. The rows of other papers are not
        checked, so a mistake in them does not matter.

    Returns
    -------
    DataFrame
        The columns are those of data/LEDGER.md. `published`, `expected`, `limit`,
        `draws` and `deviation` are numbers, or NaN where the field is not a number.
        Four columns are added: `printed` is the text of `published`, and
        `published_unit`, `expected_unit` and `limit_unit` are the units of the three
        numbers' last digits.

    If a row cannot be judged, ValueError is raised with the file, the row and the
    column.

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
    """Return the rows of one paper, or of all papers, after checking them."""
    rows: dict[str, dict[str, str]] = {}
    for line, fields in _lines(path, COLUMNS):
        if paper and fields[1:2] != [paper]:
            continue
        where = f"{path}, row {fields[0]} (line {line})"
        if len(fields) != len(COLUMNS):
            raise ValueError(
                f"{where}: {len(fields)} columns instead of {len(COLUMNS)}; "
                "a text that holds a comma stands between double quotes"
            )
        row = dict(zip(COLUMNS, fields))
        for column, mistake in _mistakes(row, known, rows):
            raise ValueError(f"{where}, column {column}: {mistake}")
        rows[row["id"]] = row
    table = pd.DataFrame(rows.values(), columns=list(COLUMNS), dtype=object)
    table = table.set_index("id")
    table["printed"] = table["published"]
    for column in ("published", "expected", "limit"):
        table[f"{column}_unit"] = [_unit(text) for text in table[column]]
    for column, allowed in COLUMNS.items():
        if NUMBER in allowed:
            table[column] = [_number(text) for text in table[column]]
    return table


def how_many() -> int:
    """Return the total number of rows in data/published.csv."""
    return len(_lines(paths.data() / "published.csv", COLUMNS))


def _lines(path: Path, columns: Collection[str]) -> list[tuple[int, list[str]]]:
    """Return the rows of a table, each with its line number in the file. The table must
    have exactly these columns."""
    (_, head), *lines = _read(path, _stamp(path)) or [(0, [])]
    if head != list(columns):
        raise ValueError(
            f"{path}: the columns must be {','.join(columns)}, got {','.join(head)}"
        )
    return lines


def _stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that change whenever the file is written."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=8)
def _read(path: Path, stamp: tuple[int, ...]) -> list[tuple[int, list[str]]]:
    """Return the fields of each line of a csv file, with the line's number. A file is
    read again only if its stamp has changed."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            return [(reader.line_num, fields) for fields in reader if fields]
        except (csv.Error, ValueError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _mistakes(
    row: dict[str, str], papers: Sequence[str], above: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the columns in which a row has a wrong value, each with a message.

    `papers` contains the ids of the declared papers, and `above` the ids of the rows
    above.
    """
    claim = row["claim"]
    needs = NEEDS.get(claim, {})
    for column, allowed in {**COLUMNS, "paper": papers, **needs}.items():
        text = row[column]
        if text in allowed:
            continue
        if NUMBER in allowed and not math.isnan(_number(text)):
            continue
        if TEXT in allowed and text.strip():
            continue
        choices = " or ".join(filter(None, allowed)) or "empty"
        kind = f" for a {claim}" if column in needs else ""
        yield column, f"must be {choices}{kind}, got {text!r}"
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
            "must hold only {found} and {limit} in braces, with formats, "
            f"got {row['sentence']!r}",
        )
    if claim != "bound" and bool(row["limit"]) != bool(row["relation"]):
        yield "limit", "must be given together with relation"
    tested = row["inputs"] in ("any", "paper", "example")
    if claim == "statement" and tested and not row["limit"]:
        yield "limit", "must be the number that a statement allows"


class Found(float):
    """A number in a sentence or in a table.

    By default, the number is shown with four significant digits or, if it is whole,
    with all of its digits. A format with "%" puts a space before the percent sign. In a
    format that begins with "by", a negative number is shown as, for example, "falls by
    0.76".
    """

    def __format__(self, spec: str) -> str:
        if spec.startswith("by"):
            verb = "falls" if self < 0 else "rises"
            return f"{verb} by {Found(abs(self)):{spec[2:]}}"
        whole = self == np.round(self) and abs(self) < 1e9
        text = float.__format__(self, spec or (".0f" if whole else ".4g"))
        return text.replace("%", " %")


def _number(text: str) -> float:
    """Return the number that a text represents, or NaN if it represents no finite
    number."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _unit(text: str) -> float:
    """Return the unit of a number's last digit (0.01 for 4.69, 1e-6 for 3e-6), or NaN
    if the text is not a number."""
    try:
        return float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)))
    except ArithmeticError:
        return math.nan
