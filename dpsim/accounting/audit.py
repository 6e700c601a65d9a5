"""Privacy checked by draws: proven lower and upper bounds on delta(epsilon) from counts of one event.

A mechanism that claims delta at epsilon must have P(E) - e^epsilon Q(E) <= delta for every event E, P and Q being its
laws on neighbours. Draws from both and Clopper and Pearson's bounds on the two probabilities prove a lower bound on
the left side: above the claim, the claim is refuted. The event must be chosen before the draws. The best one, where
P is more than e^epsilon times as likely as Q, attains delta, so that there an upper bound holds as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics import special

LARGEST_EPSILON = 700.0  # e^epsilon stays finite
SMALLEST_ALPHA = 1e-100  # far below it the inverse of the incomplete beta function fails
LARGEST_COUNT = 2**53  # counts are exact as floats


def clopper_pearson(hits: ArrayLike, draws: ArrayLike, alpha: float) -> tuple[Array, Array]:
    """Return bounds on a probability from how often its event occurred, each failing with at most alpha.

    Parameters
    ----------
    hits : array_like of int
        In 0..draws; broadcasts with draws.
    draws : array_like of int
        In 1..2^53.
    alpha : float
        The chance of each bound alone to be wrong, in [1e-100, 1/2].

    Returns
    -------
    lower, upper : float or ndarray
        Where the binomial tails are alpha, to 1e-8 of it.

    Raises
    ------
    ValueError
        Outside these ranges.

    References
    ----------
    Clopper and Pearson 1934.

    Examples
    --------
    >>> [float(bound.round(4)) for bound in clopper_pearson(5, 100, 0.025)]
    [0.0164, 0.1128]
    """
    draws = _whole("draws", draws, 1.0)
    hits = _whole("hits", hits, 0.0)
    alpha = checks.scalar("alpha", alpha, SMALLEST_ALPHA, 0.5)
    if (hits > draws).any():
        raise ValueError(f"hits must be at most draws, got {float(np.max(hits - draws)):g} more")
    hits, draws = np.broadcast_arrays(hits, draws)
    missed = draws - hits
    lower = np.where(hits > 0, special.beta_quantile(np.maximum(hits, 1.0), missed + 1.0, alpha), 0.0)
    upper = np.where(missed > 0, special.beta_upper_quantile(hits + 1.0, np.maximum(missed, 1.0), alpha), 1.0)
    return checks.plain(lower), checks.plain(upper)


def delta_bounds(
    epsilon: ArrayLike, hits_p: ArrayLike, hits_q: ArrayLike, draws: ArrayLike, alpha: float
) -> tuple[Array, Array]:
    """Return bounds on P(E) - e^epsilon Q(E), from how often E occurred in `draws` draws of each law.

    Parameters
    ----------
    epsilon : array_like
        In [0, 700]; broadcasts with the hits.
    hits_p, hits_q : array_like of int
        In 0..draws.
    draws : array_like of int
        In 1..2^53.
    alpha : float
        In [1e-100, 1/2].

    Returns
    -------
    lower, upper : float or ndarray
        lower is a lower bound on delta(epsilon) for any event fixed before the draws; upper bounds delta(epsilon) only
        if E is where the likelihood ratio exceeds e^epsilon.

    Raises
    ------
    ValueError
        Outside these ranges.

    Notes
    -----
    Either holds with probability 1 - 2 alpha at least: divide the error allowed over all tests by twice the number of
    bounds used.

    Examples
    --------
    >>> [float(bound.round(3)) for bound in delta_bounds(0.0, 900, 100, 1000, 0.025)]
    [0.759, 0.836]
    """
    weight = np.exp(checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON))
    low_p, high_p = clopper_pearson(hits_p, draws, alpha)
    low_q, high_q = clopper_pearson(hits_q, draws, alpha)
    return checks.plain(low_p - weight * high_q), checks.plain(high_p - weight * low_q)


def _whole(name: str, value: ArrayLike, low: float) -> Array:
    """Return integers as floats, which hold them exactly up to LARGEST_COUNT; ValueError for anything else."""
    array = checks.real(name, value, low, LARGEST_COUNT)
    if (array != np.floor(array)).any():
        raise ValueError(f"{name} must be integers, got {array[array != np.floor(array)].flat[0]:g}")
    return array
