"""Total variation distance, ergodicity coefficient and fundamental matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.markov.sparse import square
from dpsim.markov.stationary import stationary_distribution

LARGEST_CONDITION = 1e12  # up to it, a fundamental matrix has four correct digits


def total_variation(p: ArrayLike, q: ArrayLike) -> Any:
    """Return the total variation distance ``||p - q||_1 / 2``, shape (...), in [0, 1].

    Parameters
    ----------
    p, q : array_like, shape (..., n); probability vectors, which broadcast

    Returns
    -------
    distance : float or ndarray, shape (...), in [0, 1]

    Examples
    --------
    >>> float(total_variation([0.5, 0.5], [0.75, 0.25]))
    0.25
    """
    difference = checks.simplex("p", p) - checks.simplex("q", q)
    return checks.plain(0.5 * np.abs(difference).sum(axis=-1))


def ergodicity_coefficient(P: ArrayLike) -> Any:
    """Return the ergodicity coefficient tau_inf(P), shape (...), in [0, n/2].

    It is the largest ||P^T z||_inf over all z with ||z||_inf = 1 and sum z = 0
    (Benvenuti et al. 2026, Definition 7; Ipsen and Selee 2011). For one column of P,
    the best z is 1 on the floor(n/2) largest entries, -1 on the floor(n/2) smallest
    ones, and 0 on the median if n is odd.

    Parameters
    ----------
    P : array_like, shape (..., n, n); transition matrices

    Returns
    -------
    tau : float or ndarray, shape (...), in [0, n/2]

    Examples
    --------
    >>> float(ergodicity_coefficient([[0.5, 0.5], [0.25, 0.75]]))
    0.25
    """
    ordered = np.sort(square("P", checks.simplex("P", P)), axis=-2)
    n = ordered.shape[-1]
    half = n // 2
    largest = ordered[..., n - half :, :].sum(axis=-2)
    smallest = ordered[..., :half, :].sum(axis=-2)
    return checks.plain((largest - smallest).max(axis=-1))


def fundamental_matrix(P: ArrayLike) -> Array:
    """Return the fundamental matrix Z = (I - P - 1 pi^T)^(-1), shape (..., n, n).

    This is the form of Fallin et al. 2023 and Benvenuti et al. 2026. For any other
    transition matrix P~ it satisfies pi~ - pi = pi~ (P~ - P) Z. Raises ValueError if
    the chain is so nearly reducible that the condition number is above 1e12, because
    then fewer than four digits may be correct.

    Parameters
    ----------
    P : array_like, shape (..., n, n); transition matrices with one closed class

    Returns
    -------
    Z : ndarray, shape (..., n, n)

    Examples
    --------
    >>> fundamental_matrix([[0.6, 0.4], [0.2, 0.8]]).round(2)
    array([[ 0.78, -1.78],
           [-0.89, -0.11]])
    """
    pi = stationary_distribution(P)
    A = np.eye(pi.shape[-1]) - checks.simplex("P", P) - pi[..., None, :]
    condition = np.max(np.linalg.cond(A, np.inf))
    if not condition <= LARGEST_CONDITION:
        raise ValueError(
            "P must give I - P - 1 pi^T a condition number of at most "
            f"{LARGEST_CONDITION:g}, got {condition:.2g}: "
            "the chain is too nearly reducible"
        )
    return np.asarray(np.linalg.inv(A))
