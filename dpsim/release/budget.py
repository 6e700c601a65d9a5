"""A budget file for one data set: what has been spent on its events, or on the units of one column.

The file belongs to the owner of the data, who names it; it holds no hash or number of the data. An entry is written and
synced to the disk, under a lock, before anything is drawn, and stays when the release fails later.

Losses of one unit add up, whatever limit its events had in each release. Nothing else does: a release that protects the
values of another column, or single events, says nothing about these. Sums of epsilon and delta behind a limit that is
fixed beforehand hold even where each release is chosen by what the ones before it showed; tighter rules need not.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dpsim import checks, files
from dpsim.release.unit import Unit

VERSION = 2
WAIT = 30.0  # seconds for another release that holds the lock
LARGEST = 2**24  # bytes of a budget file


class Limit(NamedTuple):
    """What all releases of a data set may spend together: epsilon above 0, delta in [0, 1)."""

    epsilon: float
    delta: float


def spend(
    file: str | os.PathLike[str], *, epsilon: float, delta: float, unit: Unit, limit: Limit | None, dry: bool = False
) -> None:
    """Record a release before it is drawn.

    file: made when it does not exist, with the limit (needed then; else it must be the file's) and for this unit;
    afterwards its own hold. A link is followed, so that its target is read, locked and replaced. dry: only
    refuse what would be refused, before a long count for instance.

    ValueError, and nothing recorded, when the limit would be passed, for another column or limit than the file's, and
    for a file that is no budget or has several names (hard links).
    """
    loss = checked("budget", epsilon, delta)
    path = Path(os.path.realpath(file))
    try:
        with _locked(path):
            book, mode = _read(path, unit, None if limit is None else checked("limit", *limit))
            most = Limit(*book["limit"])
            spent = [sum(_exact(release[name]) for release in book["releases"]) for name in Limit._fields]
            if any(before + _exact(more) > _exact(end) for before, more, end in zip(spent, loss, most)):
                raise ValueError(
                    f"budget: epsilon {epsilon:g}, delta {delta:g} would pass the limit of {most.epsilon:g}, "
                    f"{most.delta:g} in {file}: epsilon {float(spent[0]):g}, delta {float(spent[1]):g} are spent"
                )
            if not dry:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                book["releases"].append({**loss._asdict(), "events": unit.events, "time": now})
                _write(path, book, mode)
    except OSError as error:
        raise ValueError(f"budget: {os.fspath(file)!r} cannot be read and written ({error.strerror})") from error


def checked(name: str, epsilon: Any, delta: Any) -> Limit:
    """Return a pair of losses once both are in their ranges."""
    epsilon = checks.scalar(f"{name}: epsilon", epsilon, 0.0, open_low=True)
    return Limit(epsilon, checks.scalar(f"{name}: delta", delta, 0.0, 1.0, open_high=True))


def parsed(path: Path) -> Any:
    """Return what a JSON file says; ValueError where it says something twice, of which a reader would take the last."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"a key occurs twice among {', '.join(name for name, _ in pairs)}"[:200])
        return dict(pairs)

    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)


def _exact(number: float) -> Fraction:
    """Return a number as it is written: ten times 0.1 is 1."""
    return Fraction(repr(number))


def _read(path: Path, unit: Unit, limit: Limit | None) -> tuple[dict[str, Any], int]:
    """Return the checked book of spent budget and the file's mode, or a new one at this limit (ValueError)."""
    if not path.exists():
        if limit is None:
            raise ValueError(f"limit must be given, epsilon and delta, to make the budget {path}")
        return {"version": VERSION, "limit": list(limit), "column": unit.column, "releases": []}, 0o600
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > LARGEST:
        raise ValueError(f"budget: {path} must be a plain file with one name, got {found.st_nlink} names or another")
    try:
        book = parsed(path)
        if not isinstance(book["version"], int) or book["version"] != VERSION:
            raise ValueError(f"its version is {book['version']!r}, not {VERSION}: start another file with what is left")
        most, releases, column = checked("limit", *book["limit"]), book["releases"], book["column"]
        if not isinstance(releases, list) or not isinstance(column, str | None):
            raise TypeError("releases must be a list and column a name or null")
        for release in releases:
            checked("releases", release["epsilon"], release["delta"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"budget: {path} is no budget file ({type(error).__name__}: {error})") from error
    if limit is not None and limit != most:
        raise ValueError(f"limit must be {path}'s, {most.epsilon:g},{most.delta:g}, got {limit[0]:g},{limit[1]:g}")
    if column != unit.column:
        names = [f"the column {c!r}" if c else "single events" for c in (column, unit.column)]
        raise ValueError(f"budget: {path} is kept for {names[0]}, got a release for {names[1]}: they do not add up")
    return book, stat.S_IMODE(found.st_mode)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock beside the file, by open file description: against threads as well as processes. No file is left."""
    beside = path.with_name(f".{path.name}.lock")
    until = time.monotonic() + WAIT
    while True:
        try:
            descriptor = files.lock(beside, os.O_RDWR | os.O_CREAT)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise ValueError(f"budget: {path} is held by another release for more than {WAIT:g} s") from None
            time.sleep(0.02)
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(descriptor)


def _write(path: Path, book: dict[str, Any], mode: int) -> None:
    """Write whole or not at all, on the disk when this returns; the file keeps its mode."""
    with files.replacing(path) as partial:
        partial.unlink(missing_ok=True)  # one that a killed run left, or a link, which is never followed
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(descriptor, mode)
            stream.write(json.dumps(book, indent=2) + "\n")
            stream.flush()
            os.fsync(descriptor)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
