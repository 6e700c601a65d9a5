"""Every closed form against many digits: `python -m benchmarks.precision` prints the worst error of each.

Each check is a function of the package, the same formula in mpmath, a grid wider than the unit tests', and the error
the package states or is held to. Arguments are floats and enter the reference exactly. Errors are relative; for
logarithms, where the value may be near zero, relative to max(1, |log|), so that below one they are relative errors of
the quantity itself.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pandas as pd
from scipy.special import betainc, betaincc

from dpsim import (
    accounting,
    audit,
    boltzmann,
    boltzmann_exact,
    data_driven,
    dirichlet,
    figures,
    markov,
    project,
    quadrature,
    special,
    value_bounds,
    words,
)

DIGITS = 60


@dataclass(frozen=True)
class Check:
    """A function of the package, its reference, the grid of arguments and the error allowed."""

    function: str
    ours: Callable[..., Any]
    reference: Callable[..., Any]
    grid: Sequence[tuple]
    tolerance: float
    log: bool = False


def grid(*axes: Sequence) -> list[tuple]:
    """Return all combinations of the axes."""
    return list(product(*axes))


def powers(low: int, high: int, step: float = 1.0) -> list[float]:
    """Return powers of ten, times 1.1 so that few are round."""
    return [1.1 * 10.0**e for e in np.arange(low, high + step / 2, step)]


# ------------------------------------------------------------------------------------------ special functions


def log_beta(a: Any, b: Any) -> Any:
    """Return log B(a, b)."""
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def stirling_rest(x: Any) -> Any:
    """Return log Gamma less Stirling's leading terms."""
    return mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def log_kernel(x: Any, p: Any, k: Any) -> Any:
    """Return log(x^(kp) (1-x)^(k-kp) / B(kp, k-kp))."""
    return k * p * mp.log(x) + k * (1 - p) * mp.log1p(-x) - log_beta(k * p, k - k * p)


def series_tail(a: Any, b: Any, w: Any) -> Any:
    """Return I_w(a, b) by its series of positive terms."""
    term, total, n = mp.mpf(1), mp.mpf(0), 0
    smallest = mp.mpf(10) ** -(mp.mp.dps - 5)
    while term > total * smallest:
        total += term
        term *= (a + b + n) / (a + 1 + n) * w
        n += 1
    front = a * mp.log(w) + b * mp.log1p(-w) + mp.loggamma(a + b) - mp.loggamma(a + 1) - mp.loggamma(b)
    return total * mp.exp(front)


def beta_tail(a: Any, b: Any, w: Any, complement: Any = None) -> Any:
    """Return I_w(a, b); complement: 1 - w where w is near 1."""
    complement = 1 - w if complement is None else complement
    near = w <= 0.5 or w * (a + b) < a  # its terms are positive anywhere, and few while w is not near 1
    return series_tail(a, b, w) if near else 1 - series_tail(b, a, complement)


def log_beta_tail(x: Any, p: Any, k: Any) -> Any:
    """Return log I_x(k p, k - k p)."""
    return mp.log(beta_tail(k * p, k - k * p, x))


def special_checks() -> list[Check]:
    """Return the checks of dpsim.special and of the quadrature's Stirling error."""
    wide = powers(-8, 12)
    means, sizes = [1e-4, 0.02, 0.25, 0.5, 0.9], powers(-3, 6)
    left = [(p * part, p, k) for p, part, k in grid(means, [1e-3, 0.1, 0.7, 0.99, 1.05], sizes) if p * part < 1]
    return [
        Check("special.stirling_rest", special.stirling_rest, stirling_rest, grid(powers(-8, 12, 0.1)), 1e-12),
        Check("quadrature.stirling_error", quadrature.stirling_error, stirling_rest, grid(powers(-8, 12, 0.1)), 1e-11),
        Check("special.log_beta", special.log_beta, log_beta, grid(wide, wide), 1e-14, log=True),
        Check(
            "special.log_gamma_ratio",
            special.log_gamma_ratio,
            lambda a, t: mp.loggamma(a + t) - mp.loggamma(a),
            grid(wide, wide),
            1e-13,
            log=True,
        ),
        Check(
            "special.log_minus_psi",
            special.log_minus_psi,
            lambda x: mp.log(x) - mp.digamma(x),
            grid(powers(-8, 12, 0.1)),
            1e-13,
        ),
        Check("special.log_beta_kernel", special.log_beta_kernel, log_kernel, left, 1e-13, log=True),
        Check("special.log_beta_tail", special.log_beta_tail, log_beta_tail, left, 1e-9, log=True),
    ]


