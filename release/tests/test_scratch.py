"""DuckDB's overflow: a private folder for each connection, gone with it, and after a
kill with the next run.
"""

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from dpsim_release import count_transitions, scratch

SPILLING = """
import sys
from dpsim_release import scratch
scratch.MEMORY_LIMIT = "50MB"
connection, _ = scratch.connect()
connection.raw_sql("SET threads = 1")
label = "repeat('a readable label ', 9) || (i * 7919 % 400000)"
sql = f"SELECT {label} AS o, i::VARCHAR AS d FROM range(400000) t(i) ORDER BY o, d"
result = connection.raw_sql(sql).to_arrow_reader(10_000)
next(iter(result))
print("spilt", flush=True)
sys.stdin.readline()
print(sum(batch.num_rows for batch in result) + 10_000)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def started() -> subprocess.Popen[str]:
    """Return a count that has spilt, and goes on when a line is written to it."""
    pipe = subprocess.PIPE
    run = subprocess.Popen(
        [sys.executable, "-c", SPILLING], stdin=pipe, stdout=pipe, text=True
    )
    assert run.stdout is not None and run.stdout.readline() == "spilt\n"
    return run


def test_two_counts_at_once_and_one_is_killed(temporary: Path) -> None:
    """They shared file names in the temporary folder, and left labels behind that
    anybody could read.
    """
    other = started()
    killed = started()
    try:
        folders = list(temporary.iterdir())
        assert len(folders) == 2 and all(
            folder.name.startswith(scratch.PREFIX) for folder in folders
        )
        assert all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in folders)
        assert all(list(folder.iterdir()) for folder in folders)  # something was spilt
    finally:
        killed.kill()
        killed.communicate()
        counted, _ = other.communicate("go on\n")
    assert counted == "400000\n" and other.returncode == 0
    left = list(temporary.iterdir())
    assert len(left) == 1  # of the killed run, closed to others
    table = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})
    assert count_transitions(table, "a", "b").trips["trips"].sum() == 2
    assert left[0] not in list(temporary.iterdir())


def test_a_folder_goes_with_its_connection(temporary: Path) -> None:
    one = scratch.connect()
    other = scratch.connect()
    assert len(list(temporary.iterdir())) == 2
    del one
    assert len(list(temporary.iterdir())) == 1
    del other
    assert not list(temporary.iterdir())


def test_what_is_not_ours_stays(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    (temporary / f"{scratch.PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{scratch.PREFIX}file").write_text("x")
    held = temporary / f"{scratch.PREFIX}held"
    held.mkdir()
    lock = scratch.lock_folder(held)
    scratch.connect()
    assert (
        held.is_dir()
        and (elsewhere / "file").exists()
        and (temporary / f"{scratch.PREFIX}file").exists()
    )
    assert lock is not None
    os.close(lock)
    scratch.connect()
    assert not held.exists()


def test_where_nothing_can_be_locked(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand folders a second were made for ever on systems without flock."""
    (temporary / f"{scratch.PREFIX}other").mkdir()

    def unsupported(*_: object) -> None:
        raise OSError("not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    connection, folder = scratch.connect()
    assert {path.name for path in temporary.iterdir()} == {
        f"{scratch.PREFIX}other",
        folder.name,
    }
    del connection
    assert not folder.exists()


def test_a_temporary_folder_that_reads_like_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are read through links in it."""
    (tmp_path / "a[b]").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a[b]"))
    table = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for source in (
        table,
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        [tmp_path / "t.csv"],
    ):
        assert count_transitions(source, "a", "b").trips["trips"].tolist() == [1, 1]
