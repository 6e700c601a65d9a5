"""`dpsim release`: the steps from a file of events to the files of a private release, and what is said on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from dpsim import checks, datasets
from dpsim.accounting.units import Unit
from dpsim.release import chain as release_chain
from dpsim.release import files


def run(
    *,
    file: str,
    origin: str,
    destination: str,
    epsilon: float,
    delta: float,
    output: str,
    categories: str | None = None,
    graph: str | None = None,
    outside: str = "error",
    where: str | None = None,
    totals: str = "released",
    unit: str | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
    mechanism: str = "posterior",
    eta: float | None = None,
    seed: int | None = None,
) -> Iterator[str]:
    """Yield lines of text while counting, releasing and writing; every refusal (ValueError) leaves nothing behind."""
    checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    checks.choice("mechanism", mechanism, ("posterior", "paper"))
    checks.choice("totals", totals, ("released", "public"))
    files.new_folder(output)
    if graph == "observed":
        raise ValueError(f"graph must be a file of allowed pairs, got 'observed': {release_chain.OBSERVED}")
    labels = None if categories is None else read_categories(categories)
    pairs = None if graph is None else read_graph(graph)
    if labels is None and pairs is not None:
        labels = release_chain.declared_graph(pairs).categories
    trips = datasets.count_transitions(
        file,
        origin,
        destination,
        where=where,
        categories=labels,
        outside=outside,
        unit=unit,
        events_per_row=events_per_row,
        rows=rows,
    )
    counted = trips.attrs["report"]
    yield (
        f"for you only: {counted['rows']:,} rows, {counted['missing']:,} without an end, {counted['outside']:,} "
        f"outside the categories, {counted['truncated']:,} truncated, {counted['kept']:,} counted"
    )
    if mechanism == "paper":
        if eta is None or labels is None or unit is not None or graph is not None or totals != "public":
            raise ValueError(
                "mechanism paper needs --eta, --categories and --totals public, and takes no unit or graph"
            )
        chain = release_chain.release_papers_chain(
            trips, epsilon=epsilon, delta=delta, eta=eta, categories=labels, seed=seed
        )
    else:
        if eta is not None:
            raise ValueError(f"eta belongs to --mechanism paper, got {eta:g} without it")
        limits = Unit(events_per_row or 1, rows or 1)
        chain = release_chain.release_chain(
            trips, epsilon=epsilon, delta=delta, categories=labels, graph=pairs, totals=totals, unit=limits,
            outside=outside, seed=seed,
        )  # fmt: skip
    files.write_release(chain, output, trips)
    yield (Path(output) / "report.md").read_text(encoding="utf-8").rstrip()
    yield f"written to {output}"


def read_categories(file: str) -> list[str]:
    """Return the labels of a text file, one a line; empty lines do not count (ValueError as `distinct_labels`)."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"categories: {file!r} is not a readable text file ({error})") from error
    return datasets.distinct_labels("categories", [line.strip() for line in lines if line.strip()])


def read_graph(file: str) -> pd.DataFrame:
    """Return the columns origin and destination of a csv or Parquet file, as words."""
    table = datasets.open_events(file, words=["origin", "destination"])
    missing = [column for column in ("origin", "destination") if column not in table.columns]
    if missing:
        raise ValueError(f"graph: {file!r} must have the columns origin and destination, it has {list(table.columns)}")
    return table.select(origin=table.origin.cast("string"), destination=table.destination.cast("string")).to_pandas()
