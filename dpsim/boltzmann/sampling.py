"""Samples from the Boltzmann distribution, directly or by Metropolis chains.

The distribution and the chains are those of Fleischer 2024, with equal weights.
`sample_exact` returns many samples at once, and its error is a total variation
distance. `draw_limit` returns the single sample of a private release. Its error is
relative to each probability, so it matters little even if epsilon is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.boltzmann.histograms import (
    SCALE,
    histogram,
    temperature,
)
from dpsim.checks import Array, Integers
from dpsim.compiled import njit
from dpsim.numerics import exact_draws
from dpsim.numerics.exact_draws import descend, survives

# The largest total number of terms in the tables of all bins.
LARGEST_TERMS = 20_000_000
# The number of terms per bin from which the tilt is computed. The samples are exact for
# any tilt.
TILT_POINTS = 200
# A bin's terms below exp(-CUT) times its largest term are left out of the tables.
CUT = 100.0
CANDIDATES = ("bins", "individual")
RULES = ("metropolis", "logistic")


@checks.fits_into_memory("size")
def sample_exact(
    x: ArrayLike,
    t: float,
    *,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return independent samples from pi(z | x).

    No chain is run, so there is no burn-in.

    Parameters
    ----------
    x : array_like of int (n,), the true histogram
    t : float in [1e-100, 1e100], the temperature
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    array of int (*size, n)

    Notes
    -----
    The distribution is that of independent discrete Gaussians exp(-(z - x)^2 / t) on
    0..N, given their total. Tilting all of them by exp(lambda z) does not change it. So
    all bins except the widest are sampled from the tilted distributions, and the widest
    gets the rest of the total. The result is accepted with a probability equal to the
    weight of the widest bin's count divided by the weight of its mode. The tilt lambda
    makes the expected total N, and then a share A of about 1 / sqrt(n) of the proposals
    is accepted.

    Two errors add to the total variation distance from the exact distribution, and both
    count as delta. First, terms below exp(-100) times a bin's largest term are left out
    of its table. This contributes at most n (N + 1) exp(-100) divided by the
    probability of the total N. Second, double precision (53-bit uniforms and rounded
    sums) adds about 2 K 2^-53 / A for K table terms. A bin needs about 20 sqrt(t)
    terms, and at most N + 1. If the tables need more than 20,000,000 terms, a
    ValueError is raised.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.sample_exact([30, 15, 5], 10.0, size=2, rng=1).sum(axis=1)
    array([50, 50])
    """
    centre = histogram(x)
    a = 1.0 / temperature(t)
    shape = checks.size("size", size)
    generator = checks.generator(rng)
    total = int(centre.sum())
    refuse_large_tables(total, centre.size, a)
    tilt = find_tilt(centre, a, total)
    mode, low, high = likely_windows(centre, a, tilt, total)
    last = int(np.argmax(high - low))
    tables = {}
    for i in np.delete(np.arange(centre.size), last):
        window = np.arange(low[i], high[i] + 1)
        table = np.cumsum(_terms(window, mode[i], centre[i], a, tilt))
        tables[i] = table / table[-1]
    out = np.empty((math.prod(shape), centre.size), np.int64)
    done = 0
    while done < len(out):
        missing = len(out) - done
        most = max(64, 2_000_000 // centre.size)
        batch = int(np.clip(2 * missing * math.sqrt(centre.size), 64, most))
        drawn = np.zeros((batch, centre.size), np.int64)
        for i, table in tables.items():
            uniform = generator.random(batch)
            drawn[:, i] = low[i] + np.searchsorted(table, uniform, side="right")
        left = total - drawn.sum(axis=1)
        weight = _terms(np.maximum(left, 0), mode[last], centre[last], a, tilt)
        accepted = (left >= 0) & (generator.random(batch) < weight)
        kept = drawn[accepted][:missing]
        kept[:, last] = total - kept.sum(axis=1)
        out[done : done + len(kept)] = kept
        done += len(kept)
    return out.reshape(*shape, centre.size)


def limit_error(
    total: int, bins: int, a: float, log_left_out: float
) -> tuple[float, float]:
    """Return the cut that leaves out at most exp(log_left_out), and the error.

    Both hold for every histogram with this total.

    Returns
    -------
    cut : float
        Terms below exp(-cut) times a bin's largest term are left out. Their total
        probability is at most exp(log_left_out).
    error : float
        A bound on the error of each remaining log-probability, apart from one constant
        that all of them share.

    Notes
    -----
    What is left out. Let W_i(l) be the sum over z in 0..N of exp(-a (z - x_i)^2 + l
    (z - x_i)). Given the tilt l, the probability that the total is N is Z / prod
    W_i(l), where Z >= 1 because z = x is one of its terms. At l = 0, no W_i exceeds
    G = min(N + 1, 1 + sqrt(pi / a)), and a tilt is not used if its product exceeds
    G^n. A bin's terms outside its window add up to at most (N + 1) exp(-cut) W_i. So
    at most n (N + 1) exp(-cut) G^n is left out. A factor of 2 covers the rounding of
    these sums and of the windows.

    The error of a term's exponent. The exponent is the product of z - mode and the
    difference between the tilt and a (z + mode - 2 x). The first factor is at most the
    width of the window, and both terms of the second are at most
    l = 2 N a + log(n) + 5 in modulus. So the exponent has an error of at most
    u (4 l width + cut), u = 2^-53. To this, `relative_error` adds the error of sampling
    each bin except the last. The last bin's term is compared with a number, which adds
    (3 + cut) u.
    """
    cut = math.log(2.0 * bins * (total + 1.0)) - log_left_out
    cut += bins * _log_terms(total, a)
    width = _width(total, a, cut)
    exponents = 4.0 * bins * width * largest_tilt(total, bins, a)
    exponents += (bins + 1.0) * (cut + 3.0)
    draws = bins * exact_draws.relative_error(int(width), cut)
    return cut, exact_draws.UNIT * exponents + draws


def _log_terms(total: int, a: float) -> float:
    """Return a bound on the logarithm of a bin's sum of terms."""
    return math.log(min(total + 1.0, 1.0 + math.sqrt(math.pi / a)))


def _width(total: int, a: float, cut: float) -> float:
    """Return a bound on the number of terms of a bin's window.

    If the parabola has its top at c, the window ends on either side at the last z with
    a (z - c)^2 <= cut + a / 4, because the mode is within 1/2 of c. So there are at
    most 2 sqrt(cut / a) + 2 terms. If c lies outside 0..N, the terms fall even faster.
    Both ends are rounded outwards, by one more term each.
    """
    return min(total + 1.0, 2.0 * math.sqrt(cut / a) + 4.0)


def largest_tilt(total: int, bins: int, a: float) -> float:
    """Return a bound beyond which no tilt is used."""
    return 2.0 * total * a + math.log(bins) + 5.0


def draw_limit(x: Integers, a: float, cut: float, rng: np.random.Generator) -> Integers:
    """Return one sample (n,) from pi(z | x), which has the weights exp(-a (z - x)^2).

    Here a = 1 / t, and `limit_error` bounds the errors. The algorithm is that of
    `sample_exact`, but each bin's term is chosen by a binary tree, so every term above
    exp(-cut) can occur, however improbable it is.
    """
    total = int(x.sum())
    largest = largest_tilt(total, x.size, a)
    most = x.size * _log_terms(total, a)
    best = float(np.clip(find_tilt(x, a, total), -largest, largest))
    for tilt in (best, 0.0):
        mode, low, high = likely_windows(x, a, tilt, total, cut)
        logs = []
        for i in range(x.size):
            window = np.arange(low[i], high[i] + 1)
            logs.append(log_weights(window, mode[i], x[i], a, tilt))
        trees = [exact_draws.weight_tree(each) for each in logs]
        at_modes = float((tilt * (mode - x) - a * (mode - x) ** 2).sum())
        if sum(float(tree[1]) for tree in trees) + at_modes <= most:
            break
    last = int(np.argmax(high - low))
    ends = np.cumsum([tree.size for tree in trees])
    log_last = np.minimum(logs[last], 0.0)
    drawn = np.empty(x.size, np.int64)
    tree = np.concatenate(trees)
    _draw_bins(rng, tree, ends, low, high, last, log_last, total, drawn)
    return drawn


@njit()
def _draw_bins(rng, trees, ends, low, high, last, log_last, total, drawn):  # type: ignore[no-untyped-def]
    """Fill `drawn` with a term of each bin, until the last bin's term is accepted.

    The last bin's term is what the others leave of the total.
    """
    while True:
        left = total
        for i in range(drawn.size):
            if i != last:
                first = ends[i - 1] if i else 0
                drawn[i] = low[i] + descend(rng, trees[first : ends[i]])
                left -= drawn[i]
        inside = low[last] <= left <= high[last]
        if inside and survives(rng, -log_last[left - low[last]]):
            drawn[last] = left
            return


def refuse_large_tables(total: int, bins: int, a: float, cut: float = CUT) -> None:
    """Raise ValueError if the tables could need more than 20,000,000 terms.

    The bound holds for every histogram of this total.
    """
    terms = bins * _width(total, a, cut)
    if terms > LARGEST_TERMS:
        raise ValueError(
            f"total, bins and t must need at most {LARGEST_TERMS} table terms, "
            f"got up to {terms:.0f}"
        )


def _terms(z: Any, mode: Any, x: Any, a: float, tilt: float) -> Array:
    """Return exp(-a (z - x)^2 + tilt z) relative to its value at the mode."""
    return np.exp(log_weights(z, mode, x, a, tilt))


def log_weights(z: Any, mode: Any, x: Any, a: float, tilt: float) -> Array:
    """Return -a (z - x)^2 + tilt z minus its value at the mode."""
    return np.asarray((z - mode) * (tilt - a * (z + mode - 2.0 * x)))


def likely_windows(
    x: Integers, a: float, tilt: float, total: int, cut: float = CUT
) -> tuple[Integers, Integers, Integers]:
    """Return each bin's mode in 0..N and the first and the last z of its window.

    The window holds the terms above exp(-cut) times the largest one.
    """
    mode = np.rint(np.clip(x + tilt / (2 * a), 0, total)).astype(np.int64)
    # at a distance v above the mode the exponent is -(a v^2 + slope v)
    slope = 2 * a * (mode - x) - tilt
    with np.errstate(divide="ignore"):
        reach = [
            2 * cut / (side + np.hypot(side, 2 * math.sqrt(a * cut)))
            for side in (-slope, slope)
        ]
    below, above = np.ceil(np.clip(reach, 0, total)).astype(np.int64)
    return mode, np.maximum(mode - below, 0), np.minimum(mode + above, total)


def find_tilt(x: Integers, a: float, total: int) -> float:
    """Return a tilt with an expected total near N, by Newton steps in a bracket."""
    low = -math.inf
    high = math.inf
    tilt = 0.0
    for _ in range(200):
        mode, first, last = likely_windows(x, a, tilt, total)
        stride = 1 + (last - first) // TILT_POINTS
        points = int(((last - first) // stride).max()) + 1
        grid = first[:, None] + stride[:, None] * np.arange(points)
        z = np.minimum(grid, last[:, None])
        p = _terms(z, mode[:, None], x[:, None], a, tilt) * (grid == z)
        p /= p.sum(axis=1, keepdims=True)
        beside = z - mode[:, None]
        mean = (p * beside).sum(axis=1)
        variance = (p * beside**2).sum(axis=1) - mean**2
        spread = float(variance.sum())
        excess = float((mode + mean).sum()) - total
        if abs(excess) <= 0.1 * max(1.0, math.sqrt(max(spread, 0.0))):
            break
        if excess > 0:
            high = tilt
        else:
            low = tilt
        following = tilt - excess / spread if spread > 0 else math.nan
        if not low < following < high:
            if math.isinf(low) or math.isinf(high):
                break  # a better tilt would only accept more often
            following = (low + high) / 2
        tilt = following
    return tilt


def metropolis(
    x: ArrayLike,
    t: ArrayLike,
    steps: int,
    *,
    chains: int = 1,
    candidate: str = "bins",
    rule: str = "metropolis",
    running_mean: bool = False,
    rng: np.random.Generator | int | None = None,
) -> NDArray[Any]:
    """Return the states of Metropolis chains after some steps from x.

    Parameters
    ----------
    x : array_like of int (n,), the true histogram, where every chain starts
    t : array_like (...), temperatures in [1e-100, 1e100]
    steps : int, at least 0
    chains : int, number of independent chains at each temperature, at least 1
    candidate : {"bins", "individual"}
        The proposed move. With "bins", it moves one person between an ordered pair of
        distinct bins, which is chosen uniformly; if the first bin is empty, nobody
        moves. With "individual", a person chosen uniformly moves to another bin chosen
        uniformly. With "bins", pi(z | x) is stationary under both rules, because the
        proposals are symmetric. With "individual", the chains tend to pi(z | x) times
        N! / (z_1! ... z_n!), normalised.
    rule : {"metropolis", "logistic"}
        The acceptance rule. A candidate that changes c_x by d is accepted with
        probability min(1, exp(d / t)) for "metropolis" and 1 / (1 + exp(-d / t)) for
        "logistic".
    running_mean : bool
        Whether to return running means of c_x instead. Entry k - 1 is the mean over
        X^0 = x, ..., X^(k - 1). It tends to the expected objective (Fleischer 2024,
        ergodic theorem).
    rng : Generator, int or None

    Returns
    -------
    array of int (..., chains, n), or of float (..., chains, steps)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.metropolis([30, 15, 5], 10.0, 1000, chains=2, rng=1).sum(axis=-1)
    array([50, 50])
    """
    start = histogram(x)
    warm = checks.real("t", t, 1 / SCALE, SCALE)
    steps = checks.integer("steps", steps, 0)
    running_mean = checks.flag("running_mean", running_mean)
    chains = checks.integer("chains", chains, 1)
    checks.choice("candidate", candidate, CANDIDATES)
    checks.choice("rule", rule, RULES)
    states = np.empty((*warm.shape, chains, start.size), np.int64)
    means = np.empty((*warm.shape, chains, steps if running_mean else 0))
    _metropolis(
        checks.generator(rng),
        start,
        warm.ravel(),
        candidate == "individual",
        rule == "logistic",
        steps,
        states.reshape(-1, chains, start.size),
        means.reshape(warm.size, chains, means.shape[-1]),
    )
    return means if running_mean else states


def step_error(bins: int, epsilon: float) -> float:
    """Return a bound on the relative error of the probability of a step's outcome.

    The bound is for the chain with pairs of bins, W = identity and the Metropolis rule,
    at a temperature at which the stationary distribution is epsilon-private. A step
    either moves one person or leaves the state as it is.

    The numbers of the two bins are products of a uniform number of 53 bits, rounded
    down, so each has a relative error of at most 2 n u, u = 2^-53. The objective falls
    by a whole number of at most 4 N - 2, whose quotient by t is at most
    (4 N - 2) / t = epsilon. So the quotient and `survives` add at most (3 + 2 epsilon)
    u.
    """
    return (4.0 * bins + 4.0 + 2.0 * epsilon) * exact_draws.UNIT


@njit(nogil=True)
def _metropolis(rng, start, warm, individual, logistic, steps, states, means):  # type: ignore
    """Run every chain, and fill the states and the running means.

    The objective is updated by the change of each accepted candidate, which is cheaper
    than computing it anew.
    """
    n = start.size
    people = start.sum()
    for a in range(warm.size):
        for chain in range(states.shape[1]):
            z = states[a, chain]
            z[:] = start
            cost = 0.0
            summed = 0.0
            for k in range(steps):
                if means.shape[2]:
                    summed += cost
                    means[a, chain, k] = summed / (k + 1)
                if individual:
                    # a person's bin is the first whose cumulative count exceeds their
                    # number
                    person = int(rng.random() * people)
                    i = 0
                    while person >= z[i]:
                        person -= z[i]
                        i += 1
                else:
                    i = int(rng.random() * n)
                j = int(rng.random() * (n - 1))
                if j >= i:
                    j += 1
                if z[i] == 0:
                    continue
                change = 2 * (z[i] - start[i] - z[j] + start[j] - 1)
                if logistic:
                    fall = math.exp(min(-change / warm[a], 700.0))
                    taken = rng.random() < 1 / (1 + fall)
                else:
                    taken = change >= 0 or survives(rng, -change / warm[a])
                if taken:
                    z[i] -= 1
                    z[j] += 1
                    cost += change
