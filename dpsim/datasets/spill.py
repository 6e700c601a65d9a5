"""An embedded DuckDB whose overflow lies in a private folder that goes away with it.

A connection spills into a folder of its own (mode 0700) inside the temporary folder, so that two counts at once share
no file. The folder is locked while its connection lives; it is removed when the connection goes, and what a killed run
left behind is removed by the next run, which can lock it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from dpsim import streams

MEMORY_LIMIT = "1GiB"  # of the embedded DuckDB; it spills beyond
PREFIX = "dpsim-spill-"


def connect() -> Any:
    """Return an embedded DuckDB connection of Ibis.

    Returns
    -------
    ibis.BaseBackend
        The connection. Its folder is removed when it is collected, or when the process ends.

    Notes
    -----
    Its memory is at most `MEMORY_LIMIT`, its threads are `streams.threads` and it spills into a private folder of its
    own.

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.connect().name
    'duckdb'
    """
    import ibis  # slow to import, and most commands count nothing

    folder, lock = _locked_folder()
    connection = ibis.duckdb.connect(
        memory_limit=MEMORY_LIMIT,
        threads=streams.threads(),
        temp_directory=str(folder),
        preserve_insertion_order=False,
    )
    connection.raw_sql("SET enable_progress_bar = false")  # it would write to standard output
    weakref.finalize(connection, _remove, folder, lock)
    return connection


def _locked_folder() -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock; remove the folders of runs that were killed."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{PREFIX}*"):
        _remove_unlocked(left)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        lock = _lock(folder)
        if lock is not None and folder.exists():  # else another run has taken it for one that was left behind
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return a descriptor that holds the folder's lock, None when another process holds it or it is not ours."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove_unlocked(folder: Path) -> None:
    lock = _lock(folder)
    if lock is not None:
        _remove(folder, lock)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)