# ------------------------------------------------------------------------------------------ Dirichlet mechanism


def published_epsilon(k: Any, shift: Any, eta: Any, gamma: Any, m: int, eta_bar: Any) -> Any:
    """Return Theorem 1's epsilon as printed, with eta in the place of eta_bar for Benvenuti et al. 2026."""
    rest = 1 - (eta if eta_bar is None else eta_bar)
    ratio = log_beta(k * eta, k * (rest - eta)) - log_beta(k * (eta + shift), k * (rest - eta - shift))
    return max(ratio + k * shift * mp.log((1 - (m - 1) * gamma) / gamma), mp.mpf(0))


def log_sum_of_tails(k: Any, eta: Any, gamma: Any, n: int) -> Any:
    """Return the logarithm of the union bound on delta at the worst vertex, at most 0."""
    tail = beta_tail(k * eta, k - k * eta, gamma)
    large = 1 - (n - 1) * eta
    return min(mp.log((n - 1) * tail + beta_tail(k * large, k - k * large, gamma)), mp.mpf(0))


def log_no_tails(k: Any, eta: Any, gamma: Any, n: int) -> Any:
    """Return the logarithm of the lower bound on delta, from the coordinates' negative association."""
    large = 1 - (n - 1) * eta
    none = (n - 1) * mp.log1p(-beta_tail(k * eta, k - k * eta, gamma))
    return mp.log(-mp.expm1(none + mp.log1p(-beta_tail(k * large, k - k * large, gamma))))


def mean_deviation(p: Any, k: Any) -> Any:
    """Return E|x - p| for x ~ Beta(k p, k (1-p))."""
    return 2 * mp.exp(log_kernel(p, p, k)) / k


def expected_kl(p: Any, k: Any) -> Any:
    """Return E KL(p || x), p the vector (p, (1-p)/3, 2 (1-p)/3) as floats."""
    return sum(x * (mp.log(x) + mp.digamma(k) - mp.digamma(k * x)) for x in map(mp.mpf, vector(float(p)).tolist()))


def vector(p: float) -> np.ndarray:
    """Return a probability vector with p as its first entry."""
    return np.array([p, (1 - p) / 3, 1 - p - (1 - p) / 3])


def expected_kl_bound(n: Any, N: Any, k: Any) -> Any:
    """Return Corollary 1: E KL at n-1 counts of 1 and one of N-n+1."""
    shares = [((n - 1), 1 / mp.mpf(N)), (1, (N - n + 1) / mp.mpf(N))]
    return sum(many * x * (mp.log(x) + mp.digamma(k) - mp.digamma(k * x)) for many, x in shares)


def lemma_eight(n: int, N: Any, k: Any) -> Any:
    """Return the logarithm of Lemma 8's bound."""
    one, others = 1 / mp.mpf(N), (n - 1) / mp.mpf(N)
    head = mp.log(2) - mp.log(k) + k * (1 - others) * mp.log(one) + k * (1 - one) * mp.log(others)
    return head - log_beta(k * one, k * others)


def posterior_error(c: int, rest: int, kappa: Any, alpha: Any) -> Any:
    """Return E|x - c/N| of the posterior release of two counts, by the two incomplete beta functions."""
    a, b, share = kappa * (c + alpha), kappa * (rest + alpha), mp.mpf(c) / (c + rest)
    if not c:
        return a / (a + b)
    first, second = beta_tail(a, b, share), beta_tail(a + 1, b, share)
    return share * (2 * first - 1) + a / (a + b) * (1 - 2 * second)


