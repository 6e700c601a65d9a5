"""Words by brute force: all of a space, their distances, and what a law of the distance spends on them."""

import itertools

import numpy as np
import scipy.sparse as sp

from dpsim import words
from dpsim.words.automaton import log_integers

FOUR = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]])


def feasible(length, letters=None, adjacency=None, start=None):
    """All words of a space, by trying each."""
    matrix = None if adjacency is None else sp.csr_array(adjacency).toarray()
    labels = range(len(matrix)) if letters is None else letters
    labels = list(range(labels)) if isinstance(labels, int) else list(labels)
    for word in itertools.product(labels, repeat=length):
        if matrix is None:
            yield word
            continue
        path = word if start is words.space.ANYWHERE else (start, *word)
        if all(
            matrix[labels.index(a), labels.index(b)]
            for a, b in itertools.pairwise(path)
        ):
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
