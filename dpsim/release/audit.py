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

from dpsim import accounting, checks, datasets
from dpsim.checks import Array
from dpsim.release import chain as release_chain

Integers = NDArray[np.int64]


def replicated_events(rows: ArrayLike, states: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return an event table in which many states have the same counts, and its graph of possible pairs.

    rows (k, d): state i has the counts of row i modulo k, how many events go to i+1, ..., i+d modulo `states` > d.
    Rows are drawn independently, so one release of this table is states / k independent draws of each of the k rows.
    """
    counts = checks.real("rows", rows, 0.0, 1e6)
    if counts.ndim != 2 or (counts != np.floor(counts)).any():
        raise ValueError(f"rows must be integers of shape (k, d), got {rows!r}"[:200])
    k, d = counts.shape
    states = checks.integer("states", states, d + 1)
    start, step = np.repeat(np.arange(states), d), np.tile(np.arange(1, d + 1), states)
    graph = pd.DataFrame({"origin": start, "destination": (start + step) % states})
    times = counts.astype(np.int64)[np.arange(states) % k].ravel()
    return graph.loc[np.repeat(np.arange(states * d), times)].reset_index(drop=True), graph


def released_rows(
    rows: ArrayLike, draws: int, *, epsilon: float, delta: float, seed: int, totals: str = "public"
) -> tuple[Array, release_chain.PrivateChain]:
    """Return `draws` draws (draws, k, d) of each of the rows (k, d) by the whole way from events to release, and that.

    The k rows are released together, with one alpha and kappa. k draws > d.
    """
    k, d = np.shape(rows)
    states = k * checks.integer("draws", draws, 1)
    table, graph = replicated_events(rows, states)
    trips = datasets.count_transitions(table, "origin", "destination")
    chain = release_chain.release_chain(
        trips, graph=graph, categories=range(states), epsilon=epsilon, delta=delta, totals=totals, seed=seed
    )
    place = (chain.support.indices.reshape(states, d) - np.arange(states)[:, None]) % states - 1
    ordered = np.empty((states, d))
    np.put_along_axis(ordered, place, chain.matrix.data.reshape(states, d), axis=1)
    return ordered.reshape(draws, k, d), chain


def telling(draws: Array, row: ArrayLike, other: ArrayLike, *, epsilon: float, alpha: float, kappa: float) -> Integers:
    """Return for each draw (..., d) whether log Dir(kappa (row + alpha)) - log Dir(kappa (other + alpha)) > epsilon.

    row, other (..., d) broadcast with the draws.
    """
    p = kappa * (np.asarray(row, dtype=float) + alpha)
    q = kappa * (np.asarray(other, dtype=float) + alpha)
    constant = gammaln(p.sum(axis=-1)) - gammaln(q.sum(axis=-1)) - (gammaln(p) - gammaln(q)).sum(axis=-1)
    loss = constant + (np.log(np.maximum(draws, 1e-300)) * (p - q)).sum(axis=-1)
    return (loss > epsilon).astype(np.int64)


def audited(
    draws: Array,
    other_draws: Array,
    rows: ArrayLike,
    others: ArrayLike,
    *,
    epsilon: float,
    alpha: float,
    kappa: float,
    risk: float,
) -> tuple[Array, float]:
    """Return lower bounds of delta at epsilon: of each pair of rows (k,), and of their mean.

    draws, other_draws (m, k, d) of rows and others (k, d); alpha, kappa as claimed. All k + 1 bounds hold at once but
    with probability `risk`. The bound of the mean sums the hits: a sum of unequal independent Bernoullis has lighter
    tails than the binomial of the same mean (Hoeffding 1956).
    """
    settings = {"epsilon": epsilon, "alpha": alpha, "kappa": kappa}
    hits = [telling(x, rows, others, **settings).sum(axis=0) for x in (draws, other_draws)]
    m, k = draws.shape[:2]
    share = risk / (k + 1)
    each, _ = accounting.delta_bounds(epsilon, hits[0], hits[1], m, share / 2)
    pooled, _ = accounting.delta_bounds(epsilon, hits[0].sum(), hits[1].sum(), m * k, share / 2)
    return each, float(pooled)
