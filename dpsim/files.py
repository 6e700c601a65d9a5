"""Writes files whole or not at all, locks files, and computes their hashes."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


WHOLE_TEXT = r"^(-?[0-9]+)\.0+$"
"""A pattern for a whole number that is written as a float, such as the label 97.0."""

OWNER_ONLY = "OWNER_ONLY"
"""A part of the name of each file or folder that only the owner of the data may see."""

OWNER_NOTE = "for the owner of the data only: not private"
"""A note inside such a file."""


@contextmanager
def replacing(path: Path, *, owner_only: bool = False) -> Iterator[Path]:
    """Yield the path of a partial file, which replaces `path` at the end of the block.

    If the block raises an error, the partial file is removed and `path` stays as it
    was. Two processes may write at once, because each has its own partial file; the
    last one to finish replaces the other's file. With `owner_only`, the file has the
    mode 0600 from the beginning, so that nobody else can ever read it.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        if owner_only:
            # a killed run may have left it, or somebody may have put a link there,
            # which must not be followed
            partial.unlink(missing_ok=True)
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def need_locks(what: str, instead: str = "") -> None:
    """Raise ImportError on a system where `lock` does not work.

    The message begins with `what`, and `instead` may say what to use on such a system.
    """
    if importlib.util.find_spec("fcntl") is None:
        raise ImportError(
            f"{what} needs Linux, macOS or, on Windows, the Windows Subsystem for "
            "Linux (WSL), because files cannot be locked here"
            f"{instead and f': {instead}'}"
        )


def lock(path: Path, flags: int) -> int:
    """Lock a file or folder until the returned descriptor is closed.

    `flags` says how the file is opened; a link is never followed. Raises
    BlockingIOError if another process has locked the file or just removed it.
    """
    import fcntl  # here, because Windows lacks it

    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(descriptor).st_nlink:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_text(path: Path, text: str, *, owner_only: bool = False) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path, owner_only=owner_only) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any, *, owner_only: bool = False) -> None:
    """Write a value as indented json, whole or not at all."""
    write_text(path, json.dumps(value, indent=2) + "\n", owner_only=owner_only)


MOST_BYTES = 2**24  # the largest size of a JSON file that is read


def read_json(path: Path) -> Any:
    """Return the value in a JSON file.

    Raises ValueError if the file has more than `MOST_BYTES` bytes, or if an object
    repeats a key. (The json module would silently use only the last value of such a
    key.)
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"it must have at most {MOST_BYTES:,} bytes, got {size:,}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            names = ", ".join(name for name, _ in pairs)
            raise ValueError(f"a key occurs twice among {names}"[:200])
        return dict(pairs)

    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)


def number(value: float) -> str:
    """Return a number as it is written in every file, with six significant digits.

    A whole number below 2^53 is written with all its digits and without decimals.
    """
    rounded = float(value if float(value).is_integer() else f"{value:.6g}")
    if rounded.is_integer() and abs(rounded) < 2**53:
        return f"{rounded + 0.0:.0f}"  # adding 0.0 turns -0 into 0
    return f"{rounded:.6g}"


def write_csv(path: Path, table: pd.DataFrame, *, owner_only: bool = False) -> None:
    """Write a table as csv, with floats formatted by `number`, whole or not at all."""
    with replacing(path, owner_only=owner_only) as partial:
        table.to_csv(partial, index=False, float_format=number, lineterminator="\n")


def sha256(path: Path) -> str:
    """Return the SHA-256 hash of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
