"""Answers about words and walks: what `selection` spends, and how often it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import mpmath as mp

from tools.verify.answers.answer import About, Answer, delta_of, exact, least_epsilon
from tools.verify.answers.selection import (
    GRAPHS,
    STEPS,
    WALKS,
    WORDS,
    Space,
    all_words,
    alphabet_counts,
    by_coins,
    by_quadrature,
    enumerated_mean,
    joint_counts,
    letter_losses,
    mean,
    normaliser,
    over_orders,
    over_subsets,
    proportional,
    response_losses,
    spent,
    spent_delta,
    stairs,
    walks,
    weights,
)

ENUMERATION = "sum over every word and every outcome"
BY_DISTANCE = "sum over the distances, with the number of words at each"
FLIPS = (
    "the alternating sum over all subsets of the other candidates, in 150 digits",
    "every order of the candidates, by counting those already rejected",
)
LARGE_FLIPS = (
    "quadrature of q_l prod_j (1 - u q_j)^(N_j - [j = l]) over u in [0, 1]",
    "E 1 / (1 + K), K the number of other candidates that their coins accept",
)
PURE = {"delta": 0}
LETTERS = {"error": "letters that differ"}


def answers() -> Iterator[Answer]:
    """Yield every answer about words and walks."""
    yield from exponential_answers()
    yield from flip_answers()
    yield from large_flip_answers()
    yield from staircase_answers()
    yield from randomised_response_answers()
    yield from walk_answers()


def of_words(mechanism: str, n: int, m: int, b: int, epsilon: float) -> About:
    """Return what an answer about all words of n letters out of m is about."""
    return About(mechanism, {"n": n, "m": m, "b": b, "epsilon": epsilon}, WORDS)


def without_neighbours(about: About) -> About:
    """Return the same for an answer in which there is only one input."""
    return about._replace(neighbours="")


def exponential_answers() -> Iterator[Answer]:
    """Yield the answers about the exponential mechanism on all words.

    It draws each letter by itself.
    """
    name = "exponential mechanism"
    closed = ("epsilon min(b, n) / (2 b)", ENUMERATION)
    letters = "each letter by itself: right with probability 1 / (1 + (m - 1) q_1)"
    pure = [(5, 2, 1, 1e-6), (5, 2, 1, 5), (5, 2, 1, 60), (4, 3, 2, 2), (3, 4, 5, 2)]
    for n, m, b, epsilon in pure:
        value = exact(epsilon) * min(b, n) / (2 * b)
        q = weights(n, exact(epsilon), b)
        again = spent(all_words(n, m), b, proportional, q)
        about = of_words(name, n, m, b, epsilon)
        yield Answer(about, "epsilon", PURE, (value, again), closed)
    for n, m, b, epsilon, given in [(5, 2, 1, 5, 1), (5, 2, 2, 5, 0), (5, 2, 2, 5, 1)]:
        losses = letter_losses(min(b, n), m, exact(epsilon) / (2 * b))
        value = delta_of(losses, exact(given))
        q = weights(n, exact(epsilon), b)
        again = spent_delta(all_words(n, m), b, proportional, q, exact(given))
        about = of_words(name, n, m, b, epsilon)
        ways = (letters, ENUMERATION)
        yield Answer(about, "delta", {"epsilon": given}, (value, again), ways)
    for n, m, b, epsilon in [
        (5, 2, 1, 1e-6),
        (5, 2, 1, 5),
        (5, 2, 1, 30),
        (4, 3, 2, 2),
    ]:
        q = weights(n, exact(epsilon), b)
        value = n * (m - 1) * q[1] / (1 + (m - 1) * q[1])
        again = enumerated_mean(all_words(n, m), (0,) * n, proportional, q)
        about = without_neighbours(of_words(name, n, m, b, epsilon))
        ways = (letters, ENUMERATION)
        yield Answer(about, "expected error", LETTERS, (value, again), ways)
    for n, m, b, epsilon, distance in [
        (5, 2, 1, 5, 0),
        (4, 3, 2, 5, 2),
        (14, 4, 1, 5, 0),
    ]:
        q = weights(n, exact(epsilon), b)
        right = 1 / (1 + (m - 1) * q[1])
        value = right ** (n - distance) * (right * q[1]) ** distance
        again = proportional(alphabet_counts(n, m), q)[distance]
        about = without_neighbours(of_words(name, n, m, b, epsilon))
        ways = (letters, BY_DISTANCE)
        given_distance = {"distance": distance}
        yield Answer(about, "probability", given_distance, (value, again), ways)


def flip_answers() -> Iterator[Answer]:
    """Yield the answers about permute-and-flip on all words of few letters."""
    name = "permute-and-flip"
    pure = [(2, 2, 1, 2), (5, 2, 1, 1e-6), (5, 2, 1, 0.5), (5, 2, 1, 5), (5, 2, 1, 60)]
    for n, m, b, epsilon in [*pure, (3, 3, 1, 5), (5, 2, 2, 10)]:
        q = weights(n, exact(epsilon), b)
        f = over_subsets(alphabet_counts(n, m), q)
        apart = min(b, n)
        value = mp.log(max(x / y for x, y in zip(f, f[apart:])))
        again = spent(all_words(n, m), b, over_orders, q)
        about = of_words(name, n, m, b, epsilon)
        yield Answer(about, "epsilon", PURE, (value, again), FLIPS)
    for n, m, b, epsilon, given in [(5, 2, 1, 5, 1), (5, 2, 1, 5, 0), (3, 3, 2, 10, 1)]:
        q = weights(n, exact(epsilon), b)
        f = over_subsets(alphabet_counts(n, m), q)
        value = max(
            hockey_stick(f, n, m, apart, exact(given)) for apart in range(1, b + 1)
        )
        again = spent_delta(all_words(n, m), b, over_orders, q, exact(given))
        about = of_words(name, n, m, b, epsilon)
        yield Answer(about, "delta", {"epsilon": given}, (value, again), FLIPS)
    cases = [
        (5, 2, 1, 1e-6),
        (5, 2, 1, 0.5),
        (5, 2, 1, 5),
        (5, 2, 1, 30),
        (5, 2, 2, 10),
    ]
    for n, m, b, epsilon in cases:
        q = weights(n, exact(epsilon), b)
        counts = alphabet_counts(n, m)
        value = mean(counts, over_subsets(counts, q))
        again = mean(counts, over_orders(counts, q))
        about = without_neighbours(of_words(name, n, m, b, epsilon))
        yield Answer(about, "expected error", LETTERS, (value, again), FLIPS)
    for n, epsilon, distance in [(2, 2, 0), (2, 2, 1), (5, 5, 0), (5, 60, 5)]:
        q = weights(n, exact(epsilon), 1)
        value = over_subsets(alphabet_counts(n, 2), q)[distance]
        again = over_orders(alphabet_counts(n, 2), q)[distance]
        about = without_neighbours(of_words(name, n, 2, 1, epsilon))
        given_distance = {"distance": distance}
        yield Answer(about, "probability", given_distance, (value, again), FLIPS)


def hockey_stick(f: list[Any], n: int, m: int, apart: int, epsilon: Any) -> Any:
    """Return the divergence of two words that differ in so many letters."""
    factor = mp.exp(epsilon)
    return mp.fsum(
        number * max(f[i] - factor * f[j], mp.mpf(0))
        for (i, j), number in joint_counts(n, m, apart).items()
    )


def large_flip_answers() -> Iterator[Answer]:
    """Yield the answers about permute-and-flip on millions of words."""
    for n, m, epsilon in [(14, 3, 5), (14, 4, 10)]:
        about = of_words("permute-and-flip", n, m, 1, epsilon)
        counts = alphabet_counts(n, m)
        laws = (
            by_quadrature(counts, exact(epsilon), 1),
            by_coins(counts, weights(n, exact(epsilon), 1)),
        )
        spends = [mp.log(max(x / y for x, y in pairwise(f))) for f in laws]
        yield Answer(about, "epsilon", PURE, (spends[0], spends[1]), LARGE_FLIPS)
        about = without_neighbours(about)
        errors = [mean(counts, f) for f in laws]
        yield Answer(
            about, "expected error", LETTERS, (errors[0], errors[1]), LARGE_FLIPS
        )
        right = (laws[0][0], laws[1][0])
        yield Answer(about, "probability", {"distance": 0}, right, LARGE_FLIPS)


def staircase_answers() -> Iterator[Answer]:
    """Yield the answers about the staircase, whose weights fall once in b letters."""
    closed = (
        "epsilon / 2: neighbours are one stair apart, and all words have equal sums"
    )
    for n, m, b, offset, epsilon in [(5, 2, 2, 0, 10), (4, 3, 3, 1, 2)]:
        parameters = {"n": n, "m": m, "b": b, "offset": offset, "epsilon": epsilon}
        about = About("staircase", parameters, WORDS)
        q = stairs(n, exact(epsilon), b, offset)
        again = spent(all_words(n, m), b, proportional, q)
        ways = (closed, ENUMERATION)
        yield Answer(about, "epsilon", PURE, (exact(epsilon) / 2, again), ways)
        counts = alphabet_counts(n, m)
        value = mean(counts, proportional(counts, q))
        again = enumerated_mean(all_words(n, m), (0,) * n, proportional, q)
        about = without_neighbours(about)
        ways = (BY_DISTANCE, ENUMERATION)
        yield Answer(about, "expected error", LETTERS, (value, again), ways)


def randomised_response_answers() -> Iterator[Answer]:
    """Yield the answers about randomised response, whose epsilon is that of one
    letter."""
    name = "randomised response"
    ways = ("multinomial sum over the b letters that differ", ENUMERATION)
    cases: list[tuple[int, int, int, float, list[float]]] = [
        (1, 2, 1, 1e-6, [0]),
        (1, 2, 1, 1, [0]),
        (1, 2, 1, 30, [0]),
        (1, 10, 1, 2, [0, 1e-12, 0.1]),
        (8, 2, 8, 0.5, [1e-12, 1e-6, 0.1]),
        (4, 3, 3, 1, [0]),
    ]
    for n, m, b, epsilon, deltas in cases:
        first = letter_losses(b, m, exact(epsilon))
        brute = response_losses(all_words(n, m), b, exact(epsilon))
        for delta in deltas:
            value = least_epsilon(first, exact(delta))
            again = least_epsilon(brute, exact(delta))
            about = of_words(name, n, m, b, epsilon)
            yield Answer(about, "epsilon", {"delta": delta}, (value, again), ways)
    for n, m, b, epsilon, given in [
        (1, 2, 1, 1, 0),
        (1, 10, 1, 2, 1),
        (8, 2, 8, 0.5, 1),
    ]:
        value = delta_of(letter_losses(b, m, exact(epsilon)), exact(given))
        again = delta_of(
            response_losses(all_words(n, m), b, exact(epsilon)), exact(given)
        )
        about = of_words(name, n, m, b, epsilon)
        yield Answer(about, "delta", {"epsilon": given}, (value, again), ways)


def walk_answers() -> Iterator[Answer]:
    """Yield the answers about walks in small graphs, whose normalisers differ from walk
    to walk."""
    ratio = "epsilon / 2 and the largest ratio of normalisers, products of matrices"
    slope = "the logarithmic derivative of the normaliser, a product of matrices"
    for graph in GRAPHS:
        space = walks(graph)
        for epsilon in (1e-6, 5, 30):
            parameters = space.parameters | {"b": 1, "epsilon": epsilon}
            q = weights(STEPS[graph], exact(epsilon), 1)
            about = About("exponential mechanism", parameters, space.neighbours)
            value = exact(epsilon) / 2 + mp.log(largest_ratio(graph, space, q[1]))
            again = spent(space, 1, proportional, q)
            yield Answer(about, "epsilon", PURE, (value, again), (ratio, ENUMERATION))
            about = about._replace(mechanism="permute-and-flip")
            values = (spent(space, 1, over_subsets, q), spent(space, 1, over_orders, q))
            yield Answer(about, "epsilon", PURE, values, FLIPS)
        parameters = space.parameters | {"b": 1, "epsilon": 5, "word": WALKS[graph]}
        q = weights(STEPS[graph], mp.mpf(5), 1)
        about = About("exponential mechanism", parameters)
        values = (
            log_slope(graph, q[1]),
            enumerated_mean(space, tuple(WALKS[graph]), proportional, q),
        )
        yield Answer(about, "expected error", LETTERS, values, (slope, ENUMERATION))
        about = about._replace(mechanism="permute-and-flip")
        values = (
            enumerated_mean(space, tuple(WALKS[graph]), over_subsets, q),
            enumerated_mean(space, tuple(WALKS[graph]), over_orders, q),
        )
        yield Answer(about, "expected error", LETTERS, values, FLIPS)


def largest_ratio(graph: str, space: Space, q: Any) -> Any:
    """Return the largest Z_v / Z_w over neighbours."""
    return max(
        normaliser(graph, v, q) / normaliser(graph, w, q) for w, v in space.pairs(1)
    )


def log_slope(graph: str, q: Any) -> Any:
    """Return the expected distance from the walk of the errors, q Z'(q) / Z(q)."""
    return q * mp.diff(lambda x: mp.log(normaliser(graph, tuple(WALKS[graph]), x)), q)
