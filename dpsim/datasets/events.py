"""From tables of events to counts of transitions, through Ibis: DuckDB on this machine, or any other connection.

Rows are grouped by the database, so that memory is bounded by its limit and by the number of distinct pairs that are
kept, whatever the number of rows. Labels are words in a fixed order (`in_order`), unless integers are declared: what a
label is never depends on the other rows of the table.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpsim import checks
from dpsim.datasets import limits as records
from dpsim.datasets import sources

Integers = NDArray[np.int64]

LARGEST_COUNT = 2**53  # in one row of a table of counts: beyond, floats skip whole numbers
LIKE_COUNTS = ("trips", "count", "counts", "n")  # names of columns that tables of counts use
WHOLE = r"0|-?[1-9]\d{0,17}"  # words that are integers


@dataclass(frozen=True, eq=False)
class Before:
    """The trips of each pair within the categories before any was truncated: the owner's, to measure utility with."""

    trips: pd.DataFrame

    def __deepcopy__(self, memo: dict[int, Any]) -> Before:
        """Return itself: pandas copies what is attached to a table at every step."""
        return self


def count_transitions(
    source: Any,
    origin: str,
    destination: str,
    *,
    count: str | None = None,
    where: str | None = None,
    categories: Sequence[Any] | None = None,
    outside: str = "drop",
    unit: str | None = None,
    events: int | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
    connection: Any = None,
) -> pd.DataFrame:
    """Return how often each transition occurs: columns origin, destination, trips; pairs that occur only.

    Parameters
    ----------
    source, where, connection
        The table of events, which of its rows, and what reads it: as `open_events` takes them.
    origin, destination : str
        The columns of the state that an event leaves, and of the state that it enters.
    count : str, optional
        A column that says for how many events a row stands. Without it each row is one event, and a column called
        trips, count, counts or n raises a warning.
    categories : sequence, optional
        The states that may occur, declared without looking at the data. Their labels come back as they were declared,
        without blanks at their ends; undeclared labels are words.
    outside : {"drop", "error"}
        What happens to events with an end outside the categories: they are left out and counted in the report, or
        refused, with a message that depends on the data and is for their owner alone.
    unit : str, optional
        The column of the person, car or session to protect. Adding or removing a unit changes nothing but its own
        share, which is what privacy for units needs.
    events : int >= 1, optional
        The number of events that are kept of a unit in all.
    events_per_row, rows : int >= 1, optional
        In its place: the number of events kept of a unit from each origin, and of origins (default 1 each).

    Returns
    -------
    DataFrame
        Sorted by origin and destination (`in_order`). `attrs["report"]` holds numbers for the owner of the data, which
        are no part of a private release: "rows" read (after `where`), the "events" they stand for, those "missing" an
        origin, a destination or a unit, those "outside" the categories, those "truncated", and the rest, "kept".
        `attrs["before"]` holds the trips before truncation (`Before`), and `attrs["limits"]` what was kept of each unit
        (`Limits`): a release refuses counts whose limits are not those of its unit.

    Raises
    ------
    ValueError
        A column is missing; a count is negative, missing or fractional; a file cannot be read.

    Notes
    -----
    The origins that are kept of a unit are the first by an md5 hash of unit and origin. Of its N events from an origin
    (or in all) c are kept by systematic sampling: events are laid out pair by pair in the order of a hash, and every
    (N / c)-th is kept from a start that a hash of the unit gives. Each event is as likely to be kept as any other, and
    a row that stands for many events is never written out.

    Examples
    --------
    >>> table = pd.DataFrame({"from": ["home", "shop", "home"], "to": ["shop", "home", "shop"]})
    >>> count_transitions(table, "from", "to")
      origin destination  trips
    0   home        shop      2
    1   shop        home      1
    """
    outside = checks.choice("outside", outside, ("error", "drop"))
    declared = None if categories is None else distinct_labels("categories", categories)
    limits = _limits(unit, events, events_per_row, rows)
    columns = {"origin": origin, "destination": destination}
    columns |= {name: column for name, column in (("unit", unit), ("count", count)) if column is not None}
    tables = sources.read(source, where=where, text=list(columns.values()), connection=connection)
    words = sources.as_words(tables, columns, ids=["unit"])
    if count is None:
        _warn_of_counts(tables[0].columns, list(columns.values()))

    summed = _grouped(words, declared)
    if limits is not None:
        grouped = summed.mutate(kept=_kept(summed, *limits))
        summed = grouped.group_by(["kind", "origin", "destination"]).aggregate(
            **{name: grouped[name].sum().cast("int64") for name in ("rows", "trips", "kept", "wrong")}
        )
    table = sources.fetched(summed, source)
    table["kept"] = table["kept"] if limits is not None else (table["kind"] == "kept") * table["trips"]
    if (wrong := int(table["wrong"].sum())) > 0:
        raise ValueError(
            f"count must be a whole number from 0 to 2^53 in each row, the column {count!r} has {wrong:,} rows with a "
            "negative, missing, fractional or larger one"
        )
    if outside == "error" and (table["kind"] == "outside").any():
        raise ValueError(_refusal(int(table.loc[table["kind"] == "outside", "trips"].sum()), declared or []))
    return _result(table, declared, limits)


