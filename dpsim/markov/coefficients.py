"""Distances and coefficients of finite Markov chains: total variation, ergodicity, fundamental matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks
from dpsim.checks import Array
from dpsim.markov import sparse as markov_sparse
from dpsim.markov.stationary import square, stationary_distribution

LARGEST_CONDITION = 1e12  # a fundamental matrix keeps at least four digits


def total_variation(p: ArrayLike, q: ArrayLike) -> Any:
    """Return the total variation distance of probability vectors, half the 1-norm of p - q, shape (...), in [0, 1].

    Parameters
    ----------
    p, q : array_like, shape (..., n); probability vectors that broadcast

    Examples
    --------
    >>> float(total_variation([0.5, 0.5], [0.75, 0.25]))
    0.25
    """
    return checks.plain(0.5 * np.abs(checks.simplex("p", p) - checks.simplex("q", q)).sum(axis=-1))


def ergodicity_coefficient(P: Any) -> Any:
    """Return tau_inf(P) = max ||P^T z||_inf over ||z||_inf = 1, sum z = 0, shape (...), in [0, n/2] (Benvenuti et al.
    2026, Definition 7; Ipsen and Selee 2011).

    Closed form: for each column the sum of its floor(n/2) largest entries minus the sum of its floor(n/2) smallest, the
    largest over columns (z is +1 on the first, -1 on the last, 0 on the median).

    Parameters
    ----------
    P : array_like, shape (..., n, n), or scipy.sparse, shape (n, n); transition matrices

    Examples
    --------
    >>> float(ergodicity_coefficient([[0.5, 0.5], [0.25, 0.75]]))
    0.25
    """
    if sparse.issparse(P):
        return markov_sparse.ergodicity_coefficient(P)
    ordered = np.sort(checks.simplex("P", square("P", P, 0.0)), axis=-2)
    n = ordered.shape[-1]
    half = n // 2
    spread = ordered[..., n - half :, :].sum(axis=-2) - ordered[..., :half, :].sum(axis=-2)
    return checks.plain(spread.max(axis=-1))


def half_row_distance(A: ArrayLike) -> Any:
    """Return tau_1(A), shape (...), half the largest 1-norm distance of two rows of A.

    For a transition matrix it lies in [0, 1] and bounds the second eigenvalue (Dobrushin's coefficient); for the
    fundamental matrix it is the constant of the perturbation bound, the same for both of its readings (Seneta 1988).

    Parameters
    ----------
    A : array_like, shape (..., n, n)

    Examples
    --------
    >>> float(half_row_distance([[0.5, 0.5], [0.25, 0.75]]))
    0.25
    """
    A = square("A", A)
    distances = [np.abs(A - A[..., i : i + 1, :]).sum(axis=-1).max(axis=-1) for i in range(A.shape[-1])]
    return checks.plain(0.5 * np.max(distances, axis=0))


def fundamental_matrix(P: Any, kind: str = "paper") -> Array:
    """Return the fundamental matrix Z, dense, of irreducible chains: pi~ - pi = pi~ (P~ - P) Z for any other chain P~.

    ValueError also for a chain with transient states, and for one so nearly reducible that fewer than four digits would
    be right (condition above 1e12).

    Parameters
    ----------
    P : as in `ergodicity_coefficient`, irreducible
    kind : {"paper", "seneta"}
        "paper": (I - P - 1 pi^T)^(-1), as Fallin et al. 2023 and Benvenuti et al. 2026 print it; "seneta":
        (I - P + 1 pi^T)^(-1). They differ by 2 1 pi^T.

    Examples
    --------
    >>> fundamental_matrix([[0.5, 0.5], [0.5, 0.5]], "seneta")
    array([[1., 0.],
           [0., 1.]])
    """
    sign = {"paper": -1.0, "seneta": 1.0}[checks.choice("kind", kind, ("paper", "seneta"))]
    pi = stationary_distribution(P)
    P = checks.simplex("P", P.toarray() if sparse.issparse(P) else P)
    for index in np.argwhere((pi == 0.0).any(axis=-1)):
        markov_sparse.refuse_reducible(f"P{index.tolist()}" if index.size else "P", P[tuple(index)])
    A = np.eye(P.shape[-1]) - P + sign * pi[..., None, :]
    try:
        Z = np.linalg.inv(A)
        condition = np.max(np.linalg.norm(A, np.inf, axis=(-2, -1)) * np.linalg.norm(Z, np.inf, axis=(-2, -1)))
    except np.linalg.LinAlgError:
        condition = np.inf
    if not condition <= LARGEST_CONDITION:
        raise ValueError(
            f"P must give I - P + 1 pi^T a condition number of at most {LARGEST_CONDITION:g}, "
            f"got {condition:.2g}: the chain is too nearly reducible"
        )
    return Z
