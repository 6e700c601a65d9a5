"""Counting transitions: the same numbers from every kind of source, nothing dropped silently, units truncated."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsim import datasets

RAW = Path(__file__).resolve().parents[3] / "shared" / "data" / "raw"
GREEN = RAW / "green_tripdata_2025-02.parquet"
needs_raw = pytest.mark.skipif(not GREEN.is_file(), reason=f"{GREEN} is not here")
TRIP = ("PULocationID", "DOLocationID")


def small() -> pd.DataFrame:
    return pd.DataFrame({"a": ["x", "y", "x", None, "z"], "b": ["y", "x", "y", "x", None], "w": [1, 2, 3, 4, 5]})


def as_dict(trips: pd.DataFrame) -> dict[tuple[object, object], int]:
    return {(o, d): n for o, d, n in trips.itertuples(index=False)}


def report(rows: int, events: int | None = None, **lost: int) -> dict[str, int]:
    events = rows if events is None else events
    counted = {"missing": 0, "outside": 0, "truncated": 0} | lost
    return {"rows": rows, "events": events, **counted, "kept": events - sum(counted.values())}


def manhattan() -> list[int]:
    zones = pd.read_csv(RAW / "taxi_zone_lookup.csv", keep_default_na=False)
    return zones.loc[zones["Borough"] == "Manhattan", "LocationID"].tolist()


def test_counts_and_report() -> None:
    trips = datasets.count_transitions(small(), "a", "b")
    assert as_dict(trips) == {("x", "y"): 2, ("y", "x"): 1}
    assert list(trips.columns) == ["origin", "destination", "trips"]
    assert trips.attrs["report"] == report(5, missing=2)


@pytest.mark.parametrize(
    ("values", "words"),
    [(["007", "12"], ["007", "12"]), (["1", "2.0"], ["1", "2"]), (["1", "x"], ["1", "x"]), (["-3", "0"], ["-3", "0"])],
)
def test_labels_of_a_csv_are_words(tmp_path: Path, values: list[str], words: list[str]) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("o,d\n" + "\n".join(f"{v},{values[0]}" for v in values) + "\n,1\n")
    trips = datasets.count_transitions(path, "o", "d")
    assert trips["origin"].tolist() == datasets.in_order(words)
    assert trips.attrs["report"]["missing"] == 1


@pytest.mark.parametrize("more", [[], ["clinic"], ["1.5"], [None], [""], ["007"], ["a,b"], ['a"b']])
def test_one_event_decides_no_format(more: list[object]) -> None:
    """Labels of a table without declared categories were integers when all of them were whole, else words."""
    labels = np.random.default_rng(2).choice([2, 3, 10, 21, 100], 300).tolist() + more
    trips = datasets.count_transitions(pd.DataFrame({"o": labels, "d": labels}), "o", "d")
    first = trips[trips["origin"].isin(["2", "3", "10", "21", "100"])]
    assert first["origin"].tolist() == ["2", "3", "10", "21", "100"]
    assert trips.dtypes.astype(str).tolist() == ["str", "str", "int64"]


def test_declared_integers_come_back_as_integers() -> None:
    table = pd.DataFrame({"o": [1.0, 2.0, np.nan, 2.0], "d": ["2", "1", "1", "x"]})
    trips = datasets.count_transitions(table, "o", "d", categories=[2, 1])
    assert as_dict(trips) == {(1, 2): 1, (2, 1): 1}
    assert trips["origin"].dtype.kind == "i"
    assert trips.attrs["report"] == report(4, missing=1, outside=1)


def test_fractions_are_words() -> None:
    trips = datasets.count_transitions(pd.DataFrame({"o": [1.5, 2.0], "d": [2, 1]}), "o", "d")
    assert as_dict(trips) == {("1.5", "2"): 1, ("2", "1"): 1}


def test_outside_the_categories() -> None:
    with pytest.raises(ValueError, match=r"outside: 3 events .* outside the 2 declared categories"):
        datasets.count_transitions(small(), "a", "b", categories=["y", "q"], outside="error")
    table = pd.DataFrame({"a": [1, 1, 2], "b": [1, 3, 1]})
    trips = datasets.count_transitions(table, "a", "b", categories=["1", "2"])
    assert as_dict(trips) == {("1", "1"): 1, ("2", "1"): 1}  # as declared
    assert trips.attrs["report"] == report(3, outside=1)


@pytest.mark.parametrize("settings", [{}, {"where": "w > 100"}, {"categories": ["p", "q"]}])
def test_no_event_is_a_table_too(settings: dict[str, object]) -> None:
    for table in (small(), small()[:0], small().iloc[3:]):
        if not settings and table["a"].notna().sum() > 1:
            continue
        trips = datasets.count_transitions(table, "a", "b", **settings)  # type: ignore[arg-type]
        assert trips.dtypes.astype(str).tolist() == ["str", "str", "int64"]
        assert len(trips) == trips.attrs["report"]["kept"] == 0


def test_order_of_labels() -> None:
    ordered = ["-10", "-2", "0", "9", "10", "-0", "007", "1.5", "B", "b"]
    assert datasets.in_order(ordered[::-1]) == ordered
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 :]:
            assert datasets.in_order([other, one]) == [one, other]


# --- tables of counts -------------------------------------------------------------------------------------------------


def test_a_table_of_counts() -> None:
    table = pd.DataFrame({"o": ["a", "b", "a"], "d": ["b", "a", "b"], "n": [3, 0, 7.0]})
    trips = datasets.count_transitions(table, "o", "d", count="n")
    assert as_dict(trips) == {("a", "b"): 10}
    assert trips.attrs["report"] == report(3, 10)
    with pytest.warns(UserWarning, match=r"each row counts as one event, although .* 'n'"):
        assert as_dict(datasets.count_transitions(table, "o", "d")) == {("a", "b"): 2, ("b", "a"): 1}


@pytest.mark.parametrize("bad", [-1, 2.5, np.nan, "many", 2.0**54, np.inf])
def test_counts_that_are_none(bad: object) -> None:
    table = pd.DataFrame({"o": ["a", "b"], "d": ["b", "a"], "n": pd.Series([3, bad], dtype=object)})
    with pytest.raises(ValueError, match=r"count must be a whole number .* 'n' has 1 rows"):
        datasets.count_transitions(table, "o", "d", count="n")


def test_limits_truncate_counted_events() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"u": rng.integers(0, 50, 400), "o": rng.integers(0, 5, 400), "d": rng.integers(0, 5, 400)})
    table["n"] = rng.integers(0, 40, 400)
    single = table.loc[table.index.repeat(table["n"])]
    for limits in ({"events": 6}, {"events_per_row": 3, "rows": 2}, {"events": 10**9}):
        short = datasets.count_transitions(table, "o", "d", count="n", unit="u", **limits)
        long = datasets.count_transitions(single.drop(columns="n"), "o", "d", unit="u", **limits)
        pd.testing.assert_frame_equal(short, long)
        for user in range(2):
            own = datasets.count_transitions(table[table["u"] == user], "o", "d", count="n", unit="u", **limits)
            most = table.loc[table["u"] == user, "n"].sum()
            if "events" in limits:
                assert own["trips"].sum() == min(limits["events"], most)
            else:
                assert own.groupby("origin")["trips"].sum().max() <= 3 and own["origin"].nunique() <= 2


def test_truncation_keeps_each_event_equally_often() -> None:
    """A pair with nine events of ten keeps nine tenths of the places, whatever the hash."""
    n = 3000
    table = pd.DataFrame({"u": np.repeat(np.arange(n), 2), "o": "a", "d": ["b", "c"] * n, "n": [9, 1] * n})
    kept = as_dict(datasets.count_transitions(table, "o", "d", count="n", unit="u", events=1))
    assert sum(kept.values()) == n
    assert abs(kept["a", "c"] - n / 10) < 5 * np.sqrt(n * 0.09)


def test_counts_beyond_the_integers_that_floats_hold() -> None:
    big = 2**53
    table = pd.DataFrame({"u": ["p"] * 3, "o": ["a"] * 3, "d": ["a", "b", "c"], "n": [big, big - 1, 1]})
    for most in (3, 1000, big - 1):
        kept = datasets.count_transitions(table, "o", "d", count="n", unit="u", events=most)
        assert kept["trips"].sum() == most, most


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"origin": "aa"}, ["no column 'aa'", "'a', 'b', 'w'", "did you mean 'a'"]),
        ({"where": "nothing = 1"}, ["where must be a SQL boolean", "'nothing = 1'"]),
        ({"where": "w >"}, ["where must be a SQL boolean"]),
        ({"where": ""}, ["where must be a SQL boolean"]),
        ({"categories": ["x"]}, ["at least 2 labels"]),
        ({"categories": "xy"}, ["at least 2 labels"]),
        ({"categories": ["x", "x"]}, ["distinct", "x more than once"]),
        ({"categories": ["x", None]}, ["must all have a label"]),
        ({"outside": "ignore"}, ["outside", "'error', 'drop'"]),
        ({"events_per_row": 2}, ["unit must name a column when events_per_row is given"]),
        ({"unit": "w", "rows": -1}, ["rows must be an integer of at least 1"]),
        ({"unit": "w", "rows": 2, "events": 3}, ["events limits a unit in all"]),
        ({"count": "many"}, ["no column 'many'"]),
        ({"source": "nowhere.csv"}, ["no file 'nowhere.csv'"]),
        ({"source": pd.DataFrame()}, ["source must have columns"]),
    ],
)
def test_refusals(arguments: dict[str, object], words: list[str]) -> None:
    settings = {"source": small(), "origin": "a", "destination": "b"} | arguments
    with pytest.raises(ValueError) as refusal:
        datasets.count_transitions(settings.pop("source"), **settings)  # type: ignore[arg-type]
    assert all(word in str(refusal.value) for word in words), refusal.value


# --- units ------------------------------------------------------------------------------------------------------------


def visits(users: int = 40, events_each: int = 30, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = users * events_each
    return pd.DataFrame(
        {"u": np.repeat(np.arange(users), events_each), "o": rng.integers(0, 6, n), "d": rng.integers(0, 6, n)}
    )


def test_truncation_keeps_at_most_c_events_in_r_rows() -> None:
    table = visits()
    for c, r in ((1, 1), (2, 3), (100, 100)):
        for user in (0, 7):
            own = table[table["u"] == user]
            kept = datasets.count_transitions(own, "o", "d", unit="u", events_per_row=c, rows=r)
            in_row = own.groupby(own["o"].astype(str)).size().clip(upper=c)
            assert (kept.groupby("origin")["trips"].sum() == in_row.loc[kept["origin"].unique()]).all()
            assert kept["origin"].nunique() == min(r, len(in_row))
            assert kept.attrs["report"]["truncated"] == len(own) - kept["trips"].sum()


def test_truncation_of_a_unit_does_not_depend_on_the_others() -> None:
    table = visits()
    whole = as_dict(datasets.count_transitions(table, "o", "d", unit="u", events_per_row=2, rows=3))
    shuffled = table.sample(frac=1.0, random_state=np.random.default_rng(3))
    assert as_dict(datasets.count_transitions(shuffled, "o", "d", unit="u", events_per_row=2, rows=3)) == whole
    without = as_dict(datasets.count_transitions(table[table["u"] != 7], "o", "d", unit="u", events_per_row=2, rows=3))
    alone = as_dict(datasets.count_transitions(table[table["u"] == 7], "o", "d", unit="u", events_per_row=2, rows=3))
    assert {pair: without.get(pair, 0) + alone.get(pair, 0) for pair in whole} == whole


def test_truncation_favours_no_destination() -> None:
    n = 3000
    table = pd.DataFrame({"u": np.repeat(np.arange(n), 4), "o": 0, "d": np.tile([1, 2, 3, 4], n)})
    kept = datasets.count_transitions(table, "o", "d", unit="u")["trips"].to_numpy()
    assert kept.sum() == n
    assert np.abs(kept - n / 4).max() < 5 * np.sqrt(n * 3 / 16)


def test_rows_without_a_unit_are_missing() -> None:
    table = pd.DataFrame({"u": ["a", None, "a"], "o": [1, 1, 2], "d": [1, 2, 3]})
    trips = datasets.count_transitions(table, "o", "d", unit="u", rows=5, categories=[1, 2])
    assert trips.attrs["report"] == report(3, missing=1, outside=1)


def journeys() -> pd.DataFrame:
    path = pd.DataFrame(
        {"car": ["p", "p", "p", "p", "q", "q", "q", None], "at": [4, 1, 2, 3, 1, 2, None, 1], "zone": list("dabcabcd")}
    )
    path.loc[path["zone"] == "c", "zone"] = None
    return path


def test_trajectories() -> None:
    trips = datasets.count_trajectories(journeys(), "car", "at", "zone", events=10)
    assert as_dict(trips) == {("a", "b"): 2}  # p: a b ? d, q: a b
    assert trips.attrs["report"] == report(6, missing=4)
    with pytest.raises(ValueError, match="a limit must be given for trajectories"):
        datasets.count_trajectories(journeys(), "car", "at", "zone")


@pytest.mark.parametrize(("gap", "linked"), [(None, 3), ("30min", 1), ("31 min", 2), ("1h", 2), ("2h", 3)])
@pytest.mark.parametrize("written", ["seconds", "dates", "text", "zone"])
def test_gaps_between_visits(tmp_path: Path, gap: str | None, linked: int, written: str) -> None:
    """The times 10:00, 10:30, 11:00:01 and 12:30, in numbers, dates, and texts with and without an hour's offset."""
    seconds = np.array([0, 1800, 3601, 9000])
    dates = pd.to_datetime(seconds + 36_000, unit="s")
    offset = [
        f"{moment.isoformat()}+0{hours}:00"
        for moment, hours in zip(dates + pd.to_timedelta([0, 1, 0, 1], "h"), [0, 1, 0, 1])
    ]
    times = {"seconds": seconds, "dates": dates, "text": dates.astype(str), "zone": offset}[written]
    table = pd.DataFrame({"u": "p", "at": times, "x": list("abcd")}).sample(frac=1.0, random_state=1)
    sources = [table]
    if written in ("text", "zone"):
        table.to_csv(tmp_path / "t.csv", index=False)
        sources = [tmp_path / "t.csv"]
    for source in sources:
        trips = datasets.count_trajectories(source, "u", "at", "x", max_gap=gap, events=10)
        assert trips["trips"].sum() == linked
        assert trips.attrs["report"] == report(linked) | ({} if gap is None else {"late": 3 - linked})
        assert set(map(tuple, trips[["origin", "destination"]].to_numpy())) <= {("a", "b"), ("b", "c"), ("c", "d")}


