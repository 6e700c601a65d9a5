"""Exact laws and privacy of k steps of the Boltzmann machine's Metropolis chain (Fleischer 2024), without sampling.

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
from dpsim.boltzmann.limit import scaled_points
from dpsim.boltzmann.mechanism import objective, sensitivity
from dpsim.boltzmann.space import (
    LARGEST_TABLE,
    SCALE,
    after_move,
    configuration_index,
    configurations,
    histogram,
    ordered_pairs,
    refuse_beyond,
    weight_matrix,
)
from dpsim.checks import Array, Integers

LARGEST_DENSE = 3_000  # histograms with square tables in memory: 72 MB each
LARGEST_EXPONENT = 700.0  # exp stays finite


class MixingDelta(NamedTuple):
    """The privacy of k steps of the Metropolis chain, as `mixing_delta` returns it.

    Attributes
    ----------
    exact : ndarray, of the shape of the steps
        The delta after so many steps.
    bound : ndarray, of the shape of the steps
        A bound on it: limit + (1 + e^epsilon) total_variation.
    total_variation : ndarray, of the shape of the steps
        The largest distance to the stationary distribution, over all true histograms.
    epsilon : float
        Where delta is taken.
    limit : float
        The delta of the stationary distribution itself.
    """

    exact: Array
    bound: Array
    total_variation: Array
    epsilon: float
    limit: float


def transition_matrix(x: ArrayLike, t: float, *, weights: ArrayLike | None = None, proposal: str = "bins") -> csr_array:
    """Return the transition matrix of the Metropolis chain of x over `configurations`.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        The true histogram.
    t : float
        Temperature in [1e-100, 1e100].
    weights : array_like, optional
        W, as in `objective`.
    proposal : {"bins", "individual"}
        "bins": the chain of `metropolis`, reversible for pi(z | x). "individual": a uniform individual moves to a
        uniform other bin, accepted by the same rule.

    Returns
    -------
    csr_array, shape (rows, rows)

    Raises
    ------
    ValueError
        As `log_stationary` does, and for another proposal.

    Notes
    -----
    The proposal "individual" is NOT symmetric, since its source is bin i with probability z_i / N: that chain is
    reversible for pi(z | x) times the multinomial coefficient N! / (z_1! ... z_n!) instead.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.transition_matrix([1, 1], 1e9).toarray().round(2)
    array([[0.5, 0.5, 0. ],
           [0.5, 0. , 0.5],
           [0. , 0.5, 0.5]])
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
        proposed = states[:, [i for i, _ in ordered_pairs(bins)]] / (total * (bins - 1))
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
    """Return the law of the chain of `transition_matrix` after these steps from x.

    Parameters
    ----------
    x, t, weights, proposal
        As in `transition_matrix`.
    steps : int or sequence of int
        At least 0.

    Returns
    -------
    ndarray, shape ``(*steps.shape, rows)``

    Raises
    ------
    ValueError
        As `transition_matrix` does, and unless steps are integers >= 0.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.k_step_law([1, 1], 1e9, [0, 1]).round(2)
    array([[0. , 1. , 0. ],
           [0.5, 0. , 0.5]])
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

    Parameters
    ----------
    total : int
        N >= 1 individuals.
    bins : int
        n >= 2, for at most 3,000 histograms.
    t : float
        Temperature in [1e-100, 1e100].
    steps : int or sequence of int
        At least 0.
    weights : array_like, optional
        W, as in `objective`.
    epsilon : float, optional
        At least 0; None means 2 s / t. Beyond 700 it counts as 700, which can only raise exact and limit.

    Returns
    -------
    MixingDelta
        exact: the largest over neighbours x, y of the sum over z of (P_x^k(z) - e^epsilon P_y^k(z))_+, for every
        k. total_variation: the largest over x between P_x^k and pi(z | x). limit: the same delta for pi itself, 0
        once epsilon reaches `exact_epsilon_limit`. bound: limit + (1 + e^epsilon) total_variation.

    Raises
    ------
    ValueError
        As `exact_epsilon_limit` does, and for arguments outside these ranges.

    Notes
    -----
    The bound is what Fleischer 2024's theorem leaves unnamed; it is proven, and above 1 it says nothing.

    References
    ----------
    Fleischer 2024, the theorem on the chain's privacy.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> found = boltzmann.mixing_delta(5, 3, 18.0, [10, 100])
    >>> bool((found.exact <= found.bound).all()), float(found.limit)
    (True, 0.0)
    """
    wanted, shape = _step_numbers(steps)
    total = checks.integer("total", total, 1)
    bins = checks.integer("bins", bins, 2)
    t = checks.scalar("t", t, 1 / SCALE, SCALE)
    w = weight_matrix(weights, bins)
    epsilon = 2 * sensitivity(total, bins, weights) / t if epsilon is None else checks.scalar("epsilon", epsilon, 0)
    states = configurations(total, bins)
    refuse_beyond(LARGEST_DENSE, states.shape[0], total, bins)
    points = scaled_points(states, w)
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
    exact, bound, distance = (checks.plain(values.reshape(shape)) for values in (exact, bound, distance))
    return MixingDelta(exact, bound, distance, float(epsilon), limit)


def _largest_hockey_stick(laws: Array, there: Integers, factor: float) -> float:
    """Return the maximum over x and neighbours y in there[x] of the sum of (laws[x] - factor laws[y])_+, at most 1."""
    largest = max(float(np.maximum(laws - factor * laws[y], 0.0).sum(axis=1).max()) for y in there.T)
    return min(largest, 1.0)  # laws sum to 1 up to rounding


@njit(cache=True, nogil=True)
def _advance(laws, exponent, there, steps):  # type: ignore[no-untyped-def]
    """Move each row x of laws by this number of steps of the chain of x."""
    rows, moves = there.shape
    entered, stay = np.empty((rows, moves)), np.empty(rows)
    law, following = np.empty(rows), np.empty(rows)
    for x in range(rows):
        for z in range(rows):
            law[z], stay[z] = laws[x, z], 1.0
            for m in range(moves):
                change = exponent[x, there[z, m]] - exponent[x, z]
                moved = there[z, m] != z
                stay[z] -= moved * math.exp(min(change, 0.0)) / moves
                entered[z, m] = moved * math.exp(min(-change, 0.0)) / moves  # from there[z, m] back to z
        for _ in range(steps):
            for z in range(rows):
                total = law[z] * stay[z]
                for m in range(moves):
                    total += law[there[z, m]] * entered[z, m]
                following[z] = total
            law, following = following, law
        for z in range(rows):  # laws[x] = law takes three seconds to compile
            laws[x, z] = law[z]


def _neighbours(states: Integers, total: int) -> Integers:
    """Return the row each move reaches, the row itself when the source is empty: (rows, moves)."""
    moves = ordered_pairs(states.shape[1])
    there = np.empty((states.shape[0], len(moves)), np.int64)
    for m, (i, j) in enumerate(moves):
        here = states[:, i] > 0
        there[:, m] = np.arange(states.shape[0])
        there[here, m] = configuration_index(after_move(states[here], i, j), total)
    return there


def _step_numbers(steps: int | Sequence[int]) -> tuple[Integers, tuple[int, ...]]:
    numbers = checks.integers("steps", steps, 0)
    return numbers.ravel(), numbers.shape
