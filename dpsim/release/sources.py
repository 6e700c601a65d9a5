"""The one reader of user tables: csv, tsv and Parquet files, folders, DataFrames and Ibis tables.

What a table says must not depend on guesses that one row can change. The types of the columns settle what is read, and
refuse what is not, before a row is (every field of a text file is text). Within a type each value is tried by itself:
one that cannot be read is missing, whatever else its column holds. Rows are read in a stream of Arrow, never by a
database's own readers; nothing is held in memory but what a query asks for.
"""

from __future__ import annotations

import difflib
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs

from dpsim.release import scratch, text
from dpsim.release.labels import AROUND, WHOLE_TEXT, whole_word
from dpsim.release.scratch import ibis

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
FORMATS = ".csv, .tsv (also .csv.gz, .tsv.gz) or .parquet"
LARGEST_COUNT = 10**9  # in one row of a table of counts
LABELS, NUMBERS = ("text", "whole numbers", "booleans", "dates"), ("text", "whole numbers")


def read(
    source: Any, columns: Mapping[str, str], how: Mapping[str, Callable[[Any], Any]] | None = None
) -> tuple[Any, list[str]]:
    """Return an Ibis table of `columns` (from new name to name in the source), and all columns of the source.

    source: files of text (`FORMATS`), or of Parquet, or a folder of either: names are literal, each file counts once;
    a DataFrame of pandas, Polars or Arrow; a table of an Ibis connection, on a cluster for instance. how: what makes
    the values of a column, by its new name (default: `words`).

    >>> table, _ = read(pd.DataFrame({"zone": [97, 5], "car": ["1.10", "1.1"]}), {"a": "zone", "b": "car"})
    >>> table.to_pandas().iloc[:, :2].values.tolist()
    [['97', '1.10'], ['5', '1.1']]
    """
    scratch.versions()  # or it says what to install
    wanted = list(dict.fromkeys(columns.values()))
    if isinstance(source, str | os.PathLike | list | tuple):
        read = _read_files([source] if isinstance(source, str | os.PathLike) else source, wanted)
    else:
        read = [(source, source.columns) if isinstance(source, ibis.Table) else _read_frame(source, wanted)]
        _refuse_others(wanted, read[0][1])
    made = dict.fromkeys(columns, words) | dict(how or {})
    chosen = []
    for table, _ in read:
        damaged = table[text.DAMAGED] if text.DAMAGED in table.columns else ibis.literal(False)
        fields = {name: made[name](table[column]) for name, column in columns.items()}
        chosen.append(table.select(**fields, **{text.DAMAGED: damaged}))
    return ibis.union(*chosen) if len(chosen) > 1 else chosen[0], [name for _, names in read for name in names]


def words(values: Any, allowed: Sequence[str] = LABELS) -> Any:
    """Return a column as words, missing ones null: each value by itself; ValueError for a type that is not allowed."""
    kind = values.type()
    whole = kind.is_integer() or (kind.is_decimal() and kind.scale == 0)
    is_a = {"text": kind.is_string(), "whole numbers": whole, "booleans": kind.is_boolean(), "dates": kind.is_date()}
    if not any(is_a[name] for name in allowed):
        hint = ": make it text or Int64" if kind.is_floating() else ""
        raise ValueError(f"source: column {values.get_name()!r} must be {' or '.join(allowed)}, got {kind}{hint}")
    text = values.cast("string")
    if kind.is_string():
        text = text.re_replace(AROUND, "").re_replace(WHOLE_TEXT, r"\1")
    return text.nullif("")


def whole_numbers(values: Any) -> Any:
    """Return a column as whole numbers from 0 to `LARGEST_COUNT`, which larger ones count as; null where none is."""
    digits = words(values, NUMBERS).re_extract("^0*([0-9]+)$", 1).nullif("")
    return (digits.length() > 9).ifelse(LARGEST_COUNT, digits.try_cast("int64"))


