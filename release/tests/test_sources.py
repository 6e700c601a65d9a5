"""The one reader: the same words from every kind of table, no row decides how another
is read, plain refusals.
"""

import gzip
import os
from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import one_row
import pandas as pd
import pyarrow as pa
import pytest

from dpsim_release import Unit, count_transitions, labels, scratch, sources
from dpsim_release import text as text_

TABLE = pd.DataFrame(
    {
        "from": ["1", "2", "3", "1", None],
        "to": ["2", "3", "x", "2", "1"],
        "km": [0.5, 1.5, 2.5, 3.5, 4.5],
    }
)
KINDS = ("csv", "csv.gz", "tsv", "tsv.gz", "parquet")


def write(kind: str, table: pd.DataFrame, path: Path) -> Path:
    if kind == "parquet":
        table.to_parquet(path)
    else:
        text = table.to_csv(
            index=False, sep="\t" if kind.startswith("tsv") else ","
        ).encode()
        path.write_bytes(gzip.compress(text) if kind.endswith(".gz") else text)
    return path


def as_polars(table: pd.DataFrame) -> Any:
    import polars

    return polars.from_arrow(pa.Table.from_pandas(table))


def counted(source: Any, **settings: Any) -> dict[tuple[Any, Any], int]:
    trips = count_transitions(source, "from", "to", **settings).trips
    return {(o, d): n for o, d, n in trips.itertuples(index=False)}


EXPECTED = {("1", "2"): 2, ("2", "3"): 1, ("3", "x"): 1}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    assert sum(EXPECTED.values()) == 4
    assert counted(write(kind, TABLE, tmp_path / f"all.{kind}")) == EXPECTED
    (tmp_path / "parts" / "more").mkdir(parents=True)
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    (tmp_path / "parts" / ".hidden.csv").write_text("from,to\n7,7\n")
    one = write(kind, TABLE[:2], tmp_path / "parts" / f"one.{kind}")
    two = write(kind, TABLE[2:], tmp_path / "parts" / "more" / f"two.{kind}")
    assert counted(tmp_path / "parts") == counted([one, str(two)]) == EXPECTED


@pytest.mark.parametrize(
    "frame",
    [
        lambda: as_polars(TABLE),
        lambda: as_polars(TABLE).lazy(),
        lambda: pa.Table.from_pandas(TABLE),
        lambda: TABLE.astype({"from": "category", "to": object}),
        lambda: TABLE.set_index("km", drop=False),
        lambda: TABLE.assign(more=[{}, 1, "x", None, b"y"]),
        lambda: scratch.connect()[0].create_table("mine", obj=TABLE),
    ],
)
def test_every_kind_of_frame(frame: Callable[[], Any]) -> None:
    assert counted(frame()) == EXPECTED


# --- names of files are literal, and each file counts once ----------------------------


NAMES = [
    "a[1]",
    "a*",
    "a?",
    "{a,b}",
    "a'b",
    "a[!x]",
    "a\\b",
    "~",
    "a b",
    "s3:x",
    "a.[1]",
]


