"""Answers about integer noise: the discrete Laplace (geometric) mechanism, alone, composed, with a threshold, and the
noise of sum zero.

The discrete Laplace distribution with scale s has P(z) proportional to q^|z|, q = e^(-1/s). Noise of sum zero on n bins
has P(u) proportional to exp(-epsilon |u|_1 / 2) on the integer vectors whose entries add up to 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import mpmath as mp

from tools.verify.answers.answer import Answer, delta_of, exact, least_epsilon

COUNTS = "Each of the counts may change by at most `change`; the noise is independent, also from one time to the next."
MOVED = "Two histograms of the same total; one person is in another bin."
NEGLIGIBLE = mp.mpf(10) ** -45


def discrete_laplace(z: int, q: Any) -> Any:
    """Return P(Z = z)."""
    return (1 - q) / (1 + q) * q ** abs(z)


def one_count(change: int, q: Any) -> dict[int, Any]:
    """Return the mass of each loss of one count that rises by `change`, in units of 1 / scale."""
    found = {change: 1 / (1 + q), -change: q**change / (1 + q)}
    for z in range(1, change):
        found[change - 2 * z] = (1 - q) / (1 + q) * q**z
    return found


def multiplied(change: int, q: Any, times: int) -> dict[int, Any]:
    """Return the mass of the sum of so many losses: binomial for change 1, else by multiplying polynomials."""
    if change == 1:
        terms = {times - 2 * j: math.comb(times, j) * q**j / (1 + q) ** times for j in range(times + 1)}
        return terms
    total: dict[int, Any] = {0: mp.mpf(1)}
    for _ in range(times):
        longer: dict[int, Any] = {}
        for (x, mass), (y, more) in product(total.items(), one_count(change, q).items()):
            longer[x + y] = longer.get(x + y, mp.mpf(0)) + mass * more
        total = longer
    return total


def enumerated(change: int, q: Any, counts: int) -> dict[int, Any]:
    """Return the same from the noise itself, for one or two counts: every outcome within reach, and the tails."""
    reach = math.ceil(mp.log(NEGLIGIBLE) / mp.log(q)) + change
    one: dict[int, Any] = {}
    for z in range(-reach, reach + 1):
        loss = abs(z - change) - abs(z)
        one[loss] = one.get(loss, mp.mpf(0)) + discrete_laplace(z, q)
    if counts == 1:
        return one
    both: dict[int, Any] = {}
    for x, y in product(one, repeat=2):
        both[x + y] = both.get(x + y, mp.mpf(0)) + one[x] * one[y]
    return both


def transformed(change: int, q: Any, times: int) -> dict[int, Any]:
    """Return the same by a discrete Fourier transform: a power of the characteristic function, and back."""
    span = 2 * change * times
    size = span + 1
    one = one_count(change, q)
    powers = []
    for k in range(size):
        turn = mp.expjpi(mp.mpf(2 * k) / size)
        value = mp.fsum(mass * turn ** (loss + change) for loss, mass in one.items())
        powers.append(value**times)
    found = {}
    for place in range(size):
        terms = (value * mp.expjpi(-mp.mpf(2 * k * place) / size) for k, value in enumerate(powers))
        found[place - change * times] = mp.re(mp.fsum(terms)) / size
    return {loss: mass for loss, mass in found.items() if (loss + change * times) % 2 == 0}


def scaled(losses: dict[int, Any], scale: float) -> dict[Any, Any]:
    """Return losses in nats."""
    return {loss / exact(scale): mass for loss, mass in losses.items()}


def discrete_laplace_answers() -> Iterator[Answer]:
    """Yield the answers about independent noise on counts."""
    name = "discrete Laplace"
    cases: list[tuple[float, int, int, int, list[float]]] = [
        (1, 1, 1, 1, [0, 1e-12, 1e-6, 1e-3, 0.1]),
        (1, 2, 1, 1, [0, 1e-6]),
        (2, 1, 3, 1, [0, 1e-6]),
        (10, 1, 1, 8, [1e-6]),
        (10, 1, 1, 64, [0, 1e-12, 1e-6, 1e-3, 0.1]),
        (1_000_000, 1, 1, 1, [0, 1e-7]),
        (0.03125, 1, 1, 1, [0, 1e-6]),
    ]
    for scale, counts, change, times, deltas in cases:
        about = {"scale": scale, "counts": counts, "change": change, "times": times}
        first, second, how, other = both_ways(scale, counts, change, times)
        for delta in deltas:
            value = least_epsilon(first, exact(delta))
            again = least_epsilon(second, exact(delta))
            yield Answer(name, about, "epsilon", {"delta": delta}, value, again, how, other, COUNTS)
    for scale, counts, change, times, epsilon in [
        (1, 1, 1, 1, 0),
        (1, 2, 1, 1, 1),
        (2, 1, 3, 1, 1),
        (10, 1, 1, 64, 2),
        (10, 1, 1, 64, 6),
    ]:
        about = {"scale": scale, "counts": counts, "change": change, "times": times}
        first, second, how, other = both_ways(scale, counts, change, times)
        value = delta_of(first, exact(epsilon))
        again = delta_of(second, exact(epsilon))
        yield Answer(name, about, "delta", {"epsilon": epsilon}, value, again, how, other, COUNTS)
    for scale in (0.03125, 1, 10):
        q = mp.exp(-1 / exact(scale))
        value = 2 * q / (1 - q**2)
        reach = range(1, math.ceil(mp.log(NEGLIGIBLE) / mp.log(q)) + 200)
        again = 2 * mp.fsum(z * discrete_laplace(z, q) for z in reach)
        given = {"error": "absolute value of the noise"}
        yield Answer(
            name, {"scale": scale}, "expected error", given, value, again, "2 q / (1 - q^2)", "sum over the noise"
        )
    for scale, least in [(1, 1), (1, 15), (10, -3)]:
        q = mp.exp(-1 / exact(scale))
        far = q ** max(least, 1 - least) / (1 + q)
        value = far if least >= 1 else 1 - far
        reach = range(least, max(least, 0) + math.ceil(mp.log(NEGLIGIBLE) / mp.log(q)) + 1)
        again = mp.fsum(discrete_laplace(z, q) for z in reach)
        how = "q^u / (1 + q) for u >= 1, and its complement below"
        yield Answer(
            name, {"scale": scale}, "probability", {"at least": least}, value, again, how, "sum over the noise"
        )


def both_ways(scale: float, counts: int, change: int, times: int) -> tuple[dict[Any, Any], dict[Any, Any], str, str]:
    """Return the losses by two methods, and what the methods are."""
    q = mp.exp(-1 / exact(scale))
    first = multiplied(change, q, counts * times)
    how = "binomial sum over the signs of the losses" if change == 1 else "the distribution of the loss in closed form"
    if counts * times <= 2 and scale < 100:
        second = enumerated(change, q, counts)
        other = "sum over the noise of every count"
    else:
        second = transformed(change, q, counts * times)
        other = "discrete Fourier transform of the distribution of one loss"
    return scaled(first, scale), scaled(second, scale), how, other


def threshold_answers() -> Iterator[Answer]:
    """Yield the answers about pairs that are released only if they occur and their noisy count reaches a threshold.

    A table without the unit never shows its pairs, so any of them gives it away: delta is the probability that one is
    shown, at every epsilon >= 0 at which the other direction has no larger one.
    """
    name = "discrete Laplace with a threshold"
    for scale, threshold, events, epsilon in [(1, 15, [1, 1], 1), (1, 16, [2], 2), (1, 15, [1], 1), (2, 40, [3], 1.5)]:
        about = {"scale": scale, "threshold": threshold, "events": events}
        q = mp.exp(-1 / exact(scale))
        hidden = mp.mpf(1)
        unseen = mp.mpf(1)
        reach = math.ceil(mp.log(NEGLIGIBLE) / mp.log(q))
        for number in events:
            hidden *= 1 - q ** (threshold - number) / (1 + q)
            noise = range(-reach, threshold - number)
            unseen *= mp.fsum(discrete_laplace(z, q) for z in noise) + q ** (reach + 1) / (1 + q)
        other_way = 1 - mp.exp(exact(epsilon)) * hidden
        if other_way > 1 - hidden:
            raise ValueError(f"epsilon {epsilon} must be larger")
        yield Answer(
            name,
            about,
            "delta",
            {"epsilon": epsilon},
            1 - hidden,
            1 - unseen,
            "1 - prod_i (1 - q^(threshold - v_i) / (1 + q))",
            "sum over the noise with which no pair is shown",
            "One unit more, with v_i events in each of its pairs, which nobody else has.",
        )


# --------------------------------------------------------------------------------------------------- noise of sum zero


def over_angles(n: int, q: Any) -> tuple[Any, Any, Any]:
    """Return three sums over the noise of sum zero by Fourier series: of the weights q^|u|_1, of weights times |u_1|,
    and of the weights of the u with u_1 >= 0 >= u_2."""
    points = math.ceil(mp.log(NEGLIGIBLE) / mp.log(q)) + 2
    sums = [mp.mpf(0)] * 3
    for k in range(points):
        turn = mp.expjpi(mp.mpf(2 * k) / points)
        square = 1 - 2 * q * turn.real + q**2
        one = (1 - q**2) / square
        moved = 2 * mp.re(q * turn / (1 - q * turn) ** 2)
        sums[0] += one**n / points
        sums[1] += one ** (n - 1) * moved / points
        sums[2] += one ** (n - 2) / square / points
    return sums[0], sums[1], sums[2]


def over_bins(n: int, q: Any) -> tuple[Any, Any, Any]:
    """Return the same three sums bin by bin, over all noise within reach."""
    reach = math.ceil(mp.log(NEGLIGIBLE) / mp.log(q) / 2)
    everything = {v: q ** abs(v) for v in range(-reach, reach + 1)}
    moved = {v: abs(v) * weight for v, weight in everything.items()}
    up = {v: weight for v, weight in everything.items() if v >= 0}
    down = {v: weight for v, weight in everything.items() if v <= 0}
    return (
        _total_zero([everything] * n),
        _total_zero([moved, *[everything] * (n - 1)]),
        _total_zero([up, down, *[everything] * (n - 2)]),
    )


def _total_zero(bins: list[dict[int, Any]]) -> Any:
    """Return the sum of products of one weight from each bin, over the choices with the sum 0."""
    reach = max(abs(v) for weights in bins for v in weights)
    reached = dict(bins[0])
    for weights in bins[1:-1]:
        following = dict.fromkeys(range(-reach, reach + 1), mp.mpf(0))
        for total, weight in reached.items():
            for v in range(max(-reach - total, min(weights)), min(reach - total, max(weights)) + 1):
                following[total + v] += weight * weights[v]
        reached = following
    return mp.fsum(weight * bins[-1].get(-total, 0) for total, weight in reached.items())


def largest_loss(n: int, q: Any) -> Any:
    """Return the largest loss over small noise, for a person who leaves the first bin for the second."""
    ratios = set()
    for start in product(range(-2, 3), repeat=n - 1):
        noise = [*start, -sum(start)]
        moved = [noise[0] + 1, noise[1] - 1, *noise[2:]]
        ratios.add(q ** (sum(map(abs, noise)) - sum(map(abs, moved))))
    return mp.log(max(ratios))


def zero_sum_answers() -> Iterator[Answer]:
    """Yield the answers about noise that keeps the total."""
    name = "zero-sum discrete Laplace"
    angles = "Fourier series, summed at equally spaced angles"
    bins = "sum over the noise, bin by bin"
    for n, epsilon, given in [(3, 1, 0.5), (5, 2, 0), (3, 30, 29)]:
        about = {"bins": n, "epsilon": epsilon}
        q = mp.exp(-exact(epsilon) / 2)
        total, moved, worst = over_angles(n, q)
        total_again, moved_again, worst_again = over_bins(n, q)
        largest = largest_loss(n, q)
        closed = "the norm of the noise changes by 2 at most, and by 2 for the noise 0"
        yield Answer(
            name, about, "epsilon", {"delta": 0}, exact(epsilon), largest, closed, "largest loss of an outcome", MOVED
        )
        share = -mp.expm1(exact(given) - exact(epsilon))
        yield Answer(
            name,
            about,
            "delta",
            {"epsilon": given},
            worst / total * share,
            worst_again / total_again * share,
            angles,
            bins,
            MOVED,
        )
        yield Answer(name, about, "probability", {"noise": 0}, 1 / total, 1 / total_again, angles, bins)
        value = n * moved / total / 2
        again = n * moved_again / total_again / 2
        given_error = {"error": "people moved, |u|_1 / 2"}
        yield Answer(name, about, "expected error", given_error, value, again, angles, bins)


def answers() -> Iterator[Answer]:
    """Yield every answer about integer noise."""
    yield from discrete_laplace_answers()
    yield from threshold_answers()
    yield from zero_sum_answers()
