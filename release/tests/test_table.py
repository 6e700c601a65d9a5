"""Counting transitions: the same numbers from every kind of source, nothing dropped
silently, units truncated.
"""

import hashlib
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsim_release import Counts, Unit, count_transitions, owner, sources
from dpsim_release import support as supports


def small() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "a": ["x", "y", "x", None, "z"],
            "b": ["y", "x", "y", "x", None],
            "w": [1, 2, 3, 4, 5],
        }
    )


def as_dict(counts: Counts) -> dict[tuple[object, object], int]:
    return {(o, d): n for o, d, n in counts.trips.itertuples(index=False)}


def report(rows: int, events: int | None = None, **lost: int) -> dict[str, int]:
    events = rows if events is None else events
    counted = (
        dict.fromkeys(("damaged", "count", "missing", "outside", "truncated"), 0) | lost
    )
    return {"rows": rows, **counted, "kept": events - sum(counted.values())}


def test_counts_and_report() -> None:
    counts = count_transitions(small(), "a", "b")
    assert as_dict(counts) == {("x", "y"): 2, ("y", "x"): 1}
    assert list(counts.trips.columns) == ["origin", "destination", "trips"]
    assert counts.report == report(5, missing=2)
    assert (
        counts.unit == Unit()
        and not counts.moves
        and counts.before.equals(counts.trips)
    )


@pytest.mark.parametrize(
    "more", [[], ["clinic"], ["1.5"], [None], [""], ["007"], ["a,b"], ['a"b'], [1.5]]
)
def test_one_event_decides_no_format(more: list[object]) -> None:
    """Labels of a table without declared categories were integers when all of them were
    whole, else words.
    """
    ends = np.random.default_rng(2).choice([2, 3, 10, 21, 100], 300).tolist() + more
    trips = count_transitions(
        pd.DataFrame({"o": ends, "d": ends}, dtype=object), "o", "d"
    ).trips
    first = trips[trips["origin"].isin(["2", "3", "10", "21", "100"])]
    assert first["origin"].tolist() == ["10", "100", "2", "21", "3"]
    assert trips.dtypes.astype(str).tolist() == ["str", "str", "int64"]


def test_declared_integers_come_back_as_integers() -> None:
    table = pd.DataFrame({"o": ["1.0", "2.0", None, "2"], "d": ["2", "1", "1", "x"]})
    counts = count_transitions(table, "o", "d", categories=[2, 1])
    assert as_dict(counts) == {(1, 2): 1, (2, 1): 1}
    assert counts.trips["origin"].dtype.kind == "i"
    assert counts.report == report(4, missing=1, outside=1)


def test_outside_the_categories() -> None:
    table = pd.DataFrame({"a": [1, 1, 2], "b": [1, 3, 1]})
    counts = count_transitions(table, "a", "b", categories=["1", "2"])
    assert as_dict(counts) == {("1", "1"): 1, ("2", "1"): 1}  # as declared
    assert counts.report == report(3, outside=1)
    counts = count_transitions(
        table.assign(n=[2, 5, 3]), "a", "b", categories=["1", "2"], count="n"
    )
    assert counts.report == report(3, 10, outside=5)  # events, not rows


@pytest.mark.parametrize(
    "settings", [{}, {"categories": ["p", "q"]}, {"unit": Unit(3, "w")}]
)
def test_no_event_is_a_table_too(settings: dict[str, Any]) -> None:
    for table in (small()[:0], small().iloc[3:]):
        trips = count_transitions(table, "a", "b", **settings).trips
        assert trips.dtypes.astype(str).tolist() == ["str", "str", "int64"] and not len(
            trips
        )


# --- tables of counts -----------------------------------------------------------------


def test_a_table_of_counts() -> None:
    table = pd.DataFrame({"o": ["a", "b", "a"], "d": ["b", "a", "b"], "n": [3, 0, 7]})
    counts = count_transitions(table, "o", "d", count="n")
    assert as_dict(counts) == {("a", "b"): 10}
    assert counts.report == report(3, 10)
    with pytest.warns(
        UserWarning, match=r"each row counts as one event, although .* 'n'"
    ):
        assert as_dict(count_transitions(table, "o", "d")) == {
            ("a", "b"): 2,
            ("b", "a"): 1,
        }


