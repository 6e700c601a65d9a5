"""Draws of histograms, exactly from the Boltzmann distribution of a diagonal W or along Metropolis chains (Fleischer
2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.boltzmann.space import LARGEST_TABLE, SCALE, histogram, temperature, weight_matrix
from dpsim.checks import Array, Integers

LARGEST_TERMS = 20_000_000  # terms of all bins' tables together
TILT_POINTS = 200  # terms of a bin from which the tilt is chosen; the draws are exact for any tilt
CUT = 100.0  # a bin's terms below exp(-CUT) times its largest are left out of the tables of exact draws
CANDIDATES = ("bins", "individual")
RULES = ("metropolis", "logistic")


def sample_exact(
    x: ArrayLike,
    t: float,
    *,
    weights: ArrayLike | None = None,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return independent draws of pi(z | x) itself for a diagonal W, ``(*size, n)``, without a chain and without
    burn-in.

    Parameters
    ----------
    x : array_like of int (n,), the true histogram
    t : float in [1e-100, 1e100], the temperature
    weights : array_like (n,), optional, the diagonal of W; None means the identity
    size : int or sequence of int, optional
    rng : Generator, int or None

    Notes
    -----
    The distribution is that of independent discrete Gaussians exp(-w (z - x)^2 / t) on 0..N, given their total. Tilting
    all of them by exp(lambda z) does not change it. So draw all bins except the widest from the tilted distributions,
    give the widest the rest of the total, and accept with the weight of that count relative to its mode. The tilt
    lambda makes the expected total N, and then a share A of about 1 / sqrt(n) of the proposals is accepted.

    Two errors separate a draw from the exact distribution in total variation (count them as delta). Terms below
    exp(-100) times a bin's largest term are left out of its table, which contributes at most n (N + 1) exp(-100)
    divided by the probability of the total N. Double precision (53-bit uniforms, rounded sums) adds about 2 K 2^-53 / A
    for K table terms. A bin needs about 20 sqrt(t / w) terms, and at most N + 1. Tables of more than 20,000,000 terms
    are refused.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.sample_exact([30, 15, 5], 10.0, size=2, rng=1).sum(axis=1)
    array([50, 50])
    """
    centre = histogram(x)
    w = weight_matrix(weights, centre.size)
    if w.ndim == 2:
        raise ValueError(f"weights must be diagonal here, None or {len(w)} numbers in [0, inf), got a full matrix")
    a = w / temperature(t)
    shape, generator, total = checks.size("size", size), checks.generator(rng), int(centre.sum())
    refuse_large_tables(total, a)
    tilt = _tilt(centre, a, total)
    mode, low, high = _windows(centre, a, tilt, total)
    last, tables = int(np.argmax(high - low)), {}
    for i in np.delete(np.arange(centre.size), last):
        table = np.cumsum(_terms(np.arange(low[i], high[i] + 1), mode[i], centre[i], a[i], tilt))
        tables[i] = table / table[-1]
    out, done = np.empty((math.prod(shape), centre.size), np.int64), 0
    while done < len(out):
        batch = int(np.clip(2 * (len(out) - done) * math.sqrt(centre.size), 64, max(64, 2_000_000 // centre.size)))
        drawn = np.zeros((batch, centre.size), np.int64)
        for i, table in tables.items():
            drawn[:, i] = low[i] + np.searchsorted(table, generator.random(batch), side="right")
        left = total - drawn.sum(axis=1)
        chance = _terms(np.maximum(left, 0), mode[last], centre[last], a[last], tilt)
        kept = drawn[(left >= 0) & (generator.random(batch) < chance)][: len(out) - done]
        kept[:, last] = total - kept.sum(axis=1)
        out[done : done + len(kept)] = kept
        done += len(kept)
    return out.reshape(*shape, centre.size)


def refuse_large_tables(total: int, a: Array) -> None:
    """Raise ValueError when some histogram of this total could need more than 20,000,000 table terms.

    A window ends on either side at the last term that is at least exp(-CUT) times the largest one. About the top c of
    the parabola its terms are the z with a (z - c)^2 <= CUT + a / 4, because the mode is within 1/2 of c. So there are
    at most 2 sqrt(CUT / a) + 2 terms. If c lies outside 0..N the terms fall even faster. Both ends are rounded
    outwards, by one more term each.
    """
    with np.errstate(divide="ignore"):
        terms = np.minimum(total + 1.0, 2.0 * np.sqrt(CUT / a) + 4.0).sum()
    if terms > LARGEST_TERMS:
        raise ValueError(f"total, bins and t must need at most {LARGEST_TERMS} table terms, got up to {terms:.0f}")


def _terms(z: Any, mode: Any, x: Any, a: Any, tilt: float) -> Array:
    """Return exp(-a (z - x)^2 + tilt z) relative to its value at the mode."""
    return np.asarray(np.exp((z - mode) * (tilt - a * (z + mode - 2.0 * x))))


def _windows(x: Integers, a: Array, tilt: float, total: int) -> tuple[Integers, Integers, Integers]:
    """Return each bin's mode in 0..N, and the first and last z of the terms above exp(-CUT) times the largest one."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        top = np.clip(np.nan_to_num(x + tilt / (2 * a), nan=0.0, posinf=total, neginf=0.0), 0, total)
        mode = np.rint(top).astype(np.int64)
        slope = 2 * a * (mode - x) - tilt  # at a distance v above the mode the exponent is -(a v^2 + slope v)
        ends = []
        for side in (-slope, slope):
            reach = 2 * CUT / (side + np.sqrt(side**2 + 4 * a * CUT))
            ends.append(np.ceil(np.clip(np.nan_to_num(reach, nan=total, posinf=total), 0, total)).astype(np.int64))
    return mode, np.maximum(mode - ends[0], 0), np.minimum(mode + ends[1], total)


def _tilt(x: Integers, a: Array, total: int) -> float:
    """Return lambda with an expected total near N, by Newton steps in a bracket."""
    low, high, tilt = -math.inf, math.inf, 0.0
    for _ in range(200):
        mode, first, last = _windows(x, a, tilt, total)
        stride = 1 + (last - first) // TILT_POINTS
        grid = first[:, None] + stride[:, None] * np.arange(int(((last - first) // stride).max()) + 1)
        z = np.minimum(grid, last[:, None])
        p = _terms(z, mode[:, None], x[:, None], a[:, None], tilt) * (grid == z)
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * (z - mode[:, None])).sum(axis=1)
        spread = float(((p * (z - mode[:, None]) ** 2).sum(axis=1) - mean**2).sum())
        excess = float((mode + mean).sum()) - total
        if abs(excess) <= 0.1 * max(1.0, math.sqrt(max(spread, 0.0))):
            break
        low, high = (low, tilt) if excess > 0 else (tilt, high)
        following = tilt - excess / spread if spread > 0 else math.nan
        if not low < following < high:
            if math.isinf(low) or math.isinf(high):
                break  # the draws are exact for any tilt; a better one only accepts more often
            following = (low + high) / 2
        tilt = following
    return tilt


def metropolis(
    x: ArrayLike,
    t: ArrayLike,
    steps: int,
    *,
    chains: int = 1,
    weights: ArrayLike | None = None,
    candidate: str = "bins",
    rule: str = "metropolis",
    running_mean: bool = False,
    rng: np.random.Generator | int | None = None,
) -> NDArray[Any]:
    """Return the states of Metropolis chains after `steps` steps from x, (..., chains, n), or their running means.

    Parameters
    ----------
    x : array_like of int (n,), the true histogram, where every chain starts
    t : array_like (...), temperatures in [1e-100, 1e100]
    steps : int, at least 0
    chains : int, number of independent chains at each temperature, at least 1
    weights : array_like, optional, W as in `objective`, for at most 7,000 bins
    candidate : {"bins", "individual"}
        The proposed move. With "bins", one person moves between an ordered pair of distinct bins, which is drawn
        uniformly; the proposal is refused when the first bin is empty. With "individual", a person drawn uniformly
        moves to another bin drawn uniformly. Pairs of bins are symmetric, so pi(z | x) is stationary under both rules.
        With "individual" the chains tend to pi(z | x) times N! / (z_1! ... z_n!), normalised.
    rule : {"metropolis", "logistic"}
        A candidate that changes c_x by d is accepted with probability min(1, exp(d / t)) or 1 / (1 + exp(-d / t)).
    running_mean : bool
        Return the running means of c_x instead, (..., chains, steps). Entry k - 1 is the mean over X^0 = x, ..., X^(k -
        1), and it tends to the expected objective (Fleischer 2024, ergodic theorem).
    rng : Generator, int or None

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.metropolis([30, 15, 5], 10.0, 1000, chains=2, rng=1).sum(axis=-1)
    array([50, 50])
    """
    start, warm = histogram(x), checks.real("t", t, 1 / SCALE, SCALE)
    if start.size**2 > LARGEST_TABLE:
        raise ValueError(f"x must have at most {math.isqrt(LARGEST_TABLE)} bins, got {start.size}")
    w = weight_matrix(weights, start.size)
    steps = checks.integer("steps", steps, 0)
    chains = checks.integer("chains", chains, 1)
    checks.choice("candidate", candidate, CANDIDATES)
    checks.choice("rule", rule, RULES)
    states = np.empty((*warm.shape, chains, start.size), np.int64)
    means = np.empty((*warm.shape, chains, steps if running_mean else 0))
    full, kind = np.diag(w) if w.ndim == 1 else w, (candidate == "individual", rule == "logistic")
    flat = (states.reshape(-1, chains, start.size), means.reshape(warm.size, chains, means.shape[-1]))
    _metropolis(checks.generator(rng), start, warm.ravel(), full, *kind, steps, *flat)
    return means if running_mean else states


@njit(cache=True, nogil=True)
def _metropolis(rng, start, warm, w, individual, logistic, steps, states, means):  # type: ignore
    """Run every chain; the objective is updated by the change of each accepted proposal and never computed anew."""
    n, people = start.size, start.sum()
    for a in range(warm.size):
        for chain in range(states.shape[1]):
            z = states[a, chain]
            z[:] = start
            cost, summed = 0.0, 0.0
            for k in range(steps):
                if means.shape[2]:
                    summed += cost
                    means[a, chain, k] = summed / (k + 1)
                if individual:
                    person, i = int(rng.random() * people), 0
                    while person >= z[i]:  # their bin is the first whose cumulative count exceeds their number
                        person -= z[i]
                        i += 1
                else:
                    i = int(rng.random() * n)
                j = int(rng.random() * (n - 1))
                if j >= i:
                    j += 1
                if z[i] == 0:
                    continue
                pull = 0.0
                for b in range(n):
                    pull += (w[j, b] - w[i, b]) * (z[b] - start[b])
                change = -2 * pull - (w[i, i] + w[j, j] - 2 * w[i, j])
                if logistic:
                    taken = rng.random() < 1 / (1 + math.exp(min(-change / warm[a], 700.0)))
                else:
                    taken = change >= 0 or rng.random() < math.exp(change / warm[a])
                if taken:
                    z[i] -= 1
                    z[j] += 1
                    cost += change
