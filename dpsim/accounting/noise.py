"""Exact privacy of Gaussian and Laplace noise, and the scales that reach a target."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from dpsim import checks

SMALL_RATIO = 0.1  # of the sensitivity to sigma
LARGEST_ERFC = 27.3  # erfc of more is below the smallest double
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
CELLS = 200_000  # of the grid of the losses of many Laplace variables, whose delta is rounded up


def gaussian_delta(epsilon: float, sigma: float, *, b: float, rows: int = 1) -> float:
    """Return the exact delta(epsilon) of Gaussian noise of standard deviation sigma on every entry.

    epsilon >= 0, sigma > 0, b in (0, 1], rows >= 1. Source: Balle and Wang 2018, Theorem 8, evaluated in logarithms.
    With r = sensitivity / sigma and u, v = (epsilon / r -+ r / 2) / sqrt(2) it is [erfc(u) - e^epsilon erfc(v)] / 2
    = e^(-u^2) [erfcx(u) - erfcx(v)] / 2: for a small r the integral of -erfcx' between them, as the terms cancel.
    """
    ratio = _sensitivity(b, rows) / checks.scalar("sigma", sigma, 0.0, open_low=True)
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    if ratio < 1e-300:  # delta is below ratio / 2
        raise ValueError(f"sigma must be less than 1e300 times the sensitivity, got {sigma:g}")
    if ratio < SMALL_RATIO:
        return _small_gaussian_delta((epsilon / ratio - 0.5 * ratio) / math.sqrt(2.0), ratio / math.sqrt(2.0))
    log_p = float(log_ndtr(0.5 * ratio - epsilon / ratio))
    log_q = float(log_ndtr(-0.5 * ratio - epsilon / ratio)) + epsilon
    return math.exp(log_p) * -math.expm1(log_q - log_p) if log_q < log_p else 0.0


def _small_gaussian_delta(u: float, width: float) -> float:
    """Return e^(-u^2) / 2 times the integral of -erfcx' over [u, u + width]."""
    if u > LARGEST_ERFC:
        return 0.0
    between = u + 0.5 * width * (1.0 + NODES)
    falling = 2.0 / math.sqrt(math.pi) - 2.0 * between * erfcx(between)
    return 0.25 * math.exp(-u * u) * width * float(WEIGHTS @ falling)


def laplace_delta(epsilon: float, scale: float, *, b: float, rows: int = 1) -> float:
    """Return delta(epsilon) of Laplace noise of the given scale on every entry: exact for one row.

    One row: two Laplace variables each moved by b/2, delta = 1 - (1 + v/2) e^-v with v = (b/scale - epsilon) / 2, and 0
    where v < 0: pure epsilon = b/scale. More rows: an upper bound, the convolution of 2 rows losses rounded up to a
    grid. epsilon >= 0, scale > 0, b in (0, 1], rows >= 1.
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    scale = checks.scalar("scale", scale, 0.0, open_low=True)
    b, rows = checks.scalar("b", b, 0.0, 1.0, open_low=True), checks.integer("rows", rows, 1)
    if epsilon >= rows * b / scale:
        return 0.0
    if rows == 1:
        v = min(0.5 * (b / scale - epsilon), 1e3)  # beyond, delta is 1 to the last bit
        return -math.expm1(-v) - 0.5 * v * math.exp(-v)
    interval = rows * b / scale / CELLS
    one = privacy_loss_distribution.from_laplace_mechanism(
        scale, sensitivity=0.5 * b, value_discretization_interval=interval
    )
    return float(one.self_compose(2 * rows).get_delta_for_epsilon(epsilon))


def gaussian_scale(epsilon: float, delta: float, *, b: float, rows: int = 1) -> float:
    """Return the smallest sigma, rounded up, for which Gaussian noise is (epsilon, delta)-private.

    epsilon >= 0, delta in (0, 1). Raises ValueError outside these ranges.
    """
    return _smallest_scale(gaussian_delta, epsilon, delta, b, rows)


def laplace_scale(epsilon: float, delta: float, *, b: float, rows: int = 1) -> float:
    """Return the smallest scale, rounded up, for which Laplace noise is (epsilon, delta)-private.

    epsilon >= 0, delta in (0, 1): never above rows b / epsilon, which makes delta 0. ValueError outside the ranges.
    """
    return _smallest_scale(laplace_delta, epsilon, delta, b, rows)


def _sensitivity(b: float, rows: int) -> float:
    b = checks.scalar("b", b, 0.0, 1.0, open_low=True)
    return b * math.sqrt(checks.integer("rows", rows, 1) / 2)


def _smallest_scale(profile: Callable[..., float], epsilon: float, delta: float, b: float, rows: int) -> float:
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)

    def excess(log_scale: float) -> float:
        return profile(epsilon, math.exp(log_scale), b=b, rows=rows) - delta

    low = high = math.log(_sensitivity(b, rows))
    while excess(low) <= 0.0:
        low -= 1.0
    while excess(high) > 0.0:
        high += 1.0
    root = brentq(excess, low, high, xtol=1e-10)
    while excess(root) > 0.0:
        root += 1e-10
    return math.exp(root)
