"""How much one letter of a chain's word can change the normaliser of the exponential mechanism, proven.

Z_w is the sum of q^d(w, r) over the feasible words r. For v that differs from w in letter i alone (s in w, s' in v),
Z_w = q T + (1 - q) g_s and Z_v = q T + (1 - q) g_s', where g_t is the weight of the words r with r_i = t and
letter i left out, and T = sum_t g_t. So log(Z_v / Z_w) needs only the ratios of the g_t: products of a forward
message over the letters before i and a backward one over those after. Interval arithmetic on the messages
bounds what the letters outside a window around i can do; branch and bound widens the windows that matter.
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

    indptr, indices: the states that feed each state. low, high (n, S, S): bounds on message[t] / message[x]
    at each position with letter x, over all feasible letters nearer the end. feasible (n, S). first (S,):
    what feeds the first letter.
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

    rate >= 0, q = exp(-rate). Both bounds hold up to a relative 1e-9. They meet within 1e-3 unless the chain
    needs more than 10,000 windows; then upper is the largest bound still open. Where the
    message bounds exceed 256 MiB (16 n S^2 bytes) or the narrow windows 500,000 (n times transitions times the square
    of the most successors), the trivial bound, rate, is returned.
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
    log_smallest = _log_smallest(before.indptr, before.indices, before.low, before.feasible)
    return NormaliserRatio(lower, min(rate, upper + SLACK), log_smallest - SLACK)


def _side(indptr: Codes, indices: Codes, first: Array, n: int, q: float) -> Side:
    """Return one side of a window: who feeds whom, and the bounds on its messages."""
    states = len(first)
    low, high = np.full((n, states, states), np.inf), np.zeros((n, states, states))
    feasible = np.zeros((n, states), dtype=np.bool_)
    _fill(low, high, feasible, indptr, indices, first, q)
    return Side(indptr, indices, low, high, feasible, first)


def _branch_and_bound(before: Side, after: Side, n: int, q: float) -> tuple[float, float]:
    """Return bounds on the largest log-ratio of normalisers; a pair attains the lower one."""

    def bound(window: Window) -> float:
        return float(_window_bound(window, n, q, before, after))

    heap = [(-bound(window), order, window) for order, window in enumerate(_narrow_windows(before, after, n))]
    if not heap:
        return 0.0, 0.0
    heapq.heapify(heap)
    order, lower = len(heap), -1.0
    step = 0
    while heap and -heap[0][0] - lower > GAP and step < WINDOWS:
        window = heapq.heappop(heap)[2]
        if _whole(window, n) or step & (step - 1) == 0:  # now and then, follow the best window to a whole word
            candidate = window
            while not _whole(candidate, n):
                candidate = max(_wider(candidate, before, after, n), key=bound)
            lower = max(lower, bound(candidate))
        for child in [] if _whole(window, n) else _wider(window, before, after, n):
            heapq.heappush(heap, (-bound(child), order, child))
            order += 1
        step += 1
    return lower, max(lower, -heap[0][0]) if heap else lower


def _whole(window: Window, n: int) -> bool:
    return window.first == 0 and window.last == n - 1


def _fed(side: Side, state: int) -> Codes:
    return side.indices[side.indptr[state] : side.indptr[state + 1]]


def _narrow_windows(before: Side, after: Side, n: int) -> Iterator[Window]:
    """Yield every window of the letter i and its neighbours, with every replacement of letter i."""
    word = np.zeros(n, dtype=np.int64)
    states = len(before.first)
    fed = [set(_fed(after, state).tolist()) for state in range(states)]
    for i in range(n):
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
                        yield Window(word.copy(), max(i - 1, 0), min(i + 1, n - 1), i, other)


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

    An entry is a ratio of two sums that may share terms; each sum is linear, so the extreme lies at an end of
    every interval, and the shared terms pull the ratio towards one.
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
def _fill(
    low: Array, high: Array, feasible: NDArray[np.bool_], indptr: Codes, indices: Codes, first: Array, q: float
) -> None:
    """Lower `low` and raise `high` to bounds on the messages into every position and letter that is feasible."""
    n, states = feasible.shape
    for letter in range(states):
        if first[letter] > 0.0:
            feasible[0, letter] = True
            for state in range(states):
                low[0, letter, state] = high[0, letter, state] = 1.0 if state == letter else q * first[state]
    for position in range(1, n):
        for letter in range(states):
            for edge in range(indptr[letter], indptr[letter + 1]):
                source = indices[edge]
                if feasible[position - 1, source]:
                    feasible[position, letter] = True
                    step = _step(indptr, indices, low[position - 1, source], high[position - 1, source], letter, q)
                    for state in range(states):
                        low[position, letter, state] = min(low[position, letter, state], step[0][state])
                        high[position, letter, state] = max(high[position, letter, state], step[1][state])


@njit(cache=True)
def _inflow(indptr: Codes, indices: Codes, message: Array) -> Array:
    """Return the sum of a message over what each state is connected to."""
    total = np.zeros(len(message))
    for state in range(len(message)):
        for edge in range(indptr[state], indptr[state + 1]):
            total[state] += message[indices[edge]]
    return total


@njit(cache=True)
def _inflow_bounds(word: Codes, outer: int, i: int, far: int, q: float, side: Side) -> tuple[Array, Array]:
    """Return bounds on what feeds letter i from one side: the letters from `outer` (for the side: `far`) up to i."""
    if outer == i:
        return side.first, side.first
    low, high = side.low[far, word[outer]], side.high[far, word[outer]]
    inwards = 1 if outer < i else -1
    for place in range(outer + inwards, i, inwards):
        low, high = _step(side.indptr, side.indices, low, high, word[place], q)
    return _inflow(side.indptr, side.indices, low), _inflow(side.indptr, side.indices, high)


@njit(cache=True)
def _window_bound(window: Window, n: int, q: float, before: Side, after: Side) -> float:
    """Return an upper bound on max(0, log(Z_v / Z_w)) over the words with this window; exact on a whole word."""
    word, first, last, i, other = window
    left_low, left_high = _inflow_bounds(word, first, i, first, q, before)
    right_low, right_high = _inflow_bounds(word, last, i, n - 1 - last, q, after)
    total = 0.0
    for state in range(len(left_low)):
        total += left_low[state] * right_low[state]
    kept, replaced = left_low[word[i]] * right_low[word[i]], left_high[other] * right_high[other]
    rest = max(0.0, total - kept - left_low[other] * right_low[other])
    # Increasing in g_s', decreasing in g_s, and in the rest where the ratio exceeds one.
    return max(0.0, math.log((q * rest + replaced + q * kept) / (q * rest + q * replaced + kept)))


@njit(cache=True)
def _log_smallest(indptr: Codes, indices: Codes, low: Array, feasible: NDArray[np.bool_]) -> float:
    """Return a lower bound on log Z_w over all feasible words w: the cheapest path of the messages' least growth."""
    n, states = feasible.shape
    smallest, reached = np.empty(states), np.empty(states)
    for letter in range(states):
        smallest[letter] = 0.0 if feasible[0, letter] else np.inf
    for position in range(1, n):
        for letter in range(states):
            reached[letter] = np.inf
            for edge in range(indptr[letter], indptr[letter + 1]):
                source = indices[edge]
                if feasible[position - 1, source]:
                    inflow = 0.0
                    for other in range(indptr[letter], indptr[letter + 1]):
                        inflow += low[position - 1, source, indices[other]]
                    reached[letter] = min(reached[letter], smallest[source] + math.log(inflow))
        smallest, reached = reached, smallest
    result = np.inf
    for letter in range(states):
        if feasible[n - 1, letter]:
            total = 0.0
            for state in range(states):
                total += low[n - 1, letter, state]
            result = min(result, smallest[letter] + math.log(total))
    return result
