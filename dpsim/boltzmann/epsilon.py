"""The exact epsilon and delta of one draw of the Boltzmann distribution, summed over all histograms without sampling.

"Exact" means up to double precision. The arguments x, t and weights are those of `law`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from dpsim import checks
from dpsim.boltzmann.space import (
    LARGEST_TABLE,
    after_move,
    configurations,
    index,
    size,
    temperature,
    weight_matrix,
)
from dpsim.checks import Array, Integers

LARGEST_PAIRED = (
    30_000  # histograms: all their pairs are visited for the normalisers of a full W
)
PRECISION = 1e-9  # relative, by which `epsilon_at_delta` rounds its result up


def log_normalisers(x: Integers, t: float, w: Array) -> Array:
    """Return the logarithm of the sum over z of exp(c_x(z) / t) for histograms x (rows, n) of one total. For a full W,
    x must be all of these histograms."""
    if w.ndim == 1:
        return np.log(_sums(x, int(x[0].sum()), w / t)[:, -1])
    if len(x) > LARGEST_PAIRED:
        raise ValueError(
            f"total and bins must give at most {LARGEST_PAIRED} histograms, got {len(x)}"
        )
    eigenvalues, vectors = np.linalg.eigh(w)
    points = x @ (
        vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    )  # squared distances are (z - x)' W (z - x)
    blocks = np.array_split(points, 1 + len(points) ** 2 // 4_000_000)
    return np.log(
        np.concatenate(
            [
                np.exp(-cdist(block, points, "sqeuclidean") / t).sum(axis=1)
                for block in blocks
            ]
        )
    )


def _sums(parts: Integers, total: int, a: Array) -> Array:
    """Return the sums of exp(-sum a_i (z_i - parts_i)^2) over the z of each total 0..N: (rows, N + 1)."""
    if len(parts) * (total + 1) > LARGEST_TABLE:
        raise ValueError(
            f"total and bins must need at most {LARGEST_TABLE} sums, got {len(parts)} of {total + 1}"
        )
    sums = np.zeros((len(parts), total + 1))
    sums[:, 0] = 1.0
    before = np.arange(total + 1)[:, None]
    for i, own in enumerate(a):
        terms = np.exp(-own * np.arange(-2.0 * total, total + 1) ** 2)
        for count in range(total + 1):  # a bin's terms depend only on its own count
            here = parts[:, i] == count
            if here.any():
                added = before.T - before  # how many of a total are in bin i
                kernel = np.where(added >= 0, terms[added - count + 2 * total], 0.0)
                sums[here] = sums[here] @ kernel
    return sums


def exact_epsilon_limit(
    total: int, bins: int, t: float, weights: ArrayLike | None = None
) -> float:
    """Return the exact epsilon of one draw of pi(z | x), the largest loss over neighbours and outputs.

    The worst output for given neighbours is known (see `sensitivity`), so only the normalisers have to be summed.

    Parameters
    ----------
    total, bins, t : as in `epsilon_bound`
    weights : array_like, optional
        W, as in `objective`. There may be at most 30,000 histograms for a full W, and 50,000,000 / (N + 1) for others.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> round(boltzmann.exact_epsilon_limit(50, 3, 198.0), 4)
    0.868
    """
    total, bins = size(total, bins)
    w = weight_matrix(weights, bins)
    t = temperature(t)
    x, row = _representatives(total, bins, w)
    normaliser = log_normalisers(x, t, w)
    full = np.diag(w) if w.ndim == 1 else w
    pull = x @ full
    largest = 0.0
    for i, j in permutations(range(bins), 2):
        here = x[:, i] > 0
        g = full[j] - full[i]
        changed = (
            2 * (pull[here, j] - pull[here, i]) + g[j] - g[i] - 2 * total * g.min()
        )
        loss = (
            changed / t - normaliser[here] + normaliser[row(after_move(x[here], i, j))]
        )
        largest = max(largest, float(loss.max(initial=0.0)))
    return largest


def _representatives(total: int, bins: int, w: Array):  # type: ignore[no-untyped-def]
    """Return the histograms to examine, and a function that finds the row of any histogram. For equal weights, one
    histogram represents all that have the same counts in another order."""
    states = configurations(total, bins)
    if w.ndim == 2 or np.ptp(w) > 0:
        return states, index
    x = states[(np.diff(states, axis=1) <= 0).all(axis=1)]
    numbers = index(x)
    return x, lambda z: np.searchsorted(numbers, index(-np.sort(-z, axis=-1)))


def epsilon_at_delta(total: int, bins: int, t: float, delta: ArrayLike) -> Array:
    """Return the exact epsilon of one draw of pi(z | x) at each delta, in its shape, for W = identity.

    It is the smallest epsilon >= 0 whose exact delta is at most the given one, rounded up by at most a relative 1e-9.
    The normalisers are exact up to 1e-14. For delta = 0 it equals `exact_epsilon_limit` up to that precision.

    Parameters
    ----------
    total, bins, t : as in `exact_epsilon_limit`
    delta : array_like, in [0, 1)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.epsilon_at_delta(20, 3, 78.0, [0.0, 1e-2]).round(4)
    array([0.8033, 0.2598])
    """
    levels = checks.real("delta", delta, 0.0, 1.0, open_high=True)
    found = np.zeros(levels.shape)
    for loss, mass in losses(total, bins, t):
        for at, level in np.ndenumerate(levels):
            found[at] = _smallest_epsilon(loss, mass, level, float(found[at]))
    return checks.plain(found)


def losses(total: int, bins: int, t: float) -> Iterator[tuple[Array, Array]]:
    """Yield the loss and the probability of each z_0 - z_1 in -N..N, as arrays (2 N + 1, pairs). The order of the bins
    2 to n - 1 of x does not matter, so one order represents all."""
    total, bins = size(total, bins)
    t = temperature(t)
    normal, row = _representatives(total, bins, np.ones(bins))
    normaliser = log_normalisers(normal, t, np.ones(bins))
    states = configurations(total, bins)
    x = states[(states[:, 0] > 0) & (np.diff(states[:, 2:], axis=1) <= 0).all(axis=1)]
    if len(x) * (2 * total + 1) > LARGEST_TABLE:
        raise ValueError(
            f"total {total} and bins {bins} must need at most {LARGEST_TABLE} numbers, got {len(x)} histograms"
        )
    own, moved = normaliser[row(x)], normaliser[row(after_move(x, 0, 1))]
    difference = np.arange(-total, total + 1)[:, None]
    apart = x[:, 0] - x[:, 1]
    # (z_0 - x_0)^2 + (z_1 - x_1)^2 is half the square of the change of z_0 - z_1 and half that of z_0 + z_1, which is
    # at least |z_0 - z_1| and has its parity
    rest, place = np.unique(x[:, 2:], axis=0, return_inverse=True)
    both = np.arange(total + 1)[:, None]
    chances = np.exp(-((both - (total - rest.sum(axis=1))) ** 2) / (2 * t))
    chances *= _sums(rest, total, np.full(bins - 2, 1 / t))[:, ::-1].T
    for parity in (0, 1):
        chances[parity::2] = chances[parity::2][::-1].cumsum(axis=0)[::-1]
    chances = chances[np.abs(difference.ravel())]
    near = np.exp(-((difference - difference.T) ** 2) / (2 * t))
    for some in np.array_split(
        np.arange(len(x)), 1 + len(x) // 2000
    ):  # a few MB at a time
        loss = (2 * difference + 2) / t - (
            2 * apart[some] / t + own[some] - moved[some]
        )
        yield (
            loss,
            near[:, apart[some] + total]
            * chances[:, place.ravel()[some]]
            / np.exp(own[some]),
        )


def hockey_stick_sums(loss: Array, mass: Array, epsilon: float) -> Array:
    """Return the hockey-stick divergence of each pair."""
    return (mass * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum(axis=0)


def _smallest_epsilon(loss: Array, mass: Array, delta: float, epsilon: float) -> float:
    """Return the epsilon that the worst pair needs. Starting from the given epsilon, bisection finds the epsilon of a
    pair that needs a larger one, until there is no such pair."""
    if delta == 0:
        return max(epsilon, float(loss.max()))
    while ((deltas := hockey_stick_sums(loss, mass, epsilon)) > delta).any():
        loss = loss[:, deltas > delta]
        mass = mass[:, deltas > delta]
        deltas = deltas[deltas > delta]
        worst = np.argmax(deltas)
        low, high = epsilon, float(loss[:, worst].max())
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            kept = hockey_stick_sums(loss[:, worst], mass[:, worst], middle) <= delta
            low, high = (low, middle) if kept else (middle, high)
        epsilon = high
    return epsilon
