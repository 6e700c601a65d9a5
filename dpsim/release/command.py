"""A release in one call, and `dpsim release`, `dpsim release --check` and `dpsim plan`: the steps, and what is said."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from dpsim import checks
from dpsim.release import chain as chains
from dpsim.release import files, owner
from dpsim.release import planning as plans
from dpsim.release import support as supports
from dpsim.release.budget import Limit, checked
from dpsim.release.counts import Counts
from dpsim.release.noise import laplace_noise
from dpsim.release.table import count_trajectories, count_transitions
from dpsim.release.unit import EVENT, Unit


class Line(NamedTuple):
    """A line of text."""

    text: str
    private: bool = False
    """Whether it is for the owner of the data alone: it goes to standard error, the rest may be published."""


def privatize(
    source: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    output: str | os.PathLike[str] | None = None,
    budget: str | os.PathLike[str] | None = None,
    limit: Limit | None = None,
    rng: np.random.Generator | int | None = None,
    **table: Any,
) -> chains.PrivateChain:
    """Return a private chain of a table of events, of counts or of visits: what `dpsim release` does, in one call.

    Parameters
    ----------
    source, table : the table, what its columns are and what is declared, as in `counted` and `support.declared`
    epsilon, delta, budget, limit, rng : as in `release_chain`
    output : new folder of the release; what is for you alone goes beside it (output_OWNER_ONLY). None: not written

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"from": ["home", "shop"] * 500, "to": ["shop", "home"] * 500})
    >>> chain = privatize(table, origin="from", destination="to", categories=["home", "shop"], epsilon=1, rng=1)
    >>> chain.stationary().round(2).tolist()
    [0.5, 0.5]
    """
    support = _asked(epsilon, delta, table)
    with nullcontext() if output is None else files.prepared(output, budget) as place:
        counts = counted(source, support, **table)
        chain = chains.release_chain(
            counts, epsilon=epsilon, delta=delta, support=support, budget=budget, limit=limit, rng=rng
        )
        if place is not None:
            place.write(chain, counts)
    return chain


def _asked(epsilon: float, delta: float, table: dict[str, Any]) -> supports.Support | supports.PrivatePairs:
    """Return what a table's options declare, taken out of them, once the losses fit it: before a row is read."""
    laplace_noise(epsilon)
    support = supports.declared(*(table.pop(name, None) for name in ("categories", "graph", "pairs")))
    checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    if isinstance(support, supports.PrivatePairs) and delta == 0.0:
        raise ValueError(
            "delta must be above 0 (1e-6, say), got 0: without categories or a graph, or with pairs private, the pairs "
            "are chosen privately"
        )
    return support


def counted(
    source: Any,
    support: supports.Support | supports.PrivatePairs,
    *,
    origin: str | None = None,
    destination: str | None = None,
    count: str | None = None,
    trajectory: str | None = None,
    time_format: str | None = None,
    max_gap: str | None = None,
    unit: str | None = None,
    events: int | None = None,
) -> Counts:
    """Return the counts of a table within what is declared (`support`, from `support.declared`).

    Parameters
    ----------
    source : a file of events (csv, tsv, also .gz, or Parquet), several, or a folder of such; a DataFrame; an Ibis table
    origin, destination, count : str, columns of a table with a row for each event, or for `count` events
    trajectory : str, in their place "USER,TIME,PLACE", columns of a table with a row for each visit; USER is the unit
    time_format, max_gap : with a trajectory, as in `table.count_trajectories`
    unit : str, the column of the person, car or session to protect as a whole; None: single events are protected
    events : int, with a unit or a trajectory: how many events of a unit are counted, at most
    """
    if (origin is None or destination is None) == (trajectory is None) or (trajectory and (origin or destination)):
        raise ValueError("origin and destination must be given, or for a table of visits trajectory (USER,TIME,PLACE)")
    visits = None if trajectory is None else [name.strip() for name in trajectory.split(",")]
    if visits is None and not (time_format is max_gap is None):
        raise ValueError("time_format and max_gap belong to trajectory, got no trajectory")
    if visits is not None and (len(visits) != 3 or not all(visits)):
        raise ValueError(f"trajectory must be three columns, USER,TIME,PLACE, got {trajectory!r}")
    if visits is not None and (count is not None or unit not in (None, visits[0])):
        raise ValueError("trajectory protects its first column: neither count nor another unit can be given")
    column = unit if visits is None else visits[0]
    if (column is None) != (events is None):
        said = "a column to protect (unit, or trajectory)" if events else "the number of events kept of each unit"
        raise ValueError(f"events must go with a unit: {said} is missing")
    protected = EVENT if events is None else Unit(events, column)
    if visits is None:
        return count_transitions(
            source, str(origin), str(destination), count=count, categories=support.labels, unit=protected
        )
    return count_trajectories(
        source, protected, *visits[1:], time_format=time_format, max_gap=max_gap, categories=support.labels
    )