def count_trajectories(
    source: Any,
    unit: str,
    time: str,
    place: str,
    *,
    max_gap: str | None = None,
    where: str | None = None,
    categories: Sequence[Any] | None = None,
    outside: str = "drop",
    events: int | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
    connection: Any = None,
) -> pd.DataFrame:
    """Return how often units move from one place to another, from a table with a row for each visit.

    Parameters
    ----------
    source, where, categories, outside, connection
        As `count_transitions` takes them; `where` chooses visits.
    unit, time, place : str
        The columns of the person, car or session, of the time of a visit (dates, or numbers that count seconds), and
        of the place.
    max_gap : str, optional
        The longest time between two visits that makes a transition, "30min" for instance; without it any time does.
    events, events_per_row, rows : int >= 1
        What is kept of a unit, as in `count_transitions`. One of them must be given: taking one visit out of a-b-c
        makes a-c and changes three counts, so that a single event is nothing that can be protected here.

    Returns
    -------
    DataFrame
        As `count_transitions`; the rows of its report are moves between two visits, and visits without a unit or a
        time. With `max_gap` it also holds "late": the moves that took longer and are in no other number.

    Raises
    ------
    ValueError
        As `count_transitions`; no limit is given; `max_gap` is no length of time.

    Notes
    -----
    Visits at the same time are put in the order of their places. A visit without a place breaks its unit's trajectory:
    the two transitions round it are missing.

    Examples
    --------
    >>> visits = pd.DataFrame({"who": ["p", "p", "p"], "at": [0, 60, 7200], "zone": ["a", "b", "c"]})
    >>> count_trajectories(visits, "who", "at", "zone", max_gap="30min", events=5)
      origin destination  trips
    0      a           b      1
    """
    if events is None and events_per_row is None and rows is None:
        raise ValueError(
            "a limit must be given for trajectories, events, or events_per_row and rows: the unit is the person or car "
            "as a whole, because taking out one visit changes three transitions"
        )
    seconds = _seconds(max_gap)
    moves = _moves(source, unit, time, place, seconds, where, connection)
    trips = count_transitions(
        moves, "origin", "destination", count=None if seconds is None else "in_time", categories=categories,
        outside=outside, unit="unit", events=events, events_per_row=events_per_row, rows=rows,
    )  # fmt: skip
    trips.attrs[records.RECORD] = replace(trips.attrs[records.RECORD], trajectories=True)
    if seconds is not None:
        report = trips.attrs["report"]
        report |= {"late": report["rows"] - report["events"], "rows": report["events"]}
    return trips


# --- labels -----------------------------------------------------------------------------------------------------------