def test_names_are_literal(tmp_path: Path) -> None:
    """`a[1].csv` was read as a pattern: what was counted was a1.csv."""
    other = pd.DataFrame({"from": ["no"], "to": ["no"]})
    for kind, names in (("csv", NAMES), ("parquet", ["a[1]", "a*"])):
        for decoy in ("a1", "ab", "a", "b", "ax"):
            write(kind, other, tmp_path / f"{decoy}.{kind}")
        files = [write(kind, TABLE, tmp_path / f"{name}.{kind}") for name in names]
        for name in names:
            (tmp_path / kind / name / name).mkdir(parents=True)
            write(kind, TABLE, tmp_path / kind / name / name / f"{name}.{kind}")
        every = {pair: len(names) * number for pair, number in EXPECTED.items()}
        assert counted(files + files) == counted(tmp_path / kind) == every
        assert counted(tmp_path / kind / names[0]) == counted(files[0]) == EXPECTED


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_are_the_file_they_name(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    file = write("csv", TABLE, tmp_path / "a.csv")
    link(file, tmp_path / "b.csv")
    assert (
        counted(tmp_path)
        == counted([tmp_path / "b.csv", file])
        == counted(tmp_path / "b.csv")
        == EXPECTED
    )


def test_links_to_folders_are_followed_each_folder_once(tmp_path: Path) -> None:
    """The rows of a linked subfolder were left out without a word."""
    elsewhere = tmp_path / "elsewhere"
    source = tmp_path / "source"
    (elsewhere / "deep").mkdir(parents=True)
    (source / ".store").mkdir(parents=True)
    write("csv", TABLE[:1], source / "a.csv")
    write("csv", TABLE[1:3], elsewhere / "deep" / "b.csv")
    write("csv", TABLE[3:], source / ".store" / "c.csv")
    assert counted(source) == {("1", "2"): 1}  # what is hidden is left out
    (source / "linked").symlink_to(elsewhere)
    (source / "again").symlink_to(elsewhere / "deep")
    (source / "loop").symlink_to(source)
    (elsewhere / "back").symlink_to(source / "linked")
    (source / "shown").symlink_to(source / ".store")
    (source / "_hidden").symlink_to(tmp_path / "nowhere")
    assert counted(source) == counted([source, elsewhere]) == EXPECTED
    assert sorted(Path(file).name for file in sources.table_files([str(source)])) == [
        "a.csv",
        "b.csv",
        "c.csv",
    ]


@pytest.mark.parametrize("name", ["more", "more.csv"])
def test_a_link_that_leads_nowhere_is_refused_by_name(
    tmp_path: Path, name: str
) -> None:
    write("csv", TABLE, tmp_path / "a.csv")
    (tmp_path / name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=rf"source: the link '.*{name}' leads nowhere"):
        counted(tmp_path)


@pytest.mark.parametrize("column", ["a\0b", "\ud800", "", 3, b"from"])
@pytest.mark.parametrize("name", ["origin", "unit", "count"])
def test_what_is_no_name_of_a_column_is_refused_by_its_argument(
    name: str, column: Any
) -> None:
    settings = {
        "origin": "from",
        "destination": "to",
        "count": None,
        "unit": None,
        name: column,
    }
    table = TABLE
    if column != "\ud800":
        renamed = "from" if name == "origin" else "km"
        table = TABLE.rename(columns={renamed: column})
    if name == "unit" and column in ("", 3, b"from"):
        with pytest.raises(ValueError, match="column must be the name of a column"):
            count_transitions(table, **settings, events=1)
        return
    with pytest.raises(ValueError, match=rf"{name} must be the name of a column, got"):
        count_transitions(table, **settings, events=1 if name == "unit" else None)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_names_of_folders_are_no_columns(tmp_path: Path, kind: str) -> None:
    """A folder `from=b` overwrote the column; `u=anna` made the whole table one
    person.
    """
    folder = tmp_path / "from=b" / "u=anna"
    folder.mkdir(parents=True)
    write(kind, TABLE.assign(u=list("pqrst")), folder / f"t.{kind}")
    assert counted(tmp_path) == EXPECTED
    assert sum(counted(tmp_path, unit=Unit(1, "u")).values()) == 4
    write(kind, TABLE, folder / f"t.{kind}")
    with pytest.raises(ValueError, match="no column 'u'"):
        counted(tmp_path, unit=Unit(1, "u"))


def test_columns_with_several_levels_of_names_are_refused() -> None:
    """They ended in an AttributeError."""
    table = pd.DataFrame(
        [["a", "b"]],
        columns=pd.MultiIndex.from_tuples([("trip", "from"), ("trip", "to")]),
    )
    with pytest.raises(
        ValueError,
        match="source: each column must have one name, got 2 levels of names",
    ):
        count_transitions(table, "trip", "to")


# --- no type is guessed ---------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_with_gaps(tmp_path: Path, kind: str) -> None:
    """A column with gaps is written as floats in text: 97.0 there and 97 elsewhere were
    two states.
    """
    table = pd.DataFrame({"from": [97.0, np.nan, 5.0], "to": [5, 97, 97]})
    whole = table.astype({"from": "Int64"})
    written = write(kind, whole if kind == "parquet" else table, tmp_path / f"t.{kind}")
    assert counted(whole) == counted(written) == {("97", "5"): 1, ("5", "97"): 1}


def test_files_of_a_folder_may_differ_in_their_types(tmp_path: Path) -> None:
    pd.DataFrame(
        {"from": [1, 2], "to": [2, 1], "u": [2**63 - 1, 2**63 - 2]}
    ).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"to": ["1", "x"], "from": ["1.0", None], "u": ["p", "q"]}).to_parquet(
        tmp_path / "b.parquet"
    )
    expected = {("1", "1"): 1, ("1", "2"): 1, ("2", "1"): 1}
    assert counted(tmp_path) == counted(tmp_path, unit=Unit(1, "u")) == expected
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "a.csv").write_text("from,to\n1,2\n")
    (tmp_path / "csv" / "b.csv").write_text("to;from\n1;2\n")
    assert counted(tmp_path / "csv") == {("1", "2"): 1, ("2", "1"): 1}


