"""The command line: what people have goes in; what may be published and what may not are told apart."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import dpsim
from dpsim import cli, datasets
from dpsim.release import inputs


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"user": rng.integers(0, 200, 3000), "at": rng.integers(0, 90_000, 3000)})
    table["page"] = np.array(["home", "shop", "cart"])[rng.integers(0, 3, 3000)]
    table["next"] = np.array(["home", "shop", "cart", "else"])[rng.integers(0, 4, 3000)]
    table["trips"] = rng.integers(1, 30, 3000)
    Path("events.csv.gz").write_bytes(gzip.compress(table.to_csv(index=False).encode()))
    table.to_parquet("visits.parquet")
    Path("pages.txt").write_text("home\nshop\ncart\n")
    Path("header.txt").write_text("page\nhome\nshop\ncart\n")
    Path("numbers.txt").write_text("zone\n1\n2\n3\n")
    Path("generic.txt").write_text("label\nhome\nshop\ncart\n")
    Path("quoted.txt").write_text('home\n"shop, old"\ncart\n')
    Path("nameless.csv").write_text("home\nshop\ncart\n")
    Path("pages.csv").write_text('label\n"cart"\n home \nshop\n')
    Path("latin.txt").write_bytes("höme\nshop\n".encode("latin-1"))
    Path("sink.csv").write_text("origin,destination\nhome,shop\nhome,cart\nshop,home\n")
    Path("graph.tsv").write_text("origin\tdestination\nhome\tshop\nshop\thome\ncart\tcart\n")

    def command(words: str, *, epsilon: str = "--epsilon 1 --output out") -> Result:
        return CliRunner().invoke(cli.main, ["release", *words.split(), *epsilon.split()])

    return command


ENDS = "--origin page --destination next"


@pytest.mark.parametrize(
    ("words", "states"),
    [
        (f"events.csv.gz {ENDS} --categories pages.txt", 3),
        (f"events.csv.gz {ENDS} --categories pages.txt --count trips", 3),
        (f"events.csv.gz {ENDS} --graph graph.tsv", 3),
        (f"visits.parquet {ENDS} --delta 1e-6", 4),
        (f"visits.parquet {ENDS} --categories pages.txt --unit user --events 5", 3),
        ("visits.parquet --trajectory user,at,page --events 20 --max-gap 1h --categories pages.txt", 3),
        ("events.csv.gz --trajectory user,at,page --events-per-row 3 --rows 2 --delta 1e-6", 3),
        (f"events.csv.gz {ENDS} --categories pages.csv", 3),
    ],
)
def test_one_command_and_three_lines(run: Callable[..., Result], words: str, states: int) -> None:
    result = run(words)
    assert result.exit_code == 0, result.output
    chain = dpsim.load_release("out")
    assert len(chain.labels) == states
    assert chain.walk(3, start="home", rng=1)[0] == "home"
    assert len(chain.synthetic(10, rng=1)) == 10
    for line in result.stdout.splitlines():
        assert "3,000" not in line and "3000" not in line and "for you only" not in line
    assert result.stderr.count("for you only") == 2


def test_events_left_out_are_told_to_the_owner_alone(run: Callable[..., Result]) -> None:
    result = run(f"events.csv.gz {ENDS} --graph graph.tsv --count trips")
    trips = datasets.count_transitions(
        "events.csv.gz", "page", "next", count="trips", categories=["home", "shop", "cart"]
    )
    report = trips.attrs["report"]
    assert f"{report['outside']:,} outside" in result.stderr and f"{report['outside']:,}" not in result.stdout
    assert "left out on pairs that the graph does not allow" in result.stderr
    same = next(line for line in result.stderr.splitlines() if "rows" in line).removeprefix("for you only: ")
    assert same in Path("out_OWNER_ONLY/owner.json").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"events.csv.gz {ENDS} --categories header.txt", "'page', looks like a header: remove it"),
        (f"events.csv.gz {ENDS} --categories numbers.txt", "'zone', looks like a header: remove it"),
        (f"events.csv.gz {ENDS} --categories generic.txt", "'label', looks like a header: remove it"),
        (
            f"events.csv.gz {ENDS} --categories quoted.txt",
            'must have a label a line as it is, got "shop, old" in quotes',
        ),
        (f"events.csv.gz {ENDS} --categories nameless.csv", "--categories: source: there is no column 'label'"),
        (f"events.csv.gz {ENDS} --categories latin.txt", "is not UTF-8 text: save it as UTF-8"),
        (f"events.csv.gz {ENDS} --categories nowhere.txt", "--categories: 'nowhere.txt' cannot be read"),
        (f"events.csv.gz {ENDS} --graph sink.csv", "add a self-loop"),
        (f"events.csv.gz {ENDS}", "neither --categories nor --graph was given, so the pairs are chosen privately"),
        (f"events.csv.gz {ENDS} --categories pages.txt --pairs private", "--pairs private was given, so the pairs"),
        (f"events.csv.gz {ENDS} --categories pages.txt --unit user", "however many events it has, and needs limits"),
        (f"events.csv.gz {ENDS} --categories pages.txt --events 3", "--unit must name a column where --events"),
        (f"events.csv.gz {ENDS} --categories pages.txt --max-gap 1h", "--max-gap goes with --trajectory"),
        (f"events.csv.gz {ENDS} --categories pages.txt --outside error", "outside the 3 declared categories"),
        (f"events.csv.gz {ENDS} --categories pages.txt --count at2", "no column 'at2'"),
        (f"events.csv.gz {ENDS} --categories pages.txt --count page", "--count must be a whole number"),
        ("events.csv.gz --origin page --categories pages.txt", "give --origin and --destination, or --trajectory"),
        ("visits.parquet --trajectory user,at --events 3 --categories pages.txt", "three columns, USER,TIME,PLACE"),
        (
            "visits.parquet --trajectory user,at,page --categories pages.txt",
            "as a whole, and needs limits of what is counted: --events M",
        ),
        ("visits.parquet --trajectory user,at,page --unit page --events 2 --delta 1e-6", "no other --unit"),
    ],
)
def test_refusals_speak_of_options(run: Callable[..., Result], words: str, said: str) -> None:
    result = run(words)
    assert result.exit_code == 2 and said in result.stderr, result.output
    assert "=" not in result.stderr.replace("==", "") and "_per_row" not in result.stderr
    assert not Path("out").exists() and not Path("out_OWNER_ONLY").exists()


def test_moves_that_took_too_long_are_told_to_the_owner(run: Callable[..., Result]) -> None:
    result = run("visits.parquet --trajectory user,at,page --events 20 --max-gap 1h --categories pages.txt")
    rest = datasets.count_trajectories("visits.parquet", "user", "at", "page", events=20).attrs["report"]["rows"]
    told = next(line for line in result.stderr.splitlines() if "moves" in line)
    moves, late = (int(found.replace(",", "")) for found in re.findall(r"([\d,]+) moves", told))
    assert late > 0 and moves + late == rest and "took longer than the gap" in told
    assert "moves" not in result.stdout


def test_the_first_line_may_repeat_a_part_of_a_columns_name(tmp_path: Path) -> None:
    (tmp_path / "zones.txt").write_text("Station\nA\nB\n")
    assert inputs.read_categories(str(tmp_path / "zones.txt")) == ["Station", "A", "B"]
    with pytest.raises(ValueError, match="looks like a header: remove it"):
        inputs.read_categories(str(tmp_path / "zones.txt"), ["start_station"])


def test_a_column_of_counts_that_was_not_named(run: Callable[..., Result]) -> None:
    assert "a column 'trips': name it as the count" in run(f"events.csv.gz {ENDS} --categories pages.txt").stdout


def test_files_of_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\ufeff3\n\n 1 \n20\n")
    assert inputs.read_categories(str(tmp_path / "labels.txt")) == [3, 1, 20]
    (tmp_path / "graph.csv").write_text("destination;origin\n1;2\n2.0;1\n")
    assert inputs.read_graph(str(tmp_path / "graph.csv")).to_dict("list") == {"origin": [2, 1], "destination": [1, 2]}
    (tmp_path / "totals.csv").write_text("label,total\na,3\nb,2.5\n")
    with pytest.raises(ValueError, match=r"--totals: .* whole numbers of at least 0, got 2.5"):
        inputs.read_totals(str(tmp_path / "totals.csv"))


NASTY = [
    "<script>alert(1)</script>",
    "=cmd()",
    "| a | b |",
    "a\nb",
    "x" * 10_000,
    "\u202eabc",
    '"><img src=x>',
    "plain",
]


def test_labels_of_a_file_are_text_in_everything_that_is_published(run: Callable[..., Result]) -> None:
    rng = np.random.default_rng(1)
    ends = {name: np.array(NASTY, dtype=object)[rng.integers(0, len(NASTY), 4000)] for name in ("page", "next")}
    pd.DataFrame(ends).to_csv("nasty.csv", index=False)
    result = run(f"nasty.csv {ENDS} --delta 1e-6")
    assert result.exit_code == 0, result.output
    read = pd.read_csv("out/states.csv", dtype=str, keep_default_na=False)
    assert sorted(read["label"]) == sorted(NASTY), "values are never changed"
    for file in Path("out").iterdir():
        assert file.stem in ("chain", "counts", "states", "report", "statement"), "no file is named after a label"
        if file.suffix in (".html", ".json"):
            text = file.read_text(encoding="utf-8")
            assert not [bad for bad in ("<script>alert", "<img src", "\u202e", "x" * 100) if bad in text], file


def test_every_release_without_a_budget_file_says_that_losses_add_up(run: Callable[..., Result]) -> None:
    for out in ("first", "second"):
        result = run(f"events.csv.gz {ENDS} --categories pages.txt", epsilon=f"--epsilon 1 --output {out}")
        assert "no budget file was named" in result.stdout and "add up" in result.stdout
    kept = run(
        f"events.csv.gz {ENDS} --categories pages.txt --budget spent.json --limit 3,0",
        epsilon="--epsilon 1 --output third",
    )
    assert kept.exit_code == 0 and "no budget file" not in kept.output
