"""Words by brute force: all of a space, their distances, and what a law of the distance
spends on them."""

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
    """The walks that never go back at once: a state is a letter and the one before
    it."""
    pairs = [(None, start), *map(tuple, np.argwhere(adjacency).tolist())]
    onward = [
        [b == c and a != d and adjacency[c, d] for c, d in pairs] for a, b in pairs
    ]
    labels = ["start", *(b for _, b in pairs[1:])]
    return {"adjacency": np.array(onward, float), "letters": labels, "start": "start"}


def feasible(length, letters=None, adjacency=None, start=None):
    """All words of a space, letter by letter, in the order of the labels."""
    matrix = None if adjacency is None else sp.csr_array(adjacency).toarray()
    labels = range(len(matrix)) if letters is None else letters
    labels = list(range(labels)) if isinstance(labels, int) else list(labels)
    states = {label: [other == label for other in labels] for label in labels}

    def further(word, here):  # the states that a word may have reached
        if len(word) == length:
            yield word
            return
        for label, those in states.items():
            there = those if matrix is None or here is None else (here @ matrix > 0)
            reached = np.logical_and(there, those)
            if reached.any():
                yield from further((*word, label), reached)

    free = matrix is None or start is words.candidates.ANYWHERE
    yield from further((), None if free else np.array(states[start]))


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
