"""Answers about the choice of a word: exponential mechanism, permute-and-flip, staircase, randomised response.

The candidates are the words of n letters out of m, or the walks of n steps in a graph from a given state. With
q_l = exp(-epsilon l / (2 b)), l the number of letters in which a candidate differs from the true word, the exponential
mechanism has the weights q_l, and permute-and-flip takes the candidates in a random order and releases the first one
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

from tools.verify.answers.answer import Answer, delta_of, exact, least_epsilon
from tools.verify.many_digits import permute_and_flip

Word = tuple[int, ...]
Weights = tuple[Any, ...]
Law = Callable[[Sequence[int], Weights], list[Any]]
"""From the number of candidates at each distance and their weights, the probability of one at each distance."""

RING = [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 0]]
ROADS = [[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]]
GRAPHS = {"ring": RING, "roads": ROADS}
STEPS = {"ring": 4, "roads": 3}
WALKS = {"ring": [1, 2, 3, 2], "roads": [1, 2, 3]}
"""The true words of the errors on the graphs."""

ENUMERATION = "sum over every word and every outcome"
STEPS_OF_THE_FLIPS = "every order of the candidates, by counting those already rejected"
COINS = "the expectation of 1 / (1 + K), K the number of other candidates that their coins accept"
SUBSETS = "the alternating sum over all subsets of the other candidates, in 150 digits"
QUADRATURE = "quadrature of q_l times the integral of prod_j (1 - u q_j)^(N_j - [j = l]) over u in [0, 1]"
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
    found = [path for path in paths if all(edges[x][y] for x, y in pairwise((0, *path)))]
    return Space({"graph": graph, "adjacency": edges, "start": 0, "n": n}, found, WALKS_APART)


def alphabet_counts(n: int, m: int) -> tuple[int, ...]:
    """Return the numbers of words at distance 0 to n."""
    return tuple(math.comb(n, distance) * (m - 1) ** distance for distance in range(n + 1))


def weights(n: int, epsilon: Any, b: int) -> Weights:
    """Return q_0 to q_n."""
    return tuple(mp.exp(-epsilon * distance / (2 * b)) for distance in range(n + 1))


def stairs(n: int, epsilon: Any, b: int, offset: int) -> Weights:
    """Return the weights of the staircase."""
    return tuple(mp.exp(-epsilon / 2 * -(-(distance + offset) // b)) for distance in range(n + 1))


# ---------------------------------------------------------------------------------------------------- the mechanisms


@cache
def proportional(counts: tuple[int, ...], q: Weights) -> list[Any]:
    """Return the probabilities of candidates that are chosen in proportion to their weights."""
    total = mp.fsum(number * weight for number, weight in zip(counts, q))
    return [weight / total for weight in q]


@cache
def over_subsets(counts: tuple[int, ...], q: Weights) -> list[Any]:
    """Return permute-and-flip's probabilities by Benvenuti, Rao, Hale 2026, equation (5).

    The integral of prod (1 - u q_j) over the other candidates is taken term by term after expanding the product.
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
                    polynomial = [x - y for x, y in zip([*polynomial, mp.mpf(0)], shifted)]
            found.append(weight * mp.fsum(term / (s + 1) for s, term in enumerate(polynomial)))
    return found


@cache
def over_orders(counts: tuple[int, ...], q: Weights) -> list[Any]:
    """Return permute-and-flip's probabilities from its steps: one of the candidates left is tried, and kept or put
    away. A state says how many were put away at each distance."""
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
    return [total / number if number else mp.mpf(0) for total, number in zip(chosen, counts)]


def by_quadrature(counts: Sequence[int], epsilon: Any, b: int) -> list[Any]:
    """Return permute-and-flip's probabilities by the integral of a product."""
    return [mp.exp(permute_and_flip(counts, epsilon, b, distance)) for distance in range(len(counts))]


def by_coins(counts: Sequence[int], q: Weights) -> list[Any]:
    """Return permute-and-flip's probabilities as if every candidate tossed its coin at once.

    The first accepted one in a random order is any of the accepted ones with equal probability.
    """
    return [weight * _one_of(counts, q, distance) for distance, weight in enumerate(q)]