def dirichlet_checks() -> list[Check]:
    """Return the checks of dpsim.dirichlet and of data_driven's error."""
    ks = powers(-3, 6)
    borders = [(eta, shift) for eta, shift in grid([1e-5, 0.01, 0.073, 0.2], [1e-6, 1e-3, 0.05]) if 3 * eta + shift < 1]
    theorem = [
        (k, s, e, g, m, bar)
        for k, (e, s), g, m, bar in grid(ks, borders, [1e-9, 1e-3, 0.1], [2, 4], [None, 0.051])
        if (m > 2 or bar) and s <= 1 - (bar or e) - 2 * e
    ]
    tails = [(k, e, g, n) for k, e, g, n in grid(powers(-3, 5), [1e-3, 0.05, 0.19], [1e-12, 1e-4, 0.01, 0.1], [2, 5])
             if n * e <= 1 and g < 1 / n]  # fmt: skip
    entries = grid([1e-6, 1e-3, 0.1, 0.5, 0.97], powers(-4, 12))
    databases = [(n, N, k) for n, N, k in grid([2, 5, 63], [70.0, 1e3, 1e6], powers(-2, 8))]
    counts = grid([0, 1, 40], [1, 7, 900], [0.02, 0.5, 1.0], [0.3, 5.0])

    def squared(p: Any, k: Any) -> Any:
        return p * (1 - p) / (k + 1)

    return [
        Check(
            "dirichlet.epsilon_bound",
            lambda k, s, e, g, m, bar: dirichlet.epsilon_bound(k, shift=s, eta=e, gamma=g, m=m, eta_bar=bar),
            published_epsilon,
            theorem,
            1e-12,
            log=True,
        ),
        Check(
            "dirichlet.log_delta_bounds, upper",
            lambda k, e, g, n: dirichlet.log_delta_bounds(k, eta=e, gamma=g, n=n)[1],
            log_sum_of_tails,
            tails,
            1e-9,
            log=True,
        ),
        Check(
            "dirichlet.log_delta_bounds, lower",
            lambda k, e, g, n: dirichlet.log_delta_bounds(k, eta=e, gamma=g, n=n)[0],
            log_no_tails,
            tails,
            1e-9,
            log=True,
        ),
        Check("dirichlet.expected_kl", lambda p, k: dirichlet.expected_kl(vector(p), k), expected_kl, entries, 1e-12),
        Check("dirichlet.expected_kl_bound", dirichlet.expected_kl_bound, expected_kl_bound, databases, 1e-12),
        Check(
            "dirichlet.expected_absolute_error",
            lambda p, k: dirichlet.expected_absolute_error(vector(p), k)[0],
            mean_deviation,
            entries,
            1e-12,
        ),
        Check(
            "dirichlet.expected_absolute_error_bound",
            dirichlet.expected_absolute_error_bound,
            lambda k: mean_deviation(mp.mpf(0.5), k),
            grid(powers(-8, 12, 0.2)),
            1e-12,
        ),
        Check(
            "dirichlet.expected_squared_error",
            lambda p, k: dirichlet.expected_squared_error(vector(p), k)[0],
            squared,
            entries,
            1e-15,
        ),
        Check(
            "dirichlet.log_absolute_error_lower_bound",
            dirichlet.log_absolute_error_lower_bound,
            lemma_eight,
            databases,
            1e-12,
            log=True,
        ),
        Check(
            "data_driven.posterior_absolute_error",
            lambda c, r, kappa, alpha: data_driven.posterior_absolute_error([c, r], kappa=kappa, alpha=alpha)[0],
            posterior_error,
            counts,
            1e-9,
        ),
    ]


# ----------------------------------------------------------------------------------------------- accounting


def log_replace(epsilon: Any, a: Any, t: Any) -> Any:
    """Return log delta of Beta(a+t, a) against Beta(a, a+t)."""
    w, complement = 1 / (1 + mp.exp(epsilon / t)), 1 / (1 + mp.exp(-epsilon / t))
    first, second = beta_tail(a, a + t, w, complement), beta_tail(a + t, a, w, complement)
    return mp.log(first - mp.exp(epsilon) * second)


