"""From tables of events to counts of transitions, through Ibis: DuckDB on this machine, or any other connection.

Rows are read in a stream and grouped by the database, so that memory is bounded by its limit and by the number of
distinct pairs, whatever the number of rows. A `where` is SQL of the connection's own dialect.
"""

from __future__ import annotations

import difflib
import glob
import os
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpsim import checks, streams
from dpsim.datasets import limits

Integers = NDArray[np.int64]

MEMORY_LIMIT = "1GiB"  # of the embedded DuckDB; it spills to the temporary folder beyond
FORMATS = {".csv": "read_csv", ".parquet": "read_parquet"}
SHOWN = 10  # strangers and columns that a message lists


def connect() -> Any:
    """Return an embedded DuckDB connection of Ibis: memory at most `MEMORY_LIMIT`, threads as `streams.threads`."""
    import ibis  # slow to import, and most commands count nothing

    return ibis.duckdb.connect(
        memory_limit=MEMORY_LIMIT,
        threads=streams.threads(),
        temp_directory=tempfile.gettempdir(),
        preserve_insertion_order=False,
    )


def open_events(source: Any, *, where: str | None = None, connection: Any = None, words: Sequence[str] = ()) -> Any:
    """Return an Ibis table of the events.

    source: the path of a .csv or .parquet file, a glob, a folder of such files, a DataFrame, or an Ibis table.
    where: a SQL boolean ("fare_amount > 10"), the rows to keep. connection: an Ibis connection that reads the files
    (default: `connect()`; an Ibis table brings its own). words: columns of a csv to read as text, so that "007" stays
    what it is. Raises ValueError when there is no such file, a file is not what its ending says, or `where` fails.
    """
    import ibis

    if isinstance(source, ibis.Table):
        table = source
    elif isinstance(source, pd.DataFrame):
        if not len(source.columns):
            raise ValueError("source must have columns, got a DataFrame without")
        table = (connection or connect()).create_table(f"events_{uuid.uuid4().hex}", obj=source, temp=True)
    elif isinstance(source, str | os.PathLike):
        table = _read_files(os.fspath(source), connection or connect(), words)
    else:
        raise TypeError(f"source must be a path, a DataFrame or an Ibis table, got {type(source).__name__}")
    return table if where is None else _filtered(table, where)


def count_transitions(
    source: Any,
    origin: str,
    destination: str,
    *,
    where: str | None = None,
    categories: Sequence[Any] | None = None,
    outside: str = "error",
    unit: str | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
    connection: Any = None,
) -> pd.DataFrame:
    """Return columns origin, destination, trips: how often each transition occurs, pairs that occur only, sorted.

    source, where, connection: as `open_events`. origin, destination: names of columns. Labels are integers when all
    are whole numbers, else words; a pair of declared categories comes back as it was declared.
    categories: the labels that may occur, declared without looking at the data; other labels raise ValueError, which
    lists them, or, with outside="drop", are left out.
    unit, events_per_row (c), rows (r): keep of each unit at most r origins and c events in each of them, before
    counting. Which ones is decided by an md5 hash of the unit and the event, so that it depends on the unit's own
    events alone: adding or removing a unit changes nothing else, which is what privacy for units needs.

    `.attrs["report"]` of the result is {"rows", "missing", "outside", "truncated", "kept"}: the rows read (after
    `where`), those without an origin, destination or unit, those outside the categories, those truncated, and the rest.
    These numbers are the data owner's, not part of a private release. Raises ValueError for missing columns (with the
    columns there are) and when no row is left.
    """
    outside = checks.choice("outside", outside, ("error", "drop"))
    declared = None if categories is None else distinct_labels("categories", categories)
    c, r = _limits(unit, events_per_row, rows)
    table = open_events(source, where=where, connection=connection, words=[origin, destination])
    events = _named(table, {"origin": origin, "destination": destination} | ({"unit": unit} if unit else {}))

    grouped = events.group_by(["origin", "destination"] + (["no_unit"] if unit else []))
    counted = grouped.aggregate(trips=events.count()).to_pandas()
    total = int(counted["trips"].sum())
    if not total:
        raise ValueError(f"source: no rows{' are left by where' if where else ''}, there must be at least one")
    missing = counted[["origin", "destination"]].isna().any(axis=1)
    if unit:
        missing |= counted["no_unit"]
    pairs = _whole(counted[~missing])
    strange = _strangers(pairs, declared)
    if strange.any() and outside == "error":
        raise ValueError(_refusal(pairs[strange], declared or []))
    pairs = pairs[~strange]
    before = int(pairs["trips"].sum())
    if unit:
        pairs = _whole(_truncated(events, declared, c, r).to_pandas())
    kept = int(pairs["trips"].sum())
    if not kept:
        raise ValueError("source: no row has an origin and a destination among the categories, at least one must")
    result = _labelled(pairs, declared)
    result.attrs["report"] = {
        "rows": total,
        "missing": int(counted.loc[missing, "trips"].sum()),
        "outside": total - int(counted.loc[missing, "trips"].sum()) - before,
        "truncated": before - kept,
        "kept": kept,
    }
    result.attrs[limits.RECORD] = limits.Limits(kept, *((c, r) if unit else (None, None)))
    return result


