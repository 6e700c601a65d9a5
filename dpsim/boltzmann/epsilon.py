"""The privacy of one sample from the Boltzmann distribution, exact or as a bound.

The exact epsilon and delta are sums over all histograms, computed in double precision.
The module also gives the sensitivity of the objective and a proven upper bound on the
exact epsilon. The arguments x, t and weights are those of `objective`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.histograms import (
    LARGEST_TABLE,
    after_move,
    bin_weights,
    configurations,
    index,
    size,
    temperature,
)
from dpsim.checks import Array, Integers
from dpsim.numerics import search

MOST_WORK = 2e10
"""The largest number of multiplications, which take some ten seconds."""
# The largest amount by which `epsilon_at_delta` rounds its result up.
PRECISION = 1e-12


def sensitivity(total: int, bins: int, weights: ArrayLike | None = None) -> float:
    """Return the sensitivity s of the objective (Fleischer 2024).

    It is the exact maximum of ``|c_x(z) - c_y(z)|`` over histograms z and neighbours
    x, y, which is 2 N - 1 times the sum of the two largest weights, and 4 N - 2 if all
    weights are 1.

    Parameters
    ----------
    total, bins : int, N >= 1 people and n >= 2 bins
    weights : array_like (n,), optional, as in `objective`

    Notes
    -----
    If one person of x moves from bin i to bin j, the objective of z changes by
    w_j (2 (z_j - x_j) - 1) - w_i (2 (z_i - x_i) + 1). This is at most
    (2 N - 1) (w_i + w_j), which is attained, with the other sign, by x = e_i +
    (N - 1) e_j and z = N e_i. Exchanging x and y changes the sign.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.sensitivity(50, 3)
    198.0
    """
    total, bins = size(total, bins)
    return (2 * total - 1) * _two_largest(weights, bins)


def _two_largest(weights: ArrayLike | None, bins: int) -> float:
    """Return the sum of the two largest weights."""
    return float(np.sort(bin_weights(weights, bins))[-2:].sum())


def epsilon_bound(
    total: int, bins: int, t: float, weights: ArrayLike | None = None
) -> float:
    """Return a proven upper bound on the exact epsilon of one sample from pi(z | x).

    It is never above Fleischer 2024's promised epsilon of 2 s / t.

    Parameters
    ----------
    total, bins, weights : as in `sensitivity`
    t : float in [1e-100, 1e100], the temperature

    Notes
    -----
    Let y = x + m, m = e_j - e_i and g = W m, and let E_h be the
    mean under the Boltzmann distribution centred at the real point x + h m. Integrate
    the derivative of the log-normaliser from x to y. Then log pi(z | x) - log pi(z | y)
    is 2 / t times the difference between the mean over h in [0, 1] of E_h[g.Z] and g.z.
    This is at most 2 N (max(g) - min(g)) / t, which is 2 N (w_i + w_j) / t.

    For W = w times the identity, the bound is s / t. Take w = 1. Then g.Z = N - S with
    S = 2 Z_i + (the counts of all bins except i and j), and min g = -1, so it must be
    shown that the mean of S over h is at least 1. Under E_h, S is in 0..2N and has the
    weights q(S) exp(-(S - b + 2 h)^2 / (2 t)), where b = 2 x_i + (the counts of x in
    those bins) >= 2. Moreover q(0) <= q(2), because each split that makes S = 0 also
    makes S = 2. Lowering b to 2 only lowers the mean. For b = 2, the map S -> 2 - S
    exchanges h and 1 - h on {0, 1, 2}, so the average over h and 1 - h is at least 1,
    because the excess of q(2) and the values S > 2 only raise it. For unequal weights
    the exact epsilon can exceed s / t.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.epsilon_bound(50, 3, 198.0)
    1.0
    """
    total, bins = size(total, bins)
    equal = bool(np.ptp(bin_weights(weights, bins)) == 0)
    return (2 * total - equal) * _two_largest(weights, bins) / temperature(t)


def exact_epsilon_limit(
    total: int, bins: int, t: float, weights: ArrayLike | None = None
) -> float:
    """Return the exact epsilon of one sample from pi(z | x), at delta = 0.

    It is the largest loss over all neighbours and outputs. For neighbours between which
    one person moves from bin i to bin j, the worst output puts everybody into bin i, so
    only the normalisers require a sum.

    Parameters
    ----------
    total, bins, t : as in `epsilon_bound`
    weights : array_like (n,), optional
        As in `objective`. The sums may need 2e10 multiplications, which take ten
        seconds. With equal weights, N may be about 790 for 2 bins, 450 for 3 and 225
        for 4.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> round(boltzmann.exact_epsilon_limit(50, 3, 198.0), 4)
    0.868
    """
    total, bins = size(total, bins)
    w = bin_weights(weights, bins)
    t = temperature(t)
    x, row = _representatives(total, bins, w)
    normaliser = log_normalisers(x, t, w)
    largest = 0.0
    for i, j in permutations(range(bins), 2):
        here = x[:, i] > 0
        starts = x[here]
        changed = w[j] * (2 * starts[:, j] + 1)
        changed = changed + w[i] * (2 * (total - starts[:, i]) + 1)
        moved = normaliser[row(after_move(starts, i, j))]
        loss = changed / t - normaliser[here] + moved
        largest = max(largest, float(loss.max(initial=0.0)))
    return largest


def _representatives(
    total: int, bins: int, w: Array
) -> tuple[Integers, Callable[[Integers], Integers]]:
    """Return the histograms to examine, and a function that finds any histogram's row.

    For equal weights, one histogram represents all those with the same counts in
    another order.
    """
    states = configurations(total, bins)
    if np.ptp(w) > 0:
        return states, index
    x = states[(np.diff(states, axis=1) <= 0).all(axis=1)]
    numbers = index(x)
    return x, lambda z: np.searchsorted(numbers, index(-np.sort(-z, axis=-1)))


def log_normalisers(x: Integers, t: float, w: Array) -> Array:
    """Return the logarithm of the sum of exp(c_x(z) / t) over z, for each histogram x.

    The histograms (rows, n) have the same total.
    """
    return np.log(_sums(x, int(x[0].sum()), w / t)[:, -1])


def _sums(parts: Integers, total: int, a: Array) -> Array:
    """Return sums over z of exp(-sum_i a_i (z_i - parts_i)^2), (rows, N + 1).

    Column M holds the sum over the z whose total is M. Terms below 1e-150 are left
    out: the last column is at least 1, and denormal numbers would take most of the
    time.
    """
    work = a.size * (total + 1) ** 2 * (20 * (total + 1) + len(parts))
    if work > MOST_WORK or len(parts) * (total + 1) > LARGEST_TABLE:
        raise ValueError(
            f"total and bins must need at most {MOST_WORK:g} multiplications and "
            f"{LARGEST_TABLE} sums, got {work:g} and {len(parts) * (total + 1)} "
            f"for total {total} and bins {a.size}"
        )
    sums = np.zeros((len(parts), total + 1))
    sums[:, 0] = 1.0
    before = np.arange(total + 1)[:, None]
    added = before.T - before  # how many people of a total are in bin i
    for i, own in enumerate(a):
        terms = np.exp(-own * np.arange(-2.0 * total, total + 1) ** 2)
        terms[terms < 1e-150] = 0.0
        sums[sums < 1e-150] = 0.0
        for count in range(total + 1):  # a bin's terms depend only on its own count
            here = parts[:, i] == count
            if here.any():
                kernel = np.where(added >= 0, terms[added - count + 2 * total], 0.0)
                sums[here] = sums[here] @ kernel
    return sums


def epsilon_at_delta(total: int, bins: int, t: float, delta: ArrayLike) -> Array:
    """Return the exact epsilon of one sample from pi(z | x) at each delta.

    Here W is the identity. The result is the smallest epsilon >= 0 whose exact delta is
    at most the given one, rounded up by at most 1e-12. The normalisers are accurate to
    1e-14. For delta = 0 the result equals `exact_epsilon_limit` up to that precision.

    Parameters
    ----------
    total, bins, t : as in `exact_epsilon_limit`
    delta : array_like (...), in [0, 1)

    Returns
    -------
    array of float (...)

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
    """Yield the losses between neighbours and their probabilities, for W = identity.

    Both are arrays (2 N + 1, pairs). The loss depends on the output z only through
    z_0 - z_1, whose values -N..N index the rows. In each pair, one person moves from
    bin 0 to bin 1. The order of the other bins of x does not matter, so only one order
    is examined. Each array contains the pairs of at most 2,000 histograms.
    """
    total, bins = size(total, bins)
    t = temperature(t)
    normal, row = _representatives(total, bins, np.ones(bins))
    normaliser = log_normalisers(normal, t, np.ones(bins))
    states = configurations(total, bins)
    falling = (np.diff(states[:, 2:], axis=1) <= 0).all(axis=1)
    x = states[falling & (states[:, 0] > 0)]
    if len(x) * (2 * total + 1) > LARGEST_TABLE:
        raise ValueError(
            f"total {total} and bins {bins} must need at most {LARGEST_TABLE} numbers, "
            f"got {len(x)} histograms"
        )
    own = normaliser[row(x)]
    moved = normaliser[row(after_move(x, 0, 1))]
    difference = np.arange(-total, total + 1)[:, None]
    apart = x[:, 0] - x[:, 1]
    # (z_0 - x_0)^2 + (z_1 - x_1)^2 is half the square of the change of z_0 - z_1 plus
    # half the square of the change of z_0 + z_1. The sum z_0 + z_1 is at least
    # |z_0 - z_1| and has its parity.
    rest, place = np.unique(x[:, 2:], axis=0, return_inverse=True)
    both = np.arange(total + 1)[:, None]
    in_both = total - rest.sum(axis=1)
    weights = np.exp(-((both - in_both) ** 2) / (2 * t))
    others = _sums(rest, total, np.full(bins - 2, 1 / t))
    weights *= others[:, ::-1].T
    for parity in (0, 1):
        downwards = weights[parity::2][::-1]
        weights[parity::2] = downwards.cumsum(axis=0)[::-1]
    weights = weights[np.abs(difference.ravel())]
    near = np.exp(-((difference - difference.T) ** 2) / (2 * t))
    for some in np.array_split(np.arange(len(x)), 1 + len(x) // 2000):
        change = 2 * apart[some] / t + own[some] - moved[some]
        loss = (2 * difference + 2) / t - change
        mass = near[:, apart[some] + total] * weights[:, place.ravel()[some]]
        yield loss, mass / np.exp(own[some])


def hockey_stick_sums(loss: Array, mass: Array, epsilon: float) -> Array:
    """Return the hockey-stick divergence of each pair, from the arrays of `losses`."""
    excess = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return (mass * excess).sum(axis=0)


def _smallest_epsilon(loss: Array, mass: Array, delta: float, epsilon: float) -> float:
    """Return the epsilon that the worst pair needs at delta, but at least `epsilon`.

    As long as some pair needs a larger epsilon, the search takes the pair with the
    largest delta and raises epsilon until it is enough for this pair.
    """
    if delta == 0:
        return max(epsilon, float(loss.max()))
    while (excess := hockey_stick_sums(loss, mass, epsilon) - delta).max() > 0.0:
        some = excess > 0.0
        loss = loss[:, some]
        mass = mass[:, some]
        worst = int(excess[some].argmax())
        epsilon = _pair_epsilon(loss[:, worst], mass[:, worst], delta, epsilon)
    return epsilon


def _pair_epsilon(loss: Array, mass: Array, delta: float, least: float) -> float:
    """Return the epsilon of one pair, from its column of `losses`."""

    def excess(epsilon: float) -> float:
        return float(hockey_stick_sums(loss, mass, epsilon)) - delta

    return search.last_kept(excess, float(loss.max()), least, PRECISION)
