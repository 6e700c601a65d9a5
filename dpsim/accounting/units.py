"""What the release Dir(kappa (c + alpha)) of a table of transitions costs one unit, and the choice of alpha and kappa.

A unit is one event, or a person, a car, a session with at most c events in each of at most r rows (origins).
Neighbouring tables differ in one unit:
  "replace"     the unit's events end elsewhere; the origins, and with them the row totals, are public;
  "add-remove"  the unit is there or not.

Rows are drawn independently, so a unit costs the composition of its r rows. In one row it moves the counts by an
integer vector d. Normalised independent Gammas of shapes kappa (c_j + alpha) are that Dirichlet, so the pair of
products Gamma(p_j) against Gamma(p_j + kappa d_j) dominates; under "replace" it is equivalent, because the total is an
independent Gamma of the same shape on both sides. With a = kappa alpha, the worst case of c events is
t = kappa c: all of them between the same two categories. Under "replace" the pair is Beta(a + t, a) against
Beta(a, a + t), under "add-remove" Gamma(a) against Gamma(a + t) both ways: the pairs of dpsim.accounting.

Proof that no pattern is worse, for a >= 1/2 (c = 1 needs none). Take the coordinates with d_j > 0, sum d_j = c; the
others are mirrored. Let v in [0, 1] lead from the table (0) to its neighbour (1). The logarithm of Gamma(b + u) is
infinitely divisible, its jumps -y having intensity e^(-(b+u) y) / (y (1 - e^-y)) (the Frullani form of log Gamma);
so the jumps x of c log X, X ~ Gamma(a + kappa c v), have intensity e^(-kappa v x) h(c) / x, with
h(d) = e^(-a x/d) / (1 - e^(-x/d)), and those of S = sum d_j log G_j, G_j ~ Gamma(p_j + kappa d_j v), at most
e^(-kappa v x) sum_j h(d_j) / x. With y = x/d, h(d)/d = y e^(-a y) / ((1 - e^-y) x), whose logarithm falls in y at rate
a - (1/y - 1/(e^y - 1)) >= a - 1/2 >= 0. So h(d)/d rises with d, sum_j h(d_j) <= h(c): the second process is a
thinning of the first, with a probability free of v. v tilts both laws exponentially in c log X and in S, so the jumps
given c log X, and (G_j) given S, have laws free of v. Hence X -> jumps -> thinned jumps -> S -> (G_j) is a random map
that knows nothing of v and carries the pair of X to the pair of (G_j): no divergence can be larger. Fewer events than
c give a smaller t, which is a random map of t too.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from dp_accounting.pld import pld_pmf
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincc, gammaincinv, gammaln, polygamma

from dpsim import checks
from dpsim.accounting import dirichlet
from dpsim.checks import Array

ADJACENCIES = ("replace", "add-remove")
SMALLEST_SHAPE = 0.5  # of kappa alpha, where a unit may have several events in a row: the proof needs it
SMALLEST_EPSILON = 1e-6  # of a plan: the alphas and kappas of smaller ones leave the range of the accounting
LARGEST_EPSILON = 1e30
SMALLEST_COMPOSED_DELTA = 1e-11  # of units with several rows
_SLACK = 1e-12  # of delta, for the rounding of the convolutions
_TAIL = 1e-15  # mass beyond the grid of losses: counted as infinite loss
# of the Gamma pair, whose deltas need e^loss times masses above 1e-308; the rest counts as infinite
_LARGEST_LOSS = 650.0
_STEPS = 20  # grid steps in one standard deviation of the loss
_WIDEST = 1e4  # largest alpha considered, relative to the smallest that one row allows
_GRID = 48  # values of alpha in the first pass; a quarter when each needs convolutions


class Unit(NamedTuple):
    """Whose presence is protected: at most `events_per_row` events in each of at most `rows` origins."""

    events_per_row: int = 1
    rows: int = 1

    @property
    def events(self) -> int:
        """The most events a unit can have."""
        return self.events_per_row * self.rows

    def checked(self) -> Unit:
        """Return the unit once both limits are integers of at least 1 (ValueError); TypeError for anything else."""
        if not isinstance(self, Unit):  # called as Unit.checked(argument)
            raise TypeError(f"unit must be a Unit, got {type(self).__name__}")
        return Unit(checks.integer("events_per_row", self.events_per_row, 1), checks.integer("rows", self.rows, 1, 999))


EVENT = Unit()


class Plan(NamedTuple):
    """The parameters of a release and what is known before the data are looked at."""

    alpha: float
    """Public pseudo-count of every allowed transition."""
    kappa: float
    """Tempering: the largest that epsilon allows at this alpha."""
    epsilon: float
    """What the release spends at delta: at most the target."""
    delta: float
    error: float
    """Proven bound on the expected total variation error of a row, averaged over events."""


def unit_epsilon(delta: float, *, kappa: float, alpha: float, unit: Unit = EVENT, adjacency: str = "replace") -> float:
    """Return the epsilon at delta of Dir(kappa (counts + alpha)) for a unit.

    Exact for r = 1 (for one event, and where c events can move between the same two of n >= 3 categories); for r > 1
    an upper bound by convolution of discretised losses (connect-the-dots), or, where these pass 650, r times what one
    row costs at delta / r. delta in (0, 1], for r > 1 in [1e-11, 1]. Raises ValueError outside these ranges and those
    of `accounting.posterior_epsilon`, and when c > 1 with kappa alpha < 1/2, where the worst pattern is not proven.
    """
    unit, adjacency = Unit.checked(unit), checks.choice("adjacency", adjacency, ADJACENCIES)
    kappa = checks.scalar("kappa", kappa, 0.0, open_low=True)
    alpha = checks.scalar("alpha", alpha, 0.0, open_low=True)
    c = unit.events_per_row
    if c > 1 and kappa * alpha < SMALLEST_SHAPE:
        raise ValueError(f"kappa alpha must be at least {SMALLEST_SHAPE} for units of several events a row, "
                         f"got {kappa * alpha:g}")  # fmt: skip
    one_row = float(dirichlet.posterior_epsilon(delta, kappa=kappa * c, alpha=alpha / c, adjacency=adjacency))
    if unit.rows == 1:
        return one_row
    delta = checks.scalar("delta", delta, SMALLEST_COMPOSED_DELTA, 1.0)
    pmfs = _losses(kappa * alpha, kappa * c, unit, adjacency)
    composed = max(_composed_epsilon(delta, pmf, unit.rows) for pmf in pmfs)
    if math.isfinite(composed):
        return composed
    share = dirichlet.posterior_epsilon(delta / unit.rows, kappa=kappa * c, alpha=alpha / c, adjacency=adjacency)
    return unit.rows * float(share)


def calibrate(epsilon: float, delta: float, alpha: ArrayLike, unit: Unit, adjacency: str) -> Array:
    """Return the largest kappa of each alpha, rounded down, with unit_epsilon <= epsilon; 0 where there is none.

    0 stands for an alpha at or below the privacy floor, and for a kappa alpha below 1/2 where that is not allowed.
    epsilon in (0, 1e30], delta in (0, 1), for units of several rows in [1e-11, 1); alpha / c in [1e-18, 1e18]. Raises
    ValueError outside these ranges.
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, LARGEST_EPSILON, open_low=True)
    unit, adjacency = Unit.checked(unit), checks.choice("adjacency", adjacency, ADJACENCIES)
    delta = _delta_of(unit, delta)
    c = unit.events_per_row
    alphas = checks.real("alpha", alpha, 0.0, open_low=True)
    kappas = np.zeros(alphas.shape)
    single = dirichlet.posterior_floor(delta, alpha=alphas / c, adjacency=adjacency) < epsilon
    if single.any():
        kappas[single] = (
            dirichlet.calibrate_kappa(epsilon, delta, alpha=alphas[single] / c, adjacency=adjacency) * (1 - 1e-9) / c
        )
    if unit.rows > 1:
        for index in np.ndindex(kappas.shape):
            kappas[index] = _composed_kappa(epsilon, delta, float(alphas[index]), float(kappas[index]), unit, adjacency)
    if c > 1:
        kappas[kappas * alphas < SMALLEST_SHAPE] = 0.0
    return kappas


