"""What the command line is given: a table of events, trips or visits, and what is declared about its states.

Messages speak of the options of the command line, not of Python's arguments.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from dpsim import datasets
from dpsim.accounting.units import EVENT, Unit
from dpsim.datasets import events as counting
from dpsim.datasets import sources

ARGUMENTS = re.compile(
    r"^(categories|count|delta|epsilon|events|events_per_row|graph|max_gap|outside|output|owner|rows|seed|unit|where)\b"
    r"|\b(events_per_row|max_gap)\b"
)
"""Names of arguments as messages of the library use them: at their start, or wherever only an argument is called so."""


class Input(NamedTuple):
    """What a release is made of."""

    trips: pd.DataFrame
    """The counts, with the record of their limits and the owner's report."""
    labels: list[Any] | None
    """The declared states."""
    graph: pd.DataFrame | None
    """The declared pairs."""
    unit: Unit
    """Whose presence is protected."""
    said: list[str]
    """Warnings, which depend on the names of the columns alone."""


def as_options(message: str) -> str:
    """Return a message of the library in the words of the command line.

    Examples
    --------
    >>> as_options("events_per_row must be an integer of at least 1, got 0")
    '--events-per-row must be an integer of at least 1, got 0'
    """
    return ARGUMENTS.sub(lambda found: "--" + found.group().replace("_", "-"), message)


def read(
    *,
    file: str,
    origin: str | None = None,
    destination: str | None = None,
    count: str | None = None,
    trajectory: str | None = None,
    max_gap: str | None = None,
    where: str | None = None,
    categories: str | None = None,
    graph: str | None = None,
    outside: str = "drop",
    unit: str | None = None,
    events: int | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
) -> Input:
    """Return what the options of the command line say; every refusal is a ValueError in their words.

    Parameters
    ----------
    file : str
        A table as `datasets.open_events` takes it.
    origin, destination, count, where, outside, unit, events, events_per_row, rows
        As `datasets.count_transitions` takes them.
    trajectory : str
        In place of origin and destination: "USER,TIME,PLACE", the columns of a table of visits; max_gap as
        `datasets.count_trajectories` takes it.
    categories, graph : str
        Files of what is declared: states, one a line; pairs, with columns origin and destination.
    """
    if (origin is None or destination is None) == (trajectory is None) or (trajectory and (origin or destination)):
        raise ValueError("give --origin and --destination, or --trajectory USER,TIME,PLACE for a table of visits")
    if trajectory is None and max_gap is not None:
        raise ValueError("--max-gap goes with --trajectory")
    columns = [name for name in (origin, destination) if name] + (trajectory or "").split(",")[2:]
    labels = None if categories is None else read_categories(categories, columns)
    pairs = None if graph is None else read_graph(graph)
    if labels is None and pairs is not None:
        labels = datasets.in_order(pd.unique(pd.concat([pairs["origin"], pairs["destination"]])))
    limits = {"events": events, "events_per_row": events_per_row, "rows": rows}
    settings: dict[str, Any] = {"where": where, "categories": labels, "outside": outside, **limits}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", message="each row counts as one event")
        try:
            if trajectory is None:
                settings |= {"unit": unit, "count": count}
                trips = datasets.count_transitions(file, str(origin), str(destination), **settings)
            else:
                names = _visits(trajectory, unit, count, limits)
                trips = datasets.count_trajectories(file, *names, max_gap=max_gap, **settings)
        except ValueError as error:
            raise ValueError(as_options(str(error))) from error
    protected = _unit(unit if trajectory is None else "visits", **limits)
    return Input(trips, labels, pairs, protected, [f"{found.message} (--count)" for found in caught])


def _visits(trajectory: str, unit: str | None, count: str | None, limits: dict[str, int | None]) -> list[str]:
    names = [name.strip() for name in trajectory.split(",")]
    if len(names) != 3 or not all(names):
        raise ValueError(f"--trajectory must be three columns, USER,TIME,PLACE, got {trajectory!r}")
    if unit not in (None, names[0]) or count is not None:
        raise ValueError("--trajectory protects its first column: no other --unit, and no --count")
    if not any(limits.values()):
        raise ValueError(
            "--trajectory needs --events M, or --events-per-row and --rows: what is protected is the person or car as "
            "a whole, because taking out one visit changes three transitions"
        )
    return names


def _unit(column: str | None, events: int | None, events_per_row: int | None, rows: int | None) -> Unit:
    if column is None:
        return EVENT
    return Unit(events=events) if events else Unit(events_per_row or 1, rows or 1)


def read_categories(file: str, columns: list[str] | tuple[str, ...] = ()) -> list[Any]:
    """Return the labels of a text file, one a line, as integers when all of them are; empty lines do not count.

    columns: names that a header would have. Raises ValueError for a file that is no UTF-8 text, for a header, and like
    `datasets.distinct_labels`.
    """
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"--categories: {file!r} {sources.UTF8}") from error
    except OSError as error:
        raise ValueError(f"--categories: {file!r} cannot be read ({error.strerror})") from error
    words = [line.strip() for line in lines if line.strip()]
    numbers = [isinstance(datasets.as_declared([word])[0], int) for word in words]
    named = bool(words) and words[0].lower() in {column.lower() for column in columns}
    if named or (len(words) > 2 and not numbers[0] and all(numbers[1:])):
        raise ValueError(f"--categories: the first line of {file!r}, {words[0]!r}, looks like a header: remove it")
    return datasets.distinct_labels("--categories", datasets.as_declared(words))


def read_graph(file: str) -> pd.DataFrame:
    """Return the columns origin and destination of a table of pairs; integers when all labels are."""
    try:
        table = sources.open_events(file, {"origin": "origin", "destination": "destination"})
        pairs = sources.fetched(table, file)
    except ValueError as error:
        raise ValueError(f"--graph: {error}") from error
    if pairs.isna().any(axis=None):
        raise ValueError(f"--graph: {file!r} must have an origin and a destination in each row")
    ends = pairs["origin"].tolist() + pairs["destination"].tolist()
    labels = counting.as_declared(ends)
    return pd.DataFrame({"origin": labels[: len(pairs)], "destination": labels[len(pairs) :]})
