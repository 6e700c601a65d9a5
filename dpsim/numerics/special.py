"""Gamma and Beta functions that stay accurate in far tails and for huge parameters."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, gammaln, psi

from dpsim import checks
from dpsim.checks import Array, Integers, Mask
from dpsim.compiled import njit, vectorize
from dpsim.numerics.search import least_integer

# the range of the arguments of `log_beta`, whose sum must be a float
SMALLEST_BETA = 1e-300
LARGEST_BETA = 8e307
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
STIRLING = np.array(
    [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
)
"""The coefficients of 1/z, 1/z^3, ... in Stirling's series for log Gamma(z)."""


def log_beta_tail(x: Array, p: Array, k: Array) -> Array:
    """Return log I_x(k p, k - k p).

    This is the logarithm of the probability that an entry of Dir(k p) with mean p is
    below x.
    """
    # copied, because numba lets numpy warn of arrays that are views of a smaller one
    x, p, k = map(np.array, np.broadcast_arrays(x, p, k))
    left = x < p
    mean = np.where(left, p, 0.5)
    a = k * mean
    b = k * (1.0 - mean)
    kernel = log_beta_kernel(np.where(left, x, 0.25), mean, k)
    far = kernel - np.log(a) + tail_series(x, a, b, left)
    near = np.log(betainc(k * p, k * (1.0 - p), np.where(left, p, x)))
    return np.where(left, np.minimum(far, 0.0), near)


def log_beta_kernel(x: Array | float, p: Array | float, k: Array) -> Array:
    """Return log(x^(kp) (1-x)^(k-kp) / B(kp, k-kp)) without cancellation.

    The result is -k KL(p || x) plus the remainders of Stirling's formula.
    """
    a = k * p
    b = k * (1.0 - p)
    above = minus_log1p((x - p) / p, x / p)
    below = minus_log1p((p - x) / (1.0 - p), (1.0 - x) / (1.0 - p))
    divergence = p * above + (1.0 - p) * below
    rest = stirling_rest(k) - stirling_rest(a) - stirling_rest(b)
    return -k * divergence + 0.5 * np.log(a / k * b / (2.0 * np.pi)) + rest


@njit()
def log1p_minus(x: float) -> float:
    """Return log(1 + x) - x without cancellation."""
    if x < -0.4 or x > 0.6:
        return math.log1p(x) - x
    ratio = x / (2.0 + x)
    square = ratio * ratio
    series = 0.0
    for j in range(13, -1, -1):
        series = series * square + 1.0 / (2 * j + 3)
    return ratio * (2.0 * square * series - x)


@vectorize()
def minus_log1p(u, ratio):  # type: ignore[no-untyped-def]
    """Return u - log(1 + u) >= 0, given u and ratio = 1 + u.

    The result is accurate even for u near 0 and near -1.
    """
    return -log1p_minus(u) if abs(u) < 0.4 else u - math.log(ratio)


@vectorize()
def tail_series(x, a, b, wanted):  # type: ignore[no-untyped-def]
    """Return log 2F1(a + b, 1; a + 1; x) for x < a / (a + b), or 0 if not `wanted`.

    It is computed as a series of positive terms whose successive ratios are below 1.
    """
    if not wanted:
        return 0.0
    term = 1.0
    total = 1.0
    i = 0.0
    while term > 1e-18 * total:
        i += 1.0
        term *= (a + b + i - 1.0) * x / (a + i)
        total += term
    return math.log(total)


@vectorize()
def stirling_rest(z):  # type: ignore[no-untyped-def]
    """Return log Gamma(z) minus (z - 1/2) log z - z + log(2 pi)/2, for z > 0."""
    if z < 10.0:
        formula = (z - 0.5) * math.log(z) - z + 0.5 * math.log(2.0 * math.pi)
        return math.lgamma(z) - formula
    total = 0.0
    w = 1.0 / (z * z) if z < 1e100 else 0.0  # z^2 could exceed the largest float
    for c in STIRLING[::-1]:
        total = total * w + c
    return total / z