@pytest.mark.parametrize(
    "more", ["1.5,2.5", "x,y", "2020-01-05,true", "99999999999999999999,1e5", ","]
)
@pytest.mark.parametrize("place", [0, 30_000])
def test_no_row_decides_a_type(tmp_path: Path, more: str, place: int) -> None:
    rows = ["1,0x1", "2.0,2020-1-5", "007,1e3", "1_000,TRUE"] * 10_000
    (tmp_path / "a.csv").write_text(
        "from,to\n" + "\n".join([*rows[:place], more, *rows[place:]]) + "\n"
    )
    expected = {("1", "0x1"), ("2", "2020-1-5"), ("007", "1e3"), ("1_000", "TRUE")}
    found = counted(tmp_path / "a.csv")
    assert {pair for pair, n in found.items() if n == 10_000} == expected and len(
        found
    ) in (4, 5)


# --- persons --------------------------------------------------------------------------


def persons(source: Any) -> int:
    """Return how many units there are: of each one event is kept."""
    return sum(counted(source, unit=Unit(1, "u")).values())


def test_an_id_is_one_person_however_a_file_writes_it(tmp_path: Path) -> None:
    """97 in one file and 97.0 in another, which had gaps, were two persons with twice
    the events.
    """
    ends = {"from": "a", "to": "b"}
    pd.DataFrame({"u": [97, 98], **ends}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"u": [97.0, np.nan], **ends}).to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / "c.csv").write_text('u;from;to\n" 97";a;b\n97.00 ;a;b\n')
    assert persons(tmp_path) == 2
    for name in "abc":
        frame = pd.read_csv(
            tmp_path / f"{name}.csv", sep=";" if name == "c" else ","
        ).astype({"u": "Int64"})
        frame.to_parquet(tmp_path / f"{name}.parquet")
    assert persons([tmp_path / f"{name}.parquet" for name in "abc"]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_persons_are_not_merged(tmp_path: Path, kind: str) -> None:
    """Ids of 20 digits became floats, and 1.1 and 1.10 too: several persons shared the
    limits of one.
    """
    long = [str(10**19 + i) for i in range(20)]
    odd = [
        "1.1",
        "1.10",
        "1.100",
        "1",
        "01",
        "1e3",
        "1000",
        "inf",
        "nan",
        "NaN",
        "true",
        "True",
        "2",
        "-0",
        "0",
    ]
    ids = [*long, *odd, "", None]
    table = pd.DataFrame({"u": ids, "from": "a", "to": "b"}).astype({"u": "str"})
    path = write(kind, pd.concat([table, table]), tmp_path / f"t.{kind}")
    for source in (path, table):
        found = count_transitions(source, "from", "to", unit=Unit(1, "u"))
        assert found.trips["trips"].sum() == len(long) + len(odd)
        assert found.report["missing"] == found.report["rows"] // len(ids) * 2


def test_numbers_as_persons(tmp_path: Path) -> None:
    """Two integers that are one float were one person."""
    whole = pa.array([2**64 - 1, 2**64 - 2, 2**64 - 3, 1, 2, 3, 3], pa.uint64())
    exact = [Decimal(10**30 + i) for i in range(7)]
    for ids, number in ((whole, 6), (pa.array(exact, pa.decimal128(38, 0)), 7)):
        table = pa.table({"u": ids, "from": ["a"] * 7, "to": ["b"] * 7})
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        assert persons(tmp_path / "t.parquet") == persons(table) == number
    assert (
        persons(pd.DataFrame({"u": [2**64 - 1, 2**64 - 2], "from": "a", "to": "b"}))
        == 2
    )


# --- no row changes another, and none refuses the table -------------------------------

ODD = [
    *(
        b"#1,2",
        b"1;2,3",
        b'"a ""b"" c",1',
        b"'a,b",
        b"1\t2,3",
        b"x" * 30_000 + b",1",
        b'"a\nb",1',
        b",",
        b"1,",
    ),
    *(
        b"NULL,x",
        b'"open,1',
        b'1,"open',
        b'a"b,1',
        b'"a"b,1',
        b'a,"b" ',
        b'"',
        b'""',
        b'"",""',
        b"1,2,3",
        b"1",
    ),
    *(
        b"\xff\xfe,1",
        b"\x00,1",
        b"M\xfcnchen,1",
        b"x" * 12_000_000 + b",1",
        b"\\,1",
        b"\\N,\\N",
        b"",
        b" ",
    ),
    *(
        b"\x1a1,2",
        b"1,2\r5,6",
        b"\x1c\x1d\x1e\x1f,1",
        b'"1","2"',
        b"\xef\xbb\xbf1,2",
        b'"' + b'a""' * 5000 + b'",1',
    ),
]
PLAIN = [b"%d,%d" % (i % 7, i % 5) for i in range(1000)]
BEFORE = {
    (str(i), str(j)): sum(row == b"%d,%d" % (i, j) for row in PLAIN)
    for i in range(7)
    for j in range(5)
}


@pytest.mark.parametrize(
    ("number", "row"), [*enumerate(ODD)], ids=[repr(row[:12]) for row in ODD]
)
def test_no_row_of_a_csv_changes_another(
    tmp_path: Path, number: int, row: bytes
) -> None:
    """One row with too many fields, or a lone quote, refused the whole table, or took
    other rows with it.
    """
    place = 500 * (number % 2)
    path = tmp_path / "t.csv"
    path.write_bytes(
        b"from,to\n" + b"\n".join([*PLAIN[:place], row, *PLAIN[place:]]) + b"\n"
    )
    after = counted(path)
    more = sum(after.values()) - 1000
    assert all(after[pair] >= count for pair, count in BEFORE.items())
    assert 0 <= more <= (2 if b"\r" in row else 1)


def test_what_a_line_says(tmp_path: Path) -> None:
    lines = {
        b'"a ""b"" c",1': ('a "b" c', "1"), b'a,"1,2"': ("a", "1,2"), b'"", "x"': None,
        b'"a",""': None, b"1,2,": None, b'"a"b,1': None, b'a"b,1': ('a"b', "1"),
        b"NULL,\\N": ("NULL", "\\N"), b" a , b ": ("a", "b"), b'"x",y\r': ("x", "y"),
        b"M\xfc,1": None, b"a;b,c": ("a;b", "c"),
    }  # fmt: skip
    for line, pair in lines.items():
        (tmp_path / "t.csv").write_bytes(b"from,to\n" + line + b"\n")
        found = count_transitions(tmp_path / "t.csv", "from", "to")
        assert found.trips[["origin", "destination"]].to_numpy().tolist() == (
            [] if pair is None else [[*pair]]
        ), line
        assert found.report["rows"] == 1 and found.report["damaged"] + found.report[
            "missing"
        ] == (pair is None)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [True, False])
