"""Random walks on finite Markov chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dpsim import checks
from dpsim.checks import Integers
from dpsim.compiled import njit
from dpsim.markov import sparse as markov_sparse


@checks.fits_into_memory("steps or size")
def random_walk(
    P: Any,
    start: ArrayLike,
    steps: int,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
    uniforms: ArrayLike | None = None,
) -> Integers:
    """Return walks on the chain, int64 of shape ``(*batch, *size, steps + 1)``.

    A walk is a sequence of states in 0..n-1, the first of which is its start. Each step
    is sampled by inverting the cumulative distribution of a row, and a transition of
    probability 0 is never taken.

    Parameters
    ----------
    P : array_like, shape ``(*batch, n, n)``, or scipy.sparse, shape (n, n)
        Transition matrices.
    start : array_like of int; states that broadcast to ``(*batch, *size)``
    steps : int, at least 0
    size : int or sequence of int, optional; the number of walks on each chain
    rng : numpy.random.Generator or int, optional
        None means a new generator, seeded by the operating system.
    uniforms : array_like, optional
        Numbers in [0, 1) that broadcast to ``(*batch, *size, steps)``, one for each
        step. If several matrices are given the same numbers, their walks use common
        random numbers. If None, the numbers are sampled with rng.

    Returns
    -------
    walks : ndarray of int64, shape ``(*batch, *size, steps + 1)``

    Examples
    --------
    >>> random_walk([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0, 4)
    array([0, 1, 2, 0, 1])
    """
    rng = checks.generator(rng)
    steps = checks.integer("steps", steps, 0)
    if sparse.issparse(P):
        rows = P = markov_sparse.stochastic("P", P)
    else:
        P = markov_sparse.square("P", checks.simplex("P", P))
        rows = sparse.csr_array(P.reshape(-1, P.shape[-1]))
    n = P.shape[-1]
    ends = rows.indptr.astype(np.int64)
    columns = rows.indices.astype(np.int64)
    parts = np.split(rows.data, ends[1:-1])
    cumulative = np.concatenate([np.cumsum(part) for part in parts])
    sizes = checks.size("size", size)
    shape = P.shape[:-2] + sizes
    starts = checks.fitted("start", checks.integers("start", start, 0, n - 1), shape)
    if uniforms is None:
        uniforms = rng.random((*shape, steps))
    uniforms = checks.real("uniforms", uniforms, 0.0, 1.0, open_high=True)
    chosen = np.ascontiguousarray(checks.fitted("uniforms", uniforms, (*shape, steps)))
    walks = np.empty((math.prod(shape), steps + 1), dtype=np.int64)
    walks[:, 0] = starts.reshape(-1)
    per_chain = max(1, math.prod(sizes))
    chosen = chosen.reshape(len(walks), steps)
    _walk(cumulative, columns, ends, n, per_chain, chosen, walks)
    return walks.reshape(*shape, steps + 1)


@njit(nogil=True)
def _walk(cumulative, columns, ends, n, per_chain, uniforms, walks):  # type: ignore[no-untyped-def]
    """Fill `walks`, whose first column contains the starts.

    The next state is the first one whose cumulative probability exceeds the uniform
    number. Row i of the stacked matrices occupies the entries from ends[i] to
    ends[i + 1].
    """
    for w in range(walks.shape[0]):
        first_row = (w // per_chain) * n
        for t in range(uniforms.shape[1]):
            row = first_row + walks[w, t]
            first = ends[row]
            last = ends[row + 1] - 1
            # the last cumulative probability may be 1 - eps because of rounding
            u = min(uniforms[w, t], np.nextafter(cumulative[last], 0.0))
            step = np.searchsorted(cumulative[first:last], u, side="right")
            walks[w, t + 1] = columns[first + step]
