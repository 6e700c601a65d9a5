"""A private histogram with the same total in one call, by three mechanisms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.boltzmann import histograms, mixing, sampling, zero_sum_noise
from dpsim.boltzmann.epsilon import epsilon_bound
from dpsim.checks import Integers
from dpsim.numerics import exact_draws

SMALLEST_EPSILON_OF_LAPLACE = 1e-6
# The logarithm of the delta for the terms that are left out of the tables.
LOG_LEFT_OUT = -70.0


def privatize(
    histogram: ArrayLike,
    *,
    epsilon: float,
    total: int,
    bins: int,
    steps: int | None = None,
    invariant: Mapping[int, int] | None = None,
    mechanism: str = "laplace",
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return a private histogram with the same total.

    It is epsilon-differentially private. For the Boltzmann machine there is also a
    delta, which covers its steps and the rounding of its samples. The `private.Private`
    holds the histogram, labelled like the input, and a statement of its privacy.

    Parameters
    ----------
    histogram : array_like or Series (bins,) of int
        The secret counts. Their total, number of bins and labels are public. If they
        differ from what is declared, a ValueError is raised; this error is not private.
    epsilon : float in (0, 1000], and at least 1e-6 for "laplace"
        Neighbours differ in the bin of one person.
    total, bins : int, public: N >= 1 people, 2 to 100,000 bins
    steps : int, optional
        The number of steps of the Metropolis chain from the secret histogram to the
        release, as in Fleischer 2024's definition of the Boltzmann machine. Only for N
        up to 100,000. A ValueError is raised if the steps are too few to prove a delta
        below 1. Without steps, the Boltzmann machine samples from the stationary
        distribution. If its tables would be too large, which may happen for a large
        total, a ValueError is raised.
    invariant : mapping of int to int, optional
        The bins whose counts are public and do not change, numbered from 0, and their
        counts. The release and its epsilon then concern only the other bins, which
        share the rest of the total.
    mechanism : {"laplace", "boltzmann"}
        Zero-sum noise (`add_zero_sum_laplace`, Ghosh, Roughgarden and Sundararajan
        2009) followed by the projection onto the nearest histogram, or the Boltzmann
        machine with equal weights, to which alone `steps` apply. The noise of "laplace"
        does not grow with N. (For two or three people the Boltzmann machine can be
        better.)
    rng : Generator, int or None
        None uses the operating system's entropy; anything else makes a simulation.

    Returns
    -------
    Private
        Its value has the shape (bins,), and its parameters are t and `steps` for the
        Boltzmann machine.

    Notes
    -----
    The temperature of the Boltzmann machine is t = c / epsilon, where c / t is the
    upper bound of `epsilon_bound`. The exact epsilon of one sample from the stationary
    distribution is `exact_epsilon_limit`. Without steps, delta covers the rounding of
    this sample (`sampling.limit_error`). With steps, it is `mixing_bound` plus the
    rounding of the steps (`sampling.step_error`). The noise of "laplace" is sampled at
    an epsilon that is smaller by 1e-12, which covers its rounding
    (`zero_sum_noise.one_zero_sum_laplace`). Neither mechanism leaves out improbable
    outcomes, except for those that delta covers.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> release = boltzmann.privatize(
    ...     [30, 15, 5], epsilon=1.0, total=50, bins=3, rng=1
    ... )
    >>> int(release.value.sum()), release.epsilon, release.delta
    (50, 1.0, 0.0)
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 1000.0, open_low=True)
    total, bins = histograms.size(total, bins)
    checks.choice("mechanism", mechanism, ("laplace", "boltzmann"))
    if mechanism == "laplace" and steps is not None:
        raise ValueError("steps must be None for the mechanism 'laplace'")
    fixed, counted, free = _parts(invariant, total, bins)
    people = total - int(counted.sum())
    if mechanism == "laplace":
        chosen = zero_sum_mechanism(epsilon, people)
    elif steps is None:
        chosen = _limit(epsilon, people, free.size)
    else:
        chosen = _chain(epsilon, people, free.size, steps)

    def draw(secret: Any, rng: np.random.Generator) -> Any:
        bare, labelled = private.strip_labels(secret)
        counts = checks.integers("histogram", bare, 0, histograms.LARGEST_TOTAL)
        if (
            counts.shape != (bins,)
            or counts.sum() != total
            or (counts[fixed] != counted).any()
        ):
            raise ValueError(
                f"histogram must have {bins} bins, the total {total} and the invariant "
                "counts, as declared, got other ones, which are not shown: "
                "they are secret"
            )
        counts[free] = chosen.draw(counts[free], rng)
        return labelled(counts)

    known = " (a proven upper bound)"
    statement = (
        f"Neighbours are histograms of {total} people in {bins} bins between which one "
        f"person changed bin: epsilon {chosen.epsilon!r}{known}, delta "
        f"{chosen.delta!r}{known if chosen.delta else ''}, by {chosen.statement}. "
        "The total, the bins and their labels are public."
    )
    if fixed.size:
        statement += (
            f" Bins {fixed.tolist()} keep their counts {counted.tolist()}, "
            "which are public."
        )
    return replace(chosen, statement=statement, draw=draw).release(histogram, rng)


def _parts(
    invariant: Mapping[int, int] | None, total: int, bins: int
) -> tuple[Integers, Integers, Integers]:
    """Return the invariant bins, their counts, and the other bins."""
    if not isinstance(invariant, Mapping | None):
        raise ValueError(
            "invariant must be a dictionary of bins and their counts, "
            f"got {checks.shown(invariant)}"
        )
    counts = dict(invariant or {})
    fixed = checks.integers("invariant", list(counts), 0, bins - 1)
    counted = checks.integers("counts of invariant", list(counts.values()), 0, total)
    free = np.setdiff1d(np.arange(bins), fixed)
    if free.size < 2 or counted.sum() >= total:
        raise ValueError(
            f"invariant must leave at least 2 bins and 1 person free, got {counts}"
        )
    return fixed, counted, free


# The statement of the mechanisms below is their name, and they draw the free counts.


def zero_sum_mechanism(epsilon: float, total: int) -> private.Mechanism:
    """Return zero-sum noise, followed by the projection onto the nearest histogram."""
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON_OF_LAPLACE, 1000.0)
    inner = epsilon - zero_sum_noise.ROUNDING
    most = zero_sum_noise.LARGEST_COUNT

    def draw(x: Integers, rng: np.random.Generator) -> Integers:
        noisy = x + zero_sum_noise.one_zero_sum_laplace(x.size, inner, rng)
        noisy = np.clip(noisy, -most, most)
        return zero_sum_noise.nearest_histogram(noisy, total, rng=rng)

    name = "discrete Laplace noise of sum zero and projection"
    return private.Mechanism(epsilon=epsilon, delta=0.0, statement=name, draw=draw)


def _limit(epsilon: float, total: int, bins: int) -> private.Mechanism:
    """Return one sample from the Boltzmann distribution, the limit of the chain."""
    t = _temperature(epsilon, total, bins)
    a = 1.0 / t
    spent = epsilon_bound(total, bins, t)
    name = f"one draw of the Boltzmann distribution at t {t!r}"
    log_left_out = LOG_LEFT_OUT - float(np.logaddexp(0.0, epsilon))
    cut, error = sampling.limit_error(total, bins, a, log_left_out)
    sampling.refuse_large_tables(total, bins, a, cut)
    delta = rounding_delta(4.0 * error, epsilon) + 2.0 * math.exp(LOG_LEFT_OUT)

    def draw(x: Integers, rng: np.random.Generator) -> Integers:
        return sampling.draw_limit(x, a, cut, rng)

    return private.Mechanism(
        epsilon=spent, delta=delta, statement=name, draw=draw, parameters={"t": t}
    )


def _chain(epsilon: float, total: int, bins: int, steps: int) -> private.Mechanism:
    """Return the state of the Metropolis chain, started at the secret histogram."""
    t = _temperature(epsilon, total, bins)
    steps = checks.integer("steps", steps, 0)
    spent = epsilon_bound(total, bins, t)
    name = f"the Metropolis chain at t {t!r} after {steps} steps"
    mixing_delta = float(mixing.mixing_bound(total, bins, t, steps, spent))
    if mixing_delta >= 1.0:
        enough = mixing.enough_steps(total, bins, t, spent, 1e-6)
        raise ValueError(
            f"steps must be so many that delta is below 1, {enough} for a delta of "
            f"1e-6, got {steps}"
        )
    rounding = rounding_delta(2.0 * steps * sampling.step_error(bins, epsilon), epsilon)
    delta = min(mixing_delta * (1.0 + rounding) + rounding, 1.0)

    def draw(x: Integers, rng: np.random.Generator) -> Integers:
        return sampling.metropolis(x, t, steps, rng=rng)[0]

    return private.Mechanism(
        epsilon=spent,
        delta=delta,
        statement=name,
        draw=draw,
        parameters={"t": t, "steps": steps},
    )


def rounding_delta(error: float, epsilon: float) -> float:
    """Return the delta that covers the rounding of a mechanism.

    `error` is a bound on the errors of all log-probabilities, for two releases
    together. The rounding of `epsilon_bound`, a few units in its last place, is added
    here.

    Let P and Q be the two distributions, and suppose that, without rounding errors, P
    is at most e^epsilon Q + d. With them, P(S) <= e^(epsilon + error) Q(S) + e^error d.
    If e^epsilon Q(S) is at least 1, there is nothing to prove. Otherwise the first term
    exceeds e^epsilon Q(S) by at most e^error - 1.
    """
    return math.expm1(error + 8.0 * epsilon * exact_draws.UNIT) * (1.0 + 1e-9)


def _temperature(epsilon: float, total: int, bins: int) -> float:
    """Return the smallest t whose `epsilon_bound` is at most epsilon."""
    least = epsilon_bound(total, bins, histograms.SCALE)
    epsilon = checks.scalar("epsilon", epsilon, least)
    t = epsilon_bound(total, bins, 1.0) / epsilon
    while epsilon_bound(total, bins, t) > epsilon:  # because of rounding
        t = math.nextafter(t, math.inf)
    sampling.refuse_large_tables(total, bins, 1.0 / t)
    return t
