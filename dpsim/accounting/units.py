"""What noisy integer counts cost a unit: the noise, its exact or proven privacy, and the threshold of private pairs.

A unit is one event, or a person, a car, a session with limits on its events. Neighbouring tables differ in one unit:
"add-remove", it is there or not; "replace", its events end elsewhere and the row totals are public.

A unit with at most c events in each of at most r rows moves the counts by an integer vector v with |v|_1 <= c r and
|v|_2^2 <= c^2 r; one with at most M events in all by |v|_1 <= M and |v|_2^2 <= M^2, which is c = M, r = 1. Under
"replace" each row loses as many events as it gains: 2 c r and 2 c^2 r.

Discrete Laplace of scale s: P(z) is proportional to e^(-|z|/s), so the privacy loss is at most |v|_1 / s.
Discrete Gaussian: for an integer v its Renyi divergence of order alpha is at most alpha |v|_2^2 / (2 sigma^2)
(Canonne, Kamath and Steinke 2020), hence delta by their Proposition 12. One cell moved by 1 is exact.

Private pairs. A pair is released if its count is above 0 and its noisy count at least tau. Let x have a unit that y has
not. A pair that x alone has passes with T(tau - v), T the tail of the noise and v its events; let delta_p bound the sum
of these. For a set of outputs S, P(x in S) <= delta_p + P(the other pairs of x in S), and the others cost what the
noise costs. The other way, with A the outputs of those others, P(x in S) >= (1 - delta_p) P(A in S) by independence, so
(1 - delta_p) P(y in S) <= e^epsilon P(x in S) + (1 - delta_p) delta. Both ways: epsilon, and delta + delta_p.
The sum: T(u) is convex at integers u >= 0, as the noise's law falls there; so sum T(tau - v_i) over v_i >= 1 with
sum v_i <= C is convex in the number of parts once all but one part are 1, and largest for one pair of C events or C
pairs of 1: delta_p <= r max(T(tau - c), c T(tau - 1)) for tau > c. Which rows the pairs lie in plays no part, because
their noises are independent: for M events in all, c = M and r = 1.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from dp_accounting.pld import privacy_loss_mechanism
from scipy.optimize import minimize_scalar
from scipy.special import erfcx

from dpsim import checks

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"
MECHANISMS = (LAPLACE, GAUSSIAN)
ADJACENCIES = ("add-remove", "replace")
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
LARGEST_LIMIT = 10**6  # of a unit's events: with the smallest epsilon the noise stays far below 2^63
NOISE_SHARE = 0.5  # of delta, for Gaussian noise where private pairs need delta too
_UP = 1.0 + 1e-9  # a bound in double precision is stated this much larger
_SUMMED = 10_000.0  # sigma up to which tails of the discrete Gaussian are summed


def _limit(name: str, value: int) -> int:
    return checks.integer(name, value, 1, LARGEST_LIMIT)


@dataclass(frozen=True)
class Unit:
    """Whose presence is protected.

    Parameters
    ----------
    events_per_row, rows : int, from 1 to 10^6
        At most so many events in each of at most so many rows (origins).
    events : int, from 1 to 10^6
        Instead: at most so many events in all, wherever.

    Examples
    --------
    >>> Unit()
    Unit(events_per_row=1, rows=1, events=None)
    >>> Unit(events=10).words
    'somebody with at most 10 events in all'
    """

    events_per_row: int = 1
    rows: int = 1
    events: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "events_per_row", _limit("events_per_row", self.events_per_row))
        object.__setattr__(self, "rows", _limit("rows", self.rows))
        if self.events is not None:
            object.__setattr__(self, "events", _limit("events", self.events))
            if self.events_per_row != 1 or self.rows != 1:
                raise ValueError(f"events must stand alone, without events_per_row and rows, got {self.events}")

    @property
    def most(self) -> tuple[int, int]:
        """The largest number of events in one row, and of rows that can have as many."""
        return (self.events_per_row, self.rows) if self.events is None else (self.events, 1)

    @property
    def is_event(self) -> bool:
        """Whether the unit is one event (of a person with one event at most it is the person: `Unit(events=1)`)."""
        return self.events is None and self.most == (1, 1)

    @property
    def words(self) -> str:
        """The unit in words."""
        if self.is_event:
            return "one event; somebody with several events is protected in each of them, not in all together"
        if self.events is not None:
            return f"somebody with at most {self.events} event{'s' * (self.events > 1)} in all"
        return f"somebody with at most {self.events_per_row} events in each of at most {self.rows} rows (origins)"

    @property
    def short(self) -> str:
        """The unit in short: "event", "2x5" (events in a row x rows) or "10" (events in all)."""
        if self.events is not None:
            return str(self.events)
        return "event" if self.is_event else f"{self.events_per_row}x{self.rows}"

    def sensitivities(self, adjacency: str = "add-remove") -> tuple[int, int]:
        """Return the largest 1-norm, and squared 2-norm, of what one unit changes in the counts."""
        c, r = self.most
        times = 2 if checks.choice("adjacency", adjacency, ADJACENCIES) == "replace" else 1
        return times * c * r, times * c * c * r


EVENT = Unit()


class Noise(NamedTuple):
    """Independent integer noise of one law for every count, and what it costs.

    Attributes
    ----------
    mechanism : "discrete Laplace" or "discrete Gaussian"
    scale : float
        s of ``P(z) ~ e^(-|z|/s)``, or sigma of ``P(z) ~ e^(-z^2/(2 sigma^2))``, in counts: this double, exactly.
    epsilon, delta : float
        The guarantee: exact for the Laplace noise (delta 0), a proven bound for the Gaussian.

    Examples
    --------
    >>> noise = laplace_noise(1.0, sensitivity=1)
    >>> noise.mechanism, noise.scale, noise.epsilon, round(noise.mean_absolute, 3)
    ('discrete Laplace', 1.0, 1.0, 0.851)
    """

    mechanism: str
    scale: float
    epsilon: float
    delta: float

    @property
    def variance(self) -> float:
        """Variance of one count's noise, in counts squared (of the Gaussian: sigma^2, which is an upper bound)."""
        if self.mechanism == GAUSSIAN:
            return self.scale**2
        return 2.0 * math.exp(-1.0 / self.scale) / math.expm1(-1.0 / self.scale) ** 2

    @property
    def mean_absolute(self) -> float:
        """E|Z|, the expected absolute value of one count's noise, in counts."""
        if self.mechanism == LAPLACE:
            return 2.0 * math.exp(-1.0 / self.scale) / -math.expm1(-2.0 / self.scale)
        if self.scale > _SUMMED:
            return self.scale * math.sqrt(2.0 / math.pi)
        return _gaussian_mean_absolute(self.scale)

    def log_tail(self, least: int) -> float:
        """Return log P(Z >= least) for an integer least >= 1: exact for Laplace noise, an upper bound for Gaussian."""
        least = checks.integer("least", least, 1)
        if self.mechanism == LAPLACE:
            return -least / self.scale - math.log1p(math.exp(-1.0 / self.scale))
        return _log_gaussian_tail(least, self.scale)


