"""The exact (epsilon, delta) privacy of one draw of the Boltzmann machine's stationary distribution, W = identity.

With y = x + e_j - e_i the privacy loss log pi(z | x) - log pi(z | y) is (2 (z_i - z_j - x_i + x_j) + 2) / t less
the difference of the log normalisers: it depends on z through z_i - z_j alone. So the law of that difference,
by convolution, gives every delta, without a sum over histograms. W = w times the identity is t / w.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann_exact import log_normalisers, partial_sums
from dpsim.boltzmann_space import (
    LARGEST_TABLE,
    SCALE,
    Array,
    after_move,
    configuration_index,
    configurations,
)

PRECISION = 1e-9  # relative, of the epsilon that `epsilon_at_delta` returns, which is rounded up by it


def delta_at_epsilon(total: int, bins: int, t: float, epsilon: ArrayLike) -> Array:
    """Return the exact delta of one draw of pi(. | x) at each epsilon >= 0, of any shape, for W = identity.

    It is the largest over neighbours x, y of the sum over z of (pi(z | x) - e^epsilon pi(z | y))_+, up to
    double precision. Raises ValueError unless total >= 1, bins >= 2, t in [1e-100, 1e100], epsilon >= 0, and
    when the tables would exceed 50,000,000 numbers.
    """
    levels = checks.real("epsilon", epsilon, 0.0)
    loss, mass = _losses(total, bins, t)
    return np.array([_largest_delta(loss, mass, e) for e in levels.ravel()]).reshape(levels.shape)


def epsilon_at_delta(total: int, bins: int, t: float, delta: ArrayLike) -> Array:
    """Return the exact epsilon of one draw of pi(. | x) at each delta in [0, 1), of any shape, for W = identity.

    It is the smallest epsilon >= 0 with `delta_at_epsilon` at most delta, rounded up by at most 1e-9 of itself;
    delta = 0 gives what `boltzmann_exact.exact_epsilon_limit` does. Raises ValueError as `delta_at_epsilon`
    does, and for delta outside [0, 1).
    """
    levels = checks.real("delta", delta, 0.0, 1.0, open_high=True)
    loss, mass = _losses(total, bins, t)
    smallest = [_smallest_epsilon(loss, mass, d) if d else max(0.0, loss.max()) for d in levels.ravel()]
    return np.array(smallest).reshape(levels.shape)


def _losses(total: int, bins: int, t: float) -> tuple[Array, Array]:
    """Return the privacy loss and the chance of z_0 - z_1 = -N..N for each x, a move from bin 0 to bin 1.

    Both (rows, 2 N + 1). The rows are the x that differ by more than the order of the bins beyond the first two.
    """
    total = checks.integer("total", total, 1)
    bins = checks.integer("bins", bins, 2)
    t = checks.scalar("t", t, 1 / SCALE, SCALE)
    states = configurations(total, bins)
    normaliser = log_normalisers(total, bins, t)
    here = (states[:, 0] > 0) & (np.diff(states[:, 2:], axis=1) <= 0).all(axis=1)
    x = states[here]
    if len(x) * (2 * total + 1) > LARGEST_TABLE:
        raise ValueError(
            f"total {total} and bins {bins} must need at most {LARGEST_TABLE} numbers, got {len(x)} histograms"
        )
    moved = normaliser[configuration_index(after_move(x, 0, 1), total)]
    difference = np.arange(-total, total + 1)
    loss = (2 * (difference - (x[:, :1] - x[:, 1:2])) + 2) / t - (normaliser[here] - moved)[:, None]
    rest = partial_sums(total, np.full(bins - 2, 1 / t))
    row = configuration_index(np.column_stack([x[:, 2:], x[:, :2].sum(axis=1)]), total)
    counts = np.arange(total + 1)
    kernel = np.exp(-((counts[:, None] - counts) ** 2.0) / t)
    return loss, _difference_laws(x[:, 0], x[:, 1], kernel, rest, row, normaliser[here])


@njit(cache=True, nogil=True)
def _difference_laws(source, target, kernel, rest, row, normaliser):  # type: ignore[no-untyped-def]
    total = kernel.shape[0] - 1
    mass = np.zeros((source.size, 2 * total + 1))
    for x in range(source.size):
        first, second, others = kernel[source[x]], kernel[target[x]], rest[row[x]]
        for d in range(-total, total + 1):
            weight = 0.0
            for b in range(max(0, -d), (total - d) // 2 + 1):  # z_0 = b + d, z_1 = b, the others N - 2 b - d
                weight += first[b + d] * second[b] * others[total - 2 * b - d]
            mass[x, total + d] = weight
        mass[x] /= math.exp(normaliser[x])
    return mass


@njit(cache=True, nogil=True)
def _delta(loss, mass, epsilon):  # type: ignore[no-untyped-def]
    delta = 0.0
    for d in range(loss.size - 1, -1, -1):  # the loss grows with the difference
        if loss[d] <= epsilon:
            break
        delta += mass[d] * -math.expm1(epsilon - loss[d])
    return delta


@njit(cache=True, nogil=True)
def _largest_delta(loss, mass, epsilon):  # type: ignore[no-untyped-def]
    largest = 0.0
    for x in range(loss.shape[0]):
        largest = max(largest, _delta(loss[x], mass[x], epsilon))
    return largest


@njit(cache=True, nogil=True)
def _smallest_epsilon(loss, mass, delta):  # type: ignore[no-untyped-def]
    largest = 0.0
    for x in range(loss.shape[0]):
        if _delta(loss[x], mass[x], largest) <= delta:
            continue
        low, high = largest, loss[x, -1]
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            if _delta(loss[x], mass[x], middle) <= delta:
                high = middle
            else:
                low = middle
        largest = high
    return largest
