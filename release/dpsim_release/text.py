"""Text files (csv and tsv) as tables in which each line is a row.

No row affects how another row is read. The header determines the delimiter. A quoted
field may contain delimiters; a quote inside a quoted field is doubled. A line break
ends the row, even within quotes. A line is left out if it is not valid UTF-8, has too
many or too few fields, has an unclosed quote, or has more than `MOST_BYTES` bytes; the
other lines are kept.
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
# the column that is true for a line that is not a row; no user's table has it
DAMAGED = f"damaged {uuid.uuid4().hex}"
MOST_BYTES = 10_000_000  # the largest number of bytes in a row
_PART = 2**20  # bytes read at a time
UTF8 = (
    "is not UTF-8 text: save it as UTF-8 (for example with `iconv -f LATIN1 -t UTF-8 "
    "old.csv > new.csv`)"
)


def _lines(file: str) -> Iterator[list[bytes]]:
    """Yield lists of the lines of a file, without their line ends.

    The file may be gzipped. Raises ValueError if the file is damaged or cannot be read.
    """
    rest = b""
    try:
        opened = gzip.open if file.lower().endswith(".gz") else open
        with opened(file, "rb") as stream:
            while part := stream.read(_PART):
                read = rest + part
                ends = max(read.rfind(b"\n"), read.rfind(b"\r")) + 1
                yield read[:ends].splitlines()
                # just enough of an endless line to show that it is too long
                rest = read[ends:][: MOST_BYTES + 1]
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{file}: the file is damaged, or you may not read it ({error})"
        ) from error
    if rest:
        yield [rest]


def _body(file: str) -> Iterator[list[bytes]]:
    """Yield lists of the lines of a file without its first line."""
    parts = filter(None, _lines(file))
    yield next(parts, [])[1:]
    yield from parts


def header(file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names of the columns.

    Only the first line is read. Raises ValueError if this line is not valid UTF-8 or
    does not name the columns.
    """
    try:
        line = next(filter(None, _lines(file)), [b""])[0].decode("utf-8-sig")
        delimiters = DELIMITERS
        if file.lower().endswith((".tsv", ".tsv.gz")):
            delimiters = "\t"
        tried = {
            delimiter: tuple(next(csv.reader([line], delimiter=delimiter), ()))
            for delimiter in delimiters
        }
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: the first line {UTF8}") from error
    except csv.Error as error:
        why = f"names no columns ({error})"
        raise ValueError(f"{file}: the first line {why}") from error
    several = (delimiter for delimiter, names in tried.items() if len(names) > 1)
    delimiter = next(several, delimiters[0])
    if not any(tried[delimiter]):
        raise ValueError(
            f"{file}: the first line must name the columns, but it is empty"
        )
    return delimiter, tried[delimiter]


class _Lines:
    """The lines of files, without the headers, as an Arrow table that can be reread.

    Its only column is `line`.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a new stream of all lines."""
        schema = pa.schema({"line": pa.large_binary()})
        parts = (lines for file in self.files for lines in _body(file))
        batches = (
            pa.record_batch([pa.array(lines, pa.large_binary())], schema)
            for lines in parts
        )
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return reader.__arrow_c_stream__(requested_schema)


def rows(
    files: Any, delimiter: str, names: Sequence[str], wanted: Sequence[str]
) -> tuple[Any, str, dict[str, str]]:
    """Return the lines of files, SQL that splits them, and SQL for each column.

    The first SQL splits each line into an array `f`, which is null for a line that
    cannot be read as a row.
    """
    field = f'[{delimiter}]("(?:[^"]|"")*"|[^"{delimiter}]*)'
    sql = f"""
        SELECT CASE WHEN len(f) = {len(names)} THEN f END AS f FROM (
        SELECT CASE WHEN NOT contains(line, '"') THEN string_split(line, '{delimiter}')
             WHEN regexp_full_match('{delimiter}' || line, '({field})*')
             THEN regexp_extract_all('{delimiter}' || line, '{field}', 1)
             END AS f FROM (
        SELECT CASE WHEN octet_length(line) <= {MOST_BYTES}
             THEN try(decode(line)) END AS line
        FROM {{}} WHERE line <> ''::BLOB))"""
    plain = (
        "CASE WHEN f[{0}][1] = '\"' THEN replace(f[{0}][2:-2], '\"\"', '\"') "
        "ELSE f[{0}] END"
    )
    columns = {name: plain.format(names.index(name) + 1) for name in wanted}
    columns[DAMAGED] = "f IS NULL"
    return _Lines(files), sql, columns
