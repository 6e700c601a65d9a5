"""Transition matrices from counts, and stationary distributions by GTH elimination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks
from dpsim.checks import CLOSE, Array
from dpsim.compiled import njit
from dpsim.markov import sparse as markov_sparse

# With smaller pivots or probabilities, the elimination is repeated in logarithms.
SAFE = 1e-280
# Sparse chains with at most this many states are solved by elimination.
DENSE_UP_TO = 400


def transition_matrix(counts: ArrayLike) -> Array:
    """Return the transition matrix that is estimated from counts, shape (..., n, n).

    Each row of counts is divided by its sum (Benvenuti et al. 2026, equation 4).

    Parameters
    ----------
    counts : array_like, shape (..., n, n), in [0, 1e300]
        Entry (i, j) is the number of transitions from state i to state j. Every row
        needs a positive entry.

    Returns
    -------
    P : ndarray, shape (..., n, n)

    Examples
    --------
    >>> transition_matrix([[1, 3], [2, 2]])
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    table = markov_sparse.square("counts", checks.real("counts", counts, 0.0, 1e300))
    departures = table.sum(axis=-1)
    if not departures.all():
        empty = np.argwhere(departures == 0).tolist()
        rows = [row[0] if len(row) == 1 else tuple(row) for row in empty[:10]]
        more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
        raise ValueError(
            f"counts must have a departure in every row, got none in rows {rows}{more}"
        )
    return table / departures[..., None]


def stationary_distribution(P: Any) -> Array:
    """Return the stationary distributions of chains with one closed class, (..., n).

    The stationary distribution is the only probability vector pi with pi P = pi, and it
    is 0 on transient states. If a chain has several closed classes, a ValueError lists
    them and gives the chain's position in the batch.

    Dense chains are solved by elimination without subtractions (Grassmann, Taksar and
    Heyman 1985), which is done in logarithms if it would otherwise overflow or
    underflow. So every entry has full relative precision, even if the chain is periodic
    or nearly reducible; entries below 5e-324 are 0.0.

    Sparse chains with more than 400 states are solved by power iteration or, if they
    mix slowly, by GMRES. The error in 1-norm is proven to be at most 1e-6 and is
    usually below 1e-9. Raises ValueError if such a chain mixes too slowly for this
    bound.

    Parameters
    ----------
    P : array_like, shape (..., n, n), or scipy.sparse, shape (n, n)
        Transition matrices. Rows whose sums are within 1e-6 of 1 are renormalised.

    Returns
    -------
    pi : ndarray, shape (..., n), whose rows sum to 1

    Examples
    --------
    >>> stationary_distribution([[0.5, 0.5], [0.25, 0.75]])
    array([0.33333333, 0.66666667])
    """
    if sparse.issparse(P):
        P = markov_sparse.stochastic("P", P)
        if P.shape[0] > DENSE_UP_TO:
            return _on_closed_class("P", P, markov_sparse.stationary)
        P = P.toarray()
    P = markov_sparse.square("P", checks.numeric("P", P))
    n = P.shape[-1]
    chains = np.ascontiguousarray(P).reshape(-1, n, n)
    pi = np.empty((len(chains), n))
    solved = np.empty(len(chains), dtype=bool)
    _solve_each(chains, np.empty((n, n)), pi, solved)
    if not solved.all():
        # the error message of this check gives the row
        chains = checks.simplex("P", P).reshape(chains.shape)
        # the other chains have transient states or leave the range of floats
        for index in np.flatnonzero(~solved):
            place = ", ".join(str(i) for i in np.unravel_index(index, P.shape[:-2]))
            name = f"P[{place}]" if place else "P"
            pi[index] = _on_closed_class(name, chains[index], _log_gth)
    return pi.reshape(P.shape[:-1])


def _on_closed_class(name: str, chain: Any, solve: Callable[[Any], Array]) -> Array:
    """Return the stationary distribution of a chain with one closed class.

    Only the irreducible chain on this class is passed to `solve`. Raises ValueError if
    there are several closed classes.
    """
    closed = markov_sparse.closed_class(name, chain)
    if len(closed) == chain.shape[0]:
        return solve(chain)
    pi = np.zeros(chain.shape[0])
    pi[closed] = solve(chain[closed][:, closed])
    return pi


@njit(nogil=True)
def _solve_each(chains, a, pi, solved):  # type: ignore[no-untyped-def]
    """Fill pi, and record in `solved` which chains were solved.

    Each chain is copied into the scratch array a and checked as in `checks.simplex`.
    """
    n = chains.shape[1]
    rounding = max(5e-15, n * 2.220446049250313e-16)
    for c in range(chains.shape[0]):
        solved[c] = True
        for i in range(n):
            total = 0.0
            least = 0.0
            for j in range(n):
                a[i, j] = chains[c, i, j]
                total += a[i, j]
                least = min(least, a[i, j])
            off = abs(total - 1.0)
            if least < 0.0 or not off <= CLOSE:
                solved[c] = False
                break
            if off > rounding:
                for j in range(n):
                    a[i, j] /= total
        solved[c] = solved[c] and _eliminate(a) and _substitute(a, pi[c])


@njit(nogil=True)
def _eliminate(a):  # type: ignore[no-untyped-def]
    """Eliminate the states n-1 to 1 in place, and return whether all pivots were safe.

    Each elimination leaves the chain observed only in the remaining states.
    """
    for k in range(a.shape[0] - 1, 0, -1):
        # four sums are faster than one, because an addition waits for the previous one
        one = two = three = four = 0.0
        for j in range(0, k - 3, 4):
            one += a[k, j]
            two += a[k, j + 1]
            three += a[k, j + 2]
            four += a[k, j + 3]
        for j in range(k - k % 4, k):
            one += a[k, j]
        leaving = one + two + three + four
        if not leaving >= SAFE:
            return False
        for i in range(k):
            share = a[i, k] / leaving
            a[i, k] = share
            if share > 0.0:
                for j in range(k):
                    a[i, j] += share * a[k, j]
    return True


@njit(nogil=True)
def _substitute(a, x):  # type: ignore[no-untyped-def]
    """Fill x with the stationary distribution of an eliminated chain.

    Returns whether all probabilities were safe.
    """
    n = a.shape[0]
    for i in range(n):
        x[i] = 1.0 if i == 0 else 0.0
    total = 0.0
    least = np.inf
    for i in range(n):
        total += x[i]
        for j in range(i + 1, n):
            x[j] += x[i] * a[i, j]
    for i in range(n):
        x[i] /= total
        least = min(least, x[i])
    return least >= SAFE and total < 1.0 / SAFE


def _log_gth(chain: Array) -> Array:
    """Return the stationary distribution of an irreducible chain, in logarithms."""
    n = len(chain)
    with np.errstate(divide="ignore"):
        a = np.log(chain)
    for k in range(n - 1, 0, -1):
        a[:k, k] -= np.logaddexp.reduce(a[k, :k])
        a[:k, :k] = np.logaddexp(a[:k, :k], a[:k, k, None] + a[k, :k])
    log_pi = np.zeros(n)
    for k in range(1, n):
        log_pi[k] = np.logaddexp.reduce(log_pi[:k] + a[:k, k])
    return np.exp(log_pi - np.logaddexp.reduce(log_pi))
