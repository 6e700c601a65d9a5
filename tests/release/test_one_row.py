"""One row more or less: it moves its own counts alone, and whether a table is taken never depends on it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import one_row
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from dpsim import cli
from dpsim.release import Unit, count_trajectories, count_transitions


@pytest.mark.parametrize("seed", range(40))
def test_one_more_row_of_any_kind(tmp_path: Path, seed: int) -> None:
    """Forty of the 2,000 that `make fuzz` tries."""
    one_row.check(seed, tmp_path)


def moved(one: Any, other: Any) -> dict[tuple[str, str], int]:
    """Return how the counts of two tables differ."""
    first, second = (table.trips.set_index(["origin", "destination"])["trips"] for table in (one, other))
    change = second.sub(first, fill_value=0).astype(int)
    return change[change != 0].to_dict()


# --- times ------------------------------------------------------------------------------------------------------------

VISITS = ["p,2025-01-01 10:00,a", "p,2025-01-01 10:10,b", "q,2025-01-01 10:00,b", "q,2025-01-01 10:10,a"]


def test_a_time_beyond_all_calendars_does_not_show_in_the_exit_code(tmp_path: Path) -> None:
    """Exit 2, "ICU date overflows timestamp range", where the table without the row was published."""
    (tmp_path / "states.txt").write_text("a\nb\n")
    for name, lines in (("without", VISITS), ("with", [*VISITS, "r,294247-01-10 04:00:54.775806,a"])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["who,at,x", *lines]) + "\n")
        command = ["release", f"{tmp_path}/{name}.csv", "--trajectory", "who,at,x", "--time-format", "iso", "--events"]
        command += ["2", "--categories", f"{tmp_path}/states.txt", "--epsilon", "1", "--output", f"{tmp_path}/{name}"]
        assert CliRunner().invoke(cli.main, command).exit_code == 0
        assert (tmp_path / name / "counts.csv").is_file()


ENDS = {
    "s": [2**52, -(2**52)],
    "ms": [2**62, -(2**62)],
    "us": [2**63 - 2, -(2**63) + 2],
    "ns": [2**63 - 2, -(2**63) + 2],
}


def made(form: str, table: pa.Table, folder: Path) -> Any:
    """Return a table of Arrow as a file of Parquet, a frame of pandas, or as it is."""
    if form == "parquet":
        pa.parquet.write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    return table.to_pandas() if form == "pandas" else table


@pytest.mark.parametrize("gap", [None, "1h"])
@pytest.mark.parametrize("unit", ENDS)
@pytest.mark.parametrize("form", ["parquet", "arrow", "pandas"])
def test_timestamps_at_their_ends(tmp_path: Path, form: str, unit: str, gap: str | None) -> None:
    """Those that DuckDB cannot cast refused the table."""
    for end in ENDS[unit]:
        times = pa.array(
            [at * 1000 ** ["s", "ms", "us", "ns"].index(unit) for at in (0, 600, 0, 600)] + [end], pa.int64()
        )
        table = pa.table({"who": list("ppqqr"), "at": times.view(pa.timestamp(unit)), "x": list("abbaa")})
        counts = count_trajectories(made(form, table, tmp_path), Unit(2, "who"), "at", "x", max_gap=gap)
        assert counts.trips.values.tolist() == [["a", "b", 1], ["b", "a", 1]]


# --- labels -----------------------------------------------------------------------------------------------------------


def text_of(values: list[bytes]) -> pa.Array:
    """Return an array that calls these bytes text."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


