"""Answers about integer noise: the discrete Laplace (geometric) mechanism, alone,
composed, with a threshold, and the noise of sum zero.

The discrete Laplace distribution with scale s has P(z) proportional to q^|z|, q =
e^(-1/s). Noise of sum zero on n bins has P(u) proportional to exp(-epsilon |u|_1 / 2)
on the integer vectors whose entries add up to 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import mpmath as mp

from tools.verify.answers.answer import About, Answer, delta_of, exact, least_epsilon

COUNTS = "Each of the counts changes by at most `change`; each release has new noise."
MOVED = "Two histograms of the same total; one person is in another bin."
NEGLIGIBLE = mp.mpf(10) ** -45


def discrete_laplace(z: int, q: Any) -> Any:
    """Return P(Z = z)."""
    return (1 - q) / (1 + q) * q ** abs(z)


def one_count(change: int, q: Any) -> dict[int, Any]:
    """Return the mass of each loss of one count that rises by `change`, in units of 1 /
    scale."""
    found = {change: 1 / (1 + q), -change: q**change / (1 + q)}
    for z in range(1, change):
        found[change - 2 * z] = (1 - q) / (1 + q) * q**z
    return found


def multiplied(change: int, q: Any, times: int) -> dict[int, Any]:
    """Return the mass of the sum of so many losses: binomial for change 1, else by
    multiplying polynomials."""
    if change == 1:
        terms = {
            times - 2 * j: math.comb(times, j) * q**j / (1 + q) ** times
            for j in range(times + 1)
        }
        return terms
    total: dict[int, Any] = {0: mp.mpf(1)}
    for _ in range(times):
        longer: dict[int, Any] = {}
        for (x, mass), (y, more) in product(
            total.items(), one_count(change, q).items()
        ):
            longer[x + y] = longer.get(x + y, mp.mpf(0)) + mass * more
        total = longer
    return total


def enumerated(change: int, q: Any, counts: int) -> dict[int, Any]:
    """Return the same from the noise itself, for one or two counts: every outcome
    within reach, and the tails."""
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
    """Return the same by a discrete Fourier transform: a power of the characteristic
    function, and back."""
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
        terms = (
            value * mp.expjpi(-mp.mpf(2 * k * place) / size)
            for k, value in enumerate(powers)
        )
        found[place - change * times] = mp.re(mp.fsum(terms)) / size
    return {
        loss: mass for loss, mass in found.items() if (loss + change * times) % 2 == 0
    }


def scaled(losses: dict[int, Any], scale: float) -> dict[Any, Any]:
    """Return losses in nats."""
    return {loss / exact(scale): mass for loss, mass in losses.items()}


def both_ways(
    scale: float, counts: int, change: int, times: int
) -> tuple[tuple[dict[Any, Any], dict[Any, Any]], tuple[str, str]]:
    """Return the losses by two methods, and what the methods are."""
    q = mp.exp(-1 / exact(scale))
    first = multiplied(change, q, counts * times)
    how = "the distribution of the loss in closed form"
    if change == 1:
        how = "binomial sum over the signs of the losses"
    if counts * times <= 2 and scale < 100:
        second = enumerated(change, q, counts)
        other = "sum over the noise of every count"
    else:
        second = transformed(change, q, counts * times)
        other = "discrete Fourier transform of the distribution of one loss"
    return (scaled(first, scale), scaled(second, scale)), (how, other)


def discrete_laplace_answers() -> Iterator[Answer]:
    """Yield the answers about the privacy of independent noise on counts."""
    cases: list[tuple[float, int, int, int, list[float], list[float]]] = [
        (1, 1, 1, 1, [0, 1e-12, 1e-6, 1e-3, 0.1], [0]),
        (1, 2, 1, 1, [0, 1e-6], [1]),
        (2, 1, 3, 1, [0, 1e-6], [1]),
        (10, 1, 1, 8, [1e-6], []),
        (10, 1, 1, 64, [0, 1e-12, 1e-6, 1e-3, 0.1], [2, 6]),
        (1_000_000, 1, 1, 1, [0, 1e-7], []),
        (0.03125, 1, 1, 1, [0, 1e-6], []),
    ]
    for scale, counts, change, times, deltas, epsilons in cases:
        parameters = {
            "scale": scale,
            "counts": counts,
            "change": change,
            "times": times,
        }
        about = About("discrete Laplace", parameters, COUNTS)
        losses, ways = both_ways(scale, counts, change, times)
        for delta in deltas:
            found = [least_epsilon(each, exact(delta)) for each in losses]
            yield Answer(about, "epsilon", {"delta": delta}, (found[0], found[1]), ways)
        for epsilon in epsilons:
            found = [delta_of(each, exact(epsilon)) for each in losses]
            yield Answer(
                about, "delta", {"epsilon": epsilon}, (found[0], found[1]), ways
            )


def noise_answers() -> Iterator[Answer]:
    """Yield the answers about the noise itself."""
    summed = "sum over the noise"
    for scale in (0.03125, 1, 10):
        q = mp.exp(-1 / exact(scale))
        value = 2 * q / (1 - q**2)
        again = 2 * mp.fsum(z * discrete_laplace(z, q) for z in range(1, reach_of(q)))
        about = About("discrete Laplace", {"scale": scale})
        given = {"error": "absolute value of the noise"}
        ways = ("2 q / (1 - q^2)", summed)
        yield Answer(about, "expected error", given, (value, again), ways)
    for scale, least in [(1, 1), (1, 15), (10, -3)]:
        q = mp.exp(-1 / exact(scale))
        far = q ** max(least, 1 - least) / (1 + q)
        value = far if least >= 1 else 1 - far
        noise = range(least, max(least, 0) + reach_of(q))
        again = mp.fsum(discrete_laplace(z, q) for z in noise)
        about = About("discrete Laplace", {"scale": scale})
        ways = ("q^u / (1 + q) for u >= 1, and its complement below", summed)
        yield Answer(about, "probability", {"at least": least}, (value, again), ways)


def reach_of(q: Any) -> int:
    """Return a noise beyond which nothing counts, for sums of the noise too."""
    return math.ceil(mp.log(NEGLIGIBLE) / mp.log(q)) + 200


def threshold_answers() -> Iterator[Answer]:
    """Yield the answers about pairs that are released only if they occur and their
    noisy count reaches a threshold.

    A table without the unit never shows its pairs, so any of them gives it away: delta
    is the probability that one is shown, at every epsilon >= 0 at which the other
    direction has no larger one.
    """
    neighbours = "One unit more, with v_i events in each of its pairs, its own alone."
    ways = (
        "1 - prod_i (1 - q^(threshold - v_i) / (1 + q))",
        "sum over the noise with which no pair is shown",
    )
    for scale, threshold, events, epsilon in [
        (1, 15, [1, 1], 1),
        (1, 16, [2], 2),
        (1, 15, [1], 1),
        (2, 40, [3], 1.5),
    ]:
        parameters = {"scale": scale, "threshold": threshold, "events": events}
        about = About("discrete Laplace with a threshold", parameters, neighbours)
        q = mp.exp(-1 / exact(scale))
        hidden = mp.fprod(1 - q ** (threshold - each) / (1 + q) for each in events)
        if 1 - mp.exp(exact(epsilon)) * hidden > 1 - hidden:
            raise ValueError(f"epsilon {epsilon} must be larger")
        unseen = mp.fprod(below(threshold - each, q) for each in events)
        values = (1 - hidden, 1 - unseen)
        yield Answer(about, "delta", {"epsilon": epsilon}, values, ways)


def below(limit: int, q: Any) -> Any:
    """Return P(Z < limit), summed over the noise."""
    return mp.fsum(discrete_laplace(z, q) for z in range(-reach_of(q), limit))


# --- noise of sum zero ----------------------------------------------------------------


def over_angles(n: int, q: Any) -> tuple[Any, Any, Any]:
    """Return three sums over the noise of sum zero by Fourier series: of the weights
    q^|u|_1, of weights times |u_1|, and of the weights of the u with u_1 >= 0 >=
    u_2."""
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
    """Return the sum of products of one weight from each bin, over the choices with the
    sum 0."""
    reach = max(abs(v) for weights in bins for v in weights)
    reached = dict(bins[0])
    for weights in bins[1:-1]:
        following = dict.fromkeys(range(-reach, reach + 1), mp.mpf(0))
        for total, weight in reached.items():
            for v in range(
                max(-reach - total, min(weights)), min(reach - total, max(weights)) + 1
            ):
                following[total + v] += weight * weights[v]
        reached = following
    return mp.fsum(
        weight * bins[-1].get(-total, 0) for total, weight in reached.items()
    )


def largest_loss(n: int, q: Any) -> Any:
    """Return the largest loss over small noise, for a person who leaves the first bin
    for the second."""
    ratios = set()
    for start in product(range(-2, 3), repeat=n - 1):
        noise = [*start, -sum(start)]
        moved = [noise[0] + 1, noise[1] - 1, *noise[2:]]
        ratios.add(q ** (sum(map(abs, noise)) - sum(map(abs, moved))))
    return mp.log(max(ratios))


def zero_sum_answers() -> Iterator[Answer]:
    """Yield the answers about noise that keeps the total."""
    closed = "the norm of the noise changes by 2 at most, and by 2 for the noise 0"
    ways = (
        "Fourier series, summed at equally spaced angles",
        "sum over the noise, bin by bin",
    )
    for n, epsilon, given in [(3, 1, 0.5), (5, 2, 0), (3, 30, 29)]:
        about = About(
            "zero-sum discrete Laplace", {"bins": n, "epsilon": epsilon}, MOVED
        )
        q = mp.exp(-exact(epsilon) / 2)
        pure = (exact(epsilon), largest_loss(n, q))
        largest = (closed, "largest loss of an outcome")
        yield Answer(about, "epsilon", {"delta": 0}, pure, largest)
        total, moved, worst = over_angles(n, q)
        total_again, moved_again, worst_again = over_bins(n, q)
        share = -mp.expm1(exact(given) - exact(epsilon))
        values = (worst / total * share, worst_again / total_again * share)
        yield Answer(about, "delta", {"epsilon": given}, values, ways)
        about = about._replace(neighbours="")
        values = (1 / total, 1 / total_again)
        yield Answer(about, "probability", {"noise": 0}, values, ways)
        values = (n * moved / total / 2, n * moved_again / total_again / 2)
        error = {"error": "people moved, |u|_1 / 2"}
        yield Answer(about, "expected error", error, values, ways)


def answers() -> Iterator[Answer]:
    """Yield every answer about integer noise."""
    yield from discrete_laplace_answers()
    yield from noise_answers()
    yield from threshold_answers()
    yield from zero_sum_answers()
