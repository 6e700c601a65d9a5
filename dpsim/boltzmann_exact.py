"""Exact laws, privacy and moments of the Boltzmann machine mechanism (Fleischer 2024), without sampling.

Laws over all histograms are arrays in the order of `boltzmann.configurations`; x, t and weights mean what
they mean there. "Exact" is up to double precision. Spaces too large to enumerate are refused with the limit
in the message.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import cdist

from dpsim import checks
from dpsim.boltzmann import (
    CUT,
    LARGEST_TABLE,
    SCALE,
    Array,
    Integers,
    configuration_index,
    configurations,
    diagonal_exponents,
    histogram,
    log_stationary,
    objective,
    sensitivity,
    tilted_tables,
    weight_matrix,
)

LARGEST_PAIRED = 30_000  # histograms whose pairs are all visited once, for the normalisers of a full W
LARGEST_DENSE = 3_000  # histograms with square tables in memory: 72 MB each
LARGEST_EXPONENT = 700.0  # exp stays finite


class MixingDelta(NamedTuple):
    """The privacy of k steps: each an array of the shape of the steps, epsilon and limit numbers."""

    exact: Array
    bound: Array
    total_variation: Array
    epsilon: float
    limit: float


def expected_objective(x: ArrayLike, t: float, weights: ArrayLike | None = None) -> float:
    """Return the mean of c_x(Z) under pi(. | x), the limit of the deck's running means.

    Diagonal W: dynamic programming over bins of (mass, mass times -c_x / t) at each partial total, for the
    tilted tables of `sample_exact`; every term is positive, so there is no cancellation. Time n N^2 at worst;
    terms below exp(-100) of the largest are left out, so that at low t it is n times width of a bin times
    width of the total. Full W: by enumeration. Raises ValueError as `log_stationary` does.
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
        _refuse_beyond(LARGEST_PAIRED, states.shape[0], total, bins)
        points = _points(states, w)
        blocks = np.array_split(points, 1 + len(points) ** 2 // 4_000_000)
        sums = [np.exp(-cdist(block, points, "sqeuclidean") / t).sum(axis=1) for block in blocks]
        return np.log(np.concatenate(sums))
    cut = bins // 2
    front, back = _partial_sums(total, w[:cut] / t), _partial_sums(total, w[cut:] / t)
    used = states[:, :cut].sum(axis=1)
    front_row = configuration_index(np.column_stack([states[:, :cut], total - used]), total)
    back_row = configuration_index(np.column_stack([states[:, cut:], used]), total)
    return np.log(_join(front, back, front_row, back_row))


def _partial_sums(total: int, a: Array) -> Array:
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
    for row in range(sums.shape[0]):
        for r in range(sums.shape[1] - 1, -1, -1):  # downwards: the entries below are still the old ones
            total = 0.0
            for z in range(r + 1):
                total += sums[row, r - z] * kernel[counts[row], z]
            sums[row, r] = total


@njit(cache=True, nogil=True)
def _join(front, back, front_row, back_row):  # type: ignore[no-untyped-def]
    out = np.empty(front_row.size)
    top = front.shape[1] - 1
    for x in range(out.size):
        total = 0.0
        for r in range(top + 1):
            total += front[front_row[x], r] * back[back_row[x], top - r]
        out[x] = total
    return out


def exact_epsilon_limit(total: int, bins: int, t: float, weights: ArrayLike | None = None) -> float:
    """Return the exact epsilon of one draw of pi(. | x).

    It is the maximum over neighbours x, y and over z of log pi(z | x) - log pi(z | y), normalisers included,
    which the deck bounds by a second s / t. The difference of the objectives is linear in z (see
    `sensitivity`), so its maximum is at one of the n vertices N e_k; x runs over the whole space.
    The deck's 2 s / t >= `epsilon_bound` >= this. Raises ValueError as `log_normalisers` does.
    """
    normaliser = log_normalisers(total, bins, t, weights)
    states = configurations(total, bins)
    w = weight_matrix(weights, bins)
    full = np.diag(w) if w.ndim == 1 else w
    pull = states * w if w.ndim == 1 else states @ w
    largest = 0.0
    for i, j in _moves(bins):  # y = x + e_j - e_i
        here = states[:, i] > 0
        g = full[j] - full[i]
        gain = (2 * (pull[here, j] - pull[here, i]) - 2 * total * g.min() + g[j] - g[i]) / t
        there = configuration_index(_moved(states[here], i, j), total)
        largest = max(largest, float((gain - normaliser[here] + normaliser[there]).max()))
    return largest


def transition_matrix(x: ArrayLike, t: float, *, weights: ArrayLike | None = None, proposal: str = "bins") -> csr_array:
    """Return the transition matrix of the Metropolis chain of x over `configurations`, sparse (rows, rows).

    proposal "bins": the chain of `metropolis`, reversible for pi(. | x). "individual": a uniform individual
    moves to a uniform other bin, accepted by the same rule; NOT symmetric, since its source is bin i with
    probability z_i / N: that chain is reversible for pi(z | x) times the multinomial coefficient N! / (z_1!
    ... z_n!) instead. Raises ValueError as `log_stationary` does, and for another proposal.
    """
    centre = histogram(x)
    t = checks.scalar("t", t, 1 / SCALE, SCALE)
    checks.choice("proposal", proposal, ("bins", "individual"))
    total, bins = int(centre.sum()), centre.size
    states = configurations(total, bins)
    if states.shape[0] * bins * (bins - 1) > LARGEST_TABLE:
        raise ValueError(f"x must give at most {LARGEST_TABLE} moves, got {states.shape[0] * bins * (bins - 1)}")
    cost = objective(states, centre, weights)
    there = _neighbours(states, total)
    here = np.broadcast_to(np.arange(states.shape[0])[:, None], there.shape)
    proposed = np.full(there.shape, 1 / (bins * (bins - 1)))
    if proposal == "individual":
        proposed = states[:, [i for i, _ in _moves(bins)]] / (total * (bins - 1))
    chance = np.where(there == here, 0.0, proposed * np.exp(np.minimum(cost[there] - cost[here], 0.0) / t))
    stay = 1.0 - chance.sum(axis=1)
    rows = np.concatenate([here.ravel(), here[:, 0]])
    columns = np.concatenate([there.ravel(), here[:, 0]])
    shape = (states.shape[0], states.shape[0])
    matrix = csr_array(coo_array((np.concatenate([chance.ravel(), stay]), (rows, columns)), shape=shape))
    matrix.eliminate_zeros()
    return matrix


def k_step_law(
    x: ArrayLike,
    t: float,
    steps: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    proposal: str = "bins",
) -> Array:
    """Return the law of the chain of `transition_matrix` after these steps from x: (*steps.shape, rows).

    Raises ValueError as `transition_matrix` does, and unless steps are integers >= 0.
    """
    wanted, shape = _step_numbers(steps)
    centre = histogram(x)
    backwards = transition_matrix(centre, t, weights=weights, proposal=proposal).T.tocsr()
    law = np.zeros(backwards.shape[0])
    law[configuration_index(centre, int(centre.sum()))] = 1.0
    laws = np.empty((wanted.size, law.size))
    done = 0
    for position in np.argsort(wanted):
        for _ in range(wanted[position] - done):
            law = backwards @ law
        laws[position], done = law, int(wanted[position])
    return laws.reshape(*shape, law.size)


def spectral_gap(x: ArrayLike, t: float, *, weights: ArrayLike | None = None) -> float:
    """Return 1 - max |lambda| over the eigenvalues other than the first of the chain of x ("bins").

    The chain is reversible, so after k steps its total variation distance is at most (1 - gap)^k / (2
    sqrt(pi(x | x))). Raises ValueError as `transition_matrix` does, and beyond 3,000 histograms.
    """
    centre = histogram(x)
    space = configurations(int(centre.sum()), centre.size)
    _refuse_beyond(LARGEST_DENSE, space.shape[0], int(centre.sum()), centre.size)
    matrix = transition_matrix(centre, t, weights=weights)
    symmetric = matrix.multiply(matrix.T).sqrt().toarray()  # sqrt(P_zw P_wz), similar to P by detailed balance
    eigenvalues = np.linalg.eigvalsh(symmetric)
    return max(0.0, 1.0 - max(float(eigenvalues[-2]), -float(eigenvalues[0])))


def mixing_delta(
    total: int,
    bins: int,
    t: float,
    steps: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    epsilon: float | None = None,
) -> MixingDelta:
    """Return the exact delta of the mechanism after k steps, and the bound from its distance to the limit.

    exact: the largest over neighbours x, y of the sum over z of (P_x^k(z) - e^epsilon P_y^k(z))_+, for every
    k. total_variation: the largest over x between P_x^k and pi(. | x). limit: the same delta for pi itself, 0
    once epsilon reaches `exact_epsilon_limit`. bound: limit + (1 + e^epsilon) total_variation, what the
    deck's theorem leaves unnamed; proven, above 1 it says nothing. epsilon: None means 2 s / t; beyond 700 it
    counts as 700, which can only raise exact and limit. Raises ValueError as `log_normalisers` does, unless
    steps are integers >= 0 and epsilon >= 0, and beyond 3,000 histograms.
    """
    wanted, shape = _step_numbers(steps)
    total = checks.integer("total", total, 1)
    bins = checks.integer("bins", bins, 2)
    t = checks.scalar("t", t, 1 / SCALE, SCALE)
    w = weight_matrix(weights, bins)
    epsilon = 2 * sensitivity(total, bins, weights) / t if epsilon is None else checks.scalar("epsilon", epsilon, 0)
    states = configurations(total, bins)
    _refuse_beyond(LARGEST_DENSE, states.shape[0], total, bins)
    points = _points(states, w)
    exponent = -cdist(points, points, "sqeuclidean") / t  # c_x(z) / t
    stationary = np.exp(exponent - np.log(np.exp(exponent).sum(axis=1, keepdims=True)))
    there = _neighbours(states, total)
    factor = float(np.exp(min(epsilon, LARGEST_EXPONENT)))
    limit = _largest_hockey_stick(stationary, there, factor)
    exact, distance = np.empty(wanted.size), np.empty(wanted.size)
    laws, done = np.eye(states.shape[0]), 0
    for position in np.argsort(wanted):
        _advance(laws, exponent, there, int(wanted[position]) - done)
        done = int(wanted[position])
        exact[position] = _largest_hockey_stick(laws, there, factor)
        distance[position] = 0.5 * np.abs(laws - stationary).sum(axis=1).max()
    bound = limit + (1 + factor) * distance
    return MixingDelta(exact.reshape(shape), bound.reshape(shape), distance.reshape(shape), float(epsilon), limit)


def _largest_hockey_stick(laws: Array, there: Integers, factor: float) -> float:
    """Return the maximum over x and neighbours y in there[x] of the sum of (laws[x] - factor laws[y])_+."""
    return max(float(np.maximum(laws - factor * laws[y], 0.0).sum(axis=1).max()) for y in there.T)


@njit(cache=True, nogil=True)
def _advance(laws, exponent, there, steps):  # type: ignore[no-untyped-def]
    """Move each row x of laws by this number of steps of the chain of x."""
    rows, moves = there.shape
    entered, stay = np.empty((rows, moves)), np.empty(rows)
    for x in range(rows):
        for z in range(rows):
            stay[z] = 1.0
            for m in range(moves):
                change = exponent[x, there[z, m]] - exponent[x, z]
                moved = there[z, m] != z
                stay[z] -= moved * math.exp(min(change, 0.0)) / moves
                entered[z, m] = moved * math.exp(min(-change, 0.0)) / moves  # from there[z, m] back to z
        law, following = laws[x].copy(), np.empty(rows)
        for _ in range(steps):
            for z in range(rows):
                total = law[z] * stay[z]
                for m in range(moves):
                    total += law[there[z, m]] * entered[z, m]
                following[z] = total
            law, following = following, law
        laws[x] = law


def _moves(bins: int) -> list[tuple[int, int]]:
    """Return the ordered pairs (source, destination) of distinct bins."""
    return [(i, j) for i in range(bins) for j in range(bins) if i != j]


def _moved(states: Integers, i: int, j: int) -> Integers:
    moved = states.copy()
    moved[:, i] -= 1
    moved[:, j] += 1
    return moved


def _neighbours(states: Integers, total: int) -> Integers:
    """Return the row each move reaches, the row itself when the source is empty: (rows, moves)."""
    moves = _moves(states.shape[1])
    there = np.empty((states.shape[0], len(moves)), np.int64)
    for m, (i, j) in enumerate(moves):
        here = states[:, i] > 0
        there[:, m] = np.arange(states.shape[0])
        there[here, m] = configuration_index(_moved(states[here], i, j), total)
    return there


def _points(states: Integers, w: Array) -> Array:
    """Return points whose squared distances are (z - x)' W (z - x)."""
    if w.ndim == 1:
        return np.sqrt(w) * states
    eigenvalues, vectors = np.linalg.eigh(w)
    points: Array = states @ (vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    return points


def _refuse_beyond(limit: int, rows: int, total: int, bins: int) -> None:
    if rows > limit:
        raise ValueError(f"total {total} and bins {bins} must give at most {limit} histograms, got {rows}")


def _step_numbers(steps: int | Sequence[int]) -> tuple[Integers, tuple[int, ...]]:
    array = np.asarray(steps)
    return np.array([checks.integer("steps", k, 0) for k in array.ravel().tolist()], np.int64), array.shape
