"""Text files as tables: a line is a row, and no row decides how another is read.

The delimiter follows from the header. A field may stand in quotes, doubled inside it, and may then hold delimiters and
line breaks, which count as blanks. A line that is no row is left out alone: a quote too many takes no others along.
Two lines with one too many are a row with what is between them where that is what csv says they are: whoever writes
csv has to double the quotes inside a field, as every library does.
"""

from __future__ import annotations

import csv
import gzip
import re
import uuid
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

DELIMITERS = ",;\t|"
DAMAGED = f"damaged {uuid.uuid4().hex}"
"""Column, of a name that no table has, which is true for a line that is no row of the table."""

LONGEST = 10_000_000  # bytes of a row
SPANNED = 1_000_000  # lines of one
UTF8 = "is not UTF-8 text: save it as UTF-8 (for instance `iconv -f LATIN1 -t UTF-8 old.csv > new.csv`)"


def _lines(file: str) -> Iterator[str]:
    """Yield the lines of a file, packed or not: bytes as latin-1, all ends alike; ValueError where it is damaged."""
    try:
        with (gzip.open if file.lower().endswith(".gz") else open)(file, "rt", encoding="latin-1") as stream:
            yield from cast(IO[str], stream)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file}: the file is damaged or closed to you ({error})") from error


def header(file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names of the columns, from the first line alone (ValueError)."""
    try:
        line = next(_lines(file), "").removesuffix("\n").encode("latin-1").decode("utf-8-sig")
        delimiters = "\t" if file.lower().removesuffix(".gz").endswith(".tsv") else DELIMITERS
        tried = {delimiter: tuple(next(csv.reader([line], delimiter=delimiter), ())) for delimiter in delimiters}
    except (UnicodeDecodeError, csv.Error) as error:
        why = UTF8 if isinstance(error, UnicodeDecodeError) else f"names no columns ({error})"
        raise ValueError(f"{file}: the first line {why}") from error
    delimiter = next((delimiter for delimiter, names in tried.items() if len(names) > 1), delimiters[0])
    if not any(tried[delimiter]):
        raise ValueError(f"{file}: the first line must name the columns, it is empty")
    return delimiter, tried[delimiter]


def with_rows_on_lines(file: str, delimiter: str, columns: int, folder: Path) -> str:
    """Return the file, or a copy of it in the folder where rows that span lines stand on one; ValueError if damaged."""
    if not any(line.count('"') % 2 for line in _lines(file)):  # to the end, where a packed file has its checksum
        return file
    copy = folder / f"{uuid.uuid4().hex}.csv"
    with open(copy, "w", encoding="latin-1") as joined:
        joined.writelines(_joined(_lines(file), delimiter, columns))
    return str(copy)


def _joined(lines: Iterator[str], delimiter: str, columns: int) -> Iterator[str]:
    """Yield lines; those from one with a quote too many to the next such line as one, where together they are a row."""
    field = f'(?:"[^"]*(?:""[^"]*)*"|[^"{delimiter}]*)'
    row = re.compile(f"{field}(?:[{delimiter}]{field}){{{columns - 1}}}")
    held: list[str] = []
    for line in lines:
        held.append(line)
        if line.count('"') % 2 == 0:
            if len(held) == 1 or len(held) > SPANNED:  # the first of many was damaged, and the others are what they are
                yield from held
                held = []
        elif len(held) > 1:
            whole = " ".join(part.rstrip("\n") for part in held)
            joins = row.fullmatch(whole)
            yield from [f"{whole}\n"] if joins else held[:-1]
            held = [] if joins else [line]
    yield from held


def table(connection: Any, files: Sequence[str], delimiter: str, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """Return columns of files with one header as a table of DuckDB: text, null in damaged rows."""
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    lines = (
        f"read_csv([{listed}], columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false, skip = 1, "
        r"delim = chr(28) || chr(29) || chr(30) || chr(31), quote = '', escape = '', comment = '', new_line = '\n', "
        f"strict_mode = false, max_line_size = {LONGEST}, hive_partitioning = false, ignore_errors = true, "
        "store_rejects = true, rejects_limit = 0)"
    )
    field = f'[{delimiter}]("(?:[^"]|"")*"|[^"{delimiter}]*)'
    fields = f"""
        CASE WHEN NOT contains(line, '"') THEN string_split(line, '{delimiter}')
             WHEN regexp_full_match('{delimiter}' || line, '({field})*')
             THEN regexp_extract_all('{delimiter}' || line, '{field}', 1) END"""
    rows = f"SELECT {fields} AS f FROM {lines} WHERE line <> ''"
    good = f"SELECT CASE WHEN len(f) = {len(names)} THEN f END AS f FROM ({rows})"
    plain = "CASE WHEN f[{0}][1] = '\"' THEN replace(f[{0}][2:-2], '\"\"', '\"') ELSE f[{0}] END AS "
    chosen = ", ".join(plain.format(names.index(name) + 1) + _name(name) for name in wanted)
    view = f"events_{uuid.uuid4().hex}"
    connection.raw_sql(f"CREATE TEMP VIEW {view} AS SELECT {chosen}, f IS NULL AS {_name(DAMAGED)} FROM ({good})")
    return connection.table(view)


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def rejected(connection: Any) -> int:
    """Return how many lines were left out before they were rows: no UTF-8, or too long."""
    if connection.name != "duckdb" or "reject_errors" not in connection.list_tables():
        return 0
    sql = "SELECT count(DISTINCT (file_path, line)) FROM reject_errors JOIN reject_scans USING (scan_id, file_id)"
    return int(connection.raw_sql(sql).fetchone()[0])
