"""Error bars, computed from the released counts and the known noise distribution.

They cost no privacy. There are two targets. The target "table" is the chain of the
table's own counts, for which noise is the only source of error. The target "process" is
the chain behind the table; the table is a sample of that chain's transitions, so
sampling is a second source of error. Let y be the noisy counts, of which some
may be negative. Let M_i be their sum over the d_i pairs of row i, let P = y / M, and
let v be the variance of the noise. By the delta method, the variances are

  a probability            v (1 - 2 P_ij + d_i P_ij^2) / M_i^2 + P_ij (1 - P_ij) / M_i
  stationary distribution  sum_i pi_i^2 V_ik with Z = (I - P + 1 pi)^-1
  V_ik                     v sum_j (Z_jk - (P Z)_ik)^2 / M_i^2 + Var_i(Z_k) / M_i

V_ik is the variance of row i, column k of (change of P) Z, and Var_i is the variance
under the distribution in row i. The second terms (those without v) are added only for
the process. Each interval is clipped to the range of possible values and, if necessary,
widened to contain the point estimate.

If the noisy total of a row is at most three times the standard deviation of the total's
noise (`PrivateChain.weak`), each of the row's probabilities gets the interval [0, 1].
To first order, the stationary distribution is linear in the counts, and the size of the
second-order term follows from the same V. If this term is more than SECOND times the
first-order term for any state, ValueError is raised, because in tests such intervals
had less than their stated coverage. Whether the error is raised depends on the noisy
counts. Therefore the level refers to all releases of a table, including those for which
the error is raised: for each state, at most a fraction of about 1 - level of these
releases have an interval that misses the state's value. If the error is raised for
nearly all releases, most of the few intervals that are returned miss the value.

Pairs that are chosen privately have passed a threshold, so their noisy counts are too
large on average. The interval for such a count comes from inverting the two tails of
the noise distribution, conditional on the count having passed. A quantity that depends
on several such counts is biased, because the pairs that did not pass are missing. The
error bars here do not correct this bias, so ValueError is raised for such a quantity.
"""

from __future__ import annotations

import bisect
import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dpsim import checks
from dpsim.checks import Array, Integers
from dpsim.numerics.search import least_integer
from dpsim_release.discrete_laplace import Noise
from dpsim_release.estimate import row_sums, weak_rows
from dpsim_release.estimated_chain import EstimatedChain

MOST_LABELS = 2_000  # for intervals of the stationary distribution
# the largest ratio of the second order to the first; up to this ratio, the tests find
# the stated coverage (release/tests/test_intervals.py)
SECOND = 0.25
PSEUDO_EVENTS = 1.0  # added to a count before its sampling variance is estimated


def intervals(
    chain: EstimatedChain, of: str, level: float, target: str
) -> pd.DataFrame:
    """Return the table of `PrivateChain.intervals`.

    Raises ValueError if the intervals would have less than their stated coverage.
    """
    checks.choice("of", of, ("stationary", "probabilities", "counts"))
    level = checks.scalar("level", level, 0.0, 1.0, open_low=True, open_high=True)
    checks.choice("target", target, ("table", "process"))
    if of == "counts":
        return count_intervals(chain, level)
    if chain.statement["threshold"] is not None:
        raise ValueError(
            f"of must be 'counts' for pairs chosen privately, got {of!r}: "
            "the pairs that did not pass the threshold are missing, so other intervals "
            "than those of the counts would have less than their stated coverage"
        )
    if of == "probabilities":
        return _probabilities(chain, level, target)
    return _stationary(chain, level, target)


def count_intervals(chain: EstimatedChain, level: float) -> pd.DataFrame:
    """Return the noisy counts with added columns low and high.

    These columns bound the true count of each pair; the level holds for each pair
    separately.
    """
    threshold = chain.statement["threshold"]
    if threshold is None:
        half = half_width(chain.noise, level)
        low = np.maximum(chain.noisy - half, 0)
        high = np.maximum(chain.noisy + half, 0)
    else:
        low, high = conditional_interval(chain.noisy, threshold, chain.noise, level)
    return chain.counts.assign(low=low, high=high)


def half_width(noise: Noise, level: float) -> int:
    """Return the smallest integer that the absolute noise of a count rarely exceeds.

    The noise exceeds this integer with probability at most 1 - level.
    """
    most = math.log((1.0 - level) / 2.0)
    return bisect.bisect_left(
        range(2**62), True, key=lambda half: noise.log_tail(half + 1) <= most
    )


