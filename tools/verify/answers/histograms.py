"""Answers about the Boltzmann machine mechanism on histograms of N people in n bins
(Fleischer 2024).

The limit has P(z | x) proportional to exp(-|z - x|^2 / t). A step of the chain draws an
ordered pair of different bins, proposes to move one person from the first to the second
(nothing happens if the first is empty), and accepts with probability min(1, exp((|z -
x|^2 - |z' - x|^2) / t)), z' being the proposal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

import mpmath as mp

from tools.verify.answers.answer import About, Answer, delta_of, exact, least_epsilon

Histogram = tuple[int, ...]
Losses = dict[Any, Any]

NAME = "Boltzmann machine"
MOVED = "Two histograms of the same total; one person is in another bin."
ENUMERATION = "sum over every histogram, for every pair of neighbours"
BIN_BY_BIN = "sums over the histograms, bin by bin, for every pair of neighbours"
STEP_BY_STEP = "the distributions after each step, for every start"
EIGENVALUES = "powers of the eigenvalues of the chain, for every start"


@cache
def histograms(people: int, bins: int) -> list[Histogram]:
    """Return all histograms of so many people."""
    if bins == 1:
        return [(people,)]
    return [
        (first, *rest)
        for first in range(people + 1)
        for rest in histograms(people - first, bins - 1)
    ]


def moved(z: Histogram, i: int, j: int) -> Histogram:
    """Return the histogram after a person went from bin i to bin j."""
    return tuple(count - (k == i) + (k == j) for k, count in enumerate(z))


def moves(z: Histogram) -> list[Histogram]:
    """Return the histograms that a move of a person reaches, one for each ordered pair
    of bins that allows it."""
    return [moved(z, i, j) for i, j in permutations(range(len(z)), 2) if z[i]]


def weight(count: int, own: int, t: Any) -> Any:
    """Return the factor of one bin in the weight of a histogram."""
    return mp.exp(-mp.mpf((count - own) ** 2) / t)


@cache
def limit(x: Histogram, t: Any) -> dict[Histogram, Any]:
    """Return the Boltzmann distribution around x."""
    weights = {
        z: mp.fprod(weight(a, b, t) for a, b in zip(z, x))
        for z in histograms(sum(x), len(x))
    }
    total = mp.fsum(weights.values())
    return {z: each / total for z, each in weights.items()}


def enumerated_losses(people: int, bins: int, t: Any) -> Iterator[Losses]:
    """Yield the losses and their mass for every pair of neighbours, from the
    probability of every histogram."""
    for x in histograms(people, bins):
        for y in moves(x):
            found: Losses = {}
            for z, mass in limit(x, t).items():
                loss = mp.log(mass / limit(y, t)[z])
                found[loss] = found.get(loss, mp.mpf(0)) + mass
            yield found


def sums_of_bins(own: Histogram, people: int, t: Any) -> list[Any]:
    """Return the sum of the weights of all counts in these bins, for every total from 0
    to `people`."""
    sums = [mp.mpf(1)] + [mp.mpf(0)] * people
    for centre in own:
        terms = [weight(count, centre, t) for count in range(people + 1)]
        sums = [
            mp.fsum(sums[total - count] * terms[count] for count in range(total + 1))
            for total in range(people + 1)
        ]
    return sums


def binned_losses(people: int, bins: int, t: Any) -> Iterator[Losses]:
    """Yield the same bin by bin. A loss depends on the normalisers and on z_i - z_j, if
    a person left bin i for j."""
    for x in histograms(people, bins):
        normaliser = sums_of_bins(x, people, t)[people]
        for i, j in permutations(range(bins), 2):
            if not x[i]:
                continue
            ratio = mp.log(sums_of_bins(moved(x, i, j), people, t)[people] / normaliser)
            others = sums_of_bins(
                tuple(own for k, own in enumerate(x) if k not in (i, j)), people, t
            )
            found: Losses = {}
            for a in range(people + 1):
                for b in range(people + 1 - a):
                    loss = ratio + mp.mpf(2 * (a - b) - 2 * (x[i] - x[j]) + 2) / t
                    mass = (
                        weight(a, x[i], t)
                        * weight(b, x[j], t)
                        * others[people - a - b]
                        / normaliser
                    )
                    found[loss] = found.get(loss, mp.mpf(0)) + mass
            yield found


def enumerated_error(x: Histogram, t: Any) -> Any:
    """Return the expected |z - x|^2, histogram by histogram."""
    return mp.fsum(mass * distance(z, x) for z, mass in limit(x, t).items())


def distance(z: Histogram, x: Histogram) -> int:
    """Return |z - x|^2."""
    return sum((a - b) ** 2 for a, b in zip(z, x))


def binned_error(x: Histogram, t: Any) -> Any:
    """Return the same bin by bin."""
    people = sum(x)
    normaliser = sums_of_bins(x, people, t)[people]
    total = mp.mpf(0)
    for i, own in enumerate(x):
        others = sums_of_bins(x[:i] + x[i + 1 :], people, t)
        terms = (
            (a - own) ** 2 * weight(a, own, t) * others[people - a]
            for a in range(people + 1)
        )
        total += mp.fsum(terms)
    return total / normaliser


def chain(x: Histogram, t: Any) -> dict[Histogram, dict[Histogram, Any]]:
    """Return the probabilities of a step of the chain around x."""
    bins = len(x)
    around = limit(x, t)
    found = {}
    for z in around:
        row = {}
        for after in moves(z):
            accepted = min(mp.mpf(1), around[after] / around[z])
            row[after] = accepted / (bins * (bins - 1))
        row[z] = 1 - mp.fsum(row.values())
        found[z] = row
    return found


@cache
def after_steps(x: Histogram, t: Any, steps: int) -> dict[Histogram, Any]:
    """Return the distribution after these steps from x."""
    rows = chain(x, t)
    law = {z: mp.mpf(z == x) for z in rows}
    for _ in range(steps):
        following = dict.fromkeys(rows, mp.mpf(0))
        for z, mass in law.items():
            for after, probability in rows[z].items():
                following[after] += mass * probability
        law = following
    return law


@cache
def eigenvectors(x: Histogram, t: Any) -> tuple[Any, Any]:
    """Return the eigenvalues and the eigenvectors of the chain, made symmetric by the
    limit's square roots."""
    rows = chain(x, t)
    states = list(rows)
    around = limit(x, t)
    matrix = mp.zeros(len(states))
    for i, z in enumerate(states):
        for j, after in enumerate(states):
            matrix[i, j] = rows[z].get(after, mp.mpf(0)) * mp.sqrt(
                around[z] / around[after]
            )
    return mp.eigsy((matrix + matrix.T) / 2)


