"""What the command line is given: a table of events, trips or visits, and what is declared about its states.

Messages speak of the options of the command line, not of Python's arguments.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsim import datasets
from dpsim.accounting.units import EVENT, Unit
from dpsim.datasets import events as counting
from dpsim.datasets import sources
from dpsim.release import support as supports

ENDS = ("origin", "destination")
ARGUMENTS = re.compile(
    r"^(categories|count|delta|epsilon|events|events_per_row|graph|max_gap|outside|output|owner|rows|seed|unit|where)\b"
    r"|\b(events_per_row|max_gap)\b"
)
"""Names of arguments as messages of the library use them: at their start, or wherever only an argument is called so."""

HEADERS = {"category", "categories", "label", "labels", "state", "states"}
"""Words that head a list of labels."""


def as_options(message: str) -> str:
    """Return a message of the library in the words of the command line.

    Examples
    --------
    >>> as_options("events_per_row must be an integer of at least 1, got 0")
    '--events-per-row must be an integer of at least 1, got 0'
    """
    return ARGUMENTS.sub(lambda found: "--" + found.group().replace("_", "-"), message)


def counted(
    file: str,
    *,
    origin: str | None = None,
    destination: str | None = None,
    count: str | None = None,
    trajectory: str | None = None,
    max_gap: str | None = None,
    where: str | None = None,
    categories: Sequence[Any] | None = None,
    outside: str = "drop",
    unit: str | None = None,
    events: int | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the counts of a table of events or of visits, and warnings, which depend on the names of columns alone.

    Parameters
    ----------
    file : str
        A table as `datasets.open_events` takes it.
    origin, destination, count, where, categories, outside, unit, events, events_per_row, rows
        As `datasets.count_transitions` takes them.
    trajectory : str
        In place of origin, destination and unit: "USER,TIME,PLACE", the columns of a table of visits; max_gap as
        `datasets.count_trajectories` takes it.

    Raises
    ------
    ValueError
        In the words of the command line.
    """
    if (origin is None or destination is None) == (trajectory is None) or (trajectory and (origin or destination)):
        raise ValueError("give --origin and --destination, or --trajectory USER,TIME,PLACE for a table of visits")
    if trajectory is None and max_gap is not None:
        raise ValueError("--max-gap goes with --trajectory")
    limits = {"events": events, "events_per_row": events_per_row, "rows": rows}
    settings: dict[str, Any] = {"where": where, "categories": categories, "outside": outside, **limits}
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="each row counts as one event")
        try:
            if trajectory is None:
                settings |= {"unit": unit, "count": count}
                trips = datasets.count_transitions(file, str(origin), str(destination), **settings)
            else:
                names = _visits(trajectory, unit, count)
                trips = datasets.count_trajectories(file, *names, max_gap=max_gap, **settings)
        except ValueError as error:
            raise ValueError(as_options(str(error))) from error
    return trips, [f"{found.message} (--count)" for found in caught if "as one event" in str(found.message)]


def _visits(trajectory: str, unit: str | None, count: str | None) -> list[str]:
    """Return the three columns of visits; their first one is the unit that is protected."""
    names = [name.strip() for name in trajectory.split(",")]
    if len(names) != 3 or not all(names):
        raise ValueError(f"--trajectory must be three columns, USER,TIME,PLACE, got {trajectory!r}")
    if unit not in (None, names[0]) or count is not None:
        raise ValueError("--trajectory protects its first column: no other --unit, and no --count")
    return names


def unit_of_limits(
    unit: str | None,
    trajectory: str | None = None,
    *,
    events: int | None = None,
    events_per_row: int | None = None,
    rows: int | None = None,
) -> Unit:
    """Return the unit that the options describe: an event, or somebody with limits (ValueError)."""
    if unit is None and trajectory is None:
        if events is not None or events_per_row is not None or rows is not None:
            raise ValueError("--unit must name a column where --events, --events-per-row or --rows is given")
        return EVENT
    if events is not None:
        if events_per_row is not None or rows is not None:
            raise ValueError("--events must stand alone, without --events-per-row and --rows")
        return Unit(events=events)
    if events_per_row is None and rows is None:
        needed = "limits of what is counted: --events M in all, or --events-per-row C and --rows R"
        if trajectory:
            raise ValueError(
                f"--trajectory protects its first column, the person or car as a whole, and needs {needed} (a single "
                "visit cannot be protected: taking out one changes three transitions)"
            )
        raise ValueError(f"--unit protects a person or car as a whole, however many events it has, and needs {needed}")
    chosen = Unit(events_per_row=1 if events_per_row is None else events_per_row, rows=1 if rows is None else rows)
    return Unit(events=1) if chosen.is_event else chosen


def unit_from(word: str) -> Unit:
    """Return the unit of "2x5" (events in a row x rows), of "10" (events in all) or of "event"."""
    if word.strip() == "event":
        return EVENT
    parts = word.strip().split("x")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise ValueError(f"--limits must be event, 10 (events in all) or 2x5 (events in a row x rows), got {word!r}")
    return Unit(events=int(parts[0])) if len(parts) == 1 else Unit(int(parts[0]), int(parts[1]))


