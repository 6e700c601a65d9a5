"""Zero-sum noise, and the projection onto the nearest histogram.

Zero-sum noise is integer noise that keeps the total. The Boltzmann machine is compared
with the mechanism that consists of both steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.histograms import LARGEST_TOTAL, histogram
from dpsim.checks import Integers
from dpsim.compiled import njit
from dpsim.numerics.exact_draws import happens, survives
from dpsim.numerics.simplex import project_to_simplex

# The largest noisy count, so that the sum of a million of them is exact in floats.
LARGEST_COUNT = 4 * LARGEST_TOTAL
# Events of the noise are split into events with exponents of about this size.
PART = 64.0
# The most by which rounding can raise the exact epsilon of `one_zero_sum_laplace`.
ROUNDING = 1e-12


@checks.fits_into_memory("size")
def add_zero_sum_laplace(
    x: ArrayLike,
    epsilon: float,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return x plus zero-sum discrete Laplace noise.

    Counts may become negative. `nearest_histogram` projects them onto the histograms,
    which costs no privacy.

    Parameters
    ----------
    x : array_like of int (n,), a histogram, n >= 2 bins
    epsilon : float in [1e-6, 1000], which is the exact epsilon
    size, rng : as in `sample_exact`

    Returns
    -------
    array of int (*size, n)

    Notes
    -----
    The noise u is an integer vector with sum 0. Its probability is proportional to
    exp(-epsilon ``|u|_1`` / 2), where ``|u|_1`` / 2 is the number of people who move.
    Neighbours are x and y = x + e_j - e_i, so the noise vectors u and u - e_j + e_i,
    which lead to the same result, have norms that differ by at most 2. The normaliser
    is the same for all x, and u = 0 attains the difference, so the exact epsilon is
    `epsilon`.

    The noise of n - 1 bins is sampled from the two-sided geometric distribution
    ``q^|v|``, q = exp(-epsilon / 2). The last bin gets minus their sum S, and the
    vector is accepted with probability ``q^|S|``. So the distribution of the accepted
    vectors is proportional to ``q^|u|_1``. The uniform numbers behind these samples
    have 53 bits, so noise with a probability below about 2^-53 never occurs. That is
    why `privatize` uses `one_zero_sum_laplace` instead.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> int(boltzmann.add_zero_sum_laplace([30, 15, 5], 1.0, rng=1).sum())
    50
    """
    centre = histogram(x)
    half = checks.scalar("epsilon", epsilon, 1e-6, 1000) / 2
    generator = checks.generator(rng)
    shape = checks.size("size", size)
    noise = np.empty((math.prod(shape), centre.size), np.int64)
    missing = np.arange(len(noise))
    success = -math.expm1(-half)
    while missing.size:
        part = (missing.size, centre.size - 1)
        drawn = generator.geometric(success, part) - generator.geometric(success, part)
        last = -drawn.sum(axis=1)
        kept = generator.random(missing.size) < np.exp(-half * np.abs(last))
        noise[missing[kept]] = np.column_stack([drawn, last])[kept]
        missing = missing[~kept]
    return centre + noise.reshape(*shape, centre.size)


