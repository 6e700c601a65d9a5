"""What the audits measure with: exact laws, the delta that a claim implies elsewhere,
counts of losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, streams
from dpsim.accounting.audit import LARGEST_EPSILON
from dpsim.checks import Array, Integers


def hockey_stick(p: ArrayLike, q: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return sum_z max(p(z) - e^epsilon q(z), 0), the exact delta of laws p and q (...,
    n) at epsilon.

    epsilon (...) in [0, 700]; p, q probability vectors; they broadcast. Raises
    ValueError.
    """
    epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    p = checks.simplex("p", p)
    q = checks.simplex("q", q)
    return np.maximum(p - np.exp(epsilon)[..., None] * q, 0.0).sum(axis=-1)


def implied_delta(
    epsilon: ArrayLike, spent: ArrayLike, delta: ArrayLike = 0.0
) -> Array:
    """Return the largest delta at epsilon of any mechanism that is (spent,
    delta)-private.

    delta from `spent` on; below it delta + (1 - delta) (e^spent - e^epsilon) / (1 +
    e^spent), attained by randomised response that reveals its input with probability
    delta (Kairouz, Oh, Viswanath 2015, Theorem 2.1 and figure 1). epsilon and spent >=
    0, delta in [0, 1]; they broadcast. Raises ValueError.
    """
    epsilon = checks.real("epsilon", epsilon, 0.0)
    spent = checks.real("spent", spent, 0.0)
    delta = checks.real("delta", delta, 0.0, 1.0)
    below = -np.expm1(np.minimum(epsilon - spent, 0.0)) / (1.0 + np.exp(-spent))
    return delta + (1.0 - delta) * below


def exceedances(
    losses: Callable[[int, np.random.Generator], Array],
    epsilon: ArrayLike,
    draws: int,
    *,
    seed: int,
    name: str,
) -> Integers:
    """Return how many of `draws` privacy losses exceed each epsilon: integers of its
    shape, in 0..draws.

    losses(size, rng): that many log-likelihood ratios log P/Q of draws from one of the
    laws, (size,). They are drawn in chunks of 50,000 over the threads, with streams of
    seed >= 0 and name alone (`streams.in_chunks`).
    """
    levels = checks.real("epsilon", epsilon)

    def count(size: int, rng: np.random.Generator) -> Integers:
        ordered = np.sort(losses(size, rng))
        return size - np.searchsorted(ordered, levels, side="right")

    draws = checks.integer("draws", draws, 1)
    return np.sum(
        streams.in_chunks(count, draws, 50_000, seed=seed, name=name),
        axis=0,
        dtype=np.int64,
    )
