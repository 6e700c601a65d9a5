"""The runner as a user meets it: refusals before anything runs, whole outputs, resume, locks, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from toy_project import BODY, kernels, notebook, start, wait_for

from dpsim import runner
from dpsim.cli import main

COMMAND = [sys.executable, "-m", "dpsim"]


def dpsim(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user would; the caller's folder and DPSIM_ROOT are the toy project's."""
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True)


def written(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


REFUSALS = [
    (["quik"], "did you mean quick"),
    (["quick", "-p", "drws", "200"], "did you mean draws"),
    (["quick", "-p", "draws", "2.5"], "draws must be an integer"),
    (["quick", "-p", "draws", "0"], "draws must be an integer from 1 to 100, got 0"),
    (["quick", "-p", "scale", "-1"], "scale must be in (0, inf), got -1"),
    (["quick", "-p", "scale", "wide"], "scale must be a number (float), got 'wide'"),
    (["quick", "-p", "fast", "maybe"], "fast must be true or false"),
    (["quick", "-p", "bins", "1,two"], "bins must be an integer"),
    (["quick", "-p", "output", "x"], "use --output DIR"),
    (["quick", "--output", "figures"], "output must be outside"),
    (["quick", "-j", "-1"], "jobs must be an integer from 1"),
    (["quick", "-j", "0"], "jobs must be an integer from 1 to 1024, got 0"),
    (["quick", "-j", "0", "--grid", "seed=0:2"], "jobs must be an integer from 1 to 1024, got 0"),
]


@pytest.mark.parametrize("words, message", REFUSALS)
def test_refusals_name_what_is_wrong_and_write_nothing(toy: Path, words: list[str], message: str) -> None:
    before = written(toy)
    result = CliRunner().invoke(main, ["run", *words])
    assert result.exit_code == 2
    assert message in result.output
    assert written(toy) == before


@pytest.mark.parametrize(
    "kind, text, value",
    [
        ("int", "200", 200),
        ("float", "2", 2.0),
        ("bool", "False", False),
        ("str", "a,b", "a,b"),
        ("list[int]", "1, 2", [1, 2]),
        ("list[float]", "[0.5, 1]", [0.5, 1.0]),
        ("list[str]", "a,b", ["a", "b"]),
        ("list[int]", "", []),
    ],
)
def test_values_on_the_command_line_take_the_parameters_type(kind: str, text: str, value: object) -> None:
    assert runner.parse(runner.Parameter("x", kind, None, ""), text) == value


def test_a_default_run_writes_figures_whole_and_is_not_repeated(toy: Path) -> None:
    first = dpsim("run", "quick")
    assert first.returncode == 0, first.stderr
    folder = toy / "figures" / "quick"
    names = {"fig1_draws.png", "fig1_draws.csv", "results.json"}
    assert set(written(folder)) == names
    assert [p.name for p in (toy / "figures").iterdir()] == ["quick"]
    record = json.loads((toy / "build/runs/quick/default/manifest.json").read_text())
    assert set(record["outputs"]) == names
    assert record["seconds"] > 0 and record["peak_memory_mib"] > 10 and record["versions"]["numpy"]
    before, stamp = written(folder), (folder / "fig1_draws.png").stat().st_mtime_ns
    assert "unchanged" in dpsim("run", "quick").stdout
    assert (folder / "fig1_draws.png").stat().st_mtime_ns == stamp
    # a damaged output is made again, byte for byte; so is everything when the helper data change
    (folder / "fig1_draws.csv").write_text("x\n1\n")
    assert "done" in dpsim("run", "quick").stdout
    assert written(folder) == before


def test_other_parameters_leave_figures_alone_and_change_the_draws(toy: Path) -> None:
    assert dpsim("run", "quick").returncode == 0
    before = written(toy / "figures")
    assert dpsim("run", "quick", "-p", "seed", "8").returncode == 0
    assert written(toy / "figures") == before
    (other,) = (p for p in (toy / "build/runs/quick").iterdir() if p.name != "default")
    tables = runner.tables(toy / "figures/quick", other)
    assert tables.loc["fig1_draws.csv", "largest_relative_change"] > 0
    values = runner.values(toy / "figures/quick", other)
    assert (values["difference"] == 0).all()
    shown = CliRunner().invoke(main, ["diff", "quick", f"quick/{other.name[:6]}"])
    assert shown.exit_code == 0 and "changed: x" in shown.output


def test_an_output_folder_with_files_of_ones_own_is_refused(toy: Path) -> None:
    mine = toy / "mine" / "quick" / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("years of work")
    result = CliRunner().invoke(main, ["run", "quick", "--output", "mine"])
    assert result.exit_code == 2 and "holds other files" in result.output
    assert mine.read_text() == "years of work"


def test_the_key_sees_sources_parameters_and_files_but_not_outputs(toy: Path) -> None:
    base = runner.key("quick", {})
    assert runner.key("quick", {}) == base
    assert runner.key("quick", {"seed": 2}) != base
    named = toy / "table.csv"
    named.write_text("a\n1\n")
    values = runner.resolve("quick", [("label", "table.csv")])
    assert values == {"label": str(named)}
    with_file = runner.key("quick", values)
    named.write_text("a\n2\n")
    assert runner.key("quick", values) != with_file
    (toy / "data" / "new.csv").write_text("b\n")
    assert runner.key("quick", {}) != base
    (toy / "data" / "new.csv").unlink()
    notebook(toy / "notebooks" / "quick.ipynb", BODY + "\n# changed")
    assert runner.key("quick", {}) != base


def test_a_cell_that_raises_is_named_and_the_other_notebook_still_appears(toy: Path) -> None:
    notebook(toy / "notebooks" / "broken.ipynb", "1 + 1", "raise RuntimeError('the reason')")
    result = dpsim("run", "-j", "2")
    assert result.returncode == 1
    assert "cell 5 raised RuntimeError: the reason" in result.stdout  # after the injected parameters
    assert (toy / "figures/quick/fig1_draws.png").is_file()
    assert not (toy / "figures/broken").exists()
    assert (toy / "build/runs/broken/default/broken-failed.ipynb").is_file()


A_FILE = "import os, pathlib\nos.makedirs(output, exist_ok=True)\npathlib.Path(output, 'a.csv').write_text('x\\n1\\n')"
"""What makes a file and needs no library: where only the runner is tested, figures would cost seconds."""


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_nothing_and_the_next_one_finishes(toy: Path, sign: signal.Signals) -> None:
    waiting = "import pathlib, time\npathlib.Path('../started').touch()\nwhile draws == 20:\n    time.sleep(0.1)"
    notebook(toy / "notebooks" / "quick.ipynb", A_FILE, waiting)
    process = start("run", "quick", stderr=subprocess.STDOUT)
    wait_for((toy / "started").exists)
    assert kernels(toy)
    process.send_signal(sign)
    output, _ = process.communicate()
    if sign != signal.SIGKILL:
        assert process.returncode == 130
        assert output.splitlines()[-1] == "interrupted: run the same command again to go on with what is missing"
        assert "Traceback" not in output
    wait_for(lambda: not kernels(toy))
    assert not (toy / "figures/quick").exists()
    result = dpsim("run", "quick", "-p", "draws", "21")
    assert result.returncode == 0, result.stdout
    assert [p.name for p in (toy / "figures").iterdir() if p.name != ".quick.partial"] == []


def test_two_runs_on_one_output_take_turns(toy: Path) -> None:
    waiting = "import pathlib, time\nwhile not pathlib.Path('../go').exists():\n    time.sleep(0.05)"
    notebook(toy / "notebooks" / "quick.ipynb", A_FILE, waiting)
    first = start("run", "quick")
    wait_for(lambda: list(toy.glob("build/locks/*.holder")))
    second = start("run", "quick")
    assert second.stderr is not None and "waits for process" in second.stderr.readline()
    (toy / "go").touch()
    assert "done" in first.communicate()[0] and first.returncode == 0
    assert "unchanged" in second.communicate()[0] and second.returncode == 0


def test_a_worker_that_dies_is_told_with_its_exit_code(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", "import os, signal, psutil\npsutil.Process().parent().kill()")
    result = dpsim("run", "quick")
    assert result.returncode == 1
    assert "failed" in result.stdout and "the worker stopped with exit code -9" in result.stdout
    wait_for(lambda: not kernels(toy))


def test_a_publication_cut_in_two_is_mended(toy: Path) -> None:
    assert dpsim("run", "quick").returncode == 0
    before = written(toy / "figures/quick")
    os.replace(toy / "figures/quick", toy / "figures/.quick.previous")
    assert "unchanged" in dpsim("run", "quick").stdout or written(toy / "figures/quick") == before
    assert written(toy / "figures/quick") == before
    assert [p.name for p in (toy / "figures").iterdir()] == ["quick"]
