"""One row more or less: it moves its own counts alone, and whether a table is taken
never depends on it.
"""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import one_row
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpsim_release import Unit, count_trajectories, count_transitions


@pytest.mark.parametrize("seed", range(40))
def test_one_more_row_of_any_kind(tmp_path: Path, seed: int) -> None:
    """Forty of the 2,000 that `make fuzz` tries."""
    one_row.check(seed, tmp_path)


# --- times ----------------------------------------------------------------------------

ENDS = {"s": 2**52, "ms": 2**62, "us": 2**63 - 2, "ns": 2**63 - 2}


def made(form: str, table: pa.Table, folder: Path) -> Any:
    """Return a table of Arrow as a file of Parquet, a frame of pandas, or as it is."""
    if form == "parquet":
        pa.parquet.write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    return table.to_pandas() if form == "pandas" else table


@pytest.mark.parametrize("unit", ENDS)
@pytest.mark.parametrize("form", ["parquet", "arrow", "pandas"])
def test_timestamps_at_their_ends(tmp_path: Path, form: str, unit: str) -> None:
    """Those that DuckDB cannot cast refused the table."""
    times = [
        at * 1000 ** ["s", "ms", "us", "ns"].index(unit) for at in (0, 600, 0, 600)
    ] + [ENDS[unit], -ENDS[unit]]
    stamps = pa.array(times, pa.int64()).view(pa.timestamp(unit))
    table = pa.table({"who": list("ppqqrs"), "at": stamps, "x": list("abbaaa")})
    counts = count_trajectories(
        made(form, table, tmp_path), Unit(2, "who"), "at", "x", max_gap="1h"
    )
    assert counts.trips.values.tolist() == [["a", "b", 1], ["b", "a", 1]]


# --- labels ---------------------------------------------------------------------------


def text_of(values: list[bytes]) -> pa.Array:
    """Return an array that calls these bytes text."""
    return pa.Array.from_buffers(
        pa.string(), len(values), pa.array(values, pa.binary()).buffers()
    )


LABELS = {
    "no UTF-8": (text_of([b"a", b"b", b"\xff\xfe"]), [["a", "b"]]),
    "dates": (
        pa.array([0, 1, 150_000_000], pa.int32()).view(pa.date32()),
        [["1970-01-01", "1970-01-02"]],
    ),
    "timestamps": (
        pa.array([0, 1, 2**62]).view(pa.timestamp("ms")),
        "must be text or whole numbers or booleans",
    ),
    "times": (
        pa.array([0, 1, 2**60]).view(pa.time64("us")),
        "must be text, whole numbers, booleans, dates",
    ),
}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", LABELS)
def test_types_settle_what_is_read(tmp_path: Path, name: str, form: str) -> None:
    """A label refused the table, emptied it, or ended the process, where the table
    without its row was published.
    """
    values, found = LABELS[name]
    for rows in (2, 3):
        ends = {
            "a": values[:rows],
            "b": pa.concat_arrays([values[1:2], values[:1], values[2:]])[:rows],
        }
        source = made(form, pa.table(ends), tmp_path)
        if isinstance(found, str):
            with pytest.raises(ValueError, match=found):
                count_transitions(source, "a", "b")
        else:
            pairs = (
                count_transitions(source, "a", "b")
                .trips[["origin", "destination"]]
                .values.tolist()
            )
            assert found[0] in pairs and len(pairs) <= rows


# --- DataFrames -----------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(one_row.OBJECTS)))
def test_an_object_takes_no_other_row_along(number: int) -> None:
    """Whole numbers above 2^53 vanished with one gap; a text moved six counts; what
    cannot be written refused all.
    """
    ends = np.empty(11, dtype=object)
    for i in range(11):
        ends[i] = 2**53 + 1 if i < 10 else one_row.OBJECTS[number]
    trips = count_transitions(
        pd.DataFrame({"a": pd.Series(ends, dtype=object), "b": "z"}), "a", "b"
    ).trips
    found = dict(zip(trips["origin"], trips["trips"]))
    assert found.pop(str(2**53 + 1)) == 10 and sum(found.values()) == len(found) <= 1


@pytest.mark.parametrize("values", [[2**53 + 1, None], [1.5, 2.5], [1.0, 2.0]])
def test_floats_are_no_labels_whatever_their_values(values: list[Any]) -> None:
    """To be whole or not was a matter of each row, and of the others: now it is a
    matter of the column.
    """
    with pytest.raises(
        ValueError, match=r"column 'a' must be .*, got float64: make it text or Int64"
    ):
        count_transitions(pd.DataFrame({"a": values, "b": "z"}), "a", "b")
    assert (
        len(
            count_transitions(
                pd.DataFrame({"a": values, "b": "z"}).astype({"a": "str"}), "a", "b"
            ).trips
        )
        >= 1
    )


# --- text -----------------------------------------------------------------------------


@pytest.mark.parametrize("more", [b"", b'"a', b'"x\ny",z\n'])
def test_a_packed_file_is_read_in_one_way(tmp_path: Path, more: bytes) -> None:
    """Zeros after the end were refused, but not where a row had a line break in
    quotes.
    """
    (tmp_path / "t.csv.gz").write_bytes(
        gzip.compress(b"from,to\na,b\n" + more) + bytes(512)
    )
    second = [['y"', "z", 1]] if more.endswith(b"z\n") else []
    assert count_transitions(
        tmp_path / "t.csv.gz", "from", "to"
    ).trips.values.tolist() == [["a", "b", 1], *second]