def one_zero_sum_laplace(
    bins: int, epsilon: float, rng: np.random.Generator
) -> Integers:
    """Return one vector (n,) of zero-sum noise, in which every value can occur.

    Its distribution is that of `add_zero_sum_laplace`, up to rounding. Its exact
    epsilon is at most epsilon + 1e-12 for epsilon in [1e-6, 1000], and its delta is 0.

    Notes
    -----
    Proof. A geometric variable G with P(G = g) proportional to q^g has independent
    binary digits: digit j is 1 with probability p_j = q^(2^j) / (1 + q^(2^j)). The
    J <= 27 digits below 2^J are sampled, and then 2^J is added as long as an event of
    probability q^(2^J) happens, where q^(2^J) = e^-y with 64 < y <= 128, or J = 1. Let
    u = 2^-53. If p_j comes from an exponent y_j, then the probabilities of both values
    of the digit have relative errors of at most (3 + y_j) u, and so has that of the
    event. From g to g + 1 some digits change, and at most one more event happens. So
    P(g + 1) / P(g) is q up to a factor exp(e) with ``|e|`` at most 2 (3 J + sum y_j)
    u + (3 + 128) u <= 549 u. This carries over to the difference of two such variables,
    term by term.

    Neighbours differ in two bins, and S differs by at most one. The event of
    probability ``q^|S|`` is a sequence of equal events with exponents of about 64 and
    one with a smaller exponent, so its ratio has an error of at most 2 (4 + 64) u. The
    probability of a rejection is the same for every histogram. The total is less than
    1300 u < 2e-13. For epsilon above 128 there are fewer digits but exponents of up to
    1000, and the same sums are less than 5000 u < 6e-13.
    """
    noise = np.empty(bins, np.int64)
    half = epsilon / 2.0
    part = max(1, int(PART / half))
    digits = part.bit_length()
    _fill_zero_sum(rng, half, digits, part, noise)
    return noise


@njit()
def _geometric(rng, half, digits):  # type: ignore[no-untyped-def]
    """Return g >= 0 with a probability proportional to exp(-half g)."""
    drawn = 0
    for j in range(digits):
        y = half * 2.0**j
        p = math.exp(-y) / (1.0 + math.exp(-y))
        one = happens(rng, p) if y < 700.0 else survives(rng, y)
        if one:
            drawn += 1 << j
    while survives(rng, half * 2.0**digits):
        drawn += 1 << digits
    return drawn


@njit()
def _fill_zero_sum(rng, half, digits, part, noise):  # type: ignore[no-untyped-def]
    """Fill the noise with a vector that sums to 0."""
    while True:
        total = 0
        for i in range(noise.size - 1):
            noise[i] = _geometric(rng, half, digits) - _geometric(rng, half, digits)
            total += noise[i]
        left = abs(total)
        accepted = True
        while accepted and left > 0:
            accepted = survives(rng, half * min(left, part))
            left -= part
        if accepted:
            noise[-1] = -total
            return


def nearest_histogram(
    noisy: ArrayLike, total: int, *, rng: np.random.Generator | int | None = None
) -> Integers:
    """Return a histogram with this total that is nearest to integer counts.

    Distances are Euclidean. The projection lowers the counts that stay positive by a
    common amount. In integers, some of these counts are lowered by one more. Every
    choice of them gives an equally near histogram, so they are chosen uniformly at
    random.

    Parameters
    ----------
    noisy : array_like of int (..., n), counts within 4 10^9 of 0
    total : int in 1..10^9
    rng : Generator, int or None

    Returns
    -------
    array of int (..., n)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.nearest_histogram([32, 16, -4], 44, rng=1)
    array([30, 14,  0])
    """
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    counts = checks.integers("noisy", noisy, -LARGEST_COUNT, LARGEST_COUNT)
    counts = counts.astype(float)
    if counts.ndim == 0 or counts.shape[-1] == 0:
        raise ValueError(
            f"noisy must be counts (..., n) of n >= 1 bins, got shape {counts.shape}"
        )
    # a count that stays positive is at least 1 / n after the projection, because the
    # common amount is a fraction whose denominator is at most n
    kept = project_to_simplex(counts, total=total) > 0.5 / counts.shape[-1]
    excess = (counts * kept).sum(axis=-1, keepdims=True) - total
    common, more = np.divmod(excess, kept.sum(axis=-1, keepdims=True))
    order = np.where(kept, checks.generator(rng).random(counts.shape), np.inf)
    rank = np.argsort(np.argsort(order, axis=-1), axis=-1)
    return np.where(kept, counts - common - (rank < more), 0).astype(np.int64)
