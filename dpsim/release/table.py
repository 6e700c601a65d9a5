"""From tables of events, counts or visits to counts of transitions, through Ibis: DuckDB here, or a cluster's tables.

The database groups rows, so that memory is bounded by its limit and by the distinct pairs that are kept, whatever the
number of rows. Labels are words in a fixed order, unless integers are declared: what a label is never depends on other
rows. What cannot be read is left out by itself, and no row refuses the table.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsim.release import labels, sources, text, times
from dpsim.release.counts import Counts
from dpsim.release.scratch import ibis
from dpsim.release.unit import EVENT, Unit

MOST_EVENTS = 2**53  # of a pair, and more than a unit may have: beyond, floats skip whole numbers
LIKE_COUNTS = ("trips", "count", "counts", "n")  # names of columns that tables of counts use


def count_transitions(
    source: Any,
    origin: str,
    destination: str,
    *,
    count: str | None = None,
    categories: Sequence[Any] | None = None,
    unit: Unit = EVENT,
) -> Counts:
    """Return how often each transition occurs in a table with a row for each event, or for a number of them.

    The pairs are sorted by origin and destination. The report has what became of the rows: "rows"
    read, "damaged" lines, those "missing" an origin, a destination or a unit, those with no "count"; and of the events
    that the others stand for those "outside" the categories, those "truncated" for the unit's sake, those "kept".

    Adding or removing a unit changes nothing but its own share. Of its N events M are kept by systematic sampling:
    events are laid out pair by pair in the order of a hash, and every (N / M)-th is kept from a start that a hash of
    the unit gives. So each is as likely to be kept as any other, and a row that stands for many is never written out.
    A unit with 2^53 events or more is left out.

    Parameters
    ----------
    source : the table, as in `sources.read`
    origin, destination : str, the columns of the state that an event leaves, and of the state that it enters
    count : str, optional
        A column that says for how many events a row stands, a whole number of at least 0; other rows are left out,
        and what is above 10^9 counts as that. Without it each row is one event, and a column called trips, count,
        counts or n raises a warning.
    categories : sequence, optional
        The states that may occur, declared without looking at the data: other events are left out. Their labels come
        back as declared, without blanks at their ends; undeclared labels are words.
    unit : Unit to protect; with a column, at most `unit.events` events are kept of each value in it

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"from": ["home", "shop", "home"], "to": ["shop", "home", "shop"]})
    >>> count_transitions(table, "from", "to").trips.values.tolist()
    [['home', 'shop', 2], ['shop', 'home', 1]]
    """
    every = {"origin": origin, "destination": destination, "unit": unit.column, "count": count}
    columns = {name: column for name, column in every.items() if column is not None}
    events, names = sources.read(source, columns, {"count": sources.whole_numbers})
    reason, number = events[text.DAMAGED].ifelse("damaged", None), ibis.literal(1, "int64")
    if count is None:
        _warn_of_counts(names, columns.values())
    else:
        reason = reason.coalesce(events["count"].isnull().ifelse("count", None))
        number = events["count"].fill_null(0)
    return _counted(events.mutate(reason=reason, number=number), categories, unit)


def count_trajectories(
    source: Any,
    unit: Unit,
    time: str,
    place: str,
    *,
    time_format: str | None = None,
    max_gap: str | None = None,
    categories: Sequence[Any] | None = None,
) -> Counts:
    """Return how often units move from one place to another, from a table with a row for each visit.

    As from `count_transitions`, with `moves` true. The report's "rows" are visits, those "missing" a unit or with no
    "time" that can be read make no move; of the moves it also has those "late". Visits at the same time are put in the
    order of their places. One without a place breaks a trajectory: the moves round it are "missing" an end.

    Parameters
    ----------
    source, categories : as in `count_transitions`
    unit : Unit
        The column of the person, car or session, and how many of its moves are kept. A single visit is nothing that can
        be protected: taking one out of a-b-c makes a-c and changes three counts.
    time, place : str, the columns of the time of a visit and of its place
    time_format : str, as in `times.reader`; needed unless the column has timestamps, as Parquet and DataFrames can
    max_gap : str, the longest time between two visits that makes a move: a number with s, min, h or d ("30min")

    Examples
    --------
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"who": ["p", "p", "p"], "at": [0, 60, 7200], "zone": ["a", "b", "c"]})
    >>> settings = {"time_format": "seconds", "max_gap": "30min"}
    >>> count_trajectories(visits, Unit(5, "who"), "at", "zone", **settings).trips.values.tolist()
    [['a', 'b', 1]]
    """
    if unit.column is None:
        raise ValueError("unit must name a column for visits, got one event: a visit that goes changes three counts")
    gap, moments = times.seconds(max_gap), times.reader(time_format)
    columns = {"unit": unit.column, "time": time, "place": place}
    visits, _ = sources.read(source, columns, {"time": moments})
    reasons = ((visits[text.DAMAGED], "damaged"), (visits.unit.isnull(), "missing"), (visits.time.isnull(), "time"))
    visits = visits.mutate(reason=ibis.cases(*reasons, else_=ibis.null("string")))
    order = ibis.window(group_by=[visits.unit, visits.reason], order_by=[visits.time, visits.place])
    moves = visits.mutate(next=visits.place.lead().over(order), then=visits.time.lead().over(order))
    reason = moves.reason.coalesce(moves.then.isnull().ifelse("last", None))
    if gap is not None:
        late = moves.then > moves.time + ibis.interval(microseconds=round(1e6 * gap))
        reason = reason.coalesce(late.ifelse("late", None))
    ends = {"origin": moves.place, "destination": moves.next}
    events = moves.select("unit", **ends, reason=reason, number=ibis.literal(1, "int64"))
    return _counted(events, categories, unit, moves=True)


def _warn_of_counts(columns: Sequence[str], named: Any) -> None:
    """Warn when a column looks like a count and is not named as one."""
    found = [column for column in columns if column.lower() in LIKE_COUNTS and column not in named]
    if found:
        meant = f"although it has a column {found[0]!r}: name it (--count) if a row is more"
        warnings.warn(f"each row counts as one event, {meant}", stacklevel=3)


def _counted(events: Any, categories: Sequence[Any] | None, unit: Unit, *, moves: bool = False) -> Counts:
    """Return the counts of a table of events: unit (where it has one), origin, destination, number, and why not."""
    declared = None if categories is None else labels.distinct_labels("categories", categories)
    summed = _grouped(events, declared)
    if unit.column is not None:
        kept = _truncated(summed, unit.events)
        totals = {name: _total(kept[name]) for name in ("rows", "trips", "kept")}
        summed = kept.group_by(["reason", "origin", "destination"]).aggregate(**totals)
    table = sources.fetched(summed)
    if unit.column is None:
        table["kept"] = (table["reason"] == "kept") * table["trips"]
    ends = ["origin", "destination"]
    pairs = table[(table["reason"] == "kept") & (table["trips"] > 0)][[*ends, "trips", "kept"]]
    kind = np.int64 if declared is not None and isinstance(declared[0], int) else "str"
    pairs = pairs.astype(dict.fromkeys(ends, kind)).sort_values(ends, ignore_index=True)
    trips = pairs[pairs["kept"] > 0].drop(columns="trips").rename(columns={"kept": "trips"}).reset_index(drop=True)
    reasons = ["damaged", "missing", *(["time", "late"] if moves else ["count"])]
    sums = table.groupby("reason")[["rows", "trips", "kept"]].sum().reindex([*reasons, "outside", "kept"], fill_value=0)
    of = sums.astype(int).to_dict("index")
    report = {"rows": int(table["rows"].sum())} | {reason: of[reason]["rows"] for reason in reasons}
    report |= {"outside": of["outside"]["trips"], "kept": of["kept"]["kept"]}
    report["truncated"] = of["kept"]["trips"] - report["kept"]
    return Counts(trips, unit, pairs.drop(columns="kept"), report, moves)


# --- grouping and truncation ------------------------------------------------------------------------------------------


def _total(numbers: Any) -> Any:
    """Return a sum that never overflows."""
    return ibis.least(numbers.sum(), MOST_EVENTS).cast("int64")


def _grouped(events: Any, declared: list[Any] | None) -> Any:
    """Return one row for each reason to leave events out and, of what is "kept", for each unit and pair."""
    ends = [name for name in ("origin", "destination", "unit") if name in events.columns]
    missing = ibis.or_(*(events[name].isnull() for name in ends))
    inside = ibis.literal(True)
    if declared is not None:
        known = ibis.memtable({"label": [labels.whole_word(label) for label in declared]})
        inside = events.origin.isin(known.label) & events.destination.isin(known.label)
    reasons = ((missing, "missing"), (events.number == 0, "nothing"), (~inside, "outside"))
    table = events.mutate(reason=events.reason.coalesce(ibis.cases(*reasons, else_="kept")))
    table = table.mutate(**{name: (table.reason == "kept").ifelse(table[name], None) for name in ends})
    return table.group_by(["reason", *ends]).aggregate(rows=table.count(), trips=_total(table.number))


def _truncated(grouped: Any, most: int) -> Any:
    """Return the table with how many events are kept of each unit and pair, `most` in all of a unit."""
    # each hash in a column of its own: within an expression it would be computed wherever it occurs
    order = _hash(grouped.unit, grouped.origin, grouped.destination)
    hashed = grouped.mutate(order=order, start=_fraction(_hash(grouped.unit, ibis.literal("start"))))
    whole = ibis.window(group_by=hashed.unit)
    before = ibis.cumulative_window(group_by=hashed.unit, order_by=[hashed.order, hashed.origin, hashed.destination])
    sums = {name: hashed.trips.sum().over(over).cast("float64") for name, over in (("total", whole), ("upto", before))}
    table = hashed.mutate(**sums)

    def places(events: Any) -> Any:
        """Return how many of the regular places lie among the first events of the unit."""
        return ibis.greatest(0.0, ibis.least(float(most), (events * float(most) / table.total - table.start).ceil()))

    number = table.trips.cast("float64")
    sampled = ibis.least(places(table.upto) - places(table.upto - number), number).cast("int64")
    return table.mutate(kept=(table.total < MOST_EVENTS).ifelse((table.total <= most).ifelse(table.trips, sampled), 0))


def _hash(*words: Any) -> Any:
    """Return a key to sort by that depends on these words alone, so that every database keeps the same rows."""
    joined = functools.reduce(lambda one, other: one.concat("\x1f", other), words)
    return joined.hexdigest("md5").left(12)  # 48 bits: short enough for databases to keep in place


def _fraction(digits: Any) -> Any:
    """Return the first 5 hexadecimal digits as a number in [0, 1)."""
    places = [ibis.literal("0123456789abcdef").find(digits.substr(place, 1)) for place in range(5)]
    return sum(place.cast("float64") / 16.0 ** (i + 1) for i, place in enumerate(places))
