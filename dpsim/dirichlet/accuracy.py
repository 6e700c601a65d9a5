"""The expected errors of the Dirichlet mechanism, and the published bounds on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from dpsim import checks, markov
from dpsim.checks import Array
from dpsim.dirichlet.mechanism import (
    LARGEST_K,
    SMALLEST_PARAMETER,
    dirichlet_parameters,
)
from dpsim.numerics.special import (
    SMALLEST_BETA,
    log_beta,
    log_beta_kernel,
    log_minus_psi,
)

LARGEST_N = 1e300


def expected_kl(p: ArrayLike, k: ArrayLike) -> Any:
    """Return the exact E KL(p || x) in nats for x ~ Dir(k p), shape (...).

    The formula is Theorem 2 of Benvenuti et al. 2026. The relative error is at most
    1e-13.

    Parameters
    ----------
    p, k : array_like, as in `dirichlet_mechanism`

    Returns
    -------
    float or ndarray, shape (...)
        The divergence of each vector, in nats.

    Examples
    --------
    >>> float(expected_kl([0.2, 0.3, 0.5], 20.0).round(4))
    0.0519
    """
    p, k, parameters = dirichlet_parameters(p, k)
    terms = p * log_minus_psi(np.where(p > 0.0, parameters, 1.0))
    return checks.plain(terms.sum(axis=-1) - log_minus_psi(k[..., 0]))


def expected_chain_kl(P: ArrayLike, k: ArrayLike) -> Array:
    """Return the exact expected divergence E K(P || P~) in nats of a private chain.

    It is the mean of `expected_kl` over the rows, weighted by the stationary
    distribution of P (Benvenuti et al. 2026, Definition 8 and Lemma 4, equation 18).

    Parameters
    ----------
    P : array_like, shape (..., n, n); a transition matrix with one closed class
    k : array_like, shape (..., n) or (); row i of the private chain P~ is Dir(k_i P_i)

    Returns
    -------
    float or ndarray, shape (...)
        The divergence of each chain, in nats.

    Examples
    --------
    >>> round(float(expected_chain_kl([[0.5, 0.5], [0.2, 0.8]], 20.0)), 4)
    0.026
    """
    P = checks.real("P", P, 0.0)
    pi = markov.stationary_distribution(P)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    k = checks.fitted("k", k, P.shape[:-1])
    return checks.plain((pi * expected_kl(P, k)).sum(axis=-1))


def expected_kl_bound(categories: ArrayLike, N: ArrayLike, k: ArrayLike) -> Any:
    """Return the largest E KL(p || x) in nats over all databases of N records.

    This is the bound of Benvenuti et al. 2026, Corollary 1. The worst database has one
    record in each of n-1 categories and N-n+1 in the last one, because
    x (log x - psi(k x)) is convex.

    Parameters
    ----------
    categories : array_like, at least 1; arguments broadcast
        The number n of categories, each of which has at least one record.
    N : array_like, at least n; the number of records
    k : array_like, in [1e-290, 1e300]

    Returns
    -------
    float or ndarray
        The bounds in nats, in the common shape of the arguments.

    Examples
    --------
    >>> float(expected_kl_bound(5, 98, 20.6).round(4))
    0.1418
    """
    n = checks.real("categories", categories, 1.0)
    N = checks.real("N", N, 1.0, LARGEST_N)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    if (n > N).any():
        least = np.broadcast_arrays(N, n)[0][n > N][0]
        raise ValueError(f"N must be at least categories, got {least:g}")
    rare = 1.0 / N
    common = (N - n + 1.0) / N
    of_rare = (n - 1.0) * rare * log_minus_psi(k * rare)
    of_common = common * log_minus_psi(k * common)
    return checks.plain(of_rare + of_common - log_minus_psi(k))


def expected_absolute_error(p: ArrayLike, k: ArrayLike) -> Array:
    """Return the exact errors E ``|x_i - p_i|`` for x ~ Dir(k p), shape (..., n).

    For an entry p, the error is 2 p^(kp) (1-p)^(k-kp) / (k B(kp, k-kp)) (Benvenuti et
    al. 2026, Lemma 7, equation 95).

    Parameters
    ----------
    p, k : array_like, as in `dirichlet_mechanism`

    Returns
    -------
    ndarray, shape (..., n)
        The expected error of each entry.

    Examples
    --------
    >>> expected_absolute_error([0.2, 0.3, 0.5], 20.0).round(4)
    array([0.0698, 0.0805, 0.0881])
    """
    p, k, _ = dirichlet_parameters(p, k)
    inner = (p > 0.0) & (p < 1.0)
    mean = np.where(inner, p, 0.5)
    return np.where(inner, 2.0 * np.exp(log_beta_kernel(mean, mean, k)) / k, 0.0)


def expected_absolute_error_bound(k: ArrayLike) -> Any:
    """Return the largest E ``|x_i - p_i|`` over all p, with the shape of k.

    It is Gamma(k) 2^(1-k) / (k Gamma(k/2)^2), which is attained at p_i = 1/2 (Fallin et
    al. 2023, Theorem 2; Benvenuti et al. 2026, Lemma 7).

    Parameters
    ----------
    k : array_like, in [1e-290, 1e300]

    Returns
    -------
    float or ndarray
        The bounds, in the shape of k.

    Examples
    --------
    >>> float(expected_absolute_error_bound(20.0).round(4))
    0.0881
    """
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    return checks.plain(2.0 * np.exp(log_beta_kernel(0.5, 0.5, k)) / k)


def log_absolute_error_lower_bound(n: int, N: ArrayLike, k: ArrayLike) -> Any:
    """Return the logarithm of a lower bound on the expected error E ``|x_i - p_i|``.

    The bound is Lemma 8 of Benvenuti et al. 2026, equation 97. It is valid, but for the
    paper's k it is far below the exact error.

    Parameters
    ----------
    n : int, at least 2; the number of categories
    N : array_like, at least n; the number of records
    k : array_like, in [1e-290, 1e300], with k / N of at least 1e-300

    Returns
    -------
    float or ndarray
        The logarithms, in the common shape of N and k.

    Examples
    --------
    >>> float(log_absolute_error_lower_bound(5, 98, 20.6).round(1))
    -159.8
    """
    n = checks.integer("n", n, 2)
    N = checks.real("N", N, float(n), LARGEST_N)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    one = 1.0 / N
    others = (n - 1.0) / N
    checks.real("k / N", k * one, SMALLEST_BETA)
    powers = k * (1.0 - others) * np.log(one) + k * (1.0 - one) * np.log(others)
    logs = np.log(2.0) + powers - np.log(k)
    return checks.plain(logs - log_beta(k * one, k * others))


def monte_carlo_error(delta: float, draws: ArrayLike, *, vertices: int = 1) -> Any:
    """Return the exact expected relative error of `delta_monte_carlo`.

    It is E ``|delta_hat - delta|`` / delta, with the shape of draws. The number of hits
    at each vertex is binomial, so the distribution function of the largest estimate is
    that of a single estimate raised to the power `vertices`. For one vertex and many
    draws, the error is about sqrt(2 (1 - delta) / (pi delta draws)).

    Parameters
    ----------
    delta : float, in (0, 1); the exact probability, the same at all vertices
    draws : int or array_like of int, at least 1; the number of draws for each vertex
    vertices : int, at least 1; the number of vertices

    Returns
    -------
    float or ndarray
        The relative errors, in the shape of draws.

    Examples
    --------
    >>> float(monte_carlo_error(0.0026, 10**6).round(4))
    0.0156
    """
    delta = checks.scalar("delta", delta, 0, 1, open_low=True, open_high=True)
    vertices = checks.integer("vertices", vertices, 1)
    numbers = checks.integers("draws", draws, 1)
    errors = [_mean_deviation(delta, int(count), vertices) for count in numbers.flat]
    return checks.plain(np.reshape(errors, numbers.shape))


def _mean_deviation(delta: float, draws: int, vertices: int) -> float:
    """Return E|M - m| / m, where m = draws delta and M is the largest number of hits.

    E|M - m| is the sum of P(M <= j) over the integers j <= m plus the sum of P(M >= j)
    over the integers j > m, where the term nearest to m in each sum is weighted by its
    distance from m. All terms are positive, so nothing cancels for any delta.
    """
    mean = draws * delta
    first = int(mean) + 1
    reach = 12.0 * np.sqrt(mean) + 60.0  # the terms further out are below 1e-16
    above = np.arange(first, int(min(mean + reach, draws)) + 1)
    below = np.arange(int(max(mean - reach, 0)), first)
    one_reaches = binom.sf(above - 1, draws, delta)
    with np.errstate(divide="ignore"):  # log 0 = -inf is right if the probability is 1
        reached = -np.expm1(vertices * np.log1p(-one_reaches))
    missed = binom.cdf(below, draws, delta) ** vertices
    ahead = reached[1:].sum() + (first - mean) * reached[:1].sum()
    behind = missed[:-1].sum() + (mean - (first - 1)) * missed[-1]
    return float((ahead + behind) / mean)
