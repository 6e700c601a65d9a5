"""The Dirichlet mechanism: exact samples from Dirichlet distributions, in log space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.compiled import njit

SMALLEST_PARAMETER = 1e-290  # below it, the logarithms of a draw would overflow
LARGEST_K = 1e300
LARGEST_K_OF_DELTA = 1e12  # because the series for the tail has up to 10 sqrt(k) terms
# A draw from Gamma(a) is below the smallest float with probability about exp(-745 a).
LOG_SPACE_BELOW = 0.1


@checks.fits_into_memory("size")
def dirichlet_mechanism(
    p: ArrayLike,
    k: ArrayLike,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
    log: bool = False,
) -> Array:
    """Return draws from Dir(k p), shape ``(*size, ..., n)``, one for each row of p.

    This is the Dirichlet mechanism (Benvenuti et al. 2026, Definition 5; Fallin et al.
    2023, Definition 6). Each draw sums to 1 up to n rounding errors. If a row has a
    parameter k p_i below 0.1, it is sampled in log space, so the left tail is accurate
    down to the smallest float, 5e-324. Entries below that are 0.0.

    Parameters
    ----------
    p : array_like, shape (..., n)
        Probability vectors. Entries that are 0 are also 0 in the draws.
    k : array_like, in (0, 1e300]
        It broadcasts with the leading axes of p, so each row may have its own k.
    size : int or sequence of int, optional; the number of draws for each row
    rng : numpy.random.Generator or int, optional
        None means a new generator, seeded by the operating system.
    log : bool
        Whether to return the logarithms of the entries, which are finite wherever p is
        positive. For k p_i = 1e-6, most of them are below -1e5.

    Returns
    -------
    ndarray, shape ``(*size, ..., n)``
        The draws.

    Examples
    --------
    >>> dirichlet_mechanism([0.2, 0.3, 0.5], 100.0, rng=1).round(2)
    array([0.19, 0.29, 0.52])
    """
    rng = checks.generator(rng)
    parameters = np.ascontiguousarray(dirichlet_parameters(p, k)[2])
    rows = parameters.reshape(-1, parameters.shape[-1])
    log = checks.flag("log", log)
    sizes = checks.size("size", size)
    out = np.empty((math.prod(sizes), *rows.shape))
    offset, scale, in_logs = gamma_constants(rows)
    _fill(rng, rows, offset, scale, in_logs | log, log, out)
    return out.reshape(sizes + parameters.shape)


def gamma_constants(rows: Array) -> tuple[Array, Array, Any]:
    """Return the offset and scale of `_gamma` for each parameter, and a mask of rows.

    The mask marks the rows that are sampled in log space.
    """
    raised = np.where(rows < 1.0, rows + 1.0, rows)  # `_draw` corrects for the 1
    offset = raised - 1.0 / 3.0
    in_logs = np.where(rows > 0.0, rows, np.inf).min(axis=-1) < LOG_SPACE_BELOW
    return offset, 1.0 / np.sqrt(9.0 * offset), in_logs


def dirichlet_parameters(p: ArrayLike, k: ArrayLike) -> tuple[Array, Array, Array]:
    """Return p, k[..., None] and the parameters k p, shape (..., n).

    Raises ValueError if p, k or a parameter is out of range.
    """
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
            f"k must be at least {SMALLEST_PARAMETER:g} / p_i at positive p_i, "
            f"got {k.min():g}"
        )
    return p, k[..., None], parameters


# inlined, because counting the references to the generator in a call takes as long as
# the draw itself
@njit(inline="always")
def _gamma(rng, offset, scale):  # type: ignore[no-untyped-def]
    """Return a draw from Gamma(offset + 1/3) for offset >= 2/3.

    The method of Marsaglia and Tsang (2000) is exact. The scale is 1 / sqrt(9 offset).
    """
    while True:
        x = rng.standard_normal()
        v = 1.0 + scale * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - rng.random()
            if u < 1.0 - 0.0331 * x * x * x * x:
                return offset * v
            if math.log(u) < 0.5 * x * x + offset * (1.0 - v + math.log(v)):
                return offset * v


@njit(inline="always")
def _draw(rng, parameters, offset, scale, in_logs, logs, x):  # type: ignore[no-untyped-def]
    """Fill x with one Dirichlet draw, or with its logarithms if `logs`.

    The draw consists of normalised Gamma variables, which are computed in log space if
    `in_logs`. For a < 1, a Gamma(a) variable is sampled as a Gamma(a + 1) variable
    times U^(1/a), where U is uniform. This is exact however small a is.
    """
    top = -np.inf
    total = 0.0
    for j in range(x.size):
        a = parameters[j]
        x[j] = -np.inf if in_logs else 0.0
        if a > 0.0:
            g = _gamma(rng, offset[j], scale[j])
            power = rng.standard_exponential() / a if a < 1.0 else 0.0
            if in_logs:
                x[j] = math.log(g) - power
            else:
                x[j] = g if a >= 1.0 else g * math.exp(-power)
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


@njit(nogil=True)
def _fill(rng, parameters, offset, scale, in_logs, logs, out):  # type: ignore[no-untyped-def]
    """Fill `out`, shape (draws, rows, n), with Dirichlet draws or their logarithms."""
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


@njit(nogil=True)
def count_below(rng, parameters, offset, scale, in_logs, gamma, ends, counts):  # type: ignore[no-untyped-def]
    """Fill `counts` with the number of draws that have an entry below gamma.

    counts[i] is the number among the first ends[i] draws. The draws are those of
    `_fill` for one row, but they are not stored. Only entries that can be positive are
    compared with gamma.
    """
    x = np.empty(parameters.size)
    below = 0
    drawn = 0
    for i in range(ends.size):
        for _ in range(ends[i] - drawn):
            _draw(rng, parameters, offset, scale, in_logs, False, x)
            for j in range(x.size):
                if parameters[j] > 0.0 and x[j] < gamma:
                    below += 1
                    break
        drawn = ends[i]
        counts[i] = below