def test_ends_of_lines(tmp_path: Path, end: bytes, last: bool) -> None:
    """A file with carriage returns alone ended in a traceback."""
    (tmp_path / "t.csv").write_bytes(
        end.join([b"from,to", b"1,2", b"3,4"]) + end * last
    )
    assert counted(tmp_path / "t.csv") == {("1", "2"): 1, ("3", "4"): 1}


def test_a_line_is_a_row(tmp_path: Path) -> None:
    """A quote too many took up to a million lines along, where a later line had another
    one too many.
    """
    rows = [f"{i % 7},{i % 5}" for i in range(100)]
    ends = [*rows[:30], 'k,"', 'z"']
    for lines in (
        ['"open,1'],
        ['"x', 'y",z'],
        ['a"b,1', *rows[:50], 'c"d,1'],
        ['x,"p', *rows[:30], 'q",z'],
        ends,
    ):
        (tmp_path / "t.csv").write_text(
            "\n".join(["from,to", *rows[:50], *lines, *rows[50:]]) + "\n"
        )
        good = rows + [line for line in lines if line in rows]
        good += [line for line in lines if line in ('y",z', 'a"b,1', 'c"d,1', 'q",z')]
        counts = count_transitions(tmp_path / "t.csv", "from", "to")
        assert counted(tmp_path / "t.csv") == Counter(
            tuple(row.split(",")) for row in good
        )
        assert counts.report["damaged"] == len(rows) + len(lines) - len(good)


