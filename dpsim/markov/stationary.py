"""Stationary distributions of finite Markov chains by GTH elimination, batched and compiled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks, streams
from dpsim.checks import CLOSE, Array
from dpsim.markov import sparse as markov_sparse

SAFE = 1e-280  # with smaller pivots or probabilities the elimination is repeated in logarithms
MIN_WORK_PER_THREAD = (
    1e7  # multiplications; with fewer of them a thread costs more than it saves
)
DENSE_UP_TO = (
    400  # sparse chains with at most this many states are solved by elimination
)


def transition_matrix(counts: ArrayLike) -> Array:
    """Return the transition matrix of counts, in which each row is divided by its sum (Benvenuti et al. 2026, equation
    4).

    Parameters
    ----------
    counts : array_like, shape (..., n, n)
        How often the chain went from state i (row) to state j, in [0, 1e300]; every row needs at least one departure.

    Examples
    --------
    >>> transition_matrix([[1, 3], [2, 2]])
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    table = markov_sparse.square("counts", checks.real("counts", counts, 0.0, 1e300))
    departures = table.sum(axis=-1)
    if not departures.all():
        rows = [
            tuple(int(i) for i in row) if len(row) > 1 else int(row[0])
            for row in np.argwhere(departures == 0)
        ]
        more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
        raise ValueError(
            f"counts must have a departure in every row, got none in rows {rows[:10]}{more}"
        )
    return table / departures[..., None]


def stationary_distribution(P: Any) -> Array:
    """Return the stationary distribution pi, shape (..., n), of chains with one closed class of states. It is the only
    probability vector with pi P = pi, and it is 0 on the transient states.

    Dense chains are solved by elimination without subtractions (Grassmann, Taksar and Heyman 1985). Every entry has
    full relative precision, even for nearly reducible and periodic chains, and an entry below 5e-324 is 0.0. If the
    elimination overflows or underflows, it is repeated in logarithms. Sparse chains with more than 400 states are
    solved by damped power iteration, or by GMRES if they mix slowly, with a proven error in 1-norm below 1e-6, and
    usually below 1e-9. Raise ValueError if a sparse chain mixes too slowly, or if a chain has several closed classes;
    then the message names the classes and the place in the batch.

    Parameters
    ----------
    P : array_like, shape (..., n, n), or scipy.sparse, shape (n, n)
        Transition matrices, whose rows are on the simplex (sums within 1e-6 of 1 are renormalised).

    Examples
    --------
    >>> stationary_distribution([[0.5, 0.5], [0.25, 0.75]])
    array([0.33333333, 0.66666667])
    """
    if sparse.issparse(P):
        P = markov_sparse.stochastic("P", P)
        if P.shape[0] > DENSE_UP_TO:
            return _on_closed_class(
                "P", P, lambda part: markov_sparse.stationary(sparse.csr_array(part))
            )
        P = P.toarray()
    P = markov_sparse.square("P", checks.numeric("P", P))
    n = P.shape[-1]
    chains = np.ascontiguousarray(P).reshape(-1, n, n)
    pi = np.empty((len(chains), n))
    solved = np.empty(len(chains), dtype=bool)
    workers = min(len(chains), int(len(chains) * n**3 / MIN_WORK_PER_THREAD))
    if workers < 2 or (workers := min(workers, streams.threads())) < 2:
        every = _solve_each(chains, np.empty((n, n)), pi, solved)
    else:  # own threads, because numba's parallel loops may not run inside other threads or after a fork
        parts = [
            slice(len(chains) * i // workers, len(chains) * (i + 1) // workers)
            for i in range(workers)
        ]
        with ThreadPoolExecutor(workers) as pool:
            each = pool.map(
                lambda part: _solve_each(
                    chains[part], np.empty((n, n)), pi[part], solved[part]
                ),
                parts,
            )
            every = all(list(each))
    if not every:
        chains = checks.simplex("P", P).reshape(
            chains.shape
        )  # its message names the row
        for index in np.flatnonzero(
            ~solved
        ):  # it has transient states, or leaves the range of the floats
            place = ", ".join(str(i) for i in np.unravel_index(index, P.shape[:-2]))
            pi[index] = _on_closed_class(
                f"P[{place}]" if place else "P", chains[index], _log_gth
            )
    return pi.reshape(P.shape[:-1])


def _on_closed_class(name: str, chain: Any, solve: Any) -> Array:
    """Return the solution on the one closed class, with 0 elsewhere; if there are several, raise a ValueError that
    names the classes."""
    closed = markov_sparse.closed_class(name, chain)
    pi = np.zeros(chain.shape[0])
    pi[closed] = (
        solve(chain[closed][:, closed])
        if len(closed) < chain.shape[0]
        else solve(chain)
    )
    return pi


@njit(cache=True, nogil=True)
def _solve_each(chains, a, pi, solved):  # type: ignore[no-untyped-def]
    """Fill pi and `solved`, and return whether every chain was solved. Each chain is read into the scratch array a and
    checked as `checks.simplex` does."""
    n = chains.shape[1]
    rounding = max(5e-15, n * 2.220446049250313e-16)
    every = True
    for c in range(chains.shape[0]):
        solved[c] = True
        for i in range(n):
            total, least = 0.0, 0.0
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
        every = every and solved[c]
    return every


@njit(nogil=True)
def _eliminate(a):  # type: ignore[no-untyped-def]
    """Eliminate the states n-1 to 1 in place and return True, or False if a pivot is below SAFE. Each elimination
    leaves the chain as it is observed only on the remaining states."""
    for k in range(a.shape[0] - 1, 0, -1):
        one = two = three = four = (
            0.0  # an addition waits for the previous one, so four sums are faster than one
        )
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
    """Fill x from an eliminated chain and return True, or False if a probability is below SAFE."""
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
    """Return the stationary distribution of one irreducible chain by the same elimination in logarithms."""
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
