"""The command line: what people have goes in; what may be published and what may not
are told apart.
"""

import gzip
import inspect
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import dpsim_release as release
from dpsim import cli
from dpsim_release import Unit, commands, report
from dpsim_release import support as supports


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        report, "_pictures", lambda *_: ""
    )  # half a second each, and nothing here looks at them
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {"user": rng.integers(0, 200, 3000), "at": rng.integers(0, 90_000, 3000)}
    )
    table["page"] = np.array(["home", "shop", "cart"])[rng.integers(0, 3, 3000)]
    table["next"] = np.array(["home", "shop", "cart", "else"])[rng.integers(0, 4, 3000)]
    table["trips"] = rng.integers(1, 30, 3000)
    Path("events.csv.gz").write_bytes(gzip.compress(table.to_csv(index=False).encode()))
    table.to_parquet("visits.parquet")
    Path("pages.txt").write_text("home\nshop\ncart\n")
    Path("pages.list").write_text("cart\n home \r\nshop\n\n")
    Path("latin.txt").write_bytes("höme\nshop\n".encode("latin-1"))
    os.mkfifo("pipe.txt")
    Path("sink.csv").write_text("origin,destination\nhome,shop\nhome,cart\nshop,home\n")
    Path("graph.tsv").write_text(
        "origin\tdestination\nhome\tshop\nshop\thome\ncart\tcart\n"
    )

    def command(words: str, *, epsilon: str = "--epsilon 1 --output out") -> Result:
        return CliRunner().invoke(
            cli.main, ["release", *words.split(), *epsilon.split()]
        )

    return command


ENDS = "--origin page --destination next"
VISITS = "visits.parquet --trajectory user,at,page --time-format seconds"


@pytest.mark.parametrize(
    ("words", "states"),
    [
        (f"events.csv.gz {ENDS} --categories pages.txt", 3),
        (f"events.csv.gz {ENDS} --categories pages.txt --count trips", 3),
        (f"events.csv.gz {ENDS} --graph graph.tsv", 3),
        (f"visits.parquet {ENDS} --delta 1e-6", 4),
        (
            f"visits.parquet {ENDS} --delta 1e-6 --categories pages.txt --pairs "
            f"private",
            3,
        ),
        (f"visits.parquet {ENDS} --categories pages.txt --unit user --events 5", 3),
        (f"{VISITS} --events 20 --max-gap 1h --categories pages.txt", 3),
        (f"events.csv.gz events.csv.gz {ENDS} --categories pages.list", 3),
    ],
)
def test_one_command_and_three_lines(
    run: Callable[..., Result], words: str, states: int
) -> None:
    result = run(words)
    assert result.exit_code == 0, result.output
    chain = release.load("out")
    assert len(chain.labels) == states
    assert chain.walk(3, start="home", rng=1)[0] == "home"
    assert len(chain.synthetic(10, rng=1)) == 10
    for line in result.stdout.splitlines():
        assert "3,000" not in line and "3000" not in line and "for you only" not in line
    assert result.stderr.count("for you only") == 2


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        (
            f"events.csv.gz {ENDS} --graph graph.tsv --count trips",
            "outside",
            "events outside",
        ),
        (
            f"{VISITS} --events 20 --categories pages.txt --max-gap 1h",
            "late",
            "moves that took longer",
        ),
    ],
)
def test_what_was_left_out_is_told_to_the_owner_alone(
    run: Callable[..., Result], words: str, name: str, said: str
) -> None:
    result = run(words)
    number = f"{json.loads(Path('out_OWNER_ONLY/owner.json').read_text())[name]:,}"
    assert (
        f" {number} left out: {said}" in result.stderr and number not in result.stdout
    )
    assert ("events on pairs that the graph does not allow" in result.stderr) == (
        "--graph" in words
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            f"events.csv.gz {ENDS} --categories events.csv.gz",
            "its name is that of a table",
        ),
        (
            f"events.csv.gz {ENDS} --categories latin.txt",
            "cannot be read as UTF-8 text",
        ),
        (
            f"events.csv.gz {ENDS} --categories nowhere.txt",
            "categories: 'nowhere.txt' cannot be read",
        ),
        (
            f"events.csv.gz {ENDS} --categories pipe.txt",
            "there is no ordinary file",
        ),  # it waited for ever
        (f"events.csv.gz {ENDS} --graph sink.csv", "add a self-loop"),
        (f"events.csv.gz {ENDS}", "delta must be above 0"),
        (
            f"events.csv.gz {ENDS} --categories pages.txt --pairs private",
            "delta must be above 0",
        ),
        (
            f"events.csv.gz {ENDS} --pairs all --delta 1e-6",
            "pairs must be all or private, with categories",
        ),
        (
            f"events.csv.gz {ENDS} --graph graph.tsv --pairs private",
            "pairs must be all or private, with categories",
        ),
        (
            f"events.csv.gz {ENDS} --categories pages.txt --unit user",
            "events must go with a unit",
        ),
        (
            f"events.csv.gz {ENDS} --categories pages.txt --events 3",
            "events must go with a unit",
        ),
        (
            f"events.csv.gz {ENDS} --categories pages.txt --max-gap 1h",
            "belong to trajectory",
        ),
        (f"events.csv.gz {ENDS} --categories pages.txt --count at2", "no column 'at2'"),
        (
            "events.csv.gz --origin page --categories pages.txt",
            "origin and destination must be given",
        ),
        (
            f"{VISITS} {ENDS} --events 3 --delta 1e-6",
            "no origin, destination, count or unit",
        ),
        (
            "visits.parquet --trajectory user,at --events 3 --categories pages.txt",
            "three columns, USER,TIME,PLACE",
        ),
        (
            f"{VISITS} --unit page --events 2 --delta 1e-6",
            "trajectory names the unit",
        ),
        (
            f"{VISITS} --count trips --events 2 --delta 1e-6",
            "no origin, destination, count or unit",
        ),
        (
            f"{VISITS} --max-gap 1,5h --events 2 --categories pages.txt",
            "max_gap must be a number above 0",
        ),
        (
            "nowhere.csv --trajectory user,at,page --time-format today --events 2 "
            "--delta 1e-6",
            "time_format must be",
        ),
        (
            "events.csv.gz --trajectory user,at,page --events 2 --delta 1e-6",
            "time_format must be given for",
        ),
        (
            f"events.csv.gz {ENDS} --categories pages.txt --limit 1,0",
            "limit belongs to a budget",
        ),
        (
            "nowhere.csv --delta 1e-6 --budget spent --limit 0,0",
            "limit: epsilon must be in (0, inf), got 0",
        ),
    ],
)
def test_refusals_speak_of_options(
    run: Callable[..., Result], words: str, said: str
) -> None:
    result = run(words)
    assert result.exit_code == 2 and said in result.stderr, result.output
    assert not Path("out").exists() and not Path("out_OWNER_ONLY").exists()


