"""Files that are written whole or not at all, locks, and fingerprints of files."""

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
"""The pattern of text that is a whole number written as a float; for example, the label 97.0 means 97."""


OWNER_ONLY = "OWNER_ONLY"
"""The mark in the name of a file or folder that shows the data and is only for their owner."""

OWNER_NOTE = "for the owner of the data only: not private"
"""The mark inside such a file."""


@contextmanager
def replacing(path: Path, *, owner_only: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to. When the block ends without an error, the new file replaces `path`.

    When the block raises, `path` stays as it was and nothing is left beside it. Two processes may write at once,
    because each has its own partial file, and the file of the last one to finish remains. With `owner_only`, the file
    has the mode 0600 from the beginning, so that nobody else can ever read it.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        if owner_only:
            partial.unlink(
                missing_ok=True
            )  # left by a killed run, or a link, which must not be followed
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def need_locks(what: str, instead: str = "") -> None:
    """Raise ImportError on a system where `lock` does not work. `what` begins the message, and `instead` says what
    works there."""
    if importlib.util.find_spec("fcntl") is None:
        raise ImportError(
            f"{what} needs Linux, macOS or, on Windows, the Windows Subsystem for Linux (WSL), "
            f"because files cannot be locked here{instead and f': {instead}'}"
        )


def lock(path: Path, flags: int) -> int:
    """Return a descriptor that holds the lock of a file or folder until it is closed or its process ends.

    `flags` says how to open the file; a link is never followed. Raises BlockingIOError if another process holds the
    lock or has just removed the file.
    """
    import fcntl  # only here, because Windows lacks it

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
    """Write a text file in UTF-8, either whole or not at all."""
    with replacing(path, owner_only=owner_only) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any, *, owner_only: bool = False) -> None:
    """Write a value as indented json, either whole or not at all."""
    write_text(path, json.dumps(value, indent=2) + "\n", owner_only=owner_only)


def number(value: float) -> str:
    """Return a number as it is written in every file: with six significant digits, and without decimals if it is a
    whole number."""
    kept = float(value if float(value).is_integer() else f"{value:.6g}")
    return (
        f"{kept + 0.0:.0f}"
        if kept.is_integer() and abs(kept) < 2**53
        else f"{kept:.6g}"
    )


def write_csv(path: Path, table: pd.DataFrame, *, owner_only: bool = False) -> None:
    """Write a table as csv, with each number formatted by `number`; the file is written either whole or not at all."""
    with replacing(path, owner_only=owner_only) as partial:
        table.to_csv(partial, index=False, float_format=number, lineterminator="\n")


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