def conditional_interval(
    noisy: Any, threshold: int, noise: Noise, level: float
) -> tuple[Array, Array]:
    """Return lower and upper bounds on counts whose noisy values passed a threshold.

    The counts are at least 1, and each bound is wrong with probability at most (1 -
    level) / 2. The lower bound is the least count c for which P(Y >= y | Y >=
    threshold) >= (1 - level) / 2, and the upper bound is the largest count c for which
    P(Y <= y | Y >= threshold) >= (1 - level) / 2. Both probabilities are monotone in c.
    """
    seen, place = np.unique(np.asarray(noisy, dtype=np.int64), return_inverse=True)
    share = math.log(0.5 * (1.0 - level))

    def upper(c: Integers) -> Array:
        """Return log P(Y >= y | Y >= threshold), which increases with c."""
        return np.asarray(noise.log_tail(seen - c) - noise.log_tail(threshold - c))

    def lower(c: Integers) -> Array:
        """Return log P(Y <= y | Y >= threshold), which decreases with c."""
        above = noise.log_tail(seen + 1 - c) - noise.log_tail(threshold - c)
        return np.log(np.maximum(-np.expm1(np.minimum(above, 0.0)), 1e-300))

    reach = np.int64(math.ceil(60.0 * noise.scale) + 60)
    zeros = np.zeros(seen.size, np.int64)
    first = least_integer(lambda c: upper(c) >= share, zeros, seen + reach)
    above = least_integer(lambda c: lower(c) < share, zeros + 1, seen + 2 * reach)
    low = np.maximum(first, 1).astype(float)
    high = np.maximum(above - 1, 1).astype(float)
    return low[place], high[place]


def _probabilities(chain: EstimatedChain, level: float, target: str) -> pd.DataFrame:
    """Return a table with the columns origin, destination, probability, low and high.

    It has a row for each pair in the support.
    """
    noise = chain.noise
    support = chain.support
    counts = chain.noisy.astype(float)
    weak = weak_rows(support, chain.noisy, noise)
    M = np.where(weak, 1.0, row_sums(counts, support))[support.rows]
    p = counts / M
    others = support.sizes[support.rows] - 1.0
    variance = noise.variance * ((1.0 - p) ** 2 + p * p * others)
    if target == "process":
        events = np.maximum(counts, 0.0) + PSEUDO_EVENTS
        variance = variance + events * np.clip(1.0 - p, 0.0, 1.0)
    # the noise of a single count has heavier tails than the normal distribution
    alone = 0.0
    if noise.variance:
        alone = -math.log(1.0 - level) * noise.scale / math.sqrt(noise.variance)
    half = max(float(ndtri(0.5 + 0.5 * level)), alone) * np.sqrt(variance) / M
    table = chain.counts.drop(columns="noisy_count")
    table["probability"] = chain.estimate.probabilities
    low = np.where(weak[support.rows], 0.0, p - half)
    high = np.where(weak[support.rows], 1.0, p + half)
    return _cut(table, low, high)


def _stationary(chain: EstimatedChain, level: float, target: str) -> pd.DataFrame:
    """Return the columns stationary, low and high by label.

    Raises ValueError unless the second-order term is small compared with the first.
    """
    n = len(chain.labels)
    support = chain.support
    if n > MOST_LABELS:
        raise ValueError(
            "of must be 'probabilities' or 'counts' for more than "
            f"{MOST_LABELS} labels, got {n} labels: error bars of the stationary "
            f"distribution are computed for at most {MOST_LABELS} states"
        )
    table = chain.stationary().to_frame()
    counts = chain.noisy.astype(float)
    M = row_sums(counts, support)
    if (M <= 0.0).any():
        raise ValueError(_REFUSED)
    S = np.zeros((n, n))
    S[support.rows, support.indices] = 1.0
    P = np.zeros((n, n))
    P[support.rows, support.indices] = counts / M[support.rows]
    try:
        pi = np.linalg.solve((np.eye(n) - P + 1.0 / n).T, np.full(n, 1.0 / n))
        Z = np.asarray(np.linalg.solve(np.eye(n) - P + pi, np.eye(n)), dtype=float)
    except np.linalg.LinAlgError:
        raise ValueError(_REFUSED) from None
    mean = P @ Z
    squares = S @ Z**2 - 2.0 * mean * (S @ Z) + S.sum(axis=1)[:, None] * mean**2
    V = np.maximum(squares, 0.0) * chain.noise.variance / M[:, None] ** 2
    if target == "process":
        V = V + np.maximum(np.maximum(P, 0.0) @ Z**2 - mean**2, 0.0) / M[:, None]
    first = pi**2 @ V
    second = pi**2 @ V @ V
    if not np.isfinite(first).all() or (second > SECOND**2 * first).any():
        raise ValueError(_REFUSED)
    largest = np.abs(Z).sum(axis=1).max()
    rounding = 8.0 * np.finfo(float).eps * n * largest * np.abs(pi).max()
    half = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(first) + rounding
    return _cut(table, pi - half, pi + half)


_REFUSED = (
    "of must be 'probabilities' or 'counts' here: the noise is so large in some rows "
    "that error bars of the stationary distribution would have less than their stated "
    "coverage (fewer states, more events or a larger epsilon would help)"
)


def _cut(table: pd.DataFrame, low: Array, high: Array) -> pd.DataFrame:
    """Return the table with an interval added in each row, in the columns low and high.

    The interval is clipped to [0, 1] and widened to contain the value in the table's
    last column.
    """
    point = table.iloc[:, -1].to_numpy()
    table["low"] = np.minimum(np.clip(low, 0.0, 1.0), point)
    table["high"] = np.maximum(np.clip(high, 0.0, 1.0), point)
    return table
