"""The one reader of user tables: csv, tsv and Parquet files, folders, DataFrames and Ibis tables.

What a table says must not depend on guesses that one row can change. So the delimiter of a text file follows from its
header, a line of it is a row, every field is text, and values become words one at a time (`labels.whole_word`). A line
that is no row of the table is left out by itself, and counted for the owner.

Rows are read in a stream; nothing is held in memory but what a query asks for.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpsim.release import scratch
from dpsim.release.labels import whole_word

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
FORMATS = ".csv, .tsv (also .csv.gz, .tsv.gz) or .parquet"
DELIMITERS = ",;\t|"
DAMAGED = "(damaged)"
"""Column that is true for a line which is no row of the table."""

LONGEST = 10_000_000  # bytes of a line
UTF8 = "is not UTF-8 text: save it as UTF-8 (for instance `iconv -f LATIN1 -t UTF-8 old.csv > new.csv`)"
WHOLE_TEXT = r"^(-?[0-9]+)\.0+$"
AROUND = r"^[ \t\r\n]+|[ \t\r\n]+$"  # no TRIM: for Spark, Ibis 12 lists "v" and "f" among the blanks
EXACT = 2.0**53  # from here on, neighbouring whole numbers are one float

Expression = Any
"""A column of an Ibis table."""


def read(
    source: Any, columns: Mapping[str, str], how: Mapping[str, Callable[[Expression], Expression]] | None = None
) -> tuple[Any, list[str]]:
    """Return an Ibis table of the columns asked for under the names asked for, and all columns of the source.

    Parameters
    ----------
    source : path, list of paths, DataFrame or Ibis table
        Files of text (`FORMATS`), or Parquet files, or a folder of either: names are literal, each file counts once. Or
        a DataFrame of pandas, Polars or Arrow; or a table of an Ibis connection, on a cluster for instance.
    columns : mapping of str to str
        The name that each column gets, and the name that it has in the source.
    how : mapping of str to function, optional
        What makes the values of a column, by the name it gets (default: `words`).

    Examples
    --------
    >>> table, _ = read(pd.DataFrame({"zone": [97.0, None], "car": ["1.10", "1.1"]}), {"a": "zone"})
    >>> table.to_pandas()["a"].tolist()[0]
    '97'
    """
    ibis = scratch.ibis()
    wanted = list(dict.fromkeys(columns.values()))
    if isinstance(source, str | os.PathLike | list | tuple):
        read = _read_files([source] if isinstance(source, str | os.PathLike) else source, wanted)
    else:
        table = source if isinstance(source, ibis.Table) else _read_frame(source, wanted)
        _refuse_others(wanted, table.columns)
        read = [(table, table.columns)]
    made = dict.fromkeys(columns, words) | dict(how or {})
    chosen = [
        table.select(
            **{name: made[name](table[column]) for name, column in columns.items()},
            **{DAMAGED: table[DAMAGED] if DAMAGED in table.columns else ibis.literal(False)},
        )
        for table, _ in read
    ]
    return ibis.union(*chosen) if len(chosen) > 1 else chosen[0], [name for _, names in read for name in names]


def words(values: Expression) -> Expression:
    """Return a column as words, missing ones null; the type of the column and each value alone decide."""
    kind = values.type()
    if kind.is_floating():
        values = values.isnan().ifelse(None, values)
        integer = values.try_cast("int64")  # rounded: a fraction, and what is too large, does not come back
        whole = (integer.cast("float64") == values.cast("float64")).fill_null(False)
        exact = 2.0 ** {16: 11, 32: 24}.get(kind.nbytes * 8, 53)
        return (values.abs() < exact).ifelse(whole.ifelse(integer.cast("string"), values.cast("string")), None)
    text = values.cast("string")
    if kind.is_string():
        text = text.re_replace(AROUND, "")
    if kind.is_string() or kind.is_decimal():
        text = text.re_replace(WHOLE_TEXT, r"\1")
    return text.nullif("")


def fetched(table: Any, source: Any) -> pd.DataFrame:
    """Return what a query gives; a database that cannot read the source says so in one line (ValueError).

    It comes piece by piece, so that memory holds it once; DuckDB's sums are decimals, in pandas objects, until cast.
    """
    import pyarrow as pa

    try:
        schema = table.schema().to_pyarrow()
        pieces = [pa.Table.from_batches([piece]).cast(schema) for piece in table.to_pyarrow_batches(chunk_size=100_000)]
        return (pa.concat_tables(pieces) if pieces else schema.empty_table()).to_pandas()
    except Exception as error:  # each database has its own classes
        shown = source if isinstance(source, str | os.PathLike) else ""
        raise ValueError(f"source {shown}: {_reason(error)}") from error


def rejected(table: Any) -> int:
    """Return how many lines of text files were left out before they were rows: no UTF-8, or too long."""
    found = table.get_backend()
    if found.name != "duckdb" or "reject_errors" not in found.list_tables():
        return 0
    sql = "SELECT count(DISTINCT (file_path, line)) FROM reject_errors JOIN reject_scans USING (scan_id, file_id)"
    return int(found.raw_sql(sql).fetchone()[0])


def is_table(file: str) -> bool:
    """Return whether the name of a file ends as that of a table that `read` takes.

    >>> is_table("pages.csv.gz"), is_table("pages.txt")
    (True, False)
    """
    return _ending(file) is not None


def _ending(file: str) -> str | None:
    return next((ending for ending in ENDINGS if file.lower().endswith(ending)), None)


# --- files ------------------------------------------------------------------------------------------------------------


def _read_files(named: Iterable[str | os.PathLike[str]], wanted: Sequence[str]) -> list[tuple[Any, Sequence[str]]]:
    """Return a table, and the names of all columns, for each schema among the files: all text, or all Parquet."""
    paths = [os.fspath(path) for path in named]
    files = _files(paths)
    kinds = {file.lower().endswith(".parquet") for file in files}
    if len(kinds) != 1 or not all(map(is_table, files)):
        raise ValueError(f"source must be files that end in {FORMATS}, all text or all Parquet, got {', '.join(paths)}")
    connection, folder = scratch.connect()
    read_one, schema = (_parquet, _parquet_schema) if kinds.pop() else (_text, _header)
    groups: dict[Any, list[str]] = {}
    for place, file in enumerate(files):
        link = folder / f"{place}{_ending(file)}"
        link.symlink_to(os.path.abspath(file))  # a name that no database takes for a pattern or an address
        groups.setdefault(schema(_as_named(file)), []).append(str(link))
    for _, names in groups:
        _refuse_others(wanted, names)
    try:
        return [(read_one(connection, links, kind, names, wanted), names) for (kind, names), links in groups.items()]
    except Exception as error:  # DuckDB has classes of its own
        raise ValueError(f"{', '.join(paths)}: {_reason(error)}") from error


def _files(paths: Sequence[str]) -> list[str]:
    """Return the files that paths name, themselves or by their folder, each once; ValueError where there are none."""
    found: dict[tuple[int, int], str] = {}
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            every = ((file, file.relative_to(path).parts) for file in sorted(Path(path).rglob("*")))
            inside = [
                str(file) for file, parts in every if is_table(file.name) and not any(p[0] in "._" for p in parts)
            ]
            if not inside:
                raise ValueError(f"source: the folder {path!r} holds no file that ends in {FORMATS}")
        for file in inside:
            if not os.path.exists(file):
                raise ValueError(f"source: there is no file {file!r}")
            if not os.path.isfile(file):
                raise ValueError(f"source: {file!r} must be an ordinary file or a folder of such")
            status = os.stat(file)
            found.setdefault((status.st_dev, status.st_ino), file)
    return list(found.values())


def _as_named(file: str) -> str:
    """Return a file once it is what its ending says (ValueError)."""
    size, ending = os.path.getsize(file), str(_ending(file))
    if not size:
        raise ValueError(f"{file}: the file is empty")
    with open(file, "rb") as stream:
        start = stream.read(4)
        stream.seek(max(0, size - 4))
        end = stream.read(4)
    if ending == ".parquet" and not (start == end == b"PAR1"):
        raise ValueError(f"{file}: not a Parquet file although its name ends in .parquet (or it was cut short)")
    if ending.endswith(".gz") != start.startswith(b"\x1f\x8b"):
        raise ValueError(f"{file}: the name ends in {ending}, but the file is not what that says")
    return file


def _parquet_schema(file: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the types and names of a file's columns, by which equal files are read together."""
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(file)
    except Exception as error:
        raise ValueError(f"{file}: {_reason(error)}") from error
    return tuple(map(str, schema.types)), tuple(schema.names)


