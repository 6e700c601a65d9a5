"""Hockey-stick divergences of pairs of Beta or Gamma distributions, in log space.

In both pairs that the accounting uses, the privacy loss is t x minus a constant, where
x is a logit or a logarithm with a log-concave density f. Let x0 be the point at which
the loss equals epsilon. Then

    delta(epsilon) = integral over v > 0 of (1 - exp(-t v)) f(x0 + v) dv

Because the integrand is positive, nothing cancels, and delta has full relative
precision however small it is. With D = x - reference and z = exp(-D) - 1, both
densities have the form

    log f = constant + a (log(1+z) - z) - c (log(1+q z) - q z) + r z

where r = 0 if the reference is the mode, and c = q = 0 for the Gamma pair. The integral
is a sum of 16-point Gauss-Legendre panels. The integrand can change fast at v = 0 and
at the mode of f, so the widths of the panels double away from these two places. On the
side where f falls doubly exponentially, no panel is wider than 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import elementwise
from scipy.special import expit

from dpsim.checks import Array
from dpsim.compiled import njit, vectorize
from dpsim.numerics.special import (
    NODES,
    STIRLING,
    WEIGHTS,
    log1p_minus,
    minus_log1p,
    stirling_rest,
)

# Once log f is this far below its maximum, less than 1e-22 of the integral is left.
_NEGLIGIBLE = -60.0
# The error of log delta is at most the sum of these; the inverses are rounded by that
# much.
ABSOLUTE_ERROR = 1e-10
RELATIVE_ERROR = 1e-12
# the two pairs
REPLACE = 0
ADD_REMOVE = 1


@njit()
def _log_density(d: float, a: float, c: float, q: float, r: float) -> float:
    """Return log f(reference + d) - log f(reference), with the module's parameters."""
    z = math.expm1(-d)
    first = log1p_minus(z) if -0.4 < z < 0.6 else -d - z
    return a * first - c * log1p_minus(q * z) + r * z


@njit()
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
    """Return the integral over y in [low, high], with v = from_zero + y.

    Relative to the reference, D = from_mode + y.
    """
    half = 0.5 * (high - low)
    middle = 0.5 * (high + low)
    total = 0.0
    for i in range(NODES.size):
        y = middle + half * NODES[i]
        density = math.exp(_log_density(from_mode + y, a, c, q, r))
        total -= WEIGHTS[i] * math.expm1(-t * (from_zero + y)) * density
    return half * total


@vectorize()
def _log_integral(
    peak: float, t: float, a: float, c: float, q: float, r: float
) -> float:
    """Return the logarithm of the integral divided by the largest f on v >= 0.

    f attains this value at v = peak. From there it falls exponentially towards larger
    v, and doubly exponentially towards smaller v.
    """
    # a bound on the slopes of the integrand's factors at v = 0 and at the peak
    steepest = t + a + (a - r)
    narrow = 0.5 / max(1.0, steepest)
    total = 0.0
    # from the peak to the right, from the peak to the left, from v = 0 to the right
    for part in range(3):
        start = 0.0 if part == 2 else peak
        side = -1.0 if part == 1 else 1.0
        end = np.inf if part == 0 else 0.5 * peak
        widest = np.inf if part == 0 else 1.0
        y = 0.0
        width = min(narrow, end)
        while y < end:
            low = y if side > 0.0 else -y - width
            total += _panel(low, low + width, start, start - peak, t, a, c, q, r)
            y += width
            if part < 2 and _log_density(side * y, a, c, q, r) < _NEGLIGIBLE:
                if part == 1:
                    return math.log(total)
                break
            width = min(y, widest, end - y)
    return math.log(total)


def _log_beta_peak(a: Any, t: Any) -> Any:
    """Return log f at its mode, where f is the density of the logit of Beta(a+t, a)."""
    c = 2.0 * a + t
    correction = stirling_rest(c) - stirling_rest(a + t) - stirling_rest(a)
    return 0.5 * np.log(a * ((a + t) / c) / (2.0 * np.pi)) + correction


