"""Reads users' tables from text files, Parquet files, folders, DataFrames and Ibis.

One row must not be able to change how the other rows are read. Therefore a column is
read according to its type, and ValueError is raised for an unsupported type before any
row is read. (In a text file every field is text.) Each value is then converted on its
own, and a value that cannot be converted counts as missing, whatever the other values
are. Rows are read as an Arrow stream, never by a database's own readers, and only what
a query needs is kept in memory.
"""

from __future__ import annotations

import difflib
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs

from dpsim.files import WHOLE_TEXT
from dpsim_release import scratch, text
from dpsim_release.labels import AROUND, whole_word
from dpsim_release.scratch import ibis

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
FORMATS = ".csv, .tsv (also .csv.gz, .tsv.gz) or .parquet"
MOST_OF_A_ROW = 10**9  # the largest count in one row of a table of counts
NAME = re.compile(r"[^\x00\ud800-\udfff]+")  # names that a database's columns can have
LABELS = ("text", "whole numbers", "booleans", "dates")
NUMBERS = ("text", "whole numbers")


def read(
    source: Any,
    columns: Mapping[str, str],
    conversions: Mapping[str, Callable[[Any], Any]] | None = None,
    form: text.Form = text.AS_TOLD,
) -> tuple[Any, list[str]]:
    """Return an Ibis table with the wanted columns, and all column names of the source.

    Parameters
    ----------
    source : path, sequence of paths, DataFrame or Ibis table
        Text or Parquet files (`FORMATS`), a folder of such files, a pandas or Polars
        DataFrame, an Arrow table, or a table of an Ibis connection, for example on a
        cluster. File names are taken literally, and a file that is named twice is read
        once.
    columns : mapping
        The name in the source of each wanted column, keyed by the column's new name.
    conversions : mapping, optional
        The functions that convert columns, keyed by new name. All other columns are
        converted by `words`.
    form : Form, optional
        How fields are separated in text files. By default, the header tells it.

    Returns
    -------
    Ibis table, whose columns have the new names, and list of str

    Examples
    --------
    >>> table = pd.DataFrame({"zone": [97, 5], "car": ["1.10", "1.1"]})
    >>> found, _ = read(table, {"a": "zone", "b": "car"})
    >>> found.to_pandas().iloc[:, :2].values.tolist()
    [['97', '1.10'], ['5', '1.1']]
    """
    scratch.versions()  # raises an error that says what to install
    for name, column in columns.items():
        if not (isinstance(column, str) and NAME.fullmatch(column)):
            raise ValueError(f"{name} must be the name of a column, got {column!r:.80}")
    wanted = list(dict.fromkeys(columns.values()))
    if isinstance(source, str | os.PathLike):
        source = [source]
    if isinstance(source, list | tuple):
        for file in source:
            if not isinstance(file, str | os.PathLike):
                raise ValueError(
                    "source must be files, a DataFrame or a table, got a sequence with "
                    f"{file!r:.80}: make a DataFrame of the rows"
                )
        read = _read_files(source, wanted, form)
    elif isinstance(source, ibis.Table):
        _refuse_others(wanted, source.columns)
        read = [(source, source.columns, "")]
    else:
        read = [(*_read_frame(source, wanted), "")]
    converters = dict.fromkeys(columns, words) | dict(conversions or {})
    chosen = []
    for table, _, file in read:
        damaged = ibis.null("string")
        if text.DAMAGED in table.columns:
            damaged = table[text.DAMAGED]
        with _naming(file):
            fields = {name: converters[name](table[of]) for name, of in columns.items()}
        fields[text.DAMAGED] = damaged
        chosen.append(table.select(**fields))
    names = [name for _, names, _ in read for name in names]
    return ibis.union(*chosen) if len(chosen) > 1 else chosen[0], names


