"""The exact epsilon of a mechanism on words, or a proven upper bound on it.

The module also calibrates a mechanism to an exact epsilon. Neighbours are feasible
words that differ in at most b letters (Benvenuti, Rao, Hale 2026, Definition 2). Given
the word w, a mechanism releases word r with probability f_w(d(w, r)). Its exact epsilon
is the largest log f_w(d(w, r)) - log f_v(d(v, r)) over neighbours w, v and feasible r.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.words.automaton import alphabet_counts, log_integers
from dpsim.words.distances import MECHANISMS, Mechanism, best_offset, log_integrals
from dpsim.words.normaliser_bound import NormaliserRatio, normaliser_ratio
from dpsim.words.space import Chain, WordSpace, successors, word_space

# The largest number of feasible words for which all pairs are compared, in a second or
# two at most.
ENUMERATED = 1000
# The promised epsilon beyond which only the theorem's bound is used on a large chain,
# because q would underflow.
LARGEST_BOUNDED_EPSILON = 1000.0
# A margin for every rounding of the bounds.
SLACK = 1e-9
# The share of epsilon within which the search for a promised epsilon ends (with exact
# epsilons, and with bounds, which take longer), and its largest number of steps.
TOLERANCE, COARSE, STEPS = 1e-3, 1e-2, 20


def exact_word_epsilon(
    length: int,
    epsilon: float,
    *,
    mechanism: str = "permute-and-flip",
    b: int = 1,
    letters: int | Sequence[Hashable] | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
) -> float:
    """Return the exact epsilon of a mechanism on words, given its promised epsilon.

    The promised epsilon is that of Benvenuti, Rao, Hale 2026, Theorem 1. On all words
    of an alphabet the counts are the same for every word, so the exact epsilon is the
    largest log f(l) - log f(l + min(b, n)). For the exponential mechanism it is
    epsilon min(b, n) / (2 b). On a chain all neighbours are compared.

    Parameters
    ----------
    length : int, n >= 1 letters
    epsilon, b, mechanism : as in `pmf`, one number each
    letters, adjacency, start
        As in `HammingAutomaton`. A chain must have at most 1,000 feasible words, and on
        it the staircase's offset is 0.

    Examples
    --------
    >>> from dpsim import words
    >>> round(words.exact_word_epsilon(5, 5.0, letters=2), 4)
    3.0874
    """
    length = checks.integer("length", length, 1)
    b = checks.integer("b", b, 1)
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    checks.choice("mechanism", mechanism, MECHANISMS)
    space = word_space(letters, adjacency, start)
    if space.chain is not None and _feasible_words(space.chain, length) > ENUMERATED:
        raise ValueError(
            f"length must leave at most {ENUMERATED} feasible words on a chain, "
            f"got {length}"
        )
    offset = 0 if space.chain else None
    return _exact_epsilon(space, length, Mechanism(mechanism, epsilon, b, offset))


def word_epsilon_bounds(
    length: int,
    epsilon: float,
    *,
    b: int = 1,
    letters: int | Sequence[Hashable] | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
) -> dict[str, float]:
    """Return a proven upper bound on the exact epsilon of each mechanism.

    All mechanisms have the same promised epsilon. On all words of an alphabet, and on a
    chain with at most 1,000 feasible words, the bound is the exact epsilon itself. On a
    larger chain it is the promised epsilon if b > 1. If b = 1, it comes from a bound on
    how much one letter can change the normaliser, which takes about a second.

    Parameters
    ----------
    length, epsilon, b, letters, adjacency, start : as in `exact_word_epsilon`

    Examples
    --------
    >>> from dpsim import words
    >>> bounds = words.word_epsilon_bounds(5, 5.0, letters=2)
    >>> {name: round(bound, 4) for name, bound in bounds.items()}
    {'permute-and-flip': 3.0874, 'exponential': 2.5, 'staircase': 2.5}
    """
    length = checks.integer("length", length, 1)
    b = checks.integer("b", b, 1)
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    space = word_space(letters, adjacency, start)
    offset = 0 if space.chain else None
    compared = [Mechanism(name, epsilon, b, offset) for name in MECHANISMS]
    if space.chain is None or _feasible_words(space.chain, length) <= ENUMERATED:
        return {each.name: _exact_epsilon(space, length, each) for each in compared}
    if b > 1 or epsilon > LARGEST_BOUNDED_EPSILON:
        return dict.fromkeys(MECHANISMS, epsilon)
    ratio = normaliser_ratio(space.chain, length, epsilon / 2.0)
    return {each.name: _upper_from(ratio, each) for each in compared}


def _exact_epsilon(space: WordSpace, n: int, mechanism: Mechanism) -> float:
    """Return the exact epsilon, by enumeration on a chain."""
    if space.chain is not None:
        return _by_enumeration(space.chain, n, mechanism)
    if len(space.labels) == 1:
        return 0.0
    # all words over an alphabet have the same counts
    log_f = mechanism.log_f(log_integers(alphabet_counts(n, len(space.labels))))
    apart = min(mechanism.b, n)
    return float((log_f[:-apart] - log_f[apart:]).max())


def _feasible_words(chain: Chain, n: int) -> int:
    """Return the number of feasible words, and raise ValueError if there is none."""
    words = np.ones(chain.states, dtype=object)  # from each state on
    for _ in range(n):
        words = chain.sum_over_successors(words)
    if not words[chain.start]:
        raise ValueError(
            f"length must allow a feasible word from the start state, got {n}"
        )
    return int(words[chain.start])


def _by_enumeration(chain: Chain, n: int, mechanism: Mechanism) -> float:
    """Return the exact epsilon from the distribution of every feasible word."""
    words: list[tuple[int, ...]] = [(chain.start,)]
    for _ in range(n):
        words = [
            (*word, state)
            for word in words
            for state in successors(chain, word[-1]).tolist()
        ]
    codes = chain.letters[np.array(words, dtype=np.int64)[:, 1:]]
    distance = np.zeros((len(codes), len(codes)), dtype=np.int64)
    for letters in codes.T:
        distance += letters[:, None] != letters
    counts = np.array([np.bincount(row, minlength=n + 1) for row in distance])
    log_f = mechanism.log_f(log_integers(counts))
    log_p = np.take_along_axis(log_f, distance, axis=1)  # of each word, given each word
    return max(
        float((log_p[w] - log_p[row <= mechanism.b]).max())
        for w, row in enumerate(distance)
    )


def _upper(chain: Chain, n: int, mechanism: Mechanism) -> float:
    """Return a proven upper bound on the exact epsilon of a mechanism on a chain."""
    if mechanism.b > 1 or mechanism.epsilon > LARGEST_BOUNDED_EPSILON:
        return float(mechanism.epsilon)
    return _upper_from(normaliser_ratio(chain, n, mechanism.epsilon / 2.0), mechanism)


def _upper_from(ratio: NormaliserRatio, mechanism: Mechanism) -> float:
    """Return a proven upper bound for b = 1, from the bounds on the normaliser."""
    rate = mechanism.epsilon / 2.0
    bound = rate + ratio.upper
    if mechanism.name == "permute-and-flip":
        bound = _permute_and_flip_bound(ratio, rate)
    return min(float(mechanism.epsilon), bound)


def calibrated(
    space: WordSpace, n: int, epsilon: float, b: int, name: str
) -> tuple[Mechanism, float, bool]:
    """Return a mechanism on words whose exact epsilon is at most `epsilon`.

    The words have n letters. The function also returns an epsilon that is proven for
    the mechanism, and whether this epsilon is exact. On all words of an alphabet, the
    exponential mechanism and the staircase with the promised epsilon 2 epsilon have the
    exact epsilon `epsilon`. In all other cases, the promised epsilon is raised from
    `epsilon` towards 2 epsilon, as long as the exact epsilon (or, on a large chain, its
    proven upper bound) is at most `epsilon`. The word itself is not read.
    """
    b = min(b, n)  # no two words differ in more letters than they have
    if space.chain is None and name != "permute-and-flip":
        letters = len(space.labels)
        offset = 0
        if name == "staircase":
            log_counts = log_integers(alphabet_counts(n, letters))
            offset = best_offset(log_counts, 2.0 * epsilon, b)
        return Mechanism(name, 2.0 * epsilon, b, offset), epsilon, letters > 1
    large = None
    if space.chain and _feasible_words(space.chain, n) > ENUMERATED:
        large = space.chain
    # by the theorem, the exact epsilon is at most the promised one
    best = Mechanism(name, epsilon, b), epsilon, False
    if b > 1 and large:
        return best
    tolerance = COARSE if large else TOLERANCE
    aim = (1.0 - tolerance / 2.0) * epsilon
    low = 0.0
    below = aim
    high = 2.0 * epsilon
    above = 0.0
    for _ in range(STEPS):  # false position (Illinois)
        promised = max(epsilon, low + (high - low) * below / (below + above))
        tried = Mechanism(name, promised, b)
        cost = (
            _upper(large, n, tried)
            if large
            else _exact_epsilon(space, n, tried) + SLACK
        )
        if cost > epsilon:
            if above:
                below /= 2.0
            high = promised
            above = cost - aim
            continue
        best = tried, cost, large is None
        if above == 0.0 or cost >= (1.0 - tolerance) * epsilon:
            break
        low = promised
        below = aim - cost
        above /= 2.0
    return best


def _permute_and_flip_bound(ratio: NormaliserRatio, rate: float) -> float:
    """Return an upper bound on the exact epsilon of permute-and-flip for b = 1.

    It follows from Z_v <= exp(ratio.upper) Z_w. With I_w(l) = f_w(l) / q_l the loss is
    at most log(1 / q) plus the larger of log I_w(0) / I_v(1) and, for words that differ
    from both w and v in the letter concerned, log I_w(1) / I_v(2). Because
    log(1 - u x) / x is between -u and log(1 - u q) / q on (0, q], I_w(0) <= integral
    exp(-u (Z_w - 1)), I_w(1) <= integral (1 - u) exp(-u (Z_w - 1 - q)), and
    I_v(1) >= integral (1 - u) (1 - u q)^k with k = (Z_v - 1) / q - 1. I_v(2) is at
    least the same integral with k + 1 in place of k. All these fall as Z grows. So in
    each cell of a grid of Z_w, the bounds on I_w are taken at the left end and those on
    I_v at the right end. Beyond the grid I_w(0) <= 1 / (Z_w - 1),
    I_w(1) <= 1 / (Z_w - 1 - q) and every I_v >= 1 / (1 + Z_v). In every case examined,
    the bound from the last cell, which is 0.2 % wide, exceeded the bound beyond the
    grid.
    """
    q = math.exp(-rate)
    growth = math.exp(ratio.upper)
    least = math.exp(max(0.0, min(ratio.log_smallest, 600.0)))
    grid = least * np.exp(np.arange(0.0, math.log(1e5), 2e-3))
    left = grid[:-1] - 1.0
    right = growth * grid[1:] - 1.0
    whole = np.where(left < 1e-12, 1.0, -np.expm1(-left) / np.maximum(left, 1e-12))
    rest = np.maximum(left - q, 1e-3)
    tail = np.where(left - q < 1e-3, 0.5, (rest - 1.0 + np.exp(-rest)) / rest**2)

    def log_least(multiplicity: Array) -> Array:
        logs = np.stack([np.zeros(len(right)), np.log(multiplicity)], axis=1)
        return log_integrals(logs, np.array([0.0, -rate]))[:, 1]

    first = np.log(whole) - log_least(np.maximum(right / q, 1.0))
    second = np.log(tail) - log_least(right / q + 1.0)
    end = grid[-1]
    beyond = math.log((1.0 + growth * end) / (end - 1.0 - q))
    return rate + max(float(first.max()), float(second.max()), beyond) + SLACK
