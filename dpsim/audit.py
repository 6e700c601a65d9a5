"""A statistical audit of a release: does it leak more than it claims, as far as many draws can show?

For adjacent tables and a claim (epsilon, delta), every event A has P(A) <= e^epsilon Q(A) + delta. The event audited is
the most telling one, that the privacy loss log dP/dQ of the claimed mechanism exceeds epsilon: it follows from the
claim's parameters alone, not from the draws. An audit can find a fault; it proves nothing right, and events too rare to
be seen (delta below about 0.01) escape it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import beta

from dpsim import checks, events, release
from dpsim.checks import Array

Integers = NDArray[np.int64]


def replicated_events(row: ArrayLike, states: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return an event table in which each of many states has the same counts, and its graph of possible pairs.

    row (d,): how many events go from state i to i+1, ..., i+d, modulo `states` > d. Rows are drawn independently, so
    one release of this table is `states` independent draws of one row.
    """
    counts = np.asarray(row, dtype=np.int64)
    states = checks.integer("states", states, counts.size + 1)
    start, step = np.repeat(np.arange(states), counts.size), np.tile(np.arange(1, counts.size + 1), states)
    graph = pd.DataFrame({"origin": start, "destination": (start + step) % states})
    return graph.loc[graph.index.repeat(np.tile(counts, states))].reset_index(drop=True), graph


def released_rows(
    row: ArrayLike, states: int, *, epsilon: float, delta: float, seed: int, totals: str = "public"
) -> tuple[Array, release.PrivateChain]:
    """Return `states` draws (states, d) of one row by the whole way from events to release, and that release."""
    table, graph = replicated_events(row, states)
    trips = events.count_transitions(table, "origin", "destination")
    chain = release.release_chain(
        trips, graph=graph, categories=range(states), epsilon=epsilon, delta=delta, totals=totals, seed=seed
    )
    d = np.size(row)
    place = (chain.support.indices.reshape(states, d) - np.arange(states)[:, None]) % states - 1
    draws = np.empty((states, d))
    np.put_along_axis(draws, place, chain.matrix.data.reshape(states, d), axis=1)
    return draws, chain


def telling(draws: Array, row: ArrayLike, other: ArrayLike, *, epsilon: float, alpha: float, kappa: float) -> Integers:
    """Return for each draw (..., d) whether log Dir(kappa (row + alpha)) - log Dir(kappa (other + alpha)) > epsilon."""
    p = kappa * (np.asarray(row, dtype=float) + alpha)
    q = kappa * (np.asarray(other, dtype=float) + alpha)
    constant = gammaln(p.sum()) - gammaln(q.sum()) - (gammaln(p) - gammaln(q)).sum()
    return (constant + np.log(np.maximum(draws, 1e-300)) @ (p - q) > epsilon).astype(np.int64)


def delta_lower_bound(hits: ArrayLike, other_hits: ArrayLike, draws: int, *, epsilon: float, risk: float) -> Array:
    """Return a lower bound of P(A) - e^epsilon Q(A), wrong with probability at most `risk` (Clopper-Pearson, twice).

    hits, other_hits: how many of `draws` independent draws of P and of Q are in A. Also valid for the mean over
    several pairs when hits are summed over them: a sum of unequal independent Bernoullis has lighter tails than the
    binomial of the same mean (Hoeffding 1956).
    """
    p_hits, q_hits = np.asarray(hits, dtype=float), np.asarray(other_hits, dtype=float)
    low = np.where(p_hits > 0, beta.ppf(0.5 * risk, p_hits, draws - p_hits + 1.0), 0.0)
    high = np.where(q_hits < draws, beta.ppf(1.0 - 0.5 * risk, q_hits + 1.0, np.maximum(draws - q_hits, 1e-9)), 1.0)
    return low - np.exp(epsilon) * high
