"""Exact privacy accounting of the Dirichlet mechanism and of the tempered Dirichlet posterior.

Simplex release, Dir(k p). Neighbours are p and q = p - s e_i + s e_j with every entry at least eta.
The likelihood ratio depends on X_i / X_j alone, X_i / (X_i + X_j) is a Beta variable, merging coordinates is
post-processing, and the divergence grows with s (the best event, {X_i / X_j > const}, becomes likelier under
p and rarer under q). So with a = k eta and t = k s every pair is dominated by Beta(a+t, a) against
Beta(a, a+t), whose privacy loss is t logit(Y), and

    delta(epsilon) = I_w(a, a+t) - e^epsilon I_w(a+t, a),    w = 1 / (1 + e^(epsilon/t))

which is attained when there are n >= 3 categories with n eta + s <= 1, and a bound for n = 2. No gamma and no
assumption on k enter. Here s is `shift`: b/2 for b-adjacent vectors, 1/N when one of N records moves, c/N
when one user moves c records between the same two categories (that no other pattern is worse was checked, not
proved).

Posterior release, Dir(kappa (c + alpha)), c the counts, alpha > 0 public. Replacing a record: the same
profile with a = kappa alpha and t = kappa, for all databases, zero counts included. Adding or removing one:
X_i is Beta(a', r) or Beta(a'+t, r) with a' >= a, its odds are G/G_r, and multiplying G_r by an independent
Beta(r', r-r') makes it G_r' for any r' < r. So the pair is worse for larger r and smaller a': it is
dominated by Gamma(a) against Gamma(a+t), in both directions, and approaches that as the row's other counts
grow.

delta grows with k (and kappa). Proof: let k' = m k, 0 < m < 1. Given X ~ Dir(k p) draw Y from the Pitman-Yor
process with discount m, concentration k' and base X; then E[(sum u_i Y_i)^(-k') | X] = (sum X_i u_i^m)^(-k)
for u > 0, whose mean over X is prod (u_i^m)^(-k p_i) = prod u_i^(-k' p_i): the transform that characterises
Dir(k' p) (Markov-Krein). So Dir(k' p) comes from Dir(k p) by a random map that does not know p, and no
divergence can grow. As k -> 0, delta falls to

    s / (2 eta + s) * exp(-epsilon eta / s):    the privacy floor, which no k passes.

Every delta is exact within 1e-10 in log delta, or 1e-12 of it where it is huge, for a and t in [1e-9, 1e10];
every epsilon and k is rounded to the safe side by as much; compositions are upper bounds.
"""

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

from dpsim import checks, quadrature
from dpsim.checks import Array

PARAMETER_RANGE = (1e-9, 1e10)  # of a and t, where the quadrature was compared with 40 to 90 digits
_ONE = np.asarray(1.0)
_LARGEST_EPSILON = 1e30
_SMALLEST_SHARE = 1e-18  # of eta, shift, alpha and 1/alpha, so that some k or kappa is in range
_PAIRS = {"replace": quadrature.REPLACE, "add-remove": quadrature.ADD_REMOVE}