def fetched(table: Any) -> pd.DataFrame:
    """Return what a query gives; a database that cannot read the source says so in one line (ValueError)."""
    try:
        return table.to_pyarrow().to_pandas()
    except Exception as error:  # each database has its own classes
        raise ValueError(f"source: {_reason(error)}") from error


# --- files ------------------------------------------------------------------------------------------------------------


def _read_files(named: Iterable[str | os.PathLike[str]], wanted: Sequence[str]) -> list[tuple[Any, Sequence[str]]]:
    """Return a table, and the names of all columns, for each schema among the files: all text, or all Parquet."""
    paths = [os.fspath(path) for path in named]
    files = _files(paths)
    kinds = {file.lower().endswith(".parquet") for file in files}
    if len(kinds) != 1 or not all(file.lower().endswith(ENDINGS) for file in files):
        raise ValueError(f"source must be files that end in {FORMATS}, all text or all Parquet, got {', '.join(paths)}")
    parquet = kinds.pop()
    groups: dict[Any, list[str]] = {}
    for file in files:
        how, names = _parquet_schema(file, wanted) if parquet else text.header(file)
        _refuse_others(wanted, names)
        groups.setdefault((how, names), []).append(file)
    connection, _ = scratch.connect()
    made = (
        _scanned(_parquet(some, how)) if parquet else text.rows(some, how, names, wanted)
        for (how, names), some in groups.items()
    )
    return [(_table(connection, *each), names) for each, (_, names) in zip(made, groups)]


def _files(paths: Sequence[str]) -> list[str]:
    """Return the files that paths name, themselves or by their folder, each once; ValueError where there are none."""
    found: dict[tuple[int, int], str] = {}
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            every = sorted(Path(at, name) for at, _, names in os.walk(path, onerror=_refuse) for name in names)
            tables = [file for file in every if file.name.lower().endswith(ENDINGS)]
            inside = [str(file) for file in tables if not any(p[0] in "._" for p in file.relative_to(path).parts)]
            if not inside:
                raise ValueError(f"source: the folder {path!r} holds no file that ends in {FORMATS}")
        for file in inside:
            status = os.stat(ordinary(file))
            found.setdefault((status.st_dev, status.st_ino), file)
    return list(found.values())


def _refuse(error: OSError) -> None:
    """Raise the error of a folder that is closed to us: a table that lacks what lies in there would be counted."""
    raise error


def ordinary(file: str) -> str:
    """Return the name of a file that is there and no pipe or device, which could keep us waiting (ValueError)."""
    if not os.path.isfile(file):
        raise ValueError(f"source: there is no ordinary file {file!r}")
    return file


def _parquet(files: list[str], schema: pa.Schema | None = None) -> Any:
    """Return Parquet files as a dataset of Arrow; their names are names, no patterns and no addresses."""
    return pa.dataset.dataset(files, schema, "parquet", pa.fs.LocalFileSystem())


def _parquet_schema(file: str, wanted: Sequence[str]) -> tuple[pa.Schema, tuple[str, ...]]:
    """Return the types of the columns that are wanted, and the names of all (ValueError)."""
    try:
        schema = _parquet([file]).schema
    except Exception as error:
        raise ValueError(f"{file}: {_reason(error)}") from error
    return pa.schema([field for field in schema if field.name in wanted]), tuple(schema.names)