@pytest.mark.parametrize("part", [1, 2, 7, 60])
def test_lines_that_are_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(text_, "_PART", part)
    monkeypatch.setattr(text_, "MOST_BYTES", 20)
    for end in ("\n", "\r\n", "\r"):
        wide = ["x" * 19 + ",,", "x" * 18 + ",,", "", "x" * 500 + ",y,z"]
        lines = ["\ufefffrom,to,more", "a,b,é", *wide, "b,a,", "c,d,"]
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(end.join(lines).encode()))
        counts = count_transitions(tmp_path / "t.csv.gz", "from", "to")
        assert counts.trips.values.tolist() == [
            ["a", "b", 1],
            ["b", "a", 1],
            ["c", "d", 1],
        ]
        assert (
            counts.report["damaged"] == 2
            and counts.report["missing"] == 1
            and counts.report["rows"] == 6
        )


def test_the_end_of_a_line_that_is_too_long_makes_no_row_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_, "MOST_BYTES", 20)
    for last, damaged in (
        ("c," + "d" * 18, 0),
        ("c," + "d" * 19, 1),
        ("c," + "d" * 99, 1),
    ):
        (tmp_path / "t.csv").write_text(f"from,to\na,b\n{last}")
        counts = count_transitions(tmp_path / "t.csv", "from", "to")
        assert (
            counts.report["damaged"] == damaged
            and counts.trips["trips"].sum() == 2 - damaged
        )


def test_a_long_header(tmp_path: Path) -> None:
    """Of a header above 64 KiB a part was read, and a false message given."""
    names = ",".join(f"a_long_column_{i:05}" for i in range(4000))
    (tmp_path / "t.csv").write_text(f"{names},from,to\n" + "," * 4000 + "a,b\n")
    assert counted(tmp_path / "t.csv") == {("a", "b"): 1}


def test_words_of_single_values() -> None:
    values = [
        97, np.int8(97), "97.00", True, np.True_, date(2025, 3, 1), None, np.nan,
        pd.NaT, pd.NA, "", " \t", "0.", ".0", "-3.0", " 97.0\t", "  fix a v ", 97.0,
        Decimal(97), b"97", "a\ud800b", {}, [97], one_row.Odd(),
    ]  # fmt: skip
    words = [
        *["97"] * 3,
        "true",
        "true",
        "2025-03-01",
        *[None] * 6,
        "0.",
        ".0",
        "-3",
        "97",
        "fix a v",
        *[None] * 7,
    ]
    assert [labels.whole_word(value) for value in values] == words
    table = pd.DataFrame({"from": pd.Series(values, dtype=object), "to": "z"})
    assert counted(table) == {
        ("97", "z"): 4,
        ("true", "z"): 2,
        ("2025-03-01", "z"): 1,
        ("-3", "z"): 1,
        (".0", "z"): 1,
        ("0.", "z"): 1,
        ("fix a v", "z"): 1,
    }


