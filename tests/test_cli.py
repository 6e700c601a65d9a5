"""The command line where standard output or the records of a run are broken: one line,
and files as they should be."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from toy_project import ROOT

import dpsim
from dpsim import load_release, runner
from dpsim.cli import main

FULL = Path("/dev/full")


def said_nowhere(*words: str) -> str:
    """Return what a command says on standard error when standard output is on a full
    device."""
    if not FULL.exists():
        pytest.skip("this system has no full device")
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "dpsim", *words]
        buffered = {
            name: value
            for name, value in os.environ.items()
            if name != "PYTHONUNBUFFERED"
        }
        found = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            env=buffered,
        )
    assert found.returncode == 2 and "Traceback" not in found.stderr, found.stderr
    return found.stderr.splitlines()[-1]


def test_a_release_is_written_though_standard_output_is_full(tmp_path: Path) -> None:
    table = tmp_path / "events.csv"
    states = tmp_path / "states.txt"
    table.write_text("from,to\n" + "home,shop\nshop,home\n" * 50)
    states.write_text("home\nshop\n")
    columns = ["--origin", "from", "--destination", "to", "--categories", str(states)]
    line = said_nowhere(
        "release",
        str(table),
        *columns,
        "--epsilon",
        "1",
        "--output",
        str(tmp_path / "made"),
    )
    assert "release has ended, and its files are written" in line
    assert "No space left" in line
    assert list(load_release(tmp_path / "made").labels) == ["home", "shop"]


def test_figures_are_written_though_standard_output_is_full(toy: Path) -> None:
    assert "run has ended, and its files are written" in said_nowhere("run")
    assert (toy / "figures/quick/fig1_draws.csv").is_file()


def test_a_comparison_says_that_standard_output_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert "but not its output" in said_nowhere("report", "--results", "figures")


DAMAGES = {
    "null": "null",
    "cut off": '{"k": {"value": 1.5, "stand',
    "deep": "[" * 100_000,
    "numbers of nothing": '{"k": 1.5}',
    "values that are text": '{"k": {"value": "x", "standard_error": null}}',
    "no text": "\udcff",
}


@pytest.mark.parametrize("file", ["results.json", "numbers.json"])
@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_results_are_refused_in_one_line_that_names_the_file(
    tmp_path: Path, kind: str, file: str
) -> None:
    if (kind, file) == ("numbers of nothing", "numbers.json"):
        pytest.skip("which is what this file holds")
    (tmp_path / "results.json").write_text("{}")
    damaged = tmp_path / file
    damaged.write_text(DAMAGES[kind], encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ValueError, match=re.escape(str(damaged))) as refusal:
        runner.grid.numbers(tmp_path)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_list_of_categories_that_is_missing_is_refused_as_missing(
    tmp_path: Path,
) -> None:
    """It was refused as text that cannot be read as UTF-8."""
    ends = [
        "--origin",
        "a",
        "--destination",
        "b",
        "--epsilon",
        "1",
        "--output",
        str(tmp_path / "out"),
    ]
    result = CliRunner().invoke(
        main, ["release", "t.csv", *ends, "--categories", "none.txt"]
    )
    assert (
        result.exit_code == 2
        and "there is no such file" in result.output
        and "UTF-8" not in result.output
    )


def test_the_command_says_its_version_and_whose_it_is() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (
        result.exit_code == 0
        and result.output
        == f"dpsim {dpsim.__version__} (the distribution dpsim-compendium)\n"
    )


def test_the_notebooks_that_are_named_are_listed() -> None:
    both = CliRunner().invoke(main, ["list", "permute_and_flip", "00_overview"])
    names = [line for line in both.output.splitlines() if not line.startswith(" ")]
    assert both.exit_code == 0 and names == ["permute_and_flip", "00_overview"]
    assert "    n: int = 14  segments" in both.output
    wrong = CliRunner().invoke(main, ["list", "permute"])
    assert wrong.exit_code == 2 and "did you mean permute_and_flip?" in wrong.output


def test_damaged_data_end_with_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notebooks").mkdir()
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.setenv("DPSIM_ROOT", str(tmp_path))
    assert CliRunner().invoke(main, ["data"]).exit_code == 0
    with (tmp_path / "data" / "nyc" / "od_surrogate_2025-01.csv").open("a") as file:
        file.write("\n")
    damaged = CliRunner().invoke(main, ["data"])
    assert damaged.exit_code == 1 and "intact" in damaged.output
