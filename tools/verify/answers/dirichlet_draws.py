"""Answers about the Dirichlet mechanism, which releases Dir(k p), and the tempered
posterior Dir(kappa (c + alpha)).

Every pair of neighbours is dominated by Beta(a + t, a) against Beta(a, a + t), with a =
k eta, t = k shift (or a = kappa alpha, t = kappa), whose loss is t logit(Y). This pair
is attained with three categories or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import mpmath as mp
import numpy as np

from tools.verify.answers.answer import About, Answer, exact, profile_answers
from tools.verify.many_digits import beta_tail, log_add_remove, log_replace

BORDERED = (
    "In each of the rows, two of at least three entries move by at most `shift` in "
    "opposite directions; every entry of both vectors is at least eta."
)
REPLACED = "One record of a row moves to another of at least three categories."
ADDED = "One record is added or removed; the value is the supremum over all rows."
TAILS = "difference of two incomplete beta functions"
LOGITS = "quadrature of the positive part of p - e^epsilon q over the logit"
INVERSION = "inversion of the moment-generating function of the loss"
ENTRY = "quadrature over the beta distribution of each entry"
GRID = "convolution of the densities of the logits on a grid"
GAMMAS = (
    "differences of incomplete gamma functions, in both directions",
    "quadrature of the positive part of p - e^epsilon q, in both directions",
)


def over_logits(epsilon: Any, a: Any, t: Any) -> Any:
    """Return delta of the Beta pair as the integral of (1 - e^(epsilon - t x)) f(x)
    over the x beyond epsilon / t."""
    start = epsilon / t
    front = mp.loggamma(2 * a + t) - mp.loggamma(a + t) - mp.loggamma(a)

    def density(v: Any) -> Any:
        """Return f(start + v) e^(a start), because the quadrature's error is
        absolute."""
        return mp.exp(front - a * v - (2 * a + t) * mp.log1p(mp.exp(-start - v)))

    cuts = [mp.mpf(x) / 2 for x in (0, 1, 2, 4, 7, 11, 16, 22, 30)]
    cuts += [cuts[-1] + x / a for x in (1, 5, 15, 40, 120)]
    return mp.exp(-a * start) * mp.quad(lambda v: -mp.expm1(-t * v) * density(v), cuts)


def inverted(epsilon: Any, a: Any, t: Any, rows: int) -> Any:
    """Return delta of so many Beta pairs: the integral of e^(-z epsilon) M(z)^rows / (z
    (z + 1)) over a vertical line.

    M(z) = B(a + t + t z, a - t z) / B(a + t, a) is E e^(z loss). Equal steps along the
    line converge exponentially.
    """
    base = mp.loggamma(a + t) + mp.loggamma(a)

    def log_integrand(z: Any) -> Any:
        log_m = mp.loggamma(a + t + t * z) + mp.loggamma(a - t * z) - base
        return rows * log_m - z * epsilon - mp.log(z) - mp.log(z + 1)

    places = [a / t * share / 64 for share in range(8, 57)]
    through = min(
        places, key=lambda c: mp.re(log_integrand(c))
    )  # near the saddle, where least cancels
    step = 2 * mp.pi * min(through, a / t - through) / (mp.mp.dps * mp.log(10))
    peak = mp.exp(log_integrand(through))
    total = peak / 2
    k = 0
    while True:
        k += 1
        term = mp.re(mp.exp(log_integrand(through + 1j * k * step)))
        total += term
        if k % 64 == 0 and mp.re(log_integrand(through + 1j * k * step)) < mp.log(
            peak
        ) - mp.mp.dps * mp.log(10):
            return total * step / mp.pi


BITS = 260


def step_of(a: Any) -> Any:
    """Return the step of the grid for logits of Beta(a + t, a): a quarter, or less
    where they vary less."""
    return mp.mpf(1) / (4 if a < 2 else 8)


@cache
def logits_of(a: Any, t: Any, rows: int) -> dict[Any, Any]:
    """Return the density of the sum of so many logits of Beta(a + t, a) on a grid,
    times the step."""
    step = step_of(a)
    reach = math.ceil((mp.mp.dps - 5) * mp.log(10) / a / step) + math.ceil(
        10 * rows / step
    )
    front = mp.loggamma(2 * a + t) - mp.loggamma(a + t) - mp.loggamma(a) + mp.log(step)
    grid = [j * step for j in range(-reach, reach + 1)]
    one = [mp.exp(front - a * x - (2 * a + t) * mp.log1p(mp.exp(-x))) for x in grid]
    fixed = np.array([int(mp.nint(mp.ldexp(mass, BITS))) for mass in one], dtype=object)
    total = fixed
    for _ in range(rows - 1):
        total = np.convolve(total, fixed, "same") >> BITS
    return {x: mp.ldexp(mp.mpf(mass), -BITS) for x, mass in zip(grid, total) if mass}


def on_grid(epsilon: Any, a: Any, t: Any, rows: int) -> Any:
    """Return delta of so many Beta pairs: that of one row, averaged over the losses of
    the others on a grid."""
    return mp.fsum(
        mass * one_row(epsilon - t * x, a, t)
        for x, mass in logits_of(a, t, rows - 1).items()
    )


def one_row(epsilon: Any, a: Any, t: Any) -> Any:
    """Return delta of one Beta pair at any epsilon, also below 0."""
    w = 1 / (1 + mp.exp(epsilon / t))
    complement = 1 / (1 + mp.exp(-epsilon / t))
    return beta_tail(a, a + t, w, complement) - mp.exp(epsilon) * beta_tail(
        a + t, a, w, complement
    )


def mechanism_answers() -> Iterator[Answer]:
    """Yield the answers about the privacy of Dir(k p); each delta comes with a first
    guess of its epsilon."""
    cases: list[tuple[float, float, float, int, list[float], dict[float, float]]] = [
        (
            20.6,
            0.073,
            0.01,
            1,
            [0, 0.629, 2, 30],
            {1e-12: 3.5, 1e-6: 1.7, 1e-3: 0.75, 0.1: 0.01},
        ),
        (98.7, 0.1, 0.0125, 1, [3.085], {1e-6: 3}),
        (1e-6, 0.1, 0.0125, 1, [0.1], {1e-6: 1.4}),
        (1000, 0.05, 0.1, 1, [], {1e-6: 190}),
        (9.87, 0.1, 0.0125, 2, [1.16], {1e-6: 1.8}),
        (9.87, 0.1, 0.0125, 8, [1.16], {1e-6: 3.2}),
        (9.87, 0.1, 0.0125, 32, [1.16], {1e-9: 8.2, 1e-6: 6.4, 0.1: 1.7}),
        (98.7, 0.1, 0.0125, 32, [11.12], {1e-6: 19}),
    ]
    for k, eta, shift, rows, epsilons, guesses in cases:
        parameters = {"k": k, "eta": eta, "shift": shift, "rows": rows}
        about = About("Dirichlet mechanism", parameters, BORDERED)
        a = exact(k) * exact(eta)
        t = exact(k) * exact(shift)
        if rows == 1:
            yield from pair_answers(about, a, t, epsilons, guesses)
            continue
        profiles = (
            partial(inverted, a=a, t=t, rows=rows),
            partial(on_grid, a=a, t=t, rows=rows),
        )
        ways = (INVERSION, GRID)
        yield from profile_answers(about, profiles, ways, epsilons, guesses)


def pair_answers(
    about: About,
    a: Any,
    t: Any,
    epsilons: list[float],
    guesses: dict[float, float],
) -> Iterator[Answer]:
    """Yield the answers about one Beta pair."""

    def first(epsilon: Any) -> Any:
        with mp.workdps(150):  # the difference cancels where it is small
            return mp.exp(log_replace(epsilon, a, t))

    profiles = (first, partial(over_logits, a=a, t=t))
    yield from profile_answers(about, profiles, (TAILS, LOGITS), epsilons, guesses)


def error_answers() -> Iterator[Answer]:
    """Yield the answers about the accuracy of Dir(k p), and about small entries."""
    for k, p in [(20.6, [0.2, 0.3, 0.5]), (0.5, [0.01, 0.99])]:
        about = About("Dirichlet mechanism", {"k": k, "p": p})
        shares = [exact(share) for share in p]
        values = (
            absolute_error(exact(k), shares[0]),
            absolute_error_integral(exact(k), shares[0]),
        )
        ways = ("2 p^(k p) (1 - p)^(k - k p) / (k B(k p, k - k p))", ENTRY)
        yield Answer(about, "expected error", {"error": "|x_1 - p_1|"}, values, ways)
        values = (divergence(exact(k), shares), divergence_integral(exact(k), shares))
        ways = ("sum p_i (log p_i + psi(k) - psi(k p_i))", ENTRY)
        yield Answer(
            about, "expected error", {"error": "KL(p, x) in nats"}, values, ways
        )
    ways = (
        "inclusion and exclusion",
        "integral over the second entry, given the first",
    )
    for k, p, limit in [
        (9.87, [0.1, 0.1, 0.8], 0.001),
        (20.6, [0.073, 0.073, 0.854], 0.0004),
    ]:
        about = About("Dirichlet mechanism", {"k": k, "p": p})
        parts = [exact(k) * exact(share) for share in p]
        values = (leaving(parts, exact(limit)), leaving_integral(parts, exact(limit)))
        given = {"one of the first entries below": limit, "entries": 2}
        yield Answer(about, "probability", given, values, ways)


def absolute_error(k: Any, p: Any) -> Any:
    """Return E |x - p| of one entry."""
    log_beta = mp.loggamma(k * p) + mp.loggamma(k - k * p) - mp.loggamma(k)
    return 2 * mp.exp(k * p * mp.log(p) + k * (1 - p) * mp.log1p(-p) - log_beta) / k


def absolute_error_integral(k: Any, p: Any) -> Any:
    """Return the same from the beta distribution of the entry."""

    def error(x: Any) -> Any:
        return abs(x - p)

    return beta_mean(error, k * p, k - k * p, p)


def divergence(k: Any, p: list[Any]) -> Any:
    """Return the expected Kullback-Leibler divergence of the release from p."""
    psi = mp.digamma(k)
    return mp.fsum(share * (mp.log(share) + psi - mp.digamma(k * share)) for share in p)


def divergence_integral(k: Any, p: list[Any]) -> Any:
    """Return the same from the beta distribution of each entry."""
    terms = []
    for share in p:
        mean_of_log = beta_mean(mp.log, k * share, k - k * share, share)
        terms.append(share * (mp.log(share) - mean_of_log))
    return mp.fsum(terms)


def beta_mean(function: Callable[[Any], Any], a: Any, b: Any, kink: Any) -> Any:
    """Return the mean of a function of a Beta(a, b) variable, by quadrature over its
    logit."""
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

    def integrand(x: Any) -> Any:
        log_share = -mp.log1p(mp.exp(-x))
        return function(mp.exp(log_share)) * mp.exp(
            a * log_share - b * mp.log1p(mp.exp(x)) - log_beta
        )

    middle = mp.log(kink / (1 - kink))
    spread = 1 / mp.sqrt(a + b) + 1
    steps = [spread * x for x in (0, 0.3, 1, 2, 4, 8, 16)]
    beyond = (3, 20, 130)
    right = [*steps, *(steps[-1] + x / b for x in beyond)]
    left = [*steps, *(steps[-1] + x / a for x in beyond)]
    upper = mp.quad(lambda x: integrand(middle + x), right)
    return upper + mp.quad(lambda x: integrand(middle - x), left)


def leaving(parts: list[Any], below: Any) -> Any:
    """Return the probability that one of the first two entries of a Dirichlet vector is
    below a limit.

    That both are is a double series in the limit, from the density x^(a-1) y^(b-1) (1 -
    x - y)^(c-1).
    """
    a, b, c = parts
    one = beta_tail(a, b + c, below) + beta_tail(b, a + c, below)
    front = mp.exp(
        mp.loggamma(a + b + c) - mp.loggamma(a) - mp.loggamma(b) - mp.loggamma(c)
    )
    both = mp.mpf(0)
    for i in range(40):
        for j in range(40 - i):
            term = mp.rf(1 - c, i + j) / mp.factorial(i) / mp.factorial(j)
            both += term * below ** (a + i) / (a + i) * below ** (b + j) / (b + j)
    return one - front * both


def leaving_integral(parts: list[Any], below: Any) -> Any:
    """Return the same: the first is below, or it is not and the second, a share of the
    rest, is."""
    a, b, c = parts
    log_beta = mp.loggamma(a) + mp.loggamma(b + c) - mp.loggamma(a + b + c)

    def integrand(x: Any) -> Any:
        density = mp.exp((a - 1) * mp.log(x) + (b + c - 1) * mp.log1p(-x) - log_beta)
        return density * beta_tail(b, c, below / (1 - x))

    cuts = [below * x for x in (1, 2, 5, 20)]
    cuts += [mp.mpf(x) / 10 for x in (1, 3, 6, 9)]
    cuts += [1 - below * x for x in (20, 5, 2)]
    inner = mp.quad(integrand, cuts)
    end = mp.quad(integrand, [1 - 2 * below, 1 - below]) + beta_tail(b + c, a, below)
    return beta_tail(a, b + c, below) + inner + end


def posterior_answers() -> Iterator[Answer]:
    """Yield the answers about Dir(kappa (c + alpha)), whatever the counts c."""
    for epsilon in (0, 1, 30):
        value = 1 / (1 + mp.exp(exact(epsilon)))
        again = over_logits(exact(epsilon), mp.mpf(1), mp.mpf(1))
        ways = ("1 / (1 + e^epsilon)", LOGITS)
        about = posterior(1, 1, "replace")
        yield Answer(about, "delta", {"epsilon": epsilon}, (value, again), ways)
    about = posterior(0.8, 10, "replace")
    yield from pair_answers(about, mp.mpf(8), exact(0.8), [1], {1e-12: 3.4, 1e-6: 2})
    for kappa, alpha, guess in [(0.8, 10, 1.6), (1, 1, 13)]:
        about = posterior(kappa, alpha, "add-remove")
        a = exact(kappa) * alpha
        profiles = (
            partial(added, a=a, t=exact(kappa)),
            partial(added_integral, a=a, t=exact(kappa)),
        )
        yield from profile_answers(about, profiles, GAMMAS, [1], {1e-6: guess})


def posterior(kappa: float, alpha: float, adjacency: str) -> About:
    """Return what an answer about the posterior is about."""
    parameters = {"kappa": kappa, "alpha": alpha, "adjacency": adjacency}
    neighbours = REPLACED if adjacency == "replace" else ADDED
    return About("tempered Dirichlet posterior", parameters, neighbours)


def added(epsilon: Any, a: Any, t: Any) -> Any:
    """Return delta of a Gamma pair."""
    return mp.exp(log_add_remove(epsilon, a, t))


def added_integral(epsilon: Any, a: Any, t: Any) -> Any:
    """Return the same by integration."""
    return max(over_gammas(epsilon, a, t, side) for side in (-1, 1))


def over_gammas(epsilon: Any, a: Any, t: Any, side: int) -> Any:
    """Return the hockey-stick divergence of two Gamma variables, for a record added (1)
    or removed (-1)."""
    ratio = mp.loggamma(a + t) - mp.loggamma(a)
    start = (
        ratio + side * epsilon
    ) / t  # of log g; beyond it the loss is above epsilon
    shape = a + t if side > 0 else a
    other = a if side > 0 else a + t

    def gain(y: Any) -> Any:
        x = start + side * y
        return mp.exp(shape * x - mp.exp(x) - mp.loggamma(shape)) - mp.exp(
            epsilon + other * x - mp.exp(x) - mp.loggamma(other)
        )

    far = [mp.mpf(y) / 4 for y in (0, 1, 2, 4, 7, 11, 16, 22)]
    return mp.quad(
        gain,
        far if side > 0 else [*far, *(far[-1] + y / a for y in (1, 5, 15, 40, 120))],
    )


def answers() -> Iterator[Answer]:
    """Yield every answer about the simplex."""
    yield from mechanism_answers()
    yield from error_answers()
    yield from posterior_answers()
