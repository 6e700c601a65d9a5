"""Stationary distributions of finite Markov chains by GTH elimination, batched and compiled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks, streams
from dpsim.checks import Array
from dpsim.markov import sparse as markov_sparse

SAFE = 1e-280  # smaller pivots or probabilities: the elimination is repeated in logarithms
MIN_WORK_PER_THREAD = 5e6  # multiplications; below it a thread costs more than it saves
DENSE_UP_TO = 400  # sparse chains of so many states are solved by elimination


def transition_matrix(counts: Any) -> Any:
    """Return the transition matrix counts / departures of counts (..., n, n), dense or scipy.sparse.

    counts[..., i, j] >= 0 is how often the chain went from i to j. Raises ValueError for other counts, and
    for rows without departures, which it names. Source: Benvenuti et al. 2026, equation 4.
    """
    counts = markov_sparse.canonical("counts", counts) if sparse.issparse(counts) else _square("counts", counts)
    checks.real("counts", counts.data if sparse.issparse(counts) else counts, 0.0, 1e300)
    departures = np.asarray(counts.sum(axis=-1), dtype=float)
    if not departures.all():
        rows = [tuple(int(i) for i in row) if len(row) > 1 else int(row[0]) for row in np.argwhere(departures == 0)]
        more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
        raise ValueError(f"counts must have a departure in every row, got none in rows {rows[:10]}{more}")
    if sparse.issparse(counts):
        counts.data /= np.repeat(departures, np.diff(counts.indptr))
        return counts
    return counts / departures[..., None]


def stationary_distribution(P: Any) -> Array:
    """Return the probability vector pi with pi P = pi, shape (..., n), of irreducible chains P (..., n, n).

    Dense: Grassmann, Taksar and Heyman's elimination (1985), which never subtracts, so that every entry has
    full relative precision, in nearly reducible and periodic chains too; an entry below 5e-324 is returned
    as 0.0. scipy.sparse: `sparse_chains.stationary`, iterative (ValueError with iterations and residual
    when it does not converge); `sparse_chains.stationary_error` gives its residual and error bound. Raises
    ValueError unless P is square, non-negative, its rows sum to one within max(5e-15, n eps), and it is
    irreducible: a reducible chain is refused with its place in the batch and its closed classes.
    """
    if sparse.issparse(P):
        if P.shape[0] > DENSE_UP_TO:
            return markov_sparse.sparse_stationary(P)
        P = markov_sparse.stochastic("P", P).toarray()
    P = _square("P", P)
    n = P.shape[-1]
    chains = np.ascontiguousarray(P).reshape(-1, n, n)
    pi = np.empty((len(chains), n))
    status = np.empty(len(chains), dtype=np.int64)
    workers = int(min(streams.threads(), max(1, len(chains) * n**3 / MIN_WORK_PER_THREAD), max(1, len(chains))))
    tolerance = max(5e-15, n * np.finfo(float).eps)
    cuts = [len(chains) * i // workers for i in range(workers + 1)]
    parts = [slice(low, high) for low, high in pairwise(cuts)]
    if workers == 1:
        _gth(chains, tolerance, pi, status)
    else:  # threads of our own: numba's parallel loops may not run inside other threads or after a fork
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda part: _gth(chains[part], tolerance, pi[part], status[part]), parts))
    if (status == NOT_STOCHASTIC).any():
        checks.simplex("P", P)
    for index in np.flatnonzero(status):
        place = ", ".join(str(i) for i in np.unravel_index(index, P.shape[:-2]))
        markov_sparse.refuse_reducible(f"P[{place}]" if place else "P", chains[index])
        pi[index] = _log_gth(chains[index])
    return pi.reshape(P.shape[:-1])


NOT_STOCHASTIC = 2
OUT_OF_RANGE = 1


@njit(cache=True, nogil=True)
def _gth(chains, tolerance, pi, status):  # type: ignore[no-untyped-def]
    """Solve every chain; status is 0, NOT_STOCHASTIC, or OUT_OF_RANGE (reducible, or beyond the floats)."""
    n = chains.shape[1]
    a = np.empty((n, n))
    for c in range(chains.shape[0]):
        status[c] = 0
        for i in range(n):
            total = 0.0
            valid = True
            for j in range(n):
                x = chains[c, i, j]
                a[i, j] = x
                total += x
                valid &= x >= 0.0
            if not (valid and abs(total - 1.0) <= tolerance):
                status[c] = NOT_STOCHASTIC
        if status[c]:
            continue
        smallest = 1.0
        for k in range(n - 1, 0, -1):  # censor state k: the chain watched on 0..k-1
            leaving = 0.0
            for j in range(k):
                leaving += a[k, j]
            smallest = min(smallest, leaving)
            if leaving <= 0.0:
                break
            for i in range(k):
                share = a[i, k] / leaving
                a[i, k] = share
                if share > 0.0:
                    for j in range(k):
                        a[i, j] += share * a[k, j]
        x = pi[c]
        x[:] = 0.0
        x[0] = 1.0
        total = 0.0
        for i in range(n):
            total += x[i]
            for j in range(i + 1, n):
                x[j] += x[i] * a[i, j]
        for i in range(n):
            x[i] /= total
            smallest = min(smallest, x[i])
        if not (smallest >= SAFE and total < 1.0 / SAFE):
            status[c] = OUT_OF_RANGE


def _log_gth(chain: Array) -> Array:
    """Return the stationary distribution of one irreducible chain by the same elimination on logarithms."""
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


def _square(name: str, value: ArrayLike) -> Array:
    array = np.asarray(value)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise ValueError(f"{name} must have shape (..., n, n) with n at least 1, got {array.shape}")
    try:
        return array.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be real numbers, got {array.dtype}") from error