def log_beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Return log B(a, b) for a and b in [1e-300, 8e307].

    Raises ValueError if a or b is outside this range.
    """
    a = checks.real("a", a, SMALLEST_BETA, LARGEST_BETA)
    b = checks.real("b", b, SMALLEST_BETA, LARGEST_BETA)
    k = a + b
    rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(k)
    # a ratio above 1e308 is replaced with a difference of logarithms
    with np.errstate(over="ignore"):
        powers = a * _log1p_ratio(b, a) + b * _log1p_ratio(a, b)
        inverse = 2.0 * np.pi * (k / a) / b
    logs = np.log(2.0 * np.pi) + np.log(k) - np.log(a) - np.log(b)
    log_inverse = np.where(np.isinf(inverse), logs, np.log(inverse))
    return checks.plain(-powers + 0.5 * log_inverse + rest)


def _log1p_ratio(x: Array, y: Array) -> Array:
    """Return log(1 + x / y), even if x / y exceeds the largest float."""
    ratio = x / y
    return np.where(np.isinf(ratio), np.log(x) - np.log(y), np.log1p(ratio))


def log_gamma_ratio(a: ArrayLike, t: ArrayLike) -> Array:
    """Return log Gamma(a + t) - log Gamma(a), without cancellation if a >= 12.

    Raises ValueError unless a is in [1e-300, 8e307] and t is in [0, 8e307].
    """
    a = checks.real("a", a, SMALLEST_BETA, LARGEST_BETA)
    t = checks.real("t", t, 0.0, LARGEST_BETA)
    small = np.minimum(a, 12.0)
    direct = gammaln(small + t) - gammaln(small)
    rest = stirling_rest(a + t) - stirling_rest(a)
    # it overflows only where the direct formula is used
    with np.errstate(over="ignore", invalid="ignore"):
        stirling = (a - 0.5) * np.log1p(t / a) + t * (np.log(a + t) - 1.0) + rest
    return checks.plain(np.where(a < 12.0, direct, stirling))


def log_minus_psi(x: Array) -> Array:
    """Return log x - psi(x) for x > 0, where psi is the digamma function.

    For x >= 12, where the two terms nearly cancel, it is computed with an asymptotic
    series.
    """
    z = np.maximum(x, 12.0)
    w = 1.0 / (z * z)
    coefficients = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    series = 0.5 / z + w * sum(c * w**i for i, c in enumerate(coefficients))
    small = np.minimum(x, 12.0)
    return np.where(x < 12.0, np.log(small) - psi(small), series)


def beta_quantile(a: ArrayLike, b: ArrayLike, tail: ArrayLike) -> Array:
    """Return the x with P(X <= x) = tail, where X ~ Beta(a, b).

    The arguments a, b > 0 and tail in (0, 1) broadcast, and x is rounded down. It is
    found by bisection, because SciPy's inverse (1.17) is too large by a factor of 2 at
    a = 1000 and b = 1.3e8.
    """
    return _quantile(betainc, a, b, tail)


def beta_upper_quantile(a: ArrayLike, b: ArrayLike, tail: ArrayLike) -> Array:
    """Return the x with P(X >= x) = tail, as `beta_quantile` does, but rounded up."""
    return _quantile(betaincc, a, b, tail)


def _quantile(share: Callable[..., Array], *given: ArrayLike) -> Array:
    """Return the float x on the safe side of share(a, b, x) = tail.

    Of the two neighbouring floats between which the share crosses the tail, it is the
    smaller one for the lower tail and the larger one for the upper tail.
    """
    a, b, tail = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in given))
    upper = share is betaincc

    def reached(bits: Integers) -> Mask:
        return (share(a, b, bits.view(float)) <= tail) == upper

    # floats from 0 to 1 are in the order of their bits, read as integers
    above = least_integer(reached, np.zeros(a.shape, int), np.ones(a.shape).view(int))
    return checks.plain((above - 1 + upper).view(float))