def row_error_bound(n: ArrayLike, N: ArrayLike, kappa: ArrayLike, alpha: ArrayLike) -> Array:
    """Return a bound on E||x - c/N||_TV of x ~ Dir(kappa (c + alpha)), for all counts c of N events in n categories.

    Proof: the mean of x is at distance n alpha / (N + n alpha) ||c/N - 1/n||_TV <= (1 - 1/n) n alpha / (N + n alpha)
    from c/N, and sum_j sqrt(Var x_j) <= sqrt((n - 1) / (kappa (N + n alpha) + 1)). At most 1 - 1/n + spread; capped at
    1. Arguments broadcast; N >= 0 (for N = 0 there is no c/N: the prior's 1 - 1/n + spread).
    """
    n, N = checks.real("n", n, 1.0), checks.real("N", N, 0.0)
    kappa, alpha = checks.real("kappa", kappa, 0.0), checks.real("alpha", alpha, 0.0, open_low=True)
    weight = N + n * alpha
    return np.minimum(1.0, alpha * (n - 1.0) / weight + 0.5 * np.sqrt((n - 1.0) / (kappa * weight + 1.0)))


def plan(
    epsilon: float, delta: float, n: ArrayLike, N: ArrayLike, *, unit: Unit = EVENT, adjacency: str = "replace"
) -> Plan:
    """Return alpha and kappa chosen from public numbers alone: n (rows,) allowed destinations, N (rows,) row totals.

    Rule: alpha runs over a grid above the privacy floor, each with the largest kappa that epsilon allows; kept is the
    alpha with the smallest `row_error_bound`, averaged over rows with weights N (over rows when all are 0). Two more
    passes refine the grid round its best alpha. epsilon in [1e-6, 1e30], delta in (0, 1), for units of several rows in
    [1e-11, 1); n >= 1, N >= 0. Raises ValueError outside these ranges, and for an epsilon that no alpha reaches.
    """
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
    unit, adjacency = Unit.checked(unit), checks.choice("adjacency", adjacency, ADJACENCIES)
    delta = _delta_of(unit, delta)
    sizes, totals, weights = _row_groups(n, N)
    alphas, kappas = _frontier(epsilon, delta, unit, adjacency)
    for _ in range(2):
        best = int(np.argmin(_mean_error(sizes, totals, weights, kappas, alphas)))
        near = np.linspace(alphas[max(best - 1, 0)], alphas[min(best + 1, len(alphas) - 1)], 9)[1:-1]
        found = calibrate(epsilon, delta, near, unit, adjacency)
        alphas, kappas = np.append(alphas, near[found > 0]), np.append(kappas, found[found > 0])
        alphas, kappas = alphas[order := np.argsort(alphas)], kappas[order]
    errors = _mean_error(sizes, totals, weights, kappas, alphas)
    best = int(np.argmin(errors))
    alpha, kappa = float(alphas[best]), float(kappas[best])
    spent = unit_epsilon(delta, kappa=kappa, alpha=alpha, unit=unit, adjacency=adjacency)
    return Plan(alpha, kappa, spent, delta, float(errors[best]))


