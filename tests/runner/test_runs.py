"""Runs as a user meets them: refusals before anything runs, whole outputs, resume,
locks, nothing left behind."""

import ast
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from papermill.inspection import inspect_notebook
from quick_runs import quick_value
from toy_project import (
    BODY,
    DEADLINE,
    PARAMETERS,
    ROOT,
    WAITING,
    notebook,
    start,
    wait_for,
    workers,
)

from dpsim import cli, runner
from dpsim.cli import main
from dpsim.notebook import Parameter, load
from tools.notebooks import merge_streams


def dpsim(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command as a user would, who need not be in the project's
    folder."""
    command = [
        sys.executable,
        "-P",
        "-c",
        "from dpsim.__main__ import main; main()",
        *words,
    ]
    environment = os.environ | settings
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=DEADLINE
    )


def ran(*overrides: tuple[str, str]) -> runner.Run:
    """Run `quick` here and now."""
    (planned,) = runner.plan_runs(["quick"], overrides)
    return runner.runs.run_here(planned)


def written(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


REFUSALS = [
    (["quik"], "did you mean quick"),
    (["quick", "-p", "drws=200"], "did you mean draws"),
    (
        ["quick", "-p", "label=a=b", "-p", "draws=0"],
        "draws must be an integer from 1 to 100, got 0",
    ),
    (
        ["quick", "-p", "draws", "2.5"],
        "draws must be an integer from 1 to 100, got 2.5",
    ),
    (
        ["quick", "-p", "scale", "wide"],
        "scale must be a number in (0, 1e+09], got 'wide'",
    ),
    (["quick", "-p", "scale", "nan"], "scale must be in (0, 1e+09], got nan"),
    (["quick", "-p", "fast", "maybe"], "fast must be true or false"),
    (["quick", "-p", "bins", "1,two"], "each entry of bins must be an integer"),
    (["quick", "-p", "bins", "[1"], "bins must be a list like 1,2,3"),
    (["quick", "-p", "bins", "[" * 100_000], "bins must be a list like 1,2,3"),
    (["quick", "-p", "output", "x"], "use --output DIR"),
    (["quick", "--output", "figures"], "output must be outside"),
    (
        ["quick", "-j", "0", "--grid", "seed=0:2"],
        "jobs must be an integer from 1 to 1024, got 0",
    ),
    (["quick", "--grid", "sede=0:2"], "did you mean seed"),
    (
        ["quick", "--grid", "draws=50,500"],
        "draws must be an integer from 1 to 100, got 500",
    ),
    (["quick", "--dask", "tcp://127.0.0.1:1"], "a sweep takes one notebook and --grid"),
    (["quick", "--grid", "seed=0:2", "--output", "x"], "no --output"),
    (
        ["quick", "--grid", "seed=0:2", "-p", "seed", "3"],
        "each name once and not with -p, got 'seed=0:2'",
    ),
]


@pytest.mark.parametrize("words, message", REFUSALS)
def test_refusals_name_what_is_wrong_and_write_nothing(
    toy: Path, words: list[str], message: str
) -> None:
    before = written(toy)
    result = CliRunner().invoke(main, ["run", *words])
    assert result.exit_code == 2 and message in result.output
    assert len(result.output) < 500 and len(result.output.splitlines()) == 1
    assert written(toy) == before


CELL = {"cell_type": "code", "metadata": {}, "source": "1"}
NO_NOTEBOOKS = {
    "a conflict": '{"cells": [\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n]}',
    "a list": "[]",
    "nothing": "",
    "cells that are no objects": '{"cells": [1, "2"]}',
    "a cell without source": json.dumps({"cells": [CELL | {"source": None}]}),
    "tags that are a number": json.dumps({"cells": [CELL | {"metadata": {"tags": 1}}]}),
}


@pytest.mark.parametrize("kind", NO_NOTEBOOKS)
def test_what_is_no_notebook_is_refused_in_one_line_that_names_the_file(
    toy: Path, kind: str
) -> None:
    (toy / "notebooks" / "quick.ipynb").write_text(NO_NOTEBOOKS[kind])
    result = CliRunner().invoke(main, ["run"])
    assert result.exit_code == 2
    *_, line = result.output.splitlines()
    assert "quick.ipynb is not a notebook" in line


@pytest.mark.parametrize(
    "line",
    [
        "draws = 20",
        "draws: complex = 1",
        "draws: int = 10 + x",
        "draws: int",
        "draws: int =",
    ],
)
def test_a_parameter_that_cannot_be_set_is_refused_where_it_stands(
    toy: Path, line: str
) -> None:
    path = toy / "notebooks" / "quick.ipynb"
    path.write_text(path.read_text().replace("draws: int = 20", line))
    with pytest.raises(
        ValueError, match=r"quick.ipynb: parameters must be lines of NAME: TYPE = VALUE"
    ):
        _ = load("quick").parameters


def test_a_parameter_that_ruff_breaks_is_refused_with_what_to_do(toy: Path) -> None:
    path = toy / "notebooks" / "quick.ipynb"
    notebook(path, parameters=PARAMETERS + f"long: int = -1  # {'a word ' * 13}\n")
    shutil.copy(ROOT / "notebooks" / "ruff.toml", toy / "notebooks")
    shutil.copy(ROOT / "pyproject.toml", toy)
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", str(path)],
        check=True,
        capture_output=True,
    )
    assert "long: int = (" in path.read_text()
    with pytest.raises(
        ValueError,
        match="long must be one line of at most 96 characters with its comment",
    ):
        _ = load("quick").parameters


def test_a_parameter_is_given_in_two_words_or_with_an_equals_sign(toy: Path) -> None:
    made = []
    for words in (
        ["-p", "label", "a=b", "-p", "seed", "8"],
        ["-p", "label=a=b", "--parameter", "seed=8"],
    ):
        result = CliRunner().invoke(main, ["run", "quick", *words])
        assert result.exit_code == 0, result.output
        made.append(result.stdout.split()[-1])
    assert made[0] == made[1] and "unchanged" in result.stdout


@pytest.mark.parametrize("words", [["-p", "seed"], ["-p", "seed", "--force"]])
def test_a_parameter_without_a_value_is_refused_by_name(
    toy: Path, words: list[str]
) -> None:
    """The value was --force, and the run took the outputs that there were."""
    short = CliRunner().invoke(main, ["run", "quick", *words])
    assert short.exit_code == 2
    assert short.output == "dpsim: -p seed needs a value, as in -p seed=VALUE\n"
    alone = CliRunner().invoke(main, ["run", "quick", "-p"])
    assert alone.exit_code == 2 and "-p NAME needs a value" in alone.output
    below = CliRunner().invoke(main, ["run", "quick", "-p", "seed", "-1"])
    assert "seed must be an integer of at least 0, got -1" in below.output


COMPLETED = [
    (["run"], "qu", ["quick"]),
    (["run"], "x", []),
    (["run", "quick", "-p"], "s", ["scale", "seed"]),
    (["run", "-p"], "o", ["other"]),
    (["run", "quick", "-p"], "o", []),
    (["run", "quick", "-p", "seed"], "", []),
    (["run", "quick", "-p", "seed", "2", "-p"], "dr", ["draws"]),
]


@pytest.mark.parametrize("words, begin, names", COMPLETED)
def test_the_shell_completes_notebooks_and_parameters(
    toy: Path, words: list[str], begin: str, names: list[str]
) -> None:
    other = 'other: str = ""  # text\noutput: str = ""  # folder\n'
    notebook(toy / "notebooks" / "more.ipynb", parameters=other)
    complete = ShellComplete(main, {}, "dpsim", "_DPSIM_COMPLETE")
    offered = complete.get_completions(words, begin)
    assert [item.value for item in offered if item.type == "plain"] == names


def test_no_runs_are_no_error_and_a_project_without_notebooks_is_told(
    toy: Path,
) -> None:
    assert runner.run([]) == []
    (toy / "notebooks" / "quick.ipynb").unlink()
    result = CliRunner().invoke(main, ["run"])
    assert (
        result.exit_code == 2
        and "there are no notebooks in" in result.output
        and written(toy / "figures") == {}
    )


def test_a_notebook_that_writes_nothing_is_done_and_runs_again(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb")
    first = ran()
    second = ran()
    assert first.status == second.status == "done" and written(toy / "figures") == {}


def test_parameters_are_those_that_papermill_finds(toy: Path) -> None:
    path = toy / "notebooks" / "quick.ipynb"
    notebook(
        path,
        parameters=PARAMETERS
        + 'place: str = "Straße"  # a word\nlong: list[int] = [\n    1,\n]  # lines\n',
    )
    theirs = inspect_notebook(str(path))
    mine = load("quick").parameters
    assert list(mine) == list(theirs)
    for name, of in theirs.items():
        assert mine[name].default == ast.literal_eval(of["default"])
        assert (mine[name].type, mine[name].help) == (
            of["inferred_type_name"],
            of["help"].strip(),
        )


def test_a_comment_begins_after_a_text_and_ends_with_the_size_for_a_quick_run(
    toy: Path,
) -> None:
    lines = (
        "draws: int = 20  # number of draws; 1 to 100; quick 5\nsizes: list[int] = "
        "[9]  # of each; quick 1,2\n"
    )
    notebook(
        toy / "notebooks" / "quick.ipynb",
        parameters=PARAMETERS + lines + 'place: str = "é # 1"  # a word',
    )
    found = load("quick").parameters
    assert [quick_value(found[name]) for name in ("draws", "sizes", "scale")] == [
        5,
        [1, 2],
        1.0,
    ]
    assert (found["place"].default, found["place"].help) == ("é # 1", "a word")


VALUES = [
    ("int", "200", 200),
    ("float", "2", 2.0),
    ("bool", "False", False),
    ("str", "a,b", "a,b"),
]
LISTS = [
    ("int", "1, 2", [1, 2]),
    ("float", "[0.5, 1]", [0.5, 1.0]),
    ("str", "a,b", ["a", "b"]),
    ("int", "", []),
]


@pytest.mark.parametrize(
    "kind, text, value", VALUES + [(f"list[{kind}]", *rest) for kind, *rest in LISTS]
)
def test_values_on_the_command_line_take_the_parameters_type(
    kind: str, text: str, value: object
) -> None:
    assert Parameter("x", kind, None, "").read(text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_numbers_that_are_not_finite_are_refused_by_their_text(text: str) -> None:
    """A notebook refused them as "got 0"."""
    with pytest.raises(
        ValueError, match=r"x must be a number \(float\), got '-?(nan|inf)"
    ):
        Parameter("x", "float", None, "").read(text)


def test_a_default_run_writes_figures_whole_and_other_parameters_leave_them_alone(
    toy: Path,
) -> None:
    assert ran().status == "done"
    folder = toy / "figures" / "quick"
    names = {"fig1_draws.csv", "results.json"}
    before = written(folder)
    stamp = (folder / "fig1_draws.csv").stat().st_mtime_ns
    assert set(before) == names and [p.name for p in (toy / "figures").iterdir()] == [
        "quick"
    ]
    record = json.loads((toy / "build/runs/quick/default/manifest.json").read_text())
    assert set(record["outputs"]) == names
    assert record["seconds"] > 0 and record["versions"]["numpy"]
    assert ran().status == "unchanged"
    assert (folder / "fig1_draws.csv").stat().st_mtime_ns == stamp
    (folder / "fig1_draws.csv").write_text(
        "x\n1\n"
    )  # a damaged output is made again, byte for byte
    assert ran().status == "done" and written(folder) == before
    other = ran(("seed", "8"))
    assert other.status == "done" and written(folder) == before
    assert set(written(other.output)) == names | {"manifest.json", "quick.ipynb"}
    assert ran(("seed", "8")).status == "unchanged"
    first, second = map(runner.grid.numbers, (folder, other.output))
    difference = second["value"] - first["value"]
    assert difference["k"] == 0 and difference["first"] != 0


def test_an_output_folder_is_ones_own_or_of_a_run_before(toy: Path) -> None:
    command = ["run", "quick", "--output", "mine"]
    assert CliRunner().invoke(main, command).exit_code == 0
    mine = toy / "mine" / "quick"
    assert "unchanged" in CliRunner().invoke(main, command).output
    notebook(toy / "notebooks" / "quick.ipynb", "1 / 0")
    before = written(mine)
    assert CliRunner().invoke(main, command).exit_code == 1 and written(mine) == before
    (mine / "quick.ipynb").unlink()
    (mine / "thesis.txt").write_text("years of work")
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2 and "holds other files" in result.output
    assert (mine / "thesis.txt").read_text() == "years of work"


PLACES = [
    "figures/quick",
    "figures/.quick.previous",
    "build/runs/quick/default",
    "mine/quick",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_at_the_place_of_an_output_is_refused_before_anything_runs(
    toy: Path, place: str, kind: str
) -> None:
    """The run ended with an error of the system, and so did every later one, with the
    file beside the output."""
    path = toy / place
    path.parent.mkdir(parents=True, exist_ok=True)
    (toy / "elsewhere").mkdir()
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(toy / "elsewhere")
    result = CliRunner().invoke(
        main, ["run", *(["--output", "mine"] if "mine" in place else [])]
    )
    assert result.exit_code == 2 and f"{place} is a file or a link" in result.output
    assert os.path.lexists(path) and not [*toy.rglob(".*.lock")]


OF_THE_OWNER = """\
path = folder / "figa1_release_OWNER_ONLY.csv"
path.touch(mode=0o600)
path.write_text("true\\n0.5\\n")
stage = oct(folder.stat().st_mode)[-2:]
assert stage == "00", stage
(folder / "numbers_OWNER_ONLY.json").write_text('{"error": 0.25}')
"""


def test_a_run_that_shows_somebodys_data_is_only_for_its_owner(toy: Path) -> None:
    """The true probabilities of one's own table were in files that everybody could
    read."""
    assert (
        ran(("seed", "3")).output.stat().st_mode & 0o077
        == (toy / "data").stat().st_mode & 0o077
    )
    notebook(toy / "notebooks" / "quick.ipynb", BODY, OF_THE_OWNER)
    run = ran(("seed", "3"))
    assert run.status == "done" and run.output.stat().st_mode & 0o777 == 0o700
    for name in ("quick.ipynb", "figa1_release_OWNER_ONLY.csv"):
        assert (run.output / name).stat().st_mode & 0o777 == 0o600
    assert ran(("seed", "3")).status == "unchanged"
    swept = runner.gather(runner.run(runner.plan_grid("quick", ["seed=3:5"])))
    assert swept.stat().st_mode & 0o777 == 0o600 and "error,0.25" in swept.read_text()
    refused = ran()
    assert refused.status == "failed" and "use --output DIR" in refused.message
    assert written(toy / "figures") == {} and not [*(toy / "figures").iterdir()]
    (mine,) = runner.run(runner.plan_runs(["quick"], output="mine"))
    assert mine.status == "done" and mine.output.stat().st_mode & 0o777 == 0o700
    notebook(toy / "notebooks" / "quick.ipynb", BODY, OF_THE_OWNER, "1 / 0")
    assert ran(("seed", "3")).status == "failed"
    (failed,) = (toy / "build/runs/quick").glob("failed-*.ipynb")
    assert failed.stat().st_mode & 0o777 == 0o600


def test_a_cell_that_raises_is_named_and_the_other_notebook_still_appears(
    toy: Path,
) -> None:
    notebook(
        toy / "notebooks" / "broken.ipynb", "1 + 1", "raise RuntimeError('the reason')"
    )
    result = CliRunner().invoke(main, ["run", "-j", "2"])
    assert (
        result.exit_code == 1
        and "cell 4 raised RuntimeError: the reason" in result.stdout
    )
    assert (toy / "figures/quick/fig1_draws.csv").is_file() and not (
        toy / "figures/broken"
    ).exists()
    failed = json.loads(
        next((toy / "build/runs/broken").glob("failed-*.ipynb")).read_text()
    )
    assert any(
        o.get("ename") == "RuntimeError"
        for cell in failed["cells"]
        for o in cell.get("outputs", [])
    )


OUTPUTS = """\
import sys
from IPython.display import HTML, display
print("one")
display(HTML("<b>two</b>"))
print("three")
print("four", file=sys.stderr)
5
"""
PIECES = "import time; print('one', end='', flush=True); time.sleep(0.5); print('two')"


def test_outputs_are_those_of_a_kernel_of_its_own(toy: Path) -> None:
    notebook(
        toy / "notebooks" / "quick.ipynb",
        BODY,
        "!echo shell",
        OUTPUTS,
        PIECES,
        "input()",
    )
    assert "cell 7 raised StdinNotImplementedError" in ran().message
    failed = json.loads(
        next((toy / "build/runs/quick").glob("failed-*.ipynb")).read_text()
    )
    sources = (["!echo shell"], OUTPUTS.splitlines(True), [PIECES])
    shell, shown, pieces = [
        cell["outputs"] for cell in failed["cells"] if cell["source"] in sources
    ]
    assert "".join(shell[0]["text"]).split() == ["shell"]
    assert [o["output_type"] for o in shown] == [
        "stream",
        "display_data",
        "stream",
        "stream",
        "execute_result",
    ]
    assert [o.get("name") for o in shown] == ["stdout", None, "stdout", "stderr", None]
    (merged,) = merge_streams([nbformat.from_dict(piece) for piece in pieces])
    assert "".join(merged["text"]) == "onetwo\n"


def test_a_process_that_dies_is_told_once_with_its_cell(toy: Path) -> None:
    dies = (
        "import os, pathlib\nwith open('../times', 'a') as f:\n    "
        "f.write('x')\nos.kill(os.getpid(), 9)"
    )
    notebook(toy / "notebooks" / "quick.ipynb", "1 + 1", dies)
    result = dpsim("run", "quick")
    assert (
        result.returncode == 1
        and "cell 4 ended the process, with exit code -9" in result.stdout
    )
    assert (toy / "times").read_text() == "x"
    wait_for(lambda: not workers(toy))


FAILURES = {
    "cell 4 raised UsageError": "%%nonsense\n1",
    "cell 4 raised UnicodeEncodeError": "raise ValueError(chr(0xD800))",
    "cell 4 raised SystemExit": "raise SystemExit",
    "cell 4 raised ValueError: "
    + "\U0001f600" * 4_000: "raise ValueError(chr(0x1F600) * 20_000)",
    # at the end
    "cell 5 raised IsADirectoryError": (
        "p = pathlib.Path(output, 'quick.ipynb'); p.unlink(); p.mkdir()"
    ),
}


@pytest.mark.parametrize("said", FAILURES, ids=lambda said: said[:22])
def test_a_cell_whose_failure_is_no_output_is_no_success(toy: Path, said: str) -> None:
    """A magic that does not exist, or a message that cannot be sent, was a cell that
    had done its work."""
    notebook(toy / "notebooks" / "quick.ipynb", BODY, FAILURES[said], "never = 1")
    result = CliRunner().invoke(main, ["run"])
    assert (
        result.exit_code == 1
        and said in result.output
        and not (toy / "figures/quick").exists()
    )


PROGRAM = "import subprocess; subprocess.Popen(['sh', '-c', 'sleep 600; :'])"
"""A cell that starts a program, which would go on for ten minutes."""


def waiting(toy: Path, *cells: str, **settings: Any) -> subprocess.Popen[str]:
    """Start a run of `quick` with these cells, and return it when the last one
    waits."""
    notebook(toy / "notebooks" / "quick.ipynb", *cells)
    process = start("run", "quick", **settings)
    wait_for((toy / "begun-1").exists)
    return process


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_nothing_and_the_next_one_finishes(
    toy: Path, sign: signal.Signals
) -> None:
    process = waiting(toy, BODY, PROGRAM, WAITING, stderr=subprocess.STDOUT)
    assert workers(toy)
    for _ in range(3):  # more of them change nothing
        process.send_signal(sign)
        time.sleep(0.02)
    output, _ = process.communicate(timeout=DEADLINE)
    if sign != signal.SIGKILL:
        assert process.returncode == 130
        assert (
            output.splitlines()[-1]
            == "interrupted: run the same command again to continue"
        )
        assert "Traceback" not in output and [*(toy / "figures").iterdir()] == []
    wait_for(lambda: not workers(toy))
    assert not (toy / "figures/quick").exists()
    if sign == signal.SIGKILL:
        (toy / "go").touch()
        assert ran().status == "done" and [
            p.name for p in (toy / "figures").iterdir()
        ] == ["quick"]


def test_a_killed_process_of_the_pool_fails_its_run_and_ends_its_kernel(
    toy: Path,
) -> None:
    process = waiting(toy, BODY, WAITING)
    (worker,) = [one for one in workers(toy) if "spawn_main" in " ".join(one.cmdline())]
    worker.kill()
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1 and "the process that ran it has ended" in output
    wait_for(lambda: not workers(toy))
    (toy / "go").touch()
    assert ran().status == "done"


def test_the_line_of_progress_begins_with_the_number_of_the_cell(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    runner.run(runner.plan_runs(["quick"]), tell=cli.Progress(1, live=True).hear)
    lines = capsys.readouterr().err.split("\r")
    assert lines[1:4] == ["1/3 quick", "2/3 quick", "3/3 quick"]
    assert lines[-1].startswith("quick: done, ")


def test_a_killed_run_ends_a_cell_that_lets_no_other_thread_run(toy: Path) -> None:
    """A thread of the notebook's own process, which would wait for the runner's end,
    would not get its turn."""
    busy = f"pathlib.Path('../begun-1').touch(); sum(range({10**11}))"
    process = waiting(toy, BODY, busy)
    process.kill()
    process.communicate(timeout=DEADLINE)
    wait_for(lambda: not workers(toy), 10)


def test_a_process_that_a_cell_forks_and_nobody_ends_does_not_hold_the_run(
    toy: Path,
) -> None:
    forks = "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(600)"
    process = waiting(toy, BODY, forks, WAITING)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=DEADLINE)
        assert process.returncode == 130
    finally:
        for left in workers(toy):
            left.kill()


def test_signals_of_children_that_are_ignored_keep_no_program_alive(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", BODY, PROGRAM)
    process = start(
        "run", "quick", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    )
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    wait_for(lambda: not workers(toy))


def test_two_runs_on_one_output_take_turns(toy: Path) -> None:
    first = waiting(toy, BODY, WAITING)
    heard: list[str] = []

    def tell(run: runner.Run) -> None:
        heard.append(run.message)
        (toy / "go").touch()

    (second,) = runner.run(runner.plan_runs(["quick"]), tell=tell)
    assert "waits for another run" in heard[0] and second.status == "unchanged"
    assert "done" in first.communicate(timeout=DEADLINE)[0] and first.returncode == 0


def test_two_clones_with_one_output_take_turns(
    toy: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The second removed the folder of the first, and both published half of it."""
    clone = tmp_path_factory.mktemp("clones") / "clone"
    notebook(toy / "notebooks" / "quick.ipynb", BODY, WAITING, BODY)
    shutil.copytree(toy, clone)
    mine = clone / "mine"
    first = start("run", "quick", "--output", str(mine))
    wait_for((toy / "begun-1").exists)
    other = {"cwd": clone, "env": os.environ | {"DPSIM_ROOT": str(clone)}}
    second = start("run", "quick", "--output", str(mine), **other)
    said = second.stderr.readline() if second.stderr else ""
    assert "waits for another run" in said
    for root in (toy, clone):
        (root / "go").touch()
    outputs = [process.communicate(timeout=DEADLINE)[0] for process in (first, second)]
    assert "done" in outputs[0] and re.search("done|unchanged", outputs[1])
    made = {"fig1_draws.csv", "results.json", "manifest.json", "quick.ipynb"}
    assert set(written(mine / "quick")) == made
    record = json.loads((mine / "quick" / "manifest.json").read_text())
    assert set(record["outputs"]) == {"fig1_draws.csv", "results.json"}
    assert [path.name for path in mine.iterdir()] == ["quick"]


REPLACED = """\
import shutil

shutil.rmtree(folder)
folder.mkdir()
(folder / "fig2.csv").write_text("half")
"""


@pytest.mark.parametrize("cell", [REPLACED, REPLACED.partition("folder.mkdir")[0]])
def test_only_the_folder_that_the_run_made_is_published(toy: Path, cell: str) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", BODY, cell)
    found = ran()
    assert found.status == "failed" and [*(toy / "figures").iterdir()] == []


def test_what_somebody_puts_at_the_place_of_an_output_meanwhile_stays(
    toy: Path,
) -> None:
    meanwhile = (
        "folder.with_name('quick').mkdir(); "
        "folder.with_name('quick').joinpath('thesis').touch()"
    )
    notebook(toy / "notebooks" / "quick.ipynb", BODY, meanwhile)
    (planned,) = runner.plan_runs(["quick"], output="mine")
    found = runner.runs.run_here(planned)
    assert found.status == "failed" and "holds other files" in found.message
    assert (toy / "mine/quick/thesis").exists()


def test_a_publication_cut_in_two_is_mended(toy: Path) -> None:
    for kind in ("previous", "1.partial"):
        (toy / f"figures/.quick.{kind}").mkdir()
        (toy / f"figures/.quick.{kind}" / "fig1.png").write_text(kind)
    notebook(toy / "notebooks" / "quick.ipynb", "1 / 0")
    assert ran().status == "failed"
    assert written(toy / "figures") == {"quick/fig1.png": b"previous"}


def test_an_unchanged_run_removes_what_a_killed_one_left(toy: Path) -> None:
    assert ran().status == "done"
    left = toy / "figures/.quick.1.partial"
    left.mkdir()
    (left / "fig1.png").write_text("half")
    assert ran().status == "unchanged" and not left.exists()


def test_a_publication_that_fails_half_way_leaves_the_old_figures(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = toy / "figures/quick"
    replace = os.replace
    output.mkdir()
    (output / "fig1.png").write_text("the old one")

    def fails(old: Path, new: Path) -> None:
        if (old, new) == (toy / f"figures/.quick.{os.getpid()}.partial", output):
            raise OSError("no more")
        replace(old, new)

    monkeypatch.setattr(os, "replace", fails)
    assert ran().message == "no more"
    assert written(toy / "figures") == {"quick/fig1.png": b"the old one"}


def test_the_overview_runs_last_and_again_when_the_others_change(toy: Path) -> None:
    after = "assert pathlib.Path('../figures/quick/results.json').exists()"
    notebook(toy / "notebooks" / "00_overview.ipynb", BODY, after)
    planned = runner.run(runner.plan_runs())
    assert [(run.name, run.status) for run in planned] == [
        ("quick", "done"),
        ("00_overview", "done"),
    ]
    assert {run.status for run in runner.run(runner.plan_runs())} == {"unchanged"}
    (toy / "figures/quick/results.json").write_text("{}")
    assert not runner.runs.is_current(runner.plan_runs(["00_overview"])[0])


# What changes while a notebook runs.


MEDDLING: dict[str, Callable[[Path], str]] = {
    "data changed, restored, and their time too": lambda data: (
        f"import os; p = pathlib.Path({str(data)!r}); old = p.read_bytes(); s = "
        "p.stat(); p.write_bytes(b'other');p.write_bytes(old); os.utime(p, "
        "ns=(s.st_atime_ns, s.st_mtime_ns))"
    ),
    "a file that came and went": lambda data: (
        f"p = pathlib.Path({str(data)!r} + '2'); p.touch(); p.unlink()"
    ),
}


@pytest.mark.parametrize("kind", MEDDLING)
def test_what_changed_while_it_ran_is_not_published(toy: Path, kind: str) -> None:
    (toy / "figures" / "quick").mkdir()
    (toy / "figures" / "quick" / "fig1.png").write_text("the old one")
    before = written(toy / "figures")
    (toy / "data" / "table.csv").write_text("x\n")
    notebook(
        toy / "notebooks" / "quick.ipynb",
        BODY,
        MEDDLING[kind](toy / "data" / "table.csv"),
    )
    found = ran()
    assert (
        found.status == "failed"
        and "changed while it ran" in found.message
        and "data" in found.message
    )
    assert written(toy / "figures") == before
    assert not runner.runs.is_current(found)


def test_somebody_may_edit_the_rows_of_another_paper_while_it_runs(toy: Path) -> None:
    papers = toy / "data" / "papers.csv"
    published = toy / "data" / "published.csv"
    papers.write_text("id,notebook\none,quick\ntwo,other\n")
    for edit, status in (("two.a,two,3", "done"), ("one.b,one,3", "failed")):
        published.write_text("id,paper,sentence\none.a,one,1\n")
        meddling = (
            f"p = pathlib.Path({str(published)!r}); p.write_text(p.read_text() + "
            f"{edit!r} + chr(10))"
        )
        notebook(toy / "notebooks" / "quick.ipynb", BODY, meddling)
        assert ran().status == status


@pytest.mark.parametrize("name", ["kept", "Kept.file", "pathlib.kept", ""])
def test_what_a_notebook_leaves_to_the_end_is_done(toy: Path, name: str) -> None:
    """A file that is open is written, whatever keeps it; what is registered for the
    exit is done, open files or not."""
    left = (
        f"class Kept: pass\n{name} = open(folder / 'left.csv', "
        f"'w')\n{name}.write('x\\n')"
        if name
        else ""
    )
    scratch = "scratch = tempfile.TemporaryDirectory(dir=os.path.abspath('..'))"
    last = "atexit.register((folder / 'exit.csv').write_text, 'y\\n')"
    notebook(
        toy / "notebooks" / "quick.ipynb",
        BODY,
        "import atexit, os, tempfile",
        left,
        scratch,
        last,
    )
    run = ran()
    assert run.status == "done" and (
        not name or (run.output / "left.csv").read_text() == "x\n"
    )
    assert (run.output / "exit.csv").read_text() == "y\n" and not [*toy.glob("tmp*")]


@pytest.mark.full
def test_prose_may_be_edited_during_a_run_and_endless_threads_do_not_hold_it(
    toy: Path,
) -> None:
    path = toy / "notebooks" / "quick.ipynb"
    sleeper = (
        "import threading, time; threading.Thread(target=time.sleep, "
        "args=(600,)).start()"
    )
    notebook(
        path,
        BODY,
        "p = pathlib.Path('quick.ipynb'); p.write_text(p.read_text() + ' ')",
        sleeper,
        PROGRAM,
    )
    assert ran().status == "done" and ran().status == "unchanged"
    wait_for(lambda: not workers(toy))


# What a user has set, and where they stand.


def test_a_module_beside_the_notebooks_is_imported_and_part_of_the_key(
    toy: Path,
) -> None:
    helper = toy / "notebooks" / "helper_of_mine.py"
    helper.write_text("value = 1\n")
    path = toy / "notebooks" / "quick.ipynb"
    notebook(path, BODY, "import helper_of_mine")
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"metadata": {}})
    )  # nor is a kernel named
    assert ran().status == "done"
    helper.write_text("value = 2\n")
    assert not runner.runs.is_current(runner.plan_runs(["quick"])[0])


