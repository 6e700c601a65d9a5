"""A private Markov chain from a table of transitions: noisy integer counts, and what is estimated from them.

Why it is private: dpsim.accounting.units has the proofs. Released are the noisy counts on a public support:
  all pairs, a declared graph   every pair has a noisy count, seen or not;
  pairs chosen privately        those whose noisy count reaches a threshold, which costs delta; the labels are declared,
                                or those of the chosen pairs.
Everything else is computed from these and from public arguments: the estimate of the chain, its error bars, walks.
"""

from __future__ import annotations

import decimal
import functools
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from dpsim import accounting, checks, datasets, markov
from dpsim.accounting.units import EVENT, LAPLACE, Noise, Unit
from dpsim.checks import Array
from dpsim.datasets import limits as data_limits
from dpsim.private import SIMULATION
from dpsim.release import draws, estimate, intervals
from dpsim.release import support as supports
from dpsim.release.budget import Limit, as_dict, spend
from dpsim.release.support import PrivatePairs, Support

Integers = NDArray[np.int64]

RELEASED = "private release"
WORTH_A_WARNING = 10.0  # epsilon
_PACKAGES = ("dpsim-compendium", "numpy", "scipy", "pandas", "opendp", "dp-accounting", "ibis-framework", "duckdb")
_WORDS = {
    "add-remove": "the unit is in the table or not",
    "replace": "the unit's events end elsewhere; that they are there and where they begin, and with it the row totals, "
    "is public",
}


_ENTROPY = "OpenDP, whose bits come from OpenSSL's generator with a key from the operating system"


