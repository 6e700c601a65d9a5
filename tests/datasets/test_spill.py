"""What a count spills: into a private folder of its own, which goes away with it, or with the next run after a kill."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from dpsim import datasets
from dpsim.datasets import spill

SPILLING = """
import sys, time
import pandas as pd
from dpsim import datasets
from dpsim.datasets import spill
spill.MEMORY_LIMIT = "50MB"
connection = datasets.connect()
connection.raw_sql("SET threads = 1")
label = "repeat('a readable label ', 9) || (i * 7919 % 400000)"
sql = f"SELECT {label} AS o, i::VARCHAR AS d FROM range(400000) t(i) ORDER BY o, d"
result = connection.raw_sql(sql).to_arrow_reader(10_000)
next(iter(result))
print("spilt", flush=True)
time.sleep(float(sys.argv[1]))
print(sum(batch.num_rows for batch in result) + 10_000)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def started(seconds: float) -> subprocess.Popen[str]:
    run = subprocess.Popen([sys.executable, "-c", SPILLING, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "spilt\n"
    return run


def test_two_counts_at_once_and_one_is_killed(temporary: Path) -> None:
    """They shared file names in the temporary folder, and left labels behind that anybody could read."""
    other, killed = started(0.0), started(600.0)
    folders = list(temporary.iterdir())
    assert any(folder.name.startswith(spill.PREFIX) for folder in folders)
    assert all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in folders)
    assert any(list(folder.iterdir()) for folder in folders)  # something was spilt
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert other.communicate()[0] == "400000\n" and other.returncode == 0
    left = list(temporary.iterdir())
    assert len(left) == 1  # of the killed run, closed to others
    table = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})
    assert datasets.count_transitions(table, "a", "b")["trips"].sum() == 2
    assert left[0] not in list(temporary.iterdir())


def test_a_folder_goes_with_its_connection(temporary: Path) -> None:
    one, other = datasets.connect(), datasets.connect()
    assert len(list(temporary.iterdir())) == 2
    del one
    assert len(list(temporary.iterdir())) == 1
    del other
    assert not list(temporary.iterdir())


def test_what_is_not_ours_stays(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    (temporary / f"{spill.PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{spill.PREFIX}file").write_text("x")
    held = temporary / f"{spill.PREFIX}held"
    held.mkdir()
    lock = spill._lock(held)
    datasets.connect()
    assert held.is_dir() and (elsewhere / "file").exists() and (temporary / f"{spill.PREFIX}file").exists()
    assert lock is not None
    os.close(lock)
    datasets.connect()
    assert not held.exists()
