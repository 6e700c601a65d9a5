"""The one reader of user tables: csv, tsv, jsonl and Parquet files, folders, globs, DataFrames and Ibis tables.

What a table says must not depend on guesses that one row can change. So the dialect of a text file follows from its
ending and its header, every column that is asked for is read as text, and values become words one at a time:

- a whole number is its digits: 97, 97.0 in a column of floats, and the text "97.0" are all the word 97;
- "007" stays "007", blanks round a word are none of it, and an empty field or a NaN is missing;
- an identifier is compared exactly as it is written, integers of any length included.

Rows are read in a stream; nothing is held in memory but what a query asks for. A `where` is SQL of the connection's own
dialect, written by the owner of the data and run as it stands.
"""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import io
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpsim.datasets import spill

KINDS = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
PACKED = (".gz", ".zst")
FORMATS = ".csv, .tsv, .jsonl (each also with .gz or .zst) or .parquet"
DELIMITERS = (",", ";", "\t", "|")
SHOWN = 10  # columns and values that a message lists
UTF8 = "is not UTF-8 text: save it as UTF-8 (for instance `iconv -f LATIN1 -t UTF-8 old.csv > new.csv`)"
WHOLE_TEXT = r"^(-?[0-9]+)\.0+$"
BLANKS = " \t\r\n"
AROUND = r"^[ \t\r\n]+|[ \t\r\n]+$"  # no TRIM: for Spark, Ibis 12 lists "v" and "f" among the blanks


def open_events(
    source: Any,
    columns: Mapping[str, str],
    *,
    where: str | None = None,
    ids: Sequence[str] = (),
    connection: Any = None,
) -> Any:
    """Return an Ibis table of the columns asked for, as words, under the names asked for.

    Parameters
    ----------
    source : path, DataFrame or Ibis table
        A .csv, .tsv or .jsonl file (also .gz or .zst), a .parquet file, a folder or a glob of files that are all
        alike; a DataFrame of pandas, Polars or Arrow; a table of an Ibis connection, on a cluster for instance.
    columns : mapping of str to str
        The name that each column gets, and the name that it has in the source.
    where : str, optional
        A SQL boolean over the source's columns ("fare_amount > 10"): the rows to keep.
    ids : sequence of str
        Those of the names whose values are identifiers: text stays exactly as it is written, and floats too large to
        be told apart are missing.
    connection : ibis.BaseBackend, optional
        What reads the files (default: `connect()`; an Ibis table brings its own).

    Returns
    -------
    ibis.Table
        String columns named as `columns` says; missing values are null.

    Raises
    ------
    ValueError
        There is no such file or column, a file is not what its ending says, `where` fails.
    TypeError
        The source is none of these.

    Examples
    --------
    >>> table = open_events(pd.DataFrame({"zone": [97.0, None], "car": ["1.10", "1.1"]}), {"a": "zone"})
    >>> table.to_pandas()["a"].tolist()[0]
    '97'
    """
    return as_words(read(source, where=where, text=list(columns.values()), connection=connection), columns, ids)


def read(source: Any, *, where: str | None = None, text: Sequence[str] = (), connection: Any = None) -> list[Any]:
    """Return the source as Ibis tables, one for each schema among its files, filtered by `where`.

    text: the columns of text files that must not be guessed at; without `where` none are. See `open_events`.
    """
    import ibis

    if isinstance(source, ibis.Table):
        tables = [source]
    elif isinstance(source, str | os.PathLike):
        tables = _read_files(os.fspath(source), connection or spill.connect(), None if where is None else text)
    else:
        tables = [_read_frame(source, text, connection or spill.connect())]
    return tables if where is None else [_filtered(table, where) for table in tables]


def as_words(tables: Sequence[Any], columns: Mapping[str, str], ids: Sequence[str] = ()) -> Any:
    """Return the columns of all tables as words, one below the other; `open_events` says how."""
    import ibis

    chosen = [
        table.select(**{name: _word(table[_column(table, column)], name in ids) for name, column in columns.items()})
        for table in tables
    ]
    return ibis.union(*chosen) if len(chosen) > 1 else chosen[0]