def trajectory_transitions(
    source: Any, unit: str, time: str, state: str, *, where: str | None = None, connection: Any = None
) -> Any:
    """Return an Ibis table with columns unit, origin, destination: each unit's states in the order of time, in pairs.

    For `count_transitions`, which also takes unit="unit" then. source, where, connection: as `open_events`. Rows at
    the same time are put in the order of their states. A row without a state breaks its unit's trajectory, and one
    without unit or time stands alone: both give rows with gaps, which count_transitions reports as missing.
    """
    import ibis

    table = open_events(source, where=where, connection=connection, words=[state])
    rows = table.select(**{name: table[_column(table, column)] for name, column in
                           (("unit", unit), ("time", time), ("state", state))})  # fmt: skip
    placed = rows.filter(rows.unit.notnull() & rows.time.notnull())
    window = ibis.window(group_by=placed.unit, order_by=[placed.time, placed.state])
    moves = placed.mutate(destination=placed.state.lead().over(window), more=placed.unit.lead().over(window).notnull())
    lost = rows.filter(rows.unit.isnull() | rows.time.isnull())
    nothing = ibis.null(rows.state.type())
    return (
        moves.filter(moves.more)
        .select("unit", origin="state", destination="destination")
        .union(lost.select("unit", origin=nothing, destination=nothing))
    )


