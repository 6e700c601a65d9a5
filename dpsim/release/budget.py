"""A budget file for one data set: what has been spent, and a limit that no release passes.

The file belongs to the owner of the data, who names it; it holds no hash or number of the data. An entry is written and
synced to the disk, under a lock, before anything is drawn, and stays when the release fails later.

Losses of the same unit add up: sums of epsilon and delta (basic composition), or, where it is smaller, the composition
of the releases' dominating pairs by dp-accounting, where a release is taken for any (epsilon, delta)-private mechanism.
Different units do not add up, but where a rule is proven an entry counts for another unit:
  a unit with fewer events    is one of a unit that may have more: c and r both at most the entry's, or M events in all
                              at most the entry's M, or at most the entry's c and r (M events lie in at most M rows).
An entry of another adjacency, or whose unit does not cover the one asked for, refuses the release.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dp_accounting.pld import privacy_loss_distribution
from filelock import FileLock, Timeout

from dpsim import checks
from dpsim.accounting.units import Unit

VERSION = 1
WAIT = 30.0  # seconds for another release that holds the lock
_ROUNDING = 1.0 + 1e-12  # of sums that are compared with the limit
_GRID = 1e-4  # of the composed losses, rounded up


class Limit(NamedTuple):
    """What all releases of a data set may spend together.

    Attributes
    ----------
    epsilon : float
        Above 0.
    delta : float
        In [0, 1).
    """

    epsilon: float
    delta: float

    @classmethod
    def of(cls, text: str) -> Limit:
        """Return the limit of "E,D": epsilon above 0, delta in [0, 1) (ValueError)."""
        parts = text.split(",")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if len(numbers) != 2:
            raise ValueError(f"limit must be epsilon and delta, as in 2,1e-6, got {text!r}")
        return cls(
            checks.scalar("limit's epsilon", numbers[0], 0.0, open_low=True),
            checks.scalar("limit's delta", numbers[1], 0.0, 1.0, open_high=True),
        )


def spend(
    file: str | os.PathLike[str],
    *,
    epsilon: float,
    delta: float,
    unit: Unit,
    adjacency: str,
    limit: Limit | None = None,
) -> tuple[float, float]:
    """Record a release before it is drawn, and return what the data set has spent with it for this unit.

    Parameters
    ----------
    file : path
        Made when it does not exist, with the limit that is given; afterwards its own limit holds.
    epsilon, delta : float
        Of the release that is to be drawn.
    unit : accounting.Unit
    adjacency : "add-remove" or "replace"
    limit : Limit, optional
        Needed when the file does not exist; else it must be the file's.

    Raises
    ------
    ValueError
        When the limit would be passed (nothing is recorded then), for entries of a unit or adjacency that cannot be
        counted for this one, a file that is no budget, and another limit than the file's.
    """
    path = Path(os.path.abspath(file))
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    entry = {
        "epsilon": epsilon,
        "delta": delta,
        "unit": as_dict(unit),
        "adjacency": adjacency,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    try:
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=WAIT, mode=0o600):
            book = _read(path, limit)
            total = spent([*book["releases"], entry], unit, adjacency)
            most = Limit(*book["limit"])
            if not _within(total, most):
                before = spent(book["releases"], unit, adjacency)
                raise ValueError(
                    f"budget: epsilon {epsilon:g}, delta {delta:g} would pass the limit of {most.epsilon:g}, "
                    f"{most.delta:g} in {file}: epsilon {before[0]:g}, delta {before[1]:g} are spent"
                )
            book["releases"].append(entry)
            _write(path, book)
    except Timeout as error:
        raise ValueError(f"budget: {file} is held by another release for more than {WAIT:g} s") from error
    return total


def spent(releases: Sequence[Mapping[str, Any]], unit: Unit, adjacency: str) -> tuple[float, float]:
    """Return epsilon and delta of all entries together, for a unit that every one of them covers (ValueError)."""
    for release in releases:
        other = Unit(**release["unit"])
        if release["adjacency"] != adjacency or not covers(other, unit):
            raise ValueError(
                f"budget: a release for {other.words} ({release['adjacency']}) cannot be counted for {unit.words} "
                f"({adjacency}); no proven rule turns one into the other: use the same unit"
            )
    epsilons, deltas = [r["epsilon"] for r in releases], [r["delta"] for r in releases]
    return composed(epsilons, deltas)


def covers(larger: Unit, smaller: Unit) -> bool:
    """Return whether everyone who is a `smaller` unit is a `larger` one too."""
    if not isinstance(larger, Unit) or not isinstance(smaller, Unit):
        raise TypeError(f"larger and smaller must be Units, got {larger!r:.80} and {smaller!r:.80}")
    c, r = smaller.most
    if larger.events is not None:
        return c * r <= larger.events
    if smaller.events is not None:
        return smaller.events <= min(larger.most)
    return c <= larger.most[0] and r <= larger.most[1]


def composed(epsilons: Sequence[float], deltas: Sequence[float]) -> tuple[float, float]:
    """Return epsilon and delta of releases one after another: the sums, or a smaller epsilon at the same delta.

    The smaller one: each (epsilon, delta) by its worst pair, convolved by dp-accounting with losses rounded up; it is
    taken at the sum of the deltas where that is above 0, and sums of epsilon are large enough for it to help.
    """
    epsilons, deltas = checks.real("epsilons", epsilons, 0.0).tolist(), checks.real("deltas", deltas, 0.0, 1.0).tolist()
    if len(epsilons) != len(deltas):
        raise ValueError(f"deltas must be as many as epsilons, {len(epsilons)}, got {len(deltas)}")
    epsilon, delta = math.fsum(epsilons), min(1.0, math.fsum(deltas))
    if len(epsilons) < 2 or delta == 0.0 or epsilon > 50.0:
        return epsilon, delta
    total = None
    for e, d in zip(epsilons, deltas):
        pld = privacy_loss_distribution.from_privacy_parameters(_parameters(e, d), value_discretization_interval=_GRID)
        total = pld if total is None else total.compose(pld)
    tighter = float(total.get_epsilon_for_delta(delta))  # type: ignore[union-attr]
    return (min(epsilon, tighter) if math.isfinite(tighter) else epsilon), delta


def as_dict(unit: Unit) -> dict[str, int]:
    """Return the unit's own arguments."""
    if unit.events is not None:
        return {"events": unit.events}
    return {"events_per_row": unit.events_per_row, "rows": unit.rows}


