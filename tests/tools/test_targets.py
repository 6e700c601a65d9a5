"""What `make fuzz`, `make audit` and `make bench` start is there: tests that are collected, commands that answer."""

import shlex
import subprocess
import sys

import pytest
from toy_project import ROOT


@pytest.mark.parametrize("target", ["fuzz", "audit", "bench"])
def test_what_a_target_starts_is_there(target: str) -> None:
    recipe = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    commands = [shlex.split(line) for line in recipe.splitlines() if line.startswith(".venv/bin/python -m ")]
    started = [words[2:] for words in commands if words[2] != "pip"]
    assert started
    for module, *words in started:
        asked = [*words, "--collect-only", "-qq", "-n", "0"] if module == "pytest" else ["--help"]
        done = subprocess.run([sys.executable, "-m", module, *asked], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
