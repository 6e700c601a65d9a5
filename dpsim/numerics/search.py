"""Two searches, shared by several modules, for the point at which a condition changes: `last_kept` finds a real number,
and `least_integer` finds an integer for each entry of an array.

For a single integer, the standard library's `bisect` is enough. The other modules have reasons for searches of their
own. `hockey_stick` solves an array of equations to the last bit. `boltzmann.epsilon` bisects to a relative precision
and continues only with the pairs that have not reached it. `words.exact_epsilon` evaluates a bound that takes seconds,
so it stops as soon as it is near enough. `mdp.concentration` only guesses a radius, which it then proves.
`boltzmann.sampling` needs no accuracy, because its draws are exact for any tilt.
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
    """Return a point at which excess <= 0 was found, within the tolerance of the last such point towards `broken`.

    The excess must be at most 0 at `kept`, which may be on either side of `broken`, and change its sign only once
    between them. If it is at most 0 at `broken` too, `broken` is returned.
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
    """Return, entry by entry, the least integer above `fails` at which a monotone condition holds.

    The condition is not evaluated at `fails` or `good`, because it is assumed to fail at `fails` and to hold at `good`.
    """
    low, high = fails.copy(), good.copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        yes = holds(middle)
        high, low = np.where(yes, middle, high), np.where(yes, low, middle)
    return high