@pytest.mark.parametrize("gap", ["soon", "-1h", "0min", ""])
def test_gaps_that_are_none(gap: str) -> None:
    with pytest.raises(ValueError, match="max_gap must be"):
        datasets.count_trajectories(journeys(), "car", "at", "zone", max_gap=gap, events=10)


# --- genuine rows -----------------------------------------------------------------------------------------------------


@needs_raw
def test_green_month() -> None:
    everything = datasets.count_transitions(GREEN, *TRIP)
    assert everything["trips"].sum() == 46_621
    inside = datasets.count_transitions(GREEN, *TRIP, categories=manhattan())
    assert inside["trips"].sum() == 27_349
    zones = datasets.load_taxi_zones()["zone"].tolist()
    ours = datasets.count_transitions(GREEN, *TRIP, categories=zones)
    assert ours.attrs["report"] == report(46_621, outside=19_296)
    assert len(manhattan()) == 69


@needs_raw
def test_the_same_from_spark() -> None:
    pyspark_sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed (extra `spark`)")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    import ibis

    builder = pyspark_sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        spark = ibis.pyspark.connect(session)
        options = {"categories": manhattan(), "where": "trip_distance > 1"}
        here = datasets.count_transitions(GREEN, *TRIP, **options)
        there = datasets.count_transitions(str(GREEN), *TRIP, connection=spark, **options)
        pd.testing.assert_frame_equal(here, there)
        assert here.attrs["report"] == there.attrs["report"]
        columns = {"origin": TRIP[0], "destination": TRIP[1]}
        words, local = (
            datasets.open_events(str(GREEN), columns, connection=place).mutate(
                unit=lambda t: t.destination.right(1), origin=lambda t: ibis.literal(" v").concat(t.origin, "f \t")
            )
            for place in (spark, datasets.connect())
        )
        for limits in ({"events_per_row": 3, "rows": 2}, {"events": 50}):
            pd.testing.assert_frame_equal(
                datasets.count_transitions(words, "origin", "destination", unit="unit", **limits),
                datasets.count_transitions(local, "origin", "destination", unit="unit", **limits),
            )
        columns = ("VendorID", "lpep_pickup_datetime", TRIP[0])
        here, there = (
            datasets.count_trajectories(str(GREEN), *columns, max_gap="5min", events=500, connection=place)
            for place in (datasets.connect(), spark)
        )
        pd.testing.assert_frame_equal(here, there)
        assert here["origin"].iloc[0] == "3" and here.attrs["report"] == there.attrs["report"]
    finally:
        session.stop()