@functools.lru_cache(maxsize=256)
def _gaussian_mean_absolute(sigma: float) -> float:
    """Return E|Z| of the discrete Gaussian law, summed to 40 sigma."""
    z = np.arange(1, math.ceil(40.0 * sigma) + 2)
    weights = np.exp(-0.5 * (z / sigma) ** 2)
    return float(2.0 * (z @ weights) / (1.0 + 2.0 * weights.sum()))


def laplace_noise(epsilon: float, sensitivity: int) -> Noise:
    """Return the discrete Laplace noise that keeps a 1-norm change of `sensitivity` within epsilon.

    Parameters
    ----------
    epsilon : float
        In [1e-6, 1e6].
    sensitivity : int
        The largest 1-norm of what a neighbour changes in the counts, at least 1.

    Returns
    -------
    Noise
        Its scale is the least double s for which sensitivity / s <= epsilon in rational arithmetic; the sampler draws
        with exactly that rational number.

    Raises
    ------
    ValueError
        Outside these ranges.

    Examples
    --------
    >>> laplace_noise(0.5, sensitivity=3).scale
    6.0
    """
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
    sensitivity = checks.integer("sensitivity", sensitivity, 1)
    scale = sensitivity / epsilon
    while Fraction(sensitivity) / Fraction(scale) > Fraction(epsilon):
        scale = math.nextafter(scale, math.inf)
    return Noise(LAPLACE, scale, _rounded_up(Fraction(sensitivity) / Fraction(scale)), 0.0)