def log_add_remove(epsilon: Any, a: Any, t: Any) -> Any:
    """Return the larger log delta of Gamma(a) and Gamma(a+t), both directions."""
    ratio, weight = mp.loggamma(a + t) - mp.loggamma(a), mp.exp(epsilon)
    above, below = mp.exp((ratio + epsilon) / t), mp.exp((ratio - epsilon) / t)
    add = mp.gammainc(a + t, a=above, regularized=True) - weight * mp.gammainc(a, a=above, regularized=True)
    remove = mp.gammainc(a, b=below, regularized=True) - weight * mp.gammainc(a + t, b=below, regularized=True)
    return mp.log(max(add, remove))


def renyi(fraction: Any, a: Any, t: Any) -> Any:
    """Return the Renyi divergence of the Beta pair at the float order that the package gets."""
    order = mp.mpf(renyi_order(float(fraction), float(a), float(t)))
    step = (order - 1) * t
    return (log_beta(a - step, a + t + step) - log_beta(a, a + t)) / (order - 1)


def renyi_order(fraction: float, a: float, t: float) -> float:
    """Return an order that far into its range."""
    return 1.0 + fraction * a / t


def halves(a: float, t: float) -> tuple[float, dict[str, float]]:
    """Return k, a power of two, with eta and shift such that k eta = a and k shift = t exactly."""
    k = 2.0 ** math.ceil(math.log2(2 * a + t) + 0.01)
    return k, {"eta": a / k, "shift": t / k}


def accounting_checks() -> list[Check]:
    """Return the checks of dpsim.accounting."""
    shapes = grid(powers(-6, 4), powers(-6, 4))
    profiles = [(ratio * t, a, t) for ratio, (a, t) in grid([0.0, 0.01, 1.0, 20.0, 700.0], shapes)]
    gammas = [(r * t, a, t) for r, a, t in grid([0.0, 0.3, 3.0], powers(-2, 2), powers(-5, 2))]
    deltas = grid([0.3, 1e-2, 1e-6, 1e-30, 1e-250], powers(-3, 3), powers(-3, 3))

    def ours(epsilon: float, a: float, t: float) -> Any:
        k, border = halves(a, t)
        return accounting.log_exact_delta(epsilon, k, **border)

    def round_trip(delta: float, a: float, t: float) -> Any:
        k, border = halves(a, t)
        epsilon = accounting.exact_epsilon(delta, k, **border)
        return accounting.log_exact_delta(epsilon, k, **border) if epsilon > 0 else math.log(delta)

    def our_renyi(fraction: float, a: float, t: float) -> Any:
        k, border = halves(a, t)
        return accounting.renyi_divergence(renyi_order(fraction, a, t), k, **border)

    orders = [(f, a, t) for f, (a, t) in grid([1e-6, 1e-3, 0.011, 0.3, 0.95], grid(powers(-5, 8), powers(-5, 8)))
              if renyi_order(f, a, t) > 1.0 + 1e-12]  # fmt: skip
    return [
        Check("accounting.log_exact_delta", ours, log_replace, profiles, 1e-10, log=True),
        Check(
            "accounting.log_posterior_delta, replace",
            lambda e, a, t: accounting.log_posterior_delta(e, kappa=t, alpha=a / t),
            lambda e, a, t: log_replace(e, mp.mpf(float(t) * (float(a) / float(t))), t),
            profiles,
            1e-10,
            log=True,
        ),
        Check(
            "accounting.log_posterior_delta, add-remove",
            lambda e, a, t: accounting.log_posterior_delta(e, kappa=t, alpha=a / t, adjacency="add-remove"),
            lambda e, a, t: log_add_remove(e, mp.mpf(float(t) * (float(a) / float(t))), t),
            gammas,
            1e-10,
            log=True,
        ),
        Check(
            "accounting.exact_epsilon, back to log delta",
            round_trip,
            lambda delta, a, t: mp.log(delta),
            deltas,
            1e-9,
            log=True,
        ),
        Check("accounting.renyi_divergence", our_renyi, renyi, orders, 1e-9),
        Check(
            "accounting.privacy_floor",
            lambda d, e, s: accounting.privacy_floor(d, shift=s, eta=e),
            lambda d, e, s: max(s / e * mp.log(s / ((2 * e + s) * d)), mp.mpf(0)),
            grid([1e-300, 1e-6, 0.1, 0.9], [1e-9, 0.01, 0.3], [1e-9, 0.01, 0.3]),
            1e-12,
            log=True,
        ),
    ]


