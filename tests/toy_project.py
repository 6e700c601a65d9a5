"""A small project of its own for the tests of the runner: the layout of the real one,
notebooks of a few lines."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from dpsim import ledger

ROOT = Path(__file__).resolve().parents[1]

PARAMETERS = """\
draws: int = 20  # number of draws, 1 to 100
scale: float = 1.0  # width of the law, above 0
label: str = "plain"  # text, or a file to read
bins: list[int] = [1, 2]  # integers
fast: bool = True  # true or false
seed: int = 1  # seed of the draws
output: str = ""  # folder of the results; empty writes nothing
"""

CHECKS = """\
from dpsim import parameters

draws = parameters.integer("draws", draws, 1, 100)
scale = parameters.number("scale", scale, 0, 1e9, open_low=True)
label = parameters.text("label", label)
bins = parameters.integers("bins", bins, 0, most=9)
fast = parameters.truth("fast", fast)
seed = parameters.integer("seed", seed, 0)
"""

BODY = """\
import json, pathlib, random

x = [scale * random.Random(seed).gauss(0, 1) for _ in range(draws)]
numbers = {
    "k": {"value": 1.5, "standard_error": None},
    "first": {"value": x[0], "standard_error": scale},
}
if output:
    folder = pathlib.Path(output)
    folder.mkdir(exist_ok=True)
    lines = ["x", *(f"{value:.6g}" for value in x), ""]
    (folder / "fig1_draws.csv").write_text("\\n".join(lines))
    (folder / "results.json").write_text(json.dumps(numbers))
"""
"""What a notebook does, without a library: only the runner is tested here, and imports
cost seconds."""

WAITING = """\
import pathlib, time

pathlib.Path(f'../begun-{seed}').touch()
while seed and not pathlib.Path('../go').exists():
    time.sleep(0.02)
"""
"""A cell that tells that it has begun, and waits for a file."""


DEADLINE = 120.0
"""Seconds that not even a busy machine takes."""


def notebook(path: Path, *cells: str, parameters: str = PARAMETERS) -> None:
    """Write a notebook with the parameters and checks above, then the given cells."""
    made = nbformat.v4.new_notebook()
    tagged = [(parameters, ["parameters"]), (CHECKS, ["checks"])]
    made.cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": tags})
        for source, tags in tagged
    ]
    made.cells += [nbformat.v4.new_code_cell(source) for source in cells]
    made.metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    nbformat.write(made, path)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a project with one quick notebook, `quick`."""
    for folder in ("notebooks", "data", "figures"):
        (tmp_path / folder).mkdir()
    for table in ("papers.csv", "published.csv"):
        shutil.copy(ROOT / "data" / table, tmp_path / "data")
    findings = (ROOT / "data" / "findings.csv").read_text(encoding="utf-8")
    (tmp_path / "data" / "findings.csv").write_text(f"{findings.splitlines()[0]}\n")
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    notebook(tmp_path / "notebooks" / "quick.ipynb", BODY)
    monkeypatch.setenv("DPSIM_ROOT", str(tmp_path))
    ledger.write_checksums()
    monkeypatch.setenv("CI", "true")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*words: str, **settings: Any) -> subprocess.Popen[str]:
    """Start `dpsim` as from a terminal, where Ctrl-C counts: tests that a shell runs in
    its background inherit none."""
    command = [sys.executable, "-m", "dpsim", *words]
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**heard, **pipes, **settings})


def workers(root: Path) -> list[psutil.Process]:
    """Return the processes that a run of a toy project has started, and it itself."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if (process.info["environ"] or {}).get("DPSIM_ROOT") == str(root)
        # a process of the tests themselves, which ends with them
        and not any(
            "resource_tracker" in word for word in process.info["cmdline"] or []
        )
    ]


def wait_for(condition: Callable[[], object], seconds: float = DEADLINE) -> None:
    """Wait until a condition holds; fail when it does not within a time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what the test waits for does not come"
        time.sleep(0.02)
