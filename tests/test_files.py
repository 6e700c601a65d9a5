"""Files are written whole or not at all."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsim import files


def test_what_cannot_be_written_whole_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    files.write_text(path, "old\n")
    with pytest.raises(RuntimeError, match="half"), files.replacing(path) as partial:
        partial.write_text("ne")
        raise RuntimeError("half way")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_at_once_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.md"
    with files.replacing(path) as mine:
        mine.write_text("mine")
        monkeypatch.setattr("os.getpid", lambda: 1)
        files.write_text(path, "theirs")
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_the_lock_of_a_file_that_was_just_removed_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever held it removed it; the next one makes a new file, and two would hold a
    lock at once."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "lock"
    plain = fcntl.flock

    def removed_meanwhile(descriptor: int, operation: int) -> None:
        path.unlink()
        plain(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(BlockingIOError):
        files.lock(path, os.O_RDWR | os.O_CREAT)
    assert len(os.listdir("/dev/fd")) == before, "and its descriptor is closed"
    monkeypatch.undo()
    os.close(files.lock(path, os.O_RDWR | os.O_CREAT))


def test_the_forms_of_text_json_and_csv(tmp_path: Path) -> None:
    files.write_json(tmp_path / "a.json", {"b": [1, 2.5]})
    assert json.loads((tmp_path / "a.json").read_bytes()) == {"b": [1, 2.5]}
    files.write_csv(
        tmp_path / "a.csv", pd.DataFrame({"x": [1 / 3, 2931688.0], "n": [10**12, 2]})
    )
    assert (
        tmp_path / "a.csv"
    ).read_bytes() == b"x,n\n0.333333,1000000000000\n2931688,2\n"


NUMBERS = [
    (2 / 3, "0.666667"),
    (-1e-9 / 3, "-3.33333e-10"),
    (1e300, "1e+300"),
    (-0.0, "0"),
    (np.nan, "nan"),
]
NUMBERS += [
    (2931688.0, "2931688"),
    (2931688.4, "2931690"),
    (np.float64(4.0000001), "4"),
]  # whole numbers are whole


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_a_number_has_six_digits_and_what_is_read_is_written_again(
    value: float, text: str
) -> None:
    assert files.number(value) == text
    assert files.number(float(text)) == text


def test_sha256_is_that_of_the_standard(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.sha256(tmp_path / "abc") == digest


MODES = {
    "json": lambda path: files.write_json(path, {"a": 1}, owner_only=True),
    "text": lambda path: files.write_text(path, "a", owner_only=True),
    "csv": lambda path: files.write_csv(
        path, pd.DataFrame({"a": [1]}), owner_only=True
    ),
}


@pytest.mark.parametrize("kind", MODES)
def test_what_only_the_owner_may_see_nobody_else_can_read(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"truth.{kind}"
    path.write_text("for everybody")
    path.chmod(0o644)
    MODES[kind](path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("left", ["a file", "a link"])
def test_a_partial_file_that_is_already_there_is_neither_followed_nor_used(
    tmp_path: Path, left: str
) -> None:
    path = tmp_path / "truth.json"
    partial = tmp_path / f".truth.json.{os.getpid()}.partial"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    if left == "a file":
        partial.write_text("left by a killed run")
        partial.chmod(0o644)
    else:
        partial.symlink_to(elsewhere)
    files.write_text(path, "mine", owner_only=True)
    assert path.read_text() == "mine" and not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert elsewhere.read_text() == "theirs"


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        files.lock(tmp_path / "lock", os.O_CREAT | os.O_WRONLY)
    assert not (tmp_path / "elsewhere").exists()
