"""Finite Markov chains: stationary distributions, ergodicity coefficients, fundamental matrices, walks.

A chain is its transition matrix P, rows summing to one: a dense array (..., n, n), the leading axes a
batch, or one scipy.sparse array (n, n).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks, sparse_chains, streams
from dpsim.checks import Array

SAFE = 1e-280  # smaller pivots or probabilities: the elimination is repeated in logarithms
MIN_WORK_PER_THREAD = 5e6  # multiplications; below it a thread costs more than it saves
LARGEST_CONDITION = 1e12  # a fundamental matrix keeps at least four digits
DENSE_UP_TO = 400  # sparse chains of so many states are solved by elimination


def transition_matrix(counts: Any) -> Any:
    """Return the transition matrix counts / departures of counts (..., n, n), dense or scipy.sparse.

    counts[..., i, j] >= 0 is how often the chain went from i to j. Raises ValueError for other counts, and
    for rows without departures, which it names. Source: Benvenuti et al. 2026, equation 4.
    """
    counts = sparse_chains.canonical("counts", counts) if sparse.issparse(counts) else _square("counts", counts)
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
            return sparse_chains.stationary(P)
        P = sparse_chains.stochastic("P", P).toarray()
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
        sparse_chains.refuse_reducible(f"P[{place}]" if place else "P", chains[index])
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


def total_variation(p: ArrayLike, q: ArrayLike) -> Array:
    """Return half the 1-norm of p - q, in [0, 1], shape (...), for probability vectors (..., n) that
    broadcast.
    """
    return 0.5 * np.abs(checks.simplex("p", p) - checks.simplex("q", q)).sum(axis=-1)


def ergodicity_coefficient(P: Any) -> Array:
    """Return tau_inf(P) = max ||P^T z||_inf over ||z||_inf = 1, sum z = 0, shape (...), for P (..., n, n).

    Closed form: for each column the sum of its floor(n/2) largest entries minus the sum of its floor(n/2)
    smallest, the largest over columns (z is +1 on the first, -1 on the last, 0 on the median). It lies in
    [0, n/2]; for one state it is 0. P: rows on the simplex, dense or scipy.sparse; ValueError otherwise.
    Source: Benvenuti et al. 2026, Definition 7; Ipsen and Selee 2011.
    """
    if sparse.issparse(P):
        return sparse_chains.ergodicity_coefficient(P)
    ordered = np.sort(checks.simplex("P", _square("P", P)), axis=-2)
    n = ordered.shape[-1]
    half = n // 2
    spread = ordered[..., n - half :, :].sum(axis=-2) - ordered[..., :half, :].sum(axis=-2)
    return spread.max(axis=-1)


def half_row_distance(A: ArrayLike) -> Array:
    """Return tau_1(A), half the largest 1-norm distance of two rows of A, shape (...), for A (..., n, n).

    For a transition matrix it lies in [0, 1] and bounds the second eigenvalue (Dobrushin's coefficient);
    for the fundamental matrix it is the constant of the perturbation bound, the same for both of its
    readings (Seneta 1988).
    """
    A = checks.real("A", _square("A", A))
    distances = [np.abs(A - A[..., i : i + 1, :]).sum(axis=-1).max(axis=-1) for i in range(A.shape[-1])]
    return 0.5 * np.max(distances, axis=0)


def fundamental_matrix(P: Any, kind: str = "paper") -> Array:
    """Return the fundamental matrix Z (..., n, n) of irreducible chains P.

    kind "paper": (I - P - 1 pi^T)^(-1), as Fallin et al. 2023 and Benvenuti et al. 2026 print it;
    kind "seneta": (I - P + 1 pi^T)^(-1). They differ by 2 1 pi^T, and both give pi~ - pi = pi~ (P~ - P) Z.
    A scipy.sparse P gives a dense Z. Raises ValueError as `stationary_distribution` does, for other kinds,
    and for a chain so nearly reducible that fewer than four digits would be right (condition above 1e12).
    """
    sign = {"paper": -1.0, "seneta": 1.0}[checks.choice("kind", kind, ("paper", "seneta"))]
    pi = stationary_distribution(P)
    P = P.toarray() if sparse.issparse(P) else np.asarray(P, dtype=float)
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


def random_walk(
    P: Any,
    start: ArrayLike,
    steps: int,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: np.random.Generator | None = None,
    uniforms: ArrayLike | None = None,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return walks of the chain as states 0..n-1, shape (*batch, *size, steps + 1), the start included.

    P (*batch, n, n) or scipy.sparse; start: states that broadcast to (*batch, *size); steps >= 0.
    Each step inverts the row's cumulative distribution at one uniform in [0, 1), so that `uniforms`, an array
    that broadcasts to (*batch, *size, steps), gives common random numbers: the same uniforms for several
    matrices. None: independent ones from rng. A transition of probability zero is never taken.
    Raises ValueError for rows off the simplex, a start outside 0..n-1, uniforms outside [0, 1).
    """
    rng = checks.generator(rng)
    steps = checks.integer("steps", steps, 0)
    if sparse.issparse(P):
        P = sparse_chains.stochastic("P", P)
        n, batch, columns, ends = P.shape[0], (), P.indices.astype(np.int64), P.indptr.astype(np.int64)
        cumulative = _cumulative_rows(P.data, ends)
    else:
        P = checks.simplex("P", _square("P", P))
        n, batch, columns = P.shape[-1], P.shape[:-2], np.arange(P.shape[-1])
        ends = np.arange(0, P.size + 1, n)
        cumulative = np.cumsum(P, axis=-1).reshape(-1)
    sizes = () if size is None else (size if isinstance(size, tuple) else (size,))
    shape = batch + tuple(checks.integer("size", length, 0) for length in sizes)
    starts = np.broadcast_to(checks.real("start", start, 0, n - 1), shape)
    if (starts != np.floor(starts)).any():
        raise ValueError(f"start must be integers in [0, {n - 1}], got {starts[starts != np.floor(starts)][0]:g}")
    if uniforms is None:
        uniforms = rng.random((*shape, steps))
    chosen = np.broadcast_to(checks.real("uniforms", uniforms, 0.0, 1.0, open_high=True), (*shape, steps))
    walks = np.empty((math.prod(shape), steps + 1), dtype=np.int64)
    walks[:, 0] = starts.reshape(-1)
    per_chain = max(1, math.prod(shape[len(batch) :]))
    _walk(
        cumulative,
        columns,
        ends,
        n,
        per_chain,
        np.ascontiguousarray(chosen).reshape(len(walks), steps),
        walks,
    )
    return walks.reshape(*shape, steps + 1)


@njit(cache=True, nogil=True)
def _cumulative_rows(data, ends):  # type: ignore[no-untyped-def]
    out = np.empty_like(data)
    for row in range(len(ends) - 1):
        total = 0.0
        for i in range(ends[row], ends[row + 1]):
            total += data[i]
            out[i] = total
    return out


@njit(cache=True, nogil=True)
def _walk(cumulative, columns, ends, n, per_chain, uniforms, walks):  # type: ignore[no-untyped-def]
    """Fill walks: the next state is the first whose cumulative probability exceeds the uniform."""
    dense = len(columns) < len(cumulative)
    for w in range(walks.shape[0]):
        first_row = (w // per_chain) * n
        for t in range(uniforms.shape[1]):
            row = first_row + walks[w, t]
            low = ends[row]
            high = ends[row + 1] - 1
            u = min(uniforms[w, t], np.nextafter(cumulative[high], 0.0))  # the row may sum to 1 - eps
            while low < high:
                middle = (low + high) // 2
                if cumulative[middle] > u:
                    high = middle
                else:
                    low = middle + 1
            walks[w, t + 1] = columns[low - ends[row] if dense else low]
