"""A private Markov chain from counts of transitions: noisy integer counts, and the chain estimated from them.

The proofs of its privacy are in dpsim.release.noise. A release contains the noisy counts of the pairs of a support. A
declared support (all pairs, or a graph) is public, and each of its pairs has a noisy count, whether it occurs or not.
When pairs are chosen privately, a pair is released if its noisy count reaches a threshold, which costs delta. Their
labels are either declared or those of the released pairs. Everything else (the estimated chain, its error bars, walks)
is computed from the noisy counts and from public arguments.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dpsim import checks, markov
from dpsim.checks import Array, Integers
from dpsim.markov.sparse import classes
from dpsim.private import round_up
from dpsim.release import draws, estimate, intervals, statement
from dpsim.release import support as supports
from dpsim.release.budget import Limit, spend
from dpsim.release.labels import positions
from dpsim.release.noise import Noise, laplace_noise, pair_threshold
from dpsim.release.support import PrivatePairs, Support
from dpsim.release.table import Counts
from dpsim.release.unit import Unit

_NO_LABELS = "the release has no labels: no pair passed the threshold"


@dataclass(frozen=True, eq=False, repr=False)
class PrivateChain:
    """A released chain, all of which may be published unless it is a simulation.

    The released files determine the chain, so a chain that is read back equals the one that was written.

    Parameters
    ----------
    support : Support, the labels and the pairs that have a noisy count
    noisy : (pairs,) integers, the noisy counts, aligned with the support; they may be negative
    statement : dict, the facts in statement.json, such as epsilon, delta, mechanism, scale, unit, support and versions
    """

    support: Support
    noisy: Integers
    statement: dict[str, Any]

    def __repr__(self) -> str:
        s = self.statement
        said = f"{len(self.labels)} labels, {self.noisy.size} pairs, "
        said += f"epsilon {round_up(s['epsilon'], '.4g')}, delta {round_up(s['delta'], '.3g')}"
        return f"PrivateChain({said}{', SIMULATION' if s['simulation'] else ''})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivateChain) or self.statement != other.statement:
            return False
        return self.labels == other.labels and self.counts.equals(other.counts)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the states, in the order of the matrix."""
        return self.support.labels

    @property
    def noise(self) -> Noise:
        """The distribution of the noise in the counts."""
        return Noise(self.statement["scale"], self.statement["epsilon"])

    @cached_property
    def estimate(self) -> estimate.Estimate:
        """The estimated chain as scipy.sparse, the probabilities of the support's pairs, and the empty rows."""
        return estimate.estimate_chain(self.support, self.noisy, self.noise)

    @property
    def empty(self) -> list[Any]:
        """The labels whose rows have no usable counts and were therefore filled by the rule in the statement."""
        return [self.labels[i] for i in self.estimate.empty]

    @property
    def weak(self) -> list[Any]:
        """The labels whose rows carry no information, because their noisy totals are at most three standard deviations
        of their noise."""
        return [
            self.labels[i]
            for i in np.flatnonzero(
                estimate.weak_rows(self.support, self.noisy, self.noise)
            )
        ]

    @property
    def counts(self) -> pd.DataFrame:
        """The noisy counts, as a table with the columns origin, destination and noisy_count."""
        origin, destination = map(self.named, (self.support.rows, self.support.indices))
        return pd.DataFrame(
            {"origin": origin, "destination": destination, "noisy_count": self.noisy}
        )

    @property
    def pairs(self) -> pd.DataFrame:
        """The estimated chain, as a table with the columns origin, destination and probability."""
        matrix = self.estimate.matrix.tocoo()
        origin, destination = map(self.named, matrix.coords)
        return pd.DataFrame(
            {"origin": origin, "destination": destination, "probability": matrix.data}
        )

    @property
    def matrix(self) -> pd.DataFrame | sparse.csr_array:
        """The transition matrix, as a labelled DataFrame or, for more than 3,000 labels, a scipy.sparse csr array."""
        P = self.estimate.matrix
        if len(self.labels) > supports.MOST_LABELS:
            return P
        return pd.DataFrame(
            P.toarray(),
            *(pd.Index(self.labels, name=end) for end in ("origin", "destination")),
        )

    @cached_property
    def closed_classes(self) -> tuple[list[Integers], Integers]:
        """At most ten of the classes of states that the estimated chain never leaves, and all transient states."""
        return classes(self.estimate.matrix)

    def stationary(self) -> pd.Series:
        """Return the stationary distribution by label (0 on transient states); raise ValueError if it is not unique."""
        if not self.labels:
            raise ValueError(_NO_LABELS)
        closed, _ = self.closed_classes
        if len(closed) > 1:
            some = ", ".join(repr(self.labels[states[0]]) for states in closed)
            raise ValueError(
                f"the chain must have one class of states that is never left, got those of {some}"
            )
        pi = markov.stationary_distribution(self.estimate.matrix)
        return pd.Series(
            pi, index=pd.Index(self.labels, name="label"), name="stationary"
        )

    def departures(self) -> Array:
        """Return the share of events that begin in each state (n,), computed from the noisy counts."""
        weights = np.maximum(
            estimate.row_sums(self.noisy.astype(float), self.support), 0.0
        )
        return (
            weights / weights.sum()
            if weights.any()
            else np.full(len(self.labels), 1.0 / max(len(self.labels), 1))
        )

    def named(self, places: Integers) -> pd.Series:
        """Return the labels of the states at these places, as integers if all of them are integers, else as text."""
        labels = pd.Series(self.labels, dtype=None if self.labels else str)
        return labels.iloc[np.asarray(places, dtype=np.int64)].reset_index(drop=True)

    @property
    def text(self) -> str:
        """The statement in words."""
        return statement.in_words(self)

    def walk(
        self, n: int, start: Any = None, rng: np.random.Generator | int | None = None
    ) -> list[Any]:
        """Return a random walk of n steps as a list of n + 1 labels.

        start: the first label, or None to draw it from `departures`.
        """
        generator = checks.generator(rng)
        if not self.labels:
            raise ValueError(_NO_LABELS)
        if start is None:
            first = int(generator.choice(len(self.labels), p=self.departures()))
        elif (
            first := int(positions(pd.Series([start], dtype=object), self.labels)[0])
        ) < 0:
            raise ValueError(
                f"start must be one of the {len(self.labels)} labels, got {start!r}"
            )
        return self.named(
            markov.random_walk(self.estimate.matrix, first, n, rng=generator)
        ).tolist()

    def synthetic(
        self, moves: int, rng: np.random.Generator | int | None = None
    ) -> pd.DataFrame:
        """Return a table of independent synthetic moves of one step each, with the columns origin and destination."""
        generator, moves = checks.generator(rng), checks.integer("moves", moves, 0)
        if moves and not self.labels:
            raise ValueError(_NO_LABELS)
        origin = generator.choice(len(self.labels), size=moves, p=self.departures())
        P = self.estimate.matrix
        destination = (
            markov.random_walk(P, origin, 1, size=moves, rng=generator)[:, 1]
            if moves
            else origin
        )
        return pd.DataFrame(
            {"origin": self.named(origin), "destination": self.named(destination)}
        )

    def intervals(
        self, of: str = "stationary", *, level: float = 0.9, target: str = "table"
    ) -> pd.DataFrame:
        """Return error bars, which are computed from the released counts and so cost no privacy.

        They describe the counts after any limit on a unit's events. dpsim.release.intervals has the formulas. Error
        bars of the stationary distribution raise a ValueError if the noise is large. For each state, at most
        a share of about 1 - level of all releases, including those that are refused, gives an interval that does not
        contain the state's value. If nearly all releases are refused, most of the few intervals that are given miss it.

        of: "stationary" for the stationary distribution, "probabilities" for each transition probability, or "counts"
        for each count. Pairs chosen privately have error bars only for counts.
        level: in (0, 1).
        target: "table" for the chain of the table's own counts, or "process" for the process behind the table, of which
        the counts are a sample.
        """
        return intervals.intervals(self, of, level, target)