def _reason(error: Exception) -> str:
    """Return in one line why a database refuses a file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return f"not a readable table ({' '.join(lines[:3])[:300]})"


# --- tables in memory -------------------------------------------------------------------------------------------------


def _read_frame(frame: Any, wanted: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """Return the columns of a data frame as a table of an embedded database, and all their names."""
    frame = frame.collect() if hasattr(frame, "collect") else frame  # a lazy frame of Polars
    frame = frame.to_arrow() if hasattr(frame, "to_arrow") else frame
    of_pandas = isinstance(frame, pd.DataFrame)
    if not of_pandas and not isinstance(frame, pa.Table):
        raise TypeError(f"source must be a path, a DataFrame or an Ibis table, got {type(frame).__name__}")
    frame = frame.rename(columns=str) if of_pandas else frame
    names = list(frame) if of_pandas else frame.column_names
    _refuse_others(wanted, names)
    try:
        chosen = pa.table({name: _arrow(frame[name]) for name in wanted}) if of_pandas else frame.select(wanted)
    except Exception as error:  # a type of column that Arrow does not have
        raise ValueError(f"source: {_reason(error)}") from error
    return _table(scratch.connect()[0], *_scanned(pa.dataset.dataset(chosen))), names


def _arrow(column: pd.Series) -> Any:
    """Return a column of pandas for Arrow: Python's objects as words, value by value, all else by its type."""
    kind = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if pd.api.types.is_object_dtype(kind) or getattr(kind, "storage", "") == "python":
        return pa.array([whole_word(value) for value in column.astype(object)], pa.string())
    return pa.array(column, from_pandas=True)


# --- as DuckDB gets them ----------------------------------------------------------------------------------------------


def _scanned(dataset: Any) -> tuple[Any, str, dict[str, str]]:
    """Return what `_table` makes a table of an Arrow dataset of; ValueError for a type that nothing is read from."""
    casts, fields = {}, {}
    for name, kind in zip(dataset.schema.names, dataset.schema.types):
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        to, fields[name] = _read_as(value)
        if not fields[name]:
            raise ValueError(f"source: column {name!r} must be {', '.join(LABELS)}, numbers or timestamps, got {kind}")
        column = pa.dataset.field(name) if value == kind else pa.dataset.field(name).cast(value)
        casts[name] = column if to == value else column.cast(to)
    scanner = dataset.scanner(casts, batch_size=2**16, batch_readahead=2, fragment_readahead=1)  # some MB at a time
    return scanner, "SELECT * FROM {}", fields


def _read_as(kind: pa.DataType) -> tuple[Any, str]:
    """Return the type that Arrow casts a column to whatever its values are, and the SQL that tries each ("": none)."""
    of = pa.types
    if of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind):
        return pa.large_binary(), "try(decode({}))"
    if of.is_date32(kind):
        return pa.int32(), "try(CAST(DATE '1970-01-01' + {} AS VARCHAR))"
    if of.is_timestamp(kind):
        factor = {"s": "* 1000000", "ms": "* 1000", "us": "", "ns": "// 1000"}[kind.unit]
        return pa.int64(), f"try(make_timestamp({{}} {factor}))"
    if of.is_floating(kind) or of.is_decimal(kind):
        return pa.string() if of.is_decimal(kind) and kind.scale == 0 else pa.float64(), "{}"
    sql = {of.is_integer(kind) or of.is_boolean(kind): "{}", of.is_null(kind): "CAST({} AS VARCHAR)"}.get(True, "")
    return kind, sql


def _table(connection: Any, stream: Any, rows: str, fields: Mapping[str, str]) -> Any:
    """Return fields, in SQL, of the rows that SQL makes of a stream of Arrow, as a table of DuckDB."""
    name = f"events_{uuid.uuid4().hex}"
    connection.con.register(f"{name}_read", stream)
    columns = ['"' + column.replace('"', '""') + '"' for column in fields]
    chosen = ", ".join(f"{sql.format(column)} AS {column}" for column, sql in zip(columns, fields.values()))
    connection.raw_sql(f"CREATE TEMP VIEW {name} AS SELECT {chosen} FROM ({rows.format(f'{name}_read')})")
    return connection.table(name)


def _refuse_others(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError where a column that is wanted is not there, with the nearest name, or is there twice."""
    for name in wanted:
        if sum(each.lower() == str(name).lower() for each in names) > 1:  # databases do not tell From and from apart
            raise ValueError(f"source: the column {name!r} occurs twice")
        if name not in names:
            hint = "".join(f"; did you mean {near!r}?" for near in difflib.get_close_matches(str(name), names, n=1))
            raise ValueError(f"source: there is no column {name!r} among {', '.join(map(repr, names[:10]))}{hint}")
