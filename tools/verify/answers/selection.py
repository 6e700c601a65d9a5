"""Answers about the choice of a word: exponential mechanism, permute-and-flip,
staircase, randomised response.

The candidates are the words of n letters out of m, or the walks of n steps in a graph
from a given state. With q_l = exp(-epsilon l / (2 b)), l the number of letters in which
a candidate differs from the true word, the exponential mechanism has the weights q_l,
and permute-and-flip takes the candidates in a random order and releases the first one
that is accepted, with the probability q_l.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import mpmath as mp

from tools.verify.many_digits import permute_and_flip

Word = tuple[int, ...]
Weights = tuple[Any, ...]
Law = Callable[[Sequence[int], Weights], list[Any]]
"""From the number of candidates at each distance and their weights, the probability of
one at each distance."""

RING = [
    [0, 1, 0, 0, 1],
    [1, 0, 1, 0, 0],
    [0, 1, 0, 1, 0],
    [0, 0, 1, 0, 1],
    [1, 0, 0, 1, 0],
]
ROADS = [[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]]
GRAPHS = {"ring": RING, "roads": ROADS}
STEPS = {"ring": 4, "roads": 3}
WALKS = {"ring": [1, 2, 3, 2], "roads": [1, 2, 3]}
"""The true words of the errors on the graphs."""

WORDS = "Two words of n letters that differ in at most b letters."
WALKS_APART = "Two walks of n steps from the start that differ in at most b places."


class Space(NamedTuple):
    """All candidates, and the parameters that say which."""

    parameters: dict[str, Any]
    words: list[Word]
    neighbours: str

    def pairs(self, b: int) -> Iterator[tuple[Word, Word]]:
        """Yield neighbours, in both orders."""
        for w, v in product(self.words, repeat=2):
            if 0 < apart(w, v) <= b:
                yield w, v


def apart(w: Word, v: Word) -> int:
    """Return the number of letters in which two words differ."""
    return sum(x != y for x, y in zip(w, v))


def all_words(n: int, m: int) -> Space:
    """Return the words over an alphabet."""
    return Space({"n": n, "m": m}, list(product(range(m), repeat=n)), WORDS)


def walks(graph: str) -> Space:
    """Return the walks in a graph from its first state."""
    edges = GRAPHS[graph]
    n = STEPS[graph]
    paths = product(range(len(edges)), repeat=n)
    found = [
        path for path in paths if all(edges[x][y] for x, y in pairwise((0, *path)))
    ]
    return Space(
        {"graph": graph, "adjacency": edges, "start": 0, "n": n}, found, WALKS_APART
    )


def alphabet_counts(n: int, m: int) -> tuple[int, ...]:
    """Return the numbers of words at distance 0 to n."""
    return tuple(
        math.comb(n, distance) * (m - 1) ** distance for distance in range(n + 1)
    )


def weights(n: int, epsilon: Any, b: int) -> Weights:
    """Return q_0 to q_n."""
    return tuple(mp.exp(-epsilon * distance / (2 * b)) for distance in range(n + 1))


def stairs(n: int, epsilon: Any, b: int, offset: int) -> Weights:
    """Return the weights of the staircase."""
    return tuple(
        mp.exp(-epsilon / 2 * -(-(distance + offset) // b)) for distance in range(n + 1)
    )


# --- the mechanisms -------------------------------------------------------------------


@cache
def proportional(counts: tuple[int, ...], q: Weights) -> list[Any]:
    """Return the probabilities of candidates that are chosen in proportion to their
    weights."""
    total = mp.fsum(number * weight for number, weight in zip(counts, q))
    return [weight / total for weight in q]


@cache
def over_subsets(counts: tuple[int, ...], q: Weights) -> list[Any]:
    """Return permute-and-flip's probabilities by Benvenuti, Rao, Hale 2026, equation
    (5).

    The integral of prod (1 - u q_j) over the other candidates is taken term by term
    after expanding the product.
    """
    found = []
    with mp.workdps(150):
        for distance, weight in enumerate(q):
            others = [number - (j == distance) for j, number in enumerate(counts)]
            if min(others) < 0:
                found.append(mp.mpf(0))
                continue
            polynomial = [mp.mpf(1)]
            for number, each in zip(others, q):
                for _ in range(number):
                    shifted = [mp.mpf(0), *(each * term for term in polynomial)]
                    polynomial = [
                        x - y for x, y in zip([*polynomial, mp.mpf(0)], shifted)
                    ]
            found.append(
                weight * mp.fsum(term / (s + 1) for s, term in enumerate(polynomial))
            )
    return found


@cache
def over_orders(counts: tuple[int, ...], q: Weights) -> list[Any]:
    """Return permute-and-flip's probabilities from its steps: one of the candidates
    left is tried, and kept or put away. A state says how many were put away at each
    distance."""
    chosen = [mp.mpf(0) for _ in counts]
    reached = {(0,) * len(counts): mp.mpf(1)}
    while reached:
        following: dict[tuple[int, ...], Any] = {}
        for state, probability in reached.items():
            left = [number - away for number, away in zip(counts, state)]
            share = probability / sum(left)
            for j, number in enumerate(left):
                if number:
                    chosen[j] += share * number * q[j]
                    rejected = share * number * (1 - q[j])
                    if rejected:
                        after = (*state[:j], state[j] + 1, *state[j + 1 :])
                        following[after] = following.get(after, mp.mpf(0)) + rejected
        reached = following
    return [
        total / number if number else mp.mpf(0) for total, number in zip(chosen, counts)
    ]


def by_quadrature(counts: Sequence[int], epsilon: Any, b: int) -> list[Any]:
    """Return permute-and-flip's probabilities by the integral of a product."""
    return [
        mp.exp(permute_and_flip(counts, epsilon, b, distance))
        for distance in range(len(counts))
    ]