def _one_of(counts: Sequence[int], q: Weights, distance: int) -> Any:
    """Return E 1 / (1 + K), where K counts the accepted ones among the others; all terms are positive."""
    accepted = [mp.mpf(1)]
    for j, number in enumerate(counts):
        others = number - (j == distance)
        certain = [mp.mpf(0)] * others + [mp.mpf(1)]
        accepted = _convolved(accepted, certain if q[j] == 1 else _binomial(others, q[j]))
    return mp.fsum(mass / (1 + number) for number, mass in enumerate(accepted))


def _binomial(number: int, probability: Any) -> list[Any]:
    """Return the distribution of a binomial variable until what is left out is below 1e-45."""
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


# ------------------------------------------------------------------------------------- what they spend, by brute force


def laws(space: Space, law: Law, q: Weights) -> dict[Word, list[Any]]:
    """Return the probability of a candidate at each distance, for every true word."""
    found = {}
    for w in space.words:
        distances = Counter(apart(w, v) for v in space.words)
        found[w] = law(tuple(distances[distance] for distance in range(len(w) + 1)), q)
    return found


def outcomes(space: Space, b: int) -> Counter[tuple[Word, Word, frozenset[tuple[tuple[int, int], int]]]]:
    """Return, for all neighbours, how many outcomes have which two distances."""
    found: Counter[Any] = Counter()
    for w, v in space.pairs(b):
        distances = Counter((apart(w, r), apart(v, r)) for r in space.words)
        found[w, v, frozenset(distances.items())] += 1
    return found


def spent(space: Space, b: int, law: Law, q: Weights) -> Any:
    """Return the exact epsilon: the largest loss over all neighbours and outcomes."""
    f = laws(space, law, q)
    ratios = {(tuple(f[w]), i, tuple(f[v]), j) for w, v, pairs in outcomes(space, b) for (i, j), _ in pairs}
    return mp.log(max(p[i] / r[j] for p, i, r, j in ratios))


def spent_delta(space: Space, b: int, law: Law, q: Weights, epsilon: Any) -> Any:
    """Return the exact delta: the largest hockey-stick divergence over all neighbours."""
    f = laws(space, law, q)
    factor = mp.exp(epsilon)
    sums = {(tuple(f[w]), tuple(f[v]), pairs) for w, v, pairs in outcomes(space, b)}
    return max(
        mp.fsum(number * max(p[i] - factor * r[j], mp.mpf(0)) for (i, j), number in pairs) for p, r, pairs in sums
    )


def joint_counts(n: int, m: int, b: int) -> Counter[tuple[int, int]]:
    """Return how many words have which distances from two words that differ in b letters, by binomials."""
    found: Counter[tuple[int, int]] = Counter()
    for first, second in product(range(b + 1), repeat=2):  # equal to the first, to the second word in the b letters
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
    return mp.fsum(distance * number * f[distance] for distance, number in enumerate(counts))


def enumerated_mean(space: Space, word: Word, law: Law, q: Weights) -> Any:
    """Return the expected distance from one word, summed over all candidates."""
    f = laws(space, law, q)[word]
    return mp.fsum(apart(word, r) * f[apart(word, r)] for r in space.words)


# --------------------------------------------------------------------------------------------------------- the answers


def answers() -> Iterator[Answer]:
    """Yield every answer about words and walks."""
    yield from exponential_answers()
    yield from flip_answers()
    yield from staircase_answers()
    yield from randomised_response_answers()
    yield from walk_answers()