def words(values: Any, allowed: Sequence[str] = LABELS) -> Any:
    """Return a column as words, with null for missing values.

    Raises ValueError if the column's type is not allowed.
    """
    datatype = values.type()
    whole = datatype.is_integer() or (datatype.is_decimal() and datatype.scale == 0)
    is_a = {
        "text": datatype.is_string(),
        "whole numbers": whole,
        "booleans": datatype.is_boolean(),
        "dates": datatype.is_date(),
    }
    if not any(is_a[name] for name in allowed):
        hint = ": make it text or Int64" if datatype.is_floating() else ""
        raise ValueError(
            f"source: column {values.get_name()!r} must be {' or '.join(allowed)}, "
            f"got {datatype}{hint}"
        )
    text = values.cast("string")
    if datatype.is_string():
        text = text.re_replace(AROUND, "").re_replace(WHOLE_TEXT, r"\1")
    return text.nullif("")


def whole_numbers(values: Any) -> Any:
    """Return a column as whole numbers from 0 to `MOST_OF_A_ROW`.

    A larger number is replaced with `MOST_OF_A_ROW`, and any other value with null.
    """
    digits = words(values, NUMBERS).re_extract("^0*([0-9]+)$", 1).nullif("")
    return (digits.length() > 9).ifelse(MOST_OF_A_ROW, digits.try_cast("int64"))


def fetch_table(table: Any) -> pd.DataFrame:
    """Return the result of a query.

    Raises ValueError, with a one-line message, if the database cannot read the source.
    """
    try:
        return table.to_pyarrow().to_pandas()
    except Exception as error:  # each database has its own classes of errors
        raise ValueError(f"source: {_reason(error)}") from error


# --- files ----------------------------------------------------------------------------


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Let the message of a ValueError about a source begin with the file's name."""
    try:
        yield
    except ValueError as error:
        about = str(error).removeprefix("source: ")
        if not file or about == str(error):
            raise
        raise ValueError(f"source: {file}: {about}") from error


def _read_files(
    named: Iterable[str | os.PathLike[str]], wanted: Sequence[str], form: text.Form
) -> list[tuple[Any, Sequence[str], str]]:
    """Return a table, the names of all its columns and a file for each schema.

    Raises ValueError unless the files are all text or all Parquet.
    """
    paths = [os.fspath(path) for path in named]
    files = table_files(paths)
    kinds = {file.lower().endswith(".parquet") for file in files}
    others = [file for file in files if not file.lower().endswith(ENDINGS)]
    for file in others:
        text.refuse_other_kinds(file)
    if len(kinds) != 1 or others:
        raise ValueError(
            f"source must be files that end in {FORMATS}, all text or all Parquet, "
            f"got {', '.join(paths)}"
        )
    parquet = kinds.pop()
    groups: dict[Any, list[str]] = {}
    for file in files:
        layout: Any
        if parquet:
            layout, names = _parquet_schema(file, wanted)
        else:
            layout, names = text.header(file, wanted, form)
        with _naming(file):
            _refuse_others(wanted, names)
        groups.setdefault((layout, names), []).append(file)
    connection, _ = scratch.connect()
    tables = []
    for (layout, names), members in groups.items():
        if parquet:
            with _naming(members[0]):
                table = _table(connection, *_scan(_parquet(members, layout)))
        else:
            table = _table(connection, *text.rows(members, layout, names, wanted))
        tables.append((table, names, members[0]))
    return tables


def table_files(paths: Sequence[str]) -> list[str]:
    """Return the files that the paths name, directly or through a folder, each once.

    Raises ValueError if a folder contains no file that can be read.
    """
    files: dict[tuple[int, int], str] = {}
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            inside = list(_tables_in(Path(path), set()))
        if not inside:
            raise ValueError(
                f"source: the folder {path!r} holds no file that ends in {FORMATS}"
            )
        for file in inside:
            files.setdefault(_identity(ordinary(file)), file)
    return list(files.values())