def test_check_tells_the_owner_and_spends_nothing(run: Callable[..., Result]) -> None:
    Path("more.txt").write_text("home\nshop\ncart\nnever\n")
    words = (
        f"events.csv.gz {ENDS} --count trips --unit user --events 5 --categories "
        f"more.txt --check"
    )
    result = run(words, epsilon="--budget spent.json --limit 1,0")
    assert result.exit_code == 0 and result.stdout == "", result.output
    counts = release.count_transitions(
        "events.csv.gz",
        "page",
        "next",
        count="trips",
        unit=Unit(5, "user"),
        categories=["home", "shop", "cart"],
    )
    assert counts.report["truncated"] > 0 and counts.report["outside"] > 0
    for number in (
        counts.report[name] for name in ("rows", "outside", "truncated", "kept")
    ):
        assert f" {number:,} " in result.stderr
    assert "1 declared states occur in no event: never" in result.stderr
    assert (
        sorted(
            file.name
            for file in Path().iterdir()
            if "out" in file.name or "spent" in file.name
        )
        == []
    )
    visits = run(
        f"{VISITS.replace('seconds', 'iso')} --events 20 --max-gap 1h --check",
        epsilon="",
    )
    assert (
        visits.exit_code == 0
        and "3,000 left out: visits without a time that can be read" in visits.stderr
    )


def test_what_depends_on_rows_is_not_on_standard_output(
    run: Callable[..., Result],
) -> None:
    """A warning about a column was printed among what may be published."""
    said = run(f"events.csv.gz {ENDS} --categories pages.txt")
    assert (
        "a column 'trips': name it (--count)" in said.stderr
        and "trips" not in said.stdout
    )


