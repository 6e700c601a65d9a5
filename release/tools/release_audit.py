"""The audit of releases from end to end: a table of events, its counting and
truncation, and what is published.

A unit is copied many times, each time with states of its own, so that one release is as
many draws: the noises of different counts are independent, and nothing else is random.
What is broken (`breakable`) is what a case is about: the noise a fifth too small, a
truncation that keeps one event too many, a threshold one too low. Seeds make numpy draw
the noise; that OpenDP's, which real releases use, has the same law is tested in
release/tests/test_chain.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd

import dpsim_release
from dpsim.checks import Array, Integers
from dpsim_release.discrete_laplace import (
    Noise,
    laplace_noise,
    pair_delta,
    pair_threshold,
)
from dpsim_release.unit import EVENT, Unit
from tools.verify import measures
from tools.verify.audit_cases import Case, claimed

STATES = 3  # of a copy; all pairs of these may occur


@dataclass(frozen=True)
class Release:
    """One release to audit: what a unit's events are, how many are kept of it, and how
    it is protected.
    """

    setting: str
    events: tuple[tuple[int, int], ...]
    """Origin and destination of each event of the unit, before truncation."""
    unit: Unit
    epsilon: float
    delta: float = 0.0
    fault: str = "noise"


@cache
def counts_of(
    audited: Release, present: bool, copies: int, more: int
) -> dpsim_release.Counts:
    """Return the counts of a table of copies of the unit, or of none; `more` events
    kept than the unit says.
    """
    events = np.array(audited.events if present else audited.events[:0]).reshape(-1, 2)
    copy = np.repeat(np.arange(copies), len(events))
    ends = np.tile(events, (copies, 1)) + STATES * copy[:, None]
    table = pd.DataFrame(
        {"unit": copy, "origin": ends[:, 0], "destination": ends[:, 1]}
    ).astype(str)
    kept = Unit(audited.unit.events + more, "unit") if audited.unit.column else EVENT
    found = dpsim_release.count_transitions(
        table, "origin", "destination", unit=kept, categories=range(STATES * copies)
    )
    return replace(found, unit=audited.unit)  # the release believes it


@cache
def blocks(copies: int) -> dpsim_release.Support:
    """Return the public graph: all pairs of each copy's states."""
    start = np.repeat(np.arange(STATES * copies), STATES)
    ends = STATES * (start // STATES) + np.tile(np.arange(STATES), STATES * copies)
    return dpsim_release.declared_graph(
        pd.DataFrame({"origin": start, "destination": ends}), range(STATES * copies)
    )


def noisy_case(audited: Release) -> Case:
    """Return the case of a release on a declared graph."""
    noise = laplace_noise(audited.epsilon, audited.unit.events)

    @cache
    def counted(present: bool, copies: int, more: int) -> Integers:
        trips = counts_of(audited, present, copies, more).trips
        return dpsim_release.counts_on(trips, blocks(copies))[0].reshape(
            copies, STATES * STATES
        )

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        fault = audited.fault if factor != 1.0 else "none"
        more = int(fault == "truncation")
        epsilon = (1.25 if fault == "noise" else 1.0) * audited.epsilon
        table = counts_of(audited, side == 0, size, more)
        chain = dpsim_release.release_chain(
            table, epsilon=epsilon, support=blocks(size), rng=rng
        )
        noisy = chain.noisy.reshape(size, STATES * STATES)
        near, far = (
            np.abs(noisy - counted(s == 0, size, more)).sum(axis=1) for s in (0, 1)
        )
        return (far - near) / chain.noise.scale

    change = counted(True, 1, 0)[0]

    claim = partial(measures.implied_delta, spent=noise.epsilon)

    def exact(epsilon: Array) -> Array:
        changes = change[change != 0]
        return np.array([hockey_stick(noise, changes, each) for each in epsilon])

    def between(epsilon: Array) -> tuple[Array, Array]:
        """Copies that are cut differ."""
        return np.zeros(epsilon.size), claim(epsilon)

    return claimed(
        "release",
        audited.setting,
        claim,
        losses,
        exact,
        pair_bounds=between if audited.fault == "truncation" else None,
    )


def hockey_stick(noise: Noise, change: Array, epsilon: float) -> float:
    """Return delta(epsilon) of noise on cells that change by these integers: losses are
    multiples of 1 / scale.
    """
    reach = math.ceil(45.0 * noise.scale) + 5
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(z) / noise.scale)
    masses = np.ones(1)
    low = 0
    for v in change:
        steps = np.abs(z + v) - np.abs(z)
        masses = np.convolve(
            masses, np.bincount(steps - steps.min(), weights / weights.sum())
        )
        low += int(steps.min())
    losses = (low + np.arange(masses.size)) / noise.scale
    return float(masses @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))


def pairs_case(audited: Release) -> Case:
    """Return the case of pairs chosen privately that one unit alone has: the broken
    threshold is one too low.
    """
    noise = laplace_noise(audited.epsilon, audited.unit.events)
    events = audited.unit.events
    threshold, leak = pair_threshold(noise, events, audited.delta)
    one_lower = pair_delta(noise, events, threshold - 1)

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        """Return infinity where a pair of the unit is published, which the neighbour
        never does.
        """
        delta = audited.delta if factor == 1.0 else one_lower
        pairs = dpsim_release.private_pairs(range(STATES * size))
        table = counts_of(audited, side == 0, size, 0)
        chain = dpsim_release.release_chain(
            table, epsilon=audited.epsilon, delta=delta, support=pairs, rng=rng
        )
        shown = np.full(size, -1.0)
        shown[chain.support.rows // STATES] = np.inf
        return shown

    counts = np.unique(np.array(audited.events), axis=0, return_counts=True)[1]
    passes = 1.0 - math.prod(
        -math.expm1(noise.log_tail(threshold - int(v))) for v in counts
    )

    return claimed(
        "private pairs",
        f"{audited.setting}, threshold {threshold}",
        partial(measures.implied_delta, spent=audited.epsilon, delta=leak),
        losses,
        lambda epsilon: np.full(epsilon.shape, passes),
        most=7 / 6 * audited.epsilon,
    )


ONE = ((0, 1),)
MANY = ((0, 0), (0, 1), (1, 0), (1, 1)) * 3  # more than any limit below keeps


def release_cases(everything: bool = True) -> Iterator[Case]:
    """Yield the releases of the audit; without `everything` the few that run in the
    tests.
    """
    two, three, four = (Unit(events, "unit") for events in (2, 3, 4))
    yield noisy_case(Release("one event", ONE, EVENT, 1.0))
    yield noisy_case(
        Release("4 events in two rows", ((0, 0),) * 2 + ((1, 2),) * 2, four, 1.5)
    )
    yield pairs_case(Release("2 events in 2 pairs", ((0, 1), (0, 2)), two, 1.0, 0.05))
    if not everything:
        return
    yield noisy_case(Release("12 events cut to 4", MANY, four, 1.5, fault="truncation"))
    yield noisy_case(Release("3 events on one pair", ((0, 1),) * 3, three, 1.5))
    yield pairs_case(Release("4 events on one pair", ((0, 1),) * 4, four, 3.0, 0.05))
    yield pairs_case(
        Release("3 events in 3 rows", ((0, 1), (1, 2), (2, 0)), three, 1.0, 0.05)
    )
