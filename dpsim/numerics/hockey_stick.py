"""Hockey-stick divergences of Beta and Gamma pairs in log space, by one positive integral.

Both pairs of the accounting have a privacy loss t x - constant in a variable x (a logit or a logarithm) whose
density f is log-concave, so that with x0 the point where the loss equals epsilon

    delta(epsilon) = integral over v > 0 of (1 - exp(-t v)) f(x0 + v) dv

Every term is positive: nothing cancels, and delta keeps its digits down to any exponent. Around a reference
point, with D = x - reference and z = exp(-D) - 1, all three densities have the form

    log f = constant + a (log(1+z) - z) - c (log(1+q z) - q z) + r z

(r = 0 when the reference is the mode; c = q = 0 for the Gamma pairs). The integral is a sum of 16-point
Gauss-Legendre panels whose widths double away from the two places where the integrand can be sharp, v = 0 and
the mode of f; on the side where f falls doubly exponentially no panel is wider than 1.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, vectorize

from dpsim.checks import Array
from dpsim.numerics.special import NODES, WEIGHTS, stirling_error

_NEGLIGIBLE = -60.0  # log f relative to its largest value; what lies beyond is below 1e-22 of the integral
_STEPS = 80
# Declared error of log delta: absolute, and relative for the huge ones. Inverses are rounded up by this much.
ABSOLUTE_ERROR, RELATIVE_ERROR = 1e-10, 1e-12
REPLACE, ADD_REMOVE = 0, 1  # the two pairs


@njit(cache=True)
def _log1pmx(x: float) -> float:
    """Return log(1+x) - x without cancellation."""
    if x < -0.4 or x > 0.6:
        return math.log1p(x) - x
    ratio = x / (2.0 + x)
    square = ratio * ratio
    series = 0.0
    for j in range(13, -1, -1):
        series = series * square + 1.0 / (2 * j + 3)
    return ratio * (2.0 * square * series - x)


@njit(cache=True)
def _log_density(d: float, a: float, c: float, q: float, r: float) -> float:
    """Return log f(reference + d) - log f(reference), the form in the module's docstring."""
    z = math.expm1(-d)
    first = _log1pmx(z) if -0.4 < z < 0.6 else -d - z
    return a * first - c * _log1pmx(q * z) + r * z


@njit(cache=True)
def _panel(
    low: float,
    high: float,
    from_zero: float,
    from_mode: float,
    t: float,
    a: float,
    c: float,
    q: float,
    r: float,
) -> float:
    """Return the integral over y in [low, high], v = from_zero + y and D = from_mode + y."""
    half = 0.5 * (high - low)
    middle = 0.5 * (high + low)
    total = 0.0
    for i in range(NODES.size):
        y = middle + half * NODES[i]
        density = math.exp(_log_density(from_mode + y, a, c, q, r))
        total -= WEIGHTS[i] * math.expm1(-t * (from_zero + y)) * density
    return half * total


@njit(cache=True)
def _log_integral(peak: float, t: float, a: float, c: float, q: float, r: float) -> float:
    """Return the log of the integral over v > 0, relative to f at v = peak >= 0, where f is largest.

    f falls exponentially towards large v and doubly exponentially towards small v.
    """
    steepest = t + a + (a - r)  # slope of the integrand's factors near its two sharp places
    narrow = 0.5 / max(1.0, steepest)
    total, y, width = 0.0, 0.0, narrow
    while y == 0.0 or _log_density(y, a, c, q, r) > _NEGLIGIBLE:  # from the peak to the right
        total += _panel(y, y + width, peak, 0.0, t, a, c, q, r)
        y += width
        width = y
    half = 0.5 * peak
    y, width = 0.0, min(narrow, half)
    while y < half:  # from the peak to the left
        total += _panel(-y - width, -y, peak, 0.0, t, a, c, q, r)
        y += width
        if _log_density(-y, a, c, q, r) < _NEGLIGIBLE:
            return math.log(total)
        width = min(y, 1.0, half - y)
    y, width = 0.0, min(narrow, half)
    while y < half:  # from v = 0 to the right
        total += _panel(y, y + width, 0.0, -peak, t, a, c, q, r)
        y += width
        width = min(y, 1.0, half - y)
    return math.log(total)


@njit(cache=True)
def _log_beta_peak(a: float, t: float) -> float:
    """Return log f at the mode of the logit of Beta(a+t, a)."""
    c = 2.0 * a + t
    correction = stirling_error(c) - stirling_error(a + t) - stirling_error(a)
    return 0.5 * math.log(a * ((a + t) / c) / (2.0 * math.pi)) + correction


@njit(cache=True)
def _log_beta_pair(epsilon: float, a: float, t: float) -> float:
    """Return log delta of Beta(a+t, a) against Beta(a, a+t); x is the logit, its mode log(1 + t/a)."""
    c = 2.0 * a + t
    start = epsilon / t
    beyond = start - math.log1p(t / a)
    peak_height = _log_beta_peak(a, t)
    if beyond <= 0.0:
        return peak_height + _log_integral(-beyond, t, a, c, a / c, 0.0)
    height = peak_height + _log_density(beyond, a, c, a / c, 0.0)
    odds = math.exp(-start)
    r = -a * math.expm1(-beyond) / (1.0 + odds)  # a - c q without cancellation
    return height + _log_integral(0.0, t, a, c, odds / (1.0 + odds), r)


@njit(cache=True)
def _growth(a: float, t: float) -> float:
    """Return log Gamma(a+t) - log Gamma(a) - t log(a+t), to full relative precision for small t."""
    z = a if a >= 10.0 else a + 10.0
    total = z * _log1pmx(t / z) - 0.5 * math.log1p(t / z) + stirling_error(z + t) - stirling_error(z)
    if a < 10.0:
        total += t * math.log1p(10.0 / (a + t))
        for j in range(10):
            total -= math.log1p(t / (a + j))
    return total


