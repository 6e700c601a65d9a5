"""Text files as tables: a line is a row, and no row decides how another is read.

The delimiter follows from the header. A field may stand in quotes, doubled inside it, and may then hold delimiters and
line breaks, which count as blanks. A line that is no row is left out alone: a quote too many takes no others along.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

DELIMITERS = ",;\t|"
DAMAGED = "(damaged)"
"""Column that is true for a line which is no row of the table."""

LONGEST = 10_000_000  # bytes of a row
UTF8 = "is not UTF-8 text: save it as UTF-8 (for instance `iconv -f LATIN1 -t UTF-8 old.csv > new.csv`)"


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Open a file, packed or not; ValueError where it is damaged."""
    try:
        with cast(IO[bytes], gzip.open(file) if file.lower().endswith(".gz") else open(file, "rb")) as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file}: the file is damaged ({error})") from error


def header(file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names of the columns, from the first line alone (ValueError)."""
    with _opened(file) as stream:
        line = (stream.readline(LONGEST).splitlines() or [b""])[0]
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: the file {UTF8}") from error
    delimiters = "\t" if file.lower().removesuffix(".gz").endswith(".tsv") else DELIMITERS
    tried = {delimiter: _fields(text, delimiter) for delimiter in delimiters}
    delimiter = next((delimiter for delimiter, names in tried.items() if len(names) > 1), delimiters[0])
    if not any(tried[delimiter]):
        raise ValueError(f"{file}: the first line must name the columns, it is empty")
    named = [name or f"column{place}" for place, name in enumerate(tried[delimiter])]
    small = [name.lower() for name in (*named, DAMAGED)]
    twice = [name for place, name in enumerate(small) if name in small[:place]]
    if twice:
        raise ValueError(f"{file}: the header must name each column once, it has {twice[0]!r} again")
    return delimiter, tuple(named)


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of one line, none where they cannot be told apart."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a field of more than 128 KiB
        return []


def with_rows_on_lines(file: str, delimiter: str, columns: int, folder: Path) -> str:
    """Return the file, or a copy of it in the folder where rows that span lines stand on one; ValueError if damaged."""
    with _opened(file) as stream:
        lines = io.TextIOWrapper(stream, encoding="latin-1", newline=None)  # as bytes, but with all ends of lines
        if not any(line.count('"') % 2 for line in lines):  # read to the end, where a packed file has its checksum
            return file
    copy = folder / f"{uuid.uuid4().hex}.csv"
    with _opened(file) as stream, open(copy, "w", encoding="latin-1") as joined:
        lines = io.TextIOWrapper(stream, encoding="latin-1", newline=None)
        joined.writelines(_joined(lines, delimiter, columns))
    return str(copy)


def _joined(lines: Iterator[str], delimiter: str, columns: int) -> Iterator[str]:
    """Yield lines; those from one with a quote too many to the next such line as one, where together they are a row."""
    field = f'(?:"[^"]*(?:""[^"]*)*"|[^"{delimiter}]*)'
    row = re.compile(f"{field}(?:[{delimiter}]{field}){{{columns - 1}}}")
    held: list[str] = []
    size = 0
    for line in lines:
        odd = line.count('"') % 2
        if held and odd and row.fullmatch(whole := " ".join(part.rstrip("\n") for part in [*held, line])):
            yield whole + "\n"
            held = []
        elif held and (odd or size > LONGEST):  # the first of them was damaged, and the others are what they are
            yield from held
            held, size = [line] * odd, len(line)
            yield from [line] * (1 - odd)
        elif held or odd:
            held.append(line)
            size = len(line) + (size if len(held) > 1 else 0)
        else:
            yield line
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
