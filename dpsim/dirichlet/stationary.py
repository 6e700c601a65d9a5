"""The published bounds on how much the stationary distribution and the convergence of a private chain change."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, markov
from dpsim.checks import Array
from dpsim.dirichlet.accuracy import expected_absolute_error_bound, expected_kl_bound
from dpsim.dirichlet.mechanism import SMALLEST_PARAMETER
from dpsim.numerics.special import log_beta


def mean_kl_bound(
    pi: ArrayLike, N: ArrayLike, k: ArrayLike, *, categories: ArrayLike | None = None
) -> Array:
    """Return L, the mean over the stationary distribution of Corollary 1's bound for each row, shape (...) (Benvenuti
    et al. 2026, Theorem 4).

    Parameters
    ----------
    pi : array_like, shape (..., n); the stationary distribution
    N, k : array_like; records and k of each row, which broadcast to the shape of pi
    categories : array_like, optional; how many transitions each row can take; None means all n

    Examples
    --------
    >>> float(mean_kl_bound([0.5, 0.5], 100, 20.0).round(3))
    0.037
    """
    pi = checks.simplex("pi", pi)
    given = (
        ("categories", pi.shape[-1] if categories is None else categories),
        ("N", N),
        ("k", k),
    )
    sizes = (
        checks.fitted(name, checks.numeric(name, value), pi.shape)
        for name, value in given
    )
    return checks.plain((pi * expected_kl_bound(*sizes)).sum(axis=-1))


def stationary_bound(P: ArrayLike, N: ArrayLike, k: ArrayLike) -> Array:
    """Return the bound ``||Z|| sqrt(2 L) / 2`` on E TV(pi, pi~), shape (...), where ``||Z||`` is the operator norm for
    row vectors, which is the largest absolute row sum of the fundamental matrix (Benvenuti et al. 2026, Theorem 4).

    This is the published statement. Its proof weights the rows by pi, whereas the perturbation identity weights them by
    pi~, so the bound rests on the publication and on checks with random chains, and is not proven here.

    Parameters
    ----------
    P : array_like, shape (..., n, n)
        The chain. Zero entries stay zero in the release and do not count as categories.
    N, k : as in `mean_kl_bound`

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
    """Return sqrt(2 L), shape (...), which Theorem 5 of Benvenuti et al. 2026 states as a bound on the mean change of
    tau_inf.

    It is not a bound, because the proof mixes two norms. For the counts [[5000, 5000, 10], [5000, 5000, 10], [6, 6,
    13]] and k_i = 3 / (2 eta_i) it is 0.0547, but tau_inf changes by 0.138 on average.

    Parameters
    ----------
    pi, N, k, categories : as in `mean_kl_bound`

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
    """Return the bound on E ``||pi - pi~||_1`` for a norm of Z (Fallin et al. 2023, Theorem 3).

    Parameters
    ----------
    norm : array_like; the norm of Z, broadcasts with k
    n : int; states
    k : array_like, above 0
    eta, eta_bar : float, above 0, with a sum below 1/2
    protected : int or array_like of int
        ``|W_i|`` of each row, at least 2, or one number for all. The subtracted term is the largest one over the rows.

    Examples
    --------
    >>> float(matrix_dirichlet_bound(2.0, 6, 100.0, eta=0.1, eta_bar=0.05, protected=2).round(3))
    1.023
    """
    n = checks.integer("n", n, 2)
    norm = checks.real("norm", norm, 0.0)
    k = checks.real("k", k, 0.0, open_low=True)
    eta = checks.scalar("eta", eta, 0.0, 0.5, open_low=True, open_high=True)
    eta_bar = checks.scalar(
        "eta_bar", eta_bar, 0.0, 0.5 - eta, open_low=True, open_high=True
    )
    rest = eta_bar + (checks.real("protected", protected, 2.0) - 1.0) * eta
    if (rest >= 1.0).any():
        raise ValueError(
            f"protected must be below {1 + (1 - eta_bar) / eta:g}, got {np.max(protected):g}"
        )
    checks.real("k eta", k * eta, SMALLEST_PARAMETER)
    powers = k[..., None] * ((1.0 - rest) * np.log(eta) + (1.0 - eta) * np.log(rest))
    least = 4.0 * np.exp(
        2.0
        * (
            powers
            - np.log(k[..., None])
            - log_beta(k[..., None] * eta, k[..., None] * rest)
        )
    )
    mean = n * expected_absolute_error_bound(k)
    spread = np.maximum(0.25 * n**2 / (k + 1.0) - least.max(axis=-1), 0.0)
    return checks.plain(norm * (mean + np.sqrt((n - 1) / n * spread)))
