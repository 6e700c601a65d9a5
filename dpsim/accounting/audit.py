"""Bounds on delta(epsilon) from how often an event occurs in simulated releases.

Let P and Q be the distributions of the release for two neighbours. A mechanism is
(epsilon, delta)-private if P(E) - e^epsilon Q(E) <= delta for every event E and all
neighbours. So a lower bound on the left side for a single event, which must be chosen
before the releases are simulated, rules out every smaller delta. The left side is
largest for the event that the outcome is more than e^epsilon times as likely under P as
under Q. For this event, the left side equals the exact delta of the two neighbours, so
an upper bound on the left side is also an upper bound on that delta.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics import special

LARGEST_EPSILON = 700.0  # up to it, e^epsilon is a float
SMALLEST_ALPHA = 1e-100  # far below it, the inverse incomplete beta function fails
LARGEST_COUNT = 2**53  # up to it, counts are exact as floats


def clopper_pearson(
    hits: ArrayLike, draws: ArrayLike, alpha: float, *, name: str = "hits"
) -> tuple[Array, Array]:
    """Return (lower, upper) bounds on a probability (Clopper and Pearson 1934).

    Parameters
    ----------
    hits : array_like of int, in 0..draws
        How often the event occurred; broadcasts with draws.
    draws : array_like of int, in 1..2^53
    alpha : float, in [1e-100, 1/2]
        The largest probability with which each bound may be wrong. The binomial tail at
        each bound is alpha, to within a relative error of 1e-8.
    name : str
        The name of the argument `hits` in error messages.

    Returns
    -------
    lower, upper : float or ndarray
        The bounds, in the common shape of hits and draws.

    Examples
    --------
    >>> [float(bound.round(4)) for bound in clopper_pearson(5, 100, 0.025)]
    [0.0164, 0.1128]
    """
    draws = checks.integers("draws", draws, 1, LARGEST_COUNT)
    hits = checks.integers(name, hits, 0, LARGEST_COUNT)
    alpha = checks.scalar("alpha", alpha, SMALLEST_ALPHA, 0.5)
    if (hits > draws).any():
        raise ValueError(
            f"{name} must be at most draws, got {float(np.max(hits - draws)):g} more"
        )
    missed = draws - hits
    low = special.beta_quantile(np.maximum(hits, 1.0), missed + 1.0, alpha)
    high = special.beta_upper_quantile(hits + 1.0, np.maximum(missed, 1.0), alpha)
    lower = np.where(hits > 0, low, 0.0)
    upper = np.where(missed > 0, high, 1.0)
    return checks.plain(lower), checks.plain(upper)


def delta_bounds(
    epsilon: ArrayLike,
    hits_p: ArrayLike,
    hits_q: ArrayLike,
    draws: ArrayLike,
    alpha: float,
) -> tuple[Array, Array]:
    """Return (lower, upper) bounds on P(E) - e^epsilon Q(E) for an event E.

    The lower bound is also a lower bound on delta(epsilon). If E is the event that the
    likelihood ratio exceeds e^epsilon, the upper bound is also an upper bound on the
    delta of these two neighbours. Each bound holds with a probability of at least 1 - 2
    alpha. So if any of the bounds may be wrong with a probability of at most beta, set
    alpha to beta divided by twice the number of bounds.

    Parameters
    ----------
    epsilon : array_like, in [0, 700]; broadcasts with the hits
    hits_p, hits_q : array_like of int
        How often E occurred among `draws` releases simulated for each neighbour.
    draws, alpha : as in `clopper_pearson`

    Returns
    -------
    lower, upper : float or ndarray
        The bounds, in the common shape of the arguments.

    Examples
    --------
    >>> [float(bound.round(3)) for bound in delta_bounds(0.0, 900, 100, 1000, 0.025)]
    [0.759, 0.836]
    """
    weight = np.exp(checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON))
    low_p, high_p = clopper_pearson(hits_p, draws, alpha, name="hits_p")
    low_q, high_q = clopper_pearson(hits_q, draws, alpha, name="hits_q")
    return checks.plain(low_p - weight * high_q), checks.plain(high_p - weight * low_q)
