"""Times are read as Python reads them, and one that cannot be read joins no visits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from dpsim import cli
from dpsim_release import (
    Unit,
    count_trajectories,
    privatize,
    release_chain,
    scratch,
    times,
)
from dpsim_release.support import all_pairs

CASES = Path(__file__).with_name("cases")
CAR = Unit(9, "car")
WRITTEN = [
    *("2024-03-01", "20240301", "2024-W09-5", "2024W095", "2024-W09", "2024w09"),
    *("2024-03-01T10:20", "2024-03-01T10", "20240301T1020", "20240301T102030"),
    *("2024-03-01t10:20:30", "2024-03-01 10:20:30", "2024-03-01T10:20Z"),
    *("2024-03-01T10:20:30Z", "2024-03-01T10:20:30.5Z", "2024-03-01T10:20:30,25"),
    *("2024-03-01T10:20:30.123456", "2024-03-01T10:20:30.1234567"),
    *("2024-03-01T10:20+01:00", "2024-03-01T10:20:30+0100", "2024-03-01T10:20-05"),
    *("2024-03-01T10:20:30+05:30:15", "2024-03-01T10:20:30-00:00", "0001-01-01"),
    *("9999-12-30 10:00", "1969-12-31 23:59:59.999999", "2024-02-29"),
]
NOT = [
    *("", "x", "2024", "2024-03", "2024-060", "2023-02-29", "2024-13-01", "2024-03-32"),
    *("2024-03-01T24:30", "2024-03-01T10:60", "2024-03-01T10:20:60", "2024-3-1"),
    *("01.03.2024", "03/01/2024", "2024-W54-1", "2024-03-01T10:20+25:00", "infinity"),
    *("2024-03-01T", "2024-03-01T1", "2024-03-01 10:20 Uhr", "epoch", "-2024-03-01"),
    *("2024-03-01T10:20:30 UTC", "1709288430", "99999-01-01", "0000-01-01"),
]
NUMBERS = ["1611111010101", "20240101512", "1709288430000"]
"""Seconds and milliseconds, of which Python reads the first two as times."""


def python(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


def read(texts: list[str], form: str) -> list[datetime | None]:
    table = scratch.connect()[0].create_table("t", pd.DataFrame({"at": texts}))
    found = table.select(at=times.reader(form)(table["at"])).to_pyarrow()
    return [
        None if one is None else one.replace(tzinfo=None)
        for one in found["at"].to_pylist()
    ]


def test_iso_reads_what_python_reads_and_refuses_what_it_does_not() -> None:
    texts = WRITTEN + NOT
    assert all(python(text) for text in WRITTEN) and not any(map(python, NOT))
    found = dict(zip(texts, read(texts, "iso")))
    assert {text: one for text, one in found.items() if one != python(text)} == {}
    lower = [text.lower() for text in WRITTEN]
    assert read(lower, "iso") == [python(text) for text in WRITTEN]


def test_numbers_are_not_read_as_times_of_the_middle_ages() -> None:
    assert read(NUMBERS, "iso") == [None] * 3


@pytest.mark.parametrize("text", ["2024-03-01T10:00:00Z", "2024-03-01T11:00:00+01:00"])
def test_a_pattern_with_z_reads_z(text: str) -> None:
    assert read([text], "%Y-%m-%dT%H:%M:%S%z") == [datetime(2024, 3, 1, 10)]


def test_the_case_of_minutes_without_seconds() -> None:
    settings = {"time_format": "iso", "max_gap": "30min", "events": 9}
    counts = count_trajectories(
        CASES / "iso_minutes_z/mixed.csv", "p", "at", "zone", **settings
    )
    assert counts.trips.to_numpy().tolist() == [
        ["A", "B", 1],
        ["B", "C", 1],
        ["C", "D", 1],
    ]
    assert counts.seen == {
        "first": "2024-03-01 10:00:00",
        "last": "2024-03-01 10:30:30",
    }


VISITS = pd.DataFrame(
    {
        "car": ["p"] * 4 + ["q"] * 3 + [None],
        "at": ["2024-03-01 10:00", "half past ten", "2024-03-01 11:00"]
        + [f"2024-03-01 {hour}:00" for hour in (12, 10, 11, 12)]
        + ["nothing"],
        "zone": list("abcdabca"),
    }
)


def test_an_unreadable_time_leaves_out_the_moves_of_its_unit_and_of_no_other() -> None:
    counts = count_trajectories(VISITS, CAR, "at", "zone", time_format="iso")
    assert counts.trips.to_numpy().tolist() == [["a", "b", 1], ["b", "c", 1]]
    assert (counts.report["time"], counts.report["unordered"]) == (1, 3)
    assert counts.report["missing"] == 1
    alone = VISITS[VISITS["car"] == "q"]
    again = count_trajectories(alone, CAR, "at", "zone", time_format="iso")
    assert again.trips.equals(counts.trips)


def test_the_statement_says_what_happens_to_such_a_unit() -> None:
    counts = count_trajectories(VISITS, CAR, "at", "zone", time_format="iso")
    chain = release_chain(counts, epsilon=1.0, support=all_pairs(list("abcd")), rng=1)
    assert "All moves of such a unit, and of no other, were left out." in chain.text


def test_examples_and_times_are_told_to_the_owner_and_are_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    VISITS.to_csv("visits.csv", index=False)
    words = "release visits.csv --trajectory car,at,zone --time-format iso --events 9"
    words += " --epsilon 1 --delta 1e-6 --output chain"
    done = CliRunner().invoke(cli.main, words.split())
    assert done.exit_code == 0, done.output
    for told in (
        "1 left out: visits without a time that can be read, for example 'half past "
        "ten'",
        "would be joined into a move that never happened",
        "the times are from 2024-03-01 10:00:00",
        "to 2024-03-01 12:00:00",
    ):
        assert told in done.stderr and told not in done.stdout
    for file in Path().rglob("chain*/*"):
        written = file.read_bytes()
        assert b"half past" not in written and b"2024-03-01" not in written
    owner = json.loads(Path("chain_OWNER_ONLY/owner.json").read_text())
    assert (owner["time"], owner["unordered"]) == (1, 3)


def test_check_shows_that_seconds_are_no_milliseconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("who,at,zone\np,1709287200,a\np,1709290800,b\n")
    words = "release v.csv --trajectory who,at,zone --events 9 --check --time-format"
    for form, first in (
        ("seconds", "2024-03-01 10:00"),
        ("milliseconds", "1970-01-20"),
    ):
        done = CliRunner().invoke(cli.main, [*words.split(), form])
        assert f"the times are from {first}" in done.stderr and not done.stdout


def test_timestamps_that_are_missing_are_unreadable_times() -> None:
    stamps = pd.to_datetime(["2024-03-01", None, "2024-03-03"] * 2)
    table = pd.DataFrame({"car": list("pppqqq"), "at": stamps, "zone": list("abcabc")})
    table.loc[4, "at"] = pd.Timestamp("2024-03-02")
    counts = privatize(
        table, trajectory="car,at,zone", events=9, epsilon=9, delta=0.1, rng=1
    )
    assert counts.labels == ("a", "b", "c") or len(counts.labels) <= 3
    found = count_trajectories(table, CAR, "at", "zone")
    assert found.trips.to_numpy().tolist() == [["a", "b", 1], ["b", "c", 1]]
    assert found.report["unordered"] == 2