# ------------------------------------------------------------------------------- words, histograms, audit, MDP


def weights(epsilon: Any, b: int, width: int) -> list[Any]:
    """Return q_l = exp(-epsilon l / (2 b))."""
    return [mp.exp(-epsilon * distance / (2 * b)) for distance in range(width)]


def exponential(counts: Sequence[int], epsilon: Any, b: int, distance: int) -> Any:
    """Return the exponential mechanism's log-probability of one word at a distance."""
    q = weights(epsilon, b, len(counts))
    return mp.log(q[distance] / sum(N * x for N, x in zip(counts, q)))


def permute_and_flip(counts: Sequence[int], epsilon: Any, b: int, distance: int) -> Any:
    """Return log f(l) = log(q_l integral_0^1 prod_j (1 - u q_j)^(N_j - [j = l]) du)."""
    q = weights(epsilon, b, len(counts))
    scale = 1 + sum(N * x for N, x in zip(counts, q))
    others = [N - (j == distance) for j, N in enumerate(counts)]

    def integrand(t: Any) -> Any:
        u = t / scale
        return mp.exp(sum(N * mp.log1p(-u * x) for N, x in zip(others, q) if N))

    cuts = [mp.mpf(0), *[mp.mpf(c) for c in (1, 3, 7, 15, 30, 60, 120) if c < scale], min(scale, mp.mpf(240))]
    with mp.workdps(30):
        return mp.log(q[distance] * mp.quad(integrand, cuts) / scale)


COUNTS = (
    (1, 1),
    (1, 0, 1),
    (1, 2, 1),
    (1, 0, 0, 7, 3),
    tuple(words.alphabet_counts(8, 3).tolist()),
    tuple(words.alphabet_counts(30, 5).tolist()),
    (1, 10**40, 10**300, 10**1000),
)


def log_normaliser(x: int, t: Any, weight: Any) -> Any:
    """Return the log-normaliser of the x-th histogram of 7 in 3 bins."""
    return mp.log(mp.fsum(mp.exp(cost(z, SPACE[x], weight) / t) for z in SPACE))


def cost(z: Sequence[int], x: Sequence[int], weight: Any) -> Any:
    """Return c_x(z) for W = diag(1, weight, 1)."""
    return -mp.mpf(sum(w * (int(a) - int(b)) ** 2 for a, b, w in zip(z, x, (1, weight, 1))))


SPACE = boltzmann.configurations(7, 3)


def mean_cost(x: int, t: Any, weight: Any) -> Any:
    """Return the expected objective."""
    terms = [cost(z, SPACE[x], weight) for z in SPACE]
    return mp.fsum(c * mp.exp(c / t) for c in terms) / mp.fsum(mp.exp(c / t) for c in terms)


def limit_epsilon(t: Any, weight: Any) -> Any:
    """Return the largest log-likelihood ratio over neighbours and outputs."""
    normalisers = [log_normaliser(x, t, weight) for x in range(len(SPACE))]
    pairs = [(x, y) for x, y in np.argwhere(np.abs(SPACE[:, None] - SPACE).sum(axis=-1) == 2).tolist()]
    return max(
        max((cost(z, SPACE[x], weight) - cost(z, SPACE[y], weight)) / t for z in SPACE)
        - normalisers[x]
        + normalisers[y]
        for x, y in pairs
    )


