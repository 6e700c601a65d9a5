"""Composition of several releases of the Dirichlet mechanism."""

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
from dpsim.accounting.exact import (
    LARGEST_EPSILON,
    beta_parameters,
    minimum_and_shift,
)
from dpsim.checks import Array
from dpsim.numerics import hockey_stick, search

# The bounds on delta are moved apart by these margins, which cover the truncation and
# rounding errors of the convolutions.
_SLACK = 1e-12
_RELATIVE_SLACK = 1e-10
# the probability beyond all grids, and also the probability that all truncations cut
# off; both have infinite loss
_TAIL = 1e-15
_MOST_RELEASES = 10_000
_LARGEST_GRID = 2**20


class _Group(NamedTuple):
    """A group of equal releases in a `Composition`.

    For a single release, p, up and q are the integrals of `hockey_stick.loss_cells`,
    and tail is the probability beyond the last cell. The number of releases is times.
    """

    p: Array
    up: Array
    q: Array
    tail: float
    times: int


@dataclass(frozen=True)
class Composition:
    """The privacy of several releases together, whose privacy losses add up.

    It is made by `compose`, which puts the losses on a grid. The exact delta lies
    between the deltas of two distributions: `pessimistic` splits each loss between the
    two grid points around it, and `optimistic` treats each cell of the grid as one
    outcome. If the interval is small, the gap between the two deltas is of the order of
    its square. Both bounds are proven for exact arithmetic. An absolute margin of 1e-12
    and a relative margin of 1e-10 cover the errors of the fast Fourier transforms. The
    bounds are rounded outward to multiples of 1e-12, because further digits differ
    between processors.

    Parameters
    ----------
    interval : float; the step of the grid of the losses, in nats
    groups : tuple; the kinds of releases, with the number of releases of each kind
    """

    interval: float
    groups: tuple[_Group, ...]

    @cached_property
    def pessimistic(self) -> pld_pmf.DensePLDPmf:
        """The distribution that gives upper bounds; it dominates the releases."""
        pmfs = [
            _connect_the_dots(g.p, g.up, g.tail, self.interval) for g in self.groups
        ]
        return _composed(pmfs, self.groups)

    @cached_property
    def optimistic(self) -> tuple[pld_pmf.DensePLDPmf, float]:
        """The distribution that gives lower bounds, and the total offset of its losses.

        The releases dominate it. Its true losses are the grid's losses plus the offset.
        """
        merged = [_merged_cells(g.p, g.q, self.interval) for g in self.groups]
        offset = sum(g.times * own for g, (_, own) in zip(self.groups, merged))
        return _composed([pmf for pmf, _ in merged], self.groups), offset

    def delta(self, epsilon: ArrayLike) -> Array:
        """Return an upper bound on delta at epsilon >= 0 (any shape).

        The bound is close to the exact delta only if the exact delta is above 1e-11.
        """
        return _each(self._upper, checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON))

    def delta_bounds(self, epsilon: ArrayLike) -> tuple[Array, Array]:
        """Return (lower, upper) bounds on delta at epsilon >= 0 (any shape)."""
        epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON)
        return _each(self._lower, epsilon), _each(self._upper, epsilon)

    def epsilon(self, delta: ArrayLike) -> Array:
        """Return an upper bound on epsilon at delta in [1e-11, 1] (any shape)."""
        delta = checks.real("delta", delta, 10.0 * _SLACK, 1.0)
        return _each(lambda d: self._inverse(self._upper, d, 1), delta)

    def epsilon_lower_bound(self, delta: ArrayLike) -> Array:
        """Return a lower bound on epsilon at delta in [1e-11, 1] (any shape)."""
        delta = checks.real("delta", delta, 10.0 * _SLACK, 1.0)
        return _each(lambda d: self._inverse(self._lower, d, -1), delta)

    def _lower(self, epsilon: float) -> float:
        pmf, offset = self.optimistic
        delta = pmf.get_delta_for_epsilon(epsilon - offset)
        certain = delta * (1.0 - _RELATIVE_SLACK) - _SLACK
        return max(0.0, math.floor(certain * 1e12) / 1e12)

    def _upper(self, epsilon: float) -> float:
        delta = self.pessimistic.get_delta_for_epsilon(epsilon)
        certain = delta * (1.0 + _RELATIVE_SLACK) + _SLACK
        return min(1.0, math.ceil(certain * 1e12) / 1e12)

    def _inverse(
        self, bound: Callable[[float], float], delta: float, side: int
    ) -> float:
        """Return the epsilon at which a falling bound on delta is `delta`, or 0.

        With side 1 the bound is at most `delta` there, so for an upper bound on delta
        the result is rounded up. With side -1 it is at least `delta`, so for a lower
        bound the result is rounded down.
        """
        low = 0.0
        high = self.interval
        if bound(low) <= delta:
            return 0.0
        while bound(high) > delta:
            low = high
            high = 2.0 * high

        def excess(epsilon: float) -> float:
            return side * math.log(max(bound(epsilon), 1e-300) / delta)

        inside, outside = (high, low) if side > 0 else (low, high)
        return search.last_kept(excess, inside, outside, 1e-4 * self.interval)