LABELS = {
    "no UTF-8": (text_of([b"a", b"b", b"\xff\xfe"]), [["a", "b"]]),
    "dates": (pa.array([0, 1, 150_000_000], pa.int32()).view(pa.date32()), [["1970-01-01", "1970-01-02"]]),
    "dates at an end": (pa.array([0, 1, 2**31 - 1], pa.int32()).view(pa.date32()), [["1970-01-01", "1970-01-02"]]),
    "timestamps": (
        pa.array([0, 1, 2**62]).view(pa.timestamp("ms")),
        "must be text or whole numbers or booleans or dates",
    ),
    "times": (pa.array([0, 1, 2**60]).view(pa.time64("us")), "must be text, whole numbers, booleans, dates"),
    "floats": (pa.array([0.0, 1.0, None]), "got float64: make it text or Int64"),
}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", LABELS)
def test_types_settle_what_is_read(tmp_path: Path, name: str, form: str) -> None:
    """A label refused the table, emptied it, or ended the process, where the table without its row was published."""
    values, found = LABELS[name]
    for rows in (2, 3):
        ends = {"a": values[:rows], "b": pa.concat_arrays([values[1:2], values[:1], values[2:]])[:rows]}
        source = made(form, pa.table(ends), tmp_path)
        if isinstance(found, str):
            with pytest.raises(ValueError, match=found):
                count_transitions(source, "a", "b")
        else:
            pairs = count_transitions(source, "a", "b").trips[["origin", "destination"]].values.tolist()
            assert found[0] in pairs and len(pairs) <= rows


# --- DataFrames -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(one_row.OBJECTS)))
def test_an_object_takes_no_other_row_along(number: int) -> None:
    """Whole numbers above 2^53 vanished with one gap; a text moved six counts; what cannot be written refused all."""
    ends = np.empty(11, dtype=object)
    for i in range(11):
        ends[i] = 2**53 + 1 if i < 10 else one_row.OBJECTS[number]
    frame = pd.DataFrame({"a": pd.Series(ends, dtype=object), "b": "z"})
    change = moved(count_transitions(frame[:10], "a", "b"), count_transitions(frame, "a", "b"))
    assert sum(change.values()) == len(change) <= 1


@pytest.mark.parametrize("values", [[2**53 + 1, None], [1.5, 2.5], [1.0, 2.0]])
def test_floats_are_no_labels_whatever_their_values(values: list[Any]) -> None:
    """To be whole or not was a matter of each row, and of the others: now it is a matter of the column."""
    with pytest.raises(ValueError, match=r"column 'a' must be .*, got float64: make it text or Int64"):
        count_transitions(pd.DataFrame({"a": values, "b": "z"}), "a", "b")
    assert len(count_transitions(pd.DataFrame({"a": values, "b": "z"}).astype({"a": "str"}), "a", "b").trips) >= 1


# --- text -------------------------------------------------------------------------------------------------------------


def test_a_damaged_line_takes_no_lines_along(tmp_path: Path) -> None:
    """Thirty rows between it and a field with a line break went, where the bound is one."""
    rows = [f"s{i % 3},t" for i in range(30)]
    tables = []
    for name, first in (("with", ['x,"p']), ("without", [])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["from,to", *first, *rows, 'k,"', 'z"']) + "\n")
        tables.append(count_transitions(tmp_path / f"{name}.csv", "from", "to"))
    assert moved(*tables) == {} and tables[0].report["kept"] == 30


@pytest.mark.parametrize("more", [b"", b'"a', b'"x\ny",z\n'])
def test_a_packed_file_is_read_in_one_way(tmp_path: Path, more: bytes) -> None:
    """Zeros after the end were refused, but not where a row had a line break in quotes."""
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"from,to\na,b\n" + more) + bytes(512))
    assert count_transitions(tmp_path / "t.csv.gz", "from", "to").trips.values.tolist() == [["a", "b", 1]]


def test_a_count_that_rises_by_one_never_falls(tmp_path: Path) -> None:
    """Above 1e308 it went from 10^9 to 0."""
    for digits in (str(10**9), str(10**308), str(10**308 + 1), str(10**309), "9" * 9999):
        (tmp_path / "t.csv").write_text(f"from,to,n\na,b,{digits}\n")
        counts = count_transitions(tmp_path / "t.csv", "from", "to", count="n")
        assert counts.trips.values.tolist() == [["a", "b", 10**9]]