def test_check_lists_the_files_that_it_counts(run: Callable[..., Result]) -> None:
    Path("parts/deep").mkdir(parents=True)
    Path("parts/deep/b\x1b[2J.csv").write_text("page,next\nhome,shop\n")
    Path("parts/a.csv").write_text("page,next\nhome,shop\n")
    Path("elsewhere").mkdir()
    Path("elsewhere/c.csv").write_text("page,next\nhome,shop\n")
    Path("parts/linked").symlink_to(Path("elsewhere").resolve())
    result = run(f"parts parts/a.csv {ENDS} --categories pages.txt --check", epsilon="")
    lines = [line.strip() for line in result.stderr.splitlines()]
    place = lines.index("3 files counted:")
    assert lines[place + 1 : place + 4] == [
        "parts/a.csv",
        "parts/deep/b\\x1b[2J.csv",
        "parts/linked/c.csv",
    ]
    assert "3 rows read; of these" in lines and result.stdout == ""


def test_the_name_of_an_output_cannot_write_lines_of_its_own(
    run: Callable[..., Result],
) -> None:
    words = [
        "release",
        "events.csv.gz",
        *ENDS.split(),
        "--categories",
        "pages.txt",
        "--epsilon",
        "1",
        "--seed",
        "1",
    ]
    result = CliRunner().invoke(
        cli.main, [*words, "--output", "x\nGuarantee: none\x1b[2J"]
    )
    assert result.exit_code == 0 and "\x1b" not in result.stdout
    assert (
        sum(line.startswith("Guarantee: ") for line in result.stdout.splitlines()) == 1
    )


def test_python_and_the_command_line_take_the_same_options() -> None:
    """Ten options of `privatize` were hidden in **table, and another function's name
    stood in the refusals.
    """
    parameters = inspect.signature(release.privatize).parameters
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
    command = {option.name for option in commands.release.params} - {
        "files",
        "check",
        "seed",
    }
    assert command == set(parameters) - {"source", "rng", "tell"}
    fields = inspect.signature(release.Options).parameters
    assert all(
        (p.default, p.annotation) == (parameters[name].default, p.annotation)
        for name, p in fields.items()
    )
    documented = inspect.getdoc(release.privatize) or ""
    assert all(re.search(rf"\b{name}\b", documented) for name in parameters)
    assert all(
        re.search(rf"\b{name}\b", inspect.getdoc(release.Options) or "")
        for name in fields
    )


@pytest.mark.parametrize("call", [release.privatize, release.Options])
def test_a_misspelt_keyword_is_refused_by_the_name_that_was_called(
    call: Callable[..., Any],
) -> None:
    """It was "counted() got an unexpected keyword", which nobody had called."""
    settings = {"origin": "from", "destination": "to", "categorie": ["a", "b"]}
    if call is release.privatize:
        settings["source"] = "nowhere.csv"
        settings["epsilon"] = 1.0
    with pytest.raises(
        TypeError, match=rf"{call.__name__}.*unexpected keyword argument 'categorie'"
    ):
        call(**settings)


def test_help_fits_on_a_screen() -> None:
    text = (
        CliRunner()
        .invoke(cli.main, ["release", "--help"], terminal_width=80)
        .output.splitlines()
    )
    assert len(text) <= 32 and max(map(len, text)) <= 80
    assert "dpsim_release.privatize" in " ".join(text)


def test_one_call_from_python(run: Callable[..., Result]) -> None:
    settings: dict[str, Any] = {
        "origin": "page",
        "destination": "next",
        "categories": ["home", "shop", "cart"],
    }
    frame = pd.read_parquet("visits.parquet")
    with pytest.warns(
        UserWarning,
        match="each row counts as one event, although there is a column 'trips'",
    ):
        chain = release.privatize(frame, epsilon=1, rng=1, **settings)
        written = release.privatize(
            "visits.parquet", epsilon=1, rng=1, output="out", **settings
        )
    assert (
        chain == written == release.load("out")
        and Path("out_OWNER_ONLY/owner.json").is_file()
    )
    run(
        f"visits.parquet {ENDS} --categories pages.txt",
        epsilon="--epsilon 1 --output other --seed 1",
    )
    assert release.load("other") == chain
    with pytest.raises(ValueError, match="delta must be above 0"):
        release.privatize(frame, epsilon=1, origin="page", destination="next")
    with pytest.raises(TypeError, match="where"):
        release.privatize(frame, epsilon=1, where="trips > 3", **settings)
    private = release.privatize(
        frame,
        epsilon=1,
        delta=1e-6,
        trajectory="user,at,page",
        time_format="seconds",
        events=5,
        rng=1,
    )
    assert (
        private.statement["unit"] == {"events": 5, "column": "user"}
        and private.statement["moves"]
    )