def distinct_labels(name: str, labels: Sequence[Any]) -> list[Any]:
    """Return declared labels as integers when all of them are, else as words.

    Parameters
    ----------
    name : str
        What a refusal calls them.
    labels : sequence
        At least two, all different, none missing.

    Returns
    -------
    list
        Of int, or of str, in the order given.

    Raises
    ------
    ValueError
        For labels that are no such list.

    Examples
    --------
    >>> distinct_labels("categories", range(3)), distinct_labels("categories", [1, "x"])
    ([0, 1, 2], ['1', 'x'])
    """
    listed = list(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    if isinstance(labels, str) or len(listed) < 2:
        raise ValueError(f"{name} must be a list of at least 2 labels, got {labels!r}"[:200])
    words = pd.Series([sources.whole_word(label) for label in listed], dtype=object)
    if words.isna().any():
        raise ValueError(f"{name} must all have a label, got an empty one")
    if words.duplicated().any():
        raise ValueError(f"{name} must be distinct, got {words[words.duplicated()].iloc[0]} more than once"[:200])
    integers = all(_is_int64(label) for label in listed)
    return [int(label) for label in listed] if integers else words.tolist()


def _is_int64(label: Any) -> bool:
    return isinstance(label, numbers.Integral) and not isinstance(label, bool) and -(2**63) <= int(label) < 2**63


def in_order(labels: Sequence[Any]) -> list[Any]:
    """Return labels in their fixed order: whole numbers by size, then words by code point.

    Parameters
    ----------
    labels : sequence of str or int

    Returns
    -------
    list
        The labels as they are, sorted. Which of two comes first depends on these two alone.

    Examples
    --------
    >>> in_order(["10", "shop", "2", "Shop", "007"])
    ['2', '10', '007', 'Shop', 'shop']
    """
    listed = labels if isinstance(labels, str | bytes) else list(labels)
    if not isinstance(listed, list) or pd.Series(listed, dtype=object).isna().any():
        raise ValueError(f"labels must be a list of labels, none of them missing, got {labels!r:.160}")
    return sorted(listed, key=_place)


def as_declared(words: Sequence[str]) -> list[Any]:
    """Return words of a public file as integers when all of them are, else as they are.

    Parameters
    ----------
    words : sequence of str

    Returns
    -------
    list
        Of int, or of str, in the order given.

    Examples
    --------
    >>> as_declared(["1", "20"]), as_declared(["1", "x"])
    ([1, 20], ['1', 'x'])
    """
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"words must be a list of words, got {words!r:.160}")
    whole = bool(len(words)) and pd.Series(words, dtype="str").str.fullmatch(WHOLE).all()
    return [int(word) for word in words] if whole else list(words)


def positions(values: pd.Series, labels: Sequence[Any]) -> Integers:
    """Return the place of each value among the labels, compared as the words that a reader of the table sees.

    Parameters
    ----------
    values : Series
        A column of labels.
    labels : sequence
        All different.

    Returns
    -------
    ndarray of int
        One for each value, from 0; -1 for a value that is no label.

    Raises
    ------
    ValueError
        For labels that are not all different.

    Examples
    --------
    >>> import pandas as pd
    >>> positions(pd.Series(["b", "a", "z"]), ["a", "b"])
    array([ 1,  0, -1])
    """
    if not isinstance(values, pd.Series):
        raise TypeError(f"values must be a Series, got {type(values).__name__}")
    if len(set(labels)) < len(labels):
        raise ValueError("labels must all be different")
    if pd.api.types.is_integer_dtype(values.dtype) and (numbers := np.asarray(labels)).dtype.kind == "i":
        return pd.Index(numbers).get_indexer(values).astype(np.int64)
    codes, distinct = pd.factorize(values)
    words = pd.Index([sources.whole_word(label) for label in labels], dtype=object)
    found = words.get_indexer(pd.Index([sources.whole_word(value) for value in distinct], dtype=object))
    return np.append(found, -1)[codes].astype(np.int64)


def _place(label: Any) -> tuple[int, int, str]:
    """Return the sorting key of a label: whole numbers first, by value, then words."""
    word = str(label)
    sign, digits = word.startswith("-"), word.removeprefix("-")
    whole = digits.isascii() and digits.isdigit() and (word == "0" or digits[0] != "0")
    return (0, -int(digits) if sign else int(digits), word) if whole else (1, 0, word)


def _refusal(strange: int, declared: list[Any]) -> str:
    """Say how many events are outside the declared categories, and what leaves them out."""
    return (
        f"outside: {strange:,} events have an end outside the {len(declared)} declared categories, and outside is set "
        "to error; drop, the default, leaves them out"
    )


def _warn_of_counts(columns: Sequence[str], named: Sequence[str]) -> None:
    """Warn when a column looks like a count and is not named as one."""
    found = [column for column in columns if column.lower() in LIKE_COUNTS and column not in named]
    if found:
        warnings.warn(
            f"each row counts as one event, although the table has a column {found[0]!r}: name it as the count if a "
            "row stands for that many events",
            stacklevel=3,
        )


