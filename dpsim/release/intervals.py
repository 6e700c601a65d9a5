"""Error bars that cost no privacy: from the released counts and the known law of the noise.

Targets: "table", the chain of the table's own counts, for which noise is the only error; "process", the chain behind
the table, whose transitions are a sample too. Delta method, with y the signed noisy counts, M_i their sum in row i over
its d_i pairs, P = y / M, v the variance of the noise:
  a probability            v (1 - 2 P_ij + d_i P_ij^2) / M_i^2 + P_ij (1 - P_ij) / M_i
  stationary distribution  sum_i (pi_i / M_i)^2 v sum_j (Z_jk - (P Z)_ik)^2 + pi_i^2 / M_i Var_i(Z_k)
  mean first passage       sum_i (G_ai / M_i)^2 v sum_j (m_j - (P m)_i)^2 + G_ai^2 / M_i Var_i(m)
Z = (I - P + 1 pi)^-1, G = (I - Q)^-1 with Q = P without the column of the target, m = G 1, and the second terms for the
process alone. Var_i is the variance under row i. Rows need enough events: those whose noisy total is below three
standard deviations of its noise are named in attrs["weak_rows"], their probabilities have the interval [0, 1], and what
is said of the whole chain holds as far as these rows do not matter.

Pairs chosen privately have passed a threshold, and noisy counts that have are too large in the mean. Their counts are
estimated from the law of the noise given that they passed (the interval by inversion of its two tails, the centre its
median), and the target is the table's chain on the released pairs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csgraph
from scipy.special import log_ndtr, ndtri

from dpsim import checks
from dpsim.accounting.units import LAPLACE, Noise
from dpsim.checks import Array
from dpsim.markov.sparse import classes
from dpsim.release.estimate import row_sums

if TYPE_CHECKING:
    from dpsim.release.chain import PrivateChain

TARGETS = ("table", "process")
LARGEST = 2_000  # labels up to which the whole chain's intervals are computed
WEAK = 3.0  # standard deviations of its noise
PSEUDO_EVENTS = 1.0  # added to a count where its sampling variance is estimated from it


def probability_intervals(chain: PrivateChain, level: float = 0.9, target: str = "table") -> pd.DataFrame:
    """Return origin, destination, probability, low, high of each pair of the support: a row for each."""
    level, target = _arguments(chain, level, target)
    z = float(ndtri(0.5 + 0.5 * level))
    counts, noise, support = _centres(chain), chain.noise, chain.support
    M = row_sums(counts, support)
    weak = WEAK * np.sqrt(noise.variance * support.sizes) >= M
    divisor = np.where(weak, 1.0, M)[support.rows]
    p = counts / divisor
    others = noise.variance * p * p * (support.sizes[support.rows] - 1.0)
    if chain.statement["threshold"] is None:
        own = noise.variance * (1.0 - p) ** 2
        if target == "process":
            own = own + (np.maximum(counts, 0.0) + PSEUDO_EVENTS) * np.clip(1.0 - p, 0.0, 1.0)
        below = above = _factor(noise, z, level) * np.sqrt(own + others) / divisor
    else:
        low, high = conditional_interval(chain.noisy, chain.statement["threshold"], noise, level)
        spread = z * np.sqrt(others)
        below, above = (
            np.hypot((1.0 - p) * np.maximum(side, 0.0), spread) / divisor for side in (counts - low, high - counts)
        )
    table = chain.counts.drop(columns="noisy_count")
    hit = weak[support.rows]
    table["probability"] = chain.estimate.probabilities
    table["low"] = np.where(hit, 0.0, np.clip(p - below, 0.0, 1.0))
    table["high"] = np.where(hit, 1.0, np.clip(p + above, 0.0, 1.0))
    return _noted(table, chain, weak)


def stationary_intervals(chain: PrivateChain, level: float = 0.9, target: str = "table") -> pd.DataFrame:
    """Return stationary, low, high by label, of the stationary distribution.

    The centre is that of the signed noisy counts, which differs a little from the estimated chain's.
    """
    level, target = _arguments(chain, level, target)
    P, S, M, weak = _whole(chain)
    closed, _ = classes(chain.estimate.matrix)
    if len(closed) > 1:
        some = ", ".join(repr(chain.labels[states[0]]) for states in closed)
        raise ValueError(f"the released chain must have one class of states that is never left, got those of {some}")
    n = len(P)
    pi = np.linalg.solve((np.eye(n) - P + 1.0 / n).T, np.full(n, 1.0 / n))
    Z = np.linalg.inv(np.eye(n) - P + pi)
    mean = P @ Z
    moved = S @ Z**2 - 2.0 * mean * (S @ Z) + S.sum(axis=1)[:, None] * mean**2
    variance = ((pi / M) ** 2 * chain.noise.variance) @ moved
    if target == "process":
        variance = variance + (pi**2 / M) @ np.maximum(np.maximum(P, 0.0) @ Z**2 - mean**2, 0.0)
    return _table(chain, "stationary", pi, variance, level, weak, 1.0)


def passage_intervals(chain: PrivateChain, to: Any, level: float = 0.9, target: str = "table") -> pd.DataFrame:
    """Return mean_steps, low, high by label, of the mean number of steps to the label `to` (0 from itself)."""
    level, target = _arguments(chain, level, target)
    if to is None:
        raise ValueError("to must be the label to which the steps are counted, got None")
    place = chain.position("to", to)
    P, S, M, weak = _whole(chain)
    steps = csgraph.shortest_path(chain.estimate.matrix.T, indices=place, unweighted=True)
    if np.isinf(steps).any():
        astray = chain.labels[int(np.isinf(steps).argmax())]
        raise ValueError(f"to must be a label that every state leads to, got {to!r}, which {astray!r} never reaches")
    Q = P.copy()
    Q[:, place] = 0.0
    G = np.linalg.inv(np.eye(len(P)) - Q)
    G[place] = 0.0
    m = G.sum(axis=1)
    mean = P @ m
    moved = S @ m**2 - 2.0 * mean * (S @ m) + S.sum(axis=1) * mean**2
    variance = G**2 @ (moved * chain.noise.variance / M**2)
    if target == "process":
        variance = variance + G**2 @ (np.maximum(np.maximum(P, 0.0) @ m**2 - mean**2, 0.0) / M)
    return _table(chain, "mean_steps", m, variance, level, weak, math.inf)


def conditional_interval(noisy: Any, threshold: int, noise: Noise, level: float) -> tuple[Array, Array]:
    """Return bounds on counts >= 1 whose noisy values passed a threshold, each wrong with (1 - level) / 2.

    The low one is the least count c with P(Y >= y | Y >= threshold) >= (1 - level) / 2, the high one the largest with
    P(Y <= y | Y >= threshold) >= (1 - level) / 2; both probabilities are monotone in c.
    """
    threshold, values = checks.integer("threshold", threshold, 1), checks.integers("noisy", noisy, 1)
    level = checks.scalar("level", level, 0.0, 1.0, open_low=True, open_high=True)
    seen, place = np.unique(values, return_inverse=True)
    share = math.log(0.5 * (1.0 - level))

    def upper(c: Array) -> Array:
        """Return log P(Y >= y | Y >= threshold): rises with c."""
        return _log_tail(seen - c, noise) - _log_tail(threshold - c, noise)

    def lower(c: Array) -> Array:
        """Return log P(Y <= y | Y >= threshold): falls with c."""
        return _log_minus(_log_tail(threshold - c, noise), _log_tail(seen + 1 - c, noise)) - _log_tail(
            threshold - c, noise
        )

    reach = np.int64(math.ceil(60.0 * noise.scale) + 60)
    low = _least(lambda c: upper(c) >= share, np.zeros(seen.size, np.int64), seen + reach)
    high = _least(lambda c: lower(c) < share, np.ones(seen.size, np.int64), seen + 2 * reach) - 1
    return np.maximum(low, 1).astype(float)[place], np.maximum(high, 1).astype(float)[place]


def _least(holds: Any, fails: Any, good: Any) -> Any:
    """Return the least integers at which a monotone condition holds; it is taken to hold at `good`."""
    low, high = fails.copy(), good.copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        yes = holds(middle)
        high, low = np.where(yes, middle, high), np.where(yes, low, middle)
    return high


def _log_tail(least: Any, noise: Noise) -> Array:
    """Return log P(Z >= least) for any integers (the Gaussian by the normal law, half a step before)."""
    if noise.mechanism != LAPLACE:
        return log_ndtr((0.5 - least) / noise.scale)
    far = -np.abs(np.where(least >= 1, least, 1 - least)) / noise.scale - math.log1p(math.exp(-1.0 / noise.scale))
    return np.where(least >= 1, far, np.log1p(-np.exp(far)))


def _log_minus(one: Array, other: Array) -> Array:
    """Return log(e^one - e^other) for other < one."""
    return one + np.log(np.maximum(-np.expm1(np.minimum(other - one, 0.0)), 1e-300))


def _arguments(chain: PrivateChain, level: float, target: str) -> tuple[float, str]:
    """Return the checked level and target; the target "process" needs pairs that were not chosen from the data."""
    level = checks.scalar("level", level, 0.0, 1.0, open_low=True, open_high=True)
    target = checks.choice("target", target, TARGETS)
    if target == "process" and chain.statement["threshold"] is not None:
        raise ValueError("target must be 'table' for pairs chosen privately, whose choice depends on the sample")
    return level, target


def _factor(noise: Noise, z: float, level: float) -> float:
    """Return how many standard deviations to take: no fewer than one count's own noise needs."""
    if noise.mechanism != LAPLACE:
        return z
    return max(z, -math.log(1.0 - level) * noise.scale / math.sqrt(noise.variance))


