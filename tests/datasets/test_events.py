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


def manhattan() -> list[int]:
    zones = pd.read_csv(RAW / "taxi_zone_lookup.csv", keep_default_na=False)
    return zones.loc[zones["Borough"] == "Manhattan", "LocationID"].tolist()


def test_counts_and_report() -> None:
    trips = datasets.count_transitions(small(), "a", "b")
    assert as_dict(trips) == {("x", "y"): 2, ("y", "x"): 1}
    assert list(trips.columns) == ["origin", "destination", "trips"]
    assert trips.attrs["report"] == {"rows": 5, "missing": 2, "outside": 0, "truncated": 0, "kept": 3}
    assert datasets.count_transitions is datasets.count_transitions


def test_every_kind_of_source_gives_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"from": rng.integers(0, 5, 300), "to": rng.integers(0, 5, 300), "km": rng.random(300)})
    table.to_csv(tmp_path / "all.csv", index=False)
    table.to_parquet(tmp_path / "all.parquet")
    for folder, write in (("csvs", "to_csv"), ("parquets", "to_parquet")):
        (tmp_path / folder).mkdir()
        for i in range(3):
            part = table.iloc[100 * i : 100 * i + 100]
            getattr(part, write)(tmp_path / folder / f"part{i}.{folder[:-1]}", index=False)
    connection = datasets.connect()
    ibis_table = connection.create_table("mine", obj=table)
    expected = as_dict(datasets.count_transitions(table, "from", "to", where="km > 0.25"))
    assert sum(expected.values()) == (table["km"] > 0.25).sum()
    for source in (
        tmp_path / "all.csv",
        str(tmp_path / "all.parquet"),
        tmp_path / "csvs",
        tmp_path / "parquets",
        str(tmp_path / "parquets" / "part*.parquet"),
        ibis_table,
    ):
        assert as_dict(datasets.count_transitions(source, "from", "to", where="km > 0.25")) == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["007", "12"], "str"), (["1", "2"], "int"), (["1", "x"], "str"), (["-3", "0"], "int")],
)
def test_labels_of_a_csv_stay_what_they_are(tmp_path: Path, values: list[str], kind: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("o,d\n" + "\n".join(f"{v},{values[0]}" for v in values) + "\n,1\n")
    trips = datasets.count_transitions(path, "o", "d")
    labels = [v if kind == "str" else int(v) for v in values]
    assert sorted(trips["origin"]) == sorted(labels)
    assert trips.attrs["report"]["missing"] == 1


def test_whole_numbers_with_gaps_are_integers() -> None:
    trips = datasets.count_transitions(
        pd.DataFrame({"o": [1.0, 2.0, np.nan], "d": [2, 1, 1]}), "o", "d", categories=[2, 1]
    )
    assert as_dict(trips) == {(1, 2): 1, (2, 1): 1}
    assert trips["origin"].dtype.kind == "i"
    with pytest.raises(ValueError, match=r"'o' must hold whole numbers or words, got fractions"):
        datasets.count_transitions(pd.DataFrame({"o": [1.5, 2.0], "d": [2, 1]}), "o", "d")


def test_outside_the_categories() -> None:
    with pytest.raises(ValueError, match=r"categories: 3 rows .* outside the 2 declared ones: 'x'; .*outside=\"drop\""):
        datasets.count_transitions(small(), "a", "b", categories=["y", "q"])
    trips = datasets.count_transitions(
        pd.DataFrame({"a": [1, 1, 2], "b": [1, 3, 1]}), "a", "b", categories=["1", "2"], outside="drop"
    )
    assert as_dict(trips) == {("1", "1"): 1, ("2", "1"): 1}  # as declared
    assert trips.attrs["report"] == {"rows": 3, "missing": 0, "outside": 1, "truncated": 0, "kept": 2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"origin": "aa"}, ["no column 'aa'", "'a', 'b', 'w'", "did you mean 'a'"]),
        ({"where": "w > 100"}, ["no rows are left by where"]),
        ({"where": "nothing = 1"}, ["where must be a SQL boolean", "'nothing = 1'"]),
        ({"where": "w >"}, ["where must be a SQL boolean"]),
        ({"where": ""}, ["where must be a SQL boolean"]),
        ({"categories": ["x"]}, ["at least 2 labels"]),
        ({"categories": "xy"}, ["at least 2 labels"]),
        ({"categories": ["x", "x"]}, ["distinct", "x more than once"]),
        ({"categories": ["x", None]}, ["must all have a label"]),
        ({"outside": "ignore"}, ["outside", "'error', 'drop'"]),
        ({"events_per_row": 2}, ["unit must name a column"]),
        ({"unit": "w", "rows": -1}, ["rows must be an integer of at least 1"]),
        ({"source": "nowhere.csv"}, ["no file 'nowhere.csv'"]),
        ({"source": pd.DataFrame()}, ["source must have columns"]),
    ],
)
def test_refusals(arguments: dict[str, object], words: list[str]) -> None:
    settings = {"source": small(), "origin": "a", "destination": "b"} | arguments
    with pytest.raises(ValueError) as refusal:
        datasets.count_transitions(settings.pop("source"), **settings)  # type: ignore[arg-type]
    assert all(word in str(refusal.value) for word in words), refusal.value


