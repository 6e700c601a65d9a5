"""Exact draws of the Boltzmann machine's stationary distribution for a diagonal W (Fleischer 2024): no chain.

Given their total, the bins are independent discrete Gaussians: tables of these, tilted so that the expected
total is N, make the proposals of a rejection sampler whose acceptance does not fall with N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.space import LARGEST_TABLE, diagonal_exponents, histogram
from dpsim.checks import Array, Integers

TILT_POINTS = 10_000  # terms of a bin that the choice of the tilt looks at; the draws are exact for any tilt
CUT = 100.0  # a bin's terms below exp(-CUT) of its largest are left out of the tables of exact draws


def sample_exact(
    x: ArrayLike,
    t: float,
    *,
    weights: ArrayLike | None = None,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return independent draws of pi(z | x) itself for a diagonal W: no chain, no burn-in.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        The true histogram.
    t : float
        Temperature in [1e-100, 1e100].
    weights : array_like, shape (n,), optional
        The diagonal of W, None the identity.
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    array of int, shape ``(*size, n)``

    Raises
    ------
    ValueError
        As `log_stationary` does, for W not diagonal, and when the tables exceed 50,000,000 terms.

    Notes
    -----
    Given the total, the bins are independent discrete Gaussians exp(-w (z - x)^2 / t) on 0..N, and tilting
    all of them by exp(lambda z) changes nothing. So: draw all bins but the widest from the tilted laws, give
    it what is left, accept with its weight relative to its mode. lambda makes the expected total N, so that a
    share A of proposals, about 1 / sqrt(n), is accepted.

    What keeps a draw from the exact law, in total variation (count it as delta): terms below exp(-100) of a
    bin's largest are left out of its table, at most n (N + 1) exp(-100) over the chance of the total N; and
    double precision (53-bit uniforms, rounded sums), about 2 K 2^-53 / A for K table terms. Memory: 8 bytes
    per term, about 20 sqrt(t / w) terms and at most N + 1 for each bin.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.sample_exact([30, 15, 5], 10.0, size=2, rng=1).sum(axis=1)
    array([50, 50])
    """
    centre = histogram(x)
    a = diagonal_exponents(weights, centre.size, t)
    shape = checks.size("size", size)
    tilt, low, offset, table, variance = tilted_tables(centre, a)
    last = int(np.argmax(variance))
    order = np.append(np.delete(np.arange(centre.size), last), last)
    cumulative = table.copy()
    for i in range(centre.size):
        part = cumulative[offset[i] : offset[i + 1]]
        np.cumsum(part, out=part)
        part /= part[-1]
    out = np.empty((math.prod(shape), centre.size), np.int64)
    _sample(checks.generator(rng), int(centre.sum()), centre, a, tilt, low, offset, cumulative, order, out)
    return out.reshape(*shape, centre.size)


@njit(cache=True, nogil=True)
def _mode(x, a, tilt, total):  # type: ignore[no-untyped-def]
    """Return the z in 0..N that maximises -a (z - x)^2 + tilt z."""
    if tilt >= 2 * a * (total - x):
        return total
    if tilt <= -2 * a * x:
        return 0
    return round(x + tilt / (2 * a))


@njit(cache=True, nogil=True)
def _relative(z, mode, x, a, tilt):  # type: ignore[no-untyped-def]
    """Return the log weight of z less that of the mode."""
    return (z - mode) * (tilt - a * (z + mode - 2 * x))


@njit(cache=True, nogil=True)
def _window(x, a, tilt, total):  # type: ignore[no-untyped-def]
    """Return the first and last z whose term is at least exp(-CUT) of the largest (logs are concave)."""
    mode = _mode(x, a, tilt, total)
    low, high = 0, total
    inside = mode
    while low < inside:
        middle = (low + inside) // 2
        if _relative(middle, mode, x, a, tilt) >= -CUT:
            inside = middle
        else:
            low = middle + 1
    inside = mode
    while inside < high:
        middle = (inside + high + 1) // 2
        if _relative(middle, mode, x, a, tilt) >= -CUT:
            inside = middle
        else:
            high = middle - 1
    return low, high