def exponential_answers() -> Iterator[Answer]:
    """Yield the answers about the exponential mechanism on all words, which draws each letter by itself."""
    name = "exponential mechanism"
    letters = "each letter is drawn by itself: right with probability 1 / (1 + (m - 1) q_1)"
    cases = [(5, 2, 1, 1e-6), (5, 2, 1, 0.5), (5, 2, 1, 5), (5, 2, 1, 60), (4, 3, 2, 2), (3, 4, 5, 2)]
    for n, m, b, epsilon in cases:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "epsilon": epsilon}
        value = exact(epsilon) * min(b, n) / (2 * b)
        second = spent(space, b, proportional, weights(n, exact(epsilon), b))
        yield Answer(
            name, about, "epsilon", {"delta": 0}, value, second, "epsilon min(b, n) / (2 b)", ENUMERATION, WORDS
        )
    for n, m, b, epsilon, given in [(5, 2, 1, 5, 1), (5, 2, 2, 5, 0), (5, 2, 2, 5, 1), (4, 3, 2, 10, 3)]:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "epsilon": epsilon}
        q = mp.exp(-exact(epsilon) / (2 * b))
        value = delta_of(letter_losses(min(b, n), m, -mp.log(q)), exact(given))
        second = spent_delta(space, b, proportional, weights(n, exact(epsilon), b), exact(given))
        yield Answer(name, about, "delta", {"epsilon": given}, value, second, letters, ENUMERATION, WORDS)
    for n, m, b, epsilon in [(5, 2, 1, 1e-6), (5, 2, 1, 0.5), (5, 2, 1, 5), (5, 2, 1, 30), (4, 3, 2, 2), (14, 4, 1, 5)]:
        about = {"n": n, "m": m, "b": b, "epsilon": epsilon}
        q = weights(n, exact(epsilon), b)
        value = n * (m - 1) * q[1] / (1 + (m - 1) * q[1])
        small = n < 10
        word = (0,) * n
        second = (
            enumerated_mean(all_words(n, m), word, proportional, q)
            if small
            else mean(alphabet_counts(n, m), proportional(alphabet_counts(n, m), q))
        )
        how = ENUMERATION if small else "sum over the distances, with the number of words at each"
        yield Answer(name, about, "expected error", {"error": "letters that differ"}, value, second, letters, how)
    for n, m, b, epsilon, distance in [(5, 2, 1, 5, 0), (4, 3, 2, 5, 2), (14, 4, 1, 0.5, 0)]:
        about = {"n": n, "m": m, "b": b, "epsilon": epsilon}
        q = weights(n, exact(epsilon), b)
        value = (1 / (1 + (m - 1) * q[1])) ** (n - distance) * (q[1] / (1 + (m - 1) * q[1])) ** distance
        second = proportional(alphabet_counts(n, m), q)[distance]
        how = "its weight over the sum of all weights"
        yield Answer(name, about, "probability", {"distance": distance}, value, second, letters, how)