def whole_word(value: Any) -> str | None:
    """Return one value as the word that the reader makes of it, None when it is missing.

    >>> [whole_word(value) for value in (97, 97.0, "97.0", "007", " a ", 1.5, " ", None)]
    ['97', '97', '97', '007', 'a', '1.5', None, None]
    """
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).strip(BLANKS)
    if not text:
        return None
    whole, _, fraction = text.rpartition(".")
    if whole.removeprefix("-").isascii() and whole.removeprefix("-").isdigit() and fraction and not fraction.strip("0"):
        return whole
    return text


def is_table(file: str) -> bool:
    """Return whether the name of a file ends as that of a table that `open_events` reads.

    >>> is_table("pages.csv.gz"), is_table("pages.txt")
    (True, False)
    """
    return _kind(_ending(file)) is not None


def listed(values: Sequence[Any]) -> str:
    """Return the first values for a message, words in quotes."""
    shown = ", ".join(repr(value) if isinstance(value, str) else str(value) for value in values[:SHOWN])
    return shown + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")


# --- files ------------------------------------------------------------------------------------------------------------


def _read_files(path: str, connection: Any, text: Sequence[str] | None) -> list[Any]:
    """Return a table for each schema among the files, which must all be of one kind."""
    files = _files(path)
    endings = sorted({_ending(file) for file in files})
    kind = _kind(endings[0])
    if len(endings) != 1 or kind is None:
        raise ValueError(f"source must be files that end in {FORMATS}, all alike, got {path!r} ({', '.join(endings)})")
    groups: dict[Any, list[str]] = {}
    for file in files:
        groups.setdefault(_schema(file, kind), []).append(file)
    readers = {"csv": _read_csv, "json": _read_json, "parquet": _read_parquet}
    return [_refused_plainly(readers[kind], same, schema, connection, text) for schema, same in groups.items()]


