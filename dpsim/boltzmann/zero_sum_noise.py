"""Zero-sum noise, which is integer noise that keeps the total, and the projection onto the nearest histogram. The
Boltzmann machine is compared with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.space import LARGEST_TOTAL, histogram
from dpsim.checks import Integers
from dpsim.numerics.simplex import project_to_simplex


def add_zero_sum_laplace(
    x: ArrayLike,
    epsilon: float,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return x plus discrete Laplace noise on the lattice of integer vectors u with sum 0, ``(*size, n)``.

    Counts may become negative. `nearest_histogram` projects them onto the histograms without any loss of privacy.

    Parameters
    ----------
    x : array_like of int (n,), a histogram, n >= 2 bins
    epsilon : float in [1e-6, 1000]
    size, rng : as in `sample_exact`

    Notes
    -----
    The noise u has the weight exp(-epsilon ``|u|_1`` / 2), where ``|u|_1`` / 2 is the number of people who move.
    The exact epsilon is `epsilon`. Neighbours are x and y = x + e_j - e_i, so the noises u and u - e_j + e_i that lead
    to the same result have norms that differ by at most 2. The normaliser is that of the whole lattice for every x, and
    u = 0 attains the difference. A draw takes n - 1 bins from the two-sided geometric distribution ``q^|v|``, q =
    exp(-epsilon / 2), gives the last bin minus their sum S, and is accepted with probability ``q^|S|``. So the
    distribution of the accepted draws is proportional to ``q^|u|_1``.

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


def nearest_histogram(noisy: ArrayLike, total: int, *, rng: np.random.Generator | int | None = None) -> Integers:
    """Return a histogram (..., n) of this total that is nearest to integer counts in squared distance.

    The projection lowers the counts that stay positive by a common amount. In integers, some of them are lowered by one
    more. Every choice of these counts gives an equally near histogram, and the generator chooses uniformly.

    Parameters
    ----------
    noisy : array_like of int (..., n), counts within 10^9 of 0
    total : int in 1..10^9
    rng : Generator, int or None

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