def flip_answers() -> Iterator[Answer]:
    """Yield the answers about permute-and-flip on all words."""
    name = "permute-and-flip"
    small = [(2, 2, 1, 2), (5, 2, 1, 1e-6), (5, 2, 1, 0.5), (5, 2, 1, 5), (5, 2, 1, 60), (3, 3, 1, 5), (5, 2, 2, 10)]
    for n, m, b, epsilon in small:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "epsilon": epsilon}
        q = weights(n, exact(epsilon), b)
        f = over_subsets(alphabet_counts(n, m), q)
        value = mp.log(max(f[i] / f[i + min(b, n)] for i in range(n + 1 - min(b, n))))
        second = spent(space, b, over_orders, q)
        yield Answer(name, about, "epsilon", {"delta": 0}, value, second, SUBSETS, STEPS_OF_THE_FLIPS, WORDS)
    for n, m, b, epsilon, given in [(5, 2, 1, 5, 1), (5, 2, 1, 5, 0), (3, 3, 2, 10, 1)]:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "epsilon": epsilon}
        q = weights(n, exact(epsilon), b)
        f = over_subsets(alphabet_counts(n, m), q)
        factor = mp.exp(exact(given))
        value = max(
            mp.fsum(
                number * max(f[i] - factor * f[j], mp.mpf(0)) for (i, j), number in joint_counts(n, m, step).items()
            )
            for step in range(1, b + 1)
        )
        second = spent_delta(space, b, over_orders, q, exact(given))
        yield Answer(name, about, "delta", {"epsilon": given}, value, second, SUBSETS, STEPS_OF_THE_FLIPS, WORDS)
    for n, m, b, epsilon in [(5, 2, 1, 1e-6), (5, 2, 1, 0.5), (5, 2, 1, 5), (5, 2, 1, 30), (5, 2, 2, 10), (3, 3, 1, 5)]:
        about = {"n": n, "m": m, "b": b, "epsilon": epsilon}
        q = weights(n, exact(epsilon), b)
        counts = alphabet_counts(n, m)
        value = mean(counts, over_subsets(counts, q))
        second = mean(counts, over_orders(counts, q))
        given = {"error": "letters that differ"}
        yield Answer(name, about, "expected error", given, value, second, SUBSETS, STEPS_OF_THE_FLIPS)
    for n, m, b, epsilon, distance in [(2, 2, 1, 2, 0), (2, 2, 1, 2, 1), (5, 2, 1, 5, 0), (5, 2, 1, 60, 5)]:
        about = {"n": n, "m": m, "b": b, "epsilon": epsilon}
        q = weights(n, exact(epsilon), b)
        value = over_subsets(alphabet_counts(n, m), q)[distance]
        second = over_orders(alphabet_counts(n, m), q)[distance]
        yield Answer(name, about, "probability", {"distance": distance}, value, second, SUBSETS, STEPS_OF_THE_FLIPS)
    for n, m, epsilon in [(14, 3, 5), (14, 4, 10)]:
        about = {"n": n, "m": m, "b": 1, "epsilon": epsilon}
        counts = alphabet_counts(n, m)
        first = by_quadrature(counts, exact(epsilon), 1)
        coins = by_coins(counts, weights(n, exact(epsilon), 1))
        value = mean(counts, first)
        second = mean(counts, coins)
        yield Answer(name, about, "expected error", {"error": "letters that differ"}, value, second, QUADRATURE, COINS)
        value = mp.log(max(x / y for x, y in pairwise(first)))
        second = mp.log(max(x / y for x, y in pairwise(coins)))
        yield Answer(name, about, "epsilon", {"delta": 0}, value, second, QUADRATURE, COINS, WORDS)
        yield Answer(name, about, "probability", {"distance": 0}, first[0], coins[0], QUADRATURE, COINS)


def staircase_answers() -> Iterator[Answer]:
    """Yield the answers about the staircase: the weights fall once in b letters."""
    name = "staircase"
    closed = "neighbours are one stair apart, and the weights add up to the same for every word"
    for n, m, b, offset, epsilon in [(5, 2, 2, 0, 10), (4, 3, 3, 1, 2)]:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "offset": offset, "epsilon": epsilon}
        q = stairs(n, exact(epsilon), b, offset)
        second = spent(space, b, proportional, q)
        yield Answer(name, about, "epsilon", {"delta": 0}, exact(epsilon) / 2, second, closed, ENUMERATION, WORDS)
        counts = alphabet_counts(n, m)
        value = mean(counts, proportional(counts, q))
        second = enumerated_mean(space, (0,) * n, proportional, q)
        how = "sum over the distances, with the number of words at each"
        yield Answer(name, about, "expected error", {"error": "letters that differ"}, value, second, how, ENUMERATION)


def letter_losses(b: int, m: int, epsilon: Any) -> dict[Any, Any]:
    """Return the losses of b letters that differ, and their mass: each is kept, replaced by the other word's letter, or
    by a third one."""
    kept = mp.exp(epsilon) / (mp.exp(epsilon) + m - 1)
    replaced = kept * mp.exp(-epsilon)
    found: dict[Any, Any] = {}
    for up, down in product(range(b + 1), repeat=2):
        other = b - up - down
        if other >= 0:
            ways = math.comb(b, up) * math.comb(b - up, down) * (m - 2) ** other
            loss = (up - down) * epsilon
            found[loss] = found.get(loss, mp.mpf(0)) + ways * kept**up * replaced ** (down + other)
    return found


def response_losses(space: Space, b: int, epsilon: Any) -> dict[Any, Any]:
    """Return the losses between two words that differ in b letters, from every outcome."""
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


