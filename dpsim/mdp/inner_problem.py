"""What the worst, or the best, vector near a private one is worth: a greedy fill."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from dpsim.checks import Array


@numba.njit(cache=True, nogil=True)
def _extreme_expectation(
    p: Array, support: NDArray[np.bool_], values: Array, order: NDArray[np.int64], radius: float, beta: float
) -> float:
    """Return the expectation of the values under the vector of D(p) that comes first in the order.

    The set's linear programme is solved greedily: every entry gives up min(p_j, radius), and the first in the
    order are filled up to p_j + radius; beta goes to the very first.
    """
    total, spare = 0.0, 0.0
    for j in range(p.size):
        given = min(p[j], radius)
        total += (p[j] - given) * values[j]
        spare += given
    first = -1
    for j in order:
        if support[j]:
            if first < 0:
                first = j
            taken = min(min(p[j], radius) + radius, spare)
            total += taken * values[j]
            spare -= taken
            if spare <= 0.0:
                break
    return (1.0 - beta) * total + beta * values[first]


def _plain_extreme_expectation(
    p: Array, support: NDArray[np.bool_], values: Array, order: NDArray[np.int64], radius: float, beta: float
) -> float:
    """Return what `_extreme_expectation` does, in plain NumPy."""
    given = np.minimum(p, radius)
    order = order[support[order]]
    filled = np.minimum(np.cumsum(given[order] + radius), given.sum())
    taken = np.diff(filled, prepend=0.0)
    return float((1 - beta) * ((p - given) @ values + taken @ values[order]) + beta * values[order[0]])


@numba.njit(cache=True, nogil=True)
def _sort(order: NDArray[np.int64], keys: Array) -> None:
    """Sort the indices by their keys, in place, by insertion.

    An inner problem for each state costs more than the S^2/4 moves this needs at worst; between two stages the
    order hardly changes. NumPy's sort would take most of the time to compile.
    """
    for i in range(1, order.size):
        moved = order[i]
        while i > 0 and keys[order[i - 1]] > keys[moved]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = moved


@numba.njit(cache=True, nogil=True)
def extreme_values(
    transitions: Array,
    rewards: Array,
    terminal: Array,
    support: NDArray[np.bool_],
    policies: NDArray[np.int64],
    model: NDArray[np.int64],
    rule: NDArray[np.int64],
    radius: Array,
    beta: Array,
    discount: float,
    stages: int,
    tolerance: float,
) -> Array:
    """Return the pessimistic and optimistic values (B, 2, S) after the stages of Theorem 1's recursion.

    transitions (M, S, A, S); rewards (S, A); terminal (S,); support (S, A, S); policies (L, T, S), of which
    stage t plays rule min(t, T-1). Problem i of B has model[i], rule[i], radius[i] and beta[i]. It stops
    early once discount/(1-discount) times the last change, hence the distance to the fixed point, is within
    the tolerance; never if that is negative.
    """
    states, last = len(rewards), policies.shape[1] - 1
    out = np.empty((len(model), 2, states))
    values, after, keys, order = np.empty(states), np.empty(states), np.empty(states), np.empty(states, np.int64)
    for task in range(2 * len(model)):
        i, side = task // 2, task % 2
        sign = 1.0 - 2.0 * side  # the largest expectation fills the best states first
        for s in range(states):
            after[s], order[s] = terminal[s], s
        for stage in range(stages - 1, -1, -1):
            for s in range(states):
                keys[s] = sign * after[s]
            _sort(order, keys)
            change = 0.0
            for s in range(states):
                a = policies[rule[i], min(stage, last), s]
                expected = _extreme_expectation(
                    transitions[model[i], s, a], support[s, a], after, order, radius[i], beta[i]
                )
                values[s] = rewards[s, a] + discount * expected
                change = max(change, abs(values[s] - after[s]))
            values, after = after, values
            if tolerance >= 0.0 and discount * change <= (1.0 - discount) * tolerance:
                break
        for s in range(states):  # one slice assignment would double the time to compile
            out[i, side, s] = after[s]
    return out
