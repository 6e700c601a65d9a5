"""Text files as people have them: quotes, delimiters, encodings, lists of labels."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from dpsim import cli
from dpsim_release import Options, count_transitions, privatize
from dpsim_release.support import read_categories

CASES = Path(__file__).with_name("cases")


def lines(words: str) -> tuple[int, str]:
    """Return the exit code of a command, and what it tells the owner."""
    done = CliRunner().invoke(cli.main, words.split())
    assert done.stdout == "" and not isinstance(done.exception, Exception)
    return done.exit_code, done.stderr


def pairs(source: Any, **settings: Any) -> list[list[Any]]:
    return count_transitions(source, "from", "to", **settings).trips.values.tolist()


def test_the_cases_of_labels_with_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "categories_quotes")
    for public in ("--categories pages.txt", "--graph graph.csv"):
        code, told = lines(
            f"release clicks.csv --origin from --destination to {public} --check"
        )
        assert code == 0 and "400 events counted, between 3 states" in told
        assert "left out" not in told
    assert read_categories("pages.txt") == ["Washington,_D.C.", "Boston", '12" pipe']


def test_the_case_of_a_tsv_with_literal_quotes() -> None:
    assert len(pairs(CASES / "tsv_quotes/wiki.tsv", count="n")) == 5
    quoted = Options(origin="from", destination="to", count="n", quotes=True)
    counts = quoted.counts(CASES / "tsv_quotes/wiki.tsv")
    assert counts.damages == {"quotes": 1} and len(counts.trips) == 3


def test_the_case_of_a_comma_in_a_header_between_semicolons() -> None:
    assert pairs(CASES / "delimiter_header/semi.csv") == [["A", "B", 1], ["B", "A", 1]]


def test_the_case_of_one_file_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "folder_names_no_file")
    code, told = lines(
        "release bike --origin start_station_id --destination end_station_id --check"
    )
    assert code == 2 and told.startswith(
        "dpsim: source: bike/201901.csv: there is no column 'start_station_id' among"
    )


def test_one_parquet_file_of_a_folder_is_named(tmp_path: Path) -> None:
    good = pd.DataFrame({"from": ["a"], "to": ["b"]})
    good.to_parquet(tmp_path / "1.parquet")
    for bad in (
        good.rename(columns={"to": "end"}),
        good.assign(to=1.5),
        good.assign(to=[[1]]),
    ):
        bad.to_parquet(tmp_path / "2.parquet")
        with pytest.raises(ValueError, match=r"^source: .*2\.parquet: "):
            count_transitions(tmp_path, "from", "to")


TABLE = "from,to\na,b\nb,a\n"


def written(folder: Path, name: str, kind: str) -> str:
    """Write a file of another kind under the name of a text file."""
    if kind in ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32"):
        content = TABLE.encode(kind)
    elif kind == "gzip":
        content = gzip.compress(TABLE.encode())
    elif kind == "sep=":
        content = b"\xef\xbb\xbfsep=;\r\n" + TABLE.replace(",", ";").encode()
    elif kind == "Parquet":
        pd.DataFrame({"from": ["a"], "to": ["b"]}).to_parquet(folder / "p")
        content = (folder / "p").read_bytes()
    else:
        inside = "xl/workbook.xml" if kind == "Excel" else "table.csv"
        with zipfile.ZipFile(folder / "z", "w") as archive:
            archive.writestr(inside, TABLE)
        content = (folder / "z").read_bytes()
    (folder / name).write_bytes(content)
    return name


MENDS = {
    "UTF-16": "`iconv -f UTF-16 -t UTF-8 old.csv > new.csv`",
    "UTF-16LE": "`iconv -f UTF-16LE -t UTF-8 old.csv > new.csv`",
    "UTF-16BE": "`iconv -f UTF-16BE -t UTF-8 old.csv > new.csv`",
    "UTF-32": "`iconv -f UTF-32 -t UTF-8 old.csv > new.csv`",
    "gzip": "give it a name that ends in .csv.gz",
    "zip": "unpack it (`unzip old.zip`)",
    "Excel": "in Excel, save the sheet as CSV UTF-8",
    "Parquet": "give it a name that ends in .parquet",
    "sep=": "remove that line (`tail -n +2 old.csv > new.csv`)",
}


@pytest.mark.parametrize("kind", MENDS)
def test_a_file_of_another_kind_is_named_with_what_mends_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(TABLE)
    ends = "--origin from --destination to --check"
    for words, name in (
        (f"release bad.csv {ends}", "bad.csv"),
        (f"release good.csv {ends} --graph bad.csv", "bad.csv"),
        (f"release good.csv {ends} --categories bad.txt", "bad.txt"),
    ):
        written(tmp_path, name, kind)
        code, told = lines(words)
        assert code == 2 and f"{name}: the file " in told and MENDS[kind] in told
        assert told.count("\n") == 1


def test_the_delimiter_is_that_of_the_wanted_columns_unless_it_is_given(
    tmp_path: Path,
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("from;to;a,b|c\nx;y;1,2|3\n")
    assert pairs(file) == [["x", "y", 1]]
    file.write_text("from~to\nx~y\n")
    settings = {"origin": "from", "destination": "to"}
    options = Options(**settings, delimiter="~")
    assert options.counts(file).trips.values.tolist() == [["x", "y", 1]]
    file.write_text("from\tto\nx\ty\n")
    options = Options(**settings, delimiter="tab")
    assert options.counts(file).trips.values.tolist() == [["x", "y", 1]]
    with pytest.raises(ValueError, match="there is no column 'from'"):
        Options(**settings, delimiter=",").counts(file)
    for wrong in ("", "ab", "a", '"', "'", "\\", "\n", "\0", 5):
        with pytest.raises(ValueError, match="delimiter must be tab or one of"):
            Options(**settings, delimiter=wrong)
    with pytest.raises(ValueError, match="quotes must be true or false"):
        Options(**settings, quotes="yes")


@pytest.mark.parametrize("delimiter", list(" !#$%&*+,-./:;<=>?@^_`|~\t"))
def test_every_delimiter_separates_and_may_stand_in_quotes(
    delimiter: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    rows = [["from", "to"], ["xy", f'"p{delimiter}q"'], ['12" pipe', '"a""b"']]
    file.write_text("".join(f"{delimiter.join(row)}\n" for row in rows))
    if delimiter == " ":
        rows[2][0] = '12"'
        file.write_text("".join(f"{delimiter.join(row)}\n" for row in rows))
    options = Options(origin="from", destination="to", delimiter=delimiter)
    counts = options.counts(file)
    found = {tuple(row[:2]) for row in counts.trips.values.tolist()}
    assert found == {("xy", f"p{delimiter}q".strip()), (rows[2][0], 'a"b')}
    assert not counts.damages


def test_quotes_inside_a_field_are_text_and_damages_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = b'from,to\n5" pipe,"6"" pipe"\n"a,b",c"d"\n'
    bad = [
        b'"a \\"b\\"",c',
        b'"a,b',
        b'"a"b,c',
        b"a,b,c",
        b"a",
        b"\xe4,b",
        b"",
        b"a,b,",
    ]
    Path("t.csv").write_bytes(good + b"\n".join(bad) + b"\n")
    counts = count_transitions("t.csv", "from", "to")
    assert counts.trips.values.tolist() == [
        ['5" pipe', '6" pipe', 1],
        ["a,b", 'c"d"', 1],
    ]
    damages = {"backslash": 1, "quotes": 2, "fields": 3, "encoding": 1}
    assert counts.damages == damages and counts.report["damaged"] == 7
    _, told = lines("release t.csv --origin from --destination to --check")
    for line in (
        '1 left out: lines with a quote written as \\", as Spark does',
        "2 left out: lines with a quote that is not closed",
        "3 left out: lines with too many or too few fields",
        "1 left out: lines that are not UTF-8 text",
    ):
        assert line in told


def test_one_line_never_changes_how_the_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    before = ["from,to", "a,b", '"c",d']
    for more in ('"', '\\"', "a;b;c", '"\n"', "sep=;", '"a,b",c'):
        file.write_text("\n".join([*before, more]) + "\n")
        found = pairs(file)
        assert ["a", "b", 1] in found and ["c", "d", 1] in found


LISTS = {
    "a\nb": ["a", "b"],
    '"a"\n"b"\n': ["a", "b"],
    "Washington, D.C.\r\nBoston\r\n": ["Washington, D.C.", "Boston"],
    '"Washington, D.C."\nsay "hi"\n"say ""ho"""\n12" pipe': [
        "Washington, D.C.",
        'say "hi"',
        'say "ho"',
        '12" pipe',
    ],
    '"1"\n"2"\n"30"\n': [1, 2, 30],
    "\ufeffa\n\n b \n": ["a", "b"],
    "airport\n12\n13\nelsewhere": ["airport", "12", "13", "elsewhere"],
}


