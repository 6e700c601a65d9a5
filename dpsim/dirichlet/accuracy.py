"""The accuracy of the Dirichlet mechanism: exact expectations and the published bounds on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from dpsim import checks
from dpsim.checks import Array
from dpsim.dirichlet.mechanism import LARGEST_K, SMALLEST_PARAMETER, _parameters
from dpsim.numerics.special import log_beta, log_beta_kernel, log_minus_psi

# ------------------------------------------------------------------------------------------- accuracy


def expected_kl(p: ArrayLike, k: ArrayLike) -> Any:
    """Return E KL(p || x) for x ~ Dir(k p), shape (...) for p (..., n): exact, in nats, relative error 1e-13.

    Source: Benvenuti et al. 2026, Theorem 2; zero entries contribute nothing. Errors: as
    `dirichlet_mechanism`.
    """
    p, k, parameters = _parameters(p, k)
    terms = p * log_minus_psi(np.where(p > 0.0, parameters, 1.0))
    return checks.plain(terms.sum(axis=-1) - log_minus_psi(k[..., 0]))


def expected_kl_bound(n: ArrayLike, N: ArrayLike, k: ArrayLike) -> Any:
    """Return the bound of Corollary 1 of Benvenuti et al. 2026 on E KL over all databases of N records.

    n categories (>= 1), each with at least one of the N >= n records; k > 0. Arrays broadcast. It is the
    exact value at n-1 counts of 1 and one of N-n+1, the worst database: x (log x - psi(k x)) is convex.
    """
    n = checks.real("n", n, 1.0)
    N = checks.real("N", N, 1.0)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    if (n > N).any():
        raise ValueError(f"N must be at least n, got {np.broadcast_to(N, np.broadcast(N, n).shape)[n > N][0]:g}")
    rare, common = 1.0 / N, (N - n + 1.0) / N
    rest = common * log_minus_psi(k * common)
    return checks.plain((n - 1.0) * rare * log_minus_psi(k * rare) + rest - log_minus_psi(k))


def expected_absolute_error(p: ArrayLike, k: ArrayLike) -> Array:
    """Return E|x_i - p_i| for x ~ Dir(k p), shape (..., n): exact, for k up to 1e300.

    Source: Benvenuti et al. 2026, Lemma 7 (equation 95), as 2 p^(kp) (1-p)^(k-kp) / (k B(kp, k-kp)).
    """
    p, k, _ = _parameters(p, k)
    inner = (p > 0.0) & (p < 1.0)
    mean = np.where(inner, p, 0.5)
    return np.where(inner, 2.0 * np.exp(log_beta_kernel(mean, mean, k)) / k, 0.0)


def expected_absolute_error_bound(k: ArrayLike) -> Any:
    """Return the bound Gamma(k) 2^(1-k) / (k Gamma(k/2)^2) on E|x_i - p_i| for every p: its value at p_i =
    1/2.

    Source: Fallin et al. 2023, Theorem 2; Benvenuti et al. 2026, Lemma 7.
    """
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    half = np.full(k.shape, 0.5)
    return checks.plain(2.0 * np.exp(log_beta_kernel(half, half, k)) / k)


def expected_squared_error(p: ArrayLike, k: ArrayLike) -> Array:
    """Return E|x_i - p_i|^2 = p_i (1 - p_i) / (k + 1), exact, shape (..., n) (Benvenuti et al. 2026, eq.
    96)."""
    p, k, _ = _parameters(p, k)
    return p * (1.0 - p) / (k + 1.0)


def expected_squared_error_bound(k: ArrayLike) -> Any:
    """Return the bound 1 / (4 (k + 1)) on E|x_i - p_i|^2 for every p (Fallin et al. 2023, Theorem 2)."""
    return checks.plain(0.25 / (checks.real("k", k, 0.0, LARGEST_K, open_low=True) + 1.0))


def log_absolute_error_lower_bound(n: int, N: ArrayLike, k: ArrayLike) -> Any:
    """Return the logarithm of Lemma 8's lower bound on E|x_i - p_i| (Benvenuti et al. 2026, equation 97).

    n >= 2 categories, N > n - 1 records, k > 0. Valid, but far below the truth for the k of the paper.
    """
    n = checks.integer("n", n, 2)
    N = checks.real("N", N, float(n))
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    one, others = 1.0 / N, (n - 1.0) / N
    powers = k * (1.0 - others) * np.log(one) + k * (1.0 - one) * np.log(others)
    return checks.plain(np.log(2.0) + powers - np.log(k) - log_beta(k * one, k * others))


def monte_carlo_error(delta: float, draws: ArrayLike, *, vertices: int = 1) -> Any:
    """Return the exact E|delta_hat - delta| / delta of `delta_monte_carlo` with `draws` draws per vertex.

    delta in (0, 1): the probability at each of `vertices` equal vertices, whose largest estimate is taken; draws: one
    number or an array. The estimates are binomial, so their maximum has the distribution function of one to the power
    of `vertices`. For one vertex and many draws this is about sqrt(2 (1 - delta) / (pi delta draws)).
    Raises ValueError outside these ranges.
    """
    delta = checks.scalar("delta", delta, 0, 1, open_low=True, open_high=True)
    vertices = checks.integer("vertices", vertices, 1)
    numbers = checks.integers("draws", draws, 1)
    errors = [_mean_deviation(delta, int(count), vertices) for count in numbers.flat]
    return checks.plain(np.reshape(errors, numbers.shape))


def _mean_deviation(delta: float, draws: int, vertices: int) -> float:
    """Return the relative mean absolute deviation from delta of the largest M of some binomial counts.

    E|M - m|, m = draws delta, is the sum of P(M < j) over j up to m and of P(M >= j) over j beyond m, the first term
    of each weighted by its distance to m: terms of one sign, right to the last digits for the smallest delta.
    """
    mean = draws * delta
    first, reach = int(mean) + 1, 12.0 * np.sqrt(mean) + 60.0  # counts further out weigh less than 1e-16
    above = np.arange(first, int(min(mean + reach, draws)) + 1)
    below = np.arange(int(max(mean - reach, 0)), first)
    with np.errstate(divide="ignore"):  # P(count >= j) = 1 gives log 0 = -inf, as it should
        reached = -np.expm1(vertices * np.log1p(-binom.sf(above - 1, draws, delta)))
    missed = binom.cdf(below, draws, delta) ** vertices
    ahead = reached[1:].sum() + (first - mean) * reached[:1].sum()
    behind = missed[:-1].sum() + (mean - (first - 1)) * missed[-1]
    return float((ahead + behind) / mean)
