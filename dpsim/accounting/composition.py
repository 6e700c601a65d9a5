"""Composition of releases of the Dirichlet mechanism and of the tempered posterior, with lower and upper bounds on
delta and epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from dp_accounting.pld import pld_pmf
from numpy.typing import ArrayLike
from scipy.special import betainc, polygamma

from dpsim import checks
from dpsim.accounting.dirichlet import (
    LARGEST_EPSILON,
    beta_parameters,
    minimum_and_shift,
)
from dpsim.checks import Array
from dpsim.numerics import hockey_stick, search

# Bounds on delta are moved apart by these margins, which cover the truncations and roundings of the convolutions.
_SLACK, _RELATIVE_SLACK = 1e-12, 1e-10
_TAIL = 1e-15  # the mass beyond the grids, and also that of all truncations; both count as infinite loss
_MOST_RELEASES = 10_000
_LARGEST_GRID = 2**20


class _Group(NamedTuple):
    """Equal releases of a composition, with the integrals of `hockey_stick.loss_cells` for one of them, the mass beyond
    the last cell, and the number of releases."""

    p: Array
    up: Array
    q: Array
    tail: float
    times: int


@dataclass(frozen=True)
class Composition:
    """Several releases whose privacy losses add up, as discretised privacy loss distributions (made by `compose`).

    The distribution `pessimistic` dominates the releases, because each loss is split between the two grid points around
    it (connect the dots). The releases dominate `optimistic`, in which each cell is merged into one outcome and its
    loss is rounded down to a grid. The offsets of all grids add up to `offset`. The true profile lies between the two,
    and once the interval is small their gap is of the order of its square. Both bounds are proven in exact arithmetic.
    A margin of 1e-12 in delta covers the rounding of the fast Fourier transforms, and bounds are rounded outward to
    multiples of it, because further digits differ between processors.

    Parameters
    ----------
    interval : float; the step of the grid of the losses, in nats
    groups : tuple; releases of one kind and their number
    """

    interval: float
    groups: tuple[_Group, ...]

    @cached_property
    def pessimistic(self) -> pld_pmf.DensePLDPmf:
        """The distribution that gives upper bounds."""
        made = [
            (_connect_the_dots(g.p, g.up, g.tail, self.interval), g.times)
            for g in self.groups
        ]
        return _composed(made)

    @cached_property
    def optimistic(self) -> tuple[pld_pmf.DensePLDPmf, float]:
        """The distribution that gives lower bounds, and the total offset of its losses."""
        made = [(*_merged_cells(g.p, g.q, self.interval), g.times) for g in self.groups]
        offset = sum(times * shifted for _, shifted, times in made)
        return _composed([(pmf, times) for pmf, _, times in made]), offset

    def delta(self, epsilon: ArrayLike) -> Array:
        """Return an upper bound on delta at epsilon >= 0 (any shape), which is meaningful above 1e-11."""
        return _each(self._upper, checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON))

    def delta_bounds(self, epsilon: ArrayLike) -> tuple[Array, Array]:
        """Return (lower, upper) bounds on delta at epsilon >= 0 (any shape)."""
        epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON)
        return _each(self._lower, epsilon), _each(self._upper, epsilon)

    def epsilon(self, delta: ArrayLike) -> Array:
        """Return an upper bound on the smallest epsilon >= 0 at delta in [1e-11, 1] (any shape)."""
        return _each(
            lambda d: self._inverse(self._upper, d, 1),
            checks.real("delta", delta, 10.0 * _SLACK, 1.0),
        )

    def epsilon_lower_bound(self, delta: ArrayLike) -> Array:
        """Return a lower bound on the smallest epsilon >= 0 at delta in [1e-11, 1] (any shape)."""
        return _each(
            lambda d: self._inverse(self._lower, d, -1),
            checks.real("delta", delta, 10.0 * _SLACK, 1.0),
        )

    def _lower(self, epsilon: float) -> float:
        """Return a proven lower bound on delta, which is the delta of the optimistic grid less the possible errors of
        its transforms."""
        pmf, offset = self.optimistic
        delta = pmf.get_delta_for_epsilon(epsilon - offset)
        return max(
            0.0, math.floor((delta * (1.0 - _RELATIVE_SLACK) - _SLACK) * 1e12) / 1e12
        )

    def _upper(self, epsilon: float) -> float:
        delta = self.pessimistic.get_delta_for_epsilon(epsilon)
        return min(
            1.0, math.ceil((delta * (1.0 + _RELATIVE_SLACK) + _SLACK) * 1e12) / 1e12
        )

    def _inverse(
        self, bound: Callable[[float], float], delta: float, side: int
    ) -> float:
        """Return the last epsilon found with bound <= delta (side 1) or >= delta (side -1), and 0 if bound(0) <= delta.

        The result is on the safe side, because there an upper bound on delta is at most `delta`, and a lower bound is
        still at least `delta`.
        """
        low, high = 0.0, self.interval
        if bound(low) <= delta:
            return 0.0
        while bound(high) > delta:
            low, high = high, 2.0 * high
        kept, broken = (high, low) if side > 0 else (low, high)
        return search.last_kept(
            lambda at: side * math.log(max(bound(at), 1e-300) / delta),
            kept,
            broken,
            1e-4 * self.interval,
        )


def compose(
    k: ArrayLike,
    *,
    shift: ArrayLike,
    eta: ArrayLike,
    count: ArrayLike = 1,
    interval: float | None = None,
) -> Composition:
    """Return the `Composition` of `count` releases for each k. These may be independent releases, or rows of one
    release that differ at once.

    Parameters
    ----------
    k, shift, eta : array_like, as in `accounting.exact_delta`; broadcast; each entry describes a group of releases
    count : array_like of int; number of releases in each group, at least 1, and at most 10,000 in all
    interval : float, optional
        The step of the grid of the losses, in nats; None means 1/500 of a typical standard deviation of one loss.

    Examples
    --------
    >>> float(compose(20.6, shift=1 / 98, eta=0.073, count=3).epsilon(1e-6).round(2))
    2.57
    """
    eta, shift = minimum_and_shift(eta, shift)
    return _compose(*beta_parameters("k", k, eta, shift), count, interval)


def _compose(
    a: Array, t: Array, count: ArrayLike, interval: float | None
) -> Composition:
    """Return the composition of many releases; equal ones are grouped, so that each kind is put on the grid once."""
    a, t, count = (
        array.ravel()
        for array in np.broadcast_arrays(a, t, checks.integers("count", count, 1))
    )
    groups: dict[tuple[float, float], int] = {}
    for pair, times in zip(zip(a.tolist(), t.tolist()), count.tolist()):
        groups[pair] = groups.get(pair, 0) + times
    total = checks.integer("the sum of count", sum(groups.values()), 1, _MOST_RELEASES)
    if interval is None:
        variance = sum(
            n * t * t * (polygamma(1, a) + polygamma(1, a + t))
            for (a, t), n in groups.items()
        )
        interval = 2e-3 * math.sqrt(variance / total)
    else:
        interval = checks.scalar("interval", interval, 0.0, open_low=True)
    log_tail = math.log(_TAIL / total)
    ends = {
        pair: float(hockey_stick.epsilon_for(log_tail, *pair, hockey_stick.REPLACE))
        for pair in groups
    }
    interval = max(interval, max(ends.values()) / _LARGEST_GRID)
    cells = []
    for pair, times in groups.items():
        p, up, q = hockey_stick.loss_cells(
            *pair, interval, math.ceil(ends[pair] / interval) + 1
        )
        tail = max(0.0, float(betainc(pair[0], sum(pair), 0.5)) - p.sum())
        cells.append(_Group(p, up, q, tail, times))
    return Composition(interval, tuple(cells))


def _composed(pmfs: list[tuple[pld_pmf.DensePLDPmf, int]]) -> pld_pmf.DensePLDPmf:
    """Return the composition of pmfs, each of which is repeated the number of times given with it."""
    cut = _TAIL / len(pmfs)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # the truncation bounds overflow where they do not bind
        return _convolved([_repeated(pmf, times, cut) for pmf, times in pmfs], cut)


def _repeated(pmf: pld_pmf.DensePLDPmf, times: int, cut: float) -> pld_pmf.DensePLDPmf:
    return pmf if times == 1 else pmf.self_compose(times, cut)


def _convolved(pmfs: list[pld_pmf.DensePLDPmf], cut: float) -> pld_pmf.DensePLDPmf:
    """Return the composition of all distributions, which are convolved in pairs."""
    if len(pmfs) == 1:
        return pmfs[0]
    half = len(pmfs) // 2
    return _convolved(pmfs[:half], cut).compose(_convolved(pmfs[half:], cut), cut)


def _connect_the_dots(
    p: Array, up: Array, tail: float, interval: float
) -> pld_pmf.DensePLDPmf:
    """Return the tightest dominating distribution on the grid (Doroshenko et al. 2022, Algorithm 1).

    Of the mass p in a cell, the part `up` goes to the upper end of the cell, so that the other distribution keeps its
    mass. The loss -x has e^-x times the mass of the loss x. The mass `tail` has infinite loss, and the remaining mass
    has loss 0.
    """
    positive = up + np.append((p - up)[1:], 0.0)
    negative = (np.exp(-interval * np.arange(1, p.size + 1)) * positive)[::-1]
    zero = max(0.0, 1.0 - tail - positive.sum() - negative.sum())
    return pld_pmf.DensePLDPmf(
        interval, -p.size, np.concatenate([negative, [zero], positive]), tail, True
    )


def _merged_cells(
    p: Array, q: Array, interval: float
) -> tuple[pld_pmf.DensePLDPmf, float]:
    """Return a dominated distribution in which each cell is one outcome at its index, and the offset of its losses.

    q is relative to e^(-i interval), so log(p/q) is the loss of the cell above i interval.
    """
    p = np.where(p > 1e-100, p, 0.0)  # dropping mass keeps it dominated
    share = np.divide(
        q, p, out=np.full(p.size, math.exp(-0.5 * interval)), where=p > 0.0
    )
    loss = -np.log(np.maximum(share, 1e-300))
    reach = min(
        0.5 * interval, float(np.abs(loss - 0.5 * interval).max())
    )  # a cell's loss stays in the cell
    masses = np.concatenate([(np.exp(-interval * np.arange(p.size)) * q)[::-1], p])
    return pld_pmf.DensePLDPmf(
        interval, -p.size, masses, 0.0, False
    ), 0.5 * interval - reach


def _each(function: Callable[[float], float], values: Array) -> Array:
    """Return the values of the function at each number of an array."""
    return np.array([function(float(value)) for value in values.flat]).reshape(
        values.shape
    )[()]
