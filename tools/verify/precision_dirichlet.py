"""Checks of the Dirichlet mechanism's closed forms: special functions, theorems, accounting, chains, radii."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betainc

from dpsim import accounting, dirichlet, markov, mdp
from dpsim.dirichlet import theorem1
from dpsim.mdp import model as mdp_model
from dpsim.numerics import hockey_stick, special
from tools.verify.precision_reference import DIGITS, Check, beta_tail, grid, log_beta, log_kernel, powers


def stirling_rest(x: Any) -> Any:
    """Return log Gamma less Stirling's leading terms."""
    return mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def log_beta_tail(x: Any, p: Any, k: Any) -> Any:
    """Return log I_x(k p, k - k p)."""
    return mp.log(beta_tail(k * p, k - k * p, x))


def special_checks() -> list[Check]:
    """Return the checks of dpsim.special and of the quadrature's Stirling error."""
    wide = powers(-8, 12)
    means, sizes = [1e-4, 0.02, 0.25, 0.5, 0.9], powers(-3, 6)
    left = [(p * part, p, k) for p, part, k in grid(means, [1e-3, 0.1, 0.7, 0.99, 1.05], sizes) if p * part < 1]
    return [
        Check("numerics.stirling_rest", special.stirling_rest, stirling_rest, grid(powers(-8, 12, 0.1)), 1e-11),
        Check("numerics.log_beta", special.log_beta, log_beta, grid(wide, wide), 1e-14, log=True),
        Check(
            "numerics.log_gamma_ratio",
            special.log_gamma_ratio,
            lambda a, t: mp.loggamma(a + t) - mp.loggamma(a),
            grid(wide, wide),
            1e-13,
            log=True,
        ),
        Check(
            "numerics.log_minus_psi",
            special.log_minus_psi,
            lambda x: mp.log(x) - mp.digamma(x),
            grid(powers(-8, 12, 0.1)),
            1e-13,
        ),
        Check(
            "numerics.minus_log1p",
            lambda ratio: special.minus_log1p(ratio - 1.0, ratio),
            lambda ratio: ratio - 1 - mp.log(ratio),
            [(x,) for x in (*powers(-12, -1, 0.3), *powers(0, 12, 0.3), 1 - 2.0**-20, 1 + 2.0**-20, 1.1875, 0.8125)],
            1e-13,
        ),
        Check("numerics.log_beta_kernel", special.log_beta_kernel, log_kernel, left, 1e-13, log=True),
        Check("numerics.log_beta_tail", special.log_beta_tail, log_beta_tail, left, 1e-9, log=True),
    ]


# ------------------------------------------------------------------------------------------ Dirichlet mechanism


def published_epsilon(k: Any, shift: Any, eta: Any, gamma: Any, m: int, eta_bar: Any) -> Any:
    """Return Theorem 1's epsilon as printed, with eta in the place of eta_bar for Benvenuti et al. 2026."""
    return sharing_epsilon(k, shift, eta, gamma, m, 1 - (eta if eta_bar is None else eta_bar))


def sharing_epsilon(k: Any, shift: Any, eta: Any, gamma: Any, m: int, rest: Any) -> Any:
    """Return Theorem 1's epsilon for two coordinates that share `rest`."""
    ratio = log_beta(k * eta, k * (rest - eta)) - log_beta(k * (eta + shift), k * (rest - eta - shift))
    return max(ratio + k * shift * mp.log((1 - (m - 1) * gamma) / gamma), mp.mpf(0))


def log_sum_of_tails(k: Any, eta: Any, gamma: Any, n: int) -> Any:
    """Return the logarithm of the union bound on delta at the worst vertex, at most 0."""
    tail = beta_tail(k * eta, k - k * eta, gamma)
    large = 1 - (n - 1) * eta
    return min(mp.log((n - 1) * tail + beta_tail(k * large, k - k * large, gamma)), mp.mpf(0))


def log_tails_of(k: Any, eta: Any, gamma: Any, m: int) -> Any:
    """Return the logarithm of the union bound on delta for m protected coordinates, all at the border."""
    return min(mp.log(m * beta_tail(k * eta, k - k * eta, gamma)), mp.mpf(0))