@pytest.mark.parametrize("text", LISTS)
def test_a_list_is_a_csv_file_of_one_column(text: str, tmp_path: Path) -> None:
    file = tmp_path / "states.txt"
    file.write_text(text, encoding="utf-8", newline="")
    assert read_categories(file) == LISTS[text]


@pytest.mark.parametrize("text", ['"a', '"a"b', '"Heroes"_(album)', '"1","home"'])
def test_a_wrong_quote_in_a_list_is_refused_with_its_line(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "states.txt"
    file.write_text(f"x1\nx2\n{text}\n")
    with pytest.raises(ValueError, match="line 3 begins with a quote"):
        read_categories(file)
    doubled = text.replace('"', '""')
    file.write_text(f'x1\nx2\n"{doubled}"\n')
    assert read_categories(file)[-1] == text


HEADERS = [("x", "ab"), ('"x"', "ab"), ("zone", "ab"), ("Stations", "ab")]
HEADERS += [("from", "ab"), ("PULocation", "12")]


@pytest.mark.parametrize(("header", "states"), HEADERS)
def test_a_header_does_not_become_a_public_state_unseen(
    header: str, states: str, tmp_path: Path
) -> None:
    file = tmp_path / "states.txt"
    one, two = states
    table = pd.DataFrame({"from": [one, two] * 20, "to": [two, one] * 20})
    file.write_text(f"{header}\n{one}\n{two}\n")
    words = {"origin": "from", "destination": "to", "epsilon": 1.0, "rng": 1}
    with pytest.raises(ValueError, match="looks like a header: remove it"):
        privatize(table, categories=file, **words)
    file.write_text(f"{one}\n{header}\n{two}\n")
    assert len(privatize(table, categories=file, **words).labels) == 3


def test_a_header_that_is_any_word_is_told_to_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("from,to\na,b\nb,a\n")
    Path("states.txt").write_text("quarter\na\nb\n")
    words = "release t.csv --origin from --destination to --categories states.txt"
    _, told = lines(f"{words} --check")
    assert "1 declared states occur in no event: quarter" in told
    assert "remove it if it is the header of a file" in told