def _refused_plainly(reader: Any, files: list[str], schema: Any, connection: Any, text: Sequence[str] | None) -> Any:
    """Read files of one schema; what the database cannot read becomes a ValueError that names the file."""
    try:
        return reader(files, schema, connection, text)
    except Exception as error:  # each database has its own classes
        raise ValueError(f"{files[0]}: {_reason(error)}") from error


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
        raise ValueError(
            f"source {source if isinstance(source, str | os.PathLike) else ''}: {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """Return in one line why a database refuses a file."""
    said = str(error)
    if "utf-8 encoded" in said.lower() or "invalid unicode" in said.lower():
        return f"the file {UTF8}"
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [type(error).__name__]
    return f"not a readable table ({' '.join(lines[:3])[:300]})"


def _ending(file: str) -> str:
    """Return the ending in small letters: ".csv", or ".csv.gz" of a packed file."""
    path = Path(file.lower())
    return Path(path.stem).suffix + path.suffix if path.suffix in PACKED else path.suffix


def _kind(ending: str) -> str | None:
    packed = ending.endswith(PACKED)
    kind = KINDS.get(ending.rpartition(".")[0] if packed else ending)
    return None if packed and kind == "parquet" else kind


def _files(path: str) -> list[str]:
    """Return the files that a path, folder or pattern names; ValueError where there are none."""
    if os.path.isdir(path):
        inside = sorted(
            str(file)
            for file in Path(path).rglob("*")
            if _kind(_ending(file.name)) and not any(part[0] in "._" for part in file.relative_to(path).parts)
        )
        if not inside:
            raise ValueError(f"source: the folder {path!r} holds no file that ends in {FORMATS}")
        return inside
    if os.path.exists(path):
        return [path]
    found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    if not found:
        raise ValueError(f"source: there is no file {path!r}")
    return found


def _schema(file: str, kind: str) -> Any:
    """Return what decides how a file is read; refuse one that is not what its ending says."""
    size = os.path.getsize(file)
    with open(file, "rb") as stream:
        start = stream.read(4)
        stream.seek(max(0, size - 4))
        end = stream.read(4)
    if not size:
        raise ValueError(f"{file}: the file is empty")
    if kind == "parquet":
        if not (start == end == b"PAR1"):
            raise ValueError(f"{file}: not a Parquet file although its name ends in .parquet (or it was cut short)")
        return _parquet_schema(file)
    ending = _ending(file)
    for tail, magic in ((".gz", b"\x1f\x8b"), (".zst", b"\x28\xb5\x2f\xfd")):
        if ending.endswith(tail) != start.startswith(magic):
            raise ValueError(f"{file}: the name ends in {ending}, but the file is not what that says")
    first = _first_record(file, ending)
    if kind == "json":
        return "json"
    return _header(file, first, ending)


def _parquet_schema(file: str) -> tuple[tuple[str, str], ...]:
    """Return the names and types of a file's columns, by which equal files are read together."""
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(file)
    except Exception as error:
        raise ValueError(f"{file}: {_reason(error)}") from error
    return tuple((field.name, str(field.type)) for field in schema)


def _first_record(file: str, ending: str) -> str:
    """Return the first lines of a text file, up to 64 KiB."""
    import pyarrow as pa

    try:
        if ending.endswith(".gz"):
            with gzip.open(file) as stream:
                start = stream.read(1 << 16)
        elif ending.endswith(".zst"):
            with pa.CompressedInputStream(pa.OSFile(file), "zstd") as stream:
                start = stream.read(1 << 16)
        else:
            with open(file, "rb") as stream:
                start = stream.read(1 << 16)
    except (OSError, EOFError) as error:
        raise ValueError(f"{file}: the file is damaged ({error})") from error
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{file}: the file {UTF8.replace('LATIN1', 'UTF-16')}")
    if b"\0" in start or start[:4] == b"PAR1":
        raise ValueError(f"{file}: not a text file although its name ends in {ending}")
    line = start.partition(b"\n")[0]
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: the file {UTF8}") from error
    return start.decode("utf-8-sig", errors="replace")


def _header(file: str, text: str, ending: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names of the columns, from the header alone: no row of data decides it."""
    delimiter = "\t" if ending.startswith(".tsv") else None
    for candidate in (delimiter,) if delimiter else DELIMITERS:
        names = next(csv.reader(io.StringIO(text), delimiter=candidate), [])
        if len(names) > 1:
            break
    else:
        candidate = delimiter or ","
        names = next(csv.reader(io.StringIO(text), delimiter=candidate), [])
    if not any(names):
        raise ValueError(f"{file}: the first line must name the columns, it is empty")
    named = [name or f"column{place}" for place, name in enumerate(names)]
    small = [name.lower() for name in named]
    twice = [name for place, name in enumerate(named) if small[place] in small[:place]]
    if twice:
        raise ValueError(f"{file}: the header must name each column once, it has {twice[0]!r} again")
    return candidate, tuple(named)


def _read_csv(files: list[str], schema: Any, connection: Any, text: Sequence[str] | None) -> Any:
    """Read csv files with DuckDB as text, so that labels keep their zeros; columns of a condition get guessed types."""
    delimiter, names = schema
    if connection.name != "duckdb":
        return connection.read_csv(files if len(files) > 1 else files[0], header=True, sep=delimiter)
    dialect = {"delim": delimiter, "quote": '"', "escape": '"', "header": True, "skip": 0, "comment": ""}
    kinds = dict.fromkeys(names, "VARCHAR")
    if text is not None:  # the condition's columns need types: guessed from the whole file
        guess = connection.read_csv(files, **dialect, sample_size=-1)
        guessed = {name: str(kind) for name, kind in zip(guess.columns, _database_types(connection, guess))}
        kinds |= {name: guessed.get(name, "VARCHAR") for name in names if name not in text}
    return connection.read_csv(files, columns=kinds, auto_detect=False, **dialect)


def _read_json(files: list[str], schema: Any, connection: Any, text: Sequence[str] | None) -> Any:
    """Read json lines with DuckDB with labels as text; other columns keep the types it finds."""
    if connection.name != "duckdb":
        return connection.read_json(files if len(files) > 1 else files[0])
    form = {"format": "newline_delimited", "union_by_name": True}
    guess = connection.read_json(files, **form)
    kinds = dict(zip(guess.columns, _database_types(connection, guess)))
    kinds |= {name: "VARCHAR" for name in kinds if text is None or name in text}
    return connection.read_json(files, columns=kinds, **form)


def _database_types(connection: Any, table: Any) -> list[str]:
    return [str(row[1]) for row in connection.con.sql(f"DESCRIBE {table.compile()}").fetchall()]


def _read_parquet(files: list[str], schema: Any, connection: Any, text: Sequence[str] | None) -> Any:
    return connection.read_parquet(files if len(files) > 1 else files[0])


# --- tables in memory -------------------------------------------------------------------------------------------------


def _read_frame(frame: Any, text: Sequence[str], connection: Any) -> Any:
    """Put a data frame into a temporary table of the database."""
    try:
        table = _arrow(frame, text)
        return connection.create_table(f"events_{uuid.uuid4().hex}", obj=table, temp=True)
    except (TypeError, ValueError):
        raise
    except Exception as error:  # each library has its own classes
        raise ValueError(f"source: {_reason(error)}") from error


def _arrow(frame: Any, text: Sequence[str]) -> Any:
    """Return a DataFrame as an Arrow table whose columns all have a type."""
    import pyarrow as pa

    if isinstance(frame, pd.DataFrame):
        table = pa.Table.from_pandas(_pandas_columns(frame, text), preserve_index=False)
    elif isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "collect"):  # a lazy frame of Polars
        table = frame.collect().to_arrow()
    elif hasattr(frame, "to_arrow"):
        table = frame.to_arrow()
    else:
        raise TypeError(f"source must be a path, a DataFrame or an Ibis table, got {type(frame).__name__}")
    if not table.num_columns:
        raise ValueError("source must have columns, got a table without")
    plain = {pa.null(): pa.string()}
    for place, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else plain.get(field.type, field.type)
        table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def _pandas_columns(frame: pd.DataFrame, text: Sequence[str]) -> pd.DataFrame:
    """Return the frame with words where the values of a column have no one type."""
    import pyarrow as pa

    frame = frame.reset_index(drop=True).rename(columns=str)
    if not frame.columns.is_unique:
        raise ValueError(f"source: the column {frame.columns[frame.columns.duplicated()][0]!r} occurs twice")
    for name in frame.select_dtypes(object, exclude="str").columns:
        try:
            if name in text:
                raise pa.ArrowInvalid("its values are words, one at a time")
            pa.array(frame[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            words = [value if isinstance(value, str) else whole_word(value) for value in frame[name]]
            frame[name] = pd.array(words, dtype="str")
    return frame


# --- values -----------------------------------------------------------------------------------------------------------


def _word(values: Any, is_id: bool) -> Any:
    """Return a column as words, missing ones null; the type of the column and each value alone decide."""
    kind = values.type()
    if kind.is_floating():
        values = values.isnan().ifelse(None, values)
        exact = 2.0 ** {16: 11, 32: 24}.get(kind.nbytes * 8, 53)  # beyond, neighbouring whole numbers are one float
        integer = values.try_cast("int64")  # rounded: a fraction, and what is too large, does not come back
        whole = ((integer.cast("float64") == values.cast("float64")) & (values.abs() < exact)).fill_null(False)
        other = (values.abs() < exact).ifelse(values.cast("string"), None) if is_id else values.cast("string")
        return whole.ifelse(integer.cast("string"), other)
    words = values.cast("string")
    if kind.is_string() and not is_id:
        words = words.re_replace(AROUND, "").re_replace(WHOLE_TEXT, r"\1")
    elif kind.is_decimal():
        words = words.re_replace(WHOLE_TEXT, r"\1")
    return words.nullif("")


def _filtered(table: Any, where: str) -> Any:
    """Return the rows that meet the user's SQL condition; ValueError naming the columns where it is none."""
    if not isinstance(where, str) or not where.strip():
        raise ValueError(f"where must be a SQL boolean, got {where!r}")
    name = f"events_{uuid.uuid4().hex}"
    try:
        return table.alias(name).sql(f"SELECT * FROM {name} WHERE (\n{where}\n)")
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise ValueError(
            f"where must be a SQL boolean over the columns {listed(table.columns)}, got {where!r} ({reason})"
        ) from error


def _column(table: Any, name: str) -> str:
    """Return the name of a column once the table has it; ValueError with the nearest name otherwise."""
    if name not in table.columns:
        near = difflib.get_close_matches(str(name), table.columns, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"source: there is no column {name!r} among {listed(table.columns)}{hint}")
    return name
