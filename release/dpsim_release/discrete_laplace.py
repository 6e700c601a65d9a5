"""Discrete Laplace noise, its sampler and the threshold of private pairs, with proofs.

Neighbouring tables differ in one unit. The unit has at most M events, so it changes the
counts by an integer vector v >= 0 with |v|_1 <= M. If independent noise z with P(z)
proportional to e^(-|z| / s) is added to each count, the release of the noisy counts is
therefore epsilon-differentially private with epsilon = M / s.

Private pairs. A pair is released if its count is above 0 and its noisy count is at
least tau. Let the table x contain a unit that its neighbour y lacks, and let X and Y be
the mechanism's outputs on x and y. A pair that occurs only in x passes the threshold
with probability T(tau - v), where T(u) = P(z >= u) is the tail of the noise and v is
the pair's number of events. Let delta be an upper bound on the sum of these
probabilities. Let A be the output for the other pairs of x, whose noise makes it
epsilon-differentially private. For every set S of outputs, P(X in S) <= delta + P(A in
S) <= delta + e^epsilon P(Y in S). In the other direction, P(X in S) >= (1 - delta) P(A
in S) because the noise is independent across pairs, and therefore (1 - delta) P(Y in S)
<= e^epsilon P(X in S). Together, the two directions give (epsilon, delta)-differential
privacy.

The bound on the sum. T(u) is convex at integers u >= 0, because the probabilities of
the noise decrease there. For a given number of pairs, the sum of T(tau - v_i) over v_i
>= 1 with sum v_i <= M is therefore largest if all v_i but one are 1. This largest sum
is convex in the number of pairs, so its maximum is attained either by one pair with M
events or by M pairs with one event each: delta <= max(T(tau - M), M T(tau - 1)) for tau
> M. It does not matter which rows the pairs are in, because the noise is independent
across pairs.
"""

from __future__ import annotations

import bisect
import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, streams
from dpsim.checks import Integers

SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 1e6
LARGEST_COUNT = 2**53
_CHUNK = 50_000  # counts at a time, so that the lists of Python integers stay small
_UP = 1.0 + 1e-9  # a bound times this is certainly above the exact value


class Noise(NamedTuple):
    """The discrete Laplace noise added independently to every count, and its epsilon.

    Attributes
    ----------
    scale : float
        The scale s in counts, with P(z) proportional to ``e^(-|z|/s)``. The noise is
        sampled with exactly this double-precision number.
    epsilon : float, the privacy loss for a unit, rounded up

    Examples
    --------
    >>> noise = laplace_noise(1.0)
    >>> noise.scale, round(noise.mean_absolute, 3), round(noise.variance, 3)
    (1.0, 0.851, 1.841)
    """

    scale: float
    epsilon: float

    @property
    def variance(self) -> float:
        """The variance of one count's noise, in counts squared."""
        return 2.0 * math.exp(-1.0 / self.scale) / math.expm1(-1.0 / self.scale) ** 2

    @property
    def mean_absolute(self) -> float:
        """E|Z|, the expected absolute value of one count's noise, in counts."""
        return 2.0 * math.exp(-1.0 / self.scale) / -math.expm1(-2.0 / self.scale)

    def log_tail(self, least: Any) -> Any:
        """Return log P(Z >= least) for integers.

        For `least` below 1, this is log(1 - P(Z >= 1 - least)), because Z is symmetric.
        """
        away = np.where(least >= 1, least, 1 - least)
        far = -away / self.scale - math.log1p(math.exp(-1.0 / self.scale))
        return np.where(least >= 1, far, np.log1p(-np.exp(far)))


def laplace_noise(epsilon: float, events: int = 1) -> Noise:
    """Return the noise that protects units of at most `events` events at level epsilon.

    Epsilon must be from 1e-6 to 1e6. The scale of the noise is the smallest
    double-precision number s for which events / s <= epsilon in rational arithmetic.

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
    if Fraction(rounded) < loss:
        rounded = math.nextafter(rounded, math.inf)
    return Noise(scale, rounded)


def noisy_counts(
    counts: ArrayLike,
    noise: Noise,
    rng: np.random.Generator | None = None,
    *,
    events: int = 1,
) -> Integers:
    """Return the counts with independent noise added to each; the results may be
    negative.

    Parameters
    ----------
    counts : (cells,) integers, each from 0 to 2^53
    noise : Noise
    rng : Generator, optional
        A generator for a simulation. If None, OpenDP samples the noise, whose
        distribution is exact because the scale is a rational number. The random bits
        come from OpenSSL's generator, whose key comes from the operating system (NIST
        SP 800-90A). Every thread has a generator of its own, so threads that sample at
        the same time share no state. Processes would not be faster than threads,
        because the sampler holds no lock while it samples
        (release/tools/results/release_scale.csv lists the times).
    events : int
        The largest change that one unit can make to the sum of the counts. If the loss
        that OpenDP states for such a change is larger than the epsilon of the noise,
        ValueError is raised and nothing is sampled.

    Returns
    -------
    array of int64, shape (cells,)

    Examples
    --------
    >>> noisy_counts([500, 0, 3], laplace_noise(1.0), np.random.default_rng(1)).tolist()
    [498, 3, 3]
    """
    values = checks.integers("counts", counts, 0, LARGEST_COUNT)
    events = checks.integer("events", events, 1)
    if rng is not None:
        rng = checks.generator(rng)
        # in double precision, which is quick but not exact
        p = -np.expm1(-1.0 / noise.scale)
        return values + (rng.geometric(p, values.size) - rng.geometric(p, values.size))
    # the import takes half a second, and only a real release needs it
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    sampler = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise.scale)
    loss = sampler.map(events)
    if not loss <= noise.epsilon:
        raise ValueError(
            f"noise must have an epsilon of at most {noise.epsilon!r} for {events} "
            f"events, got {loss!r}"
        )

    def add_noise(part: Integers) -> Integers:
        return np.array(sampler(part.tolist()), dtype=np.int64)

    parts = np.array_split(values, values.size // _CHUNK + 1)
    with ThreadPoolExecutor(streams.threads()) as pool:
        return np.concatenate(list(pool.map(add_noise, parts)))


def pair_threshold(noise: Noise, events: int, delta: float) -> tuple[int, float]:
    """Return the smallest threshold for private pairs that delta allows, and its delta.

    A pair that occurs is released if its noisy count is at least the threshold, which
    is larger than `events`. The given delta is in (0, 1), and the threshold's own delta
    is no larger than the given one.

    >>> threshold, spent = pair_threshold(laplace_noise(1.0), 1, 1e-6)
    >>> print(threshold, f"{spent:.1e}")
    15 6.1e-07
    """
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    least = checks.integer("events", events, 1) + 1
    least += bisect.bisect_left(
        range(2**62),
        True,
        key=lambda more: pair_delta(noise, events, least + more) <= delta,
    )
    return least, pair_delta(noise, events, least)


def pair_delta(noise: Noise, events: int, threshold: int) -> float:
    """Return the delta of a threshold above `events`, rounded up.

    It is max(T(threshold - events), events T(threshold - 1)), where T is the upper tail
    of the noise. It is an upper bound on the probability that any pair that occurs for
    only one unit is released.

    >>> print(f"{pair_delta(laplace_noise(1.0), 1, 15):.1e}")
    6.1e-07
    """
    one = noise.log_tail(threshold - events)
    many = math.log(events) + noise.log_tail(threshold - 1)
    return min(1.0, math.exp(min(0.0, max(one, many))) * _UP)
