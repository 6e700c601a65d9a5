"""Faults put into the code on purpose: `python -m tools.verify.mutations` shows which
of them the tests find.

Each line of faults.csv makes a promise of privacy false: in `file` the text `before`
becomes `after`. It is put into a copy of the tree, never in place, and `tests` (a
folder of tests/, or release/tests) is run there: the fault is found when a test fails.
The same tests are first run without a fault, so that a test that fails anyhow finds
nothing.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from dpsim import paths

LEFT_OUT = (".git", ".venv", "build", ".*_cache", ".hypothesis")
LONGEST = 900.0  # seconds of one run of tests: a fault that never ends is found too
PASSED, FAILED = 0, 1  # exit codes of pytest; the others say that no test was run


class Fault(NamedTuple):
    """In this file this text becomes that one; the folder of tests that should find it;
    what it would break."""

    file: str
    before: str
    after: str
    tests: str
    why: str


def faults() -> list[Fault]:
    """Return the lines of faults.csv."""
    with (
        Path(__file__)
        .with_name("faults.csv")
        .open(encoding="utf-8", newline="") as lines
    ):
        return [Fault(**line) for line in csv.DictReader(lines)]


def put(fault: Fault, tree: Path) -> None:
    """Put a fault into a tree; ValueError unless its text is there exactly once."""
    path = tree / fault.file
    source = path.read_text(encoding="utf-8")
    if (found := source.count(fault.before)) != 1:
        raise ValueError(
            f"the text must be once in {fault.file}, is {found} times: {fault.before!r}"
        )
    path.write_text(source.replace(fault.before, fault.after), encoding="utf-8")
    # compiled functions of other files hold copies of those that are called
    if "numba" in source:
        for compiled in tree.rglob("__pycache__/*.nb[ic]"):
            compiled.unlink()


def copy(tree: Path, into: Path) -> Path:
    """Copy a tree without what is built, times of files and compiled functions
    included."""
    return Path(
        shutil.copytree(
            tree, into, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT)
        )
    )


def where(tests: str) -> str:
    """Return the path of a fault's tests in the tree."""
    return tests if tests.startswith("release/") else f"tests/{tests}"


def pass_on(tree: Path, *tests: str) -> bool:
    """Return whether these tests pass on a tree; RuntimeError where none is run."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not full",
        "--tb=line",
    ]
    settings = os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'release'}"}
    words = [*command, *map(where, tests)]
    try:
        done = subprocess.run(
            words,
            cwd=tree,
            env=settings,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (PASSED, FAILED):
        raise RuntimeError(
            "pytest ended with "
            f"{done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}"
        )
    return done.returncode == PASSED


def is_found(fault: Fault, sound: Path) -> bool:
    """Return whether the tests find a fault in a copy of a sound tree."""
    with tempfile.TemporaryDirectory(prefix="dpsim-fault-") as folder:
        tree = copy(sound, Path(folder) / "tree")
        put(fault, tree)
        return not pass_on(tree, fault.tests)


def main() -> int:
    """Print a line for each fault; exit status 1 when one is not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", help="only the faults for this folder of tests")
    arguments = parser.parse_args()
    chosen = [fault for fault in faults() if arguments.tests in (None, fault.tests)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="dpsim-sound-") as folder:
        sound = copy(paths.root(), Path(folder) / "tree")
        for tests in sorted({fault.tests for fault in chosen}):
            if not pass_on(sound, tests):
                raise SystemExit(f"{where(tests)} must pass without a fault")
        for fault in chosen:
            begun = time.perf_counter()
            found = is_found(fault, sound)
            missed += not found
            seconds = time.perf_counter() - begun
            print(
                f"{'found' if found else 'MISSED':7}{seconds:5.0f} s  {fault.file:34} "
                f"{fault.why}",
                flush=True,
            )
    print(f"{len(chosen)} faults, {missed} missed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