def gaussian_noise(epsilon: float, delta: float, squared: int) -> Noise:
    """Return the discrete Gaussian noise that keeps a squared 2-norm change within (epsilon, delta).

    Parameters
    ----------
    epsilon : float
        In [1e-6, 1e6].
    delta : float
        In (0, 1).
    squared : int
        The largest squared 2-norm of what a neighbour changes in the counts, at least 1.

    Returns
    -------
    Noise
        The least sigma that bisection finds for which `gaussian_delta_bound` is at most delta.

    Raises
    ------
    ValueError
        Outside these ranges.

    Examples
    --------
    >>> noise = gaussian_noise(1.0, 1e-6, squared=1)
    >>> round(noise.scale, 2), noise.delta <= 1e-6
    (4.23, True)
    """
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    squared = checks.integer("squared", squared, 1)
    low = high = math.sqrt(squared) / epsilon
    while gaussian_delta_bound(epsilon, high, squared) > delta:
        high *= 2.0
    while low > 1e-2 and gaussian_delta_bound(epsilon, low, squared) <= delta:
        low *= 0.5
    for _ in range(60):
        middle = math.sqrt(low * high)
        if gaussian_delta_bound(epsilon, middle, squared) <= delta:
            high = middle
        else:
            low = middle
    return Noise(GAUSSIAN, high, epsilon, gaussian_delta_bound(epsilon, high, squared))


def gaussian_delta_bound(epsilon: float, sigma: float, squared: int) -> float:
    """Return delta(epsilon) of discrete Gaussian noise for integer changes of squared 2-norm `squared`, rounded up.

    Parameters
    ----------
    epsilon : float
        In [0, 1e9].
    sigma : float
        In [1e-3, 1e18].
    squared : int
        The largest squared 2-norm of what a neighbour changes in the counts, at least 1.

    Returns
    -------
    float
        At most 1. Exact but for rounding, by dp-accounting, for squared = 1 (one count moved by one) and
        sigma <= 10^4; else a proven upper bound.

    Raises
    ------
    ValueError
        Outside these ranges.

    Notes
    -----
    With rho = squared / (2 sigma^2) the bound is the least over alpha > 1 of
    exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha. Each alpha is a proven bound, so how well
    the minimum is found does not matter.

    References
    ----------
    Canonne, Kamath and Steinke 2020, Proposition 12.

    Examples
    --------
    >>> print(f"{gaussian_delta_bound(1.0, 4.0, 1):.1e} {gaussian_delta_bound(1.0, 4.0, 4):.1e}")
    3.1e-06 1.8e-02
    """
    epsilon, sigma = checks.scalar("epsilon", epsilon, 0.0, 1e9), checks.scalar("sigma", sigma, 1e-3, 1e18)
    squared = checks.integer("squared", squared, 1)
    rho = squared / (2.0 * sigma * sigma)

    def log_delta(log_order: float) -> float:
        order = math.exp(log_order)  # alpha - 1
        return order * ((order + 1.0) * rho - epsilon) - math.log(order) - (order + 1.0) * math.log1p(1.0 / order)

    centre = math.log(max((epsilon / rho - 1.0) / 2.0, 1e-3))
    found = minimize_scalar(log_delta, bounds=(centre - 3.0, centre + 3.0), method="bounded", options={"xatol": 1e-10})
    bound = min(1.0, math.exp(min(0.0, float(found.fun))) * _UP)
    return min(bound, _one_cell(epsilon, sigma)) if squared == 1 and sigma <= _SUMMED else bound


def _one_cell(epsilon: float, sigma: float) -> float:
    """Return delta of one cell moved by one; below a sigma of 1/40 only a flip to the neighbour's value is seen."""
    if sigma < 0.025:
        return 1.0
    loss = privacy_loss_mechanism.DiscreteGaussianPrivacyLoss(sigma, sensitivity=1)
    return min(1.0, float(loss.get_delta_for_epsilon(epsilon)) * _UP)


def chosen_noise(
    epsilon: float,
    delta: float,
    unit: Unit = EVENT,
    *,
    adjacency: str = "add-remove",
    pairs: bool = False,
    mechanism: str | None = None,
) -> Noise:
    """Return the noise with the smaller expected absolute value for a unit: from public numbers alone.

    Parameters
    ----------
    epsilon : float, from 1e-6 to 1e6
    delta : float in [0, 1)
        0 allows discrete Laplace noise alone.
    unit : Unit
        What is protected: its sensitivities are what the noise has to cover.
    adjacency : "add-remove" or "replace"
        Whether neighbours have one unit more or less, or another one in its place, which doubles what changes.
    pairs : bool
        Whether private pairs need delta too: then Gaussian noise has half of it.
    mechanism : "discrete Laplace" or "discrete Gaussian"
        To force one.

    Returns
    -------
    Noise
        The data have no part in the choice, so it costs nothing.

    Raises
    ------
    ValueError
        Outside these ranges, and for Gaussian noise with delta 0.

    Examples
    --------
    >>> chosen_noise(1.0, 1e-6).mechanism
    'discrete Laplace'
    >>> chosen_noise(1.0, 1e-6, Unit(events_per_row=1, rows=100)).mechanism
    'discrete Gaussian'
    """
    if not isinstance(unit, Unit):
        raise TypeError(f"unit must be a Unit, got {type(unit).__name__}")
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    if mechanism is not None:
        checks.choice("mechanism", mechanism, MECHANISMS)
    first, squared = unit.sensitivities(adjacency)
    laplace = laplace_noise(epsilon, first)
    if mechanism == LAPLACE or (mechanism is None and delta == 0.0):
        return laplace
    if delta == 0.0:
        raise ValueError("delta must be in (0, 1) for discrete Gaussian noise, got 0")
    gaussian = gaussian_noise(epsilon, NOISE_SHARE * delta if pairs else delta, squared)
    if mechanism == GAUSSIAN or gaussian.mean_absolute < laplace.mean_absolute:
        return gaussian
    return laplace


