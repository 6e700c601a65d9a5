"""Lower and upper bounds on delta(epsilon), proven from how often one event occurs among random draws.

Let P and Q be the distributions of the release on two neighbours. A claim of delta at epsilon says that P(E) -
e^epsilon Q(E) <= delta for every event E. Draws from both distributions prove a lower bound on the left side, and the
claim is refuted when this bound is above delta. The event must be chosen before the draws. The best event is the set of
outcomes that are more than e^epsilon times as likely under P as under Q. This event attains delta, so an upper bound on
its left side is also an upper bound on delta.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics import special

LARGEST_EPSILON = 700.0  # e^epsilon stays finite
SMALLEST_ALPHA = (
    1e-100  # far below it the inverse of the incomplete beta function fails
)
LARGEST_COUNT = 2**53  # counts are exact as floats


def clopper_pearson(
    hits: ArrayLike, draws: ArrayLike, alpha: float, *, name: str = "hits"
) -> tuple[Array, Array]:
    """Return (lower, upper) bounds on a probability from how often its event occurred (Clopper and Pearson 1934).

    Parameters
    ----------
    hits : array_like of int, in 0..draws; broadcasts with draws
    draws : array_like of int, in 1..2^53
    alpha : float, in [1e-100, 1/2]
        The largest probability with which each of the two bounds may fail. At each bound the binomial tail is alpha, to
        within a relative error of 1e-8.
    name : str, the name of the hits in error messages

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
    hits, draws = np.broadcast_arrays(hits, draws)
    missed = draws - hits
    lower = np.where(
        hits > 0, special.beta_quantile(np.maximum(hits, 1.0), missed + 1.0, alpha), 0.0
    )
    upper = np.where(
        missed > 0,
        special.beta_upper_quantile(hits + 1.0, np.maximum(missed, 1.0), alpha),
        1.0,
    )
    return checks.plain(lower), checks.plain(upper)


def delta_bounds(
    epsilon: ArrayLike,
    hits_p: ArrayLike,
    hits_q: ArrayLike,
    draws: ArrayLike,
    alpha: float,
) -> tuple[Array, Array]:
    """Return (lower, upper) bounds on P(E) - e^epsilon Q(E) from how often E occurred in `draws` draws of each
    distribution.

    For any event fixed before the draws, `lower` is a lower bound on delta(epsilon). If E is the event that the
    likelihood ratio exceeds e^epsilon, `upper` is an upper bound on delta(epsilon). Each holds with probability at
    least 1 - 2 alpha, so let alpha be the probability of error allowed over all tests, divided by twice the number of
    bounds used.

    Parameters
    ----------
    epsilon : array_like, in [0, 700]; broadcasts with the hits
    hits_p, hits_q, draws, alpha : as in `clopper_pearson`

    Examples
    --------
    >>> [float(bound.round(3)) for bound in delta_bounds(0.0, 900, 100, 1000, 0.025)]
    [0.759, 0.836]
    """
    weight = np.exp(checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON))
    low_p, high_p = clopper_pearson(hits_p, draws, alpha, name="hits_p")
    low_q, high_q = clopper_pearson(hits_q, draws, alpha, name="hits_q")
    return checks.plain(low_p - weight * high_q), checks.plain(high_p - weight * low_q)