def public_support(
    categories: str | None, graph: str | None, pairs: str | None, delta: float, columns: Sequence[str | None] = ()
) -> supports.Support | supports.PrivatePairs:
    """Return what is declared: all pairs of the categories, a graph, or pairs to be chosen privately.

    columns: names of the table's columns, which a header of the categories would repeat.
    """
    if pairs is not None and pairs not in ("all", "private"):
        raise ValueError(f"--pairs must be all or private, got {pairs!r}")
    labels = None if categories is None else read_categories(categories, [name for name in columns if name])
    try:
        if graph is not None:
            if pairs is not None:
                raise ValueError("--pairs must not be given with a graph, which declares them")
            return supports.declared_graph(read_graph(graph), labels)
        if labels is not None and pairs != "private":
            return supports.all_pairs(labels)
    except ValueError as error:
        raise ValueError(as_options(str(error))) from error
    if pairs == "all":
        raise ValueError("--pairs all needs --categories")
    if delta == 0.0:
        why = "--pairs private was given" if pairs else "neither --categories nor --graph was given"
        raise ValueError(
            f"{why}, so the pairs are chosen privately: that needs --delta in (0, 1), 1e-6 for instance, got 0"
        )
    return supports.private_pairs(labels)


def read_categories(file: str, columns: Sequence[str] = ()) -> list[Any]:
    """Return the declared labels, as integers when all of them are.

    Parameters
    ----------
    file : str
        A table (.csv, .tsv, .jsonl or .parquet, packed or not) whose column `label` holds them; or any other text file
        with a label a line and no header, where empty lines and blanks at the ends do not count.
    columns : sequence of str
        Names of the columns of the data, which a header would repeat, whole or in part.

    Raises
    ------
    ValueError
        For a file that cannot be read or is no UTF-8 text; for a table without the column; for a text whose first line
        looks like a header, or with a line in quotes as a csv would have it; and like `datasets.distinct_labels`.
    """
    if sources.is_table(file):
        words = _words(file, ("label",), "categories")["label"].tolist()
    else:
        words = _lines(file)
        _refuse_header(file, words, columns)
    return datasets.distinct_labels("--categories", datasets.as_declared(words))


def _lines(file: str) -> list[str]:
    """Return the words of a text file, a line each."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"--categories: {file!r} {sources.UTF8}") from error
    except OSError as error:
        raise ValueError(f"--categories: {file!r} cannot be read ({error.strerror})") from error
    words = [word for line in text.split("\n") if (word := sources.whole_word(line)) is not None]
    quoted = [word for word in words if len(word) > 1 and word[0] == word[-1] == '"']
    if quoted:
        raise ValueError(
            f"--categories: {file!r} must have a label a line as it is, got {quoted[0]} in quotes: remove them, or "
            "make the file a .csv with the header label"
        )
    return words


def _refuse_header(file: str, words: Sequence[str], columns: Sequence[str]) -> None:
    """Raise ValueError when the first label is the name of a column, or of what labels are, or no number among such."""
    names = {part.lower() for column in columns for part in [column, *re.split(r"[\W_]+", column)]} | HEADERS
    if words and (words[0].lower() in names or (len(words) > 2 and _whole(words[1:]) and not _whole(words[:1]))):
        raise ValueError(
            f"--categories: the first line of {file!r}, {words[0]!r}, looks like a header: remove it (or, if it is a "
            "state, let another one come first)"
        )


def _whole(words: Sequence[str]) -> bool:
    return isinstance(datasets.as_declared(words)[0], int)


def read_graph(file: str) -> pd.DataFrame:
    """Return the columns origin and destination of a table of pairs; integers when all labels are."""
    pairs = _words(file, ENDS, "graph")
    labels = counting.as_declared(pairs["origin"].tolist() + pairs["destination"].tolist())
    return pd.DataFrame({"origin": labels[: len(pairs)], "destination": labels[len(pairs) :]})


def read_totals(file: str) -> dict[str, int]:
    """Return the public row totals of a table with the columns label and total."""
    table = _words(file, ("label", "total"), "totals")
    twice = table["label"][table["label"].duplicated()]
    if len(twice):
        raise ValueError(f"--totals: {file!r} must have each label once, got {twice.iloc[0]!r} twice")
    totals = pd.to_numeric(table["total"], errors="coerce").to_numpy(float, na_value=np.nan)
    bad = ~((totals >= 0) & (totals <= counting.LARGEST_COUNT) & (totals == np.floor(totals)))
    if bad.any():
        raise ValueError(f"--totals: {file!r} must have whole numbers of at least 0, got {table['total'][bad].iloc[0]}")
    return dict(zip(table["label"], totals.astype(np.int64).tolist()))


def _words(file: str, columns: tuple[str, ...], what: str) -> pd.DataFrame:
    """Return columns of a table that is declared, as words, none of them missing."""
    try:
        table = sources.fetched(sources.open_events(file, {name: name for name in columns}), file)
    except ValueError as error:
        raise ValueError(f"--{what}: {error}") from error
    if table.isna().any(axis=None):
        raise ValueError(f"--{what}: {file!r} must have {' and '.join(columns)} in each row, got an empty one")
    return table
