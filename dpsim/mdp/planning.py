"""Policies and their values, computed by backward induction or policy iteration."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.mdp.model import MDP, Actions, Policy, policy_weights, refuse_other
from dpsim.mdp.worth import chain_values, gains


def synthesize(mdp: MDP) -> tuple[Actions, Array]:
    """Return an optimal policy and its values at the first stage.

    The policy comes from backward induction if there is a horizon, and from policy
    iteration otherwise (Gohari, Hale, Topcu 2020, Algorithm 1, second stage). Among
    equally good actions, the one with the smallest index is chosen, except that policy
    iteration keeps its current action if no other is better. Actions are compared with
    twice or three times the precision of doubles, so that rounding errors hide no gain.

    Parameters
    ----------
    mdp : MDP, one model or a batch

    Returns
    -------
    policy : ndarray of int, shape (..., horizon, S) or (..., S)
    values : ndarray, shape (..., S)

    Examples
    --------
    >>> from dpsim import mdp
    >>> policy, values = mdp.synthesize(mdp.startup_mdp())
    >>> policy.shape, float(values[0].round(3))
    ((6, 7), 4.453)
    """
    refuse_other("mdp", mdp)
    if mdp.horizon is None:
        return _policy_iteration(mdp)
    policy = np.empty((*mdp.batch, mdp.horizon, mdp.terminal.size), dtype=np.int64)
    values = np.zeros((*mdp.batch, mdp.terminal.size, 2))
    values[..., 0] = mdp.terminal
    error = np.zeros(values.shape[:-1])
    for stage in reversed(range(mdp.horizon)):
        worth, bound = _gains(mdp, values, error, np.zeros_like(values))
        top = worth[..., 0].argmax(axis=-1)
        gain = (worth - _taken(worth, top)[..., None, :]).sum(axis=-1)
        actions = _first_best(gain, bound)
        values = _taken(worth, actions)
        error = _taken(bound[..., None], actions)[..., 0]
        policy[..., stage, :] = actions
    return policy, values.sum(axis=-1)


def evaluate(mdp: MDP, policy: ArrayLike) -> Array:
    """Return the values of a policy at the first stage.

    Parameters
    ----------
    mdp : MDP
    policy : array_like
        Integers in the shape that `synthesize` returns. For a randomised policy, floats
        with one more axis, the probability of each action: (..., horizon, S, A) or
        (..., S, A). In every stage and state, only allowed actions may be played.
        Leading axes of the model and the policy broadcast, so a batch of private
        policies can be evaluated on the true model.

    Returns
    -------
    ndarray, shape (..., S)

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> fair = model.allowed / model.allowed.sum(axis=1, keepdims=True)
    >>> values = mdp.evaluate(model, [fair] * model.horizon)
    >>> best = mdp.synthesize(model)[1]
    >>> round(float(values[0]), 2), round(float(best[0]), 2)
    (4.13, 4.45)
    """
    refuse_other("mdp", mdp)
    return _values(mdp, policy_weights(mdp, policy))


def iterations_needed(mdp: MDP, tolerance: float) -> int:
    """Return how many iterations bring a discounted recursion within the tolerance.

    It is the smallest n with discount^n ``max|reward|`` / (1 - discount) <= tolerance
    (Gohari, Hale, Topcu 2020, Section V-B). It applies to iterations that start at
    zero, for the values of a policy, for optimal values and for extreme values.

    Parameters
    ----------
    mdp : MDP, without a horizon
    tolerance : float, above 0

    Returns
    -------
    int

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.MDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], discount=0.9)
    >>> mdp.iterations_needed(model, 1e-6)
    153
    """
    refuse_other("mdp", mdp)
    tolerance = checks.scalar("tolerance", tolerance, 0.0, open_low=True)
    if mdp.horizon is not None:
        raise ValueError(f"horizon must be None, got {mdp.horizon}")
    largest = float(np.abs(mdp.rewards).max()) / (1 - mdp.discount)
    if largest <= tolerance:
        return 0
    if mdp.discount == 0:
        return 1
    log_ratio = math.log(largest) - math.log(tolerance)
    return math.ceil(log_ratio / -math.log(mdp.discount))


def _values(mdp: MDP, weights: Policy) -> Array:
    """Return the values of the policy that has these action probabilities."""
    if mdp.horizon is None:
        values, _ = chain_values(*_under(mdp, weights), mdp.discount)
        return values.sum(axis=-1)
    values = mdp.terminal
    for stage in reversed(range(mdp.horizon)):
        transitions, rewards = _under(mdp, weights[..., stage, :, :])
        values = rewards + mdp.discount * (transitions @ values[..., None])[..., 0]
    return values


def _policy_iteration(mdp: MDP) -> tuple[Actions, Array]:
    """Return the optimal policy and its values by Howard's policy iteration.

    All models in a batch are iterated at once. An action is replaced only if its gain
    is proven. So every policy is better than the one before, and none comes back.
    """
    policy = np.where(mdp.allowed, mdp.rewards, -np.inf).argmax(axis=-1)
    policy = np.broadcast_to(policy, (*mdp.batch, policy.size))
    while True:
        weights = np.eye(mdp.rewards.shape[1], dtype=bool)[policy]
        values, error = chain_values(*_under(mdp, weights), mdp.discount)
        parts, bound = _gains(mdp, values, error, values)
        gain = parts.sum(axis=-1)
        bound += error[..., None]
        proven = gain > bound
        if not proven.any():
            return policy, values.sum(axis=-1)
        better = _first_best(np.where(proven, gain, -np.inf), bound)
        policy = np.where(proven.any(axis=-1), better, policy)


def _gains(mdp: MDP, values: Array, error: Array, base: Array) -> tuple[Array, Array]:
    """Return the gains of all actions, as `gains`, and bounds on their errors.

    The errors (..., S) are those of the values. The gain of an action that is not
    allowed is -inf.
    """
    gain, bound = gains(mdp.transitions, mdp.rewards, mdp.discount, values, base)
    gain[..., ~mdp.allowed, 0] = -np.inf
    after = mdp.transitions @ error[..., None, :, None]
    return gain, bound + 1.01 * mdp.discount * after[..., 0]


def _first_best(gain: Array, bound: Array) -> Actions:
    """Return the first action that may be the best one, within the error bounds."""
    surely = (gain - bound).max(axis=-1, keepdims=True)
    return (gain + bound >= surely).argmax(axis=-1)


def _taken(worth: Array, actions: Actions) -> Array:
    """Return the entries (..., S, K) of an array (..., S, A, K) for the actions."""
    return np.take_along_axis(worth, actions[..., None, None], axis=-2)[..., 0, :]


def _under(mdp: MDP, weights: Policy) -> tuple[Array, Array]:
    """Return the transition matrix (..., S, S) and the rewards (..., S) under a rule.

    The rule (..., S, A) holds the probability of each action.
    """
    transitions = np.einsum("...sa,...sat->...st", weights, mdp.transitions)
    return transitions, (weights * mdp.rewards).sum(axis=-1)
