"""Text files as tables: a line is a row, and no row decides how another is read.

The delimiter follows from the header. A field may stand in quotes, doubled inside it, and may then hold delimiters; a
line break ends the row within quotes too. A line that is no row is left out alone: one that is no UTF-8, has too many
or too few fields, a quote that does not close, or more than `LONGEST` bytes.
"""

from __future__ import annotations

import csv
import gzip
import uuid
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

DELIMITERS = ",;\t|"
DAMAGED = f"damaged {uuid.uuid4().hex}"
"""Column, of a name that no table has, which is true for a line that is no row of the table."""

LONGEST = 10_000_000  # bytes of a row
_PART = 2**20  # bytes that are read at a time
UTF8 = "is not UTF-8 text: save it as UTF-8 (for instance `iconv -f LATIN1 -t UTF-8 old.csv > new.csv`)"


def _lines(file: str) -> Iterator[list[bytes]]:
    """Yield the lines of a file, packed or not, some at a time, without their ends; ValueError where it is damaged."""
    rest = b""
    try:
        with (gzip.open if file.lower().endswith(".gz") else open)(file, "rb") as stream:
            while part := stream.read(_PART):
                read = rest + part
                ends = max(read.rfind(b"\n"), read.rfind(b"\r")) + 1
                yield read[:ends].splitlines()
                rest = read[ends:][: LONGEST + 1]  # of a line without end no more than shows that it is too long
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file}: the file is damaged or closed to you ({error})") from error
    yield [rest] * bool(rest)


def header(file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names of the columns, from the first line alone (ValueError)."""
    try:
        line = next((lines[0] for lines in _lines(file) if lines), b"").decode("utf-8-sig")
        delimiters = "\t" if file.lower().removesuffix(".gz").endswith(".tsv") else DELIMITERS
        tried = {delimiter: tuple(next(csv.reader([line], delimiter=delimiter), ())) for delimiter in delimiters}
    except (UnicodeDecodeError, csv.Error) as error:
        why = UTF8 if isinstance(error, UnicodeDecodeError) else f"names no columns ({error})"
        raise ValueError(f"{file}: the first line {why}") from error
    delimiter = next((delimiter for delimiter, names in tried.items() if len(names) > 1), delimiters[0])
    if not any(tried[delimiter]):
        raise ValueError(f"{file}: the first line must name the columns, it is empty")
    return delimiter, tried[delimiter]


class _Lines:
    """The lines of files but for their headers, as a table of Arrow that can be read again: the column `line`."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a new stream over all lines."""
        schema = pa.schema({"line": pa.large_binary()})
        batches = (pa.record_batch([pa.array(lines, pa.large_binary())], schema) for lines in self._bodies())
        return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(requested_schema)

    def _bodies(self) -> Iterator[list[bytes]]:
        """Yield the lines of all files, some at a time, but for the first of each."""
        for file in self.files:
            first = 1
            for lines in _lines(file):
                yield lines[first:]
                first = 0 if lines else first


def rows(files: Any, delimiter: str, names: Sequence[str], wanted: Sequence[str]) -> tuple[Any, str, dict[str, str]]:
    """Return the lines, SQL that makes an array `f` of each, null where it is no row, and what makes columns of `f`."""
    field = f'[{delimiter}]("(?:[^"]|"")*"|[^"{delimiter}]*)'
    sql = f"""
        SELECT CASE WHEN len(f) = {len(names)} THEN f END AS f FROM (
        SELECT CASE WHEN NOT contains(line, '"') THEN string_split(line, '{delimiter}')
             WHEN regexp_full_match('{delimiter}' || line, '({field})*')
             THEN regexp_extract_all('{delimiter}' || line, '{field}', 1) END AS f FROM (
        SELECT CASE WHEN octet_length(line) <= {LONGEST} THEN try(decode(line)) END AS line
        FROM {{}} WHERE line <> ''::BLOB))"""
    plain = "CASE WHEN f[{0}][1] = '\"' THEN replace(f[{0}][2:-2], '\"\"', '\"') ELSE f[{0}] END"
    return _Lines(files), sql, {name: plain.format(names.index(name) + 1) for name in wanted} | {DAMAGED: "f IS NULL"}
