"""The one reader: the same words from every kind of table, no row decides how another is read, plain refusals."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from dpsim import datasets
from dpsim.datasets import sources

TABLE = pd.DataFrame(
    {"from": ["1", "2", "3", "1", None], "to": ["2", "3", "x", "2", "1"], "km": [0.5, 1.5, 2.5, 3.5, 4.5]}
)


def write(kind: str, table: pd.DataFrame, path: Path) -> Path:
    if kind == "parquet":
        table.to_parquet(path)
        return path
    text = {
        "csv": lambda: table.to_csv(index=False),
        "tsv": lambda: table.to_csv(index=False, sep="\t"),
        "jsonl": lambda: table.to_json(orient="records", lines=True),
    }[kind.partition(".")[0]]()
    if kind.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif kind.endswith(".zst"):
        path.write_bytes(pa.Codec("zstd").compress(text.encode(), asbytes=True))
    else:
        path.write_text(text)
    return path


def counted(source: Any, **settings: Any) -> dict[tuple[Any, Any], int]:
    trips = datasets.count_transitions(source, "from", "to", **settings)
    return {(o, d): n for o, d, n in trips.itertuples(index=False)}


KINDS = ("csv", "csv.gz", "csv.zst", "tsv", "tsv.gz", "jsonl", "jsonl.gz", "jsonl.zst", "parquet")


@pytest.mark.parametrize("where", [None, "km > 1"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file(tmp_path: Path, kind: str, where: str | None) -> None:
    expected = counted(TABLE, where=where)
    assert sum(expected.values()) == (4 if where is None else 3)
    assert counted(write(kind, TABLE, tmp_path / f"all.{kind}"), where=where) == expected
    (tmp_path / "parts" / "more").mkdir(parents=True)
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    write(kind, TABLE[:2], tmp_path / "parts" / f"one.{kind}")
    write(kind, TABLE[2:], tmp_path / "parts" / "more" / f"two.{kind}")
    assert counted(tmp_path / "parts", where=where) == expected
    assert counted(str(tmp_path / "parts" / "**" / f"*.{kind}"), where=where) == expected


@pytest.mark.parametrize(
    "frame",
    [
        lambda: polars.from_arrow(pa.Table.from_pandas(TABLE)),
        lambda: polars.from_arrow(pa.Table.from_pandas(TABLE)).lazy(),
        lambda: pa.Table.from_pandas(TABLE),
        lambda: TABLE.astype({"from": "category", "to": object}),
        lambda: TABLE.set_index("km", drop=False),
        lambda: datasets.connect().create_table("mine", obj=TABLE),
    ],
)
def test_every_kind_of_frame(frame: Callable[[], Any]) -> None:
    assert counted(frame(), where="km > 1") == counted(TABLE, where="km > 1")


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_with_gaps(tmp_path: Path, kind: str) -> None:
    """A column with gaps is written as floats: 97.0 there and 97 elsewhere were two states."""
    table = pd.DataFrame({"from": [97.0, np.nan, 5.0], "to": [5, 97, 97]})
    assert counted(table) == counted(write(kind, table, tmp_path / f"t.{kind}")) == {("97", "5"): 1, ("5", "97"): 1}


def test_files_of_a_folder_may_differ_in_their_types(tmp_path: Path) -> None:
    pd.DataFrame({"from": [1, 2], "to": [2, 1], "u": [2**63 - 1, 2**63 - 2]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"to": ["1", "x"], "from": [1.0, np.nan], "u": ["p", "q"]}).to_parquet(tmp_path / "b.parquet")
    expected = {("1", "1"): 1, ("1", "2"): 1, ("2", "1"): 1}
    assert counted(tmp_path) == counted(tmp_path, unit="u", events=1) == expected
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "a.csv").write_text("from,to\n1,2\n")
    (tmp_path / "csv" / "b.csv").write_text("to;from\n1;2\n")
    assert counted(tmp_path / "csv") == {("1", "2"): 1, ("2", "1"): 1}


# --- persons ----------------------------------------------------------------------------------------------------------


def persons(source: Any) -> int:
    """Return how many units there are: of each one event is kept."""
    return sum(counted(source, unit="u", events=1).values())


@pytest.mark.parametrize("where", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_persons_are_not_merged(tmp_path: Path, kind: str, where: bool) -> None:
    """Ids of 20 digits became floats, and 1.1 and 1.10 too: several persons shared the limits of one."""
    long = [str(10**19 + i) for i in range(20)]
    odd = ["1.1", "1.10", "1.100", "1", "01", "1e3", "1000", "inf", "nan", "NaN", "true", "True", " 1", "2.0"]
    ids = [*long, *odd, "", None]
    table = pd.DataFrame({"u": ids, "from": "a", "to": "b", "km": 1.0}).astype({"u": "str"})
    path = write(kind, pd.concat([table, table]), tmp_path / f"t.{kind}")
    for source in (path, table):
        found = datasets.count_transitions(source, "from", "to", unit="u", events=1, where="km > 0" if where else None)
        assert found["trips"].sum() == len(long) + len(odd)
        assert found.attrs["report"]["missing"] == found.attrs["report"]["rows"] // len(ids) * 2


def test_numbers_as_persons(tmp_path: Path) -> None:
    """A NaN of Parquet was a person; so were two integers that are one float."""
    floats = [1.0, 2.0, np.nan, np.nan, 1.5, 2.0**53, 2.0**60]
    whole = pa.array([2**64 - 1, 2**64 - 2, 2**64 - 3, 1, 2, 3, 3], pa.uint64())
    exact = [Decimal(10**30 + i) for i in range(7)]
    for ids, number in ((floats, 3), (whole, 6), (exact, 7)):
        table = pa.table({"u": ids, "from": ["a"] * 7, "to": ["b"] * 7})
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        assert persons(tmp_path / "t.parquet") == persons(table) == persons(table.to_pandas()) == number
    pa.parquet.write_table(pa.table({"u": pa.array([2.0**24 + 2, 2.0**24, 5], pa.float32()), "from": ["a"] * 3,
                                     "to": ["b"] * 3}), tmp_path / "t.parquet")  # fmt: skip
    assert persons(tmp_path / "t.parquet") == 1


def test_numbers_of_json_lines(tmp_path: Path) -> None:
    lines = [f'{{"u": {u}, "from": "a", "to": "b"}}' for u in (10**19 + 1, 10**19 + 2, 10**25 + 1, 10**25 + 2, '"x"')]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert persons(tmp_path / "t.jsonl") == 5


# --- no row decides how another is read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", ["#1,2", "1;2,3", '"a ""b"" c",1', "'a,b", "1\t2,3", "x" * 30_000 + ",1", '"a\nb",1', ",", "1,", "NULL,x"]
)
@pytest.mark.parametrize("place", [0, 500])
def test_no_row_of_a_csv_changes_another(tmp_path: Path, row: str, place: int) -> None:
    rows = [f"{i % 7},{i % 5}" for i in range(1000)]
    path = tmp_path / "t.csv"
    path.write_text("from,to\n" + "\n".join(rows) + "\n")
    before = counted(path)
    path.write_text("from,to\n" + "\n".join([*rows[:place], row, *rows[place:]]) + "\n")
    after = counted(path)
    more = sum(after.values()) - sum(before.values())
    assert all(after[pair] == count for pair, count in before.items()) and more in (0, 1)


def test_words_of_single_values() -> None:
    values = [
        97,
        97.0,
        np.float64(97),
        Decimal("97.0"),
        "97.00",
        True,
        None,
        np.nan,
        pd.NaT,
        pd.NA,
        "",
        " \t",
        "0.",
        ".0",
        "-3.0",
        " 97.0\t",
        "  fix a v ",
    ]
    words = ["97"] * 5 + ["true"] + [None] * 6 + ["0.", ".0", "-3", "97", "fix a v"]
    assert [sources.whole_word(value) for value in values] == words
    table = pd.DataFrame({"from": pd.Series(values, dtype=object), "to": "z"})
    kept = {("97", "z"): 6, ("-3", "z"): 1, (".0", "z"): 1, ("0.", "z"): 1, ("true", "z"): 1, ("fix a v", "z"): 1}
    assert counted(table) == kept
    persons = datasets.open_events(pd.DataFrame({"who": ["a", " a", "a "]}), {"who": "who"}, ids=["who"])
    assert sorted(persons.to_pandas()["who"]) == [" a", "a", "a "]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("x.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("x.parquet", b"PAR1" + bytes(40) + b"PAR1", "not a readable table"),
        ("x.csv", b"PAR1 and so on PAR1", "not a text file"),
        ("x.csv", b"", "is empty"),
        ("x.csv", b"\n1,2\n", "first line must name the columns"),
        ("x.csv", b"from,to,From\n1,2,3\n", "name each column once"),
        ("x.csv", "from,to\nMünchen,x\n".encode("latin-1"), "is not UTF-8 text: save it as UTF-8"),
        ("x.csv", "from,tö\n1,x\n".encode("latin-1"), "is not UTF-8 text: save it as UTF-8"),
        ("x.csv", "from,to\n1,x\n".encode("utf-16"), "is not UTF-8 text"),
        ("x.csv", b"from,to\n1,2\n3\n", "not a readable table"),
        ("x.csv", b"from,to\n1,2\n3,4,5\n", "not a readable table"),
        ("x.csv", b'from,to\n1,2\n"3,4\n', "not a readable table"),
        ("x.csv", gzip.compress(b"from,to\n1,2\n", mtime=0), "the name ends in .csv, but"),
        ("x.csv.gz", b"from,to\n1,2\n", "ends in .csv.gz, but the file is not"),
        ("x.csv.gz", gzip.compress(b"from,to\n" + bytes(range(256)) * 90, mtime=0)[:200], "damaged"),
        ("x.csv.zst", b"from,to\n1,2\n", "ends in .csv.zst, but the file is not"),
        ("x.parquet.gz", b"1", "must be files that end in .csv, .tsv, .jsonl"),
        ("x.jsonl", b'{"from": 1, "to": 2}\n{"from": 1', "not a readable table"),
        ("x.json", b"{}", "must be files that end in .csv, .tsv, .jsonl"),
        ("x.xlsx", b"PK", "must be files that end in .csv, .tsv, .jsonl"),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path: Path, name: str, contents: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(ValueError, match=words) as refusal:
        datasets.count_transitions(tmp_path / name, "from", "to")
    assert "\n" not in str(refusal.value) and name in str(refusal.value)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no file that ends in"):
        counted(tmp_path)
    TABLE.to_csv(tmp_path / "a.csv")
    TABLE.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="all alike"):
        counted(tmp_path)


def test_other_things() -> None:
    with pytest.raises(TypeError, match="source must be a path, a DataFrame or an Ibis table, got int"):
        datasets.count_transitions(3, "a", "b")
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match="'a' occurs twice"):
        datasets.count_transitions(twice, "a", "a")


def test_semicolons_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufefffrom;to;km\n1;2,5;3\n".encode())
    assert counted(path) == {("1", "2,5"): 1}
    path.write_text("from\n")
    with pytest.raises(ValueError, match="no column 'to' among 'from'"):
        counted(path)


def test_json_lines_with_gaps(tmp_path: Path) -> None:
    lines = [{"from": "a"}, {"from": "a", "to": "b"}, {"to": 3.0, "from": 97.0}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert counted(tmp_path / "t.jsonl") == {("97", "3"): 1, ("a", "b"): 1}
