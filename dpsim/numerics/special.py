"""Gamma and Beta functions that stay accurate in far tails and for parameters up to 1e300, where the usual formulas
cancel or underflow."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit, vectorize
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv, gammaln, psi

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics.search import least_integer

SMALLEST_BETA, LARGEST_BETA = (
    1e-300,
    8e307,
)  # arguments of `log_beta`, whose sum must be a float
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
STIRLING = np.array(
    [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
)
"""The coefficients of 1/z, 1/z^3, ... in Stirling's series of log Gamma(z)."""


def log_beta_tail(x: Array, p: Array, k: Array) -> Array:
    """Return log I_x(k p, k - k p), the log-probability that a Dirichlet coordinate with mean p is below x."""
    x, p, k = (np.array(value) for value in np.broadcast_arrays(x, p, k))
    left = x < p
    mean = np.where(left, p, 0.5)
    a, b = k * mean, k * (1.0 - mean)
    far = (
        log_beta_kernel(np.where(left, x, 0.25), mean, k)
        - np.log(a)
        + tail_series(x, a, b, left)
    )
    near = np.log(betainc(k * p, k * (1.0 - p), np.where(left, p, x)))
    return np.where(left, np.minimum(far, 0.0), near)


def log_beta_kernel(x: Array | float, p: Array | float, k: Array) -> Array:
    """Return log(x^(kp) (1-x)^(k-kp) / B(kp, k-kp)) without cancellation, as -k KL(p || x) plus the rest of Stirling's
    series."""
    a, b = k * p, k * (1.0 - p)
    divergence = p * minus_log1p((x - p) / p, x / p) + (1.0 - p) * minus_log1p(
        (p - x) / (1.0 - p), (1.0 - x) / (1.0 - p)
    )
    rest = stirling_rest(k) - stirling_rest(a) - stirling_rest(b)
    return -k * divergence + 0.5 * np.log(a / k * b / (2.0 * np.pi)) + rest


@njit
def log1p_minus(x: float) -> float:
    """Return log(1+x) - x without cancellation."""
    if x < -0.4 or x > 0.6:
        return math.log1p(x) - x
    ratio = x / (2.0 + x)
    square = ratio * ratio
    series = 0.0
    for j in range(13, -1, -1):
        series = series * square + 1.0 / (2 * j + 3)
    return ratio * (2.0 * square * series - x)


@vectorize(cache=True)
def minus_log1p(u, ratio):  # type: ignore[no-untyped-def]
    """Return u - log(1 + u) >= 0, given ratio = 1 + u. The result is accurate for u near 0 and near -1."""
    return -log1p_minus(u) if abs(u) < 0.4 else u - math.log(ratio)


@vectorize(cache=True)
def tail_series(x, a, b, wanted):  # type: ignore[no-untyped-def]
    """Return log 2F1(a + b, 1; a + 1; x) by a series of positive terms, whose ratio is below 1 for x < a / (a + b)."""
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


@vectorize(cache=True)
def stirling_rest(z):  # type: ignore[no-untyped-def]
    """Return log Gamma(z) - [(z - 1/2) log z - z + log(2 pi)/2] for z > 0."""
    if z < 10.0:
        return math.lgamma(z) - (
            (z - 0.5) * math.log(z) - z + 0.5 * math.log(2.0 * math.pi)
        )
    total = 0.0
    w = 1.0 / (z * z) if z < 1e100 else 0.0  # z^2 may exceed the largest float
    for c in STIRLING[::-1]:
        total = total * w + c
    return total / z


