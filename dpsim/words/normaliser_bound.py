"""A proven bound on how much one letter of a word can change the normaliser.

On a chain, the normaliser Z_w of the exponential mechanism is the sum of q^d(w, r) over
the feasible words r. Let v differ from w only in letter i, which is s in w and s' in v.
Then Z_w = q T + (1 - q) g_s and Z_v = q T + (1 - q) g_s', where g_t is the weight of
the words r with r_i = t when letter i is left out, and T = sum_t g_t. So log(Z_v / Z_w)
needs only the ratios of the g_t, which are sums over the states x with letter t of a
forward message over the letters before i times a backward message over those after it.
Both follow the path of w through the states, which stands for w below. Interval
arithmetic on the messages bounds the influence of the letters outside a window around
i, and a branch and bound search widens the windows that matter.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dpsim.checks import Array
from dpsim.words.candidates import Chain, successors

# The number of expanded windows at which the search stops.
WINDOWS = 10_000
# The number of windows that are expanded in one step.
BATCH = 50
# The bytes of message bounds, and the number of narrow windows, beyond which the
# trivial bound is returned.
MEMORY, NARROW = 2**28, 500_000
# A relative margin for every rounding of the interval arithmetic.
SLACK = 1e-9


class Side(NamedTuple):
    """Bounds on the messages from one end of the word.

    Positions are counted from this end.

    Attributes
    ----------
    feeds : sparse array (S, S), 1 if the column's state may come just before the row's
    fed : bool array (S, S), the same
    weights : array (S, S), 1 for two states with the same letter, otherwise q
    low, high : arrays (n, S, S)
        Bounds on message[t] / message[x] at each position with state x, over all
        feasible states nearer the end.
    feasible : bool array (n, S), which states a position may have
    first : array (S,), 1 for the possible first states from this end
    """

    feeds: sp.csr_array
    fed: NDArray[np.bool_]
    weights: Array
    low: Array
    high: Array
    feasible: NDArray[np.bool_]
    first: Array


class Window(NamedTuple):
    """State i of a word, the state `other` that replaces it, and the known states.

    The states known on both sides are listed from the outermost inwards.
    """

    left: tuple[int, ...]
    state: int
    right: tuple[int, ...]
    i: int
    other: int


def largest_log_ratio(chain: Chain, n: int, rate: float) -> float:
    """Return an upper bound on log(Z_v / Z_w) over words that differ in one letter.

    The words are all feasible words w, v of length n, and q = exp(-rate) with
    rate >= 0. The bound holds up to a relative error of 1e-9. It is the largest
    log-ratio unless the chain needs more than 10,000 windows. In that case, it is the
    largest bound among the windows that are still open. It is instead the trivial
    bound, which is the rate, if the message bounds need more than 256 MiB (16 n S^2
    bytes), or if there may be more than 500,000 narrow windows (n times the largest
    number of successors times the sum of their squares).
    """
    able = np.diff(chain.indptr)  # successors of each state
    narrow = n * (able**2).sum() * able.max()
    if 16 * n * chain.states**2 > MEMORY or narrow > NARROW:
        return rate
    q = math.exp(-rate)
    matrix = sp.csr_array(
        (np.ones(len(chain.indices)), chain.indices, chain.indptr),
        shape=(chain.states, chain.states),
    )
    first = matrix[[chain.start], :].toarray().ravel()
    weights = np.where(chain.letters[:, None] == chain.letters, 1.0, q)
    before = one_side(sp.csr_array(matrix.T), first, n, weights)
    after = one_side(matrix, np.ones(chain.states), n, weights)
    return min(rate, _branch_and_bound(before, after, chain, n, q) + SLACK)


def one_side(feeds: sp.csr_array, first: Array, n: int, weights: Array) -> Side:
    """Return the bounds on the messages from one end of the word."""
    states = len(first)
    low = np.full((n, states, states), np.inf)
    high = np.zeros((n, states, states))
    feasible = np.zeros((n, states), dtype=np.bool_)
    feasible[0] = first > 0.0
    low[0] = weights * first
    np.fill_diagonal(low[0], 1.0)
    high[0] = low[0]
    side = Side(feeds, feeds.toarray() > 0.0, weights, low, high, feasible, first)
    target = np.repeat(np.arange(states), np.diff(feeds.indptr))
    for last in range(n - 1):
        here = feasible[last, feeds.indices]  # transitions into the next position
        source = feeds.indices[here]
        reached, begins = np.unique(target[here], return_index=True)
        lows, highs = _step(side, low[last, source], high[last, source], target[here])
        feasible[last + 1, reached] = True
        low[last + 1, reached] = np.minimum.reduceat(lows, begins, axis=0)
        high[last + 1, reached] = np.maximum.reduceat(highs, begins, axis=0)
    return side


def _step(
    side: Side, low: Array, high: Array, state: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return bounds on the next messages relative to their entry `state` (k,).

    The bounds (k, S) on the present messages are relative to their own states. An
    entry is a ratio of two linear sums that may share terms. Its extremes are attained
    at the endpoints of the intervals, and the shared terms pull the ratio towards one.
    """
    own = np.arange(len(state)), state
    below = side.fed[state]
    terms = np.array([low * below, high * below, low * ~below, high * ~below])
    sums = (side.feeds @ terms.reshape(-1, len(side.first)).T).T
    shared_low, shared_high, above_low, above_high = sums.reshape(terms.shape)
    rest_low = np.maximum(0.0, shared_low[own][:, None] - shared_low)
    rest_high = np.maximum(0.0, shared_high[own][:, None] - shared_high)
    shared = np.where(above_high > rest_low, shared_low, shared_high)
    next_high = side.weights[state] * (above_high + shared) / (rest_low + shared)
    shared = np.where(above_low > rest_high, shared_high, shared_low)
    next_low = side.weights[state] * (above_low + shared) / (rest_high + shared)
    next_low[own] = 1.0
    next_high[own] = 1.0
    return next_low, next_high


