"""The one search for a threshold: the last point of an interval at which a condition still holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from scipy.optimize import brentq


def last_kept(excess: Callable[[float], float], kept: float, broken: float, tolerance: float) -> float:
    """Return the point nearest to `broken`, within tolerance, at which excess <= 0 was found: itself evaluated, it is
    safe.

    excess <= 0 at `kept`, on either side of `broken`, and it changes sign once; `broken` is returned where excess <= 0.
    """
    excess = cache(excess)
    if excess(broken) <= 0.0:
        return broken
    root = float(brentq(excess, kept, broken, xtol=tolerance))
    while excess(root) > 0.0:
        root += math.copysign(tolerance, kept - broken)
    return root