def exact_delta(epsilon: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the exact delta(epsilon) of Dir(k p) on the simplex bordered by eta.

    Arguments broadcast. epsilon >= 0 (at 0: the total variation distance), k > 0, eta in [1e-18, 1/2),
    shift in [1e-18, 1 - 2 eta]. Values below 1e-308 come out as 0: `log_exact_delta` keeps them.
    Raises ValueError outside these ranges or when k eta or k shift is outside `PARAMETER_RANGE`.
    """
    return np.exp(log_exact_delta(epsilon, k, shift=shift, eta=eta))


def log_exact_delta(epsilon: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return log exact_delta, below 1e-308 too; arguments and errors as there."""
    eta, shift = _border(eta, shift)
    return _log_delta(epsilon, *_scaled("k", k, eta, shift), quadrature.REPLACE)


def exact_epsilon(delta: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the smallest epsilon >= 0 with exact_delta(epsilon) <= delta, rounded up.

    Arguments broadcast; delta in (0, 1], the others and the errors as in `exact_delta`.
    """
    eta, shift = _border(eta, shift)
    return _epsilon(delta, *_scaled("k", k, eta, shift), quadrature.REPLACE)


def privacy_floor(delta: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the epsilon at delta that is approached as k -> 0 and passed by no k (0 where delta allows it).

    Proven: max(0, (s/eta) log(s / ((2 eta + s) delta))). Arguments broadcast, ranges as in `exact_epsilon`.
    """
    eta, shift = _border(eta, shift)
    return _replace_floor(_probability(delta), eta, shift)


def calibrate_k(epsilon: ArrayLike, delta: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the largest k, rounded down, whose release is (epsilon, delta)-private.

    At most the largest k in range. The returned k was itself evaluated. Arguments broadcast, epsilon > 0.
    Raises ValueError for a target at or below the privacy floor and says which border eta would reach it; and for one
    so little above it that the k it needs is out of range.
    """
    eta, shift = _border(eta, shift)
    return _calibrate("k", epsilon, delta, eta, shift, quadrature.REPLACE, _border_hint)


def renyi_divergence(order: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the Renyi divergence of the dominating pair, exact, Kullback-Leibler at order 1.

    order in [1, 1 + eta/shift): it is infinite beyond, which raises ValueError. Arguments broadcast.
    D = [log B(a + order t, a + t - order t) - log B(a, a+t)] / (order - 1), written without cancellation.
    """
    eta, shift = _border(eta, shift)
    a, t = _scaled("k", k, eta, shift)
    order, a, t = np.broadcast_arrays(checks.real("order", order, 1.0), a, t)
    step = (order - 1.0) * t
    if np.any(step >= a):
        bad = np.argmax(step >= a)
        largest = 1.0 + a.flat[bad] / t.flat[bad]
        raise ValueError(
            f"order must be in [1, 1 + eta/shift) = [1, {largest:g}), where the divergence is finite, "
            f"got {order.flat[bad]:g}"
        )
    return quadrature.renyi(step, a, t)


def posterior_delta(epsilon: ArrayLike, *, kappa: ArrayLike, alpha: ArrayLike, adjacency: str = "replace") -> Array:
    """Return the exact delta(epsilon) of Dir(kappa (counts + alpha)) over all databases.

    adjacency "replace": one record moves; attained with n >= 3. "add-remove": the larger of both directions,
    the supremum over all rows. Arguments broadcast; epsilon >= 0, kappa > 0, alpha in [1e-18, 1e18]. Raises
    ValueError outside these ranges or when kappa or kappa alpha is outside `PARAMETER_RANGE`.
    """
    return np.exp(log_posterior_delta(epsilon, kappa=kappa, alpha=alpha, adjacency=adjacency))


def log_posterior_delta(epsilon: ArrayLike, *, kappa: ArrayLike, alpha: ArrayLike, adjacency: str = "replace") -> Array:
    """Return log posterior_delta, below 1e-308 too; arguments and errors as there."""
    a, t = _scaled("kappa", kappa, _pseudo_count(alpha), _ONE)
    return _log_delta(epsilon, a, t, _pair(adjacency))


def posterior_epsilon(delta: ArrayLike, *, kappa: ArrayLike, alpha: ArrayLike, adjacency: str = "replace") -> Array:
    """Return the smallest epsilon >= 0 with posterior_delta(epsilon) <= delta in (0, 1], rounded up."""
    a, t = _scaled("kappa", kappa, _pseudo_count(alpha), _ONE)
    return _epsilon(delta, a, t, _pair(adjacency))


def posterior_floor(delta: ArrayLike, *, alpha: ArrayLike, adjacency: str = "replace") -> Array:
    """Return the epsilon at delta that is approached as kappa -> 0 and passed by no kappa.

    Proven: log(1 / ((2 alpha + 1) delta)) / alpha for "replace". For "add-remove" the removal decides:
    delta -> alpha^alpha / (alpha + 1)^(alpha + 1) e^(-epsilon alpha).
    """
    delta, alpha = _probability(delta), _pseudo_count(alpha)
    if _pair(adjacency) == quadrature.REPLACE:
        return _replace_floor(delta, alpha, _ONE)
    return _remove_floor(delta, alpha)


def calibrate_kappa(epsilon: ArrayLike, delta: ArrayLike, *, alpha: ArrayLike, adjacency: str = "replace") -> Array:
    """Return the largest kappa, rounded down, whose release is (epsilon, delta)-private.

    As `calibrate_k`; for a target at or below the floor ValueError says which alpha would reach it.
    """
    alpha, pair = _pseudo_count(alpha), _pair(adjacency)
    return _calibrate("kappa", epsilon, delta, alpha, _ONE, pair, _pseudo_count_hint)


# --- the shared core: (a, t) and one of the two pairs -----------------------------------------------------


def _log_delta(epsilon: ArrayLike, a: Array, t: Array, pair: int) -> Array:
    epsilon = checks.real("epsilon", epsilon, 0.0, _LARGEST_EPSILON)
    return np.minimum(quadrature.log_delta(epsilon, a, t, pair), 0.0)


def _epsilon(delta: ArrayLike, a: Array, t: Array, pair: int) -> Array:
    return quadrature.epsilon_for(np.log(_probability(delta)), a, t, pair)


def _replace_floor(delta: Array, eta: Array, shift: Array) -> Array:
    return np.maximum(0.0, shift / eta * (np.log(shift) - np.log(2.0 * eta + shift) - np.log(delta)))


def _remove_floor(delta: Array, alpha: Array) -> Array:
    """Return the floor under add-remove, where as kappa -> 0 removal decides.

    With y = e^epsilon and K = alpha^alpha / (alpha+1)^(alpha+1) removal tends to K y^-alpha, adding to
    1 - y + K y^(alpha+1) up to y = 1 + 1/alpha and 0 beyond; their difference is concave up to there, zero at
    y = 1 and positive at the end.
    """
    return np.maximum(0.0, -np.log1p(1.0 / alpha) - (np.log1p(alpha) + np.log(delta)) / alpha)


def _calibrate(
    name: str,
    epsilon: ArrayLike,
    delta: ArrayLike,
    eta: Array,
    shift: Array,
    pair: int,
    hint: Callable[[float, float, float, int], str],
) -> Array:
    epsilon = checks.real("epsilon", epsilon, 0.0, _LARGEST_EPSILON, open_low=True)
    delta = _probability(delta)
    lowest, highest = _scale_range(eta, shift)
    scale = quadrature.scale_for(np.log(delta), epsilon, eta, shift, pair, lowest, highest)
    if np.any(scale == 0.0):
        bad = np.argmax(scale == 0.0)
        e, d, border, step = (float(x.flat[bad]) for x in np.broadcast_arrays(epsilon, delta, eta, shift))
        floor = _floor(d, border, step, pair)
        which = f"no {name}" if floor >= e else f"so little above it no {name} in range"
        raise ValueError(
            f"epsilon must be above the privacy floor {floor:.6g} at delta {d:g}, "
            f"got {e:g}: {which} reaches it; {hint(e, d, step, pair)}"
        )
    return scale


def _floor(delta: float, eta: float, shift: float, pair: int) -> float:
    if pair == quadrature.REPLACE:
        return float(_replace_floor(np.asarray(delta), np.asarray(eta), np.asarray(shift)))
    return float(_remove_floor(np.asarray(delta), np.asarray(eta)))


def _border_hint(epsilon: float, delta: float, shift: float, pair: int) -> str:
    widest = 0.5 * (1.0 - shift)
    if widest <= 0.0 or _floor(delta, widest, shift, pair) >= epsilon:
        return f"no border eta does at shift {shift:g}"
    return f"a border eta above {_reaching(epsilon, delta, shift, pair, widest):.4g} would"


def _pseudo_count_hint(epsilon: float, delta: float, shift: float, pair: int) -> str:
    largest = 1.0 / _SMALLEST_SHARE
    if _floor(delta, largest, shift, pair) >= epsilon:
        return f"no pseudo-count alpha up to {largest:g} does"
    return f"a pseudo-count alpha above {_reaching(epsilon, delta, shift, pair, largest):.4g} would"


def _reaching(epsilon: float, delta: float, shift: float, pair: int, high: float) -> float:
    """Return the border or pseudo-count whose floor, which falls with it, is epsilon."""
    low = high
    while _floor(delta, low, shift, pair) <= epsilon:
        low, high = 0.5 * low, low
    for _ in range(60):  # halving, since a tiny epsilon leaves a faster search nothing to go by
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _floor(delta, middle, shift, pair) > epsilon else (low, middle)
    return high


# --- compositions -----------------------------------------------------------------------------------------

# Cover the truncations and rounding errors of the convolutions: bounds of delta are moved apart by as much.
_SLACK, _RELATIVE_SLACK = 1e-12, 1e-10
_TAIL = 1e-15  # mass beyond the grids, and again what all truncations may cut: counted as infinite loss
_MOST_RELEASES = 10_000
_LARGEST_GRID = 2**20


class _Group(NamedTuple):
    """Equal releases of a composition: the integrals of `quadrature.loss_cells`, the mass beyond, how many."""

    p: Array
    up: Array
    q: Array
    tail: float
    times: int


@dataclass(frozen=True)
class Composition:
    """Several releases whose privacy losses add, as discretised privacy loss distributions.

    `pessimistic` dominates the releases: each loss is split between the two grid points around it
    (connect-the-dots). `optimistic` is dominated by them: each cell is merged into one outcome and its loss
    rounded down to a grid that is moved by `offset` in all. So the truth lies between the two, whose gap is
    of the order of interval squared once that is small. Both are proven in exact arithmetic; the rounding of
    the fast Fourier transforms is covered by a margin of 1e-12 in delta. Each is composed when first asked for.
    """

    interval: float
    groups: tuple[_Group, ...]

    @cached_property
    def pessimistic(self) -> pld_pmf.DensePLDPmf:
        """The distribution that gives upper bounds."""
        made = [(_connect_the_dots(g.p, g.up, g.tail, self.interval), g.times) for g in self.groups]
        return _composed(made)

    @cached_property
    def optimistic(self) -> tuple[pld_pmf.DensePLDPmf, float]:
        """The distribution that gives lower bounds, and the offset of its losses."""
        made = [(*_merged_cells(g.p, g.q, self.interval), g.times) for g in self.groups]
        offset = sum(times * shifted for _, shifted, times in made)
        return _composed([(pmf, times) for pmf, _, times in made]), offset

    def delta(self, epsilon: ArrayLike) -> Array:
        """Return an upper bound of delta at epsilon >= 0 (any shape); meaningful above 1e-11."""
        return _each(self._upper, checks.real("epsilon", epsilon, 0.0, _LARGEST_EPSILON))

    def delta_bounds(self, epsilon: ArrayLike) -> tuple[Array, Array]:
        """Return (lower, upper) bounds of delta at epsilon >= 0 (any shape)."""
        epsilon = checks.real("epsilon", epsilon, 0.0, _LARGEST_EPSILON)
        return _each(self._lower, epsilon), _each(self._upper, epsilon)

    def epsilon(self, delta: ArrayLike) -> Array:
        """Return an upper bound of the smallest epsilon >= 0 at delta in [1e-11, 1] (any shape)."""
        delta = checks.real("delta", delta, 10.0 * _SLACK, 1.0)
        return _each(lambda d: self._bracket(self._upper, d)[1], delta)

    def epsilon_lower_bound(self, delta: ArrayLike) -> Array:
        """Return a lower bound of the smallest epsilon >= 0 at delta in [1e-11, 1] (any shape)."""
        delta = checks.real("delta", delta, 10.0 * _SLACK, 1.0)
        return _each(lambda d: self._bracket(self._lower, d)[0], delta)

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Array, Array]:
        """Return (lower, upper) bounds of the smallest epsilon >= 0 at delta in [1e-11, 1] (any shape)."""
        return self.epsilon_lower_bound(delta), self.epsilon(delta)

    def _lower(self, epsilon: float) -> float:
        pmf, offset = self.optimistic
        delta = pmf.get_delta_for_epsilon(epsilon - offset)
        return max(0.0, delta * (1.0 - _RELATIVE_SLACK) - _SLACK)

    def _upper(self, epsilon: float) -> float:
        delta = self.pessimistic.get_delta_for_epsilon(epsilon)
        return min(1.0, delta * (1.0 + _RELATIVE_SLACK) + _SLACK)

    def _bracket(self, bound: Callable[[float], float], delta: float) -> tuple[float, float]:
        """Return two close epsilons with bound(low) > delta >= bound(high), or zeros if bound(0) <= delta."""
        low, high = 0.0, self.interval
        if bound(low) <= delta:
            return 0.0, 0.0
        while bound(high) > delta:
            low, high = high, 2.0 * high
        while high - low > 1e-4 * self.interval:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if bound(middle) > delta else (low, middle)
        return low, high


def compose(
    k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike, count: ArrayLike = 1, interval: float | None = None
) -> Composition:
    """Return the composition of `count` releases for each k: independent releases, or rows that move at once.

    k, shift, eta as in `exact_delta`, count integers >= 1; they broadcast, each entry is a group of releases
    and there are at most 10,000 in all.
    interval: the grid of the losses; None: 1/500 of a typical standard deviation of one loss. Raises
    ValueError outside the ranges.
    """
    eta, shift = _border(eta, shift)
    return _compose(*_scaled("k", k, eta, shift), count, interval)


def compose_posterior(
    kappa: ArrayLike, *, alpha: ArrayLike, count: ArrayLike = 1, interval: float | None = None
) -> Composition:
    """Return the composition of releases Dir(kappa (counts + alpha)), replace-one adjacency, as `compose`."""
    return _compose(*_scaled("kappa", kappa, _pseudo_count(alpha), _ONE), count, interval)


def _compose(a: Array, t: Array, count: ArrayLike, interval: float | None) -> Composition:
    checks.real("count", count, 1.0)
    a, t, count = (array.ravel() for array in np.broadcast_arrays(a, t, np.asarray(count)))
    groups: dict[tuple[float, float], int] = {}
    for pair, times in zip(zip(a.tolist(), t.tolist()), count.tolist()):
        groups[pair] = groups.get(pair, 0) + checks.integer("count", times, 1)
    total = checks.integer("the sum of count", sum(groups.values()), 1, _MOST_RELEASES)
    if interval is None:
        variance = sum(n * t * t * (polygamma(1, a) + polygamma(1, a + t)) for (a, t), n in groups.items())
        interval = 2e-3 * math.sqrt(variance / total)
    else:
        interval = checks.scalar("interval", interval, 0.0, open_low=True)
    log_tail = math.log(_TAIL / total)
    ends = {pair: float(quadrature.epsilon_for(log_tail, *pair, quadrature.REPLACE)) for pair in groups}
    interval = max(interval, max(ends.values()) / _LARGEST_GRID)
    cells = []
    for pair, times in groups.items():
        p, up, q = quadrature.loss_cells(*pair, interval, math.ceil(ends[pair] / interval) + 1)
        tail = max(0.0, float(betainc(pair[0], sum(pair), 0.5)) - p.sum())
        cells.append(_Group(p, up, q, tail, times))
    return Composition(interval, tuple(cells))


def _composed(pmfs: list[tuple[pld_pmf.DensePLDPmf, int]]) -> pld_pmf.DensePLDPmf:
    """Return the composition of pmfs, each so many times."""
    cut = _TAIL / len(pmfs)
    with np.errstate(over="ignore", invalid="ignore"):  # the truncation bounds overflow where they do not bind
        return _convolved([_repeated(pmf, times, cut) for pmf, times in pmfs], cut)


def _repeated(pmf: pld_pmf.DensePLDPmf, times: int, cut: float) -> pld_pmf.DensePLDPmf:
    return pmf if times == 1 else pmf.self_compose(times, cut)


def _convolved(pmfs: list[pld_pmf.DensePLDPmf], cut: float) -> pld_pmf.DensePLDPmf:
    """Return the composition of all, two by two."""
    if len(pmfs) == 1:
        return pmfs[0]
    half = len(pmfs) // 2
    return _convolved(pmfs[:half], cut).compose(_convolved(pmfs[half:], cut), cut)


def _connect_the_dots(p: Array, up: Array, tail: float, interval: float) -> pld_pmf.DensePLDPmf:
    """Return the tightest dominating distribution on the grid (Doroshenko et al. 2022, Algorithm 1).

    A part `up` of a cell's mass p moves to its upper end, the rest to the lower one: the split that keeps the
    mass under the other law. The pair is symmetric: the mass at -x is e^-x times that at x. What lies beyond
    the grid, `tail`, counts as infinite loss; what is left (the negative tail and rounding) goes to loss 0.
    """
    positive = up + np.append((p - up)[1:], 0.0)
    negative = (np.exp(-interval * np.arange(1, p.size + 1)) * positive)[::-1]
    zero = max(0.0, 1.0 - tail - positive.sum() - negative.sum())
    return pld_pmf.DensePLDPmf(interval, -p.size, np.concatenate([negative, [zero], positive]), tail, True)


def _merged_cells(p: Array, q: Array, interval: float) -> tuple[pld_pmf.DensePLDPmf, float]:
    """Return a dominated distribution, each cell one outcome at the cell's index, and its losses' offset.

    q is relative to e^(-i interval), so log(p/q) is the cell's loss above i interval.
    """
    p = np.where(p > 1e-100, p, 0.0)  # dropping mass keeps it dominated
    share = np.divide(q, p, out=np.full(p.size, math.exp(-0.5 * interval)), where=p > 0.0)
    loss = -np.log(np.maximum(share, 1e-300))
    reach = min(0.5 * interval, float(np.abs(loss - 0.5 * interval).max()))  # a cell's loss stays in the cell
    masses = np.concatenate([(np.exp(-interval * np.arange(p.size)) * q)[::-1], p])
    return pld_pmf.DensePLDPmf(interval, -p.size, masses, 0.0, False), 0.5 * interval - reach


def _each(function: Callable[[float], float], values: Array) -> Array:
    """Return the function of each number of an array."""
    return np.array([function(float(value)) for value in values.flat]).reshape(values.shape)[()]


# --- arguments --------------------------------------------------------------------------------------------


def _border(eta: ArrayLike, shift: ArrayLike) -> tuple[Array, Array]:
    eta = checks.real("eta", eta, _SMALLEST_SHARE, 0.5, open_high=True)
    shift = checks.real("shift", shift, _SMALLEST_SHARE, 1.0)
    outside = shift > (1.0 - 2.0 * eta) * (1.0 + 1e-12)
    if np.any(outside):
        bad = np.argmax(outside)
        eta_at, shift_at = (array.flat[bad] for array in np.broadcast_arrays(eta, shift))
        raise ValueError(
            f"shift must be at most 1 - 2 eta = {1.0 - 2.0 * eta_at:g}, got {shift_at:g}: "
            "neighbours would leave the bordered simplex"
        )
    return eta, shift


def _scale_range(eta: Array, shift: Array) -> tuple[Array, Array]:
    low, high = PARAMETER_RANGE
    return low / np.minimum(eta, shift), high / np.maximum(eta, shift)


def _scaled(name: str, scale: ArrayLike, eta: Array, shift: Array) -> tuple[Array, Array]:
    """Return a = scale eta and t = scale shift once both are in PARAMETER_RANGE."""
    scale = checks.real(name, scale, 0.0, open_low=True)
    lowest, highest = _scale_range(eta, shift)
    outside = (scale < lowest) | (scale > highest)
    if np.any(outside):
        bad = np.argmax(outside)
        value, low, high = (array.flat[bad] for array in np.broadcast_arrays(scale, lowest, highest))
        raise ValueError(f"{name} must be in [{low:g}, {high:g}] here, got {value:g}")
    return scale * eta, scale * shift


def _pseudo_count(alpha: ArrayLike) -> Array:
    return checks.real("alpha", alpha, _SMALLEST_SHARE, 1.0 / _SMALLEST_SHARE)


def _probability(delta: ArrayLike) -> Array:
    return checks.real("delta", delta, 0.0, 1.0, open_low=True)


def _pair(adjacency: str) -> int:
    return _PAIRS[checks.choice("adjacency", adjacency, tuple(_PAIRS))]