# --- the command line -------------------------------------------------------------------------------------------------


def run(
    source: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    output: str | None = None,
    check: bool = False,
    budget: str | None = None,
    limit: str | None = None,
    seed: int | None = None,
    **table: Any,
) -> Iterator[Line]:
    """Yield lines of text while counting, releasing and writing; every refusal (ValueError) leaves nothing behind.

    table: the options of `counted` and of `support.declared`. check: only count, for the owner's eyes.
    """
    if check:
        support = supports.declared(*(table.pop(name) for name in ("categories", "graph", "pairs")))
        yield Line("for you only (nothing is drawn, spent or written):", private=True)
        yield from _counted_aloud(source, support, table)[1]
        return
    if epsilon is None or output is None:
        raise ValueError(f"{'epsilon' if epsilon is None else 'output'} must be given, unless with --check")
    most = None if limit is None else checked("limit", *_numbers("limit", limit, float, 2))
    if most is not None and budget is None:
        raise ValueError("limit belongs to a budget: give --budget FILE too")
    support = _asked(epsilon, delta, table)
    with files.prepared(output, budget) as place:
        counts, said = _counted_aloud(source, support, table)
        yield Line("for you only:", private=True)
        yield from said
        chain = chains.release_chain(
            counts, epsilon=epsilon, delta=delta, support=support, budget=budget, limit=most, rng=seed
        )
        place.write(chain, counts)
    far = place.owner / files.OWNER  # told first: what follows may go to a pipe that breaks or a device that is full
    yield Line(f"for you only: written to {output}; how far it is from your table: {far}", private=True)
    yield Line(chain.text)
    if budget is None and seed is None:
        yield Line("no budget file was named: keep account yourself, the losses of releases from the same data add up")
    yield Line(f"written to {output}" + (": all of it may be published" if seed is None else ""))


def _counted_aloud(source: Any, support: Any, table: dict[str, Any]) -> tuple[Counts, list[Line]]:
    """Return the counts, and what their owner is told of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", message="each row counts as one event")
        counts = counted(source, support, **table)
    said = [f"warning: {found.message} (--count)" for found in caught]
    return counts, [Line(line, private=True) for line in [*said, *owner.told(counts, support)]]


def plan_lines(
    *,
    states: int,
    events: int,
    epsilon: str,
    delta: float,
    persons: int | None = None,
    limits: str | None = None,
    pairs: int | None = None,
) -> Iterator[str]:
    """Yield the table of `planning.plan`, and what its columns mean."""
    epsilons, kept = _numbers("epsilon", epsilon, float), [] if limits is None else _numbers("limits", limits, int)
    table = plans.plan(states, events, epsilons=epsilons, persons=persons, limits=kept, delta=delta, pairs=pairs)
    yield table.to_string(index=False, float_format=lambda x: f"{x:.4g}")
    yield plans.COLUMNS


def _numbers(name: str, text: str, kind: Any, number: int | None = None) -> list[Any]:
    """Return the numbers of a comma-separated option."""
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != (number or len(found) or 1):
        raise ValueError(f"{name} must be {number or 'some'} numbers with commas between them, got {text!r:.80}")
    return found
