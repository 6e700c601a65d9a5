"""What works where files cannot be locked, as on Windows: everything is imported, and
refusals say what to do."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy_project import ROOT

LACKING = ("fcntl", "grp", "pwd", "resource", "termios")
"""Modules of Python that Windows lacks."""

NO_WINDOWS = f"""\
import builtins, importlib.util, os, sys

there, found = builtins.__import__, importlib.util.find_spec

def refuse(name, space=None, *rest, **named):
    owner = str((space or {{}}).get("__name__", "")).partition(".")[0]
    if name in {LACKING} and owner in ("dpsim", "dpsim_release", "__main__"):
        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    return there(name, space, *rest, **named)

# for this project's modules alone: libraries look at the system instead
builtins.__import__ = refuse
importlib.util.find_spec = lambda name, package=None: (
    None if name in {LACKING} else found(name, package)
)
"""

LEFT = """\
lacking = "getuid fchmod O_NOFOLLOW O_DIRECTORY sched_getaffinity fork"
for name in lacking.split():
    delattr(os, name)
import pandas as pd

table = pd.DataFrame({"from": ["a", "b"] * 50, "to": ["b", "a"] * 50})
settings = {"origin": "from", "destination": "to", "categories": ["a", "b"]}
settings |= {"epsilon": 1.0, "rng": 1}
budget = {"budget": "spent.json", "limit": (2, 0), "rng": None}
made = dpsim_release.privatize(table, **settings)
assert list(made.labels) == ["a", "b"] and notebook.load("your_own_chain").parameters
runs = runner.plan_runs(["your_own_chain"])
for call in (
    lambda: runner.run(runs),
    lambda: dpsim_release.privatize(table, output="chain", **settings),
    lambda: dpsim_release.privatize(table, **settings | budget),
):
    try:
        call()
    except ImportError as error:
        print(error)
"""

COMMANDS = """\
import click.testing
import pandas as pd

table = pd.DataFrame({"from": ["a", "b"] * 50, "to": ["b", "a"] * 50})
table.to_csv("table.csv", index=False)
open("states.txt", "w").write("a\\nb\\n")
columns = "release table.csv --origin from --destination to --categories states.txt"
for words in (columns, f"{columns} --check", "run your_own_chain --grid seed=0:100000"):
    result = click.testing.CliRunner().invoke(cli.main, words.split())
    print(result.exit_code, result.output.replace(chr(10), "; "))
"""


def executed(program: str, folder: Path) -> str:
    """Return what a program prints in a process of its own."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    words = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imports(path: Path) -> str:
    """Return the imports of a notebook, a line each."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = (
        part
        for cell in cells
        if cell["cell_type"] == "code"
        for part in ast.parse("".join(cell["source"])).body
    )
    return "".join(
        f"{ast.unparse(part)}\n"
        for part in parts
        if isinstance(part, ast.Import | ast.ImportFrom)
    )


def test_notebooks_import_what_they_need_and_what_writes_says_what_it_needs(
    tmp_path: Path,
) -> None:
    program = (
        NO_WINDOWS
        + "import dpsim_release\nfrom dpsim import cli, ledger, notebook, runner\n"
    )
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    lines = executed(
        program + "".join(map(imports, notebooks)) + LEFT, tmp_path
    ).splitlines()
    begins = ("running notebooks", "writing a release", "keeping a budget")
    assert [
        line.startswith(begin) and "Windows Subsystem for Linux" in line
        for begin, line in zip(begins, lines)
    ]
    assert len(lines) == 3 and len(notebooks) > 5 and not any(tmp_path.iterdir())


def test_the_simulation_refuses_what_windows_lacks(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="No module named 'fcntl'"):
        executed(f"{NO_WINDOWS}import fcntl", tmp_path)


def test_commands_that_cannot_work_are_refused_first_and_say_what_works(
    tmp_path: Path,
) -> None:
    """`dpsim release --output` was refused when everything else had been chosen."""
    program = NO_WINDOWS + "from dpsim import cli\n" + COMMANDS
    release, check, sweep = executed(program, tmp_path).splitlines()
    assert (
        release.startswith("2 dpsim: writing a release needs")
        and "`dpsim release --check` works" in release
    )
    assert (
        check.startswith("0 only --check works on this system")
        and "100 events counted" in check
    )
    assert (
        sweep.startswith("2 dpsim: running notebooks with dpsim needs")
        and "JupyterLab and papermill" in sweep
    )