def events_needed(
    target: float, epsilon: float, delta: float, n: int, *, unit: Unit = EVENT, adjacency: str = "replace"
) -> float:
    """Return how many events a row of n destinations needs for a `row_error_bound` of `target` in (0, 1).

    alpha and kappa are chosen for that number, on the grid of `plan`. epsilon and delta as in `plan`, n >= 1. Raises
    ValueError outside these ranges, and for a target that e^60 events do not reach.
    """
    target = checks.scalar("target", target, 0.0, 1.0, open_low=True, open_high=True)
    n = checks.integer("n", n, 1)
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
    unit, adjacency = Unit.checked(unit), checks.choice("adjacency", adjacency, ADJACENCIES)
    alphas, kappas = _frontier(epsilon, _delta_of(unit, delta), unit, adjacency)

    def excess(log_events: float) -> float:
        return float(row_error_bound(n, math.exp(log_events), kappas, alphas).min()) - target

    if n == 1 or excess(0.0) <= 0.0:
        return 1.0
    if excess(60.0) > 0.0:
        raise ValueError(f"target must be at least {target + excess(60.0):.3g}, got {target:g}: e^60 events miss it")
    return math.ceil(math.exp(brentq(excess, 0.0, 60.0, xtol=1e-6)))


def _delta_of(unit: Unit, delta: float) -> float:
    """Return delta once it is in (0, 1), and not too small for convolutions where a unit has several rows."""
    if unit.rows > 1:
        return checks.scalar("delta", delta, SMALLEST_COMPOSED_DELTA, 1.0, open_high=True)
    return checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)


