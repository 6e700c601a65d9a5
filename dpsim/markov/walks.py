"""Random walks on finite Markov chains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks
from dpsim.markov import sparse as markov_sparse
from dpsim.markov.stationary import _square


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
        P = markov_sparse.stochastic("P", P)
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