def worst_scaled_tail(k: float, beta: float) -> float:
    """Return sup over x of g_r(x) / (beta x) at the package's exact radius r, in many digits."""
    radius = mp.mpf(float(value_bounds.concentration_radius(k, beta, 2, "exact")))
    if radius > 0.999:
        return 1.0  # the worst x is within 1e-3 of an end: the radius can hardly be wrong

    def scaled(x: Any) -> Any:
        upper = beta_tail(k * (1 - x), k * x, 1 - x - radius) if x + radius < 1 else mp.mpf(0)
        lower = beta_tail(k * x, k * (1 - x), x - radius) if x > radius else mp.mpf(0)
        return (upper + lower) / x / beta

    xs = np.concatenate([np.geomspace(1e-9, 0.01, 300), np.linspace(0.011, 0.9999, 2000)])
    tails = betaincc(k * xs, k * (1 - xs), np.minimum(xs + float(radius), 1.0))
    tails += betainc(k * xs, k * (1 - xs), np.maximum(xs - float(radius), 0.0))
    top = xs[int(np.argmax(tails / xs))]  # where to look in many digits
    with mp.workdps(25):
        return float(max(scaled(mp.mpf(x)) for x in np.linspace(0.995 * top, min(1.005 * top, 1 - 1e-9), 11)))


def tail_at_bound(hits: int, draws: int, alpha: float) -> Any:
    """Return P(at least `hits` successes) in many digits at the lower Clopper-Pearson bound: alpha."""
    lower = float(audit.clopper_pearson(hits, draws, alpha)[0])
    with mp.workdps(DIGITS):
        return float(beta_tail(mp.mpf(hits), mp.mpf(draws - hits + 1), mp.mpf(lower)))


def random_chain(n: int, spread: float) -> np.ndarray:
    """Return a transition matrix whose entries differ by many orders of magnitude."""
    raw = 10.0 ** (-spread * np.random.default_rng([n, int(spread)]).random((n, n)))
    return raw / raw.sum(axis=1, keepdims=True)


def stationary_mass(n: int, spread: float, i: int) -> Any:
    """Return one entry of the stationary distribution by elimination in many digits."""
    A = mp.matrix(random_chain(int(n), float(spread)).tolist())
    for row in range(A.rows):  # the off-diagonal entries define the chain
        A[row, row] = 1 - mp.fsum(A[row, j] for j in range(A.cols) if j != row)
    system = mp.eye(A.rows) - A.T
    for j in range(A.cols):
        system[A.rows - 1, j] = 1
    right = mp.matrix([0] * (A.rows - 1) + [1])
    return mp.lu_solve(system, right)[int(i)]


def other_checks() -> list[Check]:
    """Return the checks of words, histograms, chains, radii and the audit's bounds."""
    laws = [
        (counts, epsilon, b, distance)
        for counts, epsilon, b in grid(COUNTS, [0.0, 1e-6, 0.5, 5.0, 60.0], [1, 3])
        for distance in {0, 1, len(counts) - 1}
        if counts[distance]
    ]
    rows = grid([0, 5, 20, 35], powers(-3, 6), [1.0, 0.0, 7.5])

    def word(kind: str) -> Callable[..., Any]:
        def ours(counts: Sequence[int], epsilon: float, b: int, distance: int) -> Any:
            exact = np.array(counts, dtype=object)
            return words.log_word_probability(exact, epsilon, b, mechanism=kind)[distance]

        return ours

    def normaliser(x: int, t: float, weight: float) -> Any:
        return boltzmann_exact.log_normalisers(7, 3, t, [1.0, weight, 1.0])[x]

    def diagonal(weight: float) -> list[float]:
        return [1.0, weight, 1.0]

    return [
        Check("words.log_word_probability, exponential", word("exponential"), exponential, laws, 1e-12, log=True),
        Check(
            "words.log_word_probability, permute-and-flip",
            word("permute-and-flip"),
            permute_and_flip,
            laws[::3],
            1e-10,
            log=True,
        ),
        Check("boltzmann_exact.log_normalisers", normaliser, log_normaliser, rows, 1e-13, log=True),
        Check(
            "boltzmann.log_stationary",
            lambda x, t, w: boltzmann.log_stationary(SPACE[x], t, diagonal(w))[11],
            lambda x, t, w: cost(SPACE[11], SPACE[x], w) / t - log_normaliser(x, t, w),
            rows,
            1e-13,
            log=True,
        ),
        Check(
            "boltzmann_exact.expected_objective",
            lambda x, t, w: boltzmann_exact.expected_objective(SPACE[x], t, diagonal(w)),
            mean_cost,
            [row for row in rows if row[1] > 0.05],  # below it the mean underflows
            1e-12,
        ),
        Check(
            "boltzmann_exact.exact_epsilon_limit",
            lambda t, w: boltzmann_exact.exact_epsilon_limit(7, 3, t, diagonal(w)),
            limit_epsilon,
            grid(powers(-2, 4), [1.0, 0.0, 7.5]),
            1e-9,
        ),
        Check(
            "value_bounds.concentration_radius, exact: tail / beta",
            worst_scaled_tail,
            lambda k, beta: mp.mpf(1),
            grid([0.5, 2.0, 10.0, 50.0, 700.0, 1e4], [0.5, 0.1, 1e-3, 1e-8]),
            0.02,  # it is rounded outward by 1e-4 of the radius, and the tail is that much steeper
        ),
        Check(
            "audit.clopper_pearson, tail at the bound",
            tail_at_bound,
            lambda hits, draws, alpha: mp.mpf(alpha),
            [(h, d, a) for h, d, a in grid([1, 30, 4000], [30, 10**4, 10**6], [0.3, 1e-3, 1e-9]) if h <= d],
            1e-9,
        ),
        Check(
            "markov.stationary_distribution",
            lambda n, spread, i: markov.stationary_distribution(random_chain(n, spread))[i],
            stationary_mass,
            grid([2, 5, 9], [0.0, 4.0, 12.0], [0, 1]),
            1e-13,
        ),
    ]