def test_wrong_type_of_source() -> None:
    with pytest.raises(TypeError, match="source must be a path, a DataFrame or an Ibis table, got int"):
        datasets.count_transitions(3, "a", "b")


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("x.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("x.csv", b"PAR1 and so on PAR1", "not a csv file"),
        ("x.csv", b"", "is empty"),
        ("x.csv", b"a,b\n", "no rows"),
        ("x.json", b"{}", "end in .csv or in .parquet"),
        ("x.parquet", b"PAR1" + bytes(40) + b"PAR1", "not a readable parquet table"),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path: Path, name: str, contents: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(ValueError, match=words):
        datasets.count_transitions(tmp_path / name, "a", "b")


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no .csv or .parquet file"):
        datasets.count_transitions(tmp_path, "a", "b")
    small().to_csv(tmp_path / "a.csv")
    small().to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="all alike"):
        datasets.count_transitions(tmp_path, "a", "b")


# --- units ------------------------------------------------------------------------------------------------------------


def visits(users: int = 40, events_each: int = 30, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = users * events_each
    return pd.DataFrame(
        {"u": np.repeat(np.arange(users), events_each), "o": rng.integers(0, 6, n), "d": rng.integers(0, 6, n)}
    )


def test_truncation_keeps_at_most_c_events_in_r_rows() -> None:
    table = visits()
    for c, r in ((1, 1), (2, 3), (4, 2), (100, 100)):
        for user in (0, 7):
            own = table[table["u"] == user]
            kept = datasets.count_transitions(own, "o", "d", unit="u", events_per_row=c, rows=r)
            in_row = own.groupby("o").size().clip(upper=c)
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
    trips = datasets.count_transitions(table, "o", "d", unit="u", rows=5, categories=[1, 2], outside="drop")
    assert trips.attrs["report"] == {"rows": 3, "missing": 1, "outside": 1, "truncated": 0, "kept": 1}


def test_trajectories() -> None:
    path = pd.DataFrame(
        {"car": ["p", "p", "p", "p", "q", "q", "q", None], "at": [4, 1, 2, 3, 1, 2, None, 1], "zone": list("dabcabcd")}
    )
    path.loc[path["zone"] == "c", "zone"] = None
    moves = datasets.trajectory_transitions(path, "car", "at", "zone")
    trips = datasets.count_transitions(moves, "origin", "destination", unit="unit", rows=10, events_per_row=10)
    assert as_dict(trips) == {("a", "b"): 2}  # p: a b ? d, q: a b
    assert trips.attrs["report"] == {"rows": 6, "missing": 4, "outside": 0, "truncated": 0, "kept": 2}


# --- genuine rows -----------------------------------------------------------------------------------------------------


@needs_raw
def test_green_month() -> None:
    everything = datasets.count_transitions(GREEN, *TRIP)
    assert everything["trips"].sum() == 46_621
    inside = datasets.count_transitions(GREEN, *TRIP, categories=manhattan(), outside="drop")
    assert inside["trips"].sum() == 27_349
    zones = datasets.load_taxi_zones()["zone"].tolist()
    ours = datasets.count_transitions(GREEN, *TRIP, categories=zones, outside="drop")
    assert ours.attrs["report"] == {"rows": 46_621, "missing": 0, "outside": 19_296, "truncated": 0, "kept": 27_325}
    assert len(manhattan()) == 69


@needs_raw
@pytest.mark.slow
def test_the_same_from_spark() -> None:
    pyspark_sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed (extra `spark`)")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    import ibis

    builder = pyspark_sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        spark = ibis.pyspark.connect(session)
        options = {"categories": manhattan(), "outside": "drop", "where": "trip_distance > 1"}
        here = datasets.count_transitions(GREEN, *TRIP, **options)
        there = datasets.count_transitions(str(GREEN), *TRIP, connection=spark, **options)
        pd.testing.assert_frame_equal(here, there)
        assert here.attrs == there.attrs
        words = spark.read_parquet(str(GREEN)).mutate(unit=lambda t: (t.DOLocationID % 7).cast("string"))
        local = datasets.open_events(GREEN).mutate(unit=lambda t: (t.DOLocationID % 7).cast("string"))
        units = {"unit": "unit", "events_per_row": 3, "rows": 2}
        pd.testing.assert_frame_equal(
            datasets.count_transitions(words, *TRIP, **units), datasets.count_transitions(local, *TRIP, **units)
        )
    finally:
        session.stop()
