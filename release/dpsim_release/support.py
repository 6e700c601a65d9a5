"""The support of a release: its labels, and the pairs that have a noisy count."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpsim.checks import Integers
from dpsim_release import labels as naming
from dpsim_release import sources, text
from dpsim_release.table import Counts

MOST_LABELS = 3_000  # the largest number of labels for which all pairs may be allowed
ALL_PAIRS = "all pairs of the declared labels"
GRAPH = "a declared graph"
PRIVATE_PAIRS = "pairs chosen privately among the declared labels"
PRIVATE_LABELS = "pairs chosen privately, which give the labels"
KINDS = ALL_PAIRS, GRAPH, PRIVATE_PAIRS, PRIVATE_LABELS


class Support(NamedTuple):
    """The labels of a release, and the pairs that have a noisy count.

    Row i contains the columns indices[indptr[i]:indptr[i + 1]], as in a csr matrix.

    Attributes
    ----------
    labels : tuple, the labels of the n states, in the order of the rows
    indptr, indices : arrays of int, shapes (n + 1,) and (pairs,)
    kind : str, one of `KINDS`, which says in the statement how the pairs were chosen
    """

    labels: tuple[Any, ...]
    indptr: Integers
    indices: Integers
    kind: str

    @property
    def sizes(self) -> Integers:
        """The number of destinations in each row."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> Integers:
        """The row of each pair."""
        return np.repeat(np.arange(len(self.labels)), self.sizes)


class PrivatePairs(NamedTuple):
    """A request to choose the pairs privately.

    Both ends of a pair are among the declared labels, if `labels` is not None.
    """

    labels: tuple[Any, ...] | None


def all_pairs(labels: Sequence[Any]) -> Support:
    """Return the support that consists of all pairs of the given labels.

    The labels must be declared without looking at the data. Raises ValueError unless
    there are 2 to 3,000 labels, all distinct.
    """
    listed = naming.distinct_labels("categories", labels)
    n = len(listed)
    if n > MOST_LABELS:
        raise ValueError(
            f"categories must be at most {MOST_LABELS} when all pairs are allowed, got "
            f"{n}: declare a graph of the possible pairs, or let them be chosen "
            "privately"
        )
    indptr = np.arange(0, n * n + 1, n)
    return Support(tuple(listed), indptr, np.tile(np.arange(n), n), ALL_PAIRS)


def declared_graph(graph: pd.DataFrame, labels: Sequence[Any] | None = None) -> Support:
    """Return the support of a public graph.

    graph: a table with the columns origin and destination, and one row for each allowed
    transition.

    labels: the labels of the states, in the order that you want. With None, they are
    the sorted labels of the graph.

    Raises ValueError unless the graph has at least one transition from each label.
    """
    if not (
        isinstance(graph, pd.DataFrame)
        and {"origin", "destination"} <= set(graph.columns)
    ):
        raise ValueError(
            "graph must be a table with the columns origin and destination, "
            f"got {graph!r:.80}"
        )
    ends = graph[["origin", "destination"]]
    if labels is None:
        both = pd.concat([ends["origin"], ends["destination"]])
        labels = pd.factorize(both, sort=True)[1].tolist()
    listed = naming.distinct_labels("categories", labels)
    origin = naming.positions(ends["origin"], listed)
    destination = naming.positions(ends["destination"], listed)
    bad = ends[(origin < 0) | (destination < 0)]
    if len(bad):
        pair = ", ".join(map(str, bad.iloc[0]))
        raise ValueError(f"graph: the pair {pair} is not among the categories")
    n = len(listed)
    keys = np.unique(origin * n + destination)
    support, _ = from_pairs(listed, keys // n, keys % n, GRAPH)
    if (support.sizes == 0).any():
        closed = listed[int(support.sizes.argmin())]
        raise ValueError(
            "graph must allow a transition from each category, got none from "
            f"{closed}: add a self-loop"
        )
    return support


def declare(
    categories: Sequence[Any] | str | os.PathLike[str] | None = None,
    graph: pd.DataFrame | str | os.PathLike[str] | None = None,
    pairs: str | None = None,
    columns: Sequence[str | None] = (),
) -> Support | PrivatePairs:
    """Return the declared support, or a request to choose the pairs privately.

    Parameters
    ----------
    categories : sequence, str or path
        The labels, or a file with one label per line and no header.
    graph : DataFrame, str or path
        A table of the possible pairs with the columns origin and destination, or a file
        that contains such a table. If categories are given too, they are the labels of
        the graph, in the given order.
    pairs : str, only with categories and without a graph
        With "all" (the default), every pair gets a noisy count. With "private", only
        pairs that occur often enough get one.
    columns : sequence of str
        The columns of the events, none of which can be the first line of a file of
        labels.

    Returns
    -------
    Support or PrivatePairs

    Examples
    --------
    >>> declare(["a", "b"]).kind, declare().labels
    ('all pairs of the declared labels', None)
    """
    alone = categories is not None and graph is None
    if pairs is not None and not (alone and pairs in ("all", "private")):
        raise ValueError(
            "pairs must be all or private, with categories and without a graph, "
            f"got {pairs!r}"
        )
    if isinstance(categories, str | os.PathLike):
        categories = read_categories(categories, columns)
    if isinstance(graph, str | os.PathLike):
        graph = read_graph(graph)
    if graph is not None:
        return declared_graph(graph, categories)
    if categories is None or pairs == "private":
        return private_pairs(categories)
    return all_pairs(categories)


HEADERS = {"", "x", "v1", "0", "category", "label", "name", "node", "page", "place"}
HEADERS |= {"state", "station", "stop", "value", "word", "zone"}
"""Common names of a column of labels, in lower case and without a plural s."""


def read_categories(
    file: str | os.PathLike[str], columns: Sequence[str | None] = ()
) -> list[Any]:
    """Return the labels in a public file, a csv file with one column and no header.

    They are integers if all of them are integers. Raises ValueError if the first line
    looks like a header: a common name of a column, the name of one of the `columns`, or
    a word above integers.
    """
    name = os.fspath(file)
    if not os.path.exists(name):
        raise ValueError(
            f"categories: {name!r} cannot be read, because there is no such file"
        )
    try:
        if name.lower().endswith(sources.ENDINGS):
            raise ValueError(
                "its name is that of a table: write one label per line, without a "
                "header, to a .txt file"
            )
        written = text.listed(sources.ordinary(name))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"categories: {name!r} cannot be read as UTF-8 text ({error})"
        ) from error
    words = [word for word in map(naming.whole_word, written) if word is not None]
    labels = naming.labels_of_words(words)
    first = words[0].lower() if words else ""
    numbers = len(words) > 2 and isinstance(naming.labels_of_words(words[1:])[0], int)
    if not isinstance(labels[0] if labels else 0, int) and (
        numbers
        or first.removesuffix("s") in HEADERS
        or first == "categories"
        or words[0] in columns
    ):
        raise ValueError(
            f"categories: the first line of {name!r}, {words[0]!r:.80}, looks like a "
            "header: remove it or, if it is a state, move it to another line"
        )
    return naming.distinct_labels("categories", labels)