# --------------------------------------------------------------------------------------------------- the table


def checks() -> list[Check]:
    """Return every check."""
    return [*special_checks(), *dirichlet_checks(), *accounting_checks(), *other_checks()]


def number(value: Any) -> Any:
    """Return a float as an exact mpmath number, anything else unchanged."""
    return mp.mpf(value) if isinstance(value, float) else value


def error(check: Check, arguments: tuple) -> float:
    """Return the error of one evaluation, infinite for a value that is not finite."""
    ours = float(check.ours(*arguments))
    if not math.isfinite(ours):
        return math.inf
    with mp.workdps(DIGITS):
        truth = check.reference(*map(number, arguments))
        scale = max(mp.mpf(1), abs(truth)) if check.log else abs(truth)
        return float(abs(ours - truth) / (scale or mp.mpf(1)))


def table(most: int | None = None, seed: int = 0, on_row: Callable[[str], object] = lambda line: None) -> pd.DataFrame:
    """Return the worst error of every check and where it is; `most` points of each grid, all of them for None."""
    rng = np.random.default_rng(seed)
    rows = []
    for check in checks():
        begun = time.perf_counter()
        size = len(check.grid) if most is None else min(most, len(check.grid))
        points = [check.grid[i] for i in rng.permutation(len(check.grid))[:size]]
        errors = [error(check, point) for point in points]
        worst = int(np.argmax(errors))
        place = ", ".join(shown(x) for x in points[worst])
        rows.append((check.function, size, errors[worst], check.tolerance, errors[worst] <= check.tolerance, place))
        seconds = time.perf_counter() - begun
        on_row(f"{check.function:55} {size:5} {errors[worst]:8.1e} {check.tolerance:8.0e} {seconds:5.1f} s  at {place}")
    return pd.DataFrame(rows, columns=["function", "points", "worst_error", "tolerance", "within", "where"])


def shown(value: Any) -> str:
    """Return an argument in a few letters."""
    if isinstance(value, tuple):
        return f"counts of {len(value) - 1} letters"
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> int:
    """Print the table and write it to build/audit; exit status 1 when an error is above its tolerance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=None, help="points of each grid; all by default")
    print(f"{'function':55} points  worst, allowed, seconds")
    result = table(parser.parse_args().most, on_row=partial(print, flush=True))
    figures.save_table(result, "precision", str(project.build() / "audit"))
    return int(not result["within"].all())


if __name__ == "__main__":
    sys.exit(main())
