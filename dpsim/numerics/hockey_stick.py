"""Hockey-stick divergences of Beta and Gamma pairs in log space, by one positive integral.

Both pairs of the accounting have a privacy loss t x - constant in a variable x (a logit or a logarithm) whose
density f is log-concave, so that with x0 the point where the loss equals epsilon

    delta(epsilon) = integral over v > 0 of (1 - exp(-t v)) f(x0 + v) dv

Because every term is positive, nothing cancels, and delta keeps its digits however small it is. Around a reference
point, with D = x - reference and z = exp(-D) - 1, all three densities have the form

    log f = constant + a (log(1+z) - z) - c (log(1+q z) - q z) + r z

(r = 0 when the reference is the mode; c = q = 0 for the Gamma pairs). The integral is a sum of 16-point
Gauss-Legendre panels whose widths double away from the two places where the integrand can be sharp, v = 0 and
the mode of f; on the side where f falls doubly exponentially no panel is wider than 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, vectorize
from numpy.typing import ArrayLike
from scipy.optimize import elementwise
from scipy.special import expit

from dpsim.checks import Array
from dpsim.numerics.special import (
    NODES,
    STIRLING,
    WEIGHTS,
    log1p_minus,
    minus_log1p,
    stirling_rest,
)

_NEGLIGIBLE = (
    -60.0
)  # log f minus its maximum; the part beyond is less than 1e-22 of the integral
# The declared error of log delta is absolute, or relative if log delta is huge. The inverses allow for this error.
ABSOLUTE_ERROR, RELATIVE_ERROR = 1e-10, 1e-12
REPLACE, ADD_REMOVE = 0, 1  # the two pairs


@njit
def _log_density(d: float, a: float, c: float, q: float, r: float) -> float:
    """Return log f(reference + d) - log f(reference), in the form given in the module's docstring."""
    z = math.expm1(-d)
    first = log1p_minus(z) if -0.4 < z < 0.6 else -d - z
    return a * first - c * log1p_minus(q * z) + r * z


@njit
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
    """Return the integral over y in [low, high], where v = from_zero + y and D = from_mode + y."""
    half = 0.5 * (high - low)
    middle = 0.5 * (high + low)
    total = 0.0
    for i in range(NODES.size):
        y = middle + half * NODES[i]
        density = math.exp(_log_density(from_mode + y, a, c, q, r))
        total -= WEIGHTS[i] * math.expm1(-t * (from_zero + y)) * density
    return half * total


@vectorize(cache=True)
def _log_integral(
    peak: float, t: float, a: float, c: float, q: float, r: float
) -> float:
    """Return the log of the integral over v > 0, relative to f at v = peak >= 0, where f is largest.

    f falls exponentially towards large v and doubly exponentially towards small v.
    """
    steepest = (
        t + a + (a - r)
    )  # slope of the integrand's factors near its two sharp places
    narrow = 0.5 / max(1.0, steepest)
    total = 0.0
    for part in range(
        3
    ):  # from the peak to the right, from the peak to the left, from v = 0 to the right
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
    """Return log f at the mode of the logit of Beta(a+t, a)."""
    c = 2.0 * a + t
    correction = stirling_rest(c) - stirling_rest(a + t) - stirling_rest(a)
    return 0.5 * np.log(a * ((a + t) / c) / (2.0 * np.pi)) + correction


def _growth(a: Array, t: Array) -> Array:
    """Return log Gamma(a+t) - log Gamma(a) - t log(a+t), to full relative precision for small t."""
    z = np.where(a < 10.0, a + 10.0, a)
    u = t / z
    rest = sum(
        c / z**m * np.expm1(-m * np.log1p(u)) for m, c in zip(range(1, 15, 2), STIRLING)
    )
    total = rest - z * minus_log1p(u, 1.0 + u) - 0.5 * np.log1p(u)
    raised = t * np.log1p(10.0 / (a + t)) - sum(
        np.log1p(t / (a + j)) for j in range(10)
    )
    return total + np.where(a < 10.0, raised, 0.0)