def _inflows(side: Side, known: tuple[int, ...], place: int) -> dict[int, Array]:
    """Return bounds (2, S) on the messages that reach letter i from one side.

    They are given for each state at position `place`, just before the known states.
    """
    possible = side.feasible[place]
    states = np.flatnonzero(possible & side.fed[known[0]] if known else possible)
    low = side.low[place, states]
    high = side.high[place, states]
    for state in known:
        low, high = _step(side, low, high, np.full(len(states), state))
    both = np.stack([(side.feeds @ low.T).T, (side.feeds @ high.T).T], axis=1)
    return dict(zip(states.tolist(), both))


def _branch_and_bound(
    before: Side, after: Side, chain: Chain, n: int, q: float
) -> float:
    """Return an upper bound on the largest log-ratio of normalisers."""
    sides = before, after
    ends = [np.stack([side.first, side.first]) for side in sides]
    alike = (chain.letters[:, None] == chain.letters).astype(float)
    windows = _Windows(before, after, chain, n)

    @functools.cache  # windows share them
    def inflows(side: int, known: tuple[int, ...], place: int) -> dict[int, Array]:
        return _inflows(sides[side], known, place)

    def inflow(side: int, states: tuple[int, ...], place: int) -> Array:
        if not states:
            return ends[side]
        return inflows(side, states[1:], place)[states[0]]

    def bounds(some: Sequence[Window]) -> list[float]:
        """Return upper bounds on max(0, log(Z_v / Z_w)), one for each window.

        The maximum is over the words that contain the window. For a whole word, the
        bound is exact.
        """
        if not some:
            return []
        flows = np.array(
            [
                [
                    inflow(0, w.left, w.i - len(w.left)),
                    inflow(1, w.right, n - 1 - w.i - len(w.right)),
                ]
                for w in some
            ]
        )
        low, high = flows.prod(axis=1).swapaxes(0, 1)
        own = alike[[w.state for w in some]]
        others = alike[[w.other for w in some]]
        kept = (own * low).sum(axis=1)
        replaced = (others * high).sum(axis=1)
        rest = low.sum(axis=1) - kept - (others * low).sum(axis=1)
        rest = q * np.maximum(rest, 0.0)
        # The ratio increases in g_s', decreases in g_s, and decreases in the rest if it
        # exceeds one.
        ratio = (rest + replaced + q * kept) / (rest + q * replaced + kept)
        return np.log(np.maximum(ratio, 1.0)).tolist()

    heap: list[tuple[float, int, Window]] = []
    numbers = itertools.count()

    def add(some: Sequence[Window]) -> None:
        for value, window in zip(bounds(some), some):
            heapq.heappush(heap, (-value, next(numbers), window))

    add(list(windows.narrow()))
    for _ in range(WINDOWS // BATCH):
        if not heap or windows.whole(heap[0][2]):
            break
        best = [heapq.heappop(heap)[2] for _ in range(min(BATCH, len(heap)))]
        add([child for window in best for child in windows.wider(window)])
    return -heap[0][0] if heap else 0.0


class _Windows:
    """The windows of all pairs of words that differ in one letter."""

    def __init__(self, before: Side, after: Side, chain: Chain, n: int) -> None:
        self.before, self.after, self.n = before, after, n
        self.letters = chain.letters.tolist()
        self.follow = [  # for each state, its successors by their letters
            {self.letters[s]: s for s in successors(chain, state).tolist()}
            for state in range(chain.states)
        ]

    def whole(self, window: Window) -> bool:
        """Return whether all states are known."""
        return len(window.left) + 1 + len(window.right) == self.n

    def narrow(self) -> Iterator[Window]:
        """Yield every window of a state and its neighbours, with every replacement."""
        n = self.n
        for i in range(n):
            lefts: list[tuple[int, ...]] = [()]
            choices = np.flatnonzero(self.before.feasible[0]).tolist()
            if i > 0:
                feasible = self.before.feasible[i - 1]
                lefts = [(state,) for state in np.flatnonzero(feasible).tolist()]
            for left in lefts:
                followers = self.follow[left[0]].values() if left else choices
                fits = [s for s in followers if self.after.feasible[n - 1 - i, s]]
                for state, other in itertools.permutations(fits, 2):
                    window = Window(left, state, (), i, other)
                    yield from [window] if i == n - 1 else self._further_right(window)

    def wider(self, window: Window) -> list[Window]:
        """Return the windows with one more known state, or the window of a whole word.

        This state is on the side where fewer states are known.
        """
        left, state, right, i, _ = window
        first = i - len(left)
        whole_right = i + len(right) == self.n - 1
        if whole_right and first == 0:
            return [window]
        if not whole_right and (first == 0 or len(left) > len(right)):
            return self._further_right(window)
        outermost = left[0] if left else state
        return [
            window._replace(left=(s, *left))
            for s in np.flatnonzero(
                self.before.fed[outermost] & self.before.feasible[first - 1]
            ).tolist()
        ]

    def _further_right(self, window: Window) -> list[Window]:
        """Return the windows with one more state on the right.

        Its letter must also be possible after the replacement.
        """
        _, state, right, i, other = window
        for known in reversed(right):
            other = self.follow[other][self.letters[known]]
        last = i + len(right)
        feasible = self.after.feasible[self.n - 2 - last]
        return [
            window._replace(right=(s, *right))
            for letter, s in self.follow[right[0] if right else state].items()
            if letter in self.follow[other] and feasible[s]
        ]
