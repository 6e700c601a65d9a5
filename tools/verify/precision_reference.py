"""What the checks of the closed forms share: a check, its grid, and the beta function's tails in many digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np

DIGITS = 60
SIDE_SLACK = 1e-11  # of values rounded to one side: what the rounding itself may be wrong by


@dataclass(frozen=True)
class Check:
    """A function of the package, its reference, the grid of arguments and the error allowed."""

    function: str
    ours: Callable[..., Any]
    reference: Callable[..., Any]
    grid: Sequence[tuple[Any, ...]]
    tolerance: float
    log: bool = False
    side: int = 0
    """1: a value below the truth is wrong, -1: one above it, both but for roundings of SIDE_SLACK."""


def grid(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all combinations of the axes."""
    return list(product(*axes))


def powers(low: int, high: int, step: float = 1.0) -> list[float]:
    """Return powers of ten, times 1.1 so that few are round."""
    return [1.1 * 10.0**e for e in np.arange(low, high + step / 2, step)]


def log_beta(a: Any, b: Any) -> Any:
    """Return log B(a, b)."""
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def log_kernel(x: Any, p: Any, k: Any) -> Any:
    """Return log(x^(kp) (1-x)^(k-kp) / B(kp, k-kp))."""
    return k * p * mp.log(x) + k * (1 - p) * mp.log1p(-x) - log_beta(k * p, k - k * p)


def series_tail(a: Any, b: Any, w: Any) -> Any:
    """Return I_w(a, b) by its series of positive terms."""
    term, total, n = mp.mpf(1), mp.mpf(0), 0
    smallest = mp.mpf(10) ** -(mp.mp.dps - 5)
    while term > total * smallest:
        total += term
        term *= (a + b + n) / (a + 1 + n) * w
        n += 1
    front = a * mp.log(w) + b * mp.log1p(-w) + mp.loggamma(a + b) - mp.loggamma(a + 1) - mp.loggamma(b)
    return total * mp.exp(front)


def beta_tail(a: Any, b: Any, w: Any, complement: Any = None) -> Any:
    """Return I_w(a, b); complement: 1 - w where w is near 1."""
    complement = 1 - w if complement is None else complement
    near = w <= 0.5 or w * (a + b) < a  # its terms are positive anywhere, and few while w is not near 1
    return series_tail(a, b, w) if near else 1 - series_tail(b, a, complement)
