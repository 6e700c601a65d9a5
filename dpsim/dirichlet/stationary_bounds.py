"""Published bounds on the stationary distribution and convergence of private chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, markov
from dpsim.checks import Array
from dpsim.dirichlet.accuracy import (
    LARGEST_N,
    expected_absolute_error_bound,
    expected_kl_bound,
)
from dpsim.dirichlet.mechanism import LARGEST_K, SMALLEST_PARAMETER
from dpsim.numerics.special import log_beta


def mean_kl_bound(
    pi: ArrayLike, N: ArrayLike, k: ArrayLike, *, categories: ArrayLike | None = None
) -> Array:
    """Return L of Theorem 4 of Benvenuti et al. 2026, shape (...).

    It is the mean of `expected_kl_bound` over the rows of a chain, weighted by the
    stationary distribution.

    Parameters
    ----------
    pi : array_like, shape (..., n); the stationary distribution
    N, k : array_like
        The number of records and the k of each row, which broadcast to the shape of pi.
    categories : array_like, optional
        The number of possible transitions in each row, which broadcasts to the shape of
        pi. None means n.

    Returns
    -------
    float or ndarray
        The bounds in nats.

    Examples
    --------
    >>> float(mean_kl_bound([0.5, 0.5], 100, 20.0).round(3))
    0.037
    """
    pi = checks.simplex("pi", pi)
    if categories is None:
        categories = pi.shape[-1]
    n = checks.fitted("categories", checks.numeric("categories", categories), pi.shape)
    N = checks.fitted("N", checks.real("N", N, 1.0, LARGEST_N), pi.shape)
    k = checks.fitted("k", checks.numeric("k", k), pi.shape)
    return checks.plain((pi * expected_kl_bound(n, N, k)).sum(axis=-1))


def stationary_bound(P: ArrayLike, N: ArrayLike, k: ArrayLike) -> Array:
    """Return the published bound on the expected distance E TV(pi, pi~), shape (...).

    It is ``||Z|| sqrt(2 L) / 2``, where ``||Z||`` is the largest absolute row sum of
    the fundamental matrix (Benvenuti et al. 2026, Theorem 4). We do not regard it as
    proven, because the paper's proof weights the rows by pi, whereas the perturbation
    identity weights them by pi~. No counterexample was found among random chains.

    Parameters
    ----------
    P : array_like, shape (..., n, n)
        The transition matrix. Entries that are 0 do not count as categories.
    N, k : as in `mean_kl_bound`

    Returns
    -------
    float or ndarray
        The bounds.

    Examples
    --------
    >>> float(stationary_bound([[0.5, 0.5], [0.5, 0.5]], 100, 20.0).round(3))
    0.136
    """
    norm = np.linalg.norm(markov.fundamental_matrix(P), np.inf, axis=(-2, -1))
    categories = (np.asarray(P, dtype=float) > 0.0).sum(axis=-1)
    L = mean_kl_bound(markov.stationary_distribution(P), N, k, categories=categories)
    return checks.plain(0.5 * norm * np.sqrt(2.0 * L))


def ergodicity_bound(
    pi: ArrayLike, N: ArrayLike, k: ArrayLike, *, categories: ArrayLike | None = None
) -> Array:
    """Return sqrt(2 L), shape (...), the published bound on the mean change of tau_inf.

    This is Theorem 5 of Benvenuti et al. 2026, which is false; its proof mixes two
    norms. For the counts [[5000, 5000, 10], [5000, 5000, 10], [6, 6, 13]] and
    k_i = 3 / (2 eta_i), the bound is 0.0547, but tau_inf changes by 0.138 on average.

    Parameters
    ----------
    pi, N, k, categories : as in `mean_kl_bound`

    Returns
    -------
    float or ndarray
        The bounds.

    Examples
    --------
    >>> float(ergodicity_bound([0.5, 0.5], 100, 20.0).round(3))
    0.271
    """
    return np.sqrt(2.0 * mean_kl_bound(pi, N, k, categories=categories))


def matrix_dirichlet_bound(
    norm: ArrayLike,
    n: int,
    k: ArrayLike,
    *,
    eta: float,
    eta_bar: float,
    protected: ArrayLike,
) -> Array:
    """Return the bound on E ``||pi - pi~||_1`` of Fallin et al. 2023, Theorem 3.

    Parameters
    ----------
    norm : array_like; the norm of the fundamental matrix Z, which broadcasts with k
    n : int, at least 2; the number of states
    k : array_like, above 0
    eta, eta_bar : float, above 0, with a sum below 1/2
    protected : int or array_like of int, at least 2; ``|W_i|`` of each row or of all

    Returns
    -------
    float or ndarray
        The bounds, in the common shape of norm and k.

    Examples
    --------
    >>> bound = matrix_dirichlet_bound(2.0, 6, 100, eta=0.1, eta_bar=0.05, protected=2)
    >>> round(float(bound), 3)
    1.023
    """
    n = checks.integer("n", n, 2)
    norm = checks.real("norm", norm, 0.0, LARGEST_N)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    checks.together("norm and k", norm, k)
    eta = checks.scalar("eta", eta, 0.0, 0.5, open_low=True, open_high=True)
    eta_bar = checks.scalar(
        "eta_bar", eta_bar, 0.0, 0.5 - eta, open_low=True, open_high=True
    )
    sizes = checks.real("protected", protected, 2.0)
    if sizes.ndim > 1 or not sizes.size:
        raise ValueError(
            f"protected must be one number or one for each row, got shape {sizes.shape}"
        )
    rest = eta_bar + (sizes - 1.0) * eta
    if (rest >= 1.0).any():
        raise ValueError(
            f"protected must be below {1 + (1 - eta_bar) / eta:g}, "
            f"got {np.max(protected):g}"
        )
    checks.real("k eta", k * eta, SMALLEST_PARAMETER)
    each = k[..., None]  # the last axis is that of `protected`
    powers = each * ((1.0 - rest) * np.log(eta) + (1.0 - eta) * np.log(rest))
    log_least = powers - np.log(each) - log_beta(each * eta, each * rest)
    least = (4.0 * np.exp(2.0 * log_least)).max(axis=-1)
    mean = n * expected_absolute_error_bound(k)
    spread = np.maximum(0.25 * n**2 / (k + 1.0) - least, 0.0)
    return checks.plain(norm * (mean + np.sqrt((n - 1) / n * spread)))
