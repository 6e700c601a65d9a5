"""What noisy integer counts cost a unit: discrete Laplace noise, and the threshold of pairs chosen privately.

Neighbouring tables differ in one unit. It has at most M events, so that it moves the counts by an integer vector v >= 0
with |v|_1 <= M. Noise z of the law P(z) ~ e^(-|z| / s) on each count then loses at most M / s.

Private pairs. A pair is released if its count is above 0 and its noisy count at least tau. Let x have a unit that y has
not. A pair that x alone has passes with T(tau - v), T the tail of the noise and v its events; let delta bound the sum
of these. For a set of outputs S, P(x in S) <= delta + P(the other pairs of x in S), and the others cost epsilon. The
other way, with A the outputs of those others, P(x in S) >= (1 - delta) P(A in S) by independence, so
(1 - delta) P(y in S) <= e^epsilon P(x in S). Both ways: (epsilon, delta).
The sum: T(u) is convex at integers u >= 0, as the noise's law falls there; so sum T(tau - v_i) over v_i >= 1 with
sum v_i <= M is convex in the number of parts once all but one part are 1, and largest for one pair of M events or M
pairs of 1: delta <= max(T(tau - M), M T(tau - 1)) for tau > M. Which rows the pairs lie in plays no part, because their
noises are independent.
"""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpsim import checks

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
_UP = 1.0 + 1e-9  # a bound in double precision is stated this much larger


class Noise(NamedTuple):
    """Independent discrete Laplace noise for every count, and what it costs.

    scale: s of ``P(z) ~ e^(-|z|/s)``, in counts: this double, exactly. epsilon: the privacy loss, rounded up.

    >>> noise = laplace_noise(1.0)
    >>> noise.scale, round(noise.mean_absolute, 3), round(noise.variance, 3)
    (1.0, 0.851, 1.841)
    """

    scale: float
    epsilon: float

    @property
    def variance(self) -> float:
        """Variance of one count's noise, in counts squared."""
        return 2.0 * math.exp(-1.0 / self.scale) / math.expm1(-1.0 / self.scale) ** 2

    @property
    def mean_absolute(self) -> float:
        """E|Z|, the expected absolute value of one count's noise, in counts."""
        return 2.0 * math.exp(-1.0 / self.scale) / -math.expm1(-2.0 / self.scale)

    def log_tail(self, least: Any) -> Any:
        """Return log P(Z >= least) for integers; of those below 1 by symmetry, 1 - P(Z >= 1 - least)."""
        far = -np.where(least >= 1, least, 1 - least) / self.scale - math.log1p(math.exp(-1.0 / self.scale))
        return np.where(least >= 1, far, np.log1p(-np.exp(far)))


def laplace_noise(epsilon: float, events: int = 1) -> Noise:
    """Return the noise that keeps the loss of a unit with so many events within epsilon, from 1e-6 to 1e6.

    Its scale is the least double s for which events / s <= epsilon in rational arithmetic; the sampler draws with
    exactly that rational number.

    >>> laplace_noise(0.5, events=3).scale
    6.0
    """
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
    events = checks.integer("events", events, 1)
    scale = events / epsilon
    while Fraction(events) / Fraction(scale) > Fraction(epsilon):
        scale = math.nextafter(scale, math.inf)
    loss = Fraction(events) / Fraction(scale)
    rounded = float(loss)
    return Noise(scale, rounded if Fraction(rounded) >= loss else math.nextafter(rounded, math.inf))


def pair_threshold(noise: Noise, events: int, delta: float) -> tuple[int, float]:
    """Return the least threshold of private pairs that delta in (0, 1) allows, and the delta that it spends.

    A pair that some event has is published where its noisy count is at least the threshold, which exceeds `events`.

    >>> threshold, spent = pair_threshold(laplace_noise(1.0), 1, 1e-6)
    >>> print(threshold, f"{spent:.1e}")
    15 6.1e-07
    """
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    least = checks.integer("events", events, 1) + 1
    least += bisect.bisect_left(range(2**62), True, key=lambda more: pair_delta(noise, events, least + more) <= delta)
    return least, pair_delta(noise, events, least)


def pair_delta(noise: Noise, events: int, threshold: int) -> float:
    """Return max(T(threshold - events), events T(threshold - 1)), rounded up, T the upper tail of the noise.

    It bounds the chance that a pair which one unit alone has is published; the threshold is above `events`.

    >>> print(f"{pair_delta(laplace_noise(1.0), 1, 15):.1e}")
    6.1e-07
    """
    one, many = noise.log_tail(threshold - events), math.log(events) + noise.log_tail(threshold - 1)
    return min(1.0, math.exp(min(0.0, max(one, many))) * _UP)