def log_no_tails_of(k: Any, eta: Any, gamma: Any, m: int) -> Any:
    """Return the logarithm of the lower bound on delta for m protected coordinates."""
    return mp.log(-mp.expm1(m * mp.log1p(-beta_tail(k * eta, k - k * eta, gamma))))


def border_of(epsilon: float, k: Any, shift: Any, eta: Any, m: int, eta_bar: Any) -> Any:
    """Return the gamma at which Theorem 1 gives epsilon."""
    rest = 1 - (eta if eta_bar is None else eta_bar)
    ratio = log_beta(k * eta, k * (rest - eta)) - log_beta(k * (eta + shift), k * (rest - eta - shift))
    return 1 / (mp.exp((mp.mpf(epsilon) - ratio) / (k * shift)) + m - 1)


def log_delta_at_best(delta: float, k: float, shift: float, eta: float, n: int) -> float:
    """Return, in many digits, the logarithm of delta at the gamma behind the package's best epsilon."""
    epsilon = float(dirichlet.best_epsilon_bound(delta, k, shift=shift, eta=eta, n=n))
    with mp.workdps(DIGITS):
        exact = (mp.mpf(k), mp.mpf(eta))
        gamma = border_of(epsilon, exact[0], mp.mpf(shift), exact[1], n, None)
        return float(log_sum_of_tails(*exact, gamma, n))


def mean_share_error(delta: Any, draws: int) -> Any:
    """Return E|share - delta| / delta of a binomial share, by De Moivre's formula."""
    v = int(mp.floor(draws * delta)) + 1
    log_choose = mp.loggamma(draws + 1) - mp.loggamma(v + 1) - mp.loggamma(draws - v + 1)
    return 2 * v / (draws * delta) * mp.exp(log_choose + v * mp.log(delta) + (draws - v + 1) * mp.log1p(-delta))


