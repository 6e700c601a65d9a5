"""The counts of the transitions in a table of events, counts or visits.

Ibis sends the query to an embedded DuckDB or to a cluster. The database groups the
rows, so the memory needed is bounded by the database's limit and the number of distinct
pairs, however many rows there are. Unless integers are declared, labels are words in a
fixed order, so a label never depends on other rows. A row that cannot be read is left
out, and the other rows are still counted.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks
from dpsim_release import labels, sources, text, times
from dpsim_release.scratch import ibis
from dpsim_release.unit import EVENT, Unit, unit_of

# the largest sum; a unit must have fewer events, because larger floats skip integers
MOST_EVENTS = 2**53
LIKE_COUNTS = ("trips", "count", "counts", "n")  # common names for a column of counts


@dataclass(frozen=True, eq=False)
class Counts:
    """The number of times each transition occurs, after the limit on a unit's events.

    These counts are not private.

    Parameters
    ----------
    trips : DataFrame
        A table with the columns origin, destination and trips, and one row for each
        pair that occurs.
    unit : Unit
        The unit to protect. Adding or removing one unit changes the counts by at most
        `unit.events` in total.
    before : DataFrame
        The trips before the limit on a unit's events. The error of a release is
        measured against these trips.
    report : dict
        The numbers of rows and events that were counted and, for each reason, that were
        left out. These numbers are for the owner of the table only.
    moves : bool, whether an event is a unit's move from one visit to the next
    seen : dict
        For visits, the first and the last time, and an example of a text that is no
        time. They are for the owner's eyes only, and are written to no file.
    damages : dict
        How many lines are damaged, by the reason (`text.DAMAGES`).

    Examples
    --------
    >>> trips = pd.DataFrame({"origin": ["a"], "destination": ["b"], "trips": [3]})
    >>> Counts(trips).unit
    Unit(events=1, column=None)
    """

    trips: pd.DataFrame
    unit: Unit = EVENT
    before: pd.DataFrame | None = None
    report: dict[str, int] = field(default_factory=dict)
    moves: bool = False
    seen: dict[str, str] = field(default_factory=dict)
    damages: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (
            isinstance(self.trips, pd.DataFrame)
            and {"origin", "destination", "trips"} <= set(self.trips.columns)
        ):
            raise ValueError(
                "trips must be a table with origin, destination and trips, "
                f"got {self.trips!r:.80}"
            )
        checks.integers("trips", self.trips["trips"], 0)


def count_transitions(
    source: Any,
    origin: str,
    destination: str,
    *,
    count: str | None = None,
    categories: Sequence[Any] | None = None,
    unit: Unit | str | None = EVENT,
    events: int | None = None,
    form: text.Form = text.AS_TOLD,
) -> Counts:
    """Return how often each transition occurs in a table of events or of counts.

    The pairs are sorted by origin and destination. The report counts the "rows" that
    were read, and among them the "damaged" lines, the rows with a "missing" origin,
    destination or unit, and the rows without a valid "count". The other rows represent
    events, of which the report counts those "outside" the categories, those "truncated"
    because their unit has too many, and those "kept".

    Adding or removing a unit changes only the events of this unit. If a unit has N
    events but only M may be kept, the M events are chosen by systematic sampling: the
    events are arranged pair by pair in the order of a hash, and every (N / M)-th event
    is kept, starting at a point that is computed from a hash of the unit. Every event
    is therefore equally likely to be kept, and a row that represents many events is
    never expanded. A unit with 2^53 events or more is left out.

    Parameters
    ----------
    source : the table, as in `sources.read`
    origin, destination : str
        The columns with the state that an event leaves and the state that it enters.
    count : str, optional
        The column with the number of events that a row represents. The number must be
        whole and at least 0; rows with any other value are left out, and a value above
        10^9 counts as 10^9. If None, each row is one event, and a warning is issued if
        there is a column called trips, count, counts or n.
    categories : sequence, optional
        The states that may occur, declared without looking at the data. Events outside
        them are left out. The result contains the labels as declared, without leading
        or trailing blanks; undeclared labels are words.
    unit : Unit or str
        The unit to protect, or the name of its column. At most `unit.events` events are
        kept for each value in this column.
    events : int
        The largest number of events kept for a unit, if `unit` is the name of a column.
    form : Form, as in `sources.read`

    Returns
    -------
    Counts, whose `trips` have one row for each pair that occurs

    Examples
    --------
    >>> import pandas as pd
    >>> places = {"from": ["home", "shop", "home"], "to": ["shop", "home", "shop"]}
    >>> count_transitions(pd.DataFrame(places), "from", "to").trips.values.tolist()
    [['home', 'shop', 2], ['shop', 'home', 1]]
    """
    protected = unit_of(unit, events)
    columns = {"origin": origin, "destination": destination}
    if protected.column is not None:
        columns["unit"] = protected.column
    if count is not None:
        columns["count"] = count
    table, names = sources.read(source, columns, {"count": sources.whole_numbers}, form)
    reason = table[text.DAMAGED]
    number = ibis.literal(1, "int64")
    if count is None:
        _warn_of_counts(names, columns.values())
    else:
        reason = reason.coalesce(table["count"].isnull().ifelse("count", None))
        number = table["count"].fill_null(0)
    return _counts(table.mutate(reason=reason, number=number), categories, protected)


def count_trajectories(
    source: Any,
    unit: Unit | str,
    time: str,
    place: str,
    *,
    events: int | None = None,
    time_format: str | None = None,
    max_gap: str | None = None,
    categories: Sequence[Any] | None = None,
    form: text.Form = text.AS_TOLD,
) -> Counts:
    """Return how often units move between places, computed from a table of visits.

    The result is like that of `count_transitions`, but `moves` is true. The "rows" of
    the report are visits. Visits with a "missing" unit produce no moves. A visit whose
    "time" cannot be read has no place in the order of its unit's visits, and without it
    the visits on both sides would be joined into a move that never happened. Therefore
    a unit with such a visit has no moves, and its other visits are "unordered". The
    report also counts the moves that are "late" because they took longer than
    `max_gap`. Visits at the same time are sorted by place. A visit without a place
    breaks a trajectory, because the moves to and from this visit have a "missing" end.

    Parameters
    ----------
    source, categories, form : as in `count_transitions`
    unit : Unit, or str with the number of `events`
        The column that names the person, car or session, and the number of moves that
        are kept for each of them. A single visit cannot be the unit, because removing b
        from the visits a-b-c creates the move a-c and so changes three counts.
    time, place : str, the columns with the time and the place of a visit
    time_format : str
        The format of the times, as in `times.reader`. It is needed unless the column
        has timestamps, as in Parquet files and DataFrames.
    max_gap : str
        The longest time between the two visits of a move: a number followed by s, min,
        h or d, such as "30min".

    Returns
    -------
    Counts, whose `trips` have one row for each pair that occurs

    Examples
    --------
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"who": "p", "at": [0, 60, 7200], "zone": list("abc")})
    >>> settings = {"events": 5, "time_format": "seconds", "max_gap": "30min"}
    >>> moves = count_trajectories(visits, "who", "at", "zone", **settings)
    >>> moves.trips.values.tolist()
    [['a', 'b', 1]]
    """
    protected = unit_of(unit, events)
    if protected.column is None:
        raise ValueError(
            "unit must name a column for visits, got one event: removing a visit "
            "changes three counts"
        )
    gap = times.seconds(max_gap)
    moments = times.reader(time_format)
    columns = {
        "unit": protected.column,
        "time": time,
        "written": time,
        "place": place,
    }
    conversions = {"time": moments, "written": _as_written}
    visits, _ = sources.read(source, columns, conversions, form)
    of_unit = ibis.window(group_by=visits.unit)
    order = ibis.window(group_by=visits.unit, order_by=[visits.time, visits.place])
    moves = visits.mutate(
        next=visits.place.lead().over(order),
        then=visits.time.lead().over(order),
        lost=visits.time.isnull().max().over(of_unit),
    )
    reasons = (
        (moves.unit.isnull(), "missing"),
        (moves.time.isnull(), "time"),
        (moves.lost, "unordered"),
        (moves.then.isnull(), "last"),
    )
    reason = moves[text.DAMAGED].coalesce(
        ibis.cases(*reasons, else_=ibis.null("string"))
    )
    if gap is not None:
        late = moves.then > moves.time + ibis.interval(microseconds=round(1e6 * gap))
        reason = reason.coalesce(late.ifelse("late", None))
    table = moves.select(
        "unit",
        origin=moves.place,
        destination=moves.next,
        reason=reason,
        number=ibis.literal(1, "int64"),
        time=moves.time,
        unread=moves.time.isnull().ifelse(moves.written, None),
    )
    return _counts(table, categories, protected, moves=True)


def _as_written(values: Any) -> Any:
    """Return a column of times as text, or nulls if it has timestamps."""
    if values.type().is_timestamp():
        return ibis.null("string")  # those at the ends of their range have no text
    return values.cast("string")


def _warn_of_counts(columns: Sequence[str], named: Any) -> None:
    """Warn if a column with a common name for counts was not given as the count
    column."""
    likely = [
        column
        for column in columns
        if column.lower() in LIKE_COUNTS and column not in named
    ]
    if likely:
        warnings.warn(
            "each row counts as one event, although there is a column "
            f"{likely[0]!r}: name it (--count) if a row stands for several events",
            stacklevel=3,
        )


def _counts(
    events: Any, categories: Sequence[Any] | None, unit: Unit, *, moves: bool = False
) -> Counts:
    """Return the counts of a table of events.

    The table has the columns origin, destination, number, reason and, optionally, unit.
    The reason says why a row is left out; it is null for all other rows.
    """
    declared = None
    if categories is not None:
        declared = labels.distinct_labels("categories", categories)
    summed = _group(events, declared)
    if unit.column is not None:
        truncated = _truncate(summed, unit.events)
        summed = truncated.group_by(["reason", "origin", "destination"]).aggregate(
            rows=_total(truncated.rows),
            trips=_total(truncated.trips),
            kept=_total(truncated.kept),
            **_times(truncated) if moves else {},
        )
    table = sources.fetch_table(summed)
    if unit.column is None:
        table["kept"] = (table["reason"] == "kept") * table["trips"]
    ends = ["origin", "destination"]
    present = (table["reason"] == "kept") & (table["trips"] > 0)
    pairs = table.loc[present, [*ends, "trips", "kept"]]
    label_type = (
        np.int64 if declared is not None and isinstance(declared[0], int) else "str"
    )
    pairs = pairs.astype(dict.fromkeys(ends, label_type)).sort_values(
        ends, ignore_index=True
    )
    before = pairs.drop(columns="kept")
    trips = before.assign(trips=pairs["kept"])
    trips = trips[trips["trips"] > 0].reset_index(drop=True)
    reasons = ["damaged", "missing", "time", "unordered", "late"]
    if not moves:
        reasons = ["damaged", "missing", "count"]
    damage = table[table["reason"].isin(text.DAMAGES)]
    damages = damage.groupby("reason")["rows"].sum().astype(int).to_dict()
    table.loc[damage.index, "reason"] = "damaged"
    sums = table.groupby("reason")[["rows", "trips", "kept"]].sum()
    sums = sums.reindex([*reasons, "outside", "kept"], fill_value=0)
    of = sums.astype(int).to_dict("index")
    report = {"rows": int(table["rows"].sum())}
    for reason in reasons:
        report[reason] = of[reason]["rows"]
    report["outside"] = of["outside"]["trips"]
    report["kept"] = of["kept"]["kept"]
    report["truncated"] = of["kept"]["trips"] - report["kept"]
    seen = {}
    if moves and len(table):
        ends_of_time = {"first": table["first"].min(), "last": table["last"].max()}
        seen = ends_of_time | {"unread": table["unread"].dropna().min()}
    seen = {name: str(value) for name, value in seen.items() if pd.notna(value)}
    return Counts(trips, unit, before, report, moves, seen, damages)


# --- grouping and truncation ----------------------------------------------------------


def _total(numbers: Any) -> Any:
    """Return a sum, clipped at `MOST_EVENTS` so that it never overflows."""
    return ibis.least(numbers.sum(), MOST_EVENTS).cast("int64")


def _group(events: Any, declared: list[Any] | None) -> Any:
    """Return the numbers of rows and events by reason and, for kept events, by unit and
    pair."""
    ends = [
        name for name in ("origin", "destination", "unit") if name in events.columns
    ]
    missing = ibis.or_(*(events[name].isnull() for name in ends))
    inside = ibis.literal(True)
    if declared is not None:
        words = [labels.whole_word(label) for label in declared]
        known = ibis.memtable({"label": words})
        inside = events.origin.isin(known.label) & events.destination.isin(known.label)
    reasons = (
        (missing, "missing"),
        (events.number == 0, "nothing"),
        (~inside, "outside"),
    )
    reason = events.reason.coalesce(ibis.cases(*reasons, else_="kept"))
    table = events.mutate(reason=reason)
    is_kept = table.reason == "kept"
    table = table.mutate(**{name: is_kept.ifelse(table[name], None) for name in ends})
    times = {}
    if "time" in table.columns:
        table = table.mutate(first=table.time, last=table.time)
        times = _times(table)
    return table.group_by(["reason", *ends]).aggregate(
        rows=table.count(), trips=_total(table.number), **times
    )


def _times(table: Any) -> dict[str, Any]:
    """Return the first and the last time, and one text that is no time."""
    return {
        "first": table["first"].min(),
        "last": table["last"].max(),
        "unread": table["unread"].min(),
    }


def _truncate(grouped: Any, most: int) -> Any:
    """Return the table with the number of events that are kept for each unit and pair.

    In total, at most `most` events are kept for each unit.
    """
    # each hash has its own column, so that it is not computed again wherever it occurs
    order = _hash(grouped.unit, grouped.origin, grouped.destination)
    start = _fraction(_hash(grouped.unit, ibis.literal("start")))
    hashed = grouped.mutate(order=order, start=start)
    whole = ibis.window(group_by=hashed.unit)
    before = ibis.cumulative_window(
        group_by=hashed.unit, order_by=[hashed.order, hashed.origin, hashed.destination]
    )
    table = hashed.mutate(
        total=hashed.trips.sum().over(whole).cast("float64"),
        upto=hashed.trips.sum().over(before).cast("float64"),
    )

    def places(events: Any) -> Any:
        """Return how many sampling points lie among the unit's first `events` events.

        The sampling points are equally spaced.
        """
        number = (events * float(most) / table.total - table.start).ceil()
        return ibis.greatest(0.0, ibis.least(float(most), number))

    number = table.trips.cast("float64")
    sampled = ibis.least(places(table.upto) - places(table.upto - number), number)
    remaining = (table.total <= most).ifelse(table.trips, sampled.cast("int64"))
    return table.mutate(kept=(table.total < MOST_EVENTS).ifelse(remaining, 0))


def _hash(*words: Any) -> Any:
    """Return a sorting key that depends only on these words.

    Every database therefore keeps the same rows.
    """
    joined = functools.reduce(lambda one, other: one.concat("\x1f", other), words)
    # 48 bits, because databases store short texts in place
    return joined.hexdigest("md5").left(12)


def _fraction(digits: Any) -> Any:
    """Return the first 5 hexadecimal digits as a number in [0, 1)."""
    known = ibis.literal("0123456789abcdef")
    values = [known.find(digits.substr(place, 1)) for place in range(5)]
    return sum(
        value.cast("float64") / 16.0 ** (i + 1) for i, value in enumerate(values)
    )