def _growth(a: Array, t: Array) -> Array:
    """Return log Gamma(a+t) - log Gamma(a) - t log(a+t).

    It has full relative precision even for small t.
    """
    z = np.where(a < 10.0, a + 10.0, a)
    u = t / z
    powers = range(1, 15, 2)
    rest = sum(c / z**m * np.expm1(-m * np.log1p(u)) for m, c in zip(powers, STIRLING))
    total = rest - z * minus_log1p(u, 1.0 + u) - 0.5 * np.log1p(u)
    steps = sum(np.log1p(t / (a + j)) for j in range(10))
    raised = t * np.log1p(10.0 / (a + t)) - steps
    return total + np.where(a < 10.0, raised, 0.0)


def log_delta(epsilon: ArrayLike, a: ArrayLike, t: ArrayLike, pair: int) -> Array:
    """Return log delta(epsilon) of a pair for epsilon >= 0 and a, t > 0, possibly -inf.

    The pair REPLACE is Beta(a+t, a) against Beta(a, a+t), and x is the logit of the
    Beta variable. The pair ADD_REMOVE is Gamma(a) against Gamma(a+t), and x is log((a +
    t) / g) for the Gamma variable g. In both pairs the mode of f is log(1 + t/a).

    Proof that Gamma(a+t) against Gamma(a) never has a larger delta. Let Z be the
    density of Gamma(a+t) divided by that of Gamma(a), under Gamma(a), and let y =
    e^epsilon >= 1. The difference of the two deltas is G(y) = E(1 - y Z)_+ - E(Z -
    y)_+. Since E Z = 1, G(1) = 0, and G(y) -> 0 for large y. G'' has the sign of
    log[f_Z(1/y) / (y^3 f_Z(y))] = 2 m sinh(u) - (2a + t) u, where u = epsilon / t and
    m^t = Gamma(a+t) / Gamma(a). This function of u is convex, and 0 at u = 0. So G is
    concave up to some y and convex beyond it. On the convex part, G decreases to 0 and
    is therefore nonnegative. On the concave part, it lies above its chord, whose
    endpoints are nonnegative.
    """
    epsilon, a, t = map(np.asarray, (epsilon, a, t))
    mode = np.log1p(t / a)
    if pair == REPLACE:
        start = epsilon / t
        height = _log_beta_peak(a, t)
        c = 2.0 * a + t
        at_mode = a / c
        q = expit(-np.maximum(start, mode))
        slope = a * expit(start)
    else:
        start = (epsilon - _growth(a, t)) / t
        height = 0.5 * np.log(a / (2.0 * np.pi)) - stirling_rest(a)
        c = 0.0
        at_mode = 0.0
        q = 0.0
        slope = a
    # The reference is x0 if x0 is beyond the mode, and otherwise the mode.
    beyond = np.maximum(start - mode, 0.0)
    z = np.expm1(-beyond)
    near = np.expm1(-np.minimum(beyond, 0.2))
    fall = np.where(beyond < 0.2, minus_log1p(near, 1.0 + near), beyond + z)
    height = height - a * fall + c * minus_log1p(at_mode * z, 1.0 + at_mode * z)
    peak = np.maximum(mode - start, 0.0)
    r = -slope * z  # a - c q, without cancellation
    return height + _log_integral(peak, t, a, c, q, r)


def epsilon_for(log_target: ArrayLike, a: ArrayLike, t: ArrayLike, pair: int) -> Array:
    """Return the smallest epsilon >= 0 with log delta <= log_target, rounded up."""
    goal, a, t = map(np.array, np.broadcast_arrays(log_target, a, t))

    def excess(epsilon: Array, a: Array, t: Array, goal: Array) -> Array:
        return excess_over(epsilon, a, t, pair, goal)

    low = np.zeros(a.shape)
    high = t / (a + np.sqrt(a))
    some = excess(low, a, t, goal) > 0.0
    while (short := some & (excess(high, a, t, goal) > 0.0)).any():
        low = np.where(short, high, low)
        high = np.where(short, 2.0 * high, high)
    return np.where(some, _last_kept_each(excess, high, low, (a, t, goal)), 0.0)[()]