@njit(cache=True)
def _log_gamma_pair(epsilon: float, a: float, t: float) -> float:
    """Return log delta of Gamma(a) against Gamma(a+t), the larger of both directions; the loss falls with x = log g.

    Proof that the reverse is never larger. With Z = dGamma(a+t) / dGamma(a) under Gamma(a) and y = e^epsilon >= 1
    the difference is G(y) = E(1 - y Z)_+ - E(Z - y)_+, with G(1) = 0 as E Z = 1, and G(y) -> 0 for large y. G'' has
    the sign of log[f_Z(1/y) / (y^3 f_Z(y))] = 2 m sinh(u) - (2a + t) u with u = epsilon / t and m^t = Gamma(a+t) /
    Gamma(a): convex in u and 0 at 0, so that G is concave up to some y and convex from there on. On the convex part
    G falls to 0 and is not negative; on the concave part it lies above its chord, whose ends are not negative.
    """
    beyond = (epsilon - _growth(a, t)) / t - math.log1p(t / a)
    height = 0.5 * math.log(a / (2.0 * math.pi)) - stirling_error(a)
    if beyond <= 0.0:
        return height + _log_integral(-beyond, t, a, 0.0, 0.0, 0.0)
    height += _log_density(beyond, a, 0.0, 0.0, 0.0)
    return height + _log_integral(0.0, t, a, 0.0, 0.0, -a * math.expm1(-beyond))


@njit(cache=True)
def _log_delta(epsilon: float, a: float, t: float, pair: int) -> float:
    if pair == REPLACE:
        return _log_beta_pair(epsilon, a, t)
    return _log_gamma_pair(epsilon, a, t)


@njit(cache=True)
def _excess(epsilon: float, a: float, t: float, pair: int, log_target: float) -> float:
    """Return how far log delta may be above the target if it errs by as much as is declared."""
    value = _log_delta(epsilon, a, t, pair)
    return value + ABSOLUTE_ERROR + RELATIVE_ERROR * abs(value) - log_target


@vectorize(cache=True)
def log_delta(epsilon: float, a: float, t: float, pair: int) -> float:
    """Return log delta(epsilon) >= -inf of the pair, epsilon >= 0, a and t > 0 (REPLACE or ADD_REMOVE)."""
    return _log_delta(epsilon, a, t, pair)


@vectorize(cache=True)
def epsilon_for(log_target: float, a: float, t: float, pair: int) -> float:
    """Return the smallest epsilon >= 0 with log delta <= log_target, rounded up."""
    above = _excess(0.0, a, t, pair, log_target)
    if above <= 0.0:
        return 0.0
    low, high = 0.0, t / (a + math.sqrt(a))
    below = _excess(high, a, t, pair, log_target)
    while below > 0.0:
        low, high, above = high, 2.0 * high, below
        below = _excess(high, a, t, pair, log_target)
    for i in range(_STEPS):  # false position (Illinois), every third step a bisection
        if high - low <= 1e-13 * high:
            break
        share = 0.5 if i % 3 == 2 else above / (above - below)
        middle = low + (high - low) * min(max(share, 1e-9), 1.0 - 1e-9)
        value = _excess(middle, a, t, pair, log_target)
        if value > 0.0:
            low, above, below = middle, value, 0.5 * below
        else:
            high, below, above = middle, value, 0.5 * above
    return high


@vectorize(cache=True)
def scale_for(log_target: float, epsilon: float, a: float, t: float, pair: int, lowest: float, highest: float) -> float:
    """Return the largest x in [lowest, highest] with log delta(epsilon) <= log_target for (a x, t x).

    Rounded down; 0 when there is none, and highest when all do.
    """
    if _excess(epsilon, a * lowest, t * lowest, pair, log_target) > 0.0:
        return 0.0
    if _excess(epsilon, a * highest, t * highest, pair, log_target) <= 0.0:
        return highest
    low, high = math.log(lowest), math.log(highest)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if _excess(epsilon, a * math.exp(middle), t * math.exp(middle), pair, log_target) <= 0.0:
            low = middle
        else:
            high = middle
    return math.exp(low)


@njit(cache=True)
def loss_cells(a: float, t: float, interval: float, count: int) -> tuple[Array, Array, Array]:
    """Return three integrals over each cell i interval < loss < (i+1) interval of the Beta pair, i < count.

    The mass p under Beta(a+t, a); the part of it, up, that goes to the upper end when p is split between both
    ends and the other law keeps its mass; and q, the mass under the other law times e^(i interval), which
    does not underflow.
    """
    c = 2.0 * a + t
    mode = math.log1p(t / a)
    height = math.exp(_log_beta_peak(a, t))
    narrow = min(1.0, math.sqrt(c / (a + t) / a))
    p, up, q = np.zeros(count), np.zeros(count), np.zeros(count)
    for i in range(count):
        x, end = i * interval / t, (i + 1) * interval / t
        while x < end:
            panel_end = min(x + max(narrow, x - mode), end)
            half = 0.5 * (panel_end - x)
            for j in range(NODES.size):
                y = x + half * (1.0 + NODES[j])
                mass = height * half * WEIGHTS[j] * math.exp(_log_density(y - mode, a, c, a / c, 0.0))
                p[i] += mass
                up[i] += mass * math.expm1(i * interval - t * y) / math.expm1(-interval)
                q[i] += mass * math.exp(i * interval - t * y)
            x = panel_end
    return p, up, q
