"""Reads data/papers.csv, data/published.csv and data/findings.csv, and checks every
row."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from dpsim import paths

NUMBER, TEXT = "a number", "a text"

PAPER = {
    "id": [TEXT],
    "notebook": [TEXT],
    "reference": [TEXT],
    "address": ["", TEXT],
    "answer": ["", TEXT],
}
"""The columns of data/papers.csv, each with its allowed values ("" for an empty
field)."""

CLAIMS = ["value", "bound", "trend", "statement", "slip"]
"""The kinds of claim, which report.md explains."""

COLUMNS = {
    "id": [TEXT],
    "paper": [TEXT],
    "where": [TEXT],
    "quantity": [TEXT],
    "quote": [TEXT],
    "published": ["", NUMBER, "falls", "rises"],
    "unit": ["", TEXT],
    "claim": CLAIMS,
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
"""The columns of data/published.csv, as PAPER; data/LEDGER.md explains them."""

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


Row = dict[str, str]
"""The fields of a row, by column."""

Rule = tuple[str, Callable[[Row], bool], str]
"""A column, what is wrong with a row, and the message that says so."""

FINDINGS = {
    "id": [TEXT],
    "notebook": [TEXT],
    "places": [TEXT],
    "sentence": [TEXT],
    "basis": ["proof", "family", "stand-in", "withdrawn"],
    "inputs": ["", TEXT],
    "relation": ["", "at most", "at least"],
    "limit": ["", NUMBER],
    "expected": ["", NUMBER],
    "section": [TEXT],
    "reason": [TEXT],
}
"""The columns of data/findings.csv, as COLUMNS."""

FINDING_NEEDS = {
    "proof": {"inputs": [TEXT]},
    "family": {
        "inputs": [TEXT],
        "relation": ["at most", "at least"],
        "limit": [NUMBER],
    },
    "stand-in": {"inputs": [TEXT]},
    "withdrawn": {"relation": [""], "limit": [""], "expected": [""]},
}
"""The values that each basis of a finding allows in some columns, as NEEDS."""


def _is_wrong_sentence(row: Row) -> bool:
    """Return whether a claim's sentence holds braces that cannot be filled."""
    try:
        row["sentence"].format(found=Found(1), limit=Found(1))
    except (ValueError, LookupError, AttributeError, TypeError):
        return True
    return False


RULES: list[Rule] = [
    (
        "id",
        lambda row: not row["id"].startswith(f"{row['paper']}."),
        "must begin with the paper and a dot",
    ),
    (
        "expected",
        lambda row: not (row["expected"] or _is_time(row)),
        "must be the value that was verified here, and only seconds have none",
    ),
    (
        "draws",
        lambda row: bool(row["draws"]) and not _number(row["draws"]) >= 1,
        "must be at least 1",
    ),
    (
        "deviation",
        lambda row: bool(row["deviation"]) and not _number(row["deviation"]) >= 0,
        "must be at least 0",
    ),
    (
        "deviation",
        lambda row: bool(row["draws"]) != bool(row["deviation"]),
        "must be given together with draws: the standard deviation of one of them",
    ),
    (
        "sentence",
        _is_wrong_sentence,
        "must hold only {found} and {limit} in braces, with formats",
    ),
    (
        "limit",
        lambda row: (
            row["claim"] != "bound" and bool(row["limit"]) != bool(row["relation"])
        ),
        "must be given together with relation",
    ),
    (
        "limit",
        lambda row: (
            row["claim"] == "statement"
            and row["inputs"] in ("any", "paper", "example")
            and not row["limit"]
        ),
        "must be the number that a statement allows",
    ),
]
"""What must hold between the columns of data/published.csv."""

