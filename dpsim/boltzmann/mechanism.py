"""`boltzmann.privatize`: a private histogram of the same total."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.boltzmann import mixing, noise, sampling, space
from dpsim.boltzmann.law import epsilon_bound
from dpsim.checks import Array


def privatize(
    histogram: ArrayLike,
    *,
    epsilon: float,
    total: int,
    bins: int,
    steps: int | None = None,
    weights: ArrayLike | None = None,
    invariant: Mapping[int, int] | None = None,
    mechanism: str = "boltzmann",
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return a private histogram of the same total: epsilon-differentially private, with a delta if steps are given.

    The `private.Private` holds the histogram, with the labels of a Series, and a statement of what is spent. The
    temperature is t = c / epsilon, where c / t is the bound that `epsilon_bound` proves. One draw of the limit spends
    no more; `exact_epsilon_limit` says how much less. After `steps` steps delta is at most `mixing_bound`. What is
    public is checked first and alone decides the temperature and delta. (Fleischer 2024; Ghosh, Roughgarden and
    Sundararajan 2009 for the geometric noise.)

    Parameters
    ----------
    histogram : array_like or Series (bins,) of int
        The secret counts, of the public total and number of bins; the refusal of anything else is not private.
    epsilon : float in (0, 1000], what may be spent when one individual changes bin
    total, bins : int, public: N >= 1 individuals, n >= 2 bins
    steps : int, optional
        Release the state after so many steps of the Metropolis chain from the secret histogram, as Fleischer 2024
        defines the mechanism, for N up to 100,000 and no weights; too few to prove a delta below 1 are refused. None
        draws the chain's limit, exactly (`sample_exact`, whose tables may refuse a large total).
    weights : array_like (bins,), optional
        The public diagonal of W, positive in at least one bin; ones by default. For the mechanism "boltzmann" alone.
    invariant : mapping of int to int, optional
        Public: bins, from 0, that keep their counts, and these counts. The release, and what it spends, is that of the
        other bins alone, with what is left of the total.
    mechanism : {"boltzmann", "laplace"}
        The Boltzmann machine; or `add_zero_sum_laplace` and the nearest valid histogram, which errs less unless N is a
        few individuals, as its noise does not grow with N.
    rng : Generator, int or None; anything but None, the operating system's entropy, makes a simulation

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> release = boltzmann.privatize([30, 15, 5], epsilon=1.0, total=50, bins=3, steps=10_000, rng=1)
    >>> int(release.value.sum()), release.parameters["t"], release.delta < 1e-12
    (50, 198.0, True)
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 1000.0, open_low=True)
    total, bins = space.size(total, bins)
    checks.choice("mechanism", mechanism, ("boltzmann", "laplace"))
    if weights is not None and (mechanism == "laplace" or steps is not None):
        raise ValueError("weights must be None for the mechanism 'laplace' and where steps are given")
    if mechanism == "laplace" and steps is not None:
        raise ValueError("steps must be None for the mechanism 'laplace'")
    fixed = checks.integers("invariant", list(invariant or {}), 0, bins - 1)
    counted = checks.integers("counts of invariant", list((invariant or {}).values()), 0, total)
    free, people = np.setdiff1d(np.arange(bins), fixed), total - int(counted.sum())
    if free.size < 2 or people < 1:
        raise ValueError(f"invariant must leave at least 2 bins and 1 individual free, got {dict(invariant or {})}")
    parameters: dict[str, float | int] = {}
    spent, delta, law = epsilon, 0.0, "discrete Laplace noise of sum zero and projection"
    if mechanism == "boltzmann":
        w = space.weight_matrix(weights, bins)
        if w.ndim == 2 or not w[free].any():
            raise ValueError(f"weights must be {bins} numbers in [0, inf), one of a free bin positive")
        t = parameters["t"] = _temperature(epsilon, people, w[free])
        spent, law = epsilon_bound(people, free.size, t, w[free]), f"one draw of the Boltzmann law at t {t!r}"
    if steps is not None:
        parameters["steps"] = steps = checks.integer("steps", steps, 0)
        delta, law = _delta(people, free.size, t, steps, spent), f"the Metropolis chain at t {t!r} after {steps} steps"
    generator, simulation = private.source(rng)
    bare, labelled = private.unlabelled(histogram)
    drawn = checks.integers("histogram", bare, 0, space.LARGEST_TOTAL)
    if drawn.shape != (bins,) or drawn.sum() != total or (drawn[fixed] != counted).any():
        raise ValueError(
            f"histogram must have {bins} bins, the total {total} and the invariant counts, as declared, got other "
            "ones, which are not shown: they are secret"
        )
    if mechanism == "laplace":
        noisy = noise.add_zero_sum_laplace(drawn[free], epsilon, rng=generator)
        drawn[free] = noise.nearest_histogram(noisy, people, rng=generator)
    elif steps is not None:
        drawn[free] = sampling.metropolis(drawn[free], t, steps, rng=generator)[0]
    else:
        drawn[free] = sampling.sample_exact(drawn[free], t, weights=w[free], rng=generator)
    same = f" Bins {fixed.tolist()} keep their counts {counted.tolist()}, which are public." if fixed.size else ""
    statement = (
        f"Adjacent are histograms of {total} individuals in {bins} bins between which one individual changed bin: "
        f"epsilon {spent!r} (a proven bound), delta {delta!r}{' (a proven bound)' if delta else ''}, by {law}. "
        f"The total, the bins and the weights are public.{same}"
    )
    return private.made(labelled(drawn), statement, epsilon=spent, delta=delta, simulation=simulation, **parameters)


def _temperature(epsilon: float, total: int, w: Array) -> float:
    """Return the least t whose `epsilon_bound` is at most epsilon, of public arguments alone."""
    t = epsilon_bound(total, w.size, 1.0, w) / epsilon
    while epsilon_bound(total, w.size, t, w) > epsilon:  # by a rounding
        t = math.nextafter(t, math.inf)
    sampling.refuse_large_tables(total, w / t)
    return t


def _delta(total: int, bins: int, t: float, steps: int, epsilon: float) -> float:
    """Return the bound on delta after these steps, unless it says nothing."""
    delta = float(mixing.mixing_bound(total, bins, t, steps, epsilon))
    if delta >= 1.0:
        enough = mixing.enough_steps(total, bins, t, epsilon, 1e-6)
        raise ValueError(f"steps must be so many that delta is below 1, {enough} for a delta of 1e-6, got {steps}")
    return delta