def _header(file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names of the columns, from the first line alone: no row of data decides it."""
    try:
        with gzip.open(file) if file.lower().endswith(".gz") else open(file, "rb") as stream:
            line = (stream.readline(LONGEST).splitlines() or [b""])[0]
            while file.lower().endswith(".gz") and stream.read(1 << 20):
                pass  # to the checksum: the database would take the whole rows of a file that was cut short
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file}: the file is damaged ({error})") from error
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{file}: the file {UTF8.replace('LATIN1', 'UTF-16')}")
    if b"\0" in line or line[:4] == b"PAR1":
        raise ValueError(f"{file}: not a text file although its name says so")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: the file {UTF8}") from error
    delimiters = "\t" if ".tsv" in str(_ending(file)) else DELIMITERS
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


def _text(connection: Any, links: list[str], delimiter: str, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """Return lines as rows of text fields. A field may stand in quotes; a line of other fields is a damaged row."""
    lines = (
        f"read_csv({_listed(links)}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false, skip = 1, "
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


def _parquet(connection: Any, links: list[str], types: Any, names: Sequence[str], wanted: Sequence[str]) -> Any:
    return connection.read_parquet(links, hive_partitioning=False)


def _listed(links: Sequence[str]) -> str:
    return "[" + ", ".join("'" + link.replace("'", "''") + "'" for link in links) + "]"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _reason(error: Exception) -> str:
    """Return in one line why a database refuses a file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return f"not a readable table ({' '.join(lines[:3])[:300]})"


# --- tables in memory -------------------------------------------------------------------------------------------------


def _read_frame(frame: Any, wanted: Sequence[str]) -> Any:
    """Put the columns of a data frame into a temporary table of an embedded database."""
    import pyarrow as pa

    if hasattr(frame, "collect"):  # a lazy frame of Polars
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(_pandas_columns(frame, wanted), preserve_index=False)
    elif hasattr(frame, "to_arrow"):
        frame = frame.to_arrow()
    if not isinstance(frame, pa.Table):
        raise TypeError(f"source must be a path, a DataFrame or an Ibis table, got {type(frame).__name__}")
    for place, field in enumerate(frame.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = pa.string() if pa.types.is_null(kind) else kind
        frame = frame.set_column(place, field.name, frame.column(place).cast(kind))
    _refuse_others(wanted, frame.column_names)
    connection, _ = scratch.connect()
    return connection.create_table(f"events_{uuid.uuid4().hex}", obj=frame, temp=True)


def _pandas_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> pd.DataFrame:
    """Return the frame with words where the values of a column have no one type."""
    frame = frame.reset_index(drop=True).rename(columns=str)
    if not frame.columns.is_unique:
        raise ValueError(f"source: the column {frame.columns[frame.columns.duplicated()][0]!r} occurs twice")
    frame = frame.drop(columns=[name for name in frame.select_dtypes(object, exclude="str") if name not in wanted])
    for name in frame.select_dtypes(object, exclude="str"):
        frame[name] = pd.array([whole_word(value) for value in frame[name]], dtype="str")
    return frame


def _refuse_others(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError with the nearest name where a column that is wanted is not there."""
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"source: there is no column {name!r} among {', '.join(map(repr, names[:10]))}{hint}")
