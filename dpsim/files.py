"""Files that appear whole or not at all, locks, and fingerprints of files."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; what was written takes the place of `path` when the block ends well.

    When the block raises, `path` is as before and nothing is left beside it. Two processes may write at once: each has
    a file of its own, and the last one stays.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def lock(path: Path, flags: int) -> int:
    """Return a descriptor that holds the lock of a file or folder until it is closed or its process ends.

    flags: how to open it; a link is never followed. BlockingIOError where another one holds it, or has just removed it.
    """
    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(descriptor).st_nlink:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented json, whole or not at all."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def number(value: float) -> str:
    """Return a number as it is written everywhere: six significant digits, a whole one whole."""
    kept = float(value if float(value).is_integer() else f"{value:.6g}")
    return f"{kept + 0.0:.0f}" if kept.is_integer() and abs(kept) < 2**53 else f"{kept:.6g}"


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table as csv, each number as `number` does, whole or not at all."""
    with replacing(path) as partial:
        table.to_csv(partial, index=False, float_format=number, lineterminator="\n")


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
