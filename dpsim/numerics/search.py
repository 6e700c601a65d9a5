"""Searches for the real number or the integers at which a condition changes.

For a single integer, the standard library's `bisect` is enough. Some modules need a
search of their own: `hockey_stick` solves an array of equations to the last bit,
`mdp.concentration` only guesses a radius that it proves afterwards, and
`boltzmann.sampling` needs no accuracy because its draws are exact for any tilt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq

from dpsim.checks import Integers, Mask


def last_kept(
    excess: Callable[[float], float], kept: float, broken: float, tolerance: float
) -> float:
    """Return a point between `kept` and `broken` where the computed excess is <= 0.

    The excess must be at most 0 at `kept`, which may be on either side of `broken`, and
    must change sign only once between the two. The result is within the tolerance of
    the point where the sign changes, or it is `broken` if the excess is at most 0 there
    too.
    """
    excess = cache(excess)
    if excess(broken) <= 0.0:
        return broken
    root = float(brentq(excess, kept, broken, xtol=tolerance))
    while excess(root) > 0.0:
        root += math.copysign(tolerance, kept - broken)
    return root


def least_integer(
    holds: Callable[[Integers], Mask], fails: Integers, good: Integers
) -> Integers:
    """Return, for each entry, the least integer at which a monotone condition holds.

    The condition must fail at `fails` and hold at `good`, which is larger. It is not
    evaluated at either of them.
    """
    low = fails
    high = good
    while (high - low > 1).any():
        middle = (low + high) // 2
        yes = holds(middle)
        low = np.where(yes, low, middle)
        high = np.where(yes, middle, high)
    return high
