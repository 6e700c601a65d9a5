"""The budget file, which records what all releases of a data set have spent.

The owner of the data names the file. A budget file covers either single events or the
units in one column, and it contains nothing that is computed from the data, not even a
hash. An entry is written under a lock and synced to the disk before anything is
sampled, and the entry remains even if the release fails later.

Losses for the same kind of unit add up, even if the releases limited the number of
events per unit differently. Losses for different kinds of units cannot be added,
because a release that protects single events, or the values of another column,
guarantees nothing for the units in question. If the limit is fixed beforehand, the sums
of epsilon and delta are a valid guarantee even if each release is chosen after looking
at the earlier ones. Tighter composition theorems need not hold in that case.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dpsim import checks, files
from dpsim.private import round_up
from dpsim_release.unit import Unit

VERSION = 2
WAIT = 30.0  # seconds to wait for another release that holds the lock


class Limit(NamedTuple):
    """The largest total loss that all releases of a data set may spend.

    Epsilon is above 0, and delta is in [0, 1).
    """

    epsilon: float
    delta: float


def spend(
    file: str | os.PathLike[str],
    *,
    epsilon: float,
    delta: float,
    unit: Unit,
    limit: Limit | None,
    dry: bool = False,
) -> None:
    """Record a release before it is sampled.

    Parameters
    ----------
    file : str or path
        The budget file. If it does not exist, it is created for this unit and this
        limit, which must then be given. A symbolic link is followed, so its target is
        read, locked and replaced.
    epsilon, delta : float, the loss of the release
    unit : Unit, whose column must match the recorded one
    limit : Limit, which must match the recorded one, or None if the file exists
    dry : bool
        If true, nothing is recorded. The call only checks that the release would not be
        refused, for example before a long count.

    Raises
    ------
    ValueError
        If the release would exceed the limit, if the column or the limit differs from
        the recorded one, or if the file is not a budget file or has several names (hard
        links). In these cases, nothing is recorded.
    """
    loss = loss_limit("budget", epsilon, delta)
    if limit is not None:
        limit = loss_limit("limit", *_pair(limit))
    path = Path(os.path.realpath(path_text("budget", file, "a file")))
    try:
        with locked_account(path):
            book, mode = _read(path, unit, limit)
            most = Limit(*book["limit"])
            spent = [
                sum(_exact(release[name]) for release in book["releases"])
                for name in Limit._fields
            ]
            if any(
                before + _exact(more) > _exact(end)
                for before, more, end in zip(spent, loss, most)
            ):
                before_epsilon, before_delta = (
                    round_up(float(each), ".6g") for each in spent
                )
                raise ValueError(
                    f"budget: epsilon {epsilon:g}, delta {delta:g} would pass the "
                    f"limit of {most.epsilon:g}, {most.delta:g} in {file}: epsilon "
                    f"{before_epsilon}, delta {before_delta} are spent"
                )
            if not dry:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                book["releases"].append(
                    {**loss._asdict(), "events": unit.events, "time": now}
                )
                write_account(path, book, mode)
    except OSError as error:
        raise ValueError(
            f"budget: {os.fspath(file)!r} cannot be read and written ({error.strerror})"
        ) from error


def loss_limit(name: str, epsilon: Any, delta: Any) -> Limit:
    """Return epsilon and delta as a Limit; raise ValueError if either is out of
    range."""
    epsilon = checks.scalar(f"{name}: epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar(f"{name}: delta", delta, 0.0, 1.0, open_high=True)
    return Limit(epsilon, delta)


def path_text(name: str, value: Any, what: str) -> str:
    """Return a path as text; raise ValueError if no file or folder can have this
    name."""
    # a value that is not a path raises TypeError, and a lone surrogate the other error
    with suppress(TypeError, UnicodeEncodeError):
        encoded = os.fsencode(value)
        if encoded and b"\0" not in encoded:
            return os.fsdecode(encoded)
    raise ValueError(f"{name} must be the name of {what}, got {value!r:.80}")


def _pair(limit: Any) -> tuple[Any, Any]:
    """Return the two numbers of a limit that a user has given."""
    try:
        epsilon, delta = limit
    except (TypeError, ValueError):
        raise ValueError(
            f"limit must be two numbers, epsilon and delta, got {limit!r:.80}"
        ) from None
    return epsilon, delta


def _exact(number: float) -> Fraction:
    """Return the exact value of a float's shortest decimal form; ten times 0.1 is then
    1."""
    return Fraction(repr(number))


def _read(path: Path, unit: Unit, limit: Limit | None) -> tuple[dict[str, Any], int]:
    """Return the checked contents of a budget file, and the file's mode.

    If the file does not exist, the contents and mode that the new file will have are
    returned. Raises ValueError if the file is not a budget file, if its column or its
    limit differs from the given one, or if the file is new and no limit is given.
    """
    if not path.exists():
        if limit is None:
            raise ValueError(
                f"limit must be given, epsilon and delta, to make the budget {path}"
            )
        new = {
            "version": VERSION,
            "limit": list(limit),
            "column": unit.column,
            "releases": [],
        }
        return new, 0o600
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise ValueError(
            f"budget: {path} must be an ordinary file with one name, got "
            f"{status.st_nlink} names or another kind of file"
        )
    try:
        book = files.read_json(path)
        if not isinstance(book["version"], int) or book["version"] != VERSION:
            raise ValueError(
                f"its version is {book['version']!r}, not {VERSION}: start a new file "
                "with what is left of the limit"
            )
        most = loss_limit("limit", *book["limit"])
        releases = book["releases"]
        column = book["column"]
        if not isinstance(releases, list) or not isinstance(column, str | None):
            raise TypeError("releases must be a list and column a name or null")
        for release in releases:
            loss_limit("releases", release["epsilon"], release["delta"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"budget: {path} is not a budget file ({type(error).__name__}: {error})"
        ) from error
    if limit is not None and limit != most:
        raise ValueError(
            f"limit must be {path}'s, {most.epsilon:g},{most.delta:g}, "
            f"got {limit.epsilon:g},{limit.delta:g}"
        )
    if column != unit.column:
        names = [
            f"the column {c!r}" if c else "single events" for c in (column, unit.column)
        ]
        raise ValueError(
            f"budget: {path} is for {names[0]}, got a release for {names[1]}: their "
            "losses do not add up"
        )
    return book, stat.S_IMODE(status.st_mode)


@contextmanager
def locked_account(path: Path) -> Iterator[None]:
    """Hold the lock of a file beside the budget file, and remove this file at the end.

    The lock belongs to an open file description, so other threads of this process have
    to wait as well as other processes.
    """
    files.need_locks("keeping a budget")
    beside = path.with_name(f".{path.name}.lock")
    until = time.monotonic() + WAIT
    while True:
        try:
            descriptor = files.lock(beside, os.O_RDWR | os.O_CREAT)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise ValueError(
                    f"budget: another release has locked {path} for more than {WAIT:g} "
                    "s"
                ) from None
            time.sleep(0.02)
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(descriptor)


def write_account(path: Path, book: dict[str, Any], mode: int) -> None:
    """Replace the budget file atomically.

    When this function returns, the new file is on the disk and has the given mode.
    """
    with files.replacing(path) as partial:
        # a killed run may have left it, and a link must not be followed
        partial.unlink(missing_ok=True)
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
