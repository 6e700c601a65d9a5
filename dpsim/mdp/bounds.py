"""Bounds on a policy's values near a private model, and the cost of privacy.

In Gohari, Hale, Topcu 2020, Theorems 1 and 2, the transition vector of each stage and
state is the worst or the best vector in the set (1), D(p) = {(1 - beta) p1 + beta p2,
|p1 - p|_inf <= radius}, around the private vector p. The paper finds this vector by
solving the linear programme (P). Here a greedy fill finds it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.checks import Array
from dpsim.compiled import guvectorize, njit
from dpsim.mdp.model import MDP, policy_weights, refuse_other
from dpsim.mdp.planning import iterations_needed


@njit(nogil=True)
def _extreme_expectation(
    p: Array,
    support: NDArray[np.bool_],
    values: Array,
    order: NDArray[np.int64],
    radius: float,
    beta: float,
) -> float:
    """Return the expectation of the values under the extreme vector of D(p).

    The vector is the extreme one for this order of the states. The fill is greedy:
    every entry gives up min(p_j, radius), the first entries in the order are filled up
    to p_j + radius, and the very first one takes beta.
    """
    total = 0.0
    spare = 0.0
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


@njit(nogil=True)
def _sort(order: NDArray[np.int64], keys: Array) -> None:
    """Sort the indices in place by their keys.

    It is an insertion sort, because the order changes little between stages.
    """
    for i in range(1, order.size):
        moved = order[i]
        while i > 0 and keys[order[i - 1]] > keys[moved]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = moved


@guvectorize(
    "f8[:,:,:], f8[:,:], f8[:], b1[:,:,:], f8[:,:,:], f8, f8, f8, i8, f8, f8, f8[:]",
    "(s,a,n),(s,a),(s),(s,a,n),(t,s,a),(),(),(),(),(),()->(s)",
)
def _extreme_values(  # type: ignore[no-untyped-def]
    transitions,
    rewards,
    terminal,
    support,
    policy,
    radius,
    beta,
    discount,
    stages,
    tolerance,
    sign,
    out,
):
    """Fill `out` with the pessimistic (sign 1) or optimistic (sign -1) values (S,).

    They are the values after the stages of Theorem 1's recursion. NumPy broadcasts all
    arguments. The policy has the shape (T, S, A), and in stage t its rule min(t, T-1)
    is applied. With a positive tolerance the recursion stops when discount/(1-discount)
    times the last change, which bounds the distance to the fixed point, is within the
    tolerance. With the tolerance 0 it runs through all stages.
    """
    states, actions = rewards.shape
    last = policy.shape[0] - 1
    values = np.empty(states)
    after = np.empty(states)
    keys = np.empty(states)
    order = np.empty(states, np.int64)
    for s in range(states):
        after[s] = terminal[s]
        order[s] = s
    for stage in range(stages - 1, -1, -1):
        for s in range(states):  # the largest expectation fills the best states first
            keys[s] = sign * after[s]
        _sort(order, keys)
        change = 0.0
        for s in range(states):
            values[s] = 0.0
            for a in range(actions):
                weight = policy[min(stage, last), s, a]
                if weight > 0:
                    expected = _extreme_expectation(
                        transitions[s, a], support[s, a], after, order, radius, beta
                    )
                    values[s] += weight * (rewards[s, a] + discount * expected)
            change = max(change, abs(values[s] - after[s]))
        values, after = after, values
        if tolerance > 0.0 and discount * change <= (1.0 - discount) * tolerance:
            break
    for s in range(states):  # one slice assignment would double the time to compile
        out[s] = after[s]


def value_bounds(
    private: MDP,
    policy: ArrayLike,
    radius: ArrayLike,
    beta: ArrayLike,
    *,
    support: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> tuple[Array, Array]:
    """Return the pessimistic and the optimistic values of a policy.

    They are the values at the first stage of Gohari, Hale, Topcu 2020, Theorems 1 and
    2.

    Parameters
    ----------
    private : MDP, the released model, or a batch
    policy : array_like, deterministic or randomised, as in `evaluate`
    radius : array_like, in [0, 1]
        The radius of the set D around each private vector, from `concentration_radius`.
        The leading axes of the private model, the policy, radius and beta broadcast.
    beta : array_like, in [0, 1)
    support : bool array (S, A, S), optional
        The entries at which a vector of D may be positive. None means all of them, as
        in the paper. The Dirichlet mechanism does not change zeros, so everyone who
        sees its release knows `mdp.transitions > 0`. The bounds that use this support
        also hold and are tighter. (Take the support from the true model, because tiny
        entries of the release may underflow to zero.)
    tolerance : float
        Discounted values are iterated until they are proven to be within the tolerance
        of the fixed point, and then moved outward by the tolerance.

    Returns
    -------
    lower, upper : ndarray, shape (..., S)

    Notes
    -----
    Let radius = concentration_radius(k, beta / mdp.random_vectors, S, kind) with the
    kind "union" or "exact". Then, with probability at least 1 - beta, the policy's
    values under the private and the true model are both within the bounds in all
    states. This holds for any policy computed from the release, and the argument beta
    of this function may then be 0. The theorems instead bound the conditional
    expectation of the true value. Such a bound does not follow even from a valid
    radius, because a deviation of the release lasts for all stages, whereas in D beta
    acts anew in each stage.

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> policy, values = mdp.synthesize(model)
    >>> lower, upper = mdp.value_bounds(
    ...     model, policy, 0.05, 0.0, support=model.transitions > 0
    ... )
    >>> [round(float(each[0]), 2) for each in (lower, values, upper)]
    [3.43, 4.45, 5.46]
    """
    refuse_other("private", private)
    weights = policy_weights(private, policy)
    radius = checks.real("radius", radius, 0.0, 1.0)
    beta = checks.real("beta", beta, 0.0, 1.0, open_high=True)
    tolerance = checks.scalar("tolerance", tolerance, 0.0, open_low=True)
    if private.horizon is None:
        weights = weights[..., None, :, :]
        terminal = np.zeros(len(private.rewards))
        stages = iterations_needed(private, tolerance)
        margin = tolerance
    else:
        terminal = private.terminal
        stages = private.horizon
        margin = 0.0
    # its error message is clearer than that of a gufunc
    np.broadcast_shapes(private.batch, weights.shape[:-3], radius.shape, beta.shape)
    lower, upper = (
        _extreme_values(
            private.transitions,
            private.rewards,
            terminal,
            _holding_support(private, support),
            weights,
            radius,
            beta,
            private.discount,
            stages,
            margin,
            sign,
        )
        for sign in (1.0, -1.0)
    )
    return lower - margin, upper + margin


def cost_of_privacy(
    private: MDP,
    policy: ArrayLike,
    radius: ArrayLike,
    beta: ArrayLike,
    *,
    support: ArrayLike | None = None,
    initial: int = 0,
) -> Array:
    """Return the optimistic minus the pessimistic value of the initial state.

    This is the cost of privacy of Gohari, Hale, Topcu 2020, Section IV. It is an upper
    bound on the difference between the policy's private and true values whenever both
    are within the bounds.

    Parameters
    ----------
    private, policy, radius, beta, support : as in `value_bounds`
    initial : int, a state, in 0..S-1

    Returns
    -------
    float or ndarray, shape (...)

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> mdp.cost_of_privacy(model, mdp.synthesize(model)[0], [0.0, 0.05], 0.0).round(3)
    array([0.   , 3.817])
    """
    lower, upper = value_bounds(private, policy, radius, beta, support=support)
    initial = checks.integer("initial", initial, 0, len(private.rewards) - 1)
    return checks.plain(upper[..., initial] - lower[..., initial])


def _holding_support(private: MDP, support: ArrayLike | None) -> NDArray[np.bool_]:
    """Return the support as booleans (S, A, S).

    It must contain every positive entry. None means all entries.
    """
    shape = private.transitions.shape[-3:]
    mask = checks.mask("support", True if support is None else support, shape)
    outside = (private.transitions > 0) & ~mask
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0][-3:])
        raise ValueError(
            f"support must contain every positive private entry, got none at {where}"
        )
    return mask