@cache
def by_eigenvalues(x: Histogram, t: Any, steps: int) -> dict[Histogram, Any]:
    """Return the same from the eigenvalues."""
    values, vectors = eigenvectors(x, t)
    around = limit(x, t)
    states = list(around)
    start = states.index(x)
    size = range(len(states))
    powers = [values[k] ** steps * vectors[start, k] for k in size]
    return {
        z: mp.fsum(powers[k] * vectors[j, k] for k in size)
        * mp.sqrt(around[z] / around[x])
        for j, z in enumerate(states)
    }


def delta_after_steps(laws: dict[Histogram, dict[Histogram, Any]], epsilon: Any) -> Any:
    """Return the largest hockey-stick divergence over neighbouring starts."""
    factor = mp.exp(epsilon)
    return max(
        mp.fsum(
            max(mass - factor * laws[y][z], mp.mpf(0)) for z, mass in laws[x].items()
        )
        for x in laws
        for y in moves(x)
    )


def limit_answers() -> Iterator[Answer]:
    """Yield the answers about one draw of the limit."""
    ways = (ENUMERATION, BIN_BY_BIN)
    cases: list[tuple[int, int, float, list[float], list[float]]] = [
        (2, 3, 10, [0, 0.01], [0]),
        (2, 3, 0.5, [0], []),
        (2, 3, 10_000_000, [0], []),
        (6, 3, 10, [0, 1e-6], [1]),
        (3, 4, 4, [0, 0.001], [1]),
    ]
    for people, bins, t, deltas, epsilons in cases:
        about = About(NAME, {"people": people, "bins": bins, "t": t}, MOVED)
        first = list(enumerated_losses(people, bins, exact(t)))
        second = list(binned_losses(people, bins, exact(t)))
        for delta in deltas:
            value = max(least_epsilon(losses, exact(delta)) for losses in first)
            again = max(least_epsilon(losses, exact(delta)) for losses in second)
            yield Answer(about, "epsilon", {"delta": delta}, (value, again), ways)
        for epsilon in epsilons:
            value = max(delta_of(losses, exact(epsilon)) for losses in first)
            again = max(delta_of(losses, exact(epsilon)) for losses in second)
            yield Answer(about, "delta", {"epsilon": epsilon}, (value, again), ways)


def release_answers() -> Iterator[Answer]:
    """Yield the answers about the release of one histogram."""
    ways = ("sum over every histogram", "sums over the histograms, bin by bin")
    for x, t in [((1, 1, 0), 10), ((12, 8, 4), 4)]:
        about = About(NAME, {"histogram": list(x), "t": t})
        values = (enumerated_error(x, exact(t)), binned_error(x, exact(t)))
        yield Answer(about, "expected error", {"error": "|z - x|^2"}, values, ways)
        people = sum(x)
        again = 1 / sums_of_bins(x, people, exact(t))[people]
        values = (limit(x, exact(t))[x], again)
        yield Answer(about, "probability", {"output": list(x)}, values, ways)


def step_answers() -> Iterator[Answer]:
    """Yield the answers about the chain, started at the true histogram."""
    ways = (STEP_BY_STEP, EIGENVALUES)
    for people, bins, t, steps, epsilon in [
        (2, 3, 10, 1, 0.5),
        (2, 3, 10, 10, 0.3),
        (4, 3, 4, 3, 1),
        (4, 3, 4, 30, 1),
    ]:
        parameters = {"people": people, "bins": bins, "t": t, "steps": steps}
        about = About(NAME, parameters, MOVED)
        starts = histograms(people, bins)
        stepped = {x: after_steps(x, exact(t), steps) for x in starts}
        powers = {x: by_eigenvalues(x, exact(t), steps) for x in starts}
        values = (
            delta_after_steps(stepped, exact(epsilon)),
            delta_after_steps(powers, exact(epsilon)),
        )
        yield Answer(about, "delta", {"epsilon": epsilon}, values, ways)


def answers() -> Iterator[Answer]:
    """Yield every answer about histograms."""
    yield from limit_answers()
    yield from release_answers()
    yield from step_answers()