@functools.lru_cache(maxsize=16)
def _frontier(epsilon: float, delta: float, unit: Unit, adjacency: str) -> tuple[Array, Array]:
    """Return a grid of alphas above the floor and the largest kappa of each."""
    c = unit.events_per_row
    high = 1.0 + (1.0 - 2.0 * math.log(delta)) / epsilon  # both floors are below -log(delta) / alpha
    low = high * 1e-12

    def above(log_alpha: float) -> float:
        return float(dirichlet.posterior_floor(delta, alpha=math.exp(log_alpha), adjacency=adjacency)) - epsilon

    if above(math.log(low)) > 0.0:
        low = math.exp(brentq(above, math.log(low), math.log(high), xtol=1e-12))
    smallest = c * max(low, 1e-3)
    count = _GRID if unit.rows == 1 else _GRID // 4
    alphas = smallest * np.geomspace(1.0 + 1e-3, _WIDEST, count)
    kappas = calibrate(epsilon, delta, alphas, unit, adjacency)
    if not (kappas > 0).any():
        raise ValueError(
            f"epsilon must be larger for units of {unit.events_per_row} events in each of {unit.rows} rows at delta "
            f"{delta:g}, got {epsilon:g}: no alpha up to {alphas[-1]:.3g} reaches it"
        )
    return alphas[kappas > 0], kappas[kappas > 0]