def distinct_labels(name: str, labels: Sequence[Any]) -> list[Any]:
    """Return the labels as a list once there are at least two, all different and none missing (ValueError)."""
    listed = list(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    if isinstance(labels, str) or len(listed) < 2:
        raise ValueError(f"{name} must be a list of at least 2 labels, got {labels!r}"[:200])
    words = pd.Series([str(label) for label in listed])
    if pd.isna(pd.Series(listed, dtype=object)).any() or (words == "").any():
        raise ValueError(f"{name} must all have a label, got an empty one")
    if words.duplicated().any():
        raise ValueError(f"{name} must be distinct, got {words[words.duplicated()].iloc[0]} more than once")
    return listed


# --- reading ----------------------------------------------------------------------------------------------------------


def _read_files(path: str, connection: Any, words: Sequence[str]) -> Any:
    files = _files(path)
    endings = {Path(file).suffix.lower() for file in files}
    if len(endings) != 1 or not endings <= set(FORMATS):
        shown = ", ".join(sorted(endings)) or "none"
        raise ValueError(f"source must be files that end in .csv or in .parquet, all alike, got {path!r} ({shown})")
    ending = endings.pop()
    for file in files:
        _check_contents(file, ending)
    try:
        if ending == ".csv":
            return _read_csv(files, connection, words)
        return connection.read_parquet(files if len(files) > 1 else files[0])
    except Exception as error:  # each database has its own classes
        raise ValueError(f"{path}: not a readable {ending[1:]} table ({_first_line(error)})") from error


def _files(path: str) -> list[str]:
    if os.path.isdir(path):
        inside = sorted(str(file) for file in Path(path).rglob("*") if file.suffix.lower() in FORMATS)
        if not inside:
            raise ValueError(f"source: the folder {path!r} holds no .csv or .parquet file")
        return inside
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        found = sorted(glob.glob(path, recursive=True))
        if found:
            return found
    raise ValueError(f"source: there is no file {path!r}")


def _check_contents(file: str, ending: str) -> None:
    """Refuse a file that is not what its ending says, before a reader guesses at it."""
    with open(file, "rb") as stream:
        start = stream.read(4096)
        stream.seek(max(0, os.path.getsize(file) - 4))
        end = stream.read(4)
    if not start:
        raise ValueError(f"{file}: the file is empty")
    if ending == ".parquet" and not (start[:4] == end == b"PAR1"):
        raise ValueError(f"{file}: not a Parquet file although its name ends in .parquet (or it was cut short)")
    if ending == ".csv" and (start[:4] == b"PAR1" or b"\0" in start or start[:2] == b"\x1f\x8b"):
        raise ValueError(f"{file}: not a csv file although its name ends in .csv")


def _read_csv(files: list[str], connection: Any, words: Sequence[str]) -> Any:
    if connection.name != "duckdb":
        return connection.read_csv(files if len(files) > 1 else files[0], header=True, inferSchema=True)
    table = connection.read_csv(files, header=True)
    kinds = {word: "string" for word in words if word in table.columns}
    return connection.read_csv(files, header=True, types=kinds) if kinds else table


def _filtered(table: Any, where: str) -> Any:
    if not isinstance(where, str) or not where.strip():
        raise ValueError(f"where must be a SQL boolean, got {where!r}")
    name = f"events_{uuid.uuid4().hex}"
    try:
        return table.alias(name).sql(f"SELECT * FROM {name} WHERE (\n{where}\n)")
    except Exception as error:
        raise ValueError(
            f"where must be a SQL boolean over the columns {_listed(table.columns)}, got {where!r} "
            f"({_first_line(error)})"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _column(table: Any, name: str) -> str:
    if name not in table.columns:
        near = difflib.get_close_matches(str(name), table.columns, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"source: there is no column {name!r} among {_listed(table.columns)}{hint}")
    return name


def _listed(values: Sequence[Any]) -> str:
    shown = ", ".join(repr(value) if isinstance(value, str) else str(value) for value in values[:SHOWN])
    return shown + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")


# --- labels -----------------------------------------------------------------------------------------------------------


def _named(table: Any, columns: dict[str, str]) -> Any:
    """Return the columns under our names: labels integers or words, missing ones null, the unit as words."""
    chosen = {name: table[_column(table, column)] for name, column in columns.items()}
    for name in ("origin", "destination"):
        chosen[name] = _as_label(name, columns[name], chosen[name])
    if "unit" in chosen:
        chosen["unit"] = chosen["unit"].cast("string")
        chosen["no_unit"] = chosen["unit"].isnull()
    return table.select(**chosen)


def _as_label(name: str, column: str, values: Any) -> Any:
    if values.type().is_floating():  # whole numbers with gaps come as floats
        values = values.nullif(float("nan"))
        if (values != values.floor()).any().as_scalar().to_pyarrow().as_py():
            raise ValueError(f"{name}: the column {column!r} must hold whole numbers or words, got fractions")
        return values.cast("int64")
    return values.cast("int64") if values.type().is_integer() else values.cast("string")


def _whole(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs with integers where a column with gaps came as floats."""
    floats = [name for name in ("origin", "destination") if pd.api.types.is_float_dtype(pairs[name].dtype)]
    return pairs.astype(dict.fromkeys(floats, np.int64))


def positions(values: pd.Series, labels: Sequence[Any]) -> Integers:
    """Return the place of each value among the labels, -1 for strangers; not all integers, they compare as words."""
    if pd.api.types.is_integer_dtype(values.dtype) and (numbers := np.asarray(labels)).dtype.kind == "i":
        return pd.Index(numbers).get_indexer(values).astype(np.int64)
    return pd.Index([str(label) for label in labels]).get_indexer(values.astype(str)).astype(np.int64)


def _strangers(pairs: pd.DataFrame, declared: list[Any] | None) -> pd.Series:
    if declared is None:
        return pd.Series(False, index=pairs.index)
    ends = [positions(pairs[column], declared) for column in ("origin", "destination")]
    return pd.Series((ends[0] < 0) | (ends[1] < 0), index=pairs.index)


def _refusal(pairs: pd.DataFrame, declared: list[Any]) -> str:
    known = {str(label) for label in declared}
    labels = pd.concat([pairs["origin"], pairs["destination"]]).astype(str)
    values = sorted(set(labels) - known, key=lambda label: (len(label), label))
    return (
        f"categories: {int(pairs['trips'].sum())} rows have an origin or destination outside the {len(declared)} "
        f'declared ones: {_listed(values)}; declare them too, or leave these rows out with outside="drop"'
    )


def _labelled(pairs: pd.DataFrame, declared: list[Any] | None) -> pd.DataFrame:
    """Return the pairs sorted, labels as declared, or integers when all are whole numbers, else words."""
    ends = pairs[["origin", "destination"]].reset_index(drop=True)
    if declared is not None:
        labels = pd.Series(declared)
        ends = ends.apply(lambda column: labels.take(positions(column, declared)).array)
    elif not all(pd.api.types.is_integer_dtype(dtype) for dtype in ends.dtypes):
        ends = ends.astype(str)
        if ends.apply(lambda column: column.str.fullmatch(r"0|-?[1-9]\d{0,17}")).all(axis=None):
            ends = ends.astype(np.int64)
    result = ends.assign(trips=pairs["trips"].to_numpy(np.int64))
    return result.sort_values(["origin", "destination"], ignore_index=True)


# --- units ------------------------------------------------------------------------------------------------------------


def _limits(unit: str | None, events_per_row: int | None, rows: int | None) -> tuple[int, int]:
    if unit is None:
        if events_per_row is not None or rows is not None:
            raise ValueError("unit must name a column when events_per_row or rows is given, got None")
        return 1, 1
    return checks.integer("events_per_row", events_per_row or 1, 1), checks.integer("rows", rows or 1, 1)


def _truncated(events: Any, declared: list[Any] | None, c: int, r: int) -> Any:
    """Return the counts of what is left of each unit: r origins, and c events of each, in the order of a hash.

    The hash takes in how often the event has occurred before in its unit, so that a frequent destination is not kept
    or lost as a whole.
    """
    import ibis

    t = events.filter(events.origin.notnull() & events.destination.notnull() & ~events.no_unit)
    t = t.mutate(origin_word=t.origin.cast("string"), destination_word=t.destination.cast("string"))
    if declared is not None:
        known = ibis.memtable({"label": [str(label) for label in declared]})
        t = t.filter(t.origin_word.isin(known.label) & t.destination_word.isin(known.label))
    same = ibis.window(group_by=[t.unit, t.origin_word, t.destination_word])
    t = t.mutate(copy=ibis.row_number().over(same))
    t = t.mutate(
        row_hash=_hash(t.unit, t.origin_word),
        event_hash=_hash(t.unit, t.origin_word, t.destination_word, t["copy"].cast("string")),
    )
    by_row = ibis.window(group_by=t.unit, order_by=[t.row_hash, t.origin_word])
    by_event = ibis.window(group_by=[t.unit, t.origin_word], order_by=[t.event_hash, t.destination_word])
    t = t.mutate(row=ibis.dense_rank().over(by_row), event=ibis.row_number().over(by_event))
    t = t.filter((t["row"] < r) & (t.event < c))
    return t.group_by(["origin", "destination"]).aggregate(trips=t.count())


def _hash(*words: Any) -> Any:
    joined = words[0]
    for word in words[1:]:
        joined = joined.concat("\x1f", word)
    return joined.hexdigest("md5").left(12)  # 48 bits: short enough for databases to keep in place
