"""A release in one call, and `dpsim release`, `dpsim release --check` and `dpsim plan`: the steps, and what is said."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from dpsim.release import files, owner, planning
from dpsim.release.budget import Limit, checked, spend
from dpsim.release.chain import PrivateChain, losses, release_chain
from dpsim.release.counts import Counts
from dpsim.release.support import PrivatePairs, Support, declared
from dpsim.release.table import count_trajectories, count_transitions
from dpsim.release.unit import EVENT, Unit


def privatize(
    source: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    output: str | os.PathLike[str] | None = None,
    budget: str | os.PathLike[str] | None = None,
    limit: Limit | None = None,
    rng: np.random.Generator | int | None = None,
    tell: Callable[[str], None] | None = None,
    **table: Any,
) -> PrivateChain:
    """Return a private chain of a table of events, of counts or of visits: what `dpsim release` does, in one call.

    Parameters
    ----------
    source, table : the table, what its columns are and what is declared, as in `counted` and `support.declared`
    epsilon, delta, budget, limit, rng : as in `release_chain`
    output : new folder of the release; what is for you alone goes beside it (output_OWNER_ONLY). None: not written
    tell : is called with each line that is for you alone: what was counted, what was left out and why

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"from": ["home", "shop"] * 500, "to": ["shop", "home"] * 500})
    >>> chain = privatize(table, origin="from", destination="to", categories=["home", "shop"], epsilon=1, rng=1)
    >>> chain.stationary().round(2).tolist()
    [0.5, 0.5]
    """
    support = declared(*(table.pop(name, None) for name in ("categories", "graph", "pairs")))
    unit = _unit(*(table.get(name) for name in ("trajectory", "unit", "events")))
    noise, _, spent = losses(epsilon, delta, unit, support)
    if limit is not None and budget is None:
        raise ValueError("limit belongs to a budget, the file that holds it (--budget FILE), got none")
    if budget is not None and rng is None:  # what would be refused in the end is refused before a row is read
        spend(budget, epsilon=noise.epsilon, delta=spent, unit=unit, limit=limit, dry=True)
    with nullcontext() if output is None else files.prepared(output, budget) as place:
        counts = counted(source, support, **table) if tell is None else _counted_aloud(source, support, table, tell)
        made = release_chain(counts, epsilon=epsilon, delta=delta, support=support, budget=budget, limit=limit, rng=rng)
        if place is not None:
            place.write(made, counts)
    return made


def _unit(trajectory: str | None, unit: str | None, events: int | None) -> Unit:
    """Return whom a table's options protect."""
    column = unit if trajectory is None else trajectory.split(",")[0].strip()
    if (column is None) != (events is None):
        raise ValueError("events must go with a unit (or trajectory), and a unit with events: how many of it are kept")
    return EVENT if events is None else Unit(events, column)


def counted(
    source: Any,
    support: Support | PrivatePairs,
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
    protected = _unit(trajectory, unit, events)
    if trajectory is None:
        if origin is None or destination is None:
            raise ValueError("origin and destination must be given, or for visits trajectory (USER,TIME,PLACE)")
        if not (time_format is max_gap is None):
            raise ValueError("time_format and max_gap belong to trajectory, got no trajectory")
        return count_transitions(source, origin, destination, count=count, categories=support.labels, unit=protected)
    visits = [name.strip() for name in trajectory.split(",")]
    if len(visits) != 3 or not all(visits):
        raise ValueError(f"trajectory must be three columns, USER,TIME,PLACE, got {trajectory!r}")
    if not (origin is destination is count is unit is None):
        raise ValueError("trajectory protects its first column: no origin, destination, count or unit beside it")
    times: dict[str, Any] = {"time_format": time_format, "max_gap": max_gap}
    return count_trajectories(source, protected, *visits[1:], **times, categories=support.labels)


# --- the command line -------------------------------------------------------------------------------------------------


def run(
    source: Any,
    tell: Callable[[str], None],
    *,
    check: bool = False,
    epsilon: float | None = None,
    output: str | None = None,
    limit: str | None = None,
    seed: int | None = None,
    delta: float = 0.0,
    budget: str | None = None,
    **table: Any,
) -> list[str]:
    """Release and write, or only `check`; return the lines that may be published, and tell the owner the others.

    table: the options of `counted` and of `support.declared`. Every refusal (ValueError) leaves nothing behind.
    """
    if check:
        support = declared(*(table.pop(name, None) for name in ("categories", "graph", "pairs")))
        _counted_aloud(source, support, table, tell)
        tell("nothing was drawn, spent or written")
        return []
    if epsilon is None or output is None:
        raise ValueError(f"{'epsilon' if epsilon is None else 'output'} must be given, unless with --check")
    most = None if limit is None else checked("limit", *_numbers("limit", limit, float, 2))
    table |= {"epsilon": epsilon, "delta": delta, "budget": budget, "limit": most}
    chain = privatize(source, output=output, rng=seed, tell=tell, **table)
    folder = f"{os.path.abspath(output)}_OWNER_ONLY"
    tell(f"for you only: written to {output}; how far it is from your table: {folder}/{files.OWNER}")
    lines = [chain.text, f"written to {output}" + (": all of it may be published" if seed is None else "")]
    if budget is None and seed is None:
        lines.append("no budget file was named: keep account yourself, losses of releases from the same data add up")
    return lines


def _counted_aloud(source: Any, support: Any, table: dict[str, Any], tell: Callable[[str], None]) -> Counts:
    """Return the counts, once their owner was told of them."""
    told = ["for you only:"]
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_: told.append(f"warning: {message}")
        counts = counted(source, support, **table)
    for line in told + owner.told(counts, support):
        tell(line)
    return counts


def plan_lines(*, epsilon: str, limits: str | None = None, **numbers: Any) -> Iterator[str]:
    """Yield the table of `planning.plan`, and what its columns mean."""
    epsilons, kept = _numbers("epsilon", epsilon, float), [] if limits is None else _numbers("limits", limits, int)
    table = planning.plan(epsilons=epsilons, limits=kept, **numbers)
    yield table.to_string(index=False, float_format=lambda x: f"{x:.4g}")
    yield planning.COLUMNS


def _numbers(name: str, text: str, kind: Any, number: int | None = None) -> list[Any]:
    """Return the numbers of a comma-separated option."""
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != (number or len(found) or 1):
        raise ValueError(f"{name} must be {number or 'some'} numbers with commas between them, got {text!r:.80}")
    return found
