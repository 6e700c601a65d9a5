"""The embedded DuckDB, and a private folder for data that do not fit into memory."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import tempfile
import weakref
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import lazy_loader

from dpsim import files, streams

ibis = lazy_loader.load("ibis")  # slow to import, and missing from a plain install

MEMORY_LIMIT = "1GiB"  # beyond this the embedded DuckDB spills to its folder
PREFIX = "dpsim-spill-"
PACKAGES = (
    "dpsim-compendium",
    "dpsim-release",
    "numpy",
    "scipy",
    "pandas",
    "opendp",
    "ibis-framework",
    "duckdb",
)


@functools.cache  # slow to look up
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages used to make a release.

    Raises ImportError if one of the packages is not installed.
    """
    try:
        return {"python": platform.python_version()} | {
            name: metadata.version(name) for name in PACKAGES
        }
    except metadata.PackageNotFoundError as error:
        raise ImportError(
            f"releases need {error.name}, which is not installed: run "
            "`pip install -e . -e ./release` in the clone"
        ) from None


def connect() -> tuple[Any, Path]:
    """Return an Ibis connection to an embedded DuckDB, and the folder for its overflow.

    The folder has mode 0700. It is removed when the connection is garbage-collected or
    the process ends. If a run is killed, the next run removes the folder. A new folder
    is locked before it gets the name that other runs look for, so that no run removes a
    folder that is in use.
    """
    place = Path(tempfile.gettempdir()).resolve()
    for left in place.glob(f"{PREFIX}*"):
        lock = lock_folder(left)
        if lock is not None:
            _remove(left, lock)
    new = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
    lock = lock_folder(new)
    folder = new.rename(place / new.name.removeprefix("."))
    import ibis  # a plain import, because the keys of runs are made from imports

    connection = ibis.duckdb.connect(
        memory_limit=MEMORY_LIMIT,
        threads=streams.threads(),
        temp_directory=str(folder),
        preserve_insertion_order=False,
    )
    # the progress bar would be printed to standard output
    connection.raw_sql("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
    weakref.finalize(connection, _remove, folder, lock)
    return connection, folder


def lock_folder(folder: Path) -> int | None:
    """Return a descriptor that holds the lock of a folder.

    If the folder is locked, belongs to another user or cannot be locked, return None.
    """
    with suppress(OSError, ImportError):
        files.need_locks("sweeping what a killed run left")
        if folder.stat().st_uid == os.getuid():
            return files.lock(folder, os.O_RDONLY | os.O_DIRECTORY)
    return None


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
