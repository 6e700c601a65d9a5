"""The lines that `dpsim release` and `dpsim plan` print."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dpsim.files import need_locks
from dpsim.private import SIMULATION
from dpsim.released import REPORT
from dpsim_release import expected_error, sources, statement
from dpsim_release.budget import loss_limit
from dpsim_release.labels import visible
from dpsim_release.options import Options
from dpsim_release.private_chain import WITHOUT_LOCKS, WRITING, counts_aloud, privatize
from dpsim_release.release_folder import OWNER


def release_lines(
    source: Sequence[str],
    tell: Callable[[str], None],
    *,
    check: bool = False,
    epsilon: float | None = None,
    output: str | None = None,
    limit: str | None = None,
    seed: int | None = None,
    delta: float = 0.0,
    budget: str | None = None,
    **options: Any,
) -> list[str]:
    """Write a release, and return the lines that may be published.

    They are the guarantee, the unit, the place of the release and a warning if no
    budget file is named. The whole statement is in the report.
    `options` are the arguments of `Options`. If `check` is true, the events are
    counted, but nothing is released. Each line that only the owner of the data may read
    is passed to `tell`. If the release is refused, ValueError is raised and no files
    remain. On a system where files cannot be locked, ImportError is raised unless
    `check` is true.
    """
    try:
        need_locks(WRITING, WITHOUT_LOCKS)
    except ImportError as error:
        if not check:
            raise
        tell(f"only --check works on this system: {error}")
    if check:
        counts_aloud(source, Options(**options), tell)
        files = sources.table_files(source)
        tell(f"{len(files):>15,} files counted:")
        for file in files:
            tell(f"{'':>16}{visible(file)}")
        tell("nothing was sampled, spent or written")
        return []
    if epsilon is None:
        raise ValueError("epsilon must be given, unless with --check")
    if output is None:
        raise ValueError("output must be given, unless with --check")
    most = None
    if limit is not None:
        most = loss_limit("limit", *_numbers("limit", limit, float, 2))
    chain = privatize(
        source,
        epsilon=epsilon,
        delta=delta,
        output=output,
        budget=budget,
        limit=most,
        rng=seed,
        tell=tell,
        **options,
    )
    folder = f"{os.path.abspath(output)}_OWNER_ONLY"
    tell(
        f"for you only: the release is in {output}, and its error against your table "
        f"is in {folder}/{OWNER}"
    )
    tell(statement.trust(chain))
    lines = statement.guarantee(chain)
    report = f"the whole statement is in {visible(os.path.join(output, REPORT))}"
    if seed is not None:
        return [SIMULATION, *lines, f"written to {visible(output)}; {report}"]
    lines.append(f"written to {visible(output)}: all of it may be published; {report}")
    if budget is None:
        lines.append(
            "no budget file was named, so keep account yourself: the epsilons and the "
            "deltas of all releases of the same data add up"
        )
    return lines


def plan_lines(
    *, epsilon: str, limits: str | None = None, **numbers: Any
) -> Iterator[str]:
    """Yield the table that `expected_error.plan` returns, and then the meaning of its
    columns."""
    epsilons = _numbers("epsilon", epsilon, float)
    most = [] if limits is None else _numbers("limits", limits, int)
    table = expected_error.plan(epsilons=epsilons, limits=most, **numbers)
    yield table.to_string(index=False, float_format=lambda x: f"{x:.4g}")
    yield expected_error.COLUMNS


def _numbers(
    name: str, text: str, convert: Any, number: int | None = None
) -> list[Any]:
    """Return the numbers in an option's comma-separated list."""
    try:
        numbers = [convert(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or number not in (None, len(numbers)):
        raise ValueError(
            f"{name} must be {number or 'some'} numbers with commas between them, "
            f"got {text!r:.80}"
        )
    return numbers
