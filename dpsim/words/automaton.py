"""The modified Hamming automaton: how many words lie at each distance from a word, and uniform draws among them.

A state of the automaton is (letters written, mismatches so far, last letter). One table, the number of suffixes
by (position, mismatches still to come, last letter), serves every distance: the paper's V and mu are its
entries and their ratios (Benvenuti, Rao, Hale 2026, Definitions 5 and 6, Algorithms 1 and 2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.checks import Array
from dpsim.words.space import Chain, Codes, word_space
from dpsim.words.suffix_tables import (
    Exponents,
    chain_policy,
    sample_chain,
    sample_tilted,
    start_log_counts,
    suffix_table,
    tilted_table,
)

# Machine-word additions up to which the exact integers are computed; about a tenth of a second.
EXACT_WORK = 10**8


def alphabet_counts(n: int, m: int) -> NDArray[np.object_]:
    """Return the exact numbers of words at distance 0 to n from any word of n letters out of m.

    Parameters
    ----------
    n : int
        At least 1.
    m : int
        At least 1.

    Returns
    -------
    array of int, shape (n + 1,)
        M(n, m, l) = binom(n, l) (m - 1)^l, as Python integers of any size.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    References
    ----------
    Benvenuti, Rao, Hale 2026.

    Examples
    --------
    >>> from dpsim import words
    >>> words.alphabet_counts(3, 4).tolist()
    [1, 9, 27, 27]
    """
    n, m = checks.integer("n", n, 1), checks.integer("m", m, 1)
    counts = [1]
    for distance in range(1, n + 1):
        counts.append(counts[-1] * (n - distance + 1) * (m - 1) // distance)
    return np.array(counts, dtype=object)


def log_integers(values: NDArray[Any]) -> Array:
    """Return the natural logarithms of non-negative integers of any size; zero gives minus infinity."""
    flat = [math.log(value) if value > 0 else -math.inf for value in np.asarray(values).ravel().tolist()]
    return np.array(flat, dtype=float).reshape(values.shape)


class HammingAutomaton:
    """The modified Hamming automaton of a word, or its product with a Markov chain.

    Parameters
    ----------
    word : sequence of n >= 1 letters
        Over an alphabet, or a trajectory of a chain; it must be feasible.
    letters : int or sequence of labels, optional
        The alphabet: its labels, or their number m for 0 to m - 1.
    adjacency : array_like or sparse array, shape (m, m), optional
        The chain: non-zero where the row may be followed by the column.
    start : label, optional
        The state that the word follows, and does not contain; ANYWHERE for words that begin in any state.

    Raises
    ------
    ValueError
        For an empty or infeasible word, unknown letters or states, a malformed adjacency.

    References
    ----------
    Benvenuti, Rao, Hale 2026, Definitions 5 and 6, Algorithms 1 and 2.

    Examples
    --------
    >>> from dpsim import words
    >>> automaton = words.HammingAutomaton("abba", letters="abc")
    >>> automaton.counts.tolist()
    [1, 8, 24, 32, 16]
    >>> automaton.sample(2, size=3, rng=1).shape
    (3, 4)
    """

    def __init__(
        self,
        word: Sequence[Hashable] | ArrayLike,
        *,
        letters: int | Sequence[Hashable] | None = None,
        adjacency: ArrayLike | sp.sparray | None = None,
        start: Hashable | None = None,
    ) -> None:
        self.space = word_space(letters, adjacency, start)
        self.codes = self.space.encode(word)

    @property
    def length(self) -> int:
        """Return n, the number of letters."""
        return len(self.codes)

    @cached_property
    def counts(self) -> NDArray[np.object_]:
        """Return the exact numbers (n + 1,) of feasible words at distance 0 to n, as Python integers.

        Raises ValueError on a chain too long for them to be cheap (about 230 letters over 43 states of five
        successors); `log_counts` has no such end.
        """
        chain = self.space.chain
        if chain is None:
            return alphabet_counts(self.length, len(self.space.labels))
        if not self._exact_is_cheap:
            raise ValueError(f"word must be shorter for exact counts, got length {self.length}: use log_counts")
        return _exact_counts(self.codes, chain)

    @cached_property
    def log_counts(self) -> Array:
        """Return the logarithms (n + 1,) of the numbers of feasible words at distance 0 to n.

        Correctly rounded where `counts` is available; otherwise sums of positive doubles of extended range,
        whose relative error is at most n * (largest number of successors) * 2**-53 (Higham 2002, 3.1).
        """
        if self.space.chain is None or self._exact_is_cheap:
            return log_integers(self.counts)
        return start_log_counts(*self._table, self.space.chain, self.length)

    def policy(self, distance: int) -> Array:
        """Return mu, the policy that draws uniformly among the words at this distance.

        Parameters
        ----------
        distance : int
            In 0..n.

        Returns
        -------
        ndarray, shape (n, distance + 1, s, m)
            With i letters and j mismatches written and the last letter x, entry [i, j, x, y] is the probability to
            append y. Over an alphabet the last letter does not matter and s = 1; on a chain s = m, and before the
            first letter x is the start state. Rows of states that no accepted word visits are zero.

        References
        ----------
        Benvenuti, Rao, Hale 2026, Algorithms 1 and 2.
        """
        distance = int(self._feasible("distance", checks.integer("distance", distance, 0, self.length)))
        if self.space.chain is None:
            return _alphabet_policy(self.codes, len(self.space.labels), distance)
        return chain_policy(self.codes, *self.space.chain, *self._table, distance)

    def sample(
        self,
        distance: ArrayLike,
        size: int | Sequence[int] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> NDArray[Any]:
        """Return words drawn uniformly among the feasible ones at the given distance.

        Parameters
        ----------
        distance : int or array_like of int, shape (...)
            In 0..n.
        size : int or sequence of int, optional
            With one distance alone.
        rng : Generator, int or None

        Returns
        -------
        array of labels
            Shape ``(*size, n)`` for one distance, (..., n) for several, one word for each.

        Raises
        ------
        ValueError
            Where no feasible word has that distance.

        Notes
        -----
        The error of the law in total variation is at most n * (largest number of successors) * 2^-52.
        """
        rng = checks.generator(rng)
        distances = self._feasible("distance", distance)
        if size is not None:
            if distances.ndim:
                raise ValueError(f"size must be None when distance has shape {distances.shape}, got {size}")
            distances = np.full(checks.size("size", size), distances)
        flat = distances.ravel()
        if self.space.chain is None:
            codes = _sample_alphabet(self.codes, len(self.space.labels), flat, rng)
        else:
            codes = sample_chain(self.codes, *self.space.chain, *self._table, flat, rng)
        return self.space.decode(codes.reshape(*distances.shape, self.length))

    def sample_tilted(
        self,
        rate: float,
        size: int | Sequence[int] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> NDArray[Any]:
        """Return feasible words drawn with probability proportional to exp(-rate * distance).

        Parameters
        ----------
        rate : float
            At least 0.
        size : int or sequence of int, optional
        rng : Generator, int or None

        Returns
        -------
        array of labels, shape ``(*size, n)``

        Notes
        -----
        Cost and memory grow with length times transitions, without the factor of the distances.
        """
        rate = checks.scalar("rate", rate, 0.0)
        rng = checks.generator(rng)
        shape = checks.size("size", size)
        draws = math.prod(shape)
        if self.space.chain is None:
            wrong = (len(self.space.labels) - 1) * math.exp(-rate)
            distances = rng.binomial(self.length, wrong / (1.0 + wrong), draws)
            codes = _sample_alphabet(self.codes, len(self.space.labels), distances, rng)
        else:
            weights = tilted_table(self.codes, *self.space.chain[:2], math.exp(-rate))
            codes = sample_tilted(self.codes, *self.space.chain, *weights, math.exp(-rate), draws, rng)
        return self.space.decode(codes.reshape(*shape, self.length))

    def _feasible(self, name: str, distance: ArrayLike) -> Codes:
        """Return distances once each has a feasible word; ValueError with those that have one."""
        values = checks.integers(name, distance, 0, self.length)
        possible = np.isfinite(self.log_counts)
        if not possible[values].all():
            raise ValueError(
                f"{name} must be one at which a feasible word exists ({np.flatnonzero(possible).tolist()}), "
                f"got {values[~possible[values]].flat[0]}"
            )
        return values

    @cached_property
    def _exact_is_cheap(self) -> bool:
        """Return whether exact counting stays within EXACT_WORK: big integers grow with the word."""
        assert self.space.chain is not None
        limbs = (self.length + 1) * _bits(self.length, self.space.chain) / 64
        return self.length * len(self.space.chain.indices) * (50 + limbs) <= EXACT_WORK

    @cached_property
    def _table(self) -> tuple[Array, Exponents]:
        assert self.space.chain is not None
        return suffix_table(self.codes, *self.space.chain[:2])


def _bits(length: int, chain: Chain) -> int:
    most = max(2, int(np.diff(chain.indptr).max()))
    return math.ceil(length * math.log2(most)) + 1


def _exact_counts(codes: Codes, chain: Chain) -> NDArray[np.object_]:
    """Return the counts by distance as exact integers: those of one state lie side by side in a single big one."""
    # One big integer per state holds the counts of all distances side by side, `bits` bits each.
    bits = _bits(len(codes), chain)
    indptr, indices = chain.indptr.tolist(), chain.indices.tolist()
    prefixes = {chain.start: 1}
    for letter in codes.tolist():
        reached: dict[int, int] = {}
        for state, packed in prefixes.items():
            for following in indices[indptr[state] : indptr[state + 1]]:
                reached[following] = reached.get(following, 0) + packed
        prefixes = {state: packed << (bits * (state != letter)) for state, packed in reached.items()}
    total, mask = sum(prefixes.values()), (1 << bits) - 1
    return np.array([(total >> (bits * distance)) & mask for distance in range(len(codes) + 1)], dtype=object)


@njit(cache=True)
def _sample_alphabet(word: Codes, m: int, distances: Codes, rng: np.random.Generator) -> Codes:
    """Return uniform words at given distances over an alphabet, letter by letter."""
    n = len(word)
    words = np.empty((len(distances), n), dtype=np.int64)
    for draw in range(len(distances)):
        left = distances[draw]
        for position in range(n):
            words[draw, position] = word[position]
            if rng.random() * (n - position) < left:
                other = min(int(rng.random() * (m - 1)), m - 2)
                words[draw, position] = other + (other >= word[position])
                left -= 1
    return words


def _alphabet_policy(word: Codes, m: int, distance: int) -> Array:
    """Return the probability of each next letter, given position and mismatches, over an alphabet."""
    n = len(word)
    remaining = (n - np.arange(n))[:, None]
    left = distance - np.arange(distance + 1)
    visited = (np.arange(distance + 1) <= np.arange(n)[:, None]) & (left <= remaining)
    wrong = left / remaining / max(m - 1, 1)
    policy = np.repeat(wrong[:, :, None], m, axis=2)
    policy[np.arange(n), :, word] = 1.0 - left / remaining
    return np.where(visited[:, :, None], policy, 0.0)[:, :, None, :]
