"""The two tables of the ledger, which are read once and refused if a row could not be judged."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Collection, Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd

from dpsim import paths

COLUMNS = (
    *("id", "paper", "where", "quantity", "published", "unit", "claim", "inputs", "relation", "limit"),
    *("draws", "deviation", "expected", "section", "sentence", "sent"),
)
"""The columns of data/published.csv, which data/README.md explains."""

CHOICES = {
    "claim": ("value", "bound", "trend", "statement", "slip"),
    "inputs": ("any", "paper", "example", "chosen", "lost", "none"),
    "relation": ("", "at most", "at least", "equal to"),
    "sent": ("", "no", "yes"),
}
"""What a column may say."""

DIRECTIONS = ("falls", "rises")
"""What a trend may be published as."""

NUMBERS = ("published", "limit", "draws", "deviation", "expected")
"""The columns that hold a number, or nothing; `published` may also hold a direction."""

FILLED = ("id", "where", "quantity", "section", "sentence")
"""The columns that hold a text in every row."""


def papers() -> pd.DataFrame:
    """Return data/papers.csv indexed by id, in the order of the report. A paper is declared only there.

    Returns
    -------
    DataFrame
        `notebook` is the notebook that checks the paper's rows, `reference` gives authors, year and subject, and
        `address` is the address of the paper in CITATION.cff.

    Examples
    --------
    >>> from dpsim import ledger
    >>> set(ledger.papers().index) == set(ledger.published()["paper"])
    True
    """
    path = paths.data() / "papers.csv"
    return _papers(path, _stamp(path)).copy()


def published(paper: str = "") -> pd.DataFrame:
    """Return data/published.csv indexed by id: what the papers say, and the basis of the verdict on each claim.

    Parameters
    ----------
    paper : str
        The id of a paper, of which only the rows are returned; "" for all papers. The rows of other papers are not
        read, so a mistake in them does not matter.

    Returns
    -------
    DataFrame
        Columns as in data/README.md. `published`, `expected`, `limit`, `draws` and `deviation` are numbers, NaN where
        there is none; `printed` is the text of `published`, and `published_unit`, `expected_unit` and `limit_unit` are
        the units of their last digits.

    Raises ValueError, which names the file, the row and the column, where a row could not be judged.

    Examples
    --------
    >>> from dpsim import ledger
    >>> bool(ledger.published().index.is_unique)
    True
    """
    path = paths.data() / "published.csv"
    return _published(path, _stamp(path), tuple(papers().index), paper).copy()


def paper_of(row: str) -> str:
    """Return the paper whose row has this id; the other columns are not read."""
    path = paths.data() / "published.csv"
    for _, fields in _lines(path, _stamp(path)):
        if len(fields) > 1 and fields[0] == row:
            return fields[1]
    raise ValueError(f"row must be an id of {path}, got {row!r}")


def how_many() -> int:
    """Return how many rows data/published.csv has."""
    path = paths.data() / "published.csv"
    return len(_lines(path, _stamp(path)))


Stamp = tuple[int, int, int]


def _stamp(path: Path) -> Stamp:
    """Return a value that changes whenever a file is written, so that an unchanged table is read only once."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=8)
def _papers(path: Path, stamp: Stamp) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, index_col="id")


@functools.lru_cache(maxsize=8)
def _lines(path: Path, stamp: Stamp) -> list[tuple[int, list[str]]]:
    """Return the rows of data/published.csv as texts, each with the number of its last line."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            head, *rows = [(reader.line_num, fields) for fields in reader if fields]
        except (csv.Error, ValueError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error
    if head[1] != list(COLUMNS):
        raise ValueError(f"{path}: the columns must be {','.join(COLUMNS)}, got {','.join(head[1])}")
    return rows


@functools.lru_cache(maxsize=32)
def _published(path: Path, stamp: Stamp, known: tuple[str, ...], paper: str) -> pd.DataFrame:
    """Return the rows of a paper, or of all papers, if none of them has a mistake."""
    rows: dict[str, dict[str, str]] = {}
    for line, fields in _lines(path, stamp):
        if paper and fields[1:2] != [paper]:
            continue
        where = f"{path}, row {fields[0]} (line {line})"
        if len(fields) != len(COLUMNS):
            advice = "a text that holds a comma stands between double quotes"
            raise ValueError(f"{where}: {len(fields)} columns instead of {len(COLUMNS)}; {advice}")
        row = dict(zip(COLUMNS, fields))
        for column, mistake in _mistakes(row, known, rows):
            raise ValueError(f"{where}, column {column}: {mistake}")
        rows[row["id"]] = row
    table = pd.DataFrame(rows.values(), columns=COLUMNS, dtype=object).set_index("id")
    table["printed"] = table["published"]
    for column in ("published", "expected", "limit"):
        table[f"{column}_unit"] = [_unit(text) for text in table[column]]
    for column in NUMBERS:
        table[column] = [_number(text) for text in table[column]]
    return table


def _mistakes(row: dict[str, str], known: Collection[str], above: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each column whose value is not allowed, and what it must be."""
    for column, choices in {"paper": known, **CHOICES}.items():
        if row[column] not in choices:
            yield column, f"must be one of {', '.join(filter(None, choices))}, got {row[column]!r}"
    for column in FILLED:
        if not row[column].strip():
            yield column, "must not be empty"
    if row["id"] in above:
        yield "id", "is the id of a row above"
    for column in NUMBERS:
        if row[column] and math.isnan(_number(row[column])) and row[column] not in DIRECTIONS:
            yield column, f"must be a number, got {row[column]!r}"
    if not row["expected"] and not (row["inputs"] == "none" and row["unit"] == "s"):
        yield "expected", "must be the value that was verified here, and only seconds have none"
    if bool(row["draws"]) != bool(row["deviation"]):
        yield "deviation", "must be given together with draws: the standard deviation of one of them"
    yield from _mistakes_of_claim(row)


def _mistakes_of_claim(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each column that does not fit the kind of claim."""
    claim, published = row["claim"], row["published"]
    judged = row["inputs"] in ("any", "paper", "example")
    if claim == "trend" and published not in DIRECTIONS:
        yield "published", f"must be falls or rises for a trend, got {published!r}"
    if claim in ("value", "bound", "slip") and math.isnan(_number(published)):
        yield "published", f"must be the printed number for a {claim}, got {published!r}"
    if claim == "statement" and published:
        yield "published", "must be empty for a statement, whose number is its limit"
    if claim in ("trend", "slip") and row["relation"]:
        yield "relation", f"must be empty for a {claim}"
    if claim == "bound" and row["relation"] not in ("at most", "at least"):
        yield "relation", "must be at most or at least for a bound"
    if claim in ("bound", "trend", "slip") and row["limit"]:
        yield "limit", f"must be empty for a {claim}"
    if claim in ("value", "statement") and bool(row["limit"]) != bool(row["relation"]):
        yield "limit", "must be given together with relation"
    if claim == "statement" and judged and not row["limit"]:
        yield "limit", "must be the number that a statement allows"


def _number(text: str) -> float:
    """Return a finite number, or NaN for a text that is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _unit(text: str) -> float:
    """Return the unit of the last digit of a printed number (0.01 for 4.69, 1e-6 for 3e-6), or NaN for other texts."""
    try:
        return float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)))
    except ArithmeticError:
        return math.nan