def randomised_response_answers() -> Iterator[Answer]:
    """Yield the answers about randomised response, whose epsilon is that of one letter."""
    name = "randomised response"
    letters = "multinomial sum over the b letters that differ"
    cases: list[tuple[int, int, int, float, float]] = [
        *((1, 2, 1, epsilon, 0) for epsilon in (1e-6, 1, 30)),
        *((1, 10, 1, 2, delta) for delta in (0, 1e-12, 0.1)),
        *((8, 2, 8, 0.5, delta) for delta in (1e-12, 1e-6, 0.1)),
        *((4, 3, 3, 1, delta) for delta in (0, 1e-3)),
    ]
    for n, m, b, epsilon, delta in cases:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "epsilon": epsilon}
        first = letter_losses(b, m, exact(epsilon))
        brute = response_losses(space, b, exact(epsilon))
        value = least_epsilon(first, exact(delta))
        second = least_epsilon(brute, exact(delta))
        yield Answer(name, about, "epsilon", {"delta": delta}, value, second, letters, ENUMERATION, WORDS)
    for n, m, b, epsilon, given in [(1, 2, 1, 1, 0), (1, 10, 1, 2, 1), (8, 2, 8, 0.5, 1), (4, 3, 3, 1, 1.5)]:
        space = all_words(n, m)
        about = space.parameters | {"b": b, "epsilon": epsilon}
        value = delta_of(letter_losses(b, m, exact(epsilon)), exact(given))
        second = delta_of(response_losses(space, b, exact(epsilon)), exact(given))
        yield Answer(name, about, "delta", {"epsilon": given}, value, second, letters, ENUMERATION, WORDS)


def walk_answers() -> Iterator[Answer]:
    """Yield the answers about walks in small graphs, whose normalisers differ from word to word."""
    for graph in GRAPHS:
        space = walks(graph)
        n = STEPS[graph]
        word = tuple(WALKS[graph])
        for epsilon in (1e-6, 5, 30):
            about = space.parameters | {"b": 1, "epsilon": epsilon}
            q = weights(n, exact(epsilon), 1)
            value = mp.log(max(_transfer_ratio(graph, w, v, q[1]) for w, v in space.pairs(1))) - mp.log(q[1])
            second = spent(space, 1, proportional, q)
            how = "epsilon / 2 and the largest ratio of normalisers, each a product of matrices"
            yield Answer(
                "exponential mechanism", about, "epsilon", {"delta": 0}, value, second, how, ENUMERATION, WALKS_APART
            )
            value = spent(space, 1, over_subsets, q)
            second = spent(space, 1, over_orders, q)
            yield Answer(
                "permute-and-flip",
                about,
                "epsilon",
                {"delta": 0},
                value,
                second,
                SUBSETS,
                STEPS_OF_THE_FLIPS,
                WALKS_APART,
            )
        for epsilon in (5,):
            about = space.parameters | {"b": 1, "epsilon": epsilon, "word": list(word)}
            given = {"error": "letters that differ"}
            q = weights(n, exact(epsilon), 1)
            value = q[1] * mp.diff(lambda x: mp.log(_normaliser(graph, word, x)), q[1])  # noqa: B023 - used at once
            second = enumerated_mean(space, word, proportional, q)
            how = "q times the derivative of the logarithm of the normaliser, a product of matrices"
            yield Answer("exponential mechanism", about, "expected error", given, value, second, how, ENUMERATION)
            value = enumerated_mean(space, word, over_subsets, q)
            second = enumerated_mean(space, word, over_orders, q)
            yield Answer("permute-and-flip", about, "expected error", given, value, second, SUBSETS, STEPS_OF_THE_FLIPS)


def _normaliser(graph: str, word: Word, q: Any) -> Any:
    """Return the sum of q^distance over all walks, by a product of matrices."""
    edges = GRAPHS[graph]
    row = [mp.mpf(state == 0) for state in range(len(edges))]
    for letter in word:
        row = [
            mp.fsum(x for x, out in zip(row, edges) if out[state]) * (1 if state == letter else q)
            for state in range(len(edges))
        ]
    return mp.fsum(row)


def _transfer_ratio(graph: str, w: Word, v: Word, q: Any) -> Any:
    """Return Z_v / Z_w if some walk agrees with w at the place where v differs, which w itself does."""
    return _normaliser(graph, v, q) / _normaliser(graph, w, q)