def _centres(chain: PrivateChain) -> Array:
    """Return the counts that errors are measured from: signed, or, of chosen pairs, the conditional medians."""
    if chain.statement["threshold"] is None:
        return chain.noisy.astype(float)
    low, high = conditional_interval(chain.noisy, chain.statement["threshold"], chain.noise, 1e-9)
    return 0.5 * (low + high)


def _whole(chain: PrivateChain) -> tuple[Array, Array, Array, Any]:
    """Return P of the signed counts, the support as 0 and 1, M, and the weak rows, which have the released estimate."""
    n = len(chain.labels)
    if not 1 <= n <= LARGEST:
        raise ValueError(f"intervals of the whole chain need 1 to {LARGEST} labels, the release has {n}")
    support, noise = chain.support, chain.noise
    counts = _centres(chain)
    M = row_sums(counts, support)
    deviation = np.sqrt(noise.variance * np.maximum(support.sizes, 1))
    weak = WEAK * deviation >= M
    P, S = np.zeros((n, n)), np.zeros((n, n))
    S[support.rows, support.indices] = 1.0
    P[support.rows, support.indices] = counts / np.where(weak, 1.0, M)[support.rows]
    P[weak] = chain.estimate.matrix.toarray()[weak]
    return P, S, np.where(weak, np.maximum(M, deviation), M), weak


def _table(
    chain: PrivateChain, name: str, centre: Array, variance: Array, level: float, weak: NDArray[np.bool_], most: float
) -> pd.DataFrame:
    """Return normal intervals at the level, cut to where the quantity can be."""
    half = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(variance)
    table = pd.DataFrame({name: centre}, index=pd.Index(chain.labels, name="label"))
    table["low"], table["high"] = np.clip(centre - half, 0.0, most), np.clip(centre + half, 0.0, most)
    return _noted(table, chain, weak)


def _noted(table: pd.DataFrame, chain: PrivateChain, weak: NDArray[np.bool_]) -> pd.DataFrame:
    table.attrs["weak_rows"] = [chain.labels[i] for i in np.flatnonzero(weak)]
    return table
