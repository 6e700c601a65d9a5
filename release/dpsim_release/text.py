"""Text files (csv and tsv) as tables in which each line is a row.

No row affects how another row is read. Only the header determines the delimiter: it is
the one that gives the wanted columns. In a csv file, a field that begins with a quote
ends with one. It may contain delimiters, and a quote inside it is doubled. All other
quotes are text, and so is every quote in a tsv file. A line break ends the row, even
within quotes. A line is left out if it is not valid UTF-8, has too many or too few
fields, has a wrong quote, or has more than `MOST_BYTES` bytes (`DAMAGES`); the other
lines are kept.
"""

from __future__ import annotations

import csv
import gzip
import re
import uuid
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

DELIMITERS = ",;\t|"
# the column that says why a line is not a row; no user's table has it
DAMAGED = f"damaged {uuid.uuid4().hex}"
DAMAGES = {
    "encoding": "lines that are not UTF-8 text",
    "long": "lines of more than 10 MB",
    "backslash": 'lines with a quote written as \\", as Spark does: write it as "" (in '
    """Spark, option("escape", '"'))""",
    "quotes": "lines with a quote that is not closed, or with text after it",
    "fields": "lines with too many or too few fields",
}
"""Why a line is not a row, by the value in the column `DAMAGED`."""
MOST_BYTES = 10_000_000  # the largest number of bytes in a row
_PART = 2**20  # bytes read at a time
QUOTED = re.compile(r'"(?:[^"]|"")*"')
UTF8 = (
    "is not UTF-8 text: save it as UTF-8 (for example with `iconv -f LATIN1 -t UTF-8 "
    "old.csv > new.csv`)"
)
_UNICODE = "is {0} text: run `iconv -f {0} -t UTF-8 old.csv > new.csv`"
_UNPACK = "is compressed with {0}: run `{0} -dc old > new.csv`"
MARKS = {
    b"\xff\xfe\0\0": _UNICODE.format("UTF-32"),
    b"\0\0\xfe\xff": _UNICODE.format("UTF-32"),
    b"\xff\xfe": _UNICODE.format("UTF-16"),
    b"\xfe\xff": _UNICODE.format("UTF-16"),
    b"\x1f\x8b": "is compressed with gzip: give it a name that ends in .csv.gz",
    b"PK\x03\x04": "is a zip archive: unpack it (`unzip old.zip`)",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook: in Excel, save the sheet as CSV UTF-8",
    b"PAR1": "is a Parquet file: give it a name that ends in .parquet",
    b"BZh": _UNPACK.format("bzip2"),
    b"\xfd7zXZ": _UNPACK.format("xz"),
    b"\x28\xb5\x2f\xfd": _UNPACK.format("zstd"),
}
"""What a file is that begins with these bytes, and how to make a csv file of it."""


class Form(NamedTuple):
    """How fields are separated in a text file. None means that the file tells it.

    Attributes
    ----------
    delimiter : str, one of `MARKED`
    quotes : bool, whether a field may stand in quotes
    """

    delimiter: str | None = None
    quotes: bool | None = None


AS_TOLD = Form()
MARKED = " !#$%&*+,-./:;<=>?@^_`|~\t"


def form_of(delimiter: str | None, quotes: bool | None) -> Form:
    """Return a form; raise ValueError unless the delimiter is one of `MARKED`.

    The delimiter may also be written as the word tab.
    """
    if delimiter in ("tab", r"\t"):
        delimiter = "\t"
    if not (
        delimiter is None
        or (isinstance(delimiter, str) and len(delimiter) == 1 and delimiter in MARKED)
    ):
        raise ValueError(
            f"delimiter must be tab or one of {MARKED.strip()}, got {delimiter!r:.80}"
        )
    if not (quotes is None or isinstance(quotes, bool)):
        raise ValueError(f"quotes must be true or false, got {quotes!r:.80}")
    return Form(delimiter, quotes)


def refuse_other_kinds(file: str) -> None:
    """Raise ValueError if the first bytes of a file show that it is no UTF-8 text.

    The message says what the file is, and how to make a csv file of it.
    """
    try:
        with _opened(file) as stream:
            start = stream.read(4096)
    except (OSError, EOFError, zlib.error):
        return  # reading the lines says what is wrong
    what = next(
        (description for mark, description in MARKS.items() if start.startswith(mark)),
        None,
    )
    if start.startswith(b"PK\x03\x04") and (b"xl/" in start or b"[Content_" in start):
        what = MARKS[b"\xd0\xcf\x11\xe0"]
    for name, zeros in (("UTF-16LE", start[1::2]), ("UTF-16BE", start[0::2])):
        if what is None and len(zeros) > 1 and zeros.count(0) > 0.5 * len(zeros):
            what = _UNICODE.format(name)
    if what is None and start.removeprefix(b"\xef\xbb\xbf")[:4].lower() == b"sep=":
        what = (
            "begins with a line sep=, which only Excel reads: remove that line (`tail "
            "-n "
            "+2 old.csv > new.csv`)"
        )
    if what is not None:
        raise ValueError(f"{file}: the file {what}")