# --- refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("x.parquet", b"a,b\n1,2\n", "not a readable table"),
        ("x.parquet", b"PAR1" + bytes(40) + b"PAR1", "not a readable table"),
        ("x.csv", b"PAR1 and so on PAR1", "is a Parquet file"),
        ("x.csv", b"", "first line must name the columns"),
        ("x.csv", b"\n1,2\n", "first line must name the columns"),
        ("x.csv", b"from,to,to\n1,2,3\n", "the column 'to' occurs twice"),
        ("x.csv", b"from,to,To\n1,2,3\n", "the column 'to' occurs twice"),
        (
            "x.csv",
            "from,tö\n1,x\n".encode("latin-1"),
            "is not UTF-8 text: save it as UTF-8",
        ),
        ("x.csv", gzip.compress(b"from,to\n1,2\n", mtime=0), "compressed with gzip"),
        ("x.csv.gz", b"from,to\n1,2\n", "damaged"),
        (
            "x.csv.gz",
            gzip.compress(b"from,to\n" + bytes(range(256)) * 90, mtime=0)[:12],
            "damaged",
        ),
        ("x.csv.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 200, "damaged"),
        ("x.parquet.gz", b"1", "must be files that end in .csv, .tsv"),
        ("x.xlsx", b"PK", "must be files that end in .csv, .tsv"),
    ],
)
def test_files_that_are_not_what_they_say(
    tmp_path: Path, name: str, contents: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(ValueError, match=words) as refusal:
        counted(tmp_path / name)
    assert "\n" not in str(refusal.value) and (
        name in str(refusal.value) or "column" in words
    )


def test_a_damaged_page_in_one_of_several_parquet_files_is_named(
    tmp_path: Path,
) -> None:
    for name in ("a", "b", "c"):
        rows = pd.DataFrame({"from": range(20_000), "to": range(20_000)})
        rows.to_parquet(tmp_path / f"{name}.parquet")
    assert len(counted(tmp_path)) == 20_000
    with (tmp_path / "b.parquet").open("r+b") as file:
        file.seek(2_000)
        file.write(bytes(range(256)) * 20)
    with pytest.raises(ValueError, match=r"^source: .*/b\.parquet: ") as refusal:
        counted(tmp_path)
    said = str(refusal.value)
    assert "a.parquet" not in said and "\n" not in said and "Traceback" not in said


def test_a_packed_file_that_breaks_off(tmp_path: Path) -> None:
    rows = "".join(f"{i * 7919 % 1000},{i}\n" for i in range(200_000)).encode()
    packed = gzip.compress(b"from,to\n" + rows, mtime=0)
    (tmp_path / "x.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=r"x\.csv\.gz"):
        counted(tmp_path / "x.csv.gz")


@pytest.mark.parametrize(
    "name", ["x.csv", "x.csv.gz", "x.parquet", "*.csv", "[ab].csv", "**/*.csv", "a?csv"]
)
def test_pipes_and_patterns_are_refused(tmp_path: Path, name: str) -> None:
    write("csv", TABLE, tmp_path / "a.csv")
    if name.startswith("x"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="there is no ordinary file"):
        counted(tmp_path / name)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no file that ends in"):
        counted(tmp_path)
    TABLE.to_csv(tmp_path / "a.csv")
    TABLE.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="all text or all Parquet"):
        counted(tmp_path)


def test_a_folder_that_is_closed_to_us_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lay in a folder that cannot be read was left out, and nobody was told."""
    (tmp_path / "closed").mkdir()
    for place in (tmp_path / "a.csv", tmp_path / "closed" / "b.csv"):
        write("csv", TABLE, place)
    assert sum(counted(tmp_path).values()) == 8
    scan = os.scandir

    def scandir(place: Any = ".") -> Any:
        if Path(place).name == "closed":
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(OSError, match=r"Permission denied: .*closed"):
        counted(tmp_path)


def test_other_things(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match="source must be a path, a DataFrame or an Ibis table, got int"
    ):
        counted(3)
    (tmp_path / "t.csv").write_text("(damaged),from,to\n1,2,3\n")
    assert count_transitions(
        tmp_path / "t.csv", "(damaged)", "to"
    ).trips.values.tolist() == [["1", "3", 1]]
    for twice in (
        pd.DataFrame([[1, 2]], columns=["from", "from"]),
        pa.table([[1], [2]], names=["from", "from"]),
    ):
        with pytest.raises(ValueError, match="'from' occurs twice"):
            counted(twice)
    for strange in (pd.PeriodIndex(["2025"], freq="Y"), [1j]):
        with pytest.raises(
            ValueError,
            match=r"not a readable table|column 'from' must be text, whole numbers",
        ):
            counted(pd.DataFrame({"from": strange, "to": "x"}))


def test_semicolons_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufefffrom;to;km\n1;2,5;3\n".encode())
    assert counted(path) == {("1", "2,5"): 1}
    path.write_text("a|from|to\n1|2|3\n")
    assert counted(path) == {("2", "3"): 1}
    path.write_text("from\n")
    with pytest.raises(ValueError, match="no column 'to' among 'from'"):
        counted(path)


def test_columns_that_nobody_names_may_be_anything(tmp_path: Path) -> None:
    """Two columns alike, or without a name, refused a table that none of them was read
    from.
    """
    (tmp_path / "t.csv").write_text("from,x,X,x,,to\n1,a,b,c,d,2\n")
    assert counted(tmp_path / "t.csv") == {("1", "2"): 1}
    assert counted(pd.DataFrame([[1, 2, 3, 4]], columns=["from", "to", "x", "x"])) == {
        ("1", "2"): 1
    }


def test_rows_in_a_list_are_sent_to_a_frame() -> None:
    with pytest.raises(
        ValueError, match=r"got a sequence with \('a', 'b'\): make a Data"
    ):
        sources.read([("a", "b")], {"origin": "x"})
