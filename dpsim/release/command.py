"""`dpsim release` and `dpsim plan`: the steps from a file of events to the files of a release, and what is said."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpsim import checks, datasets
from dpsim.accounting.units import EVENT, GAUSSIAN, LAPLACE, Unit
from dpsim.release import budget as budgets
from dpsim.release import chain as release_chain
from dpsim.release import files
from dpsim.release import planning as plans
from dpsim.release import support as supports

MECHANISMS = {"laplace": LAPLACE, "gaussian": GAUSSIAN}


def run(
    *,
    file: str,
    epsilon: float,
    delta: float,
    output: str,
    origin: str | None = None,
    destination: str | None = None,
    count: str | None = None,
    trajectory: str | None = None,
    max_gap: str | None = None,
    where: str | None = None,
    categories: str | None = None,
    graph: str | None = None,
    pairs: str | None = None,
    totals: str | None = None,
    unit: str | None = None,
    events: int | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
    mechanism: str | None = None,
    budget: str | None = None,
    limit: str | None = None,
    seed: int | None = None,
) -> Iterator[str]:
    """Yield lines of text while counting, releasing and writing; every refusal (ValueError) leaves nothing behind."""
    checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    files.new_folder(output)
    most = None if limit is None else budgets.Limit.of(limit)
    if most is not None and budget is None:
        raise ValueError("limit belongs to a budget: give --budget FILE too")
    support = public_support(categories, graph, pairs, delta)
    labels = support.labels
    limits = {"events": events, "events_per_row": events_per_row, "rows": rows}
    protected = unit_of_limits(unit if trajectory is None else "unit", **limits)
    trips = counted(
        file, origin, destination, count=count, trajectory=trajectory, max_gap=max_gap, where=where, unit=unit,
        categories=labels, **limits,
    )  # fmt: skip
    yield owners_line(trips)
    yield from (f"warning: {line}" for line in plans.warnings(epsilon, delta))
    chain = release_chain.release_chain(
        trips,
        epsilon=epsilon,
        delta=delta,
        support=support,
        unit=protected,
        mechanism=_mechanism(mechanism),
        totals=None if totals is None else read_totals(totals),
        budget=budget,
        limit=most,
        rng=seed,
    )
    files.write_release(chain, output, trips)
    yield chain.text
    if budget is None and not chain.statement["simulation"]:
        yield "no budget file was named: keep account yourself, the losses of releases from the same data add up"
    yield f"written to {output}"


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
    protected = [EVENT] if limits is None else [unit_from(word) for word in limits.split(",")]
    table = plans.plan(
        states, events, epsilons=epsilons, delta=delta, units=protected, pairs=pairs, mechanism=_mechanism(mechanism)
    )
    yield _shown(table)
    for line in plans.warnings(max(epsilons), delta, units):
        yield f"warning: {line}"
    if data is not None:
        support = public_support(columns["categories"], columns["graph"], None, delta)
        if not isinstance(support, supports.Support):
            raise ValueError("data need --categories or --graph here, got neither")
        names = {name: columns[name] for name in ("origin", "destination", "count", "where")}
        trips = counted(data, **names, categories=support.labels)
        yield f"\n{plans.NOT_PRIVATE}"
        yield _shown(
            plans.measured(trips, support, epsilons=epsilons, delta=delta, mechanism=_mechanism(mechanism), rng=0)
        )


def counted(
    file: str,
    origin: str | None,
    destination: str | None,
    *,
    trajectory: str | None = None,
    max_gap: str | None = None,
    unit: str | None = None,
    count: str | None = None,
    where: str | None = None,
    categories: Sequence[Any] | None = None,
    **limits: int | None,
) -> pd.DataFrame:
    """Return the counts of a file of events, or of trajectories "user,time,place"."""
    given: dict[str, Any] = {
        name: value for name, value in {**limits, "where": where, "categories": categories}.items() if value
    }
    if trajectory is not None:
        names = [name.strip() for name in trajectory.split(",")]
        if len(names) != 3 or origin or destination or count or unit:
            raise ValueError(
                "trajectory must be three columns, unit,time,place, in the stead of origin, destination, count and "
                f"unit; got {trajectory!r}"
            )
        gap = {"max_gap": max_gap} if max_gap else {}
        return datasets.count_trajectories(file, *names, **gap, **given)
    if origin is None or destination is None or max_gap is not None:
        raise ValueError("origin and destination must be given, or a trajectory (which alone has a max_gap)")
    given |= {name: value for name, value in (("count", count), ("unit", unit)) if value}
    return datasets.count_transitions(file, origin, destination, **given)


def owners_line(trips: pd.DataFrame) -> str:
    """Return what became of the rows, for the owner of the data alone."""
    numbers = ", ".join(f"{value:,} {name}" for name, value in trips.attrs["report"].items())
    return f"for you only: {numbers}"


def unit_of_limits(
    unit: str | None, *, events: int | None = None, events_per_row: int | None = None, rows: int | None = None
) -> Unit:
    """Return the unit that the options describe: an event, or somebody with limits (ValueError)."""
    if unit is None:
        if events is not None or events_per_row is not None or rows is not None:
            raise ValueError("unit must name a column when events, events_per_row or rows is given, got None")
        return EVENT
    if events is not None:
        if events_per_row is not None or rows is not None:
            raise ValueError("events must stand alone, without events_per_row and rows")
        return Unit(events=events)
    if events_per_row is None and rows is None:
        raise ValueError("unit needs its limits: events in all, or events_per_row and rows")
    chosen = Unit(events_per_row=events_per_row or 1, rows=rows or 1)
    return Unit(events=1) if chosen.is_event else chosen


def unit_from(word: str) -> Unit:
    """Return the unit of "2x5" (events in a row x rows), of "10" (events in all) or of "event"."""
    if word.strip() == "event":
        return EVENT
    parts = word.strip().split("x")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise ValueError(f"limits must be event, 10 (events in all) or 2x5 (events in a row x rows), got {word!r}")
    return Unit(events=int(parts[0])) if len(parts) == 1 else Unit(int(parts[0]), int(parts[1]))


def public_support(
    categories: str | None, graph: str | None, pairs: str | None, delta: float
) -> supports.Support | supports.PrivatePairs:
    """Return what is declared: all pairs of the categories, a graph, or pairs to be chosen privately."""
    if pairs is not None:
        checks.choice("pairs", pairs, ("all", "private"))
    labels = None if categories is None else read_categories(categories)
    if graph is not None:
        if pairs is not None:
            raise ValueError("pairs must not be given with a graph, which declares them")
        return supports.declared_graph(read_graph(graph), labels)
    if labels is not None and pairs != "private":
        return supports.all_pairs(labels)
    if pairs == "all":
        raise ValueError("pairs all needs declared categories")
    if delta == 0.0:
        raise ValueError("delta must be in (0, 1) where pairs are chosen privately, got 0: or declare the categories")
    return supports.private_pairs(labels)


def read_categories(file: str) -> list[str]:
    """Return the labels of a text file, one a line; empty lines do not count (ValueError as `distinct_labels`)."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"categories: {file!r} is not a readable text file ({error})") from error
    return datasets.distinct_labels("categories", [line.strip() for line in lines if line.strip()])


