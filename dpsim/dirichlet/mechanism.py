"""Exact draws of the Dirichlet mechanism, which are made in log space if parameters are small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array

SMALLEST_PARAMETER = 1e-290  # below it the logarithms of a draw would overflow
LARGEST_K = 1e300
LARGEST_K_OF_DELTA = 1e12  # the tail's series takes up to 10 sqrt(k) terms
LOG_SPACE_BELOW = (
    0.1  # Gamma(a) leaves the range of a float with probability about exp(-745 a)
)


def dirichlet_mechanism(
    p: ArrayLike,
    k: ArrayLike,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
    log: bool = False,
) -> Array:
    """Return independent draws of Dir(k p), the Dirichlet mechanism, shape ``(*size, ..., n)``, one row for each
    leading index of p (Benvenuti et al. 2026, Definition 5; Fallin et al. 2023, Definition 6).

    Each draw sums to one up to n rounding errors. A row with a parameter k p_i below 0.1 is drawn in log space, so that
    its left tail is accurate down to the smallest float, 5e-324. An entry below that is 0.0.

    Parameters
    ----------
    p : array_like, shape (..., n); probability vectors, whose zero entries stay exactly zero
    k : array_like
        In (0, 1e300], a number or an array that broadcasts with the leading axes of p (one k per row of a matrix).
    size : int or sequence of int, optional
    rng : Generator, int or None
    log : bool
        True returns the logarithms, which are finite wherever p is positive, although most are below -1e5 at k p_i =
        1e-6.

    Examples
    --------
    >>> dirichlet_mechanism([0.2, 0.3, 0.5], 100.0, rng=1).round(2)
    array([0.19, 0.29, 0.52])
    """
    rng = checks.generator(rng)
    parameters = np.ascontiguousarray(dirichlet_parameters(p, k)[2])
    rows = parameters.reshape(-1, parameters.shape[-1])
    sizes = checks.size("size", size)
    out = np.empty((math.prod(sizes), *rows.shape))
    offset, scale, in_logs = gamma_constants(rows)
    _fill(rng, rows, offset, scale, in_logs | log, log, out)
    return out.reshape(sizes + parameters.shape)


def gamma_constants(rows: Array) -> tuple[Array, Array, Any]:
    """Return the offset and scale of `_gamma` for each parameter, and a mask of the rows that are drawn in
    logarithms."""
    offset = (
        np.where(rows < 1.0, rows + 1.0, rows) - 1.0 / 3.0
    )  # `_draw` undoes the increase by 1
    in_logs = np.where(rows > 0.0, rows, np.inf).min(axis=-1) < LOG_SPACE_BELOW
    return offset, 1.0 / np.sqrt(9.0 * offset), in_logs


def dirichlet_parameters(p: ArrayLike, k: ArrayLike) -> tuple[Array, Array, Array]:
    """Return p, k[..., None] and the broadcast product k p, and raise ValueError unless they are in range."""
    p = checks.simplex("p", p)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    try:
        parameters = k[..., None] * p
    except ValueError:
        raise ValueError(
            f"k must broadcast with the rows of p, got {k.shape} and {p.shape[:-1]}"
        ) from None
    if ((parameters < SMALLEST_PARAMETER) & (p > 0.0)).any():
        raise ValueError(
            f"k must be at least {SMALLEST_PARAMETER:g} / p_i at positive p_i, got {k.min():g}"
        )
    return p, k[..., None], parameters


@njit(
    inline="always"
)  # a call would count references to the generator, which takes as long as the draw
def _gamma(rng, offset, scale):  # type: ignore[no-untyped-def]
    """Return a draw of Gamma(offset + 1/3) by Marsaglia and Tsang (2000), exact for offset >= 2/3."""
    while True:
        x = rng.standard_normal()
        v = 1.0 + scale * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - rng.random()
            squeeze = 1.0 - 0.0331 * x * x * x * x
            if u < squeeze or math.log(u) < 0.5 * x * x + offset * (
                1.0 - v + math.log(v)
            ):
                break
    return offset * v


@njit(inline="always")
def _draw(rng, parameters, offset, scale, in_logs, logs, x):  # type: ignore[no-untyped-def]
    """Fill x with one Dirichlet draw, or with its logarithms. If `in_logs`, the Gamma draws that are normalised are
    stored as logarithms minus the largest one.

    For a parameter a below 1 the draw is G(a) = G(a + 1) U^(1/a), where -log U is exponential, which is exact however
    small a is.
    """
    top, total = -np.inf, 0.0
    for j in range(x.size):
        a = parameters[j]
        x[j] = -np.inf if in_logs else 0.0
        if a > 0.0:
            g = _gamma(rng, offset[j], scale[j])
            power = rng.standard_exponential() / a if a < 1.0 else 0.0
            x[j] = (
                math.log(g) - power
                if in_logs
                else g
                if a >= 1.0
                else g * math.exp(-power)
            )
            top = max(top, x[j])
            total += x[j]
    if in_logs:
        total = 0.0
        for j in range(x.size):
            x[j] -= top
            total += math.exp(x[j])
    for j in range(x.size):
        if logs:
            x[j] -= math.log(total)
        else:
            x[j] = (math.exp(x[j]) if in_logs else x[j]) / total


@njit(cache=True, nogil=True)
def _fill(rng, parameters, offset, scale, in_logs, logs, out):  # type: ignore[no-untyped-def]
    """Fill out (draws, rows, n) with Dirichlet draws, or their logarithms."""
    for draw in range(out.shape[0]):
        for row in range(out.shape[1]):
            _draw(
                rng,
                parameters[row],
                offset[row],
                scale[row],
                in_logs[row],
                logs,
                out[draw, row],
            )


@njit(cache=True, nogil=True)
def count_below(rng, parameters, offset, scale, in_logs, gamma, first, ends, counts):  # type: ignore[no-untyped-def]
    """Fill counts with the number of draws, among the first `ends` of one row, that have an entry below gamma. The
    draws are not stored.

    The draws are the same as in `_fill`. Only the `first` entries that can be positive are compared with gamma.
    """
    x = np.empty(parameters.size)
    below = 0
    drawn = 0
    for i in range(ends.size):
        for _ in range(ends[i] - drawn):
            _draw(rng, parameters, offset, scale, in_logs, False, x)
            for j in range(first):
                if parameters[j] > 0.0 and x[j] < gamma:
                    below += 1
                    break
        drawn = ends[i]
        counts[i] = below
