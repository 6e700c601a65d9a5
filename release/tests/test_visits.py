"""Visits become moves: times are read as they are declared, one by one, and gaps are
lengths of time with a unit.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsim_release import (
    Counts,
    Unit,
    count_trajectories,
    count_transitions,
    scratch,
    times,
)

CAR = Unit(10, "car")


def as_dict(counts: Counts) -> dict[tuple[object, object], int]:
    return {(o, d): n for o, d, n in counts.trips.itertuples(index=False)}


def test_trajectories() -> None:
    table = pd.DataFrame(
        {
            "car": ["p", "p", "p", "p", "q", "q", "q", None],
            "at": [4, 1, 2, 3, 1, 2, None, 1],
            "zone": list("dabcabcd"),
        }
    )
    table.loc[table["zone"] == "c", "zone"] = None
    counts = count_trajectories(table, CAR, "at", "zone", time_format="seconds")
    assert as_dict(counts) == {("a", "b"): 1}  # p: a b ? d, q: one time is missing
    lost = {
        "damaged": 0,
        "time": 1,
        "unordered": 2,
        "late": 0,
        "missing": 3,
        "outside": 0,
        "truncated": 0,
    }
    assert counts.report == {"rows": 8, **lost, "kept": 1} and counts.moves
    with pytest.raises(ValueError, match="unit must name a column for visits"):
        count_trajectories(table, Unit(), "at", "zone", time_format="seconds")


GAPS = [
    (None, 3),
    ("30min", 1),
    ("31 min", 2),
    ("1h", 2),
    ("2h", 3),
    ("0.0209d", 2),
    ("1801s", 2),
]
SECONDS = np.array([0, 1800, 3601, 9000])
DATES = pd.to_datetime(SECONDS + 36_000, unit="s")
AHEAD = [0, 1, 0, 1]
OFFSET = [
    f"{at.isoformat()}+0{hours}:00"
    for at, hours in zip(DATES + pd.to_timedelta(AHEAD, "h"), AHEAD)
]
WRITTEN = {
    "seconds": (SECONDS, "seconds"),
    "milliseconds": (1000 * SECONDS, "milliseconds"),
    "fractions": (SECONDS + 0.25, "seconds"),
    "stamps": (DATES, None),
    "zones": (DATES.tz_localize("Europe/Berlin"), None),
    "iso": (DATES.astype(str), "iso"),
    "offsets": (OFFSET, "iso"),
    "Foursquare": (
        DATES.strftime("%a %b %d %H:%M:%S +0000 %Y"),
        "%a %b %d %H:%M:%S %z %Y",
    ),
    "points": (DATES.strftime("%d.%m.%Y %H:%M:%S"), "%d.%m.%Y %H:%M:%S"),
    "afternoons": (DATES.strftime("%m/%d/%Y %I:%M:%S %p"), "%m/%d/%Y %I:%M:%S %p"),
}


@pytest.mark.parametrize(("gap", "linked"), GAPS)
def test_gaps_between_visits(gap: str | None, linked: int) -> None:
    """The times 10:00, 10:30, 11:00:01 and 12:30."""
    table = pd.DataFrame({"car": "p", "at": SECONDS, "x": list("abcd")}).sample(
        frac=1.0, random_state=1
    )
    counts = count_trajectories(
        table, CAR, "at", "x", time_format="seconds", max_gap=gap
    )
    assert counts.report["kept"] == linked and counts.report["late"] == 3 - linked
    assert set(as_dict(counts)) <= {("a", "b"), ("b", "c"), ("c", "d")}


def test_times_are_read_as_they_are_declared(tmp_path: Path) -> None:
    """Times in another form than ISO or seconds were all missing, exit 0; milliseconds
    were taken for seconds.
    """
    columns = {written: at for written, (at, _) in WRITTEN.items()}
    table = pd.DataFrame({"car": "p", "x": list("abcd")} | columns).sample(
        frac=1.0, random_state=1
    )
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    types = ("seconds", "stamps", "zones")  # text is text in a frame too
    sources = [
        (table, None, WRITTEN),
        (tmp_path / "t.parquet", None, types),
        (tmp_path / "t.csv", "iso", WRITTEN),
    ]
    for source, typed, some in sources:
        for written in some:
            declared = WRITTEN[written][1] or typed
            counts = count_trajectories(
                source, CAR, written, "x", time_format=declared, max_gap="31min"
            )
            assert (
                as_dict(counts) == {("a", "b"): 1, ("b", "c"): 1}
                and counts.report["late"] == 1
            ), (source, written)
        for written in ("seconds", "iso"):
            with pytest.raises(
                ValueError,
                match=f"time_format must be given for the column '{written}'",
            ):
                count_trajectories(source, CAR, written, "x", max_gap="31min")


ODD = [
    *(
        "",
        "soon",
        "infinity",
        "-infinity",
        "nan",
        "1e300",
        "-1e300",
        "1e13",
        "1e16",
        "290000-01-01",
        "0000-00-00",
    ),
    *(
        "5877642-06-25 (BC)",
        "1970-01-01",
        "-9223372036854775808",
        "9223372036854775807",
        "10:00",
        "now",
        "epoch",
    ),
    *("24.13.2025", "294247-01-10 04:00:54.775806"),
]


@pytest.mark.parametrize(
    "form", ["iso", "seconds", "milliseconds", "%d.%m.%Y", "%Y-%m-%d"]
)
def test_a_time_that_cannot_be_read_is_left_out_alone(
    tmp_path: Path, form: str
) -> None:
    """No text refuses the table, overflows beside a gap, or changes another unit's
    moves.
    """
    good = {
        "iso": "2025-03-01",
        "%d.%m.%Y": "01.03.2025",
        "%Y-%m-%d": "2025-03-01",
    }.get(form, "60")
    later = {
        "iso": "2025-03-02",
        "%d.%m.%Y": "02.03.2025",
        "%Y-%m-%d": "2025-03-02",
    }.get(form, "120")
    rows = [
        f"p,{good},a",
        f"p,{later},b",
        *(f"q{i},{text},a\nq{i},{good},b" for i, text in enumerate(ODD)),
    ]
    (tmp_path / "t.csv").write_text("car,at,x\n" + "\n".join(rows) + "\n")
    counts = count_trajectories(
        tmp_path / "t.csv", CAR, "at", "x", time_format=form, max_gap="1000d"
    )
    assert as_dict(counts).get(("a", "b"), 0) >= 1 and counts.report["damaged"] == 0
    assert counts.report["time"] >= 10 and counts.report["rows"] == 2 + 2 * len(ODD)


@pytest.mark.parametrize(
    "word", ["infinity", "-infinity", "epoch", "Infinity", " EPOCH ", "now", "today"]
)
@pytest.mark.parametrize("form", ["iso", "%d.%m.%Y", "%Y-%m-%d"])
def test_words_that_a_database_takes_for_times_are_none(form: str, word: str) -> None:
    """PostgreSQL writes infinity. Read as 1970, it would put a false move before all
    others.
    """
    good = "01.03.2025" if form == "%d.%m.%Y" else "2025-03-01"
    table = pd.DataFrame({"car": "p", "at": [word, good], "x": ["a", "b"]})
    counts = count_trajectories(table, CAR, "at", "x", time_format=form)
    assert not as_dict(counts) and counts.report["time"] == 1


def test_timestamps_that_are_infinite(tmp_path: Path) -> None:
    import duckdb

    duckdb.sql(
        "COPY (SELECT z AS car, x, CAST(y AS TIMESTAMP) AS y FROM (VALUES ('a', "
        "'infinity', 'q'), "
        "('b', '-infinity', 'r'), ('e', '2025-01-01', 'r'), ('c', '2025-01-01', 'p'), "
        f"('d', '2025-01-02', 'p')) t(x, y, z)) TO '{tmp_path}/t.parquet'"
    )
    for source in (
        tmp_path / "t.parquet",
        scratch.connect()[0].read_parquet(tmp_path / "t.parquet"),
    ):
        counts = count_trajectories(source, CAR, "y", "x", max_gap="2d")
        assert as_dict(counts) == {("c", "d"): 1} and counts.report["time"] == 2


@pytest.mark.parametrize(
    "form", ["", "ISO", "unix", "dd.mm.yyyy", "%Q", "seconds ", "2025-01-01"]
)
def test_formats_that_are_none_are_refused_before_a_row_is_read(form: str) -> None:
    with pytest.raises(
        ValueError, match="time_format must be iso, seconds, milliseconds"
    ):
        count_trajectories("nowhere.csv", CAR, "at", "x", time_format=form)


@pytest.mark.parametrize(
    "gap",
    [
        "soon",
        "-1h",
        "0min",
        "",
        "1,5h",
        "1 h 30 min",
        "30",
        "1.5",
        "1hour",
        "1e2h",
        "h",
        "inf h",
    ],
)
def test_gaps_that_are_none(gap: str) -> None:
    """1,5h was 15 hours."""
    with pytest.raises(
        ValueError, match="max_gap must be a number above 0 with its unit"
    ):
        times.seconds(gap)


def test_visits_at_the_same_time_are_in_the_order_of_their_places() -> None:
    table = pd.DataFrame({"car": "p", "at": [1, 1, 1, 2], "x": list("cabd")})
    for seed in range(3):
        counts = count_trajectories(
            table.sample(frac=1.0, random_state=seed),
            CAR,
            "at",
            "x",
            time_format="seconds",
        )
        assert as_dict(counts) == {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1}


def test_a_unit_may_be_the_name_of_its_column() -> None:
    """It ended in an AttributeError; `privatize` takes a name."""
    visits = pd.DataFrame({"who": ["p"] * 9, "at": range(9), "zone": list("abcabcabc")})
    named = count_trajectories(
        visits, "who", "at", "zone", events=3, time_format="seconds"
    )
    whole = count_trajectories(
        visits, Unit(3, "who"), "at", "zone", time_format="seconds"
    )
    assert (
        named.unit == whole.unit == Unit(3, "who")
        and named.trips.equals(whole.trips)
        and named.trips["trips"].sum() == 3
    )
    trips = pd.DataFrame(
        {"who": ["p"] * 9, "from": list("abcabcabc"), "to": list("bcabcabca")}
    )
    assert (
        count_transitions(trips, "from", "to", unit="who", events=2)
        .trips["trips"]
        .sum()
        == 2
    )
    for count in (
        lambda **of: count_trajectories(visits, time="at", place="zone", **of),
        lambda **of: count_transitions(trips, "from", "to", **of),
    ):  # fmt: skip
        for wrong in (
            {"unit": "who"},
            {"unit": None, "events": 3},
            {"unit": Unit(3, "who"), "events": 3},
        ):
            with pytest.raises(
                ValueError, match=r"events must go with|events belongs to"
            ):
                count(**wrong)
        with pytest.raises(ValueError, match="column must be the name of a column"):
            count(unit=3, events=3)