def _tables_in(folder: Path, visited: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the table files in a folder and its subfolders, in the order of their
    names.

    Links are followed, and each folder is visited once. Names that begin with a dot or
    an underscore are skipped. A folder that cannot be read raises OSError, and a broken
    link raises ValueError, because otherwise rows would silently be missing from the
    counts.
    """
    if _identity(folder) in visited:
        return
    visited.add(_identity(folder))
    for name in sorted(entry.name for entry in os.scandir(folder)):
        if name.startswith((".", "_")):
            continue
        path = folder / name
        if path.is_symlink() and not path.exists():
            raise ValueError(f"source: the link {str(path)!r} leads nowhere")
        if path.is_dir():
            yield from _tables_in(path, visited)
        elif name.lower().endswith(ENDINGS):
            yield str(path)


def _identity(path: str | Path) -> tuple[int, int]:
    """Return two numbers that are the same for all names of a file or folder."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def ordinary(file: str) -> str:
    """Return the name of an ordinary file.

    Raises ValueError for a pipe or a device, because reading it might never end.
    """
    if not os.path.isfile(file):
        raise ValueError(f"source: there is no ordinary file {file!r}")
    return file


def _parquet(files: list[str], schema: pa.Schema | None = None) -> Any:
    """Return Parquet files as an Arrow dataset.

    The file names are not interpreted as patterns or addresses.
    """
    return pa.dataset.dataset(files, schema, "parquet", pa.fs.LocalFileSystem())


def _parquet_schema(
    file: str, wanted: Sequence[str]
) -> tuple[pa.Schema, tuple[str, ...]]:
    """Return the types of the wanted columns, and the names of all columns.

    Raises ValueError if the file is not a readable table.
    """
    try:
        schema = _parquet([file]).schema
    except Exception as error:
        raise ValueError(f"{file}: {_reason(error)}") from error
    types = pa.schema([field for field in schema if field.name in wanted])
    return types, tuple(schema.names)


def _reason(error: Exception) -> str:
    """Return, in one line, the reason why a database cannot read a file."""
    message = str(error).partition("Detail: Python exception")[0]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    words = " ".join(lines[:3])[:300] or type(error).__name__
    return f"not a readable table ({words})"


# --- tables in memory -----------------------------------------------------------------


def _read_frame(frame: Any, wanted: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """Return the wanted columns of a data frame as a table, and the frame's column
    names.

    The table is stored in an embedded database.
    """
    if hasattr(frame, "collect"):  # a lazy frame of Polars
        frame = frame.collect()
    if hasattr(frame, "to_arrow"):
        frame = frame.to_arrow()
    of_pandas = isinstance(frame, pd.DataFrame)
    if not of_pandas and not isinstance(frame, pa.Table):
        raise TypeError(
            "source must be a path, a DataFrame or an Ibis table, "
            f"got {type(frame).__name__}"
        )
    if of_pandas:
        levels = frame.columns.nlevels
        if levels > 1:
            raise ValueError(
                f"source: each column must have one name, got {levels} levels of names"
            )
        frame = frame.rename(columns=str)
    names = list(frame) if of_pandas else frame.column_names
    _refuse_others(wanted, names)
    try:
        if of_pandas:
            frame = pa.table({name: _arrow(frame[name]) for name in wanted})
        chosen = frame.select(wanted)
    except Exception as error:  # a column type that Arrow does not have
        raise ValueError(f"source: {_reason(error)}") from error
    return _table(scratch.connect()[0], *_scan(pa.dataset.dataset(chosen))), names


def _arrow(column: pd.Series) -> Any:
    """Return a pandas column as an Arrow array.

    Python objects become words, and values of other types keep their type.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if pd.api.types.is_object_dtype(dtype) or getattr(dtype, "storage", "") == "python":
        words = [whole_word(value) for value in column.astype(object)]
        return pa.array(words, pa.string())
    return pa.array(column, from_pandas=True)


# --- as DuckDB gets them --------------------------------------------------------------


def _scan(dataset: Any) -> tuple[Any, str, dict[str, str]]:
    """Return the last three arguments of `_table` for an Arrow dataset.

    Raises ValueError for a column of an unsupported type.
    """
    casts = {}
    fields = {}
    for name, datatype in zip(dataset.schema.names, dataset.schema.types):
        value = datatype.value_type if pa.types.is_dictionary(datatype) else datatype
        to, fields[name] = _read_as(value)
        if not fields[name]:
            raise ValueError(
                f"source: column {name!r} must be {', '.join(LABELS)}, numbers or "
                f"timestamps, got {datatype}"
            )
        column = pa.dataset.field(name)
        if value != datatype:
            column = column.cast(value)
        casts[name] = column if to == value else column.cast(to)
    return _Batches(dataset, casts), "SELECT * FROM {}", fields


class _Batches:
    """The columns of an Arrow dataset, as a stream whose errors name the file."""

    def __init__(self, dataset: Any, columns: Mapping[str, Any]) -> None:
        self.dataset = dataset
        self.columns = columns

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a new stream of all rows."""
        schema = self.dataset.scanner(self.columns).projected_schema
        reader = pa.RecordBatchReader.from_batches(schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        """Yield the rows of one file after another, a few MB at a time."""
        for part in self.dataset.get_fragments():
            scanner = part.scanner(
                schema=self.dataset.schema,
                columns=self.columns,
                batch_size=2**16,
                batch_readahead=2,
            )
            try:
                yield from scanner.to_batches()
            except (pa.ArrowException, OSError) as error:
                file = getattr(part, "path", "a table in memory")
                raise ValueError(f"{file}: {error}") from error


def _read_as(datatype: pa.DataType) -> tuple[Any, str]:
    """Return the type to which Arrow casts a column, and SQL that converts each value.

    The cast succeeds whatever the values are. The SQL yields null for a value that
    cannot be converted. For an unsupported type, "" is returned in place of the SQL.
    """
    of = pa.types
    if (
        of.is_string(datatype)
        or of.is_large_string(datatype)
        or of.is_string_view(datatype)
    ):
        return pa.large_binary(), "try(decode({}))"
    if of.is_date32(datatype):
        return pa.int32(), "try(CAST(DATE '1970-01-01' + {} AS VARCHAR))"
    if of.is_timestamp(datatype):
        factors = {"s": "* 1000000", "ms": "* 1000", "us": "", "ns": "// 1000"}
        return pa.int64(), f"try(make_timestamp({{}} {factors[datatype.unit]}))"
    if of.is_decimal(datatype) and datatype.scale == 0:
        return pa.string(), "{}"
    if of.is_floating(datatype) or of.is_decimal(datatype):
        return pa.float64(), "{}"
    if of.is_integer(datatype) or of.is_boolean(datatype):
        return datatype, "{}"
    if of.is_null(datatype):
        return datatype, "CAST({} AS VARCHAR)"
    return datatype, ""


def _table(connection: Any, stream: Any, rows: str, fields: Mapping[str, str]) -> Any:
    """Return a DuckDB table that is read from an Arrow stream.

    rows: SQL that selects rows from the stream; {} is replaced with the stream's name.

    fields: SQL for each column.
    """
    name = f"events_{uuid.uuid4().hex}"
    connection.con.register(f"{name}_read", stream)
    columns = ['"' + column.replace('"', '""') + '"' for column in fields]
    chosen = ", ".join(
        f"{sql.format(column)} AS {column}"
        for column, sql in zip(columns, fields.values())
    )
    selected = rows.format(f"{name}_read")
    connection.raw_sql(f"CREATE TEMP VIEW {name} AS SELECT {chosen} FROM ({selected})")
    return connection.table(name)


def _refuse_others(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError if a wanted column occurs twice or does not exist.

    The message suggests the nearest name.
    """
    for name in wanted:
        # databases do not tell From and from apart
        if sum(each.lower() == str(name).lower() for each in names) > 1:
            raise ValueError(f"source: the column {name!r} occurs twice")
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"source: there is no column {name!r} among "
                f"{', '.join(map(repr, names[:10]))}{hint}"
            )