def test_files_of_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\ufeff3\n\n 1 \n20\n")
    assert supports.read_categories(str(tmp_path / "labels.txt")) == [3, 1, 20]
    (tmp_path / "graph.csv").write_text("destination;origin\n1;2\n2.0;1\n")
    found = supports.read_graph(tmp_path / "graph.csv").to_dict("list")
    assert found == {"origin": [2, 1], "destination": [1, 2]}
    (tmp_path / "graph.csv").write_text("destination;origin\n1;2\n2\n")
    with pytest.raises(
        ValueError, match=r"graph: .* must have origin and destination in each row"
    ):
        supports.read_graph(tmp_path / "graph.csv")


def test_plan_speaks_of_persons() -> None:
    words = "plan --states 60 --events 100000 --persons 5000 --limits 5,20 --epsilon 1"
    result = CliRunner().invoke(cli.main, words.split())
    assert (
        result.exit_code == 0
        and "25000" in result.stdout
        and "events_kept" in result.stdout
    )
    assert (
        CliRunner()
        .invoke(cli.main, words.replace("--persons 5000 ", "").split())
        .exit_code
        == 2
    )


@pytest.mark.parametrize(
    "option", ["states", "events", "persons", "limits", "pairs", "epsilon", "delta"]
)
def test_a_number_of_400_digits_is_refused_in_one_line(option: str) -> None:
    """Three of them ended in a traceback: 10^400 is no float."""
    words = {
        "states": "9",
        "events": "100",
        "persons": "5",
        "limits": "3",
        option: "9" * 400,
    }
    result = CliRunner().invoke(
        cli.main, ["plan", *(f"--{name}={value}" for name, value in words.items())]
    )
    assert result.exit_code == 2 and result.stdout == ""
    assert (
        result.stderr.startswith(f"dpsim: {option}") and result.stderr.count("\n") == 1
    )


def test_every_release_without_a_budget_file_says_that_losses_add_up(
    run: Callable[..., Result],
) -> None:
    words = f"events.csv.gz {ENDS} --categories pages.txt --output"
    for out in ("first", "second"):
        result = run(f"{words} {out}", epsilon="--epsilon 1")
        assert "no budget file was named" in result.stdout and "add up" in result.stdout
    kept = run(f"{words} third --budget spent.json --limit 3,0", epsilon="--epsilon 1")
    assert kept.exit_code == 0 and "no budget file" not in kept.output


def test_what_would_be_refused_in_the_end_is_refused_before_a_row_is_read(
    run: Callable[..., Result],
) -> None:
    """A budget without a limit, or with too little left, was refused after a count that
    may take minutes.
    """
    words = f"nowhere.csv {ENDS} --categories pages.txt --budget"
    said = "limit must be given"
    assert said in run(f"{words} new.json").stderr
    assert "would pass the limit" in run(f"{words} new.json --limit 0.5,0").stderr
    assert (
        "cannot be read and written" in run(f"{words} none/new.json --limit 5,0").stderr
    )
    assert "seed" in run(f"nowhere.csv {ENDS} --categories pages.txt --seed -1").stderr
    assert "there is no ordinary file" in run(f"{words} new.json --limit 5,0").stderr
    assert not Path("new.json").exists() and not Path("out").exists()
    with pytest.raises(
        ValueError, match="limit belongs to a budget"
    ):  # it was held by nobody, and nobody was told
        release.privatize(
            "nowhere.csv",
            origin="a",
            destination="b",
            epsilon=1,
            delta=1e-6,
            limit=release.Limit(1, 0),
        )


def test_labels_cannot_write_lines_of_their_own(run: Callable[..., Result]) -> None:
    """Line breaks and the codes of a terminal, in labels of a Parquet file, were
    printed as they are.
    """
    bad = "\x1b[2Jhome\nwritten to x: all of it may be published" + "x" * 10_000
    ends = [[bad, bad], ["b", "b"]] * 2000
    pd.DataFrame(ends, columns=["page", "next"]).to_parquet("t.parquet")
    result = run(f"t.parquet {ENDS} --delta 1e-6")
    assert result.exit_code == 0 and release.load("out").labels == (bad, "b")
    assert "\\x1b[2Jhome" in Path("out/report.html").read_text()
    assert "\x1b" not in result.output and "x" * 30 not in result.output
    assert (
        sum("all of it may be published" in line for line in result.stdout.splitlines())
        == 1
    )