def log_beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Return log B(a, b) for a, b > 0, accurate for large arguments too."""
    a, b = (
        checks.real(name, value, SMALLEST_BETA, LARGEST_BETA)
        for name, value in (("a", a), ("b", b))
    )
    k = a + b
    rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(k)
    with np.errstate(
        over="ignore"
    ):  # beyond 1e308 a ratio is replaced by a difference of logarithms
        powers = a * _log1p_ratio(b, a) + b * _log1p_ratio(a, b)
        inverse = 2.0 * np.pi * (k / a) / b
    logs = np.log(2.0 * np.pi) + np.log(k) - np.log(a) - np.log(b)
    return checks.plain(
        -powers + 0.5 * np.where(np.isinf(inverse), logs, np.log(inverse)) + rest
    )


def _log1p_ratio(x: Array, y: Array) -> Array:
    """Return log(1 + x / y), even if x / y exceeds the largest float."""
    ratio = x / y
    return np.where(np.isinf(ratio), np.log(x) - np.log(y), np.log1p(ratio))


def log_gamma_ratio(a: ArrayLike, t: ArrayLike) -> Array:
    """Return log Gamma(a + t) - log Gamma(a) for a in [1e-300, 8e307] and t in [0, 8e307].

    The two terms can nearly cancel, so their difference is computed by a formula without this cancellation. Raise
    ValueError if a or t is outside its range.
    """
    a = checks.real("a", a, SMALLEST_BETA, LARGEST_BETA)
    t = checks.real("t", t, 0.0, LARGEST_BETA)
    direct = gammaln(np.minimum(a, 12.0) + t) - gammaln(np.minimum(a, 12.0))
    rest = stirling_rest(a + t) - stirling_rest(a)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # only where the direct formula is taken
        stirling = (a - 0.5) * np.log1p(t / a) + t * (np.log(a + t) - 1.0) + rest
    return checks.plain(np.where(a < 12.0, direct, stirling))


def log_minus_psi(x: Array) -> Array:
    """Return log x - psi(x) for x > 0, computed by its asymptotic series for x >= 12, where the two nearly cancel."""
    z = np.maximum(x, 12.0)
    w = 1.0 / (z * z)
    coefficients = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    series = 0.5 / z + w * sum(c * w**i for i, c in enumerate(coefficients))
    small = np.minimum(x, 12.0)
    return np.where(x < 12.0, np.log(small) - psi(small), series)


def beta_quantile(a: ArrayLike, b: ArrayLike, tail: ArrayLike) -> Array:
    """Return the x with P(X <= x) = tail for X ~ Beta(a, b), within 1e-9 of tail, or else the nearest float below this
    x.

    a, b > 0 and tail in (0, 1) broadcast. SciPy's integral equals computations in forty digits, but its inverse
    does not always: at a = 1000 and b = 1.3e8 the inverse of SciPy 1.17 is twice too large. So the inverse is used if
    the integral confirms it, and bisection if not.
    """
    return _quantile(betaincinv, betainc, a, b, tail)


def beta_upper_quantile(a: ArrayLike, b: ArrayLike, tail: ArrayLike) -> Array:
    """Return the x with P(X >= x) = tail, like `beta_quantile`, within 1e-9 of tail, or else the nearest float above
    this x."""
    return _quantile(betainccinv, betaincc, a, b, tail)


def _quantile(
    inverse: Callable[..., Array], share: Callable[..., Array], *given: ArrayLike
) -> Array:
    """Return x = inverse(a, b, tail) if share(a, b, x) is tail. Otherwise return one of the two neighbouring floats
    between which share crosses tail: the lower one for the lower tail, and the upper one for the upper tail."""
    a, b, tail = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in given))
    x = np.array(inverse(a, b, tail))
    wrong = ~(np.abs(share(a, b, x) - tail) <= 1e-9 * tail)
    if wrong.any():
        a = a[wrong]
        b = b[wrong]
        tail = tail[wrong]
        upper = share is betaincc
        zero, one = (
            np.zeros(a.shape, np.int64),
            np.ones(a.shape).view(np.int64),
        )  # floats from 0 to 1 order like bits
        above = least_integer(
            lambda bits: (share(a, b, bits.view(float)) <= tail) == upper, zero, one
        )
        x[wrong] = (above - 1 + upper).view(float)
    return checks.plain(x)
