"""How much one letter of a chain's word can change the normaliser of the exponential mechanism, proven.

Z_w is the sum of q^d(w, r) over the feasible words r. For v that differs from w in letter i alone (s in w, s' in v),
Z_w = q T + (1 - q) g_s and Z_v = q T + (1 - q) g_s', where g_t is the weight of the words r with r_i = t and letter i
left out, and T = sum_t g_t. So log(Z_v / Z_w) needs only the ratios of the g_t: products of a forward message over the
letters before i and a backward one over those after. Interval arithmetic on the messages bounds what the letters
outside a window around i can do; branch and bound widens the windows that matter.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from dpsim.checks import Array
from dpsim.words.space import Chain, Codes

# Windows expanded, and the gap between the bounds at which the search stops.
WINDOWS, GAP = 10_000, 1e-3
# Bytes of message bounds, and narrow windows, beyond which the trivial bound is returned.
MEMORY, NARROW = 2**28, 500_000
# Covers every rounding of the interval arithmetic, relative.
SLACK = 1e-9


class NormaliserRatio(NamedTuple):
    """lower <= max log(Z_v / Z_w) <= upper, where some pair reaches lower, and a lower bound on every log Z_w."""

    lower: float
    upper: float
    log_smallest: float


class Side(NamedTuple):
    """Bounds on the messages from one end of the word: positions count from that end.

    indptr, indices: the states that feed each state. low, high (n, S, S): bounds on message[t] / message[x] at each
    position with letter x, over all feasible letters nearer the end. feasible (n, S). first (S,): what feeds the first
    letter.
    """

    indptr: Codes
    indices: Codes
    low: Array
    high: Array
    feasible: NDArray[np.bool_]
    first: Array


class Window(NamedTuple):
    """Letters first..last of a word, and the letter `other` that replaces letter i."""

    word: Codes
    first: int
    last: int
    i: int
    other: int


def normaliser_ratio(chain: Chain, n: int, rate: float) -> NormaliserRatio:
    """Return bounds on the largest log(Z_v / Z_w) over feasible words w, v of length n that differ in one letter.

    rate >= 0, q = exp(-rate). Both hold up to a relative 1e-9, and meet within 1e-3 unless the chain needs more than
    10,000 windows; then upper is the largest bound still open. Where the message bounds exceed 256 MiB (16 n S^2 bytes)
    or the narrow windows 500,000 (n times transitions times the square of the most successors), it is the trivial one,
    rate.
    """
    narrow = n * len(chain.indices) * int(np.diff(chain.indptr).max()) ** 2
    if 16 * n * chain.states**2 > MEMORY or narrow > NARROW:
        return NormaliserRatio(0.0, rate, 0.0)
    q = math.exp(-rate)
    matrix = sp.csr_array((np.ones(len(chain.indices)), chain.indices, chain.indptr), shape=(chain.states,) * 2)
    columns = sp.csr_array(matrix.T)
    first = matrix[[chain.start], :].toarray().ravel()
    before = _side(columns.indptr.astype(np.int64), columns.indices.astype(np.int64), first, n, q)
    after = _side(chain.indptr, chain.indices, np.ones(chain.states), n, q)
    lower, upper = _branch_and_bound(before, after, n, q)
    log_smallest = _log_smallest(before, n)
    return NormaliserRatio(lower, min(rate, upper + SLACK), log_smallest - SLACK)


def _side(indptr: Codes, indices: Codes, first: Array, n: int, q: float) -> Side:
    """Return one side of a window: who feeds whom, and the bounds on its messages."""
    states = len(first)
    low, high = np.full((n, states, states), np.inf), np.zeros((n, states, states))
    feasible = np.zeros((n, states), dtype=np.bool_)
    feasible[0] = first > 0.0
    low[0] = high[0] = np.where(np.eye(states, dtype=bool), 1.0, q * first)
    edges = list(zip(np.repeat(np.arange(states), np.diff(indptr)).tolist(), indices.tolist()))
    for position in range(1, n):
        for letter, source in edges:
            if feasible[position - 1, source]:
                feasible[position, letter] = True
                step = _step(indptr, indices, low[position - 1, source], high[position - 1, source], letter, q)
                np.minimum(low[position, letter], step[0], out=low[position, letter])
                np.maximum(high[position, letter], step[1], out=high[position, letter])
    return Side(indptr, indices, low, high, feasible, first)


def _branch_and_bound(before: Side, after: Side, n: int, q: float) -> tuple[float, float]:
    """Return bounds on the largest log-ratio of normalisers; a pair attains the lower one."""

    def bounded(windows: list[Window]) -> list[tuple[float, Window]]:
        """Return windows of one letter i and one extent with their bounds."""
        words, other = np.array([window.word for window in windows]), np.array([window.other for window in windows])
        bounds = _window_bounds(words, other, *windows[0][1:4], n, q, before, after)
        return list(zip(bounds.tolist(), windows))

    narrow = [list(windows) for windows in _narrow_windows(before, after, n)]
    heap = [
        (-bound, order, window)
        for order, (bound, window) in enumerate(found for windows in narrow if windows for found in bounded(windows))
    ]
    heapq.heapify(heap)
    order, lower, step = len(heap), 0.0, 0
    while heap and -heap[0][0] - lower > GAP and step < WINDOWS:
        bound, _, window = heapq.heappop(heap)
        if _whole(window, n) or step & (step - 1) == 0:  # now and then, follow the best window to a whole word
            value, candidate = -bound, window
            while not _whole(candidate, n):
                value, candidate = max(bounded(_wider(candidate, before, after, n)), key=lambda found: found[0])
            lower = max(lower, value)
        if not _whole(window, n):
            for value, child in bounded(_wider(window, before, after, n)):
                heapq.heappush(heap, (-value, order, child))
                order += 1
        step += 1
    return lower, max(lower, -heap[0][0]) if heap else lower


def _whole(window: Window, n: int) -> bool:
    return window.first == 0 and window.last == n - 1


def _fed(side: Side, state: int) -> Codes:
    return side.indices[side.indptr[state] : side.indptr[state + 1]]


def _narrow_windows(before: Side, after: Side, n: int) -> Iterator[list[Window]]:
    """Yield for each letter i every window of it and its neighbours, with every replacement of letter i."""
    word = np.zeros(n, dtype=np.int64)
    states = len(before.first)
    fed = [set(_fed(after, state).tolist()) for state in range(states)]
    for i in range(n):
        windows = []
        fits = before.feasible[i] & after.feasible[n - 1 - i]
        lefts = [-1] if i == 0 else np.flatnonzero(before.feasible[i - 1]).tolist()
        for left in lefts:
            here = range(states) if left < 0 else _fed(after, left)
            choices = [int(s) for s in here if fits[s]]
            for s in choices:
                for other in choices:
                    if other == s:
                        continue
                    rights = [-1] if i == n - 1 else sorted(fed[s] & fed[other])
                    for right in rights:
                        if right >= 0 and not after.feasible[n - 2 - i, right]:
                            continue
                        word[max(i - 1, 0)], word[min(i + 1, n - 1)], word[i] = left, right, s
                        windows.append(Window(word.copy(), max(i - 1, 0), min(i + 1, n - 1), i, other))
        yield windows


def _wider(window: Window, before: Side, after: Side, n: int) -> list[Window]:
    """Return the windows with one more letter, on the side where fewer are known."""
    word, first, last, i, other = window
    windows = []
    if last == n - 1 or (first > 0 and i - first <= last - i):
        for letter in _fed(before, word[first]):
            if before.feasible[first - 1, letter]:
                wider = word.copy()
                wider[first - 1] = letter
                windows.append(Window(wider, first - 1, last, i, other))
    else:
        for letter in _fed(after, word[last]):
            if after.feasible[n - 2 - last, letter]:
                wider = word.copy()
                wider[last + 1] = letter
                windows.append(Window(wider, first, last + 1, i, other))
    return windows


@njit(cache=True)
def _step(indptr: Codes, indices: Codes, low: Array, high: Array, letter: int, q: float) -> tuple[Array, Array]:
    """Return bounds on the next message over its entry `letter`, from bounds on this one over its own letter.

    An entry is a ratio of two linear sums that may share terms: the extreme lies at an end of every interval, and the
    shared terms pull the ratio towards one.
    """
    states = len(low)
    below = np.zeros(states, dtype=np.bool_)
    for edge in range(indptr[letter], indptr[letter + 1]):
        below[indices[edge]] = True
    sum_low, sum_high = 0.0, 0.0
    for edge in range(indptr[letter], indptr[letter + 1]):
        sum_low += low[indices[edge]]
        sum_high += high[indices[edge]]
    next_low, next_high = np.zeros(states), np.zeros(states)
    for state in range(states):
        if state == letter:
            next_low[state] = next_high[state] = 1.0
            continue
        above_low, above_high, shared_low, shared_high = 0.0, 0.0, 0.0, 0.0
        for edge in range(indptr[state], indptr[state + 1]):
            source = indices[edge]
            if below[source]:
                shared_low += low[source]
                shared_high += high[source]
            else:
                above_low += low[source]
                above_high += high[source]
        rest_low = max(0.0, sum_low - shared_low)
        rest_high = max(0.0, sum_high - shared_high)
        shared = shared_low if above_high > rest_low else shared_high
        next_high[state] = q * (above_high + shared) / (rest_low + shared)
        shared = shared_high if above_low > rest_high else shared_low
        next_low[state] = q * (above_low + shared) / (rest_high + shared)
    return next_low, next_high


@njit(cache=True)
def _inflow_bounds(word: Codes, outer: int, i: int, far: int, q: float, side: Side) -> tuple[Array, Array]:
    """Return bounds on what feeds letter i from one side: the letters from `outer` (for the side: `far`) up to i."""
    if outer == i:
        return side.first, side.first
    low, high = side.low[far, word[outer]], side.high[far, word[outer]]
    inwards = 1 if outer < i else -1
    for place in range(outer + inwards, i, inwards):
        low, high = _step(side.indptr, side.indices, low, high, word[place], q)
    total_low, total_high = np.zeros(len(low)), np.zeros(len(low))
    for state in range(len(low)):
        for edge in range(side.indptr[state], side.indptr[state + 1]):
            total_low[state] += low[side.indices[edge]]
            total_high[state] += high[side.indices[edge]]
    return total_low, total_high


@njit(cache=True)
def _window_bounds(
    words: Codes, others: Codes, first: int, last: int, i: int, n: int, q: float, before: Side, after: Side
) -> Array:
    """Return upper bounds (k,) on max(0, log(Z_v / Z_w)) over the words with each window; exact on whole words."""
    bounds = np.zeros(len(words))
    for k in range(len(words)):
        word, other = words[k], others[k]
        left_low, left_high = _inflow_bounds(word, first, i, first, q, before)
        right_low, right_high = _inflow_bounds(word, last, i, n - 1 - last, q, after)
        total = 0.0
        for state in range(len(left_low)):
            total += left_low[state] * right_low[state]
        kept, replaced = left_low[word[i]] * right_low[word[i]], left_high[other] * right_high[other]
        rest = max(0.0, total - kept - left_low[other] * right_low[other])
        # Increasing in g_s', decreasing in g_s, and in the rest where the ratio exceeds one.
        bounds[k] = max(0.0, math.log((q * rest + replaced + q * kept) / (q * rest + q * replaced + kept)))
    return bounds


def _log_smallest(side: Side, n: int) -> float:
    """Return a lower bound on log Z_w over all feasible words w: the cheapest path of the messages' least growth."""
    letters = np.repeat(np.arange(len(side.first)), np.diff(side.indptr))
    feeds = np.zeros((len(side.first),) * 2)
    feeds[letters, side.indices] = 1.0
    smallest = np.where(side.feasible[0], 0.0, np.inf)
    for position in range(1, n):
        here = side.feasible[position - 1, side.indices]
        letter, source = letters[here], side.indices[here]
        inflow = (side.low[position - 1, source] * feeds[letter]).sum(axis=1)
        reached = np.full(len(smallest), np.inf)
        np.minimum.at(reached, letter, smallest[source] + np.log(inflow))
        smallest = reached
    last = side.feasible[n - 1]
    return float((smallest[last] + np.log(side.low[n - 1, last].sum(axis=1))).min())