def release_chain(
    counts: Counts,
    *,
    epsilon: float,
    delta: float = 0.0,
    support: Support | PrivatePairs | None = None,
    budget: str | os.PathLike[str] | None = None,
    limit: Limit | None = None,
    rng: np.random.Generator | int | None = None,
) -> PrivateChain:
    """Return a private chain made from noisy integer counts, which protects each unit with (epsilon, delta) in total.

    The chain and its statement may be published. `privatize` counts, releases and writes in one call.

    Parameters
    ----------
    counts : Counts
        From `count_transitions`, or `Counts(trips)` for counts whose unit is one event. Events outside the support are
        left out.
    epsilon, delta : float, epsilon from 1e-6 to 1e6 and delta in [0, 1); only pairs chosen privately spend delta
    support : Support or PrivatePairs
        From `all_pairs`, `declared_graph` or `private_pairs`. With None the pairs are chosen privately, and the labels
        are those of the released pairs.
    budget : path of a file in which the release is recorded before anything is drawn (dpsim.release.budget)
    limit : Limit, the most that all releases of the data may spend; needed if the budget file does not exist yet
    rng : Generator or int for a simulation, which spends nothing and must not be published; None for a real release

    Examples
    --------
    >>> trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 400]})
    >>> release_chain(Counts(trips), epsilon=1.0, support=supports.all_pairs(["a", "b"]), rng=1)
    PrivateChain(2 labels, 4 pairs, epsilon 1, delta 0, SIMULATION)
    """
    support = PrivatePairs(None) if support is None else support
    if not isinstance(counts, Counts):
        raise TypeError(
            f"counts must be Counts, as count_transitions gives them, got {type(counts).__name__}"
        )
    generator = None if rng is None else checks.generator(rng)
    noise, threshold, spent = losses(epsilon, delta, counts.unit, support)
    facts = statement.facts(
        noise, counts.unit, threshold, spent, counts.moves, generator is not None
    )
    if budget is not None and generator is None:
        spend(budget, epsilon=noise.epsilon, delta=spent, unit=counts.unit, limit=limit)
    if isinstance(support, PrivatePairs):
        found, noisy = _private_pairs(counts, support, noise, threshold or 0, generator)
    else:
        numbers, _ = supports.counts_on(counts.trips, support)
        found, noisy = support, _noisy(numbers, noise, counts.unit, generator)
    facts |= {"support": found.kind, "pairs": int(noisy.size)}
    return PrivateChain(
        found,
        noisy,
        facts | {"estimate": estimate.rule(found), "empty_rows": estimate.EMPTY_RULE},
    )


