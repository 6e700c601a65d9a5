"""Noise injection to compare with: integer noise, with or without the total kept, then the nearest valid histogram.

Neighbours are those of `boltzmann`: one individual changes bin, so two bins change by one each. The projection
looks at the noisy counts and the public total alone, so it keeps the privacy. All draws are functions of the
generator given, hence reproducible; OpenDP, the library of choice for a release, cannot be seeded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.space import LARGEST_TOTAL, histogram
from dpsim.checks import Array, Integers
from dpsim.numerics.simplex import project_to_simplex

REACH = 39.0  # standard deviations: the discrete Gaussian's mass beyond is below the smallest double
WINDOW = 16.0  # standard deviations of one noise from where a sum starts to where no term counts any more


def add_discrete_laplace(
    x: ArrayLike,
    epsilon: float,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return x plus two-sided geometric noise of weight exp(-epsilon ``|u|`` / 2) on every bin.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        A histogram, n >= 2 bins.
    epsilon : float
        In [1e-6, 1000].
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    array of int, shape ``(*size, n)``
        Counts may be negative and the total is not kept.

    Raises
    ------
    ValueError
        Unless x is a histogram and epsilon in its range.

    Notes
    -----
    Exactly epsilon-differentially private, and not less: the L1 distance of neighbours is 2.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan 2009.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.add_discrete_laplace([30, 15, 5], 1.0, size=4, rng=1).shape
    (4, 3)
    """
    centre = histogram(x)
    success = -math.expm1(-checks.scalar("epsilon", epsilon, 1e-6, 1000) / 2)
    generator, shape = checks.generator(rng), (*checks.size("size", size), centre.size)
    noise: Integers = generator.geometric(success, shape) - generator.geometric(success, shape)
    return centre + noise