def _parameters(epsilon: float, delta: float):  # type: ignore[no-untyped-def]
    from dp_accounting.pld import common

    return common.DifferentialPrivacyParameters(epsilon, delta)


def _within(total: tuple[float, float], limit: Limit) -> bool:
    return total[0] <= limit.epsilon * _ROUNDING and total[1] <= limit.delta * _ROUNDING


def _read(path: Path, limit: Limit | None) -> dict[str, Any]:
    """Return the checked book of spent budget, or a new one at this limit; ValueError for any other file."""
    if not path.exists():
        if limit is None:
            raise ValueError(f"budget: {path} does not exist: give --limit epsilon,delta to make it")
        return {"version": VERSION, "limit": list(limit), "releases": []}
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
        found = Limit(*book["limit"])
        for release in book["releases"]:
            Unit(**release["unit"])
            checks.scalar("epsilon", release["epsilon"], 0.0, open_low=True)
            checks.scalar("delta", release["delta"], 0.0, 1.0, open_high=True)
            checks.choice("adjacency", release["adjacency"], ("add-remove", "replace"))
        if book["version"] != VERSION:
            raise ValueError(f"version {book['version']}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"budget: {path} is no budget file ({type(error).__name__}: {error})") from error
    if limit is not None and found != limit:
        raise ValueError(
            f"limit must be that of {path.name}, {found.epsilon:g},{found.delta:g}, got "
            f"{limit.epsilon:g},{limit.delta:g}"
        )
    return book


def _write(path: Path, book: Mapping[str, Any]) -> None:
    """Write whole or not at all, on the disk when this returns."""
    partial = path.with_name(f".{path.name}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(book, indent=2) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(partial, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
