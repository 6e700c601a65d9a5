"""Exact moments and privacy of the Boltzmann machine's stationary distribution (Fleischer 2024), without sampling.

Arrays over all histograms are in the order of `boltzmann.configurations`; x, t and weights mean what they
mean there. "Exact" is up to double precision. Spaces too large to enumerate are refused with the limit in the
message.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from dpsim import checks
from dpsim.boltzmann.exact_sampling import CUT, tilted_tables
from dpsim.boltzmann.mechanism import log_stationary, objective
from dpsim.boltzmann.space import (
    LARGEST_TABLE,
    SCALE,
    after_move,
    configuration_index,
    configurations,
    diagonal_exponents,
    histogram,
    refuse_beyond,
    weight_matrix,
)
from dpsim.checks import Array, Integers

LARGEST_PAIRED = 30_000  # histograms whose pairs are all visited once, for the normalisers of a full W


def expected_objective(x: ArrayLike, t: float, weights: ArrayLike | None = None) -> float:
    """Return the mean of c_x(Z) under pi(z | x), the limit of Fleischer 2024's running means.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        The true histogram.
    t : float
        Temperature in [1e-100, 1e100].
    weights : array_like, optional
        W, as in `objective`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `log_stationary` does.

    Notes
    -----
    Diagonal W: dynamic programming over bins of (mass, mass times -c_x / t) at each partial total, for the
    tilted tables of `sample_exact`; every term is positive, so there is no cancellation. Time n N^2 at worst;
    terms below exp(-100) of the largest are left out, so that at low t it is n times width of a bin times
    width of the total. Full W: by enumeration.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> round(boltzmann.expected_objective([30, 15, 5], 10.0), 3)
    -9.94
    """
    centre = histogram(x)
    if weight_matrix(weights, centre.size).ndim == 2:
        law = np.exp(log_stationary(centre, checks.scalar("t", t), weights))
        return float(law @ objective(configurations(int(centre.sum()), centre.size), centre, weights))
    a = diagonal_exponents(weights, centre.size, t)
    _, first, offset, terms, _ = tilted_tables(centre, a)
    total = int(centre.sum())
    low, mass, energy = 0, np.ones(1), np.zeros(1)  # of partial totals low, low + 1, ...
    for i in range(centre.size):
        own = terms[offset[i] : offset[i + 1]]
        squared = a[i] * (np.arange(first[i], first[i] + own.size) - centre[i]) ** 2.0
        energy = np.convolve(energy, own) + np.convolve(mass, own * squared)
        mass = np.convolve(mass, own)
        low += int(first[i])
        mass, energy = mass[: total - low + 1] / mass.max(), energy[: total - low + 1] / mass.max()
        keep = np.flatnonzero(mass >= np.exp(-CUT))
        low, mass, energy = low + int(keep[0]), mass[keep[0] : keep[-1] + 1], energy[keep[0] : keep[-1] + 1]
    return 0.0 - float(t) * float(energy[total - low] / mass[total - low])


def log_normalisers(total: int, bins: int, t: float, weights: ArrayLike | None = None) -> Array:
    """Return log of the sum over z of exp(c_x(z) / t) for every x of `configurations`, (rows,).

    Diagonal W: the sum factorises over bins given the total; partial sums are tabulated for each possible
    first half and second half of x, then joined: 316,251 histograms in about a second. Full W: all pairs of
    histograms. Every sum is at least 1, so terms that underflow do not matter. Raises ValueError as
    `sensitivity` and `configurations` do, for t outside [1e-100, 1e100], and for a full W with more than
    30,000 histograms.
    """
    total = checks.integer("total", total, 1)
    bins = checks.integer("bins", bins, 2)
    w = weight_matrix(weights, bins)
    states = configurations(total, bins)
    t = checks.scalar("t", t, 1 / SCALE, SCALE)
    if w.ndim == 2:
        refuse_beyond(LARGEST_PAIRED, states.shape[0], total, bins)
        points = scaled_points(states, w)
        blocks = np.array_split(points, 1 + len(points) ** 2 // 4_000_000)
        sums = [np.exp(-cdist(block, points, "sqeuclidean") / t).sum(axis=1) for block in blocks]
        return np.log(np.concatenate(sums))
    cut = bins // 2
    front, back = partial_sums(total, w[:cut] / t), partial_sums(total, w[cut:] / t)
    used = states[:, :cut].sum(axis=1)
    front_row = configuration_index(np.column_stack([states[:, :cut], total - used]), total)
    back_row = configuration_index(np.column_stack([states[:, cut:], used]), total)
    return np.log(_join(front, back, front_row, back_row))


def partial_sums(total: int, a: Array) -> Array:
    """Return for each part of x (a.size bins, at most N in all) the sums over z by total: (parts, N + 1)."""
    parts = configurations(total, a.size + 1)
    if max(parts.shape[0], total + 1) * (total + 1) > LARGEST_TABLE:
        raise ValueError(f"total must need at most {LARGEST_TABLE} partial sums, got total {total}")
    counts = np.arange(total + 1)
    sums = np.zeros((parts.shape[0], total + 1))
    sums[:, 0] = 1.0
    for i, own in enumerate(a):
        _convolve_rows(sums, np.exp(-own * (counts[:, None] - counts) ** 2.0), parts[:, i])
    return sums


@njit(cache=True, nogil=True)
def _convolve_rows(sums, kernel, counts):  # type: ignore[no-untyped-def]
    """Add a bin to the partial sums in place: each row is convolved with the kernel of its own count."""
    for row in range(sums.shape[0]):
        for r in range(sums.shape[1] - 1, -1, -1):  # downwards: the entries below are still the old ones
            total = 0.0
            for z in range(r + 1):
                total += sums[row, r - z] * kernel[counts[row], z]
            sums[row, r] = total


@njit(cache=True, nogil=True)
def _join(front, back, front_row, back_row):  # type: ignore[no-untyped-def]
    """Return the normalisers: the sums of two halves of the bins, convolved at the full total."""
    out = np.empty(front_row.size)
    top = front.shape[1] - 1
    for x in range(out.size):
        total = 0.0
        for r in range(top + 1):
            total += front[front_row[x], r] * back[back_row[x], top - r]
        out[x] = total
    return out


def exact_epsilon_limit(total: int, bins: int, t: float, weights: ArrayLike | None = None) -> float:
    """Return the exact epsilon of one draw of pi(z | x).

    Parameters
    ----------
    total : int
        N >= 1 individuals.
    bins : int
        n >= 2.
    t : float
        Temperature in [1e-100, 1e100].
    weights : array_like, optional
        W, as in `objective`.

    Returns
    -------
    float
        Fleischer 2024's 2 s / t >= `epsilon_bound` >= this.

    Raises
    ------
    ValueError
        As `sensitivity` and `configurations` do, for t outside its range, and for a full W with more than 30,000
        histograms.

    Notes
    -----
    It is the maximum over neighbours x, y and over z of log pi(z | x) - log pi(z | y), normalisers included,
    which Fleischer 2024 bounds by a second s / t. The difference of the objectives is linear in z (see
    `sensitivity`), so its maximum is at one of the n vertices N e_k; x runs over the whole space.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> round(boltzmann.exact_epsilon_limit(20, 3, 78.0), 4), boltzmann.epsilon_bound(20, 3, 78.0)
    (0.8033, 1.0)
    """
    normaliser = log_normalisers(total, bins, t, weights)
    states = configurations(total, bins)
    w = weight_matrix(weights, bins)
    full = np.diag(w) if w.ndim == 1 else w
    pull = states * w if w.ndim == 1 else states @ w
    step = full[None] - full[:, None]  # g = W (e_j - e_i) of y = x + e_j - e_i, in step[i, j]
    ends = np.einsum("ijj->ij", step) - np.einsum("iji->ij", step)  # g_j - g_i
    ahead = np.array([[math.comb(left + r - 1, r) if left else 0 for r in range(bins)] for left in range(total + 1)])
    return _largest_loss(states, pull, (ends - 2 * total * step.min(axis=2)) / t, t, normaliser, ahead)


@njit(cache=True, nogil=True)
def _largest_loss(states, pull, constant, t, normaliser, ahead):  # type: ignore[no-untyped-def]
    """Return the largest loss over histograms x, one-step neighbours y and outputs: the worst output is known."""
    rows, bins = states.shape
    largest = 0.0
    for x in range(rows):
        y = states[x].copy()
        for i in range(bins):
            for j in range(bins):
                if i == j or y[i] == 0:
                    continue
                y[i] -= 1
                y[j] += 1
                row, left = 0, ahead.shape[0] - 1  # the row of y, as `configuration_index` finds it
                for b in range(bins - 1):
                    left -= y[b]
                    row += ahead[left, bins - 1 - b]
                loss = 2 * (pull[x, j] - pull[x, i]) / t + constant[i, j] - normaliser[x] + normaliser[row]
                largest = max(largest, loss)
                y[i] += 1
                y[j] -= 1
    return largest


def scaled_points(states: Integers, w: Array) -> Array:
    """Return points whose squared distances are (z - x)' W (z - x)."""
    if w.ndim == 1:
        return np.sqrt(w) * states
    eigenvalues, vectors = np.linalg.eigh(w)
    scaled: Array = states @ (vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    return scaled


PRECISION = 1e-9  # relative, of the epsilon that `epsilon_at_delta` returns, which is rounded up by it


def delta_at_epsilon(total: int, bins: int, t: float, epsilon: ArrayLike) -> Array:
    """Return the exact delta of one draw of pi(z | x), for W = identity.

    Parameters
    ----------
    total : int
        N >= 1 individuals.
    bins : int
        n >= 2.
    t : float
        Temperature in [1e-100, 1e100].
    epsilon : array_like
        At least 0, of any shape.

    Returns
    -------
    float or ndarray, of the shape of epsilon
        The largest over neighbours x, y of the sum over z of (pi(z | x) - e^epsilon pi(z | y))_+, up to rounding.

    Raises
    ------
    ValueError
        For arguments outside these ranges, and when the tables would exceed 50,000,000 numbers.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.delta_at_epsilon(20, 3, 78.0, [0.0, 0.2]).round(4)
    array([0.0799, 0.0181])
    """
    levels = checks.real("epsilon", epsilon, 0.0)
    loss, mass = _losses(total, bins, t)
    return checks.plain(np.array([_largest_delta(loss, mass, e) for e in levels.ravel()]).reshape(levels.shape))


def epsilon_at_delta(total: int, bins: int, t: float, delta: ArrayLike) -> Array:
    """Return the exact epsilon of one draw of pi(z | x) at each delta, for W = identity.

    Parameters
    ----------
    total, bins, t
        As in `delta_at_epsilon`.
    delta : array_like
        In [0, 1), of any shape.

    Returns
    -------
    float or ndarray, of the shape of delta
        The smallest epsilon >= 0 with `delta_at_epsilon` at most delta, rounded up by at most 1e-9 of itself; delta = 0
        gives what `exact_epsilon_limit` does.

    Raises
    ------
    ValueError
        As `delta_at_epsilon` does, and for delta outside [0, 1).

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.epsilon_at_delta(20, 3, 78.0, [0.0, 1e-2]).round(4)
    array([0.8033, 0.2598])
    """
    levels = checks.real("delta", delta, 0.0, 1.0, open_high=True)
    loss, mass = _losses(total, bins, t)
    smallest = [_smallest_epsilon(loss, mass, d) if d else max(0.0, loss.max()) for d in levels.ravel()]
    return checks.plain(np.array(smallest).reshape(levels.shape))


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
    """Return the law of z_0 - z_1 under pi(z | x) for each x: the loss depends on nothing else of z."""
    total = kernel.shape[0] - 1
    mass = np.zeros((source.size, 2 * total + 1))
    for x in range(source.size):
        first, second, others = kernel[source[x]], kernel[target[x]], rest[row[x]]
        for d in range(-total, total + 1):
            weight = 0.0
            for b in range(max(0, -d), (total - d) // 2 + 1):  # z_0 = b + d, z_1 = b, the others N - 2 b - d
                weight += first[b + d] * second[b] * others[total - 2 * b - d]
            mass[x, total + d] = weight / math.exp(normaliser[x])
    return mass


@njit(cache=True, nogil=True)
def _delta(loss, mass, epsilon):  # type: ignore[no-untyped-def]
    """Return the hockey-stick divergence of one pair from its losses, which increase, and their masses."""
    delta = 0.0
    for d in range(loss.size - 1, -1, -1):  # the loss grows with the difference
        if loss[d] <= epsilon:
            break
        delta += mass[d] * -math.expm1(epsilon - loss[d])
    return delta


@njit(cache=True, nogil=True)
def _largest_delta(loss, mass, epsilon):  # type: ignore[no-untyped-def]
    """Return the largest delta at epsilon over all pairs."""
    largest = 0.0
    for x in range(loss.shape[0]):
        largest = max(largest, _delta(loss[x], mass[x], epsilon))
    return largest


@njit(cache=True, nogil=True)
def _smallest_epsilon(loss, mass, delta):  # type: ignore[no-untyped-def]
    """Return the epsilon of the worst pair at delta; a pair that keeps delta there already is not searched."""
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