def _row_groups(n: ArrayLike, N: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the distinct (n, N) and their weights, which sum to 1."""
    sizes, totals = np.broadcast_arrays(checks.real("n", n, 1.0), checks.real("N", N, 0.0))
    pairs, times = np.unique(np.stack([sizes.ravel(), totals.ravel()], axis=1), axis=0, return_counts=True)
    weights = times * pairs[:, 1] if pairs[:, 1].any() else times.astype(float)
    return pairs[:, 0], pairs[:, 1], weights / weights.sum()


def _mean_error(sizes: Array, totals: Array, weights: Array, kappas: Array, alphas: Array) -> Array:
    return np.array([weights @ row_error_bound(sizes, totals, kappa, alpha) for kappa, alpha in zip(kappas, alphas)])


# --- several rows -----------------------------------------------------------------------------------------------------


def _composed_kappa(epsilon: float, delta: float, alpha: float, high: float, unit: Unit, adjacency: str) -> float:
    """Return the largest kappa, within a thousandth below, whose r rows cost at most epsilon; 0 when there is none."""
    smallest = SMALLEST_SHAPE / alpha if unit.events_per_row > 1 else high * 1e-6
    if high <= smallest or _cost(delta, smallest, alpha, unit, adjacency) > epsilon:
        return 0.0

    def excess(log_kappa: float) -> float:
        return _cost(delta, math.exp(log_kappa), alpha, unit, adjacency) - epsilon

    log_kappa = brentq(excess, math.log(smallest), math.log(high), xtol=1e-4, rtol=1e-6)
    while excess(log_kappa) > 0.0:
        log_kappa -= 5e-4
    return math.exp(log_kappa)


def _cost(delta: float, kappa: float, alpha: float, unit: Unit, adjacency: str) -> float:
    pmfs = _losses(kappa * alpha, kappa * unit.events_per_row, unit, adjacency)
    return max(_composed_epsilon(delta, pmf, unit.rows) for pmf in pmfs)


def _composed_epsilon(delta: float, pmf: pld_pmf.PLDPmf, rows: int) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # its truncation bounds overflow where they do not bind
        if pmf.get_delta_for_epsilon(math.inf) >= 1.0:  # all of it beyond the grid
            return math.inf
        composed = pmf.self_compose(rows, _TAIL)
        return float(composed.get_epsilon_for_delta(delta * (1.0 - 1e-9) - _SLACK))


def _losses(a: float, t: float, unit: Unit, adjacency: str) -> list[pld_pmf.PLDPmf]:
    """Return the dominating loss distribution of one row, in each direction (once where they agree)."""
    if adjacency == "replace":
        deviation = t * math.sqrt(polygamma(1, a) + polygamma(1, a + t))
        end = float(dirichlet.posterior_epsilon(_TAIL / unit.rows, kappa=t, alpha=a / t))
        grid, interval = _loss_grid(deviation, end)
        half = dirichlet.posterior_delta(grid[grid.size // 2 :], kappa=t, alpha=a / t)
        upper = np.append(half[:0:-1], half)
        return [_dominating(grid, interval, upper, upper)]
    deviation = t * math.sqrt(polygamma(1, a))
    removal, addition = _gamma_ends(a, t, _TAIL / unit.rows)
    # at most 20 a step, so that the grid ends before e^loss overflows
    grid, interval = _loss_grid(min(deviation, 20.0 * _STEPS), min(max(removal, addition), _LARGEST_LOSS))
    small, large = _gamma_deltas(np.abs(grid), a, t)
    return [_dominating(grid, interval, small, large), _dominating(grid, interval, large, small)]


def _loss_grid(deviation: float, end: float) -> tuple[Array, float]:
    interval = max(deviation / _STEPS, end / 20_000)
    reach = math.ceil(end / interval) + 1
    return np.arange(-float(reach), reach + 1.0) * interval, interval


def _dominating(grid: Array, interval: float, forward: Array, backward: Array) -> pld_pmf.PLDPmf:
    """Return the connect-the-dots distribution of a pair with delta `forward` at |grid|, its mirror's `backward`.

    delta(-e) of a pair is 1 - e^-e + e^-e delta(e) of its mirror.
    """
    decay = np.exp(-np.abs(grid))
    deltas = np.where(grid >= 0.0, forward, -np.expm1(-np.abs(grid)) + decay * backward)
    deltas = np.minimum.accumulate(deltas)
    return pld_pmf.create_pmf_pessimistic_connect_dots(interval, np.rint(grid / interval).astype(np.int64), deltas)


def _gamma_ends(a: float, t: float, tail: float) -> tuple[float, float]:
    """Return the losses beyond which Gamma(a) against Gamma(a+t), and the reverse, has at most `tail`."""
    gap = float(gammaln(a + t) - gammaln(a))
    low = max(float(gammaincinv(a, tail)), 1e-300)
    high = float(gammaincinv(a + t, 1.0 - max(tail, 1e-16))) + 20.0
    return gap - t * math.log(low), t * math.log(high) - gap


def _gamma_deltas(epsilon: Array, a: float, t: float) -> tuple[Array, Array]:
    """Return delta(epsilon >= 0) of Gamma(a) against Gamma(a+t) and of the reverse.

    The loss log Gamma(a+t)/Gamma(a) - t log x is monotone, so both events are half lines.
    """
    gap = gammaln(a + t) - gammaln(a)
    with np.errstate(over="ignore"):
        below, above = np.exp((gap - epsilon) / t), np.exp(np.minimum((gap + epsilon) / t, 700.0))
        forward = gammainc(a, below) - np.exp(epsilon) * gammainc(a + t, below)
        backward = gammaincc(a + t, above) - np.exp(epsilon) * gammaincc(a, above)
    return np.clip(np.nan_to_num(forward), 0.0, 1.0), np.clip(np.nan_to_num(backward), 0.0, 1.0)
