"""Answers about Laplace and Gaussian noise on real numbers, which are bridges to other
libraries.

Laplace noise has the density e^(-|z| / scale) / (2 scale) on each entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import mpmath as mp

from tools.verify.answers.answer import About, Answer, exact, profile_answers
from tools.verify.many_digits import gaussian_profile, sum_of_laplace

ENTRIES = (
    "Each of the entries moves by at most `change`; the noise on them is independent."
)
VECTORS = "The vector, or the number, moves by at most `change` in 2-norm."
QUADRATURE = "quadrature of the positive part of p - e^epsilon q"


def laplace_profile(epsilon: Any, reach: Any, entries: int) -> Any:
    """Return delta of Laplace noise on one or two entries, whose losses are at most
    `reach` each."""
    v = (entries * reach - epsilon) / 2
    if v <= 0:
        return mp.mpf(0)
    return -mp.expm1(-v) - (v / 2 * mp.exp(-v) if entries == 2 else 0)


def laplace_integral(epsilon: Any, reach: Any, entries: int) -> Any:
    """Return the same by integration: over the noise for one entry, over the sum of two
    losses else."""
    if entries == 2:
        return sum_of_laplace(epsilon, reach, 2)

    def gain(z: Any) -> Any:
        return (mp.exp(-abs(z)) - mp.exp(epsilon - abs(z - reach))) / 2

    end = (reach - epsilon) / 2  # beyond it the loss is below epsilon
    if end <= 0:
        return mp.mpf(0)
    return mp.quad(gain, [-mp.inf, -10, 0, end])


def gaussian_integral(epsilon: Any, sigma: Any, change: Any) -> Any:
    """Return delta of Gaussian noise by integration over the noise, in units of
    sigma."""
    move = change / sigma
    # the loss is move z + move^2 / 2 for noise z in the direction of the change
    end = epsilon / move - move / 2

    def gain(z: Any) -> Any:
        return (
            (mp.npdf(z) - mp.exp(epsilon) * mp.npdf(z + move)) if z > end else mp.mpf(0)
        )

    start = max(end, mp.mpf(-25))
    return mp.quad(
        gain, [start, start + 1, start + 4, start + 10, start + 25, start + 60]
    )


def largest_loss(reach: Any) -> Any:
    """Return the largest log-ratio of two Laplace densities with scale 1 that are
    `reach` apart, on a grid."""
    return max(abs(z / mp.mpf(8) - reach) - abs(z / mp.mpf(8)) for z in range(-40, 41))


def laplace_answers() -> Iterator[Answer]:
    """Yield the answers about Laplace noise; each delta comes with a first guess."""
    cases: list[tuple[float, int, float, list[float], dict[float, float]]] = [
        (1, 1, 1, [0.5], {1e-6: 0.999998, 0.1: 0.79}),
        (0.0625, 1, 2, [30], {1e-6: 31.999998}),
        (1_000_000, 1, 1, [], {}),
        (1, 2, 1, [0.5], {1e-6: 1.999996}),
    ]
    for scale, entries, change, epsilons, guesses in cases:
        parameters = {"scale": scale, "entries": entries, "change": change}
        about = About("Laplace", parameters, ENTRIES)
        reach = exact(change) / exact(scale)
        pure = (entries * reach, entries * largest_loss(reach))
        ways = ("entries change / scale", "largest loss on a grid of the noise")
        yield Answer(about, "epsilon", {"delta": 0}, pure, ways)
        profiles = (
            partial(laplace_profile, reach=reach, entries=entries),
            partial(laplace_integral, reach=reach, entries=entries),
        )
        over_sum = "quadrature over the sum of the losses"
        ways = ("closed form", QUADRATURE if entries == 1 else over_sum)
        yield from profile_answers(about, profiles, ways, epsilons, guesses)


def gaussian_answers() -> Iterator[Answer]:
    """Yield the answers about Gaussian noise; each delta comes with a first guess."""
    cases: list[tuple[float, float, list[float], dict[float, float]]] = [
        (1, 1, [0, 1], {1e-12: 7.5, 1e-6: 4.9, 0.1: 0.9}),
        (10, 1, [0.1], {1e-6: 0.4}),
        (0.5, 3, [30], {1e-6: 46}),
        (1_000_000, 1, [1e-6], {}),
    ]
    ways = ("Balle and Wang 2018, Theorem 8", QUADRATURE)
    for sigma, change, epsilons, guesses in cases:
        about = About("Gaussian", {"sigma": sigma, "change": change}, VECTORS)
        width = exact(sigma)
        b = exact(change) * mp.sqrt(2)
        first = partial(gaussian_profile, sigma=width, b=b, rows=1)
        second = partial(gaussian_integral, sigma=width, change=exact(change))
        yield from profile_answers(about, (first, second), ways, epsilons, guesses)


def error_answers() -> Iterator[Answer]:
    """Yield the answers about the noise itself."""
    given = {"error": "absolute value of the noise"}

    def laplace(z: Any) -> Any:
        return z * mp.exp(-z / 3) / 3

    values = (mp.mpf(3), mp.quad(laplace, [0, 3, 10, 50, 150, 600]))
    ways = ("scale", "quadrature over the noise")
    yield Answer(About("Laplace", {"scale": 3}), "expected error", given, values, ways)

    def gaussian(z: Any) -> Any:
        return 2 * z * mp.npdf(z, 0, 3)

    values = (3 * mp.sqrt(2 / mp.pi), mp.quad(gaussian, [0, 3, 10, 30, 60]))
    ways = ("sigma sqrt(2 / pi)", "quadrature over the noise")
    yield Answer(About("Gaussian", {"sigma": 3}), "expected error", given, values, ways)


def answers() -> Iterator[Answer]:
    """Yield every answer about Laplace and Gaussian noise."""
    yield from laplace_answers()
    yield from gaussian_answers()
    yield from error_answers()