def log_delta(epsilon: ArrayLike, a: ArrayLike, t: ArrayLike, pair: int) -> Array:
    """Return log delta(epsilon) of the pair REPLACE or ADD_REMOVE for epsilon >= 0 and a, t > 0. It may be -inf.

    REPLACE is Beta(a+t, a) against Beta(a, a+t); x is the logit. ADD_REMOVE is Gamma(a) against Gamma(a+t), in the
    direction whose delta is larger, and its loss falls with x = log g. For both pairs the mode is at log(1 + t/a).

    Proof that the reverse direction never has a larger delta. Let Z = dGamma(a+t) /
    dGamma(a) under Gamma(a) and y = e^epsilon >= 1. The difference of the two deltas is
    G(y) = E(1 - y Z)_+ - E(Z - y)_+. Since E Z = 1, G(1) = 0, and G(y) -> 0 for large
    y. G'' has the sign of log[f_Z(1/y) / (y^3 f_Z(y))] = 2 m sinh(u) - (2a + t) u with
    u = epsilon / t and m^t = Gamma(a+t) / Gamma(a). This function of u is convex, and 0
    at u = 0, so G is concave up to some y and convex from there on. On the convex part
    G decreases to 0 and is therefore nonnegative; on the concave part it lies above its
    chord, whose endpoints are nonnegative.
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
        at_mode, q, slope = 0.0, 0.0, a
    beyond = np.maximum(
        start - mode, 0.0
    )  # of x0, beyond the mode; there the reference is x0, else the mode
    z = np.expm1(-beyond)
    near = np.expm1(-np.minimum(beyond, 0.2))
    fall = np.where(beyond < 0.2, minus_log1p(near, 1.0 + near), beyond + z)
    height = height - a * fall + c * minus_log1p(at_mode * z, 1.0 + at_mode * z)
    return height + _log_integral(
        np.maximum(mode - start, 0.0), t, a, c, q, -slope * z
    )  # a - c q, nothing cancels


def epsilon_for(log_target: ArrayLike, a: ArrayLike, t: ArrayLike, pair: int) -> Array:
    """Return the smallest epsilon >= 0 with log delta <= log_target, rounded up."""
    goal, a, t = map(np.array, np.broadcast_arrays(log_target, a, t))

    def excess(epsilon: Array, a: Array, t: Array, goal: Array) -> Array:
        return _excess(epsilon, a, t, pair, goal)

    low, high = np.zeros(a.shape), t / (a + np.sqrt(a))
    some = excess(low, a, t, goal) > 0.0
    while (short := some & (excess(high, a, t, goal) > 0.0)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
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
    """Return the largest x in [lowest, highest] with log delta(epsilon) <= log_target for the pair with a x and t x.

    The result is rounded down. It is 0 if no x meets the condition, and `highest` if every x does.
    """

    def excess(log_x: Array, epsilon: Array, a: Array, t: Array, goal: Array) -> Array:
        return _excess(epsilon, a * np.exp(log_x), t * np.exp(log_x), pair, goal)

    args = tuple(map(np.asarray, (epsilon, a, t, log_target)))
    low, high = np.log(lowest), np.log(highest)
    found = np.where(
        excess(high, *args) <= 0.0,
        highest,
        np.exp(_last_kept_each(excess, low, high, args)),
    )
    return np.where(excess(low, *args) <= 0.0, found, 0.0)[()]


def _excess(epsilon: Array, a: Array, t: Array, pair: int, log_target: Array) -> Array:
    """Return how far log delta may lie above the target if it has the largest error declared."""
    value = log_delta(epsilon, a, t, pair)
    return (
        np.minimum(value + ABSOLUTE_ERROR + RELATIVE_ERROR * np.abs(value), 0.0)
        - log_target
    )


def _last_kept_each(
    excess: Callable[..., Array], kept: Array, broken: Array, args: tuple[Array, ...]
) -> Array:
    """Return points with excess <= 0, each within rounding of a point with excess > 0 on the side of `broken`."""
    exact = {"xatol": 0.0, "xrtol": 1e-15, "fatol": 0.0, "frtol": 0.0}
    found = elementwise.find_root(excess, (kept, broken), args=args, tolerances=exact)
    return np.where(
        found.f_x <= 0.0, found.x, np.where(found.f_bracket[0] <= 0.0, *found.bracket)
    )


def loss_cells(a: float, t: float, interval: float, count: int) -> Array:
    """Return three integrals, shape (3, count), over each cell of the privacy loss of the Beta pair. Cell i, for i <
    count, is i interval < loss < (i+1) interval.

    The first is the mass p under Beta(a+t, a). The second is `up`, the part of p that goes to the upper end of the cell
    when p is split between both ends so that the other distribution keeps its mass. The third is q, the mass under the
    other distribution times e^(i interval), which does not underflow.
    """
    cells = np.zeros((3, count))
    _fill_cells(a, t, interval, math.exp(_log_beta_peak(a, t)), cells)
    return cells


@njit(cache=True)
def _fill_cells(
    a: float, t: float, interval: float, height: float, cells: Array
) -> None:
    """Add the three integrals of `loss_cells`. The height is the value of f at its mode."""
    c = 2.0 * a + t
    mode = math.log1p(t / a)
    narrow = min(1.0, math.sqrt(c / (a + t) / a))
    for i in range(cells.shape[1]):
        x, end = i * interval / t, (i + 1) * interval / t
        while x < end:
            panel_end = min(x + max(narrow, x - mode), end)
            half = 0.5 * (panel_end - x)
            for j in range(NODES.size):
                y = x + half * (1.0 + NODES[j])
                mass = (
                    height
                    * half
                    * WEIGHTS[j]
                    * math.exp(_log_density(y - mode, a, c, a / c, 0.0))
                )
                cells[0, i] += mass
                cells[1, i] += (
                    mass * math.expm1(i * interval - t * y) / math.expm1(-interval)
                )
                cells[2, i] += mass * math.exp(i * interval - t * y)
            x = panel_end