def read_graph(file: str) -> pd.DataFrame:
    """Return the columns origin and destination of a csv or Parquet file, as words."""
    table = _words(file, ("origin", "destination"), "graph")
    return table[["origin", "destination"]].astype(str)


def read_totals(file: str) -> dict[str, int]:
    """Return the public row totals of a csv or Parquet file with the columns label and total."""
    table = _words(file, ("label", "total"), "totals")
    twice = table["label"][table["label"].duplicated()]
    if len(twice):
        raise ValueError(f"totals: {file!r} must have each label once, got {twice.iloc[0]!r} twice")
    totals = pd.to_numeric(table["total"], errors="coerce")
    return dict(zip(table["label"].astype(str), checks.integers("totals", totals.to_numpy(), 0).tolist()))


def _words(file: str, columns: tuple[str, str], what: str) -> pd.DataFrame:
    if not os.path.isfile(file):
        raise ValueError(f"{what}: there is no file {file!r}")
    try:
        table = (
            pd.read_parquet(file) if file.endswith(".parquet") else pd.read_csv(file, dtype=str, encoding="utf-8-sig")
        )
    except (ValueError, OSError) as error:
        raise ValueError(f"{what}: {file!r} is not a readable table ({error})") from error
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(
            f"{what}: {file!r} must have the columns {columns[0]} and {columns[1]}, it has {list(table.columns)}"
        )
    return table


def _mechanism(word: str | None) -> str | None:
    return None if word is None else MECHANISMS[checks.choice("mechanism", word, tuple(MECHANISMS))]


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be numbers with commas between them, got {text!r}") from None


def _shown(table: pd.DataFrame) -> str:
    return table.to_string(index=False, float_format=lambda x: f"{x:.4g}")
