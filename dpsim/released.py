"""Reads a release that somebody has published, without the package that made it."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from scipy import sparse

from dpsim import checks, files, markov
from dpsim.checks import Array, Integers
from dpsim.markov.sparse import classes
from dpsim.private import round_up

STATEMENT = "statement.json"
REPORT = "report.html"
ENDS = ("origin", "destination")
MOST_LABELS = 3_000  # the largest number of labels for a matrix that is not sparse
ROWS = 2**16  # rows of a table read at a time
TYPES = {
    "int64 or text": ("int64", "string", "large_string"),
    "int64": ("int64",),
    "double": ("double",),
}
COLUMNS = {
    "label": "int64 or text",
    "origin": "int64 or text",
    "destination": "int64 or text",
    "noisy_count": "int64",
    "probability": "double",
    "departures": "double",
}
"""The types of the columns that are read."""
_NO_LABELS = "the release has no labels: no pair passed the threshold"


class ReleasedChain:
    """A released Markov chain, whose states have labels.

    Parameters
    ----------
    labels : tuple, the labels of the n states
    transitions : csr_array (n, n), the transition matrix
    shares : (n,) floats, the shares of the events that begin in each state
    statement : dict
        The facts in statement.json, such as epsilon, delta, mechanism and unit.
    folder : path of the release
    """

    statement: dict[str, Any]

    def __init__(
        self,
        labels: tuple[Any, ...],
        transitions: sparse.csr_array,
        shares: Array,
        statement: dict[str, Any],
        folder: Path,
    ) -> None:
        self._labels = labels
        self._transitions = transitions
        self._shares = shares
        self._folder = folder
        self.statement = statement

    def __repr__(self) -> str:
        epsilon = round_up(self.statement["epsilon"], ".4g")
        delta = round_up(self.statement["delta"], ".3g")
        mark = ", SIMULATION" if self.statement["simulation"] else ""
        return (
            f"{type(self).__name__}({len(self.labels)} labels, "
            f"{self.statement['pairs']} pairs, epsilon {epsilon}, delta {delta}{mark})"
        )

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the states, in the order of the matrix."""
        return self._labels

    @property
    def transitions(self) -> sparse.csr_array:
        """The transition matrix, without labels."""
        return self._transitions

    @property
    def text(self) -> str:
        """The statement in words, as report.html has it."""
        page = ordinary(self._folder / REPORT).read_text(encoding="utf-8")
        return html.unescape("\n".join(re.findall("<li>(.*?)</li>", page)))

    @property
    def pairs(self) -> pd.DataFrame:
        """The chain as a table with the columns origin, destination and probability."""
        matrix = self.transitions.tocoo()
        return self._ends(*matrix.coords).assign(probability=matrix.data)

    @property
    def matrix(self) -> pd.DataFrame | sparse.csr_array:
        """The transition matrix, as a DataFrame with labels.

        With more than 3,000 labels, it is a scipy.sparse csr array instead.
        """
        if len(self.labels) > MOST_LABELS:
            return self.transitions
        rows = pd.Index(self.labels, name="origin")
        columns = pd.Index(self.labels, name="destination")
        return pd.DataFrame(self.transitions.toarray(), rows, columns)

    @cached_property
    def closed_classes(self) -> tuple[list[Integers], Integers]:
        """Up to ten closed classes of states, and all transient states.

        The chain never leaves a closed class.
        """
        return classes(self.transitions)

    def stationary(self) -> pd.Series:
        """Return the stationary distribution by label, with 0 for each transient state.

        Raises ValueError if the distribution is not unique or if the release has no
        labels.
        """
        if not self.labels:
            raise ValueError(_NO_LABELS)
        closed, _ = self.closed_classes
        if len(closed) > 1:
            some = ", ".join(repr(self.labels[states[0]]) for states in closed)
            raise ValueError(
                "the chain must have one class of states that is never left, "
                f"got those of {some}"
            )
        pi = markov.stationary_distribution(self.transitions)
        index = pd.Index(self.labels, name="label")
        return pd.Series(pi, index=index, name="stationary")

    def departures(self) -> Array:
        """Return the shares of the events that begin in each state (n,)."""
        return self._shares

    @checks.fits_into_memory("n")
    def walk(
        self, n: int, start: Any = None, rng: np.random.Generator | int | None = None
    ) -> list[Any]:
        """Return a random walk of n steps as a list of n + 1 labels.

        start: the first label; if None, it is sampled from `departures`.
        """
        generator = checks.generator(rng)
        if not self.labels:
            raise ValueError(_NO_LABELS)
        first = self._first(generator) if start is None else self._place(start)
        walk = markov.random_walk(self.transitions, first, n, rng=generator)
        return self.named(walk).tolist()

    def _first(self, rng: np.random.Generator) -> int:
        """Return the position of a label that is sampled from `departures`."""
        return int(rng.choice(len(self.labels), p=self.departures()))

    def _place(self, label: Any) -> int:
        """Return the position of a label, which may be given as text."""
        for place, known in enumerate(self.labels):
            if str(known) == str(label):
                return place
        raise ValueError(
            f"start must be one of the {len(self.labels)} labels, got {label!r:.80}"
        )

    @checks.fits_into_memory("moves")
    def synthetic(
        self, moves: int, rng: np.random.Generator | int | None = None
    ) -> pd.DataFrame:
        """Return a table of simulated moves with the columns origin and destination.

        The moves are independent. Each origin is sampled from `departures`, and its
        destination from the origin's row of the matrix.
        """
        generator = checks.generator(rng)
        moves = checks.integer("moves", moves, 0)
        if moves and not self.labels:
            raise ValueError(_NO_LABELS)
        origin = generator.choice(len(self.labels), size=moves, p=self.departures())
        destination = origin
        if moves:
            P = self.transitions
            walks = markov.random_walk(P, origin, 1, size=moves, rng=generator)
            destination = walks[:, 1]
        return self._ends(origin, destination)

    def named(self, places: Integers) -> pd.Series:
        """Return the labels of the states at these positions.

        The labels are integers if all labels of the chain are integers, and otherwise
        text.
        """
        labels = pd.Series(self.labels, dtype=None if self.labels else str)
        return labels.iloc[np.asarray(places, dtype=np.int64)].reset_index(drop=True)

    def _ends(self, rows: Integers, columns: Integers) -> pd.DataFrame:
        """Return a table of labels with the columns origin and destination."""
        return pd.DataFrame(
            {"origin": self.named(rows), "destination": self.named(columns)}
        )


