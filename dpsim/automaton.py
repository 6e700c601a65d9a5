"""Counting automata: how many words lie at each Hamming distance from a word, and uniform draws among them.

A state of the automaton is (letters written, mismatches so far, last letter). One table, the number of suffixes
by (position, mismatches still to come, last letter), serves every distance: the paper's V and mu are its
entries and their ratios (Benvenuti, Rao, Hale 2026, Definitions 5 and 6, Algorithms 1 and 2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpsim import checks

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

# Machine-word additions up to which the exact integers are computed; about a tenth of a second.
EXACT_WORK = 10**8

# A number of the tables is mantissa * 2**(512 * exponent) with the mantissa in [2**-256, 2**256).
UNIT = 2.0**512
HALF_UNIT = 2.0**256


class Chain(NamedTuple):
    """The feasible transitions of a Markov chain in compressed rows, and the code of its start state."""

    indptr: Codes
    indices: Codes
    start: int

    @property
    def states(self) -> int:
        """Return the number of states."""
        return len(self.indptr) - 1


def successors(chain: Chain, state: int) -> Codes:
    """Return the codes of the states that may follow a state."""
    return chain.indices[chain.indptr[state] : chain.indptr[state + 1]]


class WordSpace(NamedTuple):
    """The labels of the letters and the chain that words must follow (None: every word is feasible)."""

    labels: Sequence[Hashable]
    chain: Chain | None

    def encode(self, word: Sequence[Hashable] | ArrayLike) -> Codes:
        """Return the codes (n,) of a non-empty feasible word; ValueError names what is wrong with it."""
        letters = word.tolist() if isinstance(word, np.ndarray) else list(word)  # type: ignore[arg-type]
        if not letters:
            raise ValueError("word must have at least one letter, got an empty one")
        codes = np.array([self.code("word", letter) for letter in letters], dtype=np.int64)
        if self.chain is not None:
            self._check_feasible(codes)
        return codes

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the labels of an array of codes; integers when the labels are 0 to m - 1."""
        if isinstance(self.labels, range):
            return codes
        labels = np.empty(len(self.labels), dtype=object)
        labels[:] = self.labels
        return (labels.astype(str) if all(isinstance(x, str) for x in self.labels) else labels)[codes]

    def code(self, name: str, label: Any) -> int:
        """Return the code of a label; ValueError names the argument it came from."""
        try:
            return self.labels.index(label)
        except ValueError:
            pass
        first, last = self.labels[0], self.labels[-1]
        raise ValueError(f"{name} must use the {len(self.labels)} letters from {first!r} to {last!r}, got {label!r}")

    def _check_feasible(self, codes: Codes) -> None:
        assert self.chain is not None
        last = self.chain.start
        for position, code in enumerate(codes):
            if code not in successors(self.chain, last):
                raise ValueError(
                    f"word must follow the allowed transitions, got {self.labels[code]!r} after "
                    f"{self.labels[last]!r} at position {position}"
                )
            last = int(code)


def word_space(
    letters: int | Sequence[Hashable] | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
) -> WordSpace:
    """Return the space of words over an alphabet, or of the trajectories of a chain that leave a start state.

    letters: the labels, or their number m for 0 to m - 1; may be left out with an adjacency. adjacency:
    (m, m), dense or scipy sparse, non-zero where the transition row -> column is feasible; transition
    probabilities serve. start: a label, needed exactly when an adjacency is given. Raises ValueError.
    """
    if adjacency is None:
        if letters is None:
            raise ValueError("letters must be given (labels, or their number) unless adjacency is, got None")
        if start is not None:
            raise ValueError(f"start must be None without an adjacency, got {start!r}")
        return WordSpace(_labels(letters), None)
    rows = _feasible_transitions(adjacency)
    labels = _labels(rows.shape[0] if letters is None else letters)
    if len(labels) != rows.shape[0]:
        raise ValueError(f"letters must have one label per state, {rows.shape[0]}, got {len(labels)}")
    if start is None:
        raise ValueError("start must be one of the states when an adjacency is given, got None")
    space = WordSpace(labels, None)
    chain = Chain(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), space.code("start", start))
    return WordSpace(labels, chain)


def _feasible_transitions(adjacency: ArrayLike | sp.sparray) -> sp.csr_array:
    matrix: Any = adjacency if sp.issparse(adjacency) else checks.real("adjacency", adjacency, 0.0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"adjacency must be a square matrix (m, m) with m >= 1, got shape {matrix.shape}")
    rows = sp.csr_array(matrix, copy=True)
    checks.real("adjacency", rows.data, 0.0)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _labels(letters: int | Sequence[Hashable]) -> Sequence[Hashable]:
    if isinstance(letters, (int, np.integer)):
        return range(checks.integer("letters", letters, 1))
    labels = letters.tolist() if isinstance(letters, np.ndarray) else list(letters)
    if not labels or len(set(labels)) != len(labels):
        raise ValueError(f"letters must be one or more different labels, got {labels!r}")
    return range(len(labels)) if labels == list(range(len(labels))) else labels


