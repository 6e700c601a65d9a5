"""The audit of releases from end to end: a table of events, its counting and truncation, and what is published.

A unit is copied many times, each time with states of its own, so that one release is as many draws: the noises of
different counts are independent, and nothing else is random. What is broken (`breakable`) is what a case is about: the
noise a fifth too small, a truncation that keeps one event too many, a threshold one too low. The scale of Gaussian
noise falls more slowly than 1/epsilon at the same delta, so that its broken version asks for the epsilon whose scale is
four fifths: that shows even where the claim is the Renyi bound, about three times the exact delta. Seeds make numpy
draw the noise; that OpenDP's, which real releases use, has the same law is tested in tests/release/test_chain.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from dpsim import accounting, datasets, release
from dpsim.accounting import GAUSSIAN, LAPLACE, Noise, Unit
from dpsim.checks import Array, Integers
from tools.verify import bounds
from tools.verify.audit_cases import Case, levels, nothing

STATES = 3  # of a copy; all pairs of these may occur


@dataclass(frozen=True)
class Release:
    """One release to audit: what a unit's events are, how many are kept of it, and how it is protected."""

    setting: str
    events: tuple[tuple[int, int], ...]
    """Origin and destination of each event of the unit, before truncation."""
    unit: Unit
    mechanism: str | None
    epsilon: float
    delta: float = 0.0
    moved: tuple[tuple[int, int], ...] = ()
    """Where the events are in the neighbour, when the row totals are public; else it has none."""
    fault: str = "noise"

    @property
    def adjacency(self) -> str:
        return "replace" if self.moved else "add-remove"

    @property
    def noise(self) -> Noise:
        return self.noise_at(self.epsilon)

    def noise_at(self, epsilon: float) -> Noise:
        return accounting.chosen_noise(
            epsilon, self.delta, self.unit, adjacency=self.adjacency, mechanism=self.mechanism
        )

    @cached_property
    def weaker(self) -> float:
        """The epsilon whose noise has four fifths of the claimed scale."""
        least = 0.8 * self.noise.scale
        return float(brentq(lambda e: self.noise_at(e).scale - least, self.epsilon, 2.0 * self.epsilon, xtol=1e-6))


@cache
def trips_of(audited: Release, present: int, copies: int, more: int) -> pd.DataFrame:
    """Return the counts of a table of copies of the unit (present 1), or of its neighbour; `more` kept than allowed."""
    events = audited.events if present else audited.moved
    if not events:
        empty = pd.DataFrame({"origin": [0], "destination": [0], "trips": [0]})
        empty.attrs["limits"] = recorded(audited, 0)
        return empty
    copy = np.repeat(np.arange(copies), len(events))
    ends = np.tile(np.array(events), (copies, 1)) + STATES * copy[:, None]
    table = pd.DataFrame({"unit": copy, "origin": ends[:, 0], "destination": ends[:, 1]})
    limits: dict[str, Any] = {}
    if not audited.unit.is_event:
        c, r = audited.unit.most if audited.unit.events is None else (audited.unit.events, len(events))
        limits = {"unit": "unit", "events_per_row": c + more, "rows": r}
    trips = datasets.count_transitions(table, "origin", "destination", categories=range(STATES * copies), **limits)
    trips.attrs["limits"] = recorded(audited, int(trips["trips"].sum()))
    return trips


def recorded(audited: Release, counted: int) -> datasets.Limits:
    """Return the record that the release believes: the limits of the unit."""
    if audited.unit.is_event:
        return datasets.Limits(counted)
    if audited.unit.events is not None:
        return datasets.Limits(counted, events=audited.unit.events)
    return datasets.Limits(counted, events_per_row=audited.unit.events_per_row, rows=audited.unit.rows)


@cache
def blocks(copies: int) -> release.Support:
    """Return the public graph: all pairs of each copy's states."""
    start = np.repeat(np.arange(STATES * copies), STATES)
    ends = STATES * (start // STATES) + np.tile(np.arange(STATES), STATES * copies)
    return release.declared_graph(pd.DataFrame({"origin": start, "destination": ends}), range(STATES * copies))


def noisy_case(audited: Release) -> Case:
    """Return the case of a release on a declared graph."""
    noise = audited.noise

    @cache
    def counted(side: int, copies: int, more: int) -> Integers:
        trips = trips_of(audited, 1 - side, copies, more)
        return release.counts_on(trips, blocks(copies))[0].reshape(copies, STATES * STATES)

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        more = int(factor != 1.0 and audited.fault == "truncation")
        epsilon = audited.weaker if factor != 1.0 and audited.fault == "noise" else audited.epsilon
        totals = dict.fromkeys(range(STATES * size), len(audited.events)) if audited.moved else None
        chain = release.release_chain(
            trips_of(audited, 1 - side, size, more), epsilon=epsilon, delta=audited.delta, support=blocks(size),
            unit=audited.unit, mechanism=audited.mechanism, totals=totals, rng=rng,
        )  # fmt: skip
        noisy = chain.noisy.reshape(size, STATES * STATES)
        near, far = (counted(s, size, more) for s in (0, 1))
        return release.privacy_loss(noisy, near, far, audited.noise_at(epsilon))

    change = counted(0, 1, 0)[0] - counted(1, 1, 0)[0]

    def claim(epsilon: Array) -> Array:
        if noise.mechanism == LAPLACE:
            return bounds.implied_delta(epsilon, noise.epsilon)
        squared = audited.unit.sensitivities(audited.adjacency)[1]
        return np.array([accounting.gaussian_delta_bound(e, noise.scale, squared) for e in epsilon])

    epsilon = levels(claim)
    exact = np.array([hockey_stick(noise, change[change != 0], e) for e in epsilon])
    setting = f"{audited.setting}, {noise.mechanism}"
    between = (np.zeros(epsilon.size), claim(epsilon)) if audited.fault == "truncation" else None  # copies differ
    return Case("release", setting, epsilon, claim(epsilon), nothing(epsilon), exact, losses, True, between)


def hockey_stick(noise: Noise, change: Array, epsilon: float) -> float:
    """Return delta(epsilon) of noise on cells that change by these integers: losses are multiples of one step."""
    reach = math.ceil(45.0 * noise.scale) + 5
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(z) / noise.scale if noise.mechanism == LAPLACE else -0.5 * (z / noise.scale) ** 2)
    masses, low = np.ones(1), 0
    for v in change:
        steps = np.abs(z + v) - np.abs(z) if noise.mechanism == LAPLACE else (z + v) ** 2 - z**2
        one = np.bincount(steps - steps.min(), weights / weights.sum())
        masses, low = np.convolve(masses, one), low + int(steps.min())
    unit = noise.scale if noise.mechanism == LAPLACE else 2.0 * noise.scale**2
    losses = (low + np.arange(masses.size)) / unit
    return float(masses @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))


