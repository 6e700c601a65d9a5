"""The private Markov chain of a release, made from noisy counts of transitions.

A release contains noisy counts of the pairs in a support;
dpsim_release.discrete_laplace proves that it is private. A declared support (all pairs,
or a graph) is public, and each of its pairs gets a noisy count, whether or not the pair
occurs. When pairs are chosen privately, a pair that occurs is released if its noisy
count reaches a threshold, and this choice costs delta. The labels are then either
declared or taken from the released pairs. Everything else (the estimated chain, its
error bars, walks) is computed from the noisy counts and from public arguments.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks
from dpsim.checks import Integers
from dpsim_release import estimate as estimates
from dpsim_release import intervals, statement
from dpsim_release import support as supports
from dpsim_release.budget import Limit, spend
from dpsim_release.discrete_laplace import (
    LARGEST_COUNT,
    Noise,
    laplace_noise,
    noisy_counts,
    pair_threshold,
)
from dpsim_release.estimated_chain import EstimatedChain
from dpsim_release.support import PrivatePairs, Support
from dpsim_release.table import Counts
from dpsim_release.unit import Unit


class PrivateChain(EstimatedChain):
    """A released Markov chain, which may be published unless it is a simulation.

    `dpsim_release.load` returns a chain that equals the one that was written. The
    arguments are those of `EstimatedChain`.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivateChain) or self.statement != other.statement:
            return False
        return self.labels == other.labels and self.counts.equals(other.counts)

    @property
    def text(self) -> str:
        """The statement in words."""
        return statement.in_words(self)

    def intervals(
        self, of: str = "stationary", *, level: float = 0.9, target: str = "table"
    ) -> pd.DataFrame:
        """Return error bars, which are computed from the release at no cost in privacy.

        They describe the counts that remain after any limit on a unit's events;
        dpsim_release.intervals gives the formulas. For the stationary distribution,
        ValueError is raised if the noise is large. The level refers to all releases of
        a table, including those for which ValueError is raised: for each state, at most
        a fraction of about 1 - level of these releases have an interval that misses the
        state's value. If ValueError is raised for nearly all releases, most of the few
        intervals that are returned miss the value.

        Parameters
        ----------
        of : str
            "stationary" for the stationary distribution, "probabilities" for each
            transition probability, or "counts" for each count. For pairs chosen
            privately, only the counts have error bars.
        level : float in (0, 1)
        target : str
            "table" for the chain of the table's own counts, or "process" for the
            process of which the table is a sample.

        Returns
        -------
        DataFrame
            A row for each state or pair, with the value, `low` and `high`.
        """
        return intervals.intervals(self, of, level, target)