@njit(cache=True, nogil=True)
def _moments(centre, a, tilt, total, mean, variance):  # type: ignore[no-untyped-def]
    """Fill the means and variances of the tilted bins, approximate for wide ones; return their sums."""
    expected, spread = 0.0, 0.0
    for i in range(centre.size):
        mode = _mode(centre[i], a[i], tilt, total)
        low, high = _window(centre[i], a[i], tilt, total)
        mass, first, second = 0.0, 0.0, 0.0
        for z in range(low, high + 1, 1 + (high - low) // TILT_POINTS):
            p = math.exp(_relative(z, mode, centre[i], a[i], tilt))
            mass += p
            first += p * (z - mode)
            second += p * (z - mode) ** 2
        mean[i] = mode + first / mass
        variance[i] = second / mass - (first / mass) ** 2
        expected += mean[i]
        spread += variance[i]
    return expected, spread


@njit(cache=True, nogil=True)
def _tilt(centre, a, total, mean, variance):  # type: ignore[no-untyped-def]
    """Return lambda with an expected total near N, by Newton steps in a bracket; fills the moments."""
    low, high, tilt = -math.inf, math.inf, 0.0
    for _ in range(200):
        expected, spread = _moments(centre, a, tilt, total, mean, variance)
        excess = expected - total
        if abs(excess) <= 0.1 * max(1.0, math.sqrt(spread)):
            break
        if excess > 0:
            high = tilt
        else:
            low = tilt
        following = tilt - excess / spread if spread > 0 else math.nan
        if not low < following < high:
            if math.isinf(low) or math.isinf(high):
                break  # any tilt is right, a better one only accepts more
            following = (low + high) / 2
        tilt = following
    return tilt


def tilted_tables(centre: Integers, a: Array) -> tuple[float, Integers, Integers, Array, Array]:
    """Return lambda, first z (n,), offsets (n + 1,), terms and variances (n,) of the tilted bins.

    The term of z in bin i is exp(-a_i (z - x_i)^2 + lambda z), scaled so that the bins' largest terms are 1.
    Raises ValueError when there would be more than 50,000,000 terms.
    """
    total = int(centre.sum())
    mean, variance = np.empty(centre.size), np.empty(centre.size)
    tilt = _tilt(centre, a, total, mean, variance)
    windows = np.array([_window(x, e, tilt, total) for x, e in zip(centre, a)])
    offset = np.concatenate([[0], np.cumsum(windows[:, 1] - windows[:, 0] + 1)])
    if offset[-1] > LARGEST_TABLE:
        raise ValueError(f"x and t must need at most {LARGEST_TABLE} table terms, got {offset[-1]}")
    return tilt, windows[:, 0], offset, _terms(centre, a, tilt, total, windows, offset), variance


def refuse_large_tables(total: int, a: Array) -> None:
    """Raise ValueError when some histogram of this total could need more than 50,000,000 table terms.

    A window ends at the last terms that are at least exp(-CUT) of the largest. About the top c of the parabola that is
    a (z - c)^2 <= CUT + a / 4, with the mode within 1/2 of c, so at most 2 sqrt(CUT / a) + 2 terms; where c lies
    outside 0..N the terms fall faster still.
    """
    with np.errstate(divide="ignore"):
        terms = np.minimum(total + 1.0, 2.0 * np.sqrt(CUT / a) + 2.0).sum()
    if terms > LARGEST_TABLE:
        raise ValueError(f"total, bins and t must need at most {LARGEST_TABLE} table terms, got up to {terms:.0f}")


@njit(cache=True, nogil=True)
def _terms(centre, a, tilt, total, windows, offset):  # type: ignore[no-untyped-def]
    """Return each bin's unnormalised probabilities over its window, one after another, the largest of each 1."""
    terms = np.empty(offset[-1])
    for i in range(centre.size):
        mode = _mode(centre[i], a[i], tilt, total)
        for z in range(windows[i, 0], windows[i, 1] + 1):
            terms[offset[i] + z - windows[i, 0]] = math.exp(_relative(z, mode, centre[i], a[i], tilt))
    return terms


@njit(cache=True, nogil=True)
def _sample(rng, total, centre, a, tilt, low, offset, cumulative, order, out):  # type: ignore[no-untyped-def]
    """Draw all bins but the last from their own laws, and accept with the last bin's probability of what is left."""
    last = order[-1]
    mode = _mode(centre[last], a[last], tilt, total)
    for draw in range(out.shape[0]):
        while True:
            left = total
            for i in order[:-1]:
                u, first, end = rng.random(), offset[i], offset[i + 1]
                while first < end:  # to the first cumulative probability above u
                    middle = (first + end) // 2
                    if cumulative[middle] > u:
                        end = middle
                    else:
                        first = middle + 1
                out[draw, i] = low[i] + first - offset[i]
                left -= out[draw, i]
                if left < 0:
                    break
            if left >= 0 and rng.random() < math.exp(_relative(left, mode, centre[last], a[last], tilt)):
                out[draw, last] = left
                break