@pytest.mark.parametrize(
    "bad", [-1, 2.5, np.nan, "many", np.inf, "-inf", "1e9", True, "0x3", "٣"]
)
def test_a_row_whose_count_is_none_is_left_out_alone(
    tmp_path: Path, bad: object
) -> None:
    """One such row refused the table: whoever saw the exit code learnt that it was
    there.
    """
    table = pd.DataFrame(
        {
            "o": ["a", "b", "b"],
            "d": ["b", "a", "b"],
            "n": pd.Series([3, bad, 4], dtype=object),
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    for source in (table, tmp_path / "t.csv"):
        counts = count_transitions(source, "o", "d", count="n")
        assert as_dict(counts) == {
            ("a", "b"): 3,
            ("b", "b"): 4,
        } and counts.report == report(3, 8, count=1)


@pytest.mark.parametrize(
    "count",
    [
        10**9,
        10**9 + 1,
        10**10,
        2**63,
        "0" * 99 + str(10**30),
        10**308 + 1,
        10**309,
        "9" * 9999,
    ],
)
def test_one_more_event_of_a_large_count_takes_no_others_along(
    tmp_path: Path, count: object
) -> None:
    """A row of 10^9 events counted; with one more it was left out, and an event changed
    the count by 10^9.
    """
    table = pd.DataFrame(
        {"o": ["a", "b"], "d": ["b", "a"], "n": pd.Series([3, count], dtype=object)}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    for source in (table, tmp_path / "t.csv"):
        counts = count_transitions(source, "o", "d", count="n")
        assert (
            as_dict(counts) == {("a", "b"): 3, ("b", "a"): 10**9}
            and counts.report["count"] == 0
        )


def test_sums_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum beyond 64 bits would be refused, and that would depend on one row."""
    monkeypatch.setattr(sources, "MOST_OF_A_ROW", 2**53)
    users = ["p"] * 2060 + ["q"]
    origins = ["a", "c"] * 1030 + ["a"]
    table = pd.DataFrame(
        {"u": users, "o": origins, "d": "b", "n": [2**53] * 2060 + [7]}
    )
    assert as_dict(count_transitions(table, "o", "d", count="n")) == {
        ("a", "b"): 2**53,
        ("c", "b"): 2**53,
    }
    assert as_dict(
        count_transitions(table, "o", "d", count="n", unit=Unit(5, "u"))
    ) == {("a", "b"): 5}  # of q
    one_more = pd.DataFrame(
        {"u": "p", "o": ["a", "c"], "d": "b", "n": [2**53, 1]}
    )  # which a float does not tell
    assert (
        as_dict(count_transitions(one_more, "o", "d", count="n", unit=Unit(5, "u")))
        == {}
    )


def test_limits_truncate_counted_events() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "u": rng.integers(0, 50, 400),
            "o": rng.integers(0, 5, 400),
            "d": rng.integers(0, 5, 400),
        }
    )
    table["n"] = rng.integers(0, 40, 400)
    single = table.loc[table.index.repeat(table["n"])]
    for most in (6, 10**6):
        unit = Unit(most, "u")
        short = count_transitions(table, "o", "d", count="n", unit=unit)
        long = count_transitions(single.drop(columns="n"), "o", "d", unit=unit)
        pd.testing.assert_frame_equal(short.trips, long.trips)


def test_truncation_keeps_each_event_equally_often() -> None:
    """A pair with nine events of ten keeps nine tenths of the places, whatever the
    hash.
    """
    n = 3000
    table = pd.DataFrame(
        {
            "u": np.repeat(np.arange(n), 2),
            "o": "a",
            "d": ["b", "c"] * n,
            "n": [9, 1] * n,
        }
    )
    kept = as_dict(count_transitions(table, "o", "d", count="n", unit=Unit(1, "u")))
    assert sum(kept.values()) == n
    assert abs(kept["a", "c"] - n / 10) < 5 * np.sqrt(n * 0.09)


def test_large_counts_of_a_unit() -> None:
    big = 10**9
    table = pd.DataFrame(
        {"u": ["p"] * 3, "o": ["a"] * 3, "d": ["a", "b", "c"], "n": [big, big - 1, 1]}
    )
    for most in (3, 1000, 10**6):
        assert (
            count_transitions(table, "o", "d", count="n", unit=Unit(most, "u"))
            .trips["trips"]
            .sum()
            == most
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"origin": "aa"}, ["no column 'aa'", "'a', 'b', 'w'", "did you mean 'a'"]),
        ({"categories": ["x"]}, ["at least 2 labels"]),
        ({"categories": "xy"}, ["at least 2 labels"]),
        ({"categories": ["x", "x"]}, ["distinct", "x more than once"]),
        (
            {"categories": ["x", None]},
            ["must be text, whole numbers, booleans or dates, got None"],
        ),
        ({"unit": Unit(3, "who")}, ["no column 'who'"]),
        ({"count": "many"}, ["no column 'many'"]),
        ({"source": "nowhere.csv"}, ["no ordinary file 'nowhere.csv'"]),
        ({"source": pd.DataFrame()}, ["no column 'a'"]),
    ],
)
def test_refusals(arguments: dict[str, Any], words: list[str]) -> None:
    settings = {"source": small(), "origin": "a", "destination": "b"} | arguments
    with pytest.raises(ValueError) as refusal:
        count_transitions(settings.pop("source"), **settings)
    assert all(word in str(refusal.value) for word in words), refusal.value


# --- units ----------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_unit_keeps_all_its_events_up_to_the_limit_and_never_one_more(
    most: int,
) -> None:
    """Units with 1, 2, ... events, each from a state of its own: one above the limit is
    the case that matters.
    """
    units = np.repeat(np.arange(1, 13), np.arange(1, 13))
    table = pd.DataFrame(
        {"u": units, "o": units, "d": [f"d{i % 4}" for i in range(units.size)]}
    )
    kept = count_transitions(table, "o", "d", unit=Unit(most, "u")).trips
    found = kept.groupby(kept["origin"].astype(int))["trips"].sum()
    assert found.to_dict() == {size: min(size, most) for size in range(1, 13)}


def by_hand(events: pd.DataFrame, most: int) -> dict[tuple[object, object], int]:
    """Count what systematic sampling keeps: every (N / most)-th event of a unit, from
    its start, pair by pair.
    """
    kept: Counter[tuple[object, object]] = Counter()
    for unit, own in events.groupby("u"):
        pairs = list(zip(own["o"], own["d"], strict=True))
        pairs.sort(
            key=lambda pair: (
                hashlib.md5("\x1f".join((unit, *pair)).encode()).hexdigest()[:12],
                pair,
            )
        )
        start = Fraction(
            int(hashlib.md5(f"{unit}\x1fstart".encode()).hexdigest()[:5], 16), 16**5
        )
        places = (
            [int((i + start) * len(pairs) / most) for i in range(most)]
            if len(pairs) > most
            else range(len(pairs))
        )
        kept.update(pairs[place] for place in places)
    return dict(kept)


@pytest.mark.parametrize("most", [1, 3, 20])
def test_the_events_that_are_kept_follow_from_hashes(most: int) -> None:
    rng = np.random.default_rng(6)
    ends = {end: [f"{end}{i}" for i in rng.integers(0, 5, 3000)] for end in "od"}
    events = pd.DataFrame({"u": [f"p{i}" for i in rng.integers(0, 120, 3000)], **ends})
    assert as_dict(
        count_transitions(events, "o", "d", unit=Unit(most, "u"))
    ) == by_hand(events, most)


def test_no_rounding_keeps_one_event_too_many() -> None:
    """The start of p817283 is 0, and 12,000,000,001 events times 999,999, over their
    number, is more than 999,999.
    """
    table = pd.DataFrame({"u": "p817283", "o": "a", "d": "b", "n": [10**9] * 12 + [1]})
    kept = count_transitions(table, "o", "d", count="n", unit=Unit(999_999, "u"))
    assert as_dict(kept) == {("a", "b"): 999_999}


def test_truncation_of_a_unit_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(1)
    unit = Unit(7, "u")
    ends = {end: rng.integers(0, 6, 1200) for end in "od"}
    table = pd.DataFrame({"u": np.repeat(np.arange(40), 30), **ends})
    whole = as_dict(count_transitions(table, "o", "d", unit=unit))
    shuffled = table.sample(frac=1.0, random_state=np.random.default_rng(3))
    assert as_dict(count_transitions(shuffled, "o", "d", unit=unit)) == whole
    without = as_dict(count_transitions(table[table["u"] != 7], "o", "d", unit=unit))
    alone = as_dict(count_transitions(table[table["u"] == 7], "o", "d", unit=unit))
    assert {
        pair: without.get(pair, 0) + alone.get(pair, 0) for pair in whole
    } == whole and sum(alone.values()) == 7


# --- what the owner is told -----------------------------------------------------------


def test_every_reason_is_told(tmp_path: Path) -> None:
    lines = [
        "u,o,d,n",
        "p,a,b,3",
        "p,a,b,x",
        "p,a",
        ",a,b,1",
        "q,a,z,1",
        "q,b,a,1",
        "q,b,b,1",
        "r,a,b,0",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    states = ["a", "b", "never"]
    counts = count_transitions(
        tmp_path / "t.csv", "o", "d", count="n", unit=Unit(2, "u"), categories=states
    )
    assert counts.report == report(
        8, 9, damaged=1, count=1, missing=1, outside=1, truncated=1
    )
    assert (
        counts.before["trips"].sum() == 5
        and counts.trips["trips"].sum() == 4
        and counts.unit == Unit(2, "u")
    )
    graph = pd.DataFrame({"origin": states, "destination": ["b", "a", "a"]})
    said = owner.count_lines(counts, supports.declared_graph(graph, states))
    numbers = [
        line.split(" left out: ")[0].strip() for line in said if "left out" in line
    ]
    assert len(numbers) == 6 and set(numbers) == {"1"}
    assert "never" in said[-1] and said[-2].strip().startswith(
        "3 events counted, between 2 states"
    )


TWENTY = pd.DataFrame({
    "person": ["ann", "ann", "ann", "bob", None] * 4,
    "place": [7, 7, 12, 3, 12, 7, None, 3, 7, 12] * 2,
    "next": [12, 3, 7, 7, 3, 12, 7, 99, 7, None] * 2,
})  # fmt: skip
"""Twenty moves between places, with gaps in each column, a place that is not declared,
and persons of many moves.
"""


@pytest.mark.filterwarnings("default")  # of an extra, which the other tests never load
def test_the_same_from_spark(tmp_path: Path) -> None:
    pyspark_sql = pytest.importorskip(
        "pyspark.sql", reason="pyspark is not installed (extra `spark`)"
    )
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    import ibis

    file = tmp_path / "twenty.parquet"
    TWENTY.astype({"place": "Int64", "next": "Int64"}).to_parquet(file)
    builder = pyspark_sql.SparkSession.builder.master("local[2]").config(
        "spark.ui.enabled", "false"
    )
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        table = ibis.pyspark.connect(session).read_parquet(str(file))
        for unit in (Unit(), Unit(2, "person")):
            found, expected = (
                count_transitions(t, "place", "next", unit=unit, categories=[3, 7, 12])
                for t in (table, file)
            )
            pd.testing.assert_frame_equal(found.trips, expected.trips)
            assert found.report == expected.report
            assert (
                all(found.report[why] for why in ("missing", "outside", "kept"))
                and found.report["rows"] == 20
            )
            assert bool(found.report["truncated"]) == (unit != Unit())
    finally:
        session.stop()
