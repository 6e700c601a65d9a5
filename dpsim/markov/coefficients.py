"""Total variation distance, ergodicity coefficient and fundamental matrix of finite Markov chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.markov.sparse import square
from dpsim.markov.stationary import stationary_distribution

LARGEST_CONDITION = 1e12  # a fundamental matrix keeps at least four digits


def total_variation(p: ArrayLike, q: ArrayLike) -> Any:
    """Return the total variation distance between probability vectors, which is half the 1-norm of p - q, shape (...),
    in [0, 1].

    Parameters
    ----------
    p, q : array_like, shape (..., n); probability vectors that broadcast

    Examples
    --------
    >>> float(total_variation([0.5, 0.5], [0.75, 0.25]))
    0.25
    """
    return checks.plain(
        0.5 * np.abs(checks.simplex("p", p) - checks.simplex("q", q)).sum(axis=-1)
    )


def ergodicity_coefficient(P: ArrayLike) -> Any:
    """Return tau_inf(P), the largest ||P^T z||_inf over ||z||_inf = 1 with sum z = 0, shape (...), in [0, n/2]
    (Benvenuti et al. 2026, Definition 7; Ipsen and Selee 2011).

    In closed form it is the largest value, over the columns, of the sum of the floor(n/2) largest entries minus the sum
    of the floor(n/2) smallest entries. The maximising z is +1 on the largest entries, -1 on the smallest, and 0 on the
    median if n is odd.

    Parameters
    ----------
    P : array_like, shape (..., n, n); transition matrices

    Examples
    --------
    >>> float(ergodicity_coefficient([[0.5, 0.5], [0.25, 0.75]]))
    0.25
    """
    ordered = np.sort(square("P", checks.simplex("P", P)), axis=-2)
    n = ordered.shape[-1]
    half = n // 2
    spread = ordered[..., n - half :, :].sum(axis=-2) - ordered[..., :half, :].sum(
        axis=-2
    )
    return checks.plain(spread.max(axis=-1))


def fundamental_matrix(P: ArrayLike) -> Array:
    """Return the fundamental matrix Z = (I - P - 1 pi^T)^(-1) of a chain with one closed class, in the form given by
    Fallin et al. 2023 and Benvenuti et al. 2026. It satisfies pi~ - pi = pi~ (P~ - P) Z for any other transition matrix
    P~.

    Raise ValueError if the chain is so nearly reducible that fewer than four digits would be right (condition number
    above 1e12).

    Parameters
    ----------
    P : as in `ergodicity_coefficient`, irreducible except for transient states

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
            f"P must give I - P - 1 pi^T a condition number of at most {LARGEST_CONDITION:g}, "
            f"got {condition:.2g}: the chain is too nearly reducible"
        )
    return np.asarray(np.linalg.inv(A))
