"""What `make fuzz`, `make audit` and `make bench` start is there: tests that are
collected, commands that answer. `make lab` takes options, and tells root why JupyterLab
does not start."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_project import ROOT


@pytest.mark.parametrize("target", ["fuzz", "audit", "bench"])
def test_what_a_target_starts_is_there(target: str) -> None:
    recipe = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    commands = [
        shlex.split(line)
        for line in recipe.splitlines()
        if line.startswith(".venv/bin/python -m ")
    ]
    started = [words[2:] for words in commands if words[2] != "pip"]
    assert started
    for module, *words in started:
        asked = (
            [*words, "--collect-only", "-qq", "-n", "0"]
            if module == "pytest"
            else ["--help"]
        )
        done = subprocess.run(
            [sys.executable, "-m", module, *asked],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "user, options, starts",
    [(0, "", False), (0, "--allow-root", True), (7, "--no-browser", True)],
)
def test_lab_takes_options_and_tells_root_what_to_do(
    tmp_path: Path, user: int, options: str, starts: bool
) -> None:
    for name, line in {"jupyter": 'echo "$@"', "id": f"echo {user}"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    command = [
        "make",
        "--no-print-directory",
        "-o",
        "env",
        "lab",
        f"BIN={tmp_path}",
        f"OPTIONS={options}",
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == starts
    said = (
        f"lab --ServerApp.root_dir=. {options} notebooks/00_overview.ipynb"
        if starts
        else "OPTIONS=--allow-root"
    )
    assert said in done.stdout


STUB = """#!/bin/sh
case "$*" in *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;; esac
"""
"""A Python that makes an environment of itself and installs nothing."""


def test_a_moved_checkout_builds_its_environment_anew(tmp_path: Path) -> None:
    first = tmp_path / "a first place"
    for name in ("tools/jupyter", "stubs"):
        (first / name).mkdir(parents=True)
    for name in ("Makefile", "requirements.lock"):
        shutil.copy(ROOT / name, first)
    (first / "stubs" / "python").write_text(STUB)
    (first / "stubs" / "python").chmod(0o755)

    def make(place: Path) -> str:
        command = ["make", "--no-print-directory", "env", "PYTHON=stubs/python"]
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "building .venv" in make(first)
    assert make(first) == ""
    second = tmp_path / "moved"
    shutil.copytree(first, second)
    (second / "kept.txt").touch()
    said = make(second)
    assert f"was made in {first}" in said and "building .venv" in said
    assert (second / "kept.txt").exists() and make(second) == make(first) == ""