def _opened(file: str) -> Any:
    """Return a stream of a file's bytes. A gzipped file must have a name in .gz."""
    if file.lower().endswith(".gz"):
        return gzip.open(file, "rb")
    return open(file, "rb")


def has_quotes(file: str, form: Form) -> bool:
    """Return whether a field of this file may stand in quotes."""
    if form.quotes is None:
        return not file.lower().endswith((".tsv", ".tsv.gz"))
    return form.quotes


def _lines(file: str) -> Iterator[list[bytes]]:
    """Yield lists of the lines of a file, without their line ends.

    The file may be gzipped. Raises ValueError if the file is damaged or cannot be read.
    """
    rest = b""
    try:
        with _opened(file) as stream:
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


def header(
    file: str, wanted: Sequence[str] = (), form: Form = AS_TOLD
) -> tuple[tuple[str, bool], tuple[str, ...]]:
    """Return the delimiter, whether fields may stand in quotes, and the columns' names.

    Only the first line is read. Raises ValueError if this line is not valid UTF-8 or
    does not name the columns.
    """
    refuse_other_kinds(file)
    quotes = has_quotes(file, form)
    delimiters = "\t" if file.lower().endswith((".tsv", ".tsv.gz")) else DELIMITERS
    if form.delimiter is not None:
        delimiters = form.delimiter
    try:
        line = next(filter(None, _lines(file)), [b""])[0].decode("utf-8-sig")
        tried = {each: _fields(line, each, quotes) for each in delimiters}
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: the first line {UTF8}") from error
    except csv.Error as error:
        why = f"names no columns ({error})"
        raise ValueError(f"{file}: the first line {why}") from error

    def fits(delimiter: str) -> tuple[int, bool]:
        """Return the number of wanted columns, and whether there are several."""
        names = tried[delimiter]
        return len(set(wanted) & set(names)), len(names) > 1

    delimiter = max(delimiters, key=fits)  # the first of those that fit best
    if not any(tried[delimiter]):
        raise ValueError(
            f"{file}: the first line must name the columns, but it is empty"
        )
    return (delimiter, quotes), tried[delimiter]


def _fields(line: str, delimiter: str, quotes: bool) -> tuple[str, ...]:
    """Return the fields of a line."""
    if not quotes:
        return tuple(line.split(delimiter))
    return tuple(next(csv.reader([line], delimiter=delimiter), ()))


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
    files: Any, form: tuple[str, bool], names: Sequence[str], wanted: Sequence[str]
) -> tuple[Any, str, dict[str, str]]:
    """Return the lines of files, SQL that splits them, and SQL for each column.

    The first SQL splits each line into an array `f`, which is null for a line that
    cannot be read as a row. `form` has the delimiter, and whether fields may stand in
    quotes.
    """
    delimiter, quotes = form
    one = f"\\x{ord(delimiter):02x}"  # in a regular expression
    field = f'{one}("(?:[^"]|"")*"|[^"{one}][^{one}]*|)'
    split = f"string_split(line, '{delimiter}')"
    if quotes:
        split = f"""
            CASE WHEN NOT contains(line, '"') THEN {split}
            WHEN regexp_full_match('{delimiter}' || line, '({field})*')
            THEN regexp_extract_all('{delimiter}' || line, '{field}', 1) END"""
    spark = r"""CASE WHEN contains(line, '\"') THEN 'backslash' ELSE 'quotes' END"""
    sql = f"""
        SELECT CASE WHEN damage IS NULL THEN f END AS f, damage FROM (
        SELECT f, CASE WHEN octet_length(bytes) > {MOST_BYTES} THEN 'long'
             WHEN line IS NULL THEN 'encoding'
             WHEN f IS NULL THEN {spark}
             WHEN len(f) <> {len(names)} THEN 'fields' END AS damage FROM (
        SELECT bytes, line, {split} AS f FROM (
        SELECT line AS bytes, CASE WHEN octet_length(line) <= {MOST_BYTES}
             THEN try(decode(line)) END AS line
        FROM {{}} WHERE line <> ''::BLOB)))"""
    columns = {}
    for name in wanted:
        value = f"f[{names.index(name) + 1}]"
        if quotes:
            inside = f"replace({value}[2:-2], '\"\"', '\"')"
            value = f"CASE WHEN {value}[1] = '\"' THEN {inside} ELSE {value} END"
        columns[name] = value
    columns[DAMAGED] = "damage"
    return _Lines(files), sql, columns


def listed(file: str) -> list[str]:
    """Return the lines of a list, a csv file with one column and no header.

    A line that begins with a quote ends with one, and a quote inside it is doubled. All
    other quotes, and all commas, are text. Raises ValueError if the file is not UTF-8
    text or has a wrong quote.
    """
    refuse_other_kinds(file)
    try:
        lines = [line.decode("utf-8") for part in _lines(file) for line in part]
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: the file {UTF8}") from error
    labels = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix("\ufeff").strip(" \t")
        if text.startswith('"'):
            if not QUOTED.fullmatch(text):
                doubled = text.replace('"', '""')
                raise ValueError(
                    f"{file}: line {number} begins with a quote, so it must end with "
                    f'one, and those inside must be doubled: write it as "{doubled}"'
                )
            text = text[1:-1].replace('""', '"')
        labels.append(text)
    return labels