def compose(
    k: ArrayLike,
    *,
    shift: ArrayLike,
    eta: ArrayLike,
    count: ArrayLike = 1,
    interval: float | None = None,
) -> Composition:
    """Return the `Composition` of several draws from Dir(k p).

    They may be independent releases, or the rows of a matrix if neighbours differ in
    all of them.

    Parameters
    ----------
    k, shift, eta : array_like, as in `accounting.exact_delta`; arguments broadcast
        Each entry describes a group of equal releases.
    count : array_like of int
        The number of releases in each group, at least 1, and at most 10,000 in all.
    interval : float in [1e-9, 100], optional
        The step of the grid of the losses, in nats. None means 1/500 of a typical
        standard deviation of one loss. It is increased if the grid would be too large.

    Returns
    -------
    Composition
        The privacy of all releases together.

    Examples
    --------
    >>> float(compose(20.6, shift=1 / 98, eta=0.073, count=3).epsilon(1e-6).round(2))
    2.57
    """
    eta, shift = minimum_and_shift(eta, shift)
    a, t = beta_parameters("k", k, eta, shift)
    counts = checks.integers("count", count, 1)
    # equal releases are counted, so that each kind is put on the grid once
    groups: dict[tuple[float, float], int] = {}
    for *each, times in np.broadcast(a, t, counts):
        pair = (float(each[0]), float(each[1]))
        groups[pair] = groups.get(pair, 0) + int(times)
    if not groups:
        raise ValueError("k, shift, eta and count must describe a release, got none")
    total = checks.integer("the sum of count", sum(groups.values()), 1, _MOST_RELEASES)
    if interval is None:
        variance = sum(
            n * t * t * (polygamma(1, a) + polygamma(1, a + t))
            for (a, t), n in groups.items()
        )
        interval = 2e-3 * math.sqrt(variance / total)
    else:
        interval = checks.scalar("interval", interval, 1e-9, 100.0)
    log_tail = math.log(_TAIL / total)
    ends = {
        pair: float(hockey_stick.epsilon_for(log_tail, *pair, hockey_stick.REPLACE))
        for pair in groups
    }
    interval = max(interval, max(ends.values()) / _LARGEST_GRID)
    cells = []
    for pair, times in groups.items():
        number = math.ceil(ends[pair] / interval) + 1
        p, up, q = hockey_stick.loss_cells(*pair, interval, number)
        tail = max(0.0, float(betainc(pair[0], sum(pair), 0.5)) - p.sum())
        cells.append(_Group(p, up, q, tail, times))
    return Composition(interval, tuple(cells))


def _composed(
    pmfs: list[pld_pmf.DensePLDPmf], groups: tuple[_Group, ...]
) -> pld_pmf.DensePLDPmf:
    """Return the composition of all groups, given the pmf of one release from each."""
    cut = _TAIL / len(pmfs)
    # the bounds of the truncation overflow where they are not attained
    with np.errstate(over="ignore", invalid="ignore"):
        repeated = [
            pmf if group.times == 1 else pmf.self_compose(group.times, cut)
            for pmf, group in zip(pmfs, groups)
        ]
        return _convolved(repeated, cut)


def _convolved(pmfs: list[pld_pmf.DensePLDPmf], cut: float) -> pld_pmf.DensePLDPmf:
    """Return the composition of all distributions, computed by recursive halving."""
    if len(pmfs) == 1:
        return pmfs[0]
    half = len(pmfs) // 2
    return _convolved(pmfs[:half], cut).compose(_convolved(pmfs[half:], cut), cut)


def _connect_the_dots(
    p: Array, up: Array, tail: float, interval: float
) -> pld_pmf.DensePLDPmf:
    """Return the tightest dominating distribution on the grid.

    The algorithm is that of Doroshenko et al. 2022, Algorithm 1 ("connect the dots").
    From each cell's probability p, the part `up` moves to the upper end of the cell.
    The loss -x is e^-x times as probable as the loss x. The probability `tail` has
    infinite loss, and the remaining probability has loss 0.
    """
    positive = up + np.append((p - up)[1:], 0.0)
    negative = (np.exp(-interval * np.arange(1, p.size + 1)) * positive)[::-1]
    zero = max(0.0, 1.0 - tail - positive.sum() - negative.sum())
    masses = np.concatenate([negative, [zero], positive])
    return pld_pmf.DensePLDPmf(interval, -p.size, masses, tail, True)


def _merged_cells(
    p: Array, q: Array, interval: float
) -> tuple[pld_pmf.DensePLDPmf, float]:
    """Return a dominated distribution and the offset of its losses.

    Each cell stands for one outcome, and its loss is rounded down to the offset plus
    the cell's index times the interval. Since q is relative to e^(-i interval),
    log(p/q) is the loss of cell i minus i interval.
    """
    p = np.where(p > 1e-100, p, 0.0)  # without an outcome, it is still dominated
    middle = np.full(p.size, math.exp(-0.5 * interval))
    share = np.divide(q, p, out=middle, where=p > 0.0)
    loss = -np.log(np.maximum(share, 1e-300))
    # the loss of a cell lies in the cell, at most half an interval from its middle
    reach = min(0.5 * interval, float(np.abs(loss - 0.5 * interval).max()))
    negative = (np.exp(-interval * np.arange(p.size)) * q)[::-1]
    masses = np.concatenate([negative, p])
    pmf = pld_pmf.DensePLDPmf(interval, -p.size, masses, 0.0, False)
    return pmf, 0.5 * interval - reach


def _each(function: Callable[[float], float], values: Array) -> Array:
    """Return the value of the function at each number of an array."""
    results = np.array([function(value) for value in values.ravel().tolist()])
    return checks.plain(results.reshape(values.shape))