def pair_threshold(noise: Noise, unit: Unit, delta: float) -> tuple[int, float]:
    """Return the least threshold of private pairs that delta allows, and the delta it spends.

    A pair of states that some event has is published where its noisy count is at least the threshold.

    Parameters
    ----------
    noise : Noise
        The noise of the counts.
    unit : Unit
        What is protected.
    delta : float
        For the pairs alone, beside the noise's own; in (0, 1).

    Returns
    -------
    threshold : int
        In counts, above the largest number of events that a unit has in one row.
    spent : float
        `pair_delta` there, rounded up: at most delta.

    Raises
    ------
    ValueError
        For a delta outside.

    Examples
    --------
    >>> threshold, spent = pair_threshold(laplace_noise(1.0, 1), Unit(), 1e-6)
    >>> print(threshold, f"{spent:.1e}")
    15 6.1e-07
    """
    _refuse_others(noise, unit)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    low = unit.most[0]
    high = low + 1
    while pair_delta(noise, unit, high) > delta:
        low, high = high, low + 2 * (high - low)
    while high - low > 1:  # low fails or is not above c
        middle = (low + high) // 2
        low, high = (low, middle) if pair_delta(noise, unit, middle) <= delta else (middle, high)
    return high, pair_delta(noise, unit, high)


def pair_delta(noise: Noise, unit: Unit, threshold: int) -> float:
    """Return the delta that a threshold of private pairs spends, rounded up.

    Parameters
    ----------
    noise : Noise
        The noise of the counts.
    unit : Unit
        What is protected: at most c events in each of at most r rows.
    threshold : int
        tau, above c.

    Returns
    -------
    float
        r max(T(tau - c), c T(tau - 1)), T the upper tail of the noise: a bound on the probability that a pair which
        one unit alone has is published.

    Raises
    ------
    ValueError
        For a threshold of at most c.

    Examples
    --------
    >>> print(f"{pair_delta(laplace_noise(1.0, 1), Unit(), 15):.1e}")
    6.1e-07
    """
    _refuse_others(noise, unit)
    c, r = unit.most
    threshold = checks.integer("threshold", threshold, c + 1)
    one, many = noise.log_tail(threshold - c), math.log(c) + noise.log_tail(threshold - 1)
    return min(1.0, math.exp(min(0.0, math.log(r) + max(one, many))) * _UP)


def _refuse_others(noise: Noise, unit: Unit) -> None:
    if not isinstance(noise, Noise) or not isinstance(unit, Unit):
        raise TypeError(f"noise and unit must be a Noise and a Unit, got {type(noise).__name__}, {type(unit).__name__}")


def _log_gaussian_tail(least: int, sigma: float) -> float:
    """Return a bound on log P(Z >= least): the sum, or beyond its inflexion the integral from half a step before.

    The normaliser is at least sqrt(2 pi) sigma (Poisson's summation formula) and at least 1.
    """
    log_normaliser = max(0.0, math.log(sigma) + 0.5 * math.log(2.0 * math.pi))
    if sigma <= _SUMMED:
        steps = np.arange(math.ceil(40.0 * sigma) + 2)
        terms = np.exp(-steps * (2.0 * least + steps) / (2.0 * sigma * sigma)).sum()
        return float(math.log(terms) - 0.5 * (least / sigma) ** 2 - log_normaliser) + 1e-12
    start = (least - 0.5) / sigma
    first = 0.0 if start >= 1.0 else 1.0  # before the inflexion: the first term and the integral from there
    start = start if start >= 1.0 else least / sigma
    integral = sigma * math.sqrt(0.5 * math.pi) * float(erfcx(start / math.sqrt(2.0)))
    return math.log(first + integral) - 0.5 * start * start - log_normaliser + 1e-12


def _rounded_up(value: Fraction) -> float:
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)