def add_zero_sum_laplace(
    x: ArrayLike,
    epsilon: float,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return x plus discrete Laplace noise on the lattice of integer vectors u with sum 0: the total is kept.

    Parameters
    ----------
    x : array_like (n,)
        A histogram, n >= 2 bins.
    epsilon : float in [1e-6, 1000]
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    array of int, shape ``(*size, n)``
        Counts that sum to the total of x; they may be negative, which `nearest_histogram` mends at no cost.

    Raises
    ------
    ValueError
        Unless x is a histogram and epsilon in its range.

    Notes
    -----
    The noise u has the weight exp(-epsilon ``|u|_1`` / 2), ``|u|_1`` / 2 being the number of individuals who move.
    Exactly epsilon-differentially private: neighbours are y = x + e_j - e_i, so the noises u and u - e_j + e_i that
    lead to one result have norms that differ by at most 2, the normaliser is that of the whole lattice for every x,
    and u = 0 attains the difference. A draw takes n - 1 bins from the two-sided geometric law ``q^|v|``, q =
    exp(-epsilon / 2), gives the last bin minus their sum S and is accepted with probability ``q^|S|``: the law of what
    is accepted is proportional to ``q^|u|_1``.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> int(boltzmann.add_zero_sum_laplace([30, 15, 5], 1.0, rng=1).sum())
    50
    """
    centre = histogram(x)
    half = checks.scalar("epsilon", epsilon, 1e-6, 1000) / 2
    generator, shape = checks.generator(rng), checks.size("size", size)
    noise = np.empty((math.prod(shape), centre.size), np.int64)
    missing = np.arange(len(noise))
    while missing.size:
        part = (missing.size, centre.size - 1)
        drawn = generator.geometric(-math.expm1(-half), part) - generator.geometric(-math.expm1(-half), part)
        last = -drawn.sum(axis=1)
        kept = generator.random(missing.size) < np.exp(-half * np.abs(last))
        noise[missing[kept]] = np.column_stack([drawn, last])[kept]
        missing = missing[~kept]
    return centre + noise.reshape(*shape, centre.size)


def add_discrete_gaussian(
    x: ArrayLike,
    sigma: float,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return x plus discrete Gaussian noise of weight exp(-u^2 / (2 sigma^2)) on every bin.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        A histogram, n >= 2 bins.
    sigma : float
        In [0.01, 10000].
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    array of int, shape ``(*size, n)``
        Counts may be negative and the total is not kept.

    Raises
    ------
    ValueError
        Unless x is a histogram and sigma in its range.

    Notes
    -----
    (epsilon, delta)-differentially private by `discrete_gaussian_delta`, for no finite epsilon with delta 0.

    References
    ----------
    Canonne, Kamath and Steinke 2020.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.add_discrete_gaussian([30, 15, 5], 2.0, size=4, rng=1).shape
    (4, 3)
    """
    centre = histogram(x)
    support, law = _discrete_gaussian(sigma)
    cumulative = np.cumsum(law)
    uniforms = checks.generator(rng).random((*checks.size("size", size), centre.size)) * cumulative[-1]
    return centre + support[np.searchsorted(cumulative, uniforms, side="right")]


def discrete_gaussian_delta(sigma: float, epsilon: ArrayLike) -> Array:
    """Return the exact delta of `add_discrete_gaussian` at each epsilon.

    Parameters
    ----------
    sigma : float
        In [0.01, 10000].
    epsilon : array_like
        At least 0, of any shape.

    Returns
    -------
    float or ndarray, of the shape of epsilon

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    The privacy loss of neighbours is (D + 1) / sigma^2, D the difference of two of its noises: P(D = d) is
    proportional to exp(-d^2 / (4 sigma^2)) times the sum over v of exp(-(v + d/2)^2 / sigma^2), which is one
    number for all even d and one for all odd d.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.discrete_gaussian_delta(2.0, [0.0, 1.0]).round(4)
    array([0.2735, 0.038 ])
    """
    levels = checks.real("epsilon", epsilon, 0.0)
    sigma = _checked_sigma(sigma)
    near = np.arange(-math.ceil(WINDOW * sigma) - 1, math.ceil(WINDOW * sigma) + 2)
    one = np.exp(-(near**2) / (2 * sigma**2)).sum()  # to the last bit, as `parity`: what is left out is below e^-100
    parity = np.array([np.exp(-((near - 0.5 * odd) ** 2) / sigma**2).sum() for odd in (0, 1)]) / one**2
    return checks.plain(np.array([_gain(sigma, e, parity) for e in levels.ravel()]).reshape(levels.shape))


def calibrate_sigma(epsilon: float, delta: float) -> float:
    """Return the smallest sigma found, within 1e-9 of it, with `discrete_gaussian_delta` at most delta.

    Parameters
    ----------
    epsilon : float
        In [0.01, 1000].
    delta : float
        In [1e-30, 1).

    Returns
    -------
    float
        By bisection: the delta of what is returned is at most delta.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> round(boltzmann.calibrate_sigma(1.0, 1e-6), 4)
    5.9766
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.01, 1000)
    delta = checks.scalar("delta", delta, 1e-30, 1.0, open_high=True)
    low, high = 0.01, 0.02
    while discrete_gaussian_delta(high, epsilon) > delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if discrete_gaussian_delta(middle, epsilon) <= delta else (middle, high)
    return high


def nearest_histogram(noisy: ArrayLike, total: int, *, rng: np.random.Generator | int | None = None) -> Integers:
    """Return a histogram of this total nearest to integer counts in squared distance.

    Parameters
    ----------
    noisy : array_like of int, shape (..., n)
        Counts within 10^9 of 0.
    total : int
        In 1..10^9.
    rng : Generator, int or None

    Returns
    -------
    array of int, shape (..., n)

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    The real projection lowers the counts that stay positive by one common amount; in integers some of them are
    lowered by one more than the others, any choice of which is as near, and the generator chooses uniformly.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.nearest_histogram([32, 16, -4], 44, rng=1)
    array([30, 14,  0])
    """
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    counts = checks.integers("noisy", noisy, -LARGEST_TOTAL, LARGEST_TOTAL).astype(float)
    if counts.ndim == 0:
        raise ValueError("noisy must be counts (..., n), got one number")
    # a count that stays positive keeps at least 1 / n, since the common amount is a fraction over at most n
    kept = project_to_simplex(counts, total=total) > 0.5 / counts.shape[-1]
    excess = (counts * kept).sum(axis=-1, keepdims=True) - total
    common, more = np.divmod(excess, kept.sum(axis=-1, keepdims=True))
    order = np.where(kept, checks.generator(rng).random(counts.shape), np.inf)
    rank = np.argsort(np.argsort(order, axis=-1), axis=-1)
    return np.where(kept, counts - common - (rank < more), 0).astype(np.int64)


def _gain(sigma: float, epsilon: float, parity: Array) -> float:
    """Return the sum over D of (1 - e^(epsilon - (D + 1) / sigma^2))_+ parity[D % 2] e^(-D^2 / (4 sigma^2)).

    Gains are positive from D = first + 2 on, and at least about 0.6 / max(1, sigma) one sigma further. The terms beyond
    the window are fewer than sigma that count, each below e^-63 of that one: 1e-20 of the sum in all.
    """
    start = epsilon * sigma**2
    if start > 2 * REACH * sigma:
        return 0.0  # below the smallest double
    first = max(math.floor(start) - 1, -1)
    D = np.arange(first, first + math.ceil(WINDOW * sigma) + 4)
    gain = -np.expm1(np.minimum(epsilon - (D + 1) / sigma**2, 0.0))
    return float(gain @ (np.exp(-(D**2) / (4 * sigma**2)) * parity[D % 2]))


def _discrete_gaussian(sigma: float) -> tuple[Integers, Array]:
    """Return the support and the law of the discrete Gaussian."""
    sigma = _checked_sigma(sigma)
    support = np.arange(-math.ceil(REACH * sigma), math.ceil(REACH * sigma) + 1)
    weights = np.exp(-(support**2) / (2 * sigma**2))
    return support, weights / weights.sum()


def _checked_sigma(sigma: float) -> float:
    return checks.scalar("sigma", sigma, 0.01, 10_000)