def load_release(folder: str | os.PathLike[str]) -> ReleasedChain:
    """Return the private Markov chain in the folder of a release.

    Parameters
    ----------
    folder : str or path
        A folder that `dpsim release` has published. The chain is read from
        statement.json, states.parquet and chain.parquet. ValueError is raised if one of
        these files is missing or if they contradict each other.

    The package dpsim_release, with `dpsim_release.load`, gives the noisy counts and
    error bars as well.

    Returns
    -------
    ReleasedChain
        The chain, with its labels and its statement.
    """
    place = Path(folder)
    file = STATEMENT
    try:
        facts = files.read_json(ordinary(place / file))
        _check(facts)
        file = "states.parquet"
        labels, shares = _states(place / file)
        file = "chain.parquet"
        transitions = _transitions(place / file, labels)
    except (
        OSError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise ValueError(
            f"folder: {os.fspath(folder)!r} holds no release: {file}: {error}"
        ) from error
    return ReleasedChain(tuple(labels.tolist()), transitions, shares, facts, place)


def _check(facts: Any) -> None:
    """Raise ValueError if a fact that is shown has the wrong type or is out of
    range."""
    checks.scalar("epsilon", facts["epsilon"], 0.0, open_low=True)
    checks.scalar("delta", facts["delta"], 0.0, 1.0, open_high=True)
    checks.integer("pairs", facts["pairs"], 0)
    simulation = facts["simulation"]
    need(isinstance(simulation, bool), "simulation must be a bool", simulation)


def _states(file: Path) -> tuple[pd.Index, Array]:
    """Return the labels in states.parquet, and each state's share of the departures."""
    labels = read_labels(file)
    parts = [_shares(part["departures"]) for part in _parts(file, ["departures"])]
    shares = np.concatenate([np.zeros(0), *parts])
    _need_shares("departures", shares, np.zeros(shares.size, int), min(1, len(labels)))
    return labels, shares


def _transitions(file: Path, labels: pd.Index) -> sparse.csr_array:
    """Return the transition matrix in chain.parquet."""
    rows, columns, shares = read_pairs(file, labels, "probability", _shares)
    _need_shares("probability", shares, rows, len(labels))
    n = len(labels)
    return sparse.csr_array((shares, (rows, columns)), shape=(n, n))


def _shares(values: pd.Series) -> Array:
    """Return a column as shares; raise ValueError unless they are in [0, 1]."""
    return checks.real(str(values.name), values, 0.0, 1.0)


def _need_shares(name: str, shares: Array, groups: Integers, number: int) -> None:
    """Raise ValueError unless the shares in each group add up to 1."""
    sums = np.bincount(groups, shares, minlength=number)
    refuse(f"{name} must add up to 1", sums[abs(sums - 1.0) > 1e-9])


# --- the tables of a release ----------------------------------------------------------


def ordinary(file: Path) -> Path:
    """Return the file if it is an ordinary file; otherwise raise ValueError.

    Reading a pipe or a device might never end.
    """
    if not file.is_file():
        raise ValueError("there is no ordinary file of this name")
    return file


def read_labels(file: Path) -> pd.Index:
    """Return the labels in states.parquet.

    Raises ValueError as soon as a label occurs a second time.
    """
    labels: dict[Any, None] = {}
    for part in _parts(file, ["label"]):
        for label in part["label"].tolist():
            if label in labels:
                raise ValueError(
                    f"label must be distinct, got {label!r:.80} more than once"
                )
            labels[label] = None
    return pd.Index(list(labels))


def read_pairs(
    file: Path,
    labels: pd.Index,
    value: str,
    check: Callable[[pd.Series], Any],
    pairs: int | None = None,
) -> tuple[Integers, Integers, Any]:
    """Return the rows, the columns and the values of a table of pairs of labels.

    `value` is the column of the values, which `check` returns as an array. Raises
    ValueError unless the ends of each pair are among the labels and each pair occurs
    once. If `pairs` is given, the table must
    have so many rows. This is checked before the first row is read, and each batch of
    rows before the next one is read.
    """
    batches = [(*np.zeros((2, 0), int), check(pd.Series([], name=value, dtype=int)))]
    with pa.parquet.ParquetFile(ordinary(file)) as table:
        number = table.metadata.num_rows
    if pairs is not None:
        checks.integer("pairs in statement.json", pairs, number, number)
    if number > len(labels) ** 2:
        raise ValueError(
            f"it must have a row for each pair of {len(labels):,} labels, "
            f"got {number:,} rows"
        )
    for part in _parts(file, [*ENDS, value]):
        values = check(part[value])
        rows, columns = (
            labels.get_indexer(part[name]).astype(np.int64) for name in ENDS
        )
        refuse(
            "origin and destination must be labels of states.parquet",
            part.values[np.minimum(rows, columns) < 0],
        )
        refuse("each pair must be there once", part.values[part.duplicated(list(ENDS))])
        batches.append((rows, columns, values))
    rows, columns, values = map(np.concatenate, zip(*batches))
    keys = np.sort(rows * len(labels) + columns)
    twice = keys[1:][keys[1:] == keys[:-1]][:1]
    refuse(
        "each pair must be there once",
        [tuple(labels[[key // len(labels), key % len(labels)]]) for key in twice],
    )
    return rows, columns, values


def _parts(file: Path, names: list[str]) -> Iterator[pd.DataFrame]:
    """Yield the named columns, one batch of rows at a time.

    Raises ValueError unless each of them has the type that `COLUMNS` says and has no
    missing values.
    """
    with pa.parquet.ParquetFile(ordinary(file)) as table:
        schema = table.schema_arrow
        for name in names:
            number = schema.names.count(name)
            need(number == 1, f"there must be one column {name}", number)
            stored = str(schema.field(name).type)
            wanted = COLUMNS[name]
            need(stored in TYPES[wanted], f"{name} must be {wanted}", stored)
        for batch in table.iter_batches(ROWS, columns=names):
            for name in names:
                need(
                    batch.column(name).null_count == 0,
                    f"{name} must be there in every row",
                    "nothing",
                )
            yield batch.to_pandas()


def need(holds: bool, rule: str, value: Any) -> None:
    """Raise ValueError unless the rule holds; the message shows the wrong value."""
    if not holds:
        raise ValueError(f"{rule}, got {value!r:.80}")


def refuse(rule: str, wrong: Any) -> None:
    """Raise ValueError if anything that breaks the rule was wrong.

    The message shows the first such thing.
    """
    if len(wrong):
        need(False, rule, next(iter(wrong)))
