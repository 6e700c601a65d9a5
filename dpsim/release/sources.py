"""The one reader of user tables: csv, tsv and Parquet files, folders, DataFrames and Ibis tables.

What a table says must not depend on guesses that one row can change: every field of a text file is text, and values
become words one at a time (`labels.whole_word`), whatever else their column holds. Rows are read in a stream; nothing
is held in memory but what a query asks for.
"""

from __future__ import annotations

import difflib
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpsim.release import scratch, text
from dpsim.release.labels import whole_word

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
FORMATS = ".csv, .tsv (also .csv.gz, .tsv.gz) or .parquet"
WHOLE_TEXT = r"^(-?[0-9]+)\.0+$"
AROUND = r"^[ \t\r\n]+|[ \t\r\n]+$"  # no TRIM: for Spark, Ibis 12 lists "v" and "f" among the blanks


def read(
    source: Any, columns: Mapping[str, str], how: Mapping[str, Callable[[Any], Any]] | None = None
) -> tuple[Any, list[str]]:
    """Return an Ibis table of `columns` (from new name to name in the source), and all columns of the source.

    source: files of text (`FORMATS`), or of Parquet, or a folder of either: names are literal, each file counts once;
    a DataFrame of pandas, Polars or Arrow; a table of an Ibis connection, on a cluster for instance. how: what makes
    the values of a column, by its new name (default: `words`).

    >>> table, _ = read(pd.DataFrame({"zone": [97.0, None], "car": ["1.10", "1.1"]}), {"a": "zone"})
    >>> table.to_pandas()["a"].tolist()[0]
    '97'
    """
    ibis = scratch.ibis()
    wanted = list(dict.fromkeys(columns.values()))
    if isinstance(source, str | os.PathLike | list | tuple):
        read = _read_files([source] if isinstance(source, str | os.PathLike) else source, wanted)
    else:
        read = [(source, source.columns) if isinstance(source, ibis.Table) else _read_frame(source, wanted)]
        _refuse_others(wanted, read[0][1])
    made = dict.fromkeys(columns, words) | dict(how or {})
    chosen = [
        table.select(
            **{name: made[name](table[column]) for name, column in columns.items()},
            **{text.DAMAGED: table[text.DAMAGED] if text.DAMAGED in table.columns else ibis.literal(False)},
        )
        for table, _ in read
    ]
    return ibis.union(*chosen) if len(chosen) > 1 else chosen[0], [name for _, names in read for name in names]


def words(values: Any) -> Any:
    """Return a column as words, missing ones null; the type of the column and each value alone decide."""
    kind = values.type()
    if kind.is_floating():
        values = values.isnan().ifelse(None, values)
        integer = values.try_cast("int64")  # rounded: a fraction, and what is too large, does not come back
        whole = (integer.cast("float64") == values.cast("float64")).fill_null(False)
        exact = 2.0 ** {16: 11, 32: 24}.get(kind.nbytes * 8, 53)
        return (values.abs() < exact).ifelse(whole.ifelse(integer.cast("string"), values.cast("string")), None)
    values = values.cast("string")
    if kind.is_string():
        values = values.re_replace(AROUND, "")
    if kind.is_string() or kind.is_decimal():
        values = values.re_replace(WHOLE_TEXT, r"\1")
    return values.nullif("")


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
    connection, folder = scratch.connect()
    parquet = kinds.pop()
    groups: dict[Any, list[str]] = {}
    for place, file in enumerate(files):
        schema: tuple[Any, tuple[str, ...]] = _parquet_schema(file) if parquet else text.header(file)
        how, names = schema
        _refuse_others(wanted, names)
        if not parquet:
            file = text.with_rows_on_lines(file, how, len(names), folder)
        link = folder / f"{place}{Path(file).suffix.lower()}"
        link.symlink_to(os.path.abspath(file))  # a name that no database takes for a pattern or an address
        groups.setdefault((how, names), []).append(str(link))
    try:
        return [
            (connection.read_parquet(links, hive_partitioning=False), names)
            if parquet
            else (text.table(connection, links, how, names, wanted), names)
            for (how, names), links in groups.items()
        ]
    except Exception as error:  # DuckDB has classes of its own
        raise ValueError(f"{', '.join(paths)}: {_reason(error)}") from error


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


def _parquet_schema(file: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the types and names of a file's columns, by which equal files are read together."""
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(file)
    except Exception as error:
        raise ValueError(f"{file}: {_reason(error)}") from error
    return tuple(map(str, schema.types)), tuple(schema.names)


def _reason(error: Exception) -> str:
    """Return in one line why a database refuses a file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return f"not a readable table ({' '.join(lines[:3])[:300]})"


# --- tables in memory -------------------------------------------------------------------------------------------------


def _read_frame(frame: Any, wanted: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """Put the columns of a data frame into a temporary table of an embedded database; return all their names too."""
    import pyarrow as pa

    frame = frame.collect() if hasattr(frame, "collect") else frame  # a lazy frame of Polars
    frame = frame.to_arrow() if hasattr(frame, "to_arrow") else frame
    of_pandas = isinstance(frame, pd.DataFrame)
    if not of_pandas and not isinstance(frame, pa.Table):
        raise TypeError(f"source must be a path, a DataFrame or an Ibis table, got {type(frame).__name__}")
    frame = frame.rename(columns=str) if of_pandas else frame
    names = list(frame) if of_pandas else frame.column_names
    _refuse_others(wanted, names)
    try:
        table = (
            pa.Table.from_pandas(_in_words(frame[wanted]), preserve_index=False) if of_pandas else frame.select(wanted)
        )
        kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in table.schema.types]
        connection, _ = scratch.connect()
        table = table.cast(pa.schema(zip(wanted, kinds)))
        return connection.create_table(f"events_{uuid.uuid4().hex}", obj=table, temp=True), names
    except Exception as error:  # a type of column that Arrow or the database does not have
        raise ValueError(f"source: {_reason(error)}") from error


def _in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns of Python objects are words."""
    mixed = frame.select_dtypes(object, exclude="str")
    return frame.assign(**{name: pd.array([whole_word(value) for value in mixed[name]], dtype="str") for name in mixed})


def _refuse_others(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError where a column that is wanted is not there, with the nearest name, or is there twice."""
    for name in wanted:
        if sum(each.lower() == str(name).lower() for each in names) > 1:  # databases do not tell From and from apart
            raise ValueError(f"source: the column {name!r} occurs twice")
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"source: there is no column {name!r} among {', '.join(map(repr, names[:10]))}{hint}")