def release_chain(
    counts: Counts,
    *,
    epsilon: float,
    delta: float = 0.0,
    support: Support | PrivatePairs | None = None,
    estimate: str = estimates.LEARNED,
    budget: str | os.PathLike[str] | None = None,
    limit: Limit | None = None,
    rng: np.random.Generator | int | None = None,
) -> PrivateChain:
    """Return a Markov chain that is (epsilon, delta)-differentially private per unit.

    The chain and its statement may be published unless `rng` is given. `privatize`
    counts, releases and writes in one call.

    Parameters
    ----------
    counts : Counts
        The counts from `count_transitions` or `count_trajectories`, or `Counts(trips)`
        if the unit is one event. Events outside the support are left out.
    epsilon : float from 1e-6 to 1e6
    delta : float in [0, 1), which is spent only if pairs are chosen privately
    support : Support or PrivatePairs
        A support from `all_pairs` or `declared_graph`, or a request from
        `private_pairs`. If None, the pairs are chosen privately, and the labels are
        those of the released pairs.
    estimate : str
        "learned" for the rule in dpsim_release.estimate, or "plain": negative noisy
        counts are set to 0, and then each row is normalised. Choose it before you look
        at the data.
    budget : str or path
        The file in which the release is recorded before anything is sampled
        (dpsim_release.budget).
    limit : Limit
        The largest total loss that all releases of the data may spend. A limit is
        needed if the budget file does not exist yet.
    rng : Generator or int, optional
        A generator or a seed for a simulation, which spends nothing and must not be
        published. For a real release, leave it None.

    Returns
    -------
    PrivateChain, with a (n, n) matrix for n labels

    Examples
    --------
    >>> ends = {"origin": ["a", "b"], "destination": ["b", "a"]}
    >>> counts = Counts(pd.DataFrame(ends | {"trips": [500, 400]}))
    >>> pairs = supports.all_pairs(["a", "b"])
    >>> release_chain(counts, epsilon=1.0, support=pairs, rng=1)
    PrivateChain(2 labels, 4 pairs, epsilon 1, delta 0, SIMULATION)
    """
    support = PrivatePairs(None) if support is None else support
    if not isinstance(counts, Counts):
        raise TypeError(
            "counts must be Counts, as count_transitions gives them, "
            f"got {type(counts).__name__}"
        )
    generator = None if rng is None else checks.generator(rng)
    checks.choice("estimate", estimate, estimates.KINDS)
    noise, threshold, spent = losses(epsilon, delta, counts.unit, support)
    facts = statement.facts(
        noise, counts.unit, threshold, spent, counts.moves, generator is not None
    )
    if budget is not None and generator is None:
        spend(budget, epsilon=noise.epsilon, delta=spent, unit=counts.unit, limit=limit)
    if isinstance(support, PrivatePairs):
        released, noisy = _private_pairs(
            counts, support, noise, threshold or 0, generator
        )
    else:
        released = support
        numbers, _ = supports.counts_on(counts.trips, support)
        noisy = _noisy(numbers, noise, counts.unit, generator)
    facts["support"] = released.kind
    facts["pairs"] = int(noisy.size)
    facts["estimate"] = estimates.rule(released, estimate)
    facts["empty_rows"] = estimates.EMPTY_RULE
    chain = PrivateChain(released, noisy, facts)
    facts |= statement.of_rows(chain)
    return chain


def losses(
    epsilon: float, delta: float, unit: Unit, support: Any
) -> tuple[Noise, int | None, float]:
    """Return the noise of a release, the threshold for its pairs, and the delta spent.

    With a declared support, the threshold is None and the delta is 0.
    """
    if not isinstance(support, Support | PrivatePairs):
        raise TypeError(
            "support must be made by all_pairs, declared_graph or private_pairs, so "
            f"that no pair is read from the data, got {type(support).__name__}"
        )
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    noise = laplace_noise(epsilon, unit.events)
    if isinstance(support, Support):
        return noise, None, 0.0
    if delta == 0.0:
        raise ValueError(
            "delta must be above 0 (for instance 1e-6), got 0, because the pairs are "
            "chosen privately"
        )
    return noise, *pair_threshold(noise, unit.events, delta)


def _noisy(
    numbers: Integers, noise: Noise, unit: Unit, generator: np.random.Generator | None
) -> Integers:
    """Return the counts, each clipped at `LARGEST_COUNT`, with noise added."""
    numbers = np.minimum(numbers, LARGEST_COUNT)
    return noisy_counts(numbers, noise, generator, events=unit.events)


def _private_pairs(
    counts: Counts,
    request: PrivatePairs,
    noise: Noise,
    threshold: int,
    generator: np.random.Generator | None,
) -> tuple[Support, Integers]:
    """Return the pairs that pass the threshold, and their noisy counts.

    The pairs are returned as a support, and the counts in the order of its pairs.
    """
    labels, rows, columns, numbers = supports.pair_counts(counts.trips, request.labels)
    noisy = _noisy(numbers, noise, counts.unit, generator)
    passes = noisy >= threshold
    rows = rows[passes]
    columns = columns[passes]
    noisy = noisy[passes]
    kind = supports.PRIVATE_PAIRS
    if request.labels is None:
        kind = supports.PRIVATE_LABELS
        used, places = np.unique(np.append(rows, columns), return_inverse=True)
        labels = tuple(labels[i] for i in used)
        rows, columns = np.split(places, 2)
    released, order = supports.from_pairs(labels, rows, columns, kind)
    return released, noisy[order]