def scale_for(
    log_target: ArrayLike,
    epsilon: ArrayLike,
    a: ArrayLike,
    t: ArrayLike,
    pair: int,
    lowest: Array,
    highest: Array,
) -> Array:
    """Return the largest x in [lowest, highest] at which log delta <= log_target.

    Here delta is that of the pair with the parameters a x and t x, at epsilon. The
    result is rounded down. It is 0 if no x in the interval meets the condition.
    """

    def excess(log_x: Array, epsilon: Array, a: Array, t: Array, goal: Array) -> Array:
        return excess_over(epsilon, a * np.exp(log_x), t * np.exp(log_x), pair, goal)

    args = tuple(map(np.asarray, (epsilon, a, t, log_target)))
    low = np.log(lowest)
    high = np.log(highest)
    between = np.exp(_last_kept_each(excess, low, high, args))
    found = np.where(excess(high, *args) <= 0.0, highest, between)
    return np.where(excess(low, *args) <= 0.0, found, 0.0)[()]


def excess_over(
    epsilon: Array, a: Array, t: Array, pair: int, log_target: Array
) -> Array:
    """Return log delta, raised by its largest possible error, minus the target."""
    value = log_delta(epsilon, a, t, pair)
    largest = value + ABSOLUTE_ERROR + RELATIVE_ERROR * np.abs(value)
    return np.minimum(largest, 0.0) - log_target


def _last_kept_each(
    excess: Callable[..., Array], kept: Array, broken: Array, args: tuple[Array, ...]
) -> Array:
    """Return, for each equation, a point at which the computed excess is at most 0.

    Within rounding, it is the last such point on the way from `kept` to `broken`.
    """
    exact = {"xatol": 0.0, "xrtol": 1e-15, "fatol": 0.0, "frtol": 0.0}
    found = elementwise.find_root(excess, (kept, broken), args=args, tolerances=exact)
    end = np.where(found.f_bracket[0] <= 0.0, *found.bracket)
    return np.where(found.f_x <= 0.0, found.x, end)


def loss_cells(a: float, t: float, interval: float, count: int) -> Array:
    """Return three integrals over cells of the loss of the pair REPLACE, (3, count).

    In cell i, the loss is between i interval and (i+1) interval. The first integral is
    p, the probability of the cell under Beta(a+t, a). The second is `up`, the part of p
    that moves to the upper end of the cell, while the rest moves to the lower end, so
    that the probability under Beta(a, a+t) does not change either. The third is q, the
    probability under Beta(a, a+t) times e^(i interval), which does not underflow.
    """
    cells = np.zeros((3, count))
    _fill_cells(a, t, interval, math.exp(_log_beta_peak(a, t)), cells)
    return cells


@njit()
def _fill_cells(
    a: float, t: float, interval: float, height: float, cells: Array
) -> None:
    """Add the three integrals of `loss_cells`, given the value of f at its mode."""
    c = 2.0 * a + t
    mode = math.log1p(t / a)
    narrow = min(1.0, math.sqrt(c / (a + t) / a))
    for i in range(cells.shape[1]):
        x = i * interval / t
        end = (i + 1) * interval / t
        while x < end:
            panel_end = min(x + max(narrow, x - mode), end)
            half = 0.5 * (panel_end - x)
            for j in range(NODES.size):
                y = x + half * (1.0 + NODES[j])
                density = math.exp(_log_density(y - mode, a, c, a / c, 0.0))
                mass = height * half * WEIGHTS[j] * density
                above = i * interval - t * y
                cells[0, i] += mass
                cells[1, i] += mass * math.expm1(above) / math.expm1(-interval)
                cells[2, i] += mass * math.exp(above)
            x = panel_end