def alphabet_counts(n: int, m: int) -> NDArray[np.object_]:
    """Return the exact numbers (n + 1,) of words at distance 0 to n from any word of n letters out of m.

    n >= 1, m >= 1. M(n, m, l) = binom(n, l) (m - 1)^l of Benvenuti et al. 2026, as Python integers.
    """
    n, m = checks.integer("n", n, 1), checks.integer("m", m, 1)
    counts = [1]
    for distance in range(1, n + 1):
        counts.append(counts[-1] * (n - distance + 1) * (m - 1) // distance)
    return np.array(counts, dtype=object)


def log_integers(values: NDArray[Any]) -> Array:
    """Return the natural logarithms of non-negative integers of any size; zero gives minus infinity."""
    flat = [math.log(value) if value > 0 else -math.inf for value in values.ravel().tolist()]
    return np.array(flat, dtype=float).reshape(values.shape)


class HammingAutomaton:
    """The modified Hamming automaton of a word, or its product with a Markov chain.

    word: n >= 1 letters; over an alphabet `letters` (labels, or their number m for 0 to m - 1), or a
    trajectory of a chain, `adjacency` (m, m) dense or sparse, that follows (and does not contain) the state
    `start`. The word must be feasible. Raises ValueError for an empty or infeasible word, unknown letters or
    states, a malformed adjacency.
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

        Raises ValueError on a chain too long for them to be cheap (about 250 letters over 43 states of five
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
        return _log_counts(*self._table, self.space.chain, self.length)

    def policy(self, distance: int) -> Array:
        """Return mu, the policy that draws uniformly among the words at this distance.

        Shape (n, distance + 1, s, m): with i letters and j mismatches written and the last letter x, entry
        [i, j, x, y] is the probability to append y. Over an alphabet the last letter does not matter and
        s = 1; on a chain s = m, and before the first letter x is the start state. Rows of states that no
        accepted word visits are zero. Algorithms 1 and 2 of Benvenuti et al. 2026.
        """
        distance = int(self._feasible("distance", distance))
        if self.space.chain is None:
            return _alphabet_policy(self.codes, len(self.space.labels), distance)
        return _chain_policy(self.codes, *self.space.chain, *self._table, distance)

    def sample(
        self, distance: ArrayLike, size: int | None = None, rng: np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Return words drawn uniformly among the feasible ones at the given distance.

        distance: an integer, giving (n,) or (size, n); or integers (...), without size, giving (..., n), one
        word for each. Letters are labels. Raises ValueError where no feasible word has that distance.
        The error of the law in total variation is at most n * (largest number of successors) * 2**-52.
        """
        rng = checks.generator(rng)
        distances = self._feasible("distance", distance)
        if size is not None:
            if distances.ndim:
                raise ValueError(f"size must be None when distance has shape {distances.shape}, got {size}")
            distances = np.full(checks.integer("size", size, 0), distances)
        flat = distances.ravel()
        if self.space.chain is None:
            codes = _sample_alphabet(self.codes, len(self.space.labels), flat, rng)
        else:
            codes = _sample_chain(self.codes, *self.space.chain, *self._table, flat, rng)
        return self.space.decode(codes.reshape(*distances.shape, self.length))

    def sample_tilted(
        self, rate: float, size: int | None = None, rng: np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Return feasible words (n,) or (size, n) drawn with probability proportional to exp(-rate * distance).

        rate >= 0. Cost and memory grow with length times transitions, without the factor of the distances.
        """
        rate = checks.scalar("rate", rate, 0.0)
        rng = checks.generator(rng)
        draws = 1 if size is None else checks.integer("size", size, 0)
        if self.space.chain is None:
            wrong = (len(self.space.labels) - 1) * math.exp(-rate)
            distances = rng.binomial(self.length, wrong / (1.0 + wrong), draws)
            codes = _sample_alphabet(self.codes, len(self.space.labels), distances, rng)
        else:
            weights = _tilted_table(self.codes, *self.space.chain[:2], math.exp(-rate))
            codes = _sample_tilted(self.codes, *self.space.chain, *weights, math.exp(-rate), draws, rng)
        return self.space.decode(codes[0] if size is None else codes)

    def _feasible(self, name: str, distance: ArrayLike) -> Codes:
        values = checks.real(name, distance, 0, self.length)
        rounded = values.astype(np.int64)
        possible = np.isfinite(self.log_counts)
        bad = (rounded != values) | ~possible[rounded]
        if bad.any():
            raise ValueError(
                f"{name} must be an integer in [0, {self.length}] at which a feasible word exists "
                f"({np.flatnonzero(possible).tolist()}), got {np.asarray(values)[bad].flat[0]:g}"
            )
        return rounded

    @cached_property
    def _exact_is_cheap(self) -> bool:
        assert self.space.chain is not None
        limbs = (self.length + 1) * _bits(self.length, self.space.chain) / 64
        return self.length * len(self.space.chain.indices) * (50 + limbs) <= EXACT_WORK

    @cached_property
    def _table(self) -> tuple[Array, NDArray[np.int16]]:
        assert self.space.chain is not None
        return suffix_table(self.codes, *self.space.chain[:2])


def log_counts_of_words(codes: Codes, chain: Chain) -> Array:
    """Return the log-counts (k, n + 1) of k feasible words (k, n) of a chain, as `HammingAutomaton.log_counts`."""
    logs = np.empty((len(codes), codes.shape[1] + 1))
    for row, word in enumerate(codes):
        mantissa, exponent = suffix_table(word, chain.indptr, chain.indices)
        logs[row] = _log_counts(mantissa, exponent, chain, codes.shape[1])
    return logs


def log_normalisers(codes: Codes, chain: Chain, rate: float) -> Array:
    """Return log Z_w (k,) of k feasible words (k, n): Z_w sums exp(-rate * distance to w) over the feasible words."""
    return np.asarray(_log_normalisers(codes, *chain, math.exp(-rate)))


def _log_counts(mantissa: Array, exponent: NDArray[np.int16], chain: Chain, n: int) -> Array:
    row = chain.start + chain.states * np.arange(n + 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mantissa[row]) + exponent[row] * math.log(UNIT))


def _bits(length: int, chain: Chain) -> int:
    most = max(2, int(np.diff(chain.indptr).max()))
    return math.ceil(length * math.log2(most)) + 1


def _exact_counts(codes: Codes, chain: Chain) -> NDArray[np.object_]:
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
def _layer(n: int, position: int) -> int:
    """Return how many (mismatches, state) pairs per state lie before a position: the table is triangular."""
    return position * (n + 1) - position * (position - 1) // 2


@njit(cache=True)
def _rescaled(value: float, exponent: int) -> tuple[float, int]:
    if value >= HALF_UNIT:
        return value / UNIT, exponent + 1
    if 0.0 < value < 1.0 / HALF_UNIT:
        return value * UNIT, exponent - 1
    return value, exponent


@njit(cache=True)
def _aligned(mantissa: float, below: int) -> float:
    """Return a mantissa in a scale `below` units above its own; two units up it is lost in any rounding."""
    if below == 0:
        return mantissa
    if below == 1:
        return mantissa / UNIT
    return 0.0 if below > 1 else mantissa * UNIT**-below


@njit(cache=True)
def suffix_table(word: Codes, indptr: Codes, indices: Codes) -> tuple[Array, NDArray[np.int16]]:
    """Return the numbers of suffixes as (mantissa, exponent), flat, value mantissa * 2**(512 * exponent).

    Entry (layer(position) + mismatches) * states + state counts the ways to write the letters from `position`
    on, after a letter `state`, with that many mismatches.
    """
    n, states = len(word), len(indptr) - 1
    mantissa = np.zeros(_layer(n, n + 1) * states)
    exponent = np.zeros(len(mantissa), dtype=np.int16)
    mantissa[_layer(n, n) * states :] = 1.0
    for position in range(n - 1, -1, -1):
        here, below = _layer(n, position), _layer(n, position + 1)
        for mismatches in range(n - position + 1):
            for state in range(states):
                top, total = np.int64(-(2**30)), 0.0
                for edge in range(indptr[state], indptr[state + 1]):
                    left = mismatches - (indices[edge] != word[position])
                    if left < 0 or left > n - position - 1:
                        continue
                    entry = (below + left) * states + indices[edge]
                    value, power = mantissa[entry], np.int64(exponent[entry])
                    if value == 0.0:
                        continue
                    if power > top:
                        total = _aligned(total, power - top)
                        top = power
                    total += _aligned(value, top - power)
                if total > 0.0:
                    total, top = _rescaled(total, top)
                    mantissa[(here + mismatches) * states + state] = total
                    exponent[(here + mismatches) * states + state] = top
    return mantissa, exponent


@njit(cache=True)
def _sample_chain(
    word: Codes,
    indptr: Codes,
    indices: Codes,
    start: int,
    mantissa: Array,
    exponent: NDArray[np.int16],
    distances: Codes,
    rng: np.random.Generator,
) -> Codes:
    n, states = len(word), len(indptr) - 1
    words = np.empty((len(distances), n), dtype=np.int64)
    for draw in range(len(distances)):
        state, left = start, distances[draw]
        for position in range(n):
            entry = (_layer(n, position) + left) * states + state
            power = np.int64(exponent[entry])
            target, chosen = rng.random() * mantissa[entry], -1
            for edge in range(indptr[state], indptr[state + 1]):
                after = left - (indices[edge] != word[position])
                if after < 0 or after > n - position - 1:
                    continue
                entry = (_layer(n, position + 1) + after) * states + indices[edge]
                share = _aligned(mantissa[entry], power - exponent[entry])
                if share > 0.0:
                    chosen = indices[edge]  # stays the last one possible if rounding leaves a remainder
                    target -= share
                    if target < 0.0:
                        break
            left -= chosen != word[position]
            state = chosen
            words[draw, position] = chosen
    return words


@njit(cache=True)
def _tilted_table(word: Codes, indptr: Codes, indices: Codes, q: float) -> tuple[Array, NDArray[np.int64]]:
    n, states = len(word), len(indptr) - 1
    mantissa = np.ones((n + 1, states))
    exponent = np.zeros((n + 1, states), dtype=np.int64)
    for position in range(n - 1, -1, -1):
        for state in range(states):
            top, total = np.int64(-(2**30)), 0.0
            for edge in range(indptr[state], indptr[state + 1]):
                following = indices[edge]
                value = mantissa[position + 1, following] * (1.0 if following == word[position] else q)
                power = exponent[position + 1, following]
                if value == 0.0:
                    continue
                if power > top:
                    total = _aligned(total, power - top)
                    top = power
                total += _aligned(value, top - power)
            if total > 0.0:
                total, top = _rescaled(total, top)
            else:
                top = np.int64(0)
            mantissa[position, state] = total
            exponent[position, state] = top
    return mantissa, exponent


@njit(cache=True)
def _log_normalisers(codes: Codes, indptr: Codes, indices: Codes, start: int, q: float) -> Array:
    logs = np.empty(len(codes))
    for row in range(len(codes)):
        mantissa, exponent = _tilted_table(codes[row], indptr, indices, q)
        logs[row] = math.log(mantissa[0, start]) + exponent[0, start] * math.log(UNIT)
    return logs


@njit(cache=True)
def _sample_tilted(
    word: Codes,
    indptr: Codes,
    indices: Codes,
    start: int,
    mantissa: Array,
    exponent: NDArray[np.int64],
    q: float,
    draws: int,
    rng: np.random.Generator,
) -> Codes:
    n = len(word)
    words = np.empty((draws, n), dtype=np.int64)
    for draw in range(draws):
        state = start
        for position in range(n):
            target, chosen = rng.random() * mantissa[position, state], -1
            for edge in range(indptr[state], indptr[state + 1]):
                following = indices[edge]
                below = exponent[position, state] - exponent[position + 1, following]
                value = mantissa[position + 1, following] * (1.0 if following == word[position] else q)
                share = _aligned(value, below)
                if share > 0.0:
                    chosen = following
                    target -= share
                    if target < 0.0:
                        break
            state = chosen
            words[draw, position] = chosen
    return words


@njit(cache=True)
def _sample_alphabet(word: Codes, m: int, distances: Codes, rng: np.random.Generator) -> Codes:
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
    n = len(word)
    remaining = (n - np.arange(n))[:, None]
    left = distance - np.arange(distance + 1)
    visited = (np.arange(distance + 1) <= np.arange(n)[:, None]) & (left <= remaining)
    wrong = left / remaining / max(m - 1, 1)
    policy = np.repeat(wrong[:, :, None], m, axis=2)
    policy[np.arange(n), :, word] = 1.0 - left / remaining
    return np.where(visited[:, :, None], policy, 0.0)[:, :, None, :]


@njit(cache=True)
def _chain_policy(
    word: Codes,
    indptr: Codes,
    indices: Codes,
    start: int,
    mantissa: Array,
    exponent: NDArray[np.int16],
    distance: int,
) -> Array:
    n, states = len(word), len(indptr) - 1
    policy = np.zeros((n, distance + 1, states, states))
    visited = np.zeros((n + 1, distance + 1, states), dtype=np.bool_)
    visited[0, 0, start] = True
    for position in range(n):
        for mismatches in range(distance + 1):
            for state in range(states):
                if not visited[position, mismatches, state]:
                    continue
                here = (_layer(n, position) + distance - mismatches) * states + state
                for edge in range(indptr[state], indptr[state + 1]):
                    following = indices[edge]
                    after = mismatches + (following != word[position])
                    if after > distance or distance - after > n - position - 1:
                        continue
                    entry = (_layer(n, position + 1) + distance - after) * states + following
                    share = _aligned(mantissa[entry], np.int64(exponent[here]) - exponent[entry])
                    if share > 0.0:
                        policy[position, mismatches, state, following] = share / mantissa[here]
                        visited[position + 1, after, following] = True
    return policy