def pairs_case(audited: Release) -> Case:
    """Return the case of pairs chosen privately that one unit alone has: the broken threshold is one too low."""
    noise = accounting.chosen_noise(
        audited.epsilon, audited.delta, audited.unit, pairs=True, mechanism=audited.mechanism
    )
    threshold, leak = accounting.pair_threshold(noise, audited.unit, audited.delta - noise.delta)
    one_lower = noise.delta + accounting.pair_delta(noise, audited.unit, threshold - 1)

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        """Return infinity where a pair of the unit is published, which the neighbour never does."""
        delta = audited.delta
        if factor != 1.0:  # the noise stays that of the claim: with Laplace noise delta is the threshold's alone
            delta = one_lower
        chain = release.release_chain(
            trips_of(audited, 1 - side, size, 0), epsilon=audited.epsilon, delta=delta, unit=audited.unit,
            support=release.private_pairs(range(STATES * size)), mechanism=audited.mechanism, rng=rng,
        )  # fmt: skip
        shown = np.full(size, -1.0)
        shown[chain.support.rows // STATES] = np.inf
        return shown

    counts = np.unique(np.array(audited.events), axis=0, return_counts=True)[1]
    passes = 1.0 - math.prod(-math.expm1(noise.log_tail(threshold - int(v))) for v in counts)

    def claim(epsilon: Array) -> Array:
        return bounds.implied_delta(epsilon, audited.epsilon, noise.delta + leak)

    epsilon = levels(claim, 7 / 6 * audited.epsilon)
    setting = f"{audited.setting}, {noise.mechanism}, threshold {threshold}"
    exact = np.full(epsilon.shape, passes)
    broken = noise.mechanism == LAPLACE
    return Case("private pairs", setting, epsilon, claim(epsilon), nothing(epsilon), exact, losses, broken)


ONE = ((0, 1),)
MANY = tuple((i, j) for i in (0, 1) for j in (0, 1) for _ in range(3))  # more than any limit below keeps
ROWS = ((0, 0),) * 2 + ((1, 2),) * 2


def release_cases(everything: bool = True) -> Iterator[Case]:
    """Yield the releases of the audit; without `everything` the few that run in the tests."""
    person, total = Unit(2, 2), Unit(events=3)
    cut = "12 events cut to 2 in each of 2 rows"
    yield noisy_case(Release("one event", ONE, Unit(), LAPLACE, 1.0))
    yield noisy_case(Release("2 events in each of 2 rows", ROWS, person, LAPLACE, 1.5))
    yield pairs_case(Release("2 events of a row in 2 pairs", ((0, 1), (0, 2)), Unit(2, 1), LAPLACE, 1.0, 0.05))
    if not everything:
        return
    yield noisy_case(Release(cut, MANY, person, LAPLACE, 1.5, fault="truncation"))
    yield noisy_case(Release("at most 3 events in all", ((0, 1),) * 3, total, LAPLACE, 1.5))
    yield noisy_case(Release("one event moved, public totals", ONE, Unit(), LAPLACE, 1.0, moved=((0, 2),)))
    kinds: dict[str, Any] = {"mechanism": GAUSSIAN, "delta": 0.02}
    yield noisy_case(Release("one event", ONE, Unit(), epsilon=1.0, **kinds))
    yield noisy_case(Release("2 events in each of 2 rows", ROWS, person, epsilon=1.5, **kinds))
    yield noisy_case(Release("at most 3 events in all", ((0, 1),) * 3, total, epsilon=1.5, **kinds))
    yield noisy_case(Release("one event moved, public totals", ONE, Unit(), epsilon=1.0, moved=((0, 2),), **kinds))
    for mechanism in (LAPLACE, GAUSSIAN):
        settings: dict[str, Any] = {"mechanism": mechanism, "delta": 0.05}
        yield pairs_case(Release("4 events of a row in one pair", ((0, 1),) * 4, Unit(4, 1), epsilon=3.0, **settings))
        apart = ((0, 1), (1, 2), (2, 0))
        yield pairs_case(Release("3 events in all, in 3 rows", apart, total, epsilon=1.0, **settings))
