"""Words by brute force: all of a space, their distances, and what a law of the distance spends on them."""

import itertools

import numpy as np
import scipy.sparse as sp

from dpsim import words
from dpsim.words.automaton import log_integers

FOUR = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]])


ONWARD = {
    "adjacency": np.array(
        [
            [0, 1, 0, 1, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [1, 0, 0, 0, 1, 0],
            [0, 0, 1, 0, 1, 0],
            [0, 1, 0, 0, 0, 1],
            [0, 1, 0, 1, 0, 0],
        ]
    ),
    "letters": ["b", "c", "a", "b", "c", "b"],
    "start": "a",
}
"""A network whose letters b and c stand for several states."""


def without_return(adjacency, start):
    """The walks that never go back at once: a state is a letter and the one before it."""
    pairs = [(None, start), *map(tuple, np.argwhere(adjacency).tolist())]
    onward = [
        [b == c and a != d and adjacency[c, d] for c, d in pairs] for a, b in pairs
    ]
    labels = ["start", *(b for _, b in pairs[1:])]
    return {"adjacency": np.array(onward, float), "letters": labels, "start": "start"}


def feasible(length, letters=None, adjacency=None, start=None):
    """All words of a space, by trying each."""
    matrix = None if adjacency is None else sp.csr_array(adjacency).toarray()
    labels = range(len(matrix)) if letters is None else letters
    labels = list(range(labels)) if isinstance(labels, int) else list(labels)
    for word in itertools.product(dict.fromkeys(labels), repeat=length):
        if matrix is None:
            yield word
            continue
        path = word if start is words.space.ANYWHERE else (start, *word)
        here = np.array([label == path[0] for label in labels])
        for letter in path[1:]:
            here = (here @ matrix > 0) & [label == letter for label in labels]
        if here.any():
            yield word


def apart(space, word=None):
    """The distances between all words (w, v), or of all words from one."""
    space = np.array(space)
    return (
        (space[:, None] != space).sum(axis=-1)
        if word is None
        else (space != np.array(word)).sum(axis=-1)
    )


def log_law(law, distances, length):
    """log P(v | w) of a law of the distance, from the distances (w, v)."""
    counts = [np.bincount(row, minlength=length + 1) for row in distances]
    return np.array(
        [law.log_f(log_integers(n))[row] for n, row in zip(counts, distances)]
    )


def spent(logs, distances, b):
    """The largest loss between words at most b letters apart."""
    return max(
        (
            (logs[w] - logs[v]).max()
            for w, v in np.argwhere((distances > 0) & (distances <= b))
        ),
        default=0.0,
    )
