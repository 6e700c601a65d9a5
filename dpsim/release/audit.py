"""A statistical audit of releases: do they leak more than they claim, as far as many draws can show?

For neighbouring tables P and Q and a claim (epsilon, delta), every event A has P(A) <= e^epsilon Q(A) + delta. The
event audited is the most telling one, that the privacy loss log dP/dQ of the claimed mechanism exceeds a level: it
follows from the claim and the two tables alone, not from the draws. An audit can find a fault; it proves nothing right,
and events too rare to be seen (delta below about 0.01) escape it.

Many copies of a unit, each with states of its own, make one release as good as many: the noises of different counts
are independent, and nothing else is random.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim import accounting, checks
from dpsim.accounting.units import LAPLACE, Noise
from dpsim.checks import Array


def replicated(events: pd.DataFrame, copies: int) -> pd.DataFrame:
    """Return a table of events (columns unit, origin, destination) as many times, copy k with units and states k:name.

    Examples
    --------
    >>> replicated(pd.DataFrame({"unit": ["u"], "origin": ["a"], "destination": ["b"]}), 2)
      unit origin destination
    0  0:u    0:a         0:b
    1  1:u    1:a         1:b
    """
    copies = checks.integer("copies", copies, 1)
    number = pd.Series(np.repeat(np.arange(copies), len(events)).astype(str))
    tiled = pd.concat([events[["unit", "origin", "destination"]].astype(str)] * copies, ignore_index=True)
    return tiled.apply(lambda column: number + ":" + column)


def privacy_loss(noisy: ArrayLike, counts: ArrayLike, others: ArrayLike, noise: Noise) -> Array:
    """Return log P/Q of noisy counts (..., cells) under the noise claimed, about `counts` (P) against `others` (Q)."""
    y, p, q = checks.real("noisy", noisy), checks.real("counts", counts), checks.real("others", others)
    if noise.mechanism == LAPLACE:
        return (np.abs(y - q) - np.abs(y - p)).sum(axis=-1) / noise.scale
    return ((y - q) ** 2 - (y - p) ** 2).sum(axis=-1) / (2.0 * noise.scale**2)


def delta_lower_bound(losses: ArrayLike, other_losses: ArrayLike, epsilon: float, risk: float) -> float:
    """Return a lower bound of delta(epsilon), wrong with probability `risk`: from losses of draws of P and of Q.

    Independent draws of one law each; the event is that the loss exceeds epsilon (with Clopper-Pearson bounds).
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 700.0)
    risk = checks.scalar("risk", risk, 0.0, 1.0, open_low=True, open_high=True)
    first, second = checks.numeric("losses", losses), checks.numeric("other_losses", other_losses)  # infinite ones too
    if np.isnan(first).any() or np.isnan(second).any():
        raise ValueError("losses and other_losses must be numbers, got nan")
    if first.size != second.size or not first.size:
        raise ValueError(f"losses must be as many as other_losses, at least one, got {first.size} and {second.size}")
    hits = [int((array > epsilon).sum()) for array in (first, second)]
    return float(accounting.delta_bounds(epsilon, hits[0], hits[1], first.size, risk / 2)[0])
