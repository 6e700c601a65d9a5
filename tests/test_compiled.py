"""Compiled functions run where no cache can be written, and in spite of a damaged
one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpsim import compiled

PACKAGE = Path(compiled.__file__).parent
TOY = """
from dpsim.compiled import guvectorize, njit, vectorize

@njit()
def double(x):
    return 2 * x

@vectorize(["float64(float64, float64)"])
def plus_double(x, y):
    return x + double(y)

@guvectorize("void(float64[:], float64[:])", "(n)->()")
def total(x, out):
    out[0] = x.sum()
"""
"""A module with a function of each kind."""

PROGRAM = """
from dpsim import toy
print(toy.double(2), toy.plus_double([1, 2], 3), toy.total([1.0, 2.0]))
"""


def copied(folder: Path) -> Path:
    """Make a package `dpsim` of the module with numba's decorators and the one above,
    which are compiled sooner than the mathematics."""
    package = folder / "dpsim"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copy(compiled.__file__, package)
    (package / "toy.py").write_text(TOY)
    return folder


def test_only_one_module_has_numbas_decorators() -> None:
    sources = {path.name: path.read_text() for path in PACKAGE.rglob("*.py")}
    assert {name for name, text in sources.items() if "import numba" in text} == {
        "compiled.py"
    }


def printed(folder: Path, home: str) -> str:
    """Return what the program prints with the package of this folder."""
    changed = {"PYTHONPATH": str(folder), "HOME": home, "XDG_CACHE_HOME": home}
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=folder,
        env=kept | changed,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A package with its caches, and what the program prints with it."""
    folder = copied(tmp_path_factory.mktemp("usual"))
    return folder, printed(folder, str(folder))


def test_nothing_stops_where_no_cache_can_be_written(tmp_path, usual):
    """A file in the place of the folder of caches, which stops root, too."""
    folder = copied(tmp_path)
    (folder / "dpsim" / "__pycache__").touch()
    assert printed(folder, "/dev/null") == usual[1]
    assert not list(folder.rglob("*.nbi"))


def test_a_damaged_cache_is_thrown_away_and_made_again(usual):
    folder, expected = usual
    indices, codes = sorted(folder.rglob("*.nbi")), sorted(folder.rglob("*.nbc"))
    damaged = {}
    for number, file in enumerate(indices[::2] + codes):  # some by both
        content = file.read_bytes()
        file.write_bytes((b"", content[:-9], b"\x80\x04xyz")[number % 3])
        damaged[file] = file.read_bytes()
    assert len(damaged) > 2, "of each decorator"
    assert printed(folder, str(folder)) == expected
    assert all(file.read_bytes() != content for file, content in damaged.items())
    whole = {file: file.stat().st_mtime_ns for file in damaged}
    assert printed(folder, str(folder)) == expected
    assert whole == {file: file.stat().st_mtime_ns for file in damaged}


def test_a_change_of_one_file_makes_the_caches_of_all_stale(tmp_path, monkeypatch):
    """numba compares a function's own file only, but compiles others into it."""
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    inner, outer = tmp_path / "inner.py", tmp_path / "outer.py"
    inner.write_text("from dpsim.compiled import njit\n")
    outer.write_text("from dpsim.compiled import njit\nfrom inner import f\n")
    (tmp_path / "plain.py").write_text("import math\n")

    def stamp(path: Path) -> object:
        compiled.sources.cache_clear()
        locator = SimpleNamespace(_py_file=str(path))
        return compiled.Locator.get_source_stamp(locator)

    before = stamp(outer)
    (tmp_path / "plain.py").write_text("import cmath\n")
    assert stamp(outer) == before
    inner.write_text("from dpsim.compiled import njit\n# changed\n")
    assert stamp(outer) != before
    elsewhere = stamp(Path(__file__))
    assert elsewhere != before and not isinstance(elsewhere, tuple)
    compiled.sources.cache_clear()