FINDING_RULES: list[Rule] = [
    (
        "id",
        lambda row: not row["id"].startswith(f"{row['notebook']}."),
        "must begin with the notebook and a dot",
    ),
    (
        "limit",
        lambda row: bool(row["limit"]) != bool(row["relation"]),
        "must be given together with relation",
    ),
    (
        "expected",
        lambda row: bool(row["limit"]) != bool(row["expected"]),
        "must be given together with limit: the value that was verified here",
    ),
]
"""What must hold between the columns of data/findings.csv."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table in data/, and what its rows must keep.

    The second column says to which paper or notebook a row belongs. `kind` is the
    column whose value decides which `needs` a row has.
    """

    file: str
    columns: Mapping[str, list[str]]
    rules: list[Rule] = field(default_factory=list)
    kind: str = "id"
    needs: Mapping[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file."""
        return paths.data() / self.file


PAPERS = Table("papers.csv", PAPER)
PUBLISHED = Table("published.csv", COLUMNS, RULES, "claim", NEEDS)
OURS = Table("findings.csv", FINDINGS, FINDING_RULES, "basis", FINDING_NEEDS)


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
    return _rows(PAPERS)


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
        Columns are added: `printed` is the text of `published`, and `published_unit`,
        `limit_unit` and so on are the units of the numbers' last digits.

    If a row cannot be judged, ValueError is raised with the file, the row and the
    column.

    Examples
    --------
    >>> from dpsim import ledger
    >>> bool(ledger.published().index.is_unique)
    True
    """
    return _rows(PUBLISHED, paper)


def findings(notebook: str = "") -> pd.DataFrame:
    """Return data/findings.csv, indexed by id: our own comparisons and advice, each
    with its basis.

    Parameters
    ----------
    notebook : str
        The name of one notebook, or "" for all notebooks, as in `published`.

    Returns
    -------
    DataFrame
        The columns are those of data/LEDGER.md. `limit` and `expected` are numbers, or
        NaN; `limit_unit` and `expected_unit` are the units of their last digits.

    Examples
    --------
    >>> from dpsim import ledger
    >>> set(ledger.findings()["basis"]) <= {"proof", "family", "stand-in", "withdrawn"}
    True
    """
    return _rows(OURS, notebook)


def how_many() -> int:
    """Return the total number of rows in data/published.csv."""
    return len(_lines(PUBLISHED.path, _stamp(PUBLISHED.path))) - 1


def _rows(table: Table, owner: str = "") -> pd.DataFrame:
    """Return the rows of one paper or notebook, or all rows, of a table in data/."""
    return _checked(table, table.path, _stamp(table.path), owner).copy()


@functools.lru_cache(maxsize=32)
def _checked(
    table: Table, path: Path, stamp: tuple[int, ...], owner: str
) -> pd.DataFrame:
    """Return the rows of one paper or notebook, or all rows, after checking them."""
    columns = list(table.columns)
    (_, head), *lines = _lines(path, stamp) or [(0, [])]
    if head != columns:
        raise ValueError(
            f"{path}: the columns must be {','.join(columns)}, got {','.join(head)}"
        )
    rows: dict[str, Row] = {}
    for line, fields in lines:
        if owner and fields[1:2] != [owner]:
            continue
        where = f"{path}, row {fields[0]} (line {line})"
        if len(fields) != len(columns):
            raise ValueError(
                f"{where}: {len(fields)} columns instead of {len(columns)}; "
                "a text that holds a comma stands between double quotes"
            )
        row = dict(zip(columns, fields))
        for column, mistake in _mistakes(row, table):
            raise ValueError(f"{where}, column {column}: {mistake}")
        if row["id"] in rows:
            raise ValueError(f"{where}, column id: is the id of a row above")
        rows[row["id"]] = row
    checked = pd.DataFrame(rows.values(), columns=columns, dtype=object)
    checked = checked.set_index("id")
    if table is PUBLISHED:
        checked["printed"] = checked["published"]
    for column, allowed in table.columns.items():
        if NUMBER in allowed:
            checked[f"{column}_unit"] = [_unit(text) for text in checked[column]]
            checked[column] = [_number(text) for text in checked[column]]
    return checked


def _stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that change whenever the file is written."""
    about = path.stat()
    return about.st_ino, about.st_mtime_ns, about.st_size


@functools.lru_cache(maxsize=8)
def _lines(path: Path, stamp: tuple[int, ...]) -> list[tuple[int, list[str]]]:
    """Return the fields of each line of a csv file, with the line's number. A file is
    read again only if its stamp has changed."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            return [(reader.line_num, fields) for fields in reader if fields]
        except (csv.Error, ValueError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _mistakes(row: Row, table: Table) -> Iterator[tuple[str, str]]:
    """Yield the columns in which a row has a wrong value, each with a message."""
    kind = row[table.kind]
    needs = table.needs.get(kind, {})
    columns = {**table.columns, **needs}
    if table is PUBLISHED:
        columns["paper"] = list(papers().index)
    for column, allowed in columns.items():
        if not _is_allowed(row[column], allowed):
            choices = " or ".join(filter(None, allowed)) or "empty"
            where = f" for a {kind}" if column in needs else ""
            yield column, f"must be {choices}{where}, got {row[column]!r}"
    for column, is_wrong, message in table.rules:
        if is_wrong(row):
            yield column, f"{message}, got {row[column]!r}"


def _is_allowed(text: str, allowed: Collection[str]) -> bool:
    """Return whether a field has one of the allowed values."""
    return (
        text in allowed
        or (NUMBER in allowed and not math.isnan(_number(text)))
        or (TEXT in allowed and bool(text.strip()))
    )


def _is_time(row: Row) -> bool:
    """Return whether a row of data/published.csv is a measured time."""
    return row["inputs"] == "none" and row["unit"] == "s"


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