def _result(table: pd.DataFrame, declared: list[Any] | None, limits: tuple[int, int | None] | None) -> pd.DataFrame:
    """Return the counts with labels as declared, or words, in order, and what only the owner may know."""
    totals = table.groupby("kind")["trips"].sum()
    pairs = table[(table["kind"] == "kept") & (table["trips"] > 0)]
    pairs = _sorted(pairs[["origin", "destination", "trips", "kept"]].reset_index(drop=True), declared)
    result = pairs[pairs["kept"] > 0].drop(columns="trips").rename(columns={"kept": "trips"}).reset_index(drop=True)
    kept = int(result["trips"].sum())
    result.attrs["report"] = {
        "rows": int(table["rows"].sum()),
        "events": int(totals.sum()),
        "missing": int(totals.get("missing", 0)),
        "outside": int(totals.get("outside", 0)),
        "truncated": int(totals.get("kept", 0)) - kept,
        "kept": kept,
    }
    result.attrs["before"] = Before(pairs.drop(columns="kept"))
    most, rows = (None, None) if limits is None else limits
    result.attrs[records.RECORD] = (
        records.Limits(kept, events=most) if rows is None else records.Limits(kept, events_per_row=most, rows=rows)
    )
    return result


def _sorted(pairs: pd.DataFrame, declared: list[Any] | None) -> pd.DataFrame:
    """Return pairs of words in order, as integers where integers were declared."""
    whole = declared is not None and isinstance(declared[0], int)
    codes, found = pd.factorize(pd.concat([pairs["origin"], pairs["destination"]], ignore_index=True))
    labels = pd.Series(found).astype(np.int64 if whole else str)
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[sorted(range(len(labels)), key=labels.map(_place).tolist().__getitem__)] = np.arange(len(labels))
    origin, destination = np.split(codes, 2)
    order = np.lexsort([ranks[destination], ranks[origin]])
    ends = {"origin": labels.array[origin[order]], "destination": labels.array[destination[order]]}
    return pd.DataFrame(ends | {name: pairs[name].array[order] for name in pairs.columns if name not in ends})


# --- grouping and truncation ------------------------------------------------------------------------------------------


def _grouped(words: Any, declared: list[Any] | None) -> Any:
    """Return one row for each kind (kept, missing, outside, nothing) and, of what is kept, each unit and pair."""
    import ibis

    missing = words.origin.isnull() | words.destination.isnull()
    if "unit" in words.columns:
        missing |= words.unit.isnull()
    kind = missing.ifelse("missing", "kept")
    if declared is not None:
        known = ibis.memtable({"label": [sources.whole_word(label) for label in declared]})
        inside = words.origin.isin(known.label) & words.destination.isin(known.label)
        kind = missing.ifelse("missing", inside.ifelse("kept", "outside"))
    number, wrong = _numbers(words)
    kind = (number > 0).ifelse(kind, "nothing")  # a row for no event takes no place among those of its unit
    table = words.mutate(kind=kind, number=number, bad=wrong)
    ends = [name for name in ("origin", "destination", "unit") if name in words.columns]
    table = table.mutate(**{name: (table.kind == "kept").ifelse(table[name], None) for name in ends})
    return table.group_by(["kind", *ends]).aggregate(
        rows=table.count(), trips=table.number.sum().cast("int64"), wrong=table.bad.sum().cast("int64")
    )


def _numbers(words: Any) -> tuple[Any, Any]:
    """Return for how many events a row stands, and 1 where that is no whole number of at least 0."""
    import ibis

    one, none = ibis.literal(1, "int64"), ibis.literal(0, "int64")
    if "count" not in words.columns:
        return one, none
    value = words["count"].try_cast("float64")
    whole = value.try_cast("int64")  # rounded: a fraction, and what is too large, does not come back
    good = ((whole.cast("float64") == value) & (whole >= 0) & (whole <= LARGEST_COUNT)).fill_null(False)
    return good.ifelse(whole, none), good.ifelse(none, one)


def _limits(
    unit: str | None, events: int | None, per_row: int | None, rows: int | None
) -> tuple[int, int | None] | None:
    """Return how many events are kept, and from how many origins each; no number of origins: events in all."""
    named = {"events": events, "events_per_row": per_row, "rows": rows}
    given = {name: checks.integer(name, value, 1) for name, value in named.items() if value is not None}
    if unit is None:
        if given:
            raise ValueError(f"unit must name a column when {next(iter(given))} is given, got None")
        return None
    if "events" in given:
        if len(given) > 1:
            raise ValueError("events limits a unit in all: give it alone, or events_per_row and rows")
        return given["events"], None
    return given.get("events_per_row", 1), given.get("rows", 1)


