"""Faults put into the code on purpose: `python -m tools.verify.mutations` shows which of them the tests find.

Each mutation of tools/verify/mutation_list.py is applied to a copy of the tree, never in place, and the tests named
there are run on the copy. It is killed when one of them fails, and survives when all pass. The same tests are first run
on a copy without a fault, so that a test that fails anyhow kills nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dpsim import paths

LEFT_OUT = (
    ".git",
    ".venv",
    "build",
    ".hypothesis",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".import_linter_cache",
)
LONGEST = 900.0  # seconds of one run of tests: a fault that never ends is found too
PASSED, FAILED = 0, 1  # exit codes of pytest; the others say that no test was run


class Mutation(NamedTuple):
    """A fault: in this file this text becomes that one; the tests that should find it; why it matters."""

    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    why: str
    equivalent: str = ""
    """Why no test can or need find it; then it must survive."""


def occurrences(mutation: Mutation, tree: Path) -> int:
    """Return how often the text to be changed is in its file."""
    return (tree / mutation.file).read_text(encoding="utf-8").count(mutation.before)


def apply(mutation: Mutation, tree: Path) -> None:
    """Change a file of a tree; ValueError unless the text is there exactly once."""
    if (found := occurrences(mutation, tree)) != 1:
        raise ValueError(f"the text must be once in {mutation.file}, is {found} times: {mutation.before!r}")
    path = tree / mutation.file
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace(mutation.before, mutation.after), encoding="utf-8")
    if "numba" in source:  # compiled functions of other files hold copies of those that are called
        for compiled in tree.rglob("__pycache__/*.nb[ic]"):
            compiled.unlink()


def copy(tree: Path, into: Path) -> Path:
    """Copy a tree without what is built, times of files and compiled functions included."""
    return Path(shutil.copytree(tree, into, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT)))


def run_tests(tests: Sequence[str], tree: Path, longest: float | None = LONGEST) -> tuple[bool, str]:
    """Return whether the tests pass on a tree, and the last lines they print; RuntimeError where none is run."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", "--tb=line", *tests]
    settings = os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(
            command, cwd=tree, env=settings, capture_output=True, text=True, timeout=longest, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"no end after {longest:g} s"
    tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
    if done.returncode not in (PASSED, FAILED):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{tail}")
    return done.returncode == PASSED, tail


def verdict(mutation: Mutation, sound: Path) -> str:
    """Return "killed" or "survived", with a fault in a copy of a sound tree."""
    with tempfile.TemporaryDirectory(prefix="dpsim-mutation-") as folder:
        tree = copy(sound, Path(folder) / "tree")
        apply(mutation, tree)
        return "survived" if run_tests(mutation.tests, tree)[0] else "killed"


def as_expected(mutation: Mutation, found: str) -> bool:
    """Return whether a fault was found, or need not be."""
    return found == ("survived" if mutation.equivalent else "killed")


def listed(chosen: Sequence[tuple[int, Mutation]]) -> str:
    """Return the mutations as a table."""
    rows = [f"{number:3} {m.file:34} {m.why}" for number, m in chosen]
    return "\n".join(rows)


def main() -> int:
    """Print the table; exit status 1 when a fault that should be found is not."""
    from tools.verify.mutation_list import MUTATIONS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="numbers of --list")
    parser.add_argument("--list", action="store_true", help="print the mutations and run nothing")
    arguments = parser.parse_args()
    chosen = [(n, m) for n, m in enumerate(MUTATIONS, 1) if not arguments.only or n in arguments.only]
    if arguments.list:
        print(listed(chosen))
        return 0
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="dpsim-sound-") as folder:
        sound = copy(paths.root(), Path(folder) / "tree")
        passed, tail = run_tests(sorted({test for _, m in chosen for test in m.tests}), sound, longest=None)
        if not passed:
            raise SystemExit(f"the tests must pass without a fault:\n{tail}")
        for number, mutation in chosen:
            begun = time.perf_counter()
            found = verdict(mutation, sound)
            wrong += not as_expected(mutation, found)
            mark = "" if as_expected(mutation, found) else "  <- NOT AS EXPECTED"
            seconds = time.perf_counter() - begun
            print(f"{number:3} {found:8} {seconds:5.0f} s  {mutation.file:34} {mutation.why}{mark}", flush=True)
    print(f"{len(chosen)} mutations, {wrong} not as expected")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