def read_graph(file: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the columns origin and destination of a public table of pairs.

    The labels are integers if all of them are integers.
    """
    columns = {"origin": "origin", "destination": "destination"}
    try:
        table, _ = sources.read(file, columns)
        pairs = sources.fetch_table(table)
    except ValueError as error:
        raise ValueError(f"graph: {error}") from error
    if pairs[list(columns)].isna().any(axis=None):
        raise ValueError(
            f"graph: {os.fspath(file)!r} must have origin and destination in each row, "
            "got an empty one"
        )
    words = pairs["origin"].tolist() + pairs["destination"].tolist()
    labels = naming.labels_of_words(words)
    return pd.DataFrame(
        {"origin": labels[: len(pairs)], "destination": labels[len(pairs) :]}
    )


def private_pairs(labels: Sequence[Any] | None = None) -> PrivatePairs:
    """Return a request to choose pairs privately, as in `PrivatePairs`."""
    if labels is None:
        return PrivatePairs(None)
    return PrivatePairs(tuple(naming.distinct_labels("categories", labels)))


def from_pairs(
    labels: Sequence[Any], rows: Integers, columns: Integers, kind: str
) -> tuple[Support, Integers]:
    """Return the support of the given pairs, and the permutation that sorts them.

    The pairs must be distinct, but they may be in any order.
    """
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(len(labels) + 1))
    return Support(tuple(labels), indptr.astype(np.int64), columns[order], kind), order


def counts_on(trips: pd.DataFrame, support: Support) -> tuple[Integers, int]:
    """Return the counts of a declared support's pairs, and the number of other
    events."""
    trips = Counts(trips).trips  # raises ValueError for other tables
    n = len(support.labels)
    _, rows, columns, numbers = pair_counts(trips, support.labels)
    keys = support.rows * n + support.indices
    occurring = rows * n + columns
    place = np.minimum(np.searchsorted(keys, occurring), keys.size - 1)
    fits = keys[place] == occurring
    counts = np.zeros(keys.size, dtype=np.int64)
    counts[place[fits]] = numbers[fits]
    return counts, int(trips["trips"].sum()) - int(counts.sum())


def pair_counts(
    trips: pd.DataFrame, labels: tuple[Any, ...] | None
) -> tuple[Any, Integers, Integers, Integers]:
    """Return the labels, and the rows, columns and counts of the pairs that occur.

    The pairs are distinct. If no labels are declared, the labels are words, and labels
    that become the same word are merged.
    """
    numbers = trips["trips"].to_numpy(np.int64)
    if labels is None:
        words = trips[["origin", "destination"]].astype(str)
        both = pd.concat([words["origin"], words["destination"]], ignore_index=True)
        codes, distinct = pd.factorize(both, sort=True)
        labels = tuple(distinct)
        origin, destination = np.split(codes.astype(np.int64), 2)
    else:
        origin = naming.positions(trips["origin"], labels)
        destination = naming.positions(trips["destination"], labels)
    inside = (origin >= 0) & (destination >= 0) & (numbers > 0)
    n = max(len(labels), 1)
    pairs = origin[inside] * n + destination[inside]
    keys, place = np.unique(pairs, return_inverse=True)
    counts = np.zeros(keys.size, dtype=np.int64)
    np.add.at(counts, place, numbers[inside])
    return labels, keys // n, keys % n, counts