def _kept(grouped: Any, most: int, rows: int | None) -> Any:
    """Return how many events are kept of each unit and pair: `most` from each of `rows` origins, or in all."""
    import ibis

    part = [grouped.unit] if rows is None else [grouped.unit, grouped.origin]
    order = [_hash(grouped.unit, grouped.origin, grouped.destination), grouped.origin, grouped.destination]
    total = grouped.trips.sum().over(ibis.window(group_by=part)).cast("float64")
    upto = grouped.trips.sum().over(ibis.cumulative_window(group_by=part, order_by=order)).cast("float64")
    start = _fraction(_hash(*part, ibis.literal("start")))

    def places(events: Any) -> Any:
        """Return how many of the regular places lie among the first events of the unit."""
        return ibis.greatest(0.0, ibis.least(float(most), (events * float(most) / total - start).ceil()))

    number = grouped.trips.cast("float64")
    sampled = ibis.least(places(upto) - places(upto - number), number)
    kept = (total <= most).ifelse(grouped.trips, sampled.cast("int64"))
    if rows is not None:
        by_row = ibis.window(group_by=grouped.unit, order_by=[_hash(grouped.unit, grouped.origin), grouped.origin])
        kept = (ibis.dense_rank().over(by_row) < rows).ifelse(kept, 0)
    return (grouped.kind == "kept").ifelse(kept, 0)


def _hash(*words: Any) -> Any:
    """Return a key to sort by that depends on these words alone, so that every database keeps the same rows."""
    joined = words[0]
    for word in words[1:]:
        joined = joined.concat("\x1f", word)
    return joined.hexdigest("md5").left(12)  # 48 bits: short enough for databases to keep in place


def _fraction(digits: Any) -> Any:
    """Return the first 5 hexadecimal digits as a number in [0, 1)."""
    import ibis

    places = [ibis.literal("0123456789abcdef").find(digits.substr(place, 1)) for place in range(5)]
    return sum(place.cast("float64") / 16.0 ** (i + 1) for i, place in enumerate(places))


# --- trajectories -----------------------------------------------------------------------------------------------------


def _moves(
    source: Any, unit: str, time: str, place: str, seconds: float | None, where: str | None, connection: Any
) -> Any:
    """Return columns unit, origin, destination: each unit's places in the order of time, in pairs.

    seconds: between two visits at most; then the column in_time is 0 for pairs further apart, else 1.
    """
    import ibis

    columns = {"unit": unit, "time": time, "place": place}
    visits = sources.open_events(source, columns, where=where, ids=["unit"], connection=connection)
    number = visits.time.try_cast("float64")
    stamp = number.isnull().ifelse(visits.time, None).try_cast("timestamp('UTC')")
    visits = visits.mutate(number=number, stamp=stamp)
    timed = visits.unit.notnull() & (visits.number.notnull() | visits.stamp.notnull())
    placed = visits.filter(timed)
    order = [placed.stamp.isnull(), placed.stamp, placed.number, placed.place]
    window = ibis.window(group_by=placed.unit, order_by=order)
    after = {f"next_{name}": placed[name].lead().over(window) for name in ("place", "number", "stamp")}
    moves = placed.mutate(**after)
    linked = moves.next_number.notnull() & moves.number.notnull() | moves.next_stamp.notnull() & moves.stamp.notnull()
    moves, lost, nothing = moves.filter(linked), visits.filter(~timed), ibis.null("string")
    pairs = {"origin": moves.place, "destination": moves.next_place}
    lost_pairs = {"origin": nothing, "destination": nothing}
    if seconds is not None:
        end = moves.stamp + ibis.interval(microseconds=round(1e6 * seconds))
        near = ((moves.next_number - moves.number <= seconds) | (moves.next_stamp <= end)).fill_null(False)
        pairs["in_time"], lost_pairs["in_time"] = near.cast("int64"), ibis.literal(1, "int64")
    return moves.select("unit", **pairs).union(lost.select("unit", **lost_pairs))


def _seconds(max_gap: str | None) -> float | None:
    """Return a length of time in seconds; a bare number has no unit and is refused."""
    if max_gap is not None and str(max_gap).strip().replace(".", "", 1).isdigit():
        raise ValueError(f'max_gap must be a length of time with its unit, such as "30min" or "2h", got {max_gap!r}')
    if max_gap is None:
        return None
    try:
        seconds = float(pd.Timedelta(max_gap).total_seconds())
    except (ValueError, TypeError) as error:
        raise ValueError(f'max_gap must be a length of time such as "30min" or "2h", got {max_gap!r}') from error
    if not seconds > 0:
        raise ValueError(f"max_gap must be above 0, got {max_gap!r}")
    return seconds