def losses(
    epsilon: float, delta: float, unit: Unit, support: Any
) -> tuple[Noise, int | None, float]:
    """Return the noise of a release, the threshold for pairs chosen privately, and the delta that the choice spends."""
    if not isinstance(support, Support | PrivatePairs):
        how = "all_pairs, declared_graph or private_pairs, so that no pair is read from the data"
        raise TypeError(f"support must be made by {how}, got {type(support).__name__}")
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    noise = laplace_noise(epsilon, unit.events)
    if isinstance(support, Support):
        return noise, None, 0.0
    if delta == 0.0:
        raise ValueError(
            "delta must be above 0 (for instance 1e-6), got 0, because the pairs are chosen privately"
        )
    return noise, *pair_threshold(noise, unit.events, delta)


def _noisy(
    numbers: Integers, noise: Noise, unit: Unit, generator: np.random.Generator | None
) -> Integers:
    """Return the counts plus noise, for a unit that may change their sum by at most `unit.events`."""
    return draws.noisy_counts(
        np.minimum(numbers, draws.LARGEST_COUNT), noise, generator, events=unit.events
    )


def _private_pairs(
    counts: Counts,
    wanted: PrivatePairs,
    noise: Noise,
    threshold: int,
    generator: np.random.Generator | None,
) -> tuple[Support, Integers]:
    """Return the pairs whose noisy count reaches the threshold, and these counts."""
    labels, rows, columns, numbers = supports.pair_counts(counts.trips, wanted.labels)
    noisy = _noisy(numbers, noise, counts.unit, generator)
    kept = noisy >= threshold
    rows, columns, noisy = rows[kept], columns[kept], noisy[kept]
    if wanted.labels is None:
        used, places = np.unique(np.append(rows, columns), return_inverse=True)
        labels = tuple(labels[i] for i in used)
        rows, columns = places[: rows.size], places[rows.size :]
    kind = supports.PRIVATE_LABELS if wanted.labels is None else supports.PRIVATE_PAIRS
    found, order = supports.from_pairs(labels, rows, columns, kind)
    return found, noisy[order]