SETTINGS = {
    "JUPYTER_PATH": "{toy}/jupyter",  # with another kernel called python3
    "MATPLOTLIBRC": "{toy}/matplotlibrc",
    "IPYTHONDIR": "{toy}/ipython",
    "PYTHONSTARTUP": "{toy}/start.py",
    "PYTHONWARNINGS": "error",
    "PYTHONOPTIMIZE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PROBE = """\
import sys, matplotlib, warnings
assert not sys.dont_write_bytecode
assert matplotlib.rcParams["axes.grid"] is False
warnings.warn("a warning")
try:
    assert False
except AssertionError:
    pass
else:
    raise RuntimeError("assertions are skipped")
assert "mine" not in dir() and sys.executable == EXECUTABLE
"""


def test_what_the_user_has_set_and_where_they_stand_changes_nothing(toy: Path) -> None:
    for module in ("queue", "random", "dpsim"):
        (toy / f"{module}.py").write_text("raise SystemExit('mine')")
    kernel = toy / "jupyter" / "kernels" / "python3"
    startup = toy / "ipython" / "profile_default" / "startup"
    kernel.mkdir(parents=True)
    startup.mkdir(parents=True)
    spec = {
        "argv": ["false", "{connection_file}"],
        "display_name": "x",
        "language": "python",
    }
    (kernel / "kernel.json").write_text(json.dumps(spec))
    for path in (startup / "00-mine.py", toy / "start.py"):
        path.write_text("mine = 1")
    (toy / "matplotlibrc").write_text("axes.grid: True\n")
    notebook(
        toy / "notebooks" / "quick.ipynb",
        BODY,
        PROBE.replace("EXECUTABLE", repr(sys.executable)),
    )
    result = dpsim(
        "run", **{name: value.format(toy=toy) for name, value in SETTINGS.items()}
    )
    assert result.returncode == 0 and "Traceback" not in result.stderr, (
        result.stdout + result.stderr
    )


OTHER_PROCESSOR = """\
import ctypes, glob, math, numba, numpy
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
library = glob.glob(numpy.__path__[0] + "/../numpy.libs/*openblas*")[0]
blas = ctypes.CDLL(library).scipy_openblas_get_corename64_
blas.restype = ctypes.c_char_p
tried = [i / 1000 for i in range(20_000)]
found = {
    "OpenBLAS": blas().decode(),
    "numpy": [name for name in __cpu_dispatch__ if __cpu_features__[name]],
    "numba": cpu_target.target_context.codegen().magic_tuple()[1],
    "C library": [(math.exp(x).hex(), math.sin(x).hex()) for x in tried],
}
if output:
    pathlib.Path(output, "found.json").write_text(json.dumps(found))
"""


@pytest.mark.full
@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="they are settings of x86-64",
)
def test_a_notebook_sees_another_processor(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = dict(
        re.findall(
            r"^  ([A-Z_]+)=([^\s\"]+)",
            (ROOT / ".ci" / "run").read_text("utf-8"),
            re.MULTILINE,
        )
    )
    assert len(settings) == 4
    notebook(toy / "notebooks" / "quick.ipynb", BODY, OTHER_PROCESSOR)
    for name in settings:
        monkeypatch.delenv(name, raising=False)
    usual, other = (found_by_a_notebook(toy, **given) for given in ({}, settings))
    assert (other["OpenBLAS"], other["numpy"], other["numba"]) == (
        "Nehalem",
        [],
        "generic",
    )
    fused = "fma" in Path("/proc/cpuinfo").read_text().split()
    assert (other["C library"] != usual["C library"]) == fused


def found_by_a_notebook(toy: Path, **settings: str) -> dict[str, Any]:
    result = dpsim("run", "--force", **settings)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads((toy / "figures" / "quick" / "found.json").read_text())


PICTURE = """\
import os, pathlib
for ending in ("png", "pdf") if os.environ.get("PDF") == "1" else ("png",):
    pathlib.Path(output, f"fig1.{ending}").write_bytes(b"picture")
"""


def test_pdf_is_made_where_it_is_asked_for_also_of_what_is_current(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", BODY, PICTURE)
    pdf = toy / "figures/quick/fig1.pdf"
    assert ran().status == "done" and not pdf.exists()
    monkeypatch.setenv("PDF", "1")
    assert ran().status == "done" and pdf.exists()
    assert ran().status == "unchanged"
    monkeypatch.delenv("PDF")
    assert ran().status == "unchanged" and pdf.exists()
