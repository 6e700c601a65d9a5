"""A proven bound on how much one letter of a word can change the normaliser.

On a chain, the normaliser Z_w of the exponential mechanism is the sum of q^d(w, r) over
the feasible words r. Let v differ from w only in letter i, which is s in w and s' in v.
Then Z_w = q T + (1 - q) g_s and Z_v = q T + (1 - q) g_s', where g_t is the weight of
the words r with r_i = t when letter i is left out, and T = sum_t g_t. So log(Z_v / Z_w)
needs only the ratios of the g_t, which are products of a forward message over the
letters before i and a backward message over those after it. Interval arithmetic on the
messages bounds the influence of the letters outside a window around i, and a branch and
bound search widens the windows that matter.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dpsim.checks import Array
from dpsim.words.space import Chain

# The number of expanded windows, and the gap between the bounds, at which the search
# stops.
WINDOWS, GAP = 10_000, 1e-3
# The bytes of message bounds, and the number of narrow windows, beyond which the
# trivial bound is returned.
MEMORY, NARROW = 2**28, 500_000
# A relative margin for every rounding of the interval arithmetic.
SLACK = 1e-9


class NormaliserRatio(NamedTuple):
    """Bounds on the largest ratio of two normalisers, and on every normaliser.

    The first two satisfy lower <= max log(Z_v / Z_w) <= upper, and some pair of words
    attains the lower bound. The third is a lower bound on every log Z_w.
    """

    lower: float
    upper: float
    log_smallest: float


class Side(NamedTuple):
    """Bounds on the messages from one end of the word.

    Positions are counted from this end.

    Attributes
    ----------
    feeds : sparse array (S, S), 1 if the column's state may come just before the row's
    low, high : arrays (n, S, S)
        Bounds on message[t] / message[x] at each position with letter x, over all
        feasible letters nearer the end.
    feasible : bool array (n, S), which letters a position may have
    first : array (S,), 1 for the possible first letters from this end
    """

    feeds: sp.csr_array
    low: Array
    high: Array
    feasible: NDArray[np.bool_]
    first: Array


class Window(NamedTuple):
    """Letter i of a word, the letter `other` that replaces it, and the known letters.

    The letters known on both sides are listed from the outermost inwards.
    """

    left: tuple[int, ...]
    letter: int
    right: tuple[int, ...]
    i: int
    other: int


def normaliser_ratio(chain: Chain, n: int, rate: float) -> NormaliserRatio:
    """Return bounds on the largest log(Z_v / Z_w) over words that differ in one letter.

    The words are all feasible words w, v of length n, and q = exp(-rate) with
    rate >= 0. Both bounds hold up to a relative error of 1e-9. They differ by at most
    1e-3 unless the chain needs more than 10,000 windows. In that case, the upper bound
    is the largest bound among the windows that are still open. It is instead the
    trivial bound, which is the rate, if the message bounds need more than 256 MiB (16 n
    S^2 bytes), or if there may be more than 500,000 narrow windows (n times the
    transitions times the square of the largest number of successors).
    """
    most = int(np.diff(chain.indptr).max())  # successors of one state
    narrow = n * len(chain.indices) * most**2
    if 16 * n * chain.states**2 > MEMORY or narrow > NARROW:
        return NormaliserRatio(0.0, rate, 0.0)
    q = math.exp(-rate)
    matrix = sp.csr_array(
        (np.ones(len(chain.indices)), chain.indices, chain.indptr),
        shape=(chain.states, chain.states),
    )
    first = matrix[[chain.start], :].toarray().ravel()
    before = _side(sp.csr_array(matrix.T), first, n, q)
    after = _side(matrix, np.ones(chain.states), n, q)
    lower, upper = _branch_and_bound(before, after, n, q)
    log_smallest = _log_smallest(before, n)
    return NormaliserRatio(lower, min(rate, upper + SLACK), log_smallest - SLACK)


def _side(feeds: sp.csr_array, first: Array, n: int, q: float) -> Side:
    """Return the bounds on the messages from one end of the word."""
    states = len(first)
    low = np.full((n, states, states), np.inf)
    high = np.zeros((n, states, states))
    feasible = np.zeros((n, states), dtype=np.bool_)
    feasible[0] = first > 0.0
    low[0] = np.where(np.eye(states, dtype=bool), 1.0, q * first)
    high[0] = low[0]
    side = Side(feeds, low, high, feasible, first)
    for position in range(1, n):
        last = position - 1
        for letter in range(states):
            sources = [s for s in _fed(side, letter) if feasible[last, s]]
            if sources:
                feasible[position, letter] = True
                lows, highs = _step(
                    side, low[last, sources], high[last, sources], letter, q
                )
                low[position, letter] = lows.min(axis=0)
                high[position, letter] = highs.max(axis=0)
    return side


def _fed(side: Side, state: int) -> list[int]:
    """Return the states that may come just before a state, counted from this end."""
    feeds = side.feeds
    found: list[int] = feeds.indices[
        feeds.indptr[state] : feeds.indptr[state + 1]
    ].tolist()
    return found


def _step(
    side: Side, low: Array, high: Array, letter: int, q: float
) -> tuple[Array, Array]:
    """Return bounds on the next messages relative to their entry `letter`.

    The bounds (k, S) on the present messages are relative to their own letters. An
    entry is a ratio of two linear sums that may share terms. Its extremes are attained
    at the endpoints of the intervals, and the shared terms pull the ratio towards one.
    """
    below = np.zeros(low.shape[1], dtype=np.bool_)
    below[_fed(side, letter)] = True
    terms = np.array([low * below, high * below, low * ~below, high * ~below])
    sums = (side.feeds @ terms.reshape(-1, len(below)).T).T
    shared_low, shared_high, above_low, above_high = sums.reshape(terms.shape)
    rest_low = np.maximum(0.0, shared_low[:, [letter]] - shared_low)
    rest_high = np.maximum(0.0, shared_high[:, [letter]] - shared_high)
    shared = np.where(above_high > rest_low, shared_low, shared_high)
    next_high = q * (above_high + shared) / (rest_low + shared)
    shared = np.where(above_low > rest_high, shared_high, shared_low)
    next_low = q * (above_low + shared) / (rest_high + shared)
    next_low[:, letter] = 1.0
    next_high[:, letter] = 1.0
    return next_low, next_high


def _inflows(
    side: Side, known: tuple[int, ...], place: int, q: float
) -> dict[int, tuple[Array, Array]]:
    """Return bounds on the messages that reach letter i from one side.

    They are given for each letter at position `place`, just before the known
    letters.
    """
    sources = _fed(side, known[0]) if known else range(len(side.first))
    letters = [s for s in sources if side.feasible[place, s]]
    low = side.low[place, letters]
    high = side.high[place, letters]
    for letter in known:
        low, high = _step(side, low, high, letter, q)
    low = (side.feeds @ low.T).T
    high = (side.feeds @ high.T).T
    return dict(zip(letters, zip(low, high)))


def _branch_and_bound(
    before: Side, after: Side, n: int, q: float
) -> tuple[float, float]:
    """Return bounds on the largest log-ratio of normalisers.

    Some pair of words attains the lower bound.
    """
    sides = before, after

    @functools.cache  # windows share them
    def inflows(
        side: int, known: tuple[int, ...], place: int
    ) -> dict[int, tuple[Array, Array]]:
        return _inflows(sides[side], known, place, q)

    def inflow(side: int, letters: tuple[int, ...], place: int) -> tuple[Array, Array]:
        if not letters:
            return sides[side].first, sides[side].first
        return inflows(side, letters[1:], place)[letters[0]]

    def bound(window: Window) -> float:
        """Return an upper bound on max(0, log(Z_v / Z_w)).

        The maximum is over the words that contain the window. For a whole word, the
        bound is exact.
        """
        left, letter, right, i, other = window
        left_low, left_high = inflow(0, left, i - len(left))
        right_low, right_high = inflow(1, right, n - 1 - i - len(right))
        kept = left_low[letter] * right_low[letter]
        replaced = left_high[other] * right_high[other]
        rest = left_low @ right_low - kept - left_low[other] * right_low[other]
        rest = max(0.0, rest)
        # The ratio increases in g_s', decreases in g_s, and decreases in the rest if it
        # exceeds one.
        above = q * rest + replaced + q * kept
        return max(0.0, math.log(above / (q * rest + q * replaced + kept)))

    heap = [
        (-bound(window), order, window)
        for order, window in enumerate(_narrow_windows(before, after, n))
    ]
    heapq.heapify(heap)
    order = len(heap)
    lower = 0.0
    step = 0
    while heap and -heap[0][0] - lower > GAP and step < WINDOWS:
        above, _, window = heapq.heappop(heap)
        # now and then, follow the best window to a whole word
        if _whole(window, n) or step & (step - 1) == 0:
            value = -above
            candidate = window
            while not _whole(candidate, n):
                candidate = max(_wider(candidate, before, after, n), key=bound)
                value = bound(candidate)
            lower = max(lower, value)
        if not _whole(window, n):
            for child in _wider(window, before, after, n):
                heapq.heappush(heap, (-bound(child), order, child))
                order += 1
        step += 1
    return lower, max(lower, -heap[0][0]) if heap else lower


def _whole(window: Window, n: int) -> bool:
    return len(window.left) + 1 + len(window.right) == n


def _narrow_windows(before: Side, after: Side, n: int) -> Iterator[Window]:
    """Yield every window of a letter and its neighbours, with every replacement."""
    states = len(before.first)
    fed = [set(_fed(after, state)) for state in range(states)]
    for i in range(n):
        fits = before.feasible[i] & after.feasible[n - 1 - i]
        lefts: list[tuple[int, ...]] = [()]
        if i > 0:
            lefts = [(s,) for s in np.flatnonzero(before.feasible[i - 1]).tolist()]
        for left in lefts:
            followers = _fed(after, left[0]) if left else range(states)
            choices = [s for s in followers if fits[s]]
            for s, other in itertools.permutations(choices, 2):
                if i == n - 1:
                    yield Window(left, s, (), i, other)
                    continue
                for right in sorted(fed[s] & fed[other]):
                    if after.feasible[n - 2 - i, right]:
                        yield Window(left, s, (right,), i, other)


def _wider(window: Window, before: Side, after: Side, n: int) -> list[Window]:
    """Return the windows with one more known letter.

    This letter is on the side where fewer letters are known.
    """
    left, letter, right, i, other = window
    first = i - len(left)
    last = i + len(right)
    if last == n - 1 or (first > 0 and len(left) <= len(right)):
        outermost = left[0] if left else letter
        return [
            Window((s, *left), letter, right, i, other)
            for s in _fed(before, outermost)
            if before.feasible[first - 1, s]
        ]
    outermost = right[0] if right else letter
    return [
        Window(left, letter, (s, *right), i, other)
        for s in _fed(after, outermost)
        if after.feasible[n - 2 - last, s]
    ]


def _log_smallest(side: Side, n: int) -> float:
    """Return a lower bound on log Z_w over all feasible words w.

    It is the cost of the cheapest path if every message grows as little as it can.
    """
    letters = np.repeat(np.arange(len(side.first)), np.diff(side.feeds.indptr))
    feeds = side.feeds.toarray()
    smallest = np.where(side.feasible[0], 0.0, np.inf)
    for position in range(1, n):
        here = side.feasible[position - 1, side.feeds.indices]
        letter = letters[here]
        source = side.feeds.indices[here]
        inflow = (side.low[position - 1, source] * feeds[letter]).sum(axis=1)
        reached = np.full(len(smallest), np.inf)
        np.minimum.at(reached, letter, smallest[source] + np.log(inflow))
        smallest = reached
    last = side.feasible[n - 1]
    final = np.log(side.low[n - 1, last].sum(axis=1))
    return float((smallest[last] + final).min())
