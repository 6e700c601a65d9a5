"""Suffix counts of a chain's words by (position, mismatches, state), in numbers of extended range, and draws by them.

A number is mantissa * 2**(512 * exponent) with the mantissa in [2**-256, 2**256): sums of positive numbers, so the
relative error of an entry is at most n * (largest number of successors) * 2**-53 (Higham 2002, section 3.1), and
integers below 2**53 are exact.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpsim.checks import Array
from dpsim.words.space import Chain, Codes

Exponents = NDArray[np.int16]

UNIT = 2.0**512
HALF_UNIT = 2.0**256


def log_counts_of_words(codes: Codes, chain: Chain) -> Array:
    """Return the log-counts (k, n + 1) of k feasible words (k, n) of a chain, as `HammingAutomaton.log_counts`."""
    logs = np.empty((len(codes), codes.shape[1] + 1))
    for row, word in enumerate(codes):
        mantissa, exponent = suffix_table(word, chain.indptr, chain.indices)
        logs[row] = start_log_counts(mantissa, exponent, chain, codes.shape[1])
    return logs


def log_normalisers(codes: Codes, chain: Chain, rate: float) -> Array:
    """Return log Z_w (k,) of k feasible words (k, n): Z_w sums exp(-rate * distance to w) over the feasible words."""
    return np.asarray(_log_normalisers(codes, *chain, math.exp(-rate)))


def start_log_counts(mantissa: Array, exponent: Exponents, chain: Chain, n: int) -> Array:
    """Return the log-counts (n + 1,) of whole words, which follow the start state, from a suffix table."""
    row = chain.start + chain.states * np.arange(n + 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mantissa[row]) + exponent[row] * math.log(UNIT))


@njit(cache=True)
def _layer(n: int, position: int) -> int:
    """Return how many (mismatches, state) pairs per state lie before a position: the table is triangular."""
    return position * (n + 1) - position * (position - 1) // 2


@njit(cache=True)
def _rescaled(value: float, exponent: int) -> tuple[float, int]:
    """Return the same number with a mantissa near 1, so that tables of long words neither overflow nor vanish."""
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
def _added(total: float, scale: int, mantissa: float, exponent: int) -> tuple[float, int]:
    """Return a sum in its scale after adding a number in another; the larger scale stays."""
    if mantissa == 0.0:
        return total, scale
    if exponent > scale:
        return _aligned(total, exponent - scale) + mantissa, exponent
    return total + _aligned(mantissa, scale - exponent), scale


@njit(cache=True)
def suffix_table(word: Codes, indptr: Codes, indices: Codes) -> tuple[Array, Exponents]:
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
                    total, top = _added(total, top, mantissa[entry], np.int64(exponent[entry]))
                if total > 0.0:
                    total, top = _rescaled(total, top)
                    mantissa[(here + mismatches) * states + state] = total
                    exponent[(here + mismatches) * states + state] = top
    return mantissa, exponent


def _plain_counts(word: Codes, chain: Chain) -> list[int]:
    """Return the numbers of words at distance 0 to n in whole numbers: what `suffix_table` does, in a few lines."""
    adjacency = np.zeros((chain.states, chain.states), dtype=object)
    adjacency[np.repeat(np.arange(chain.states), np.diff(chain.indptr)), chain.indices] = 1
    suffixes = np.zeros((chain.states, len(word) + 1), dtype=object)  # by the letter before, and mismatches to come
    suffixes[:, 0] = 1
    for letter in word[::-1]:
        following = np.roll(suffixes, 1, axis=1)  # another letter: one mismatch more
        following[letter] = suffixes[letter]
        suffixes = adjacency @ following
    return list(suffixes[chain.start])


@njit(cache=True)
def sample_chain(
    word: Codes,
    indptr: Codes,
    indices: Codes,
    start: int,
    mantissa: Array,
    exponent: Exponents,
    distances: Codes,
    rng: np.random.Generator,
) -> Codes:
    """Return one word (k, n) for each distance (k,), uniform at its distance, by the suffix table."""
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
def tilted_table(word: Codes, indptr: Codes, indices: Codes, q: float) -> tuple[Array, NDArray[np.int64]]:
    """Return the sums of q^mismatches over the suffixes after each (position, state), (n + 1, S) in two parts."""
    n, states = len(word), len(indptr) - 1
    mantissa = np.ones((n + 1, states))
    exponent = np.zeros((n + 1, states), dtype=np.int64)
    for position in range(n - 1, -1, -1):
        for state in range(states):
            top, total = np.int64(-(2**30)), 0.0
            for edge in range(indptr[state], indptr[state + 1]):
                following = indices[edge]
                value = mantissa[position + 1, following] * (1.0 if following == word[position] else q)
                total, top = _added(total, top, value, exponent[position + 1, following])
            if total > 0.0:
                total, top = _rescaled(total, top)
            else:
                top = np.int64(0)
            mantissa[position, state] = total
            exponent[position, state] = top
    return mantissa, exponent


@njit(cache=True)
def _log_normalisers(codes: Codes, indptr: Codes, indices: Codes, start: int, q: float) -> Array:
    """Return log Z of each word at one temperature."""
    logs = np.empty(len(codes))
    for row in range(len(codes)):
        mantissa, exponent = tilted_table(codes[row], indptr, indices, q)
        logs[row] = math.log(mantissa[0, start]) + exponent[0, start] * math.log(UNIT)
    return logs


@njit(cache=True)
def sample_tilted(
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
    """Return words (draws, n) with probability proportional to q^distance, by the table of `tilted_table`."""
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
def chain_policy(
    word: Codes,
    indptr: Codes,
    indices: Codes,
    start: int,
    mantissa: Array,
    exponent: Exponents,
    distance: int,
) -> Array:
    """Return the policy (n, distance + 1, S, S) that draws uniformly at a distance, zero where nothing leads."""
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
