"""`dpsim release` and `dpsim plan`: the steps from a file of events to the files of a release, and what is said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from dpsim import checks
from dpsim.accounting.units import EVENT, GAUSSIAN, LAPLACE
from dpsim.release import budget as budgets
from dpsim.release import chain as release_chain
from dpsim.release import files, inputs, owner
from dpsim.release import planning as plans
from dpsim.release import support as supports

MECHANISMS = {"laplace": LAPLACE, "gaussian": GAUSSIAN}


class Line(NamedTuple):
    """A line of text."""

    text: str
    private: bool = False
    """Whether it is for the owner of the data alone: it goes to standard error, the rest may be published."""


def run(
    *,
    file: str,
    epsilon: float,
    delta: float,
    output: str,
    owner_folder: str | None = None,
    categories: str | None = None,
    graph: str | None = None,
    pairs: str | None = None,
    totals: str | None = None,
    mechanism: str | None = None,
    budget: str | None = None,
    limit: str | None = None,
    seed: int | None = None,
    **table: Any,
) -> Iterator[Line]:
    """Yield lines of text while counting, releasing and writing; every refusal (ValueError) leaves nothing behind.

    table: the options of `inputs.counted`.
    """
    checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    private = files.owner_folder(files.new_folder(output), owner_folder)
    most = None if limit is None else budgets.Limit.of(limit)
    if most is not None and budget is None:
        raise ValueError("--limit belongs to a budget: give --budget FILE too")
    support = inputs.public_support(categories, graph, pairs, delta, _columns(table))
    limits = {name: table.get(name) for name in ("events", "events_per_row", "rows")}
    protected = inputs.unit_of_limits(table.get("unit"), table.get("trajectory"), **limits)
    public_totals = None if totals is None else inputs.read_totals(totals)
    trips, said = inputs.counted(file, **table, categories=support.labels)
    for line in [*said, *plans.warnings(epsilon, delta)]:
        yield Line(f"warning: {line}")
    yield Line(f"for you only: {owner.counted(trips, support)}", private=True)
    if owner.mostly_lost(trips):
        yield Line("for you only: most rows were not counted; check the columns and the categories", private=True)
    chain = release_chain.release_chain(
        trips,
        epsilon=epsilon,
        delta=delta,
        support=support,
        unit=protected,
        mechanism=_mechanism(mechanism),
        totals=public_totals,
        budget=budget,
        limit=most,
        rng=seed,
    )
    files.write_release(chain, output, trips, private)
    yield Line(chain.text)
    if budget is None and not chain.statement["simulation"]:
        yield Line("no budget file was named: keep account yourself, the losses of releases from the same data add up")
    yield Line(f"written to {output}: all of it may be published" if seed is None else f"written to {output}")
    yield Line(f"for you only, how far it is from your table: {private / files.OWNER}", private=True)


def _columns(table: Mapping[str, Any]) -> list[str]:
    """Return the columns whose labels are the states."""
    named = [table.get("origin"), table.get("destination"), (table.get("trajectory") or "").rpartition(",")[2]]
    return [name.strip() for name in named if name]


def plan_lines(
    *,
    states: int,
    events: int,
    epsilon: str,
    delta: float,
    pairs: int | None = None,
    limits: str | None = None,
    units: int | None = None,
    mechanism: str | None = None,
    data: str | None = None,
    **columns: Any,
) -> Iterator[str]:
    """Yield the table of `plan.plan` and its warnings; with data, their owner's errors too, marked as not private."""
    epsilons = _numbers("epsilon", epsilon)
    protected = [EVENT] if limits is None else [inputs.unit_from(word) for word in limits.split(",")]
    table = plans.plan(
        states, events, epsilons=epsilons, delta=delta, units=protected, pairs=pairs, mechanism=_mechanism(mechanism)
    )
    yield _shown(table)
    yield plans.COLUMNS
    most = max(math.prod(unit.most) for unit in protected)
    for line in plans.warnings(max(epsilons), delta, units, -(-events // most)):
        yield f"warning: {line}" + (" (--units)" if units is None and "units" in line else "")
    if data is not None:
        support = inputs.public_support(columns.pop("categories"), columns.pop("graph"), None, delta, _columns(columns))
        if not isinstance(support, supports.Support):
            raise ValueError("--data need --categories or --graph here, got neither")
        trips, _ = inputs.counted(data, **columns, categories=support.labels)
        yield f"\n{plans.NOT_PRIVATE}"
        yield _shown(
            plans.measured(
                trips, support, epsilons=epsilons, delta=delta, units=protected, mechanism=_mechanism(mechanism), rng=0
            )
        )


def _mechanism(word: str | None) -> str | None:
    return None if word is None else MECHANISMS[checks.choice("mechanism", word, tuple(MECHANISMS))]


def _numbers(name: str, text: str) -> list[float]:
    """Return the numbers of a comma-separated option."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be numbers with commas between them, got {text!r}") from None


def _shown(table: pd.DataFrame) -> str:
    return table.to_string(index=False, float_format=lambda x: f"{x:.4g}")
