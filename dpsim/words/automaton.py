"""The modified Hamming automaton, which counts and samples the words at each distance.

A state of the automaton is (letters written, mismatches so far, last letter). One table
serves every distance; it gives the number of suffixes by position, mismatches still to
come, and last letter. This table is the paper's V, and the ratios of its entries are
the paper's mu (Benvenuti, Rao, Hale 2026, Definitions 5 and 6, Algorithms 1 and 2).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics import exact_draws
from dpsim.words.candidates import (
    Codes,
    WordSpace,
    successors,
    word_space,
)

LONGEST_WORD = 10_000


def alphabet_counts(n: int, m: int) -> NDArray[np.object_]:
    """Return the exact numbers (n + 1,) of words at distance 0 to n from any word.

    The words have n letters from an alphabet of m. The numbers are
    M(n, m, l) = binom(n, l) (m - 1)^l of Benvenuti, Rao, Hale 2026, as Python integers
    of any size.

    Parameters
    ----------
    n : int, from 1 to 10,000
    m : int, at least 1

    Returns
    -------
    array of Python integers (n + 1,)

    Examples
    --------
    >>> from dpsim import words
    >>> words.alphabet_counts(3, 4).tolist()
    [1, 9, 27, 27]
    """
    n = checks.integer("n", n, 1, LONGEST_WORD)
    m = checks.integer("m", m, 1)
    counts = [1]
    for ell in range(n):
        counts.append(counts[-1] * (n - ell) * (m - 1) // (ell + 1))
    return np.array(counts, dtype=object)


def log_integers(values: NDArray[Any]) -> Array:
    """Return the natural logarithms of non-negative integers of any size.

    Zero gives minus infinity.
    """
    flat = np.asarray(values).ravel().tolist()
    logs = [math.log(value) if value > 0 else -math.inf for value in flat]
    return np.array(logs, dtype=float).reshape(values.shape)


class HammingAutomaton:
    """The modified Hamming automaton of a word, or its product with a Markov chain.

    The automaton is that of Benvenuti, Rao, Hale 2026, Definitions 5 and 6, Algorithms
    1 and 2. On a chain of 43 states, its table takes about 0.1 s for a word of 100
    letters, 1 s and 30 MB for 300 letters, and 10 s and 350 MB for 1,000 letters.

    Parameters
    ----------
    word : sequence of n >= 1 letters, or a feasible trajectory of a chain
    letters : int or sequence of labels, optional
        The labels of the alphabet, or their number m for the labels 0 to m - 1. With
        an adjacency they are the labels of its states, by default 0 to m - 1. Several
        states may share a label if no state has two successors with the same one. For
        example, a state may stand for a road and the direction of travel.
    adjacency : array_like or sparse array (m, m), optional
        The chain. An entry is non-zero if the column's state may follow the row's
        state. Booleans and probabilities are both accepted.
    start : label, optional
        The state that precedes the word and is not part of it, or
        `candidates.ANYWHERE` for words that begin in any state. No other state has its
        label. It must be given if, and only if, an adjacency is given.

    Examples
    --------
    >>> from dpsim import words
    >>> automaton = words.HammingAutomaton("abba", letters="abc")
    >>> automaton.counts.tolist(), automaton.sample([2, 2, 4], rng=1).shape
    ([1, 8, 24, 32, 16], (3, 4))
    """

    def __init__(
        self,
        word: Sequence[Hashable] | ArrayLike,
        *,
        letters: int | Sequence[Hashable] | WordSpace | None = None,
        adjacency: ArrayLike | sp.sparray | None = None,
        start: Hashable | None = None,
    ) -> None:
        self.space = word_space(letters, adjacency, start)
        self.codes = self.space.encode(word)

    @cached_property
    def counts(self) -> NDArray[np.object_]:
        """Return the exact numbers (n + 1,) of feasible words at distance 0 to n.

        They are Python integers.
        """
        if self.space.chain is None:
            return alphabet_counts(len(self.codes), len(self.space.labels))
        last = deque(self._tables(0, 1, np.add, object), maxlen=1).pop()
        return np.asarray(last[self.space.chain.start])

    @cached_property
    def log_counts(self) -> Array:
        """Return the logarithms (n + 1,) of the counts.

        On a chain they are computed from sums of doubles.
        """
        if self.space.chain is None:
            return log_integers(self.counts)
        return self._suffixes[0][self.space.chain.start]

    def sample(
        self, distance: ArrayLike, rng: np.random.Generator | int | None = None
    ) -> NDArray[Any]:
        """Return words (..., n), each sampled uniformly from those at its distance.

        The distances (...) are in 0..n. Raise ValueError if there is no feasible word
        at one of the distances. The distribution is uniform up to rounding: the
        probability of a word has a relative error of at most about 2 n
        log(counts[distance]) 2^-52.
        """
        rng = checks.generator(rng)
        distances = checks.integers("distance", distance, 0, len(self.codes))
        possible = np.isfinite(self.log_counts)
        if not possible[distances].all():
            raise ValueError(
                "distance must be one at which a feasible word exists "
                f"({np.flatnonzero(possible).tolist()}), "
                f"got {distances[~possible[distances]].flat[0]}"
            )
        draw = self._sample_alphabet if self.space.chain is None else self._sample_chain
        codes = draw(distances.ravel(), rng)
        return self.space.decode(codes.reshape(*distances.shape, len(self.codes)))

    def _sample_alphabet(self, distances: Codes, rng: np.random.Generator) -> Codes:
        """Return words (k, n) with random other letters at random positions."""
        n = len(self.codes)
        m = len(self.space.labels)
        wrong = rng.permuted(np.arange(n) < distances[:, None], axis=1)
        others = (self.codes + rng.integers(1, max(m, 2), wrong.shape)) % m
        return np.where(wrong, others, self.codes)

    def _sample_chain(self, distances: Codes, rng: np.random.Generator) -> Codes:
        """Return words (k, n), sampled letter by letter.

        The probability of a letter is its share of the suffixes.
        """
        chain = self.space.chain
        assert chain is not None
        path = np.empty((len(distances), len(self.codes)), dtype=np.int64)
        state = np.full(len(distances), chain.start)
        left = distances.copy()
        for position, letter in enumerate(self.codes):
            uniform = rng.random(len(distances))
            for last in np.unique(state):
                here = np.flatnonzero(state == last)
                options, logs = self._options(position, last, left[here, None])
                weight = np.exp(logs - logs.max(axis=1, keepdims=True)).cumsum(axis=1)
                passed = uniform[here, None] * weight[:, -1:] >= weight
                path[here, position] = options[passed.sum(axis=1)]
            state = path[:, position]
            left -= chain.letters[state] != letter
        return chain.letters[path]

    def draw_word(self, log_distances: Array, rng: np.random.Generator) -> NDArray[Any]:
        """Return one word (n,), sampled uniformly at a randomly sampled distance.

        The log-probabilities (n + 1,) of the distances are given. Every word can occur,
        however improbable it is; `draw_error` bounds the errors.
        """
        distance = exact_draws.draw_index(rng, log_distances)
        chain = self.space.chain
        if chain is None:
            codes = self._sample_alphabet(np.array([distance]), rng)[0]
            return self.space.decode(codes)
        word: list[int] = []
        state = chain.start
        left = distance
        for position, letter in enumerate(self.codes):
            options, logs = self._options(position, state, np.array(left))
            state = int(options[exact_draws.draw_index(rng, logs)])
            word.append(int(chain.letters[state]))
            left -= int(word[-1] != letter)
        return self.space.decode(np.array(word, dtype=np.int64))

    def _options(self, position: int, state: int, left: Codes) -> tuple[Codes, Array]:
        """Return the states that may follow, and the log-counts (..., states) of words.

        The words go on with each of them and have `left` (..., 1) further mismatches.
        """
        chain = self.space.chain
        assert chain is not None
        options = successors(chain, state)
        to_come = left - (chain.letters[options] != self.codes[position])
        suffixes = self._suffixes[position + 1][options, np.maximum(to_come, 0)]
        return options, np.where(to_come >= 0, suffixes, -np.inf)

    @cached_property
    def _suffixes(self) -> list[Array]:
        """Return the logarithms of V, an array (states, n + 1) for each position.

        Each entry is the logarithm of the number of suffixes after a state with a given
        number of mismatches.
        """
        tables = list(self._tables(-np.inf, 0.0, np.logaddexp, float))
        return tables[::-1]

    def _tables(
        self, zero: float, one: float, add: np.ufunc, kind: type
    ) -> Iterator[NDArray[Any]]:
        """Yield the tables V from the last position to the first.

        They are computed with the given `zero`, `one` and `add`.
        """
        chain = self.space.chain
        assert chain is not None
        shape = (chain.states, len(self.codes) + 1)
        table: NDArray[Any] = np.full(shape, zero, dtype=kind)
        table[:, 0] = one
        yield table
        for letter in self.codes[::-1]:
            following = np.roll(table, 1, axis=1)  # another letter: one more mismatch
            following[:, 0] = zero
            right = chain.letters == letter
            following[right] = table[right]
            table = chain.sum_over_successors(following, zero, add)
            yield table


def draw_error(space: WordSpace, n: int, promised: float) -> float:
    """Return a bound on the error of every log-probability of `draw_word`.

    The log-probabilities of the distances must come from a mechanism with the promised
    epsilon.

    Notes
    -----
    No log-probability of a distance is below -L,
    L = promised (n + 1) / 2 + n log m + 1, and its terms are no larger in modulus. So
    each of them is computed with an error of at most 8 u (L + n), u = 2^-53, to which
    permute-and-flip adds 1e-10 for its integrals. `relative_error` bounds the error of
    sampling the distance. Over an alphabet, the positions and the letters are integers
    that NumPy samples uniformly. On a chain, each of the n letters has a tree of its
    own. The logarithms of the numbers of suffixes are sums of at most n s logarithmic
    additions, where s is the largest number of successors, and each addition has an
    error of at most 4 u (n log m + 2). These errors count once for the distance and
    twice for the letters.
    """
    log_words = n * math.log(max(len(space.labels), 2))
    largest = promised * (n + 1) / 2.0 + log_words + 1.0
    unit = exact_draws.UNIT
    error = 1e-10 + 8.0 * unit * (largest + n)
    error += exact_draws.relative_error(n + 1, largest)
    if space.chain is not None:
        most = int(np.diff(space.chain.indptr).max())  # successors of one state
        counts = 4.0 * unit * n * most * (log_words + 2.0)
        error += 3.0 * counts + n * exact_draws.relative_error(most, log_words)
    return error


def chain_counts(
    words: ArrayLike,
    *,
    adjacency: ArrayLike | sp.sparray,
    start: Hashable,
    letters: int | Sequence[Hashable] | None = None,
) -> Array:
    """Return the counts (k, n + 1) of k words on a chain, as doubles.

    They are exact up to 2^53.

    Parameters
    ----------
    words : array_like (k, n), a word in each row
    adjacency, start, letters : as in `HammingAutomaton`

    Returns
    -------
    array of float (k, n + 1)

    Examples
    --------
    >>> from dpsim import words
    >>> words.chain_counts([[1, 0], [1, 1]], adjacency=[[0, 1], [1, 1]], start=0)
    array([[1., 1., 0.],
           [1., 1., 0.]])
    """
    space = word_space(letters, adjacency, start)
    rows: Any = words if np.ma.isMaskedArray(words) else np.asarray(words)
    if rows.ndim != 2 or len(rows) == 0:
        raise ValueError(f"words must have the shape (k, n), got {rows.shape}")
    codes = np.array([space.encode(row) for row in rows])
    chain = space.chain
    assert chain is not None
    k, n = codes.shape
    suffixes = np.zeros((chain.states, k, n + 1))  # state, word, mismatches
    suffixes[:, :, 0] = 1.0
    for letter in codes.T[::-1]:
        wrong = np.roll(suffixes, 1, axis=2)
        right = chain.letters[:, None] == letter
        following = np.where(right[:, :, None], suffixes, wrong)
        suffixes = chain.sum_over_successors(following)
    return np.asarray(suffixes[chain.start])