@dataclass(frozen=True, eq=False, repr=False)
class PrivateChain:
    """A released chain: everything in it may be published, unless it is a simulation.

    It is determined by what is released, so one read back from its files equals the one written.

    Parameters
    ----------
    support : Support
        The labels and the pairs that have a noisy count.
    noisy : (pairs,) integers
        The noisy counts, aligned with the support; they may be negative.
    statement : dict
        Mechanism, scale, budget, unit, adjacency, support, versions, whether it is a simulation: for statement.json.
    totals : (n,) integers or None
        The row totals where they are public, as they were given.
    """

    support: Support
    noisy: Integers
    statement: dict[str, Any]
    totals: Integers | None = None

    def __repr__(self) -> str:
        s = self.statement
        return (
            f"PrivateChain({len(self.labels)} labels, {self.noisy.size} pairs, epsilon {s['epsilon']:.4g}, "
            f"delta {s['delta']:.3g}, {s['mechanism']}{', SIMULATION' if s['simulation'] else ''})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivateChain):
            return NotImplemented
        same = self.labels == other.labels and self.statement == other.statement
        mine, theirs = (
            (c.support.indptr, c.support.indices, c.noisy, () if c.totals is None else c.totals) for c in (self, other)
        )
        return same and all(np.array_equal(a, b) for a, b in zip(mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the states, in the order of the matrix."""
        return self.support.labels

    @property
    def noise(self) -> Noise:
        """The law of the noise in the counts."""
        s = self.statement
        return Noise(s["mechanism"], s["scale"], s["epsilon"], s["delta"])

    @cached_property
    def estimate(self) -> estimate.Estimate:
        """The estimated chain as scipy.sparse, the probabilities of the support's pairs, and the empty rows."""
        return estimate.estimated(self.support, self.noisy, self.noise, self.totals)

    @property
    def empty(self) -> list[Any]:
        """The labels whose rows have no positive noisy count, and were filled by the rule of the statement."""
        return [self.labels[i] for i in self.estimate.empty]

    @property
    def counts(self) -> pd.DataFrame:
        """The noisy counts: columns origin, destination, noisy_count."""
        origin, destination = (self._named(place) for place in (self.support.rows, self.support.indices))
        return pd.DataFrame({"origin": origin, "destination": destination, "noisy_count": self.noisy})

    @property
    def pairs(self) -> pd.DataFrame:
        """The estimate: columns origin, destination, probability, of the pairs of positive probability."""
        matrix = self.estimate.matrix.tocoo()
        seen = matrix.data > 0.0
        origin, destination = (self._named(place[seen]) for place in matrix.coords)
        return pd.DataFrame({"origin": origin, "destination": destination, "probability": matrix.data[seen]})

    @property
    def text(self) -> str:
        """The statement in words."""
        return in_words(self)

    @property
    def matrix(self) -> pd.DataFrame | sparse.csr_array:
        """The transition matrix: a labelled DataFrame, or scipy.sparse csr for more than 3,000 labels."""
        P = self.estimate.matrix
        if len(self.labels) > supports.LARGEST_DENSE:
            return P
        index = pd.Index(self.labels, name="origin")
        return pd.DataFrame(P.toarray(), index=index, columns=pd.Index(self.labels, name="destination"))

    def stationary(self) -> pd.Series:
        """Return the stationary distribution by label; ValueError where the estimated chain is not irreducible."""
        if not self.labels:
            raise ValueError("the release has no labels: no pair passed the threshold")
        pi = markov.stationary_distribution(self.estimate.matrix)
        return pd.Series(pi, index=pd.Index(self.labels, name="label"), name="stationary")

    def departures(self) -> Array:
        """Return the share of events that begin in each state (n,): from the public totals, or the noisy counts."""
        weights = self.totals if self.totals is not None else estimate.row_sums(self.noisy.astype(float), self.support)
        weights = np.maximum(weights, 0.0)
        return weights / weights.sum() if weights.any() else np.full(len(self.labels), 1.0 / max(len(self.labels), 1))

    def walk(self, n: int, start: Any = None, rng: np.random.Generator | int | None = None) -> list[Any]:
        """Return a walk of n steps as labels, start included; start: a label, or None to draw one of `departures`."""
        generator = checks.generator(rng)
        if start is None:
            first = int(generator.choice(len(self.labels), p=self.departures()))
        else:
            first = self.position("start", start)
        return self._named(markov.random_walk(self.estimate.matrix, first, n, rng=generator)).tolist()

    def position(self, name: str, label: Any) -> int:
        """Return the place of a label among the labels, 7 as well as "7"; ValueError naming the argument otherwise."""
        place = int(datasets.positions(pd.Series([label], dtype=object), self.labels)[0])
        if place < 0:
            shown = ", ".join(map(repr, self.labels[:5])) + (", ..." if len(self.labels) > 5 else "")
            raise ValueError(f"{name} must be one of the {len(self.labels)} labels ({shown}), got {label!r}")
        return place

    def synthetic(self, trips: int, rng: np.random.Generator | int | None = None) -> pd.DataFrame:
        """Return a table of independent synthetic trips: columns origin, destination."""
        generator, trips = checks.generator(rng), checks.integer("trips", trips, 0)
        P = self.estimate.matrix
        origin = generator.choice(len(self.labels), size=trips, p=self.departures())
        destination = markov.random_walk(P, origin, 1, size=trips, rng=generator)[:, 1] if trips else origin
        return pd.DataFrame({"origin": self._named(origin), "destination": self._named(destination)})

    def to_quantecon(self) -> Any:
        """Return the chain as a quantecon.MarkovChain with the labels as state values (quantecon must be installed)."""
        from quantecon import MarkovChain

        return MarkovChain(self.estimate.matrix.toarray(), state_values=list(self.labels))

    def intervals(
        self, of: str = "stationary", *, level: float = 0.9, target: str = "table", to: Any = None
    ) -> pd.DataFrame:
        """Return error bars, which cost no privacy (dpsim.release.intervals).

        Parameters
        ----------
        of : "stationary", "probabilities" or "passage"
            Of the stationary distribution, of each probability, or of the mean number of steps to the label `to`.
        level : float in (0, 1)
        target : "table" or "process"
            The chain of the table's own counts, or the one behind the table, of which these are a sample.
        """
        checks.choice("of", of, ("stationary", "probabilities", "passage"))
        if of == "passage":
            return intervals.passage_intervals(self, to, level, target)
        if of == "probabilities":
            return intervals.probability_intervals(self, level, target)
        return intervals.stationary_intervals(self, level, target)

    def _named(self, places: Integers) -> Any:
        labels = pd.Series(list(self.labels), dtype=None if self.labels else object)
        return labels.to_numpy()[np.asarray(places, dtype=np.int64)]


def release_chain(
    trips: pd.DataFrame,
    *,
    epsilon: float,
    delta: float = 0.0,
    support: Support | PrivatePairs | None = None,
    unit: Unit = EVENT,
    mechanism: str | None = None,
    totals: Mapping[Any, int] | pd.Series | None = None,
    limited: bool = False,
    budget: str | os.PathLike[str] | None = None,
    limit: Limit | None = None,
    rng: np.random.Generator | int | None = None,
) -> PrivateChain:
    """Return a private chain: noisy integer counts, (epsilon, delta) in all for a unit.

    Parameters
    ----------
    trips : DataFrame
        Columns origin, destination, trips, as `datasets.count_transitions` gives them, with the record of what was
        kept of each unit. Events outside the support are left out.
    epsilon : float, from 1e-6 to 1e6
    delta : float in [0, 1)
        0 allows discrete Laplace noise on a declared support alone.
    support : Support or PrivatePairs
        From `all_pairs`, `declared_graph` or `private_pairs`; None: pairs chosen privately, which give the labels.
    unit : accounting.Unit
        Whose presence is protected. Unless it is one event, the counts' record must be at least as strict.
    mechanism : "discrete Laplace" or "discrete Gaussian"
        None: the one with the smaller expected error at the unit's sensitivities.
    totals : mapping or Series
        Row totals by label that are public already, never read from the table. Neighbours then differ in where a
        unit's events end ("replace").
    limited : bool
        The owner's word that the counts, which have no record, hold the unit's limits already.
    budget : path
        A budget file in which the release is recorded before anything is drawn (dpsim.release.budget).
    limit : Limit
        What all releases of the data may spend; needed where the budget file does not exist yet.
    rng : numpy.random.Generator or int
        Makes a simulation, which must not be published. None: the operating system's entropy.

    Returns
    -------
    PrivateChain
        What may be published, with its statement; `write_release` writes it.

    Raises
    ------
    ValueError
        Outside these ranges; for counts that are not limited to the unit; for private pairs without delta; for totals
        together with truncated counts or private pairs; where the budget's limit would be passed.

    Examples
    --------
    >>> trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 400]})
    >>> chain = release_chain(trips, epsilon=1.0, support=supports.all_pairs(["a", "b"]), rng=1)
    >>> chain
    PrivateChain(2 labels, 4 pairs, epsilon 1, delta 0, discrete Laplace, SIMULATION)
    """
    support = PrivatePairs(None) if support is None else support
    if not isinstance(support, Support | PrivatePairs):
        raise TypeError(
            f"support must be made by all_pairs, declared_graph or private_pairs, got {type(support).__name__}: the "
            "pairs must not be read from the data, where one event that makes a pair possible is seen by everybody"
        )
    if not isinstance(unit, Unit):
        raise TypeError(f"unit must be a Unit, got {type(unit).__name__}")
    chosen = isinstance(support, PrivatePairs)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=chosen, open_high=True)
    held = held_limits(trips, unit, limited)
    public = None if totals is None else _public_totals(totals, support, trips)
    adjacency = "add-remove" if public is None else "replace"
    noise = accounting.chosen_noise(epsilon, delta, unit, adjacency=adjacency, pairs=chosen, mechanism=mechanism)
    threshold, leaked = accounting.pair_threshold(noise, unit, delta - noise.delta) if chosen else (None, 0.0)
    generator = None if rng is None else checks.generator(rng)
    facts: dict[str, Any] = {
        "status": RELEASED if generator is None else SIMULATION,
        "simulation": generator is not None,
        "epsilon": noise.epsilon,
        "delta": min(delta, noise.delta + leaked) if chosen else noise.delta,
        "mechanism": noise.mechanism,
        "scale": noise.scale,
        "mechanism_chosen_by": "the owner" if mechanism else "the smaller mean of |z| of the two laws for this unit",
        "adjacency": adjacency,
        "unit": as_dict(unit),
        "limits": held,
        "costs": [{"what": "counts", "epsilon": noise.epsilon, "delta": noise.delta}]
        + ([{"what": "pairs chosen privately", "epsilon": 0.0, "delta": leaked}] if chosen else []),
        "threshold": threshold,
    }  # fmt: skip
    supports.checked_table(trips)
    if budget is not None and generator is None:
        spend(budget, epsilon=facts["epsilon"], delta=facts["delta"], unit=unit, adjacency=adjacency, limit=limit)
    if isinstance(support, PrivatePairs):
        found, noisy = _private_pairs(trips, support, noise, threshold or 0, generator)
    else:
        counts, _ = supports.counts_on(trips, support)
        found, noisy = support, draws.noisy_counts(np.minimum(counts, draws.LARGEST_COUNT), noise, generator)
    facts |= {
        "support": found.kind,
        "pairs": int(noisy.size),
        "row_totals": "sums of the noisy counts" if public is None else "public, as given",
        "estimate": estimate.rule(found),
        "empty_rows": estimate.EMPTY_RULE,
        "randomness": _ENTROPY if generator is None else "a generator that was given",
        "versions": dict(_versions()),
    }
    return PrivateChain(found, noisy, facts, public)


def held_limits(trips: pd.DataFrame, unit: Unit, limited: bool = False) -> str:
    """Return in words what makes sure that a unit has no more events than it may; ValueError where nothing does."""
    kept = data_limits.record(trips)
    if unit.is_event:
        if kept is not None and kept.truncated:
            raise ValueError(
                "unit must have the limits of the counts, got one event: of truncated counts, an event that goes "
                "brings in others that had been left out"
            )
        if kept is not None and kept.trajectories:
            raise ValueError(
                "unit must be somebody with limits for counts of trajectories, got one event: a visit that goes "
                "changes three counts"
            )
        return "none needed: the unit is one event"
    if kept is None or not kept.truncated:
        if limited and kept is None:
            return "the owner's word: the counts came with these limits"
        raise ValueError(
            f"unit: {unit.words} needs counts that were truncated to these limits (count_transitions with unit, and "
            "events_per_row and rows, or events), or, for counts without a record, limited=True"
        )
    c, r = unit.most
    if unit.events is not None:
        strict = (kept.events or (kept.events_per_row or 0) * (kept.rows or 0)) <= unit.events
    elif kept.events is not None:
        strict = kept.events <= min(c, r)
    else:
        strict = (kept.events_per_row or 0) <= c and (kept.rows or 0) <= r
    if not strict:
        said = f"{kept.events} events in all" if kept.events else f"{kept.events_per_row} events in {kept.rows} rows"
        raise ValueError(f"unit: {unit.words}, but the counts were truncated to {said}, which is more")
    moves = "; an event is a move from one visit of the unit to its next" if kept.trajectories else ""
    return f"truncated before counting{moves}"


def _public_totals(
    totals: Mapping[Any, int] | pd.Series, support: Support | PrivatePairs, trips: pd.DataFrame
) -> Integers:
    """Return the declared row totals in the order of the labels, once they can be public at all."""
    if isinstance(support, PrivatePairs):
        raise ValueError("totals must not be given with pairs chosen privately: declare the categories or a graph")
    if not isinstance(totals, Mapping | pd.Series):
        raise TypeError(f"totals must map labels to public row totals, got {type(totals).__name__}")
    kept = data_limits.record(trips)
    if kept is not None and kept.truncated:
        raise ValueError("totals must not be given with truncated counts, whose totals are not the public ones")
    given = {str(label): total for label, total in totals.items()}
    missing = [label for label in support.labels if str(label) not in given]
    if missing:
        raise ValueError(f"totals must have every label, got none for {missing[0]!r}")
    return checks.integers("totals", [given[str(label)] for label in support.labels], 0, draws.LARGEST_COUNT)


def _private_pairs(
    trips: pd.DataFrame,
    wanted: PrivatePairs,
    noise: Noise,
    threshold: int,
    generator: np.random.Generator | None,
) -> tuple[Support, Integers]:
    """Return the pairs whose noisy count reaches the threshold, and these counts."""
    labels, rows, columns, counts, _ = supports.seen_pairs(trips, wanted.labels)
    noisy = draws.noisy_counts(np.minimum(counts, draws.LARGEST_COUNT), noise, generator)
    kept = noisy >= threshold
    rows, columns, noisy = rows[kept], columns[kept], noisy[kept]
    if wanted.labels is None:
        used, places = np.unique(np.append(rows, columns), return_inverse=True)
        labels = tuple(labels[i] for i in used)
        rows, columns = places[: rows.size], places[rows.size :]
    kind = supports.PRIVATE_LABELS if wanted.labels is None else supports.PRIVATE_PAIRS
    found, order = supports.from_pairs(labels, rows, columns, kind)
    return found, noisy[order]


@functools.cache
def _versions() -> dict[str, str]:
    """Return the versions of what made a release."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed as a package"
    return versions


def unit_of(statement: Mapping[str, Any]) -> Unit:
    """Return the unit of a statement."""
    return Unit(**statement["unit"])


def in_words(chain: PrivateChain) -> str:
    """Return the statement of a release in plain sentences; every epsilon and delta in it is rounded up."""
    s = chain.statement
    law = "e^(-|z| / scale)" if s["mechanism"] == LAPLACE else "e^(-z^2 / (2 scale^2))"
    least = s["mechanism"] == LAPLACE and s["threshold"] is None
    proven = "exact: a unit with as many events as may count reaches it" if least else "a proven bound"
    given = "a release with secret noise would have " if s["simulation"] else ""
    lines = [SIMULATION] if s["simulation"] else []
    lines += [
        f"Guarantee: {given}(epsilon, delta)-differential privacy with {_loss(s['epsilon'], s['delta'])} ({proven}; "
        "proofs: dpsim.accounting.units). Any set of outputs is at most e^epsilon times as likely as from a "
        "neighbouring table, plus delta.",
        f"Neighbours: tables that differ in one unit: {_WORDS[s['adjacency']]}.",
        f"Unit: {_whole_unit(unit_of(s))}. Limits: {s['limits']}.",
    ]
    if s["adjacency"] == "add-remove":
        lines.append(
            "For tables in which the unit is there with other events (taken out, and others put in) the guarantee is "
            f"{_loss(*replaced(s['epsilon'], s['delta']))}."
        )
    lines += [
        f"Mechanism: {s['mechanism']} noise z on each count, P(z) proportional to {law}, scale {s['scale']:.8g}; "
        f"chosen by {s['mechanism_chosen_by']}. The integers are {'simulated' if s['simulation'] else 'drawn exactly'} "
        f"({s['randomness']}).",
        f"Pairs: {s['support']}; {s['pairs']} have a noisy count, among {len(chain.labels)} labels.",
        f"Taken as public, on the word of the data's owner: {_public(s)}. None of it may have been chosen by looking "
        "at the data.",
        "Left out before counting: rows without an origin, a destination or a unit, and events outside the public "
        "states and pairs. How many is not published.",
    ]
    for cost in s["costs"]:
        lines.append(f"Spent on the {cost['what']}: {_loss(cost['epsilon'], cost['delta'])}.")
    if s["threshold"] is not None:
        lines.append(
            f"A pair is released when it occurs and its noisy count is at least {s['threshold']}; the delta of this "
            "bounds the chance that a pair is released which one unit alone has."
        )
    lines.append(f"Row totals: {s['row_totals']}.")
    lines.append(f"The chain is estimated from the noisy counts alone: {s['estimate']}.")
    if chain.empty:
        shown = ", ".join(map(str, chain.empty[:10])) + (", ..." if len(chain.empty) > 10 else "")
        lines.append(f"Rows that were filled, {len(chain.empty)}: {shown}. Rule: {s['empty_rows']}.")
    if s["epsilon"] > WORTH_A_WARNING:
        lines.append(f"Warning: epsilon is above {WORTH_A_WARNING:g}, which protects little.")
    lines.append(
        "Another release from these data, or from others on the same units, adds its epsilon and delta to these."
    )
    return "\n".join(lines)


def replaced(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what an add-remove guarantee is worth when a unit is replaced by another: two steps, by group privacy.

    P(A) <= e^epsilon Q(A) + delta, twice: 2 epsilon, and delta + e^epsilon delta.

    Examples
    --------
    >>> replaced(1.0, 0.0)
    (2.0, 0.0)
    """
    epsilon, delta = checks.scalar("epsilon", epsilon, 0.0), checks.scalar("delta", delta, 0.0, 1.0)
    grown = 1.0 + math.exp(epsilon) if epsilon < 700.0 else math.inf
    return 2.0 * epsilon, min(1.0, delta * grown * (1.0 + 1e-15)) if delta else 0.0  # rounded up


def _loss(epsilon: float, delta: float) -> str:
    return f"epsilon {_rounded_up(epsilon, 6)}, delta {_rounded_up(delta, 3)}"


def _rounded_up(value: float, digits: int) -> str:
    up = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING).create_decimal(decimal.Decimal(value))
    return f"{float(up):.{digits}g}"


def _whole_unit(unit: Unit) -> str:
    """Return the unit as its owner thinks of it: whole, however little of it is counted."""
    if unit.is_event:
        return unit.words
    if unit.events is not None:
        most = f"{unit.events} in all"
    else:
        most = f"{unit.events_per_row} in each of {unit.rows} rows (origins)"
    return f"one person, car or session, with however many events; at most {most} are counted"


def _public(statement: Mapping[str, Any]) -> str:
    """Return what was taken as public, which the owner vouches for."""
    named = ["epsilon, delta and the mechanism", "which rows and columns are read"]
    if not unit_of(statement).is_event:
        named.append("the limits of a unit")
    if statement["support"] != supports.PRIVATE_LABELS:
        named.append("the states")
    if statement["support"] == supports.GRAPH:
        named.append("the graph")
    if statement["adjacency"] == "replace":
        named.append("the row totals")
    return ", ".join(named)