def largest_share_error(delta: Any, draws: int, vertices: int) -> Any:
    """Return E|largest of some shares - delta| / delta by summing their law."""
    with mp.workdps(400):
        law, below, last = mp.mpf(0), mp.mpf(0), mp.mpf(0)
        for count in range(draws + 1):
            below += mp.binomial(draws, count) * delta**count * (1 - delta) ** (draws - count)
            law += (below**vertices - last) * abs(mp.mpf(count) / draws - delta)
            last = below**vertices
        return law / delta


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
    tails += [(1e9, 0.05, 0.01, 5), (1e9, 5e-5, 1e-5, 10_000), (300.0, 5e-5, 1e-12, 10_000), (1e-280, 0.05, 0.01, 5)]
    best = [
        (d, k, s, e, n)
        for d, k, s, e, n in grid([0.3, 1e-3, 1e-12, 1e-290], [5.0, 110.6, 3e3], [1e-4, 0.01], [0.02, 0.073], [3, 5])
        if math.log(d) / (k * e) > -600.0  # else gamma would be below 1e-300
    ]
    entries = grid([1e-6, 1e-3, 0.1, 0.5, 0.97], powers(-4, 12))
    databases = [(n, N, k) for n, N, k in grid([2, 5, 63, 10_000], [70.0, 1e3, 1e6], powers(-2, 9)) if n <= N]
    counts = grid([0, 1, 40], [1, 7, 900], [0.02, 0.5, 1.0], [0.3, 5.0])

    def squared(p: Any, k: Any) -> Any:
        return p * (1 - p) / (k + 1)

    return [
        Check(
            "dirichlet.epsilon_bound",
            lambda k, s, e, g, m, bar: dirichlet.epsilon_bound(k, shift=s, eta=e, gamma=g, n=m, eta_bar=bar),
            published_epsilon,
            theorem,
            1e-12,
            log=True,
        ),
        Check(
            "dirichlet.log_delta_bounds, upper",
            lambda k, e, g, n: theorem1._log_delta_bounds(k, eta=e, gamma=g, n=n)[1],
            log_sum_of_tails,
            tails,
            1e-9,
            log=True,
        ),
        Check(
            "dirichlet.log_delta_bounds, lower",
            lambda k, e, g, n: theorem1._log_delta_bounds(k, eta=e, gamma=g, n=n)[0],
            log_no_tails,
            tails,
            1e-9,
            log=True,
        ),
        Check(
            "dirichlet.log_delta_bounds, upper, protected",
            lambda k, e, g, m: theorem1._log_delta_bounds(k, eta=e, gamma=g, n=m + 1, protected=m)[1],
            log_tails_of,
            tails,
            1e-9,
            log=True,
        ),
        Check(
            "dirichlet.log_delta_bounds, lower, protected",
            lambda k, e, g, m: theorem1._log_delta_bounds(k, eta=e, gamma=g, n=m + 1, protected=m)[0],
            log_no_tails_of,
            tails,
            1e-9,
            log=True,
        ),
        Check(
            "dirichlet.best_epsilon_bound, back to log delta",
            log_delta_at_best,
            lambda delta, *rest: mp.log(delta),
            best,
            1e-9,
            log=True,
            side=-1,
        ),
        Check(
            "dirichlet.monte_carlo_error, one vertex",
            lambda delta, draws: dirichlet.monte_carlo_error(delta, draws),
            mean_share_error,
            grid([1e-300, 1e-12, 1e-3, 0.3, 0.999], [1, 10, 1000, 10**6, 10**9]),
            1e-9,
        ),
        Check(
            "dirichlet.monte_carlo_error, more vertices",
            lambda delta, draws, vertices: dirichlet.monte_carlo_error(delta, draws, vertices=vertices),
            largest_share_error,
            grid([1e-300, 1e-12, 1e-3, 0.3, 0.999], [1, 7, 200], [2, 5]),
            1e-9,
        ),
        Check(
            "dirichlet.expected_kl, n 10,000",
            lambda k: dirichlet.expected_kl(np.full(10_000, 1e-4), k),
            lambda k: mp.mpf(1e-4) * 10_000 * (mp.log(mp.mpf(1e-4)) + mp.digamma(k) - mp.digamma(k * mp.mpf(1e-4))),
            grid(powers(-4, 12)),
            1e-12,
        ),
        Check(
            "dirichlet.expected_squared_error_bound",
            dirichlet.expected_squared_error_bound,
            lambda k: 1 / (4 * (k + 1)),
            grid(powers(-8, 12, 0.2)),
            1e-15,
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
            "dirichlet.posterior_absolute_error",
            lambda c, r, kappa, alpha: dirichlet.posterior_absolute_error([c, r], kappa=kappa, alpha=alpha)[0],
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
        return hockey_stick.log_delta(epsilon, a, t, hockey_stick.REPLACE)

    def round_trip(delta: float, a: float, t: float) -> Any:
        k, border = halves(a, t)
        epsilon = accounting.exact_epsilon(delta, k, **border)
        return hockey_stick.log_delta(epsilon, a, t, hockey_stick.REPLACE) if epsilon > 0 else math.log(delta)

    def at_calibrated(delta: float, epsilon: float, eta: float, shift: float) -> float:
        k = float(accounting.calibrate_k(epsilon, delta, shift=shift, eta=eta))
        with mp.workdps(DIGITS):
            return float(log_replace(mp.mpf(epsilon), mp.mpf(k * eta), mp.mpf(k * shift)))

    def at_kappa(delta: float, epsilon: float, alpha: float) -> float:
        kappa = float(accounting.calibrate_kappa(epsilon, delta, alpha=alpha, adjacency="add-remove"))
        with mp.workdps(DIGITS):
            return float(log_add_remove(mp.mpf(epsilon), mp.mpf(kappa * alpha), mp.mpf(kappa)))

    def at_posterior(delta: float, kappa: float, alpha: float) -> float:
        epsilon = hockey_stick.epsilon_for(math.log(delta), kappa * alpha, kappa, hockey_stick.ADD_REMOVE)
        with mp.workdps(DIGITS):
            return float(log_add_remove(mp.mpf(epsilon), mp.mpf(kappa * alpha), mp.mpf(kappa)))

    def log_target(delta: Any, *rest: Any) -> Any:
        return mp.log(delta)

    small = [1e-2, 1e-6, 1e-30, 1e-250]
    return [
        Check(
            "accounting.calibrate_k, back to log delta",
            at_calibrated,
            log_target,
            [
                (d, x * float(accounting.privacy_floor(d, shift=s, eta=e)) + 0.01, e, s)
                for d, x, (e, s) in grid(small, [1.01, 3.0], [(0.1, 0.01), (0.01, 0.005), (0.2, 0.1)])
            ],
            1e-9,
            log=True,
            side=-1,
        ),
        Check(
            "accounting.calibrate_kappa, back to log delta",
            at_kappa,
            log_target,
            [
                (d, x * float(accounting.posterior_floor(d, alpha=a, adjacency="add-remove")) + 0.01, a)
                for d, x, a in grid([1e-2, 1e-6, 1e-30], [1.01, 3.0], [0.5, 10.0])
            ],
            1e-9,
            log=True,
            side=-1,
        ),
        Check(
            "hockey_stick.epsilon_for, add-remove, back to log delta",
            at_posterior,
            log_target,
            [(d, t, a) for d, t, a in grid([1e-2, 1e-6, 1e-30], powers(-2, 2), [0.5, 10.0])],
            1e-9,
            log=True,
            side=-1,
        ),
        Check(
            "accounting.posterior_floor, replace",
            lambda d, a: accounting.posterior_floor(d, alpha=a),
            lambda d, a: max(-mp.log((2 * a + 1) * d) / a, mp.mpf(0)),
            grid([1e-300, 1e-6, 0.1, 0.9], powers(-9, 9)),
            1e-12,
            log=True,
        ),
        Check(
            "accounting.posterior_floor, add-remove",
            lambda d, a: accounting.posterior_floor(d, alpha=a, adjacency="add-remove"),
            lambda d, a: max((a * mp.log(a) - (a + 1) * mp.log(a + 1) - mp.log(d)) / a, mp.mpf(0)),
            grid([1e-300, 1e-6, 0.1, 0.9], powers(-9, 9)),
            1e-12,
            log=True,
        ),
        Check("hockey_stick.log_delta, replace", ours, log_replace, profiles, 1e-10, log=True),
        Check(
            "hockey_stick.log_delta, add-remove",
            lambda e, a, t: hockey_stick.log_delta(e, a, t, hockey_stick.ADD_REMOVE),
            log_add_remove,
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
        Check(
            "accounting.privacy_floor",
            lambda d, e, s: accounting.privacy_floor(d, shift=s, eta=e),
            lambda d, e, s: max(s / e * mp.log(s / ((2 * e + s) * d)), mp.mpf(0)),
            grid([1e-300, 1e-6, 0.1, 0.9], [1e-9, 0.01, 0.3], [1e-9, 0.01, 0.3]),
            1e-12,
            log=True,
        ),
    ]


# ------------------------------------------------------------------------------------------------ chains, radii


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


def chain_in_digits(n: int, spread: float) -> tuple[Any, list[Any], Any]:
    """Return P in many digits, its stationary distribution, and (I - P - 1 pi^T)^(-1)."""
    P = mp.matrix(random_chain(n, spread).tolist())
    pi = [stationary_mass(n, spread, i) for i in range(n)]
    shifted = mp.matrix(n, n)
    for i, j in product(range(n), repeat=2):
        shifted[i, j] = (i == j) - P[i, j] - pi[j]
    return P, pi, shifted**-1


def stationary_bound(n: int, spread: Any, N: Any, k: Any) -> Any:
    """Return Theorem 4 of Benvenuti et al. 2026: ||Z|| sqrt(2 L) / 2 with L the mean of Corollary 1 over pi."""
    _, pi, Z = chain_in_digits(n, float(spread))
    size = max(sum(abs(Z[i, j]) for j in range(n)) for i in range(n))
    return size * mp.sqrt(2 * sum(mass * expected_kl_bound(n, N, k) for mass in pi)) / 2


def mean_bound(n: int, N: Any, k: Any, categories: int) -> Any:
    """Return the mean over pi of Corollary 1, row i with i + 1 times N records and k."""
    pi = map(mp.mpf, random_chain(n, 2.0)[0].tolist())
    return sum(mass * expected_kl_bound(categories, (i + 1) * N, (i + 1) * k) for i, mass in enumerate(pi))


def our_mean_bound(n: int, N: float, k: float, categories: int) -> Any:
    """Return the same by the package."""
    times = np.arange(1, n + 1)
    return dirichlet.mean_kl_bound(random_chain(n, 2.0)[0], N * times, k * times, categories=categories)


def fallins_bound(norm: Any, n: int, k: Any, eta: Any, eta_bar: Any, sizes: tuple[int, ...]) -> Any:
    """Return Theorem 3 of Fallin et al. 2023 as printed, |W_i| in sizes; 0 in the place of a negative square."""
    first = n * mp.exp(mp.loggamma(k) - 2 * mp.loggamma(k / 2) + (1 - k) * mp.log(2)) / k
    least = []
    for size in sizes:
        theta = eta_bar + (size - 1) * eta
        powers_of = 2 * k * (1 - theta) * mp.log(eta) + 2 * k * (1 - eta) * mp.log(theta)
        least.append(4 * mp.exp(powers_of - 2 * mp.log(k) - 2 * log_beta(k * eta, k * theta)))
    square = max(n**2 * k / (4 * (k**2 + k)) - max(least), mp.mpf(0))
    return norm * (first + mp.sqrt(mp.mpf(n - 1) / n) * mp.sqrt(square))


def ergodicity(n: int, spread: Any) -> Any:
    """Return the largest ||P^T z||_inf over z in {-1, 0, 1}^n of sum 0, where the maximum is attained."""
    P = mp.matrix(random_chain(n, float(spread)).tolist())
    signs = [z for z in product((-1, 0, 1), repeat=n) if sum(z) == 0]
    return max(abs(mp.fsum(z[i] * P[i, j] for i in range(n))) for z in signs for j in range(n))


def worst_scaled_tail(k: float, beta: float, complement: Any) -> Any:
    """Return sup over x of g_r(x) / (beta x) at r = 1 - complement: found in floats, evaluated in many digits.

    x below 1 - r has an upper tail, x above r a lower one, so the search runs over shares of either.
    """
    radius, c = 1 - complement, float(complement)

    def exactly(share: float, high: bool) -> Any:
        part, rest = complement * mp.mpf(share), complement * (1 - mp.mpf(share))
        x, other = (radius + part, rest) if high else (part, radius + rest)
        above, below = (mp.mpf(0), part) if high else (rest, part - radius)  # 1 - r - x and x - r
        upper = beta_tail(k * other, k * x, above) if above > 0 else mp.mpf(0)
        return (upper + (beta_tail(k * x, k * other, below) if below > 0 else 0)) / x / beta

    def roughly(share: float, high: bool) -> float:
        x = float(radius) + c * share if high else c * share
        above, below = 0.0 if high else c * (1.0 - share), c * share if high else x - float(radius)
        upper = float(betainc(k * (1 - x), k * x, above)) if above > 0 else 0.0
        return (upper + (float(betainc(k * x, k * (1 - x), below)) if below > 0 else 0.0)) / x

    best = mp.mpf(0)
    for high in (False, True):
        shares = np.concatenate([np.geomspace(1e-9, 0.01, 60), np.linspace(0.011, 1 - 1e-9, 400)])
        top = int(np.argmax([roughly(share, high) for share in shares]))
        ends = shares[max(top - 1, 0)], shares[min(top + 1, shares.size - 1)]
        inner = minimize_scalar(
            lambda share, high=high: -roughly(share, high), bounds=ends, method="bounded", options={"xatol": 1e-9}
        )
        best = max(best, exactly(float(inner.x), high), exactly(float(shares[top]), high))
    return best


def exact_radius(k: Any, beta: Any) -> Any:
    """Return the smallest radius in many digits, by bisection for log(1 - r) around the package's."""
    k, beta = float(k), float(beta)
    near = 1 - float(mdp.concentration_radius(k, beta, 2, "exact"))
    with mp.workdps(30):
        low = mp.log(max(mp.mpf(near), mp.mpf(10) ** -60))  # the tail is above beta where 1 - r is large
        high = mp.log(1 - (1 - mp.mpf(near)) / mp.mpf(1.01))

        def excess(y: Any) -> Any:
            return mp.log(worst_scaled_tail(k, beta, mp.exp(y)))

        root = mp.findroot(excess, (low, high), solver="anderson", tol=1e-9, maxsteps=60, verify=False)
        return 1 - mp.exp(root)


def matrix_checks() -> list[Check]:
    """Return the checks of dpsim.matrix_dirichlet and of dpsim.perturbation."""
    sizes: tuple[tuple[int, ...], ...] = ((2,), (3, 2), (2, 5, 4))
    theorem = grid(powers(-2, 9), [0.001, 0.025, 0.1], [1e-4, 0.1], [1e-12, 1e-3, 0.1], sizes)
    tails = [
        (k, e, g, m)
        for k, e, g, m in grid(powers(-2, 4), [1e-3, 0.05, 0.19], [1e-12, 1e-4, 0.01], [2, 5])
        if k * e * math.log(g) > -600.0  # below 1e-300 they fade to 0, and the logarithms are checked
    ]
    fallin = [
        (norm, n, k, e, bar, size)
        for norm, n, k, e, bar, size in grid([1.0, 40.0], [2, 32, 10_000], powers(-3, 9), [1e-3, 0.1], [0.051], sizes)
        if k * e > 1e-290
    ]

    def epsilon_of(k: Any, b: Any, eta: Any, gamma: Any, protected: tuple[int, ...]) -> Any:
        return max(published_epsilon(k, b / 2, eta, gamma, m, mp.mpf(0.051)) for m in protected)

    def spent(k: float, b: float, eta: float, gamma: float, m: int) -> float:
        return float(dirichlet.theorem1_epsilon(k, b=b, eta=eta, eta_bar=0.051, gamma=gamma, protected=m))

    def at_k(k: float, b: float, eta: float, gamma: float, m: int) -> float:
        target = spent(k, b, eta, gamma, m)
        k = dirichlet.theorem1_k(target, b=b, eta=eta, eta_bar=0.051, gamma=gamma, protected=m)
        with mp.workdps(DIGITS):
            exact = [mp.mpf(value) for value in (k, b / 2, eta, gamma)]
            return float(sharing_epsilon(exact[0], exact[1], exact[2], exact[3], m, 1 - mp.mpf(0.051)))

    return [
        Check(
            "dirichlet.theorem1_epsilon",
            lambda k, b, e, g, m: dirichlet.theorem1_epsilon(k, b=b, eta=e, eta_bar=0.051, gamma=g, protected=m),
            epsilon_of,
            theorem,
            1e-12,
            log=True,
        ),
        Check(
            "dirichlet.theorem1_delta, upper",
            lambda k, e, g, m: dirichlet.theorem1_delta(k, n=m + 1, eta=e, gamma=g, protected=[2, m])[1],
            lambda k, e, g, m: mp.exp(log_tails_of(k, e, g, m)),
            tails,
            1e-9,
        ),
        Check(
            "dirichlet.theorem1_delta, lower",
            lambda k, e, g, m: dirichlet.theorem1_delta(k, n=m + 1, eta=e, gamma=g, protected=[2, m])[0],
            lambda k, e, g, m: mp.exp(log_no_tails_of(k, e, g, m)),
            tails,
            1e-9,
        ),
        Check(
            "dirichlet.theorem1_k, back to epsilon",
            at_k,
            lambda k, b, e, g, m: mp.mpf(spent(float(k), float(b), float(e), float(g), m)),
            grid([1e-3, 1.0, 98.7, 1e6], [0.001, 0.025, 0.1], [0.01, 0.1], [1e-12, 1e-3], [2, 5]),
            1e-10,
        ),
        Check(
            "dirichlet.mean_kl_bound",
            our_mean_bound,
            mean_bound,
            [(n, N, k, c) for n, N, k, c in grid([2, 9], [70.0, 1e6], powers(-2, 9), [2, 63, 10_000]) if c <= N],
            1e-12,
        ),
        Check(
            "dirichlet.ergodicity_bound",
            lambda n, N, k: dirichlet.ergodicity_bound(random_chain(n, 2.0)[0], N, k),
            lambda n, N, k: mp.sqrt(
                2 * sum(map(mp.mpf, random_chain(n, 2.0)[0].tolist())) * expected_kl_bound(n, N, k)
            ),
            grid([2, 9], [70.0, 1e6], powers(-2, 9)),
            1e-12,
        ),
        Check(
            "dirichlet.stationary_bound",
            lambda n, spread, N, k: dirichlet.stationary_bound(random_chain(n, spread), N, k),
            stationary_bound,
            grid([2, 3, 6], [0.0, 3.0, 6.0], [70.0, 1e5], [0.1, 1e4, 1e9]),
            1e-8,  # the chain of spread 6 is nearly reducible
        ),
        Check(
            "dirichlet.matrix_dirichlet_bound",
            lambda norm, n, k, e, bar, m: dirichlet.matrix_dirichlet_bound(norm, n, k, eta=e, eta_bar=bar, protected=m),
            fallins_bound,
            fallin,
            1e-12,
        ),
        Check(
            "markov.ergodicity_coefficient",
            lambda n, spread: markov.ergodicity_coefficient(random_chain(n, spread)),
            ergodicity,
            grid([2, 3, 5, 6], [0.0, 4.0, 12.0]),
            1e-14,
        ),
    ]


def radius_checks() -> list[Check]:
    """Return the checks of chains and of dpsim.value_bounds."""
    radii = grid([0.5, 2.0, 10.0, 50.0, 700.0, 1e4], [0.5, 0.1, 1e-3, 1e-8])
    ks = powers(-3, 9)

    def radius(k: Any, beta: Any, n: int) -> Any:
        return min(mp.sqrt(mp.log(n / beta) / (2 * (k + 1))), mp.mpf(1))

    def iterations(discount: Any, largest: Any, tolerance: Any) -> Any:
        return max(mp.ceil(mp.log(tolerance * (1 - discount) / largest) / mp.log(discount)), mp.mpf(0))

    def our_iterations(discount: float, largest: float, tolerance: float) -> int:
        model = mdp_model.MDP(np.ones((1, 1, 1)), np.array([[largest]]), discount=discount)
        return mdp.iterations_needed(model, tolerance)

    return [
        Check(
            "mdp.concentration_radius, paper",
            lambda k, beta, n: mdp.concentration_radius(k, beta, n),
            lambda k, beta, n: radius(k, beta, 1),
            grid(ks, [1e-300, 1e-8, 0.1, 0.9], [2]),
            1e-15,
        ),
        Check(
            "mdp.concentration_radius, union",
            lambda k, beta, n: mdp.concentration_radius(k, beta, n, "union"),
            lambda k, beta, n: radius(k, beta, 2 * n),
            grid(ks, [1e-300, 1e-8, 0.1, 0.9], [2, 10_000]),
            1e-15,
        ),
        Check(
            "mdp.concentration_radius, exact",
            lambda k, beta: mdp.concentration_radius(k, beta, 2, "exact"),
            exact_radius,
            radii,
            1.01e-4,  # it is rounded outward by as much
            side=1,
        ),
        Check(
            "mdp.iterations_needed",
            our_iterations,
            iterations,
            grid([0.1, 0.9, 0.999], [1e-3, 1.0, 1e6], [1e-12, 0.03, 50.0]),
            1e-15,
        ),
        Check(
            "markov.stationary_distribution",
            lambda n, spread, i: markov.stationary_distribution(random_chain(n, spread))[i],
            stationary_mass,
            grid([2, 5, 9], [0.0, 4.0, 12.0], [0, 1]),
            1e-13,
        ),
    ]


def all_dirichlet_checks() -> list[Check]:
    """Return every check of this module."""
    return [*special_checks(), *dirichlet_checks(), *accounting_checks(), *matrix_checks(), *radius_checks()]
