"""The exact epsilon of a mechanism on words, or a proven upper bound on it.

The module also calibrates a mechanism to an exact epsilon. Neighbours are feasible
words that differ in at most b letters (Benvenuti, Rao, Hale 2026, Definition 2). Given
the word w, a mechanism releases word r with probability f_w(d(w, r)). Its exact epsilon
is the largest log f_w(d(w, r)) - log f_v(d(v, r)) over neighbours w, v and feasible r.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.numerics import search
from dpsim.words.automaton import alphabet_counts, log_integers
from dpsim.words.candidates import Chain, WordSpace, successors, word_space
from dpsim.words.normaliser_bound import largest_log_ratio
from dpsim.words.permute_and_flip import MECHANISMS, Mechanism, best_offset

# The largest number of feasible words for which all pairs are compared, in a second or
# two at most.
ENUMERATED = 1000
# The promised epsilon beyond which only the theorem's bound is used on a large chain,
# because q would underflow.
LARGEST_BOUNDED_EPSILON = 1000.0
# A margin for the rounding of an exact epsilon.
SLACK = 1e-9
# The share of epsilon within which the search for a promised epsilon ends: with exact
# epsilons, and with bounds, which take longer.
TOLERANCE, COARSE = 2e-4, 5e-3


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

    Returns
    -------
    float, at most the promised epsilon

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


def _bound(space: WordSpace, n: int, mechanism: Mechanism) -> tuple[float, bool]:
    """Return a proven bound on the exact epsilon, and whether it is exact itself.

    On all words of an alphabet, and on a chain with at most 1,000 feasible words, it is
    the exact epsilon. On a larger chain it is the promised epsilon, except for the
    exponential mechanism with b = 1 (which the staircase then is, too). For these, it
    comes from a bound on how much one letter can change the normaliser, which takes
    about a second.
    """
    chain = space.chain
    if chain is None or _feasible_words(chain, n) <= ENUMERATED:
        return _exact_epsilon(space, n, mechanism), True
    promised = float(mechanism.epsilon)
    flip = mechanism.name == "permute-and-flip"
    if flip or mechanism.b > 1 or promised > LARGEST_BOUNDED_EPSILON:
        return promised, False
    rate = promised / 2.0
    return rate + largest_log_ratio(chain, n, rate), False


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

    @cache
    def spent(promised: float) -> tuple[float, bool]:
        bound, exact = _bound(space, n, Mechanism(name, promised, b))
        return min(promised, bound + SLACK), exact  # the theorem's bound is the promise

    _, exact = spent(epsilon)
    promised = search.last_kept(
        lambda promised: spent(promised)[0] - epsilon,
        epsilon,
        2.0 * epsilon,
        (TOLERANCE if exact else COARSE) * epsilon,
    )
    return Mechanism(name, promised, b), *spent(promised)