def by_coins(counts: Sequence[int], q: Weights) -> list[Any]:
    """Return permute-and-flip's probabilities as if every candidate tossed its coin at
    once.

    The first accepted one in a random order is any of the accepted ones with equal
    probability.
    """
    return [weight * _one_of(counts, q, distance) for distance, weight in enumerate(q)]


def _one_of(counts: Sequence[int], q: Weights, distance: int) -> Any:
    """Return E 1 / (1 + K), where K counts the accepted ones among the others; all
    terms are positive."""
    accepted = [mp.mpf(1)]
    for j, number in enumerate(counts):
        others = number - (j == distance)
        certain = [mp.mpf(0)] * others + [mp.mpf(1)]
        accepted = _convolved(
            accepted, certain if q[j] == 1 else _binomial(others, q[j])
        )
    return mp.fsum(mass / (1 + number) for number, mass in enumerate(accepted))


def _binomial(number: int, probability: Any) -> list[Any]:
    """Return the distribution of a binomial variable until what is left out is below
    1e-45."""
    mass = [mp.exp(number * mp.log1p(-probability))]
    rest = 1 - mass[0]
    odds = probability / (1 - probability)
    while len(mass) <= number and rest > mp.mpf(10) ** -45:
        mass.append(mass[-1] * (number - len(mass) + 1) / len(mass) * odds)
        rest -= mass[-1]
    return mass


def _convolved(p: list[Any], q: list[Any]) -> list[Any]:
    """Return the distribution of the sum of two independent variables."""
    total = [mp.mpf(0)] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            total[i + j] += x * y
    return total


# --- what they spend, by brute force --------------------------------------------------


def laws(space: Space, law: Law, q: Weights) -> dict[Word, list[Any]]:
    """Return the probability of a candidate at each distance, for every true word."""
    found = {}
    for w in space.words:
        distances = Counter(apart(w, v) for v in space.words)
        found[w] = law(tuple(distances[distance] for distance in range(len(w) + 1)), q)
    return found


def outcomes(
    space: Space, b: int
) -> Counter[tuple[Word, Word, frozenset[tuple[tuple[int, int], int]]]]:
    """Return, for all neighbours, how many outcomes have which two distances."""
    found: Counter[Any] = Counter()
    for w, v in space.pairs(b):
        distances = Counter((apart(w, r), apart(v, r)) for r in space.words)
        found[w, v, frozenset(distances.items())] += 1
    return found


def spent(space: Space, b: int, law: Law, q: Weights) -> Any:
    """Return the exact epsilon: the largest loss over all neighbours and outcomes."""
    f = laws(space, law, q)
    ratios = {
        (tuple(f[w]), i, tuple(f[v]), j)
        for w, v, pairs in outcomes(space, b)
        for (i, j), _ in pairs
    }
    return mp.log(max(p[i] / r[j] for p, i, r, j in ratios))


def spent_delta(space: Space, b: int, law: Law, q: Weights, epsilon: Any) -> Any:
    """Return the exact delta: the largest hockey-stick divergence over all
    neighbours."""
    f = laws(space, law, q)
    factor = mp.exp(epsilon)
    sums = {(tuple(f[w]), tuple(f[v]), pairs) for w, v, pairs in outcomes(space, b)}
    return max(
        mp.fsum(
            number * max(p[i] - factor * r[j], mp.mpf(0)) for (i, j), number in pairs
        )
        for p, r, pairs in sums
    )


def joint_counts(n: int, m: int, b: int) -> Counter[tuple[int, int]]:
    """Return how many words have which distances from two words that differ in b
    letters, by binomials."""
    found: Counter[tuple[int, int]] = Counter()
    for first, second in product(
        range(b + 1), repeat=2
    ):  # equal to the first, to the second word in the b letters
        other = b - first - second
        if other < 0:
            continue
        ways = math.comb(b, first) * math.comb(b - first, second) * (m - 2) ** other
        for wrong in range(n - b + 1):
            rest = math.comb(n - b, wrong) * (m - 1) ** wrong
            if ways * rest:
                found[b - first + wrong, b - second + wrong] += ways * rest
    return found


def mean(counts: Sequence[int], f: Sequence[Any]) -> Any:
    """Return the expected distance."""
    return mp.fsum(
        distance * number * f[distance] for distance, number in enumerate(counts)
    )


def enumerated_mean(space: Space, word: Word, law: Law, q: Weights) -> Any:
    """Return the expected distance from one word, summed over all candidates."""
    f = laws(space, law, q)[word]
    return mp.fsum(apart(word, r) * f[apart(word, r)] for r in space.words)


def letter_losses(b: int, m: int, epsilon: Any) -> dict[Any, Any]:
    """Return the losses of b letters that differ, and their mass: each is kept,
    replaced by the other word's letter, or by a third one."""
    kept = mp.exp(epsilon) / (mp.exp(epsilon) + m - 1)
    replaced = kept * mp.exp(-epsilon)
    found: dict[Any, Any] = {}
    for up, down in product(range(b + 1), repeat=2):
        other = b - up - down
        if other >= 0:
            ways = math.comb(b, up) * math.comb(b - up, down) * (m - 2) ** other
            loss = (up - down) * epsilon
            found[loss] = found.get(loss, mp.mpf(0)) + ways * kept**up * replaced ** (
                down + other
            )
    return found


def response_losses(space: Space, b: int, epsilon: Any) -> dict[Any, Any]:
    """Return the losses between two words that differ in b letters, from every
    outcome."""
    first = space.words[0]
    second = next(word for word in space.words if apart(first, word) == b)
    q = tuple(mp.exp(-epsilon * distance) for distance in range(len(first) + 1))
    f = laws(space, proportional, q)[first]
    found: dict[Any, Any] = {}
    for outcome in space.words:
        mass = f[apart(first, outcome)]
        loss = (apart(second, outcome) - apart(first, outcome)) * epsilon
        found[loss] = found.get(loss, mp.mpf(0)) + mass
    return found


def normaliser(graph: str, word: Word, q: Any) -> Any:
    """Return the sum of q^distance over all walks, by a product of matrices."""
    edges = GRAPHS[graph]
    row = [mp.mpf(state == 0) for state in range(len(edges))]
    for letter in word:
        row = [
            mp.fsum(x for x, out in zip(row, edges) if out[state])
            * (1 if state == letter else q)
            for state in range(len(edges))
        ]
    return mp.fsum(row)
