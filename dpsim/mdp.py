"""Private policy synthesis in Markov decision processes and its cost of privacy.

Gohari, Hale, Topcu 2020, "Privacy-Preserving Policy Synthesis in Markov Decision Processes". Algorithm 1
releases every transition vector through the Dirichlet mechanism (`privatize`) and plans with what was
released (`synthesize`); Theorems 1 and 2 bound what the policy is worth (`value_bounds`, `cost_of_privacy`),
with the radius and the inner problem of `dpsim.value_bounds`. Rewards, supports of the transitions and the
model's shape are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsim import checks, dirichlet
from dpsim.value_bounds import concentration_radius, deviation_probability, extreme_values

__all__ = [
    "MDP",
    "STARTUP_ACTIONS",
    "STARTUP_STATES",
    "concentration_radius",
    "cost_of_privacy",
    "deviation_probability",
    "evaluate",
    "iterations_needed",
    "privatize",
    "random_mdp",
    "startup_mdp",
    "synthesize",
    "value_bounds",
]

Array = NDArray[np.float64]
Policy = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MDP:
    """A Markov decision process of S states and A actions, or a batch with different transitions.

    transitions: (..., S, A, S), probability vectors on the last axis; rewards: (S, A), finite.
    horizon: number of stages, >= 1, with discount in [0, 1]; None: infinite, with discount in [0, 1).
    terminal: (S,), values after the last stage (zeros unless given), only with a horizon.
    allowed: (S, A) booleans, the actions of each state, at least one (all unless given). Transitions and
    rewards of the others are ignored and stored as zeros.
    Raises ValueError naming the field otherwise. The stored arrays are read-only.
    """

    transitions: Array
    rewards: Array
    horizon: int | None = None
    discount: float = 1.0
    terminal: Array = None  # type: ignore[assignment]
    allowed: NDArray[np.bool_] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        shape = np.shape(self.transitions)
        if len(shape) < 3 or shape[-3] != shape[-1] or 0 in shape[-3:]:
            raise ValueError(f"transitions must have shape (..., S, A, S), got {shape}")
        states, actions = shape[-3:-1]
        allowed = _allowed_actions(self.allowed, states, actions)
        ignored = np.eye(1, states)[0]  # any probability vector passes the check below
        transitions = checks.simplex("transitions", np.where(allowed[..., None], self.transitions, ignored))
        transitions = np.where(allowed[..., None], transitions, 0.0)
        if np.shape(self.rewards) != (states, actions):
            raise ValueError(f"rewards must have shape ({states}, {actions}), got {np.shape(self.rewards)}")
        rewards = checks.real("rewards", np.where(allowed, self.rewards, 0.0))
        horizon = None if self.horizon is None else checks.integer("horizon", self.horizon, 1)
        discount = checks.scalar("discount", self.discount, 0.0, 1.0, open_high=horizon is None)
        terminal = _terminal_values(self.terminal, horizon, states)
        fields = {"transitions": transitions, "rewards": rewards, "terminal": terminal, "allowed": allowed}
        for name, value in fields.items():
            object.__setattr__(self, name, None if value is None else _read_only(value))
        object.__setattr__(self, "horizon", horizon)
        object.__setattr__(self, "discount", discount)

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the transitions."""
        return self.transitions.shape[:-3]

    @property
    def random_vectors(self) -> int:
        """The number of transition vectors the mechanism perturbs: allowed, two positive entries or more."""
        positive = (self.transitions > 0).any(axis=tuple(range(len(self.batch))))
        return int((positive.sum(axis=-1) > 1).sum())


def _allowed_actions(allowed: ArrayLike | None, states: int, actions: int) -> NDArray[np.bool_]:
    """Return the checked mask of actions, a copy; all of them for None."""
    mask = np.ones((states, actions), dtype=bool) if allowed is None else np.array(allowed)
    if mask.dtype != np.bool_ or mask.shape != (states, actions):
        raise ValueError(f"allowed must be booleans of shape ({states}, {actions}), got {mask.dtype} {mask.shape}")
    if not mask.any(axis=1).all():
        raise ValueError(f"allowed must have an action in every state, got none in {int(np.argmin(mask.any(axis=1)))}")
    return mask


def _terminal_values(terminal: ArrayLike | None, horizon: int | None, states: int) -> Array | None:
    """Return the checked terminal values, a copy: zeros by default, None without a horizon."""
    if horizon is None:
        if terminal is not None:
            raise ValueError(f"terminal must be None without a horizon, got {terminal!r}")
        return None
    values = np.zeros(states) if terminal is None else checks.real("terminal", terminal).copy()
    if values.shape != (states,):
        raise ValueError(f"terminal must have shape ({states},), got {values.shape}")
    return values


def synthesize(mdp: MDP, *, tolerance: float | None = None) -> tuple[Policy, Array]:
    """Return an optimal policy and its values at the first stage, (..., S).

    The policy holds the action of each stage and state, (..., horizon, S), by backward induction, or of each
    state, (..., S), for a discounted model: by policy iteration, or, with a tolerance > 0, by value iteration
    until the values are proven to be within it of the optimal ones (the policy's own within twice that).
    Ties go to the smallest action, except that policy iteration keeps an action that is as good.
    Raises ValueError for a tolerance that is not positive.
    """
    _refuse_other("mdp", mdp)
    if mdp.horizon is None:
        if tolerance is None:
            return _policy_iteration(mdp)
        return _value_iteration(mdp, checks.scalar("tolerance", tolerance, 0.0, open_low=True))
    values = np.broadcast_to(mdp.terminal, (*mdp.batch, mdp.terminal.size))
    policy = np.empty((*mdp.batch, mdp.horizon, mdp.terminal.size), dtype=np.int64)
    for stage in reversed(range(mdp.horizon)):
        worth = _action_values(mdp, values)
        policy[..., stage, :], values = worth.argmax(axis=-1), worth.max(axis=-1)
    return policy, values


def evaluate(mdp: MDP, policy: ArrayLike) -> Array:
    """Return the values (..., S) of the policy at the first stage, shaped as `synthesize` returns it.

    Leading axes of the model and the policy broadcast: the true model takes a batch of private policies.
    Raises ValueError unless the policy plays allowed actions in every stage and state.
    """
    _refuse_other("mdp", mdp)
    policy = _checked_policy(mdp, policy)
    if mdp.horizon is None:
        transitions, rewards = _under(mdp, policy)
        system = np.eye(rewards.shape[-1]) - mdp.discount * transitions
        right = np.broadcast_to(rewards, transitions.shape[:-1])[..., None]
        return np.asarray(np.linalg.solve(system, right)[..., 0], dtype=float)
    values: Array = mdp.terminal
    for stage in reversed(range(mdp.horizon)):
        transitions, rewards = _under(mdp, policy[..., stage, :])
        values = rewards + mdp.discount * (transitions @ values[..., None])[..., 0]
    return values


def privatize(
    mdp: MDP,
    k: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    size: int | tuple[int, ...] | None = None,
) -> MDP:
    """Return the model with each transition vector p replaced by draws of Dir(k p), batch (*size, *k.shape).

    k: > 0, a number or an array of them; supports are kept. The vectors are drawn independently, so for
    vectors that are b-adjacent (Definition 1) one at a time the release is as private as one draw,
    `accounting.exact_epsilon` at shift b/2; if all may change at once, compose it `mdp.random_vectors` times.
    Policies and bounds computed from the result spend nothing more (Lemma 1).
    Raises ValueError for k outside its range or a model that is a batch already.
    """
    _refuse_other("mdp", mdp)
    k = checks.real("k", k, 0.0, open_low=True)
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")
    vectors = mdp.transitions[mdp.allowed]
    vectors = np.broadcast_to(vectors, k.shape + vectors.shape)
    draws = dirichlet.dirichlet_mechanism(vectors, k[..., None], size=size, rng=checks.generator(rng))
    transitions = np.zeros((*draws.shape[:-2], *mdp.transitions.shape))
    transitions[..., mdp.allowed, :] = draws
    return replace(mdp, transitions=transitions)


def value_bounds(
    private: MDP,
    policy: ArrayLike,
    radius: ArrayLike,
    beta: ArrayLike,
    *,
    support: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> tuple[Array, Array]:
    """Return the pessimistic and the optimistic values of the policy at the first stage, (..., S) each.

    Theorem 1 (finite horizon) and Theorem 2 (discounted): at each stage and state the transition vector is
    the worst, or the best, of the set D around the private one (see `dpsim.value_bounds`). Leading axes of
    the private model, the policy, radius in [0, 1] and beta in [0, 1) broadcast.

    support: booleans (S, A, S), where a vector of D may be positive; None: everywhere, as in the paper. The
    mechanism keeps zeros, so whoever sees the release knows the support: `mdp.transitions > 0` is public too,
    and its bounds are tighter and hold just as well. (Read it off the true model: tiny draws may underflow.)
    tolerance: discounted values are iterated until they are proven to be that close to the fixed point, then
    moved outward by it.

    What holds: with radius = concentration_radius(k, beta / mdp.random_vectors, S, "union" or "exact"),
    the policy's values under the private and under the true model are both inside, in all states, with
    probability 1 - beta at least, for any policy computed from the release; beta = 0 here suffices for that.
    The theorems speak of the true value's conditional expectation instead, which does not follow even from a
    valid radius: a deviation of the release lasts for all stages, while D lets beta act anew in each.
    Raises ValueError for arguments outside these ranges or a support that misses a positive private entry.
    """
    _refuse_other("private", private)
    policy = _checked_policy(private, policy)
    policy = policy[..., None, :] if private.horizon is None else policy
    radius = checks.real("radius", radius, 0.0, 1.0)
    beta = checks.real("beta", beta, 0.0, 1.0, open_high=True)
    tolerance = checks.scalar("tolerance", tolerance, 0.0, open_low=True)
    states, actions = private.rewards.shape
    batch = np.broadcast_shapes(private.batch, policy.shape[:-2], radius.shape, beta.shape)
    arrays = (
        private.transitions.reshape(-1, states, actions, states),
        private.rewards,
        np.zeros(states) if private.terminal is None else private.terminal,
        _checked_support(private, support),
        policy.reshape(-1, *policy.shape[-2:]),
        _flat_index(private.batch, batch),
        _flat_index(policy.shape[:-2], batch),
        np.broadcast_to(radius, batch).ravel(),
        np.broadcast_to(beta, batch).ravel(),
    )
    extremes = extreme_values(
        *map(_read_only, arrays),  # arrays of one kind compile once
        private.discount,
        iterations_needed(private, tolerance) if private.horizon is None else private.horizon,
        tolerance if private.horizon is None else -1.0,
    ).reshape(*batch, 2, states)
    margin = tolerance if private.horizon is None else 0.0
    return extremes[..., 0, :] - margin, extremes[..., 1, :] + margin


def cost_of_privacy(
    private: MDP,
    policy: ArrayLike,
    radius: ArrayLike,
    beta: ArrayLike,
    *,
    support: ArrayLike | None = None,
    initial: int = 0,
) -> Array:
    """Return the optimistic minus the pessimistic value of the initial state, see `value_bounds`.

    It bounds the difference of the policy's private and true values wherever both are between the two.
    initial: a state, 0..S-1. Raises ValueError as `value_bounds` does and for a state outside.
    """
    _refuse_other("private", private)
    initial = checks.integer("initial", initial, 0, len(private.rewards) - 1)
    lower, upper = value_bounds(private, policy, radius, beta, support=support)
    return upper[..., initial] - lower[..., initial]


def iterations_needed(mdp: MDP, tolerance: float) -> int:
    """Return after how many iterations from zero a discounted recursion is within the tolerance, Section V-B.

    The smallest n with discount^n max|reward| / (1 - discount) <= tolerance; holds for the values of a
    policy, the optimal and the extreme values alike. Raises ValueError for a model with a horizon or a
    tolerance <= 0.
    """
    _refuse_other("mdp", mdp)
    tolerance = checks.scalar("tolerance", tolerance, 0.0, open_low=True)
    if mdp.horizon is not None:
        raise ValueError(f"horizon must be None, got {mdp.horizon}")
    largest = float(np.abs(mdp.rewards).max()) / (1 - mdp.discount)
    if largest <= tolerance:
        return 0
    return math.ceil((math.log(largest) - math.log(tolerance)) / -math.log(mdp.discount)) if mdp.discount > 0 else 1


def random_mdp(
    states: int,
    actions: int,
    rng: np.random.Generator | None = None,
    *,
    horizon: int | None = None,
    discount: float = 1.0,
) -> MDP:
    """Return a random model: dense transition vectors uniform on the simplex (Dirichlet(1, ..., 1)).

    Rewards, and terminal values if there is a horizon, are uniform on [0, 1]. The paper's Example 2 has 20
    states, 5 actions and horizon 10, and does not say which law it draws from. Raises ValueError for sizes
    below 1.
    """
    states, actions = checks.integer("states", states, 1), checks.integer("actions", actions, 1)
    rng = checks.generator(rng)
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    rewards, terminal = rng.random((states, actions)), rng.random(states)
    if horizon is None:
        return MDP(transitions, rewards, discount=discount)
    return MDP(transitions, rewards, horizon, discount, terminal)


STARTUP_STATES = ("search", "startup 1", "startup 2", "startup 3", "startup 4", "success", "failure")
STARTUP_ACTIONS = ("acquire 1", "acquire 2", "acquire 3", "acquire 4", "hold", "invest")


def startup_mdp() -> MDP:
    """Return a stand-in for the paper's Example 1, whose numbers we do not have: four startups to acquire.

    States and actions are STARTUP_STATES and STARTUP_ACTIONS; horizon 6, starting in "search" (state 0).
    There each startup can be acquired at a price of .5, 1, 1.5 or 2; the deal closes with probability .9, .8,
    .7, .6, else the search goes on. A startup that is held succeeds or fails each stage, less reliably the
    cheaper it was; to invest costs .5 a stage and makes success more likely. "success" and "failure" are
    absorbing, only "hold" is left there. Terminal values: success 10, a startup still held 2.
    """
    transitions, allowed = np.zeros((7, 6, 7)), np.zeros((7, 6), dtype=bool)
    rewards = np.zeros((7, 6))
    allowed[0, :4] = allowed[1:5, 4:] = allowed[5:, 4] = True
    closing = np.array([0.9, 0.8, 0.7, 0.6])
    transitions[0, range(4), range(1, 5)] = closing
    transitions[0, :4, 0] = 1 - closing
    rewards[0, :4] = [-0.5, -1.0, -1.5, -2.0]
    rewards[1:5, 5] = -0.5
    chances = [  # success and failure per stage when held, then when invested in
        [0.14, 0.16, 0.26, 0.18],
        [0.20, 0.15, 0.34, 0.16],
        [0.28, 0.14, 0.44, 0.14],
        [0.36, 0.10, 0.54, 0.10],
    ]
    for startup, (held_up, held_down, invested_up, invested_down) in enumerate(chances, start=1):
        transitions[startup, 4, [startup, 5, 6]] = 1 - held_up - held_down, held_up, held_down
        transitions[startup, 5, [startup, 5, 6]] = 1 - invested_up - invested_down, invested_up, invested_down
    transitions[5, 4, 5] = transitions[6, 4, 6] = 1.0
    terminal = np.array([0.0, 2.0, 2.0, 2.0, 2.0, 10.0, 0.0])
    return MDP(transitions, rewards, horizon=6, terminal=terminal, allowed=allowed)


def _policy_iteration(mdp: MDP) -> tuple[Policy, Array]:
    """Return the optimal policy and its values by Howard's policy iteration, all models at once."""
    policy = np.where(mdp.allowed, mdp.rewards, -np.inf).argmax(axis=-1)
    policy = np.broadcast_to(policy, (*mdp.batch, policy.size))
    while True:
        values = evaluate(mdp, policy)
        worth = _action_values(mdp, values)
        kept = np.take_along_axis(worth, policy[..., None], axis=-1)[..., 0]
        rounding = 10 * np.finfo(float).eps / (1 - mdp.discount) * np.abs(values).max(axis=-1, keepdims=True)
        better = worth.max(axis=-1) > kept + rounding  # less could go round in circles
        if not better.any():
            return policy, values
        policy = np.where(better, worth.argmax(axis=-1), policy)


def _value_iteration(mdp: MDP, tolerance: float) -> tuple[Policy, Array]:
    """Return the greedy policy and values within the tolerance of the optimal ones."""
    values = np.zeros((*mdp.batch, len(mdp.rewards)))
    for _ in range(iterations_needed(mdp, tolerance)):
        before, values = values, _action_values(mdp, values).max(axis=-1)
        if mdp.discount * np.abs(values - before).max() <= (1 - mdp.discount) * tolerance:
            break
    return _action_values(mdp, values).argmax(axis=-1), values


def _action_values(mdp: MDP, after: Array) -> Array:
    """Return what each action is worth if the next state is worth `after` (..., S); -inf if not allowed."""
    states, actions = mdp.rewards.shape
    expected = mdp.transitions.reshape(*mdp.batch, states * actions, states) @ after[..., None]
    worth = mdp.rewards + mdp.discount * expected.reshape(*mdp.batch, states, actions)
    return np.where(mdp.allowed, worth, -np.inf)


def _under(mdp: MDP, policy: Policy) -> tuple[Array, Array]:
    """Return the transition matrix (..., S, S) and the rewards (..., S) of a decision rule (..., S)."""
    states = np.arange(policy.shape[-1])
    batch = np.broadcast_shapes(mdp.batch, policy.shape[:-1])
    transitions = mdp.transitions.reshape((1,) * (len(batch) - len(mdp.batch)) + mdp.transitions.shape)
    rule = policy.reshape((1,) * (len(batch) - policy.ndim + 1) + policy.shape)
    chosen = np.take_along_axis(transitions, rule[..., None, None], axis=-2)[..., 0, :]
    return chosen, mdp.rewards[states, policy]


def _refuse_other(name: str, value: Any) -> None:
    """Raise TypeError unless the value is an MDP."""
    if not isinstance(value, MDP):
        raise TypeError(f"{name} must be an MDP, got {type(value).__name__}")


def _checked_policy(mdp: MDP, policy: ArrayLike) -> Policy:
    """Return the policy as integers (..., horizon, S), or (..., S) for a discounted model."""
    array = np.asarray(policy)
    states, actions = mdp.rewards.shape
    shape = (states,) if mdp.horizon is None else (mdp.horizon, states)
    if array.dtype.kind not in "iu" or array.shape[-len(shape) :] != shape:
        wanted = ", ".join(map(str, shape))
        raise ValueError(f"policy must be integers of shape (..., {wanted}), got {array.dtype} {array.shape}")
    if array.min() < 0 or array.max() >= actions:
        raise ValueError(f"policy must be in [0, {actions - 1}], got {array.min()} to {array.max()}")
    forbidden = ~mdp.allowed[np.arange(states), array]
    if forbidden.any():
        where = np.argwhere(forbidden)[0]
        raise ValueError(f"policy must play allowed actions, got {array[tuple(where)]} in state {where[-1]}")
    return array.astype(np.int64, copy=False)


def _checked_support(private: MDP, support: ArrayLike | None) -> NDArray[np.bool_]:
    """Return the support as booleans (S, A, S), everything for None."""
    shape = private.transitions.shape[-3:]
    mask = np.ones(shape, dtype=bool) if support is None else np.asarray(support)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise ValueError(f"support must be booleans of shape {shape}, got {mask.dtype} {mask.shape}")
    outside = (private.transitions > 0) & ~mask
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0][-3:])
        raise ValueError(f"support must contain every positive private entry, got none at {where}")
    return mask


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous view (a copy if need be) that refuses to be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _flat_index(shape: tuple[int, ...], batch: tuple[int, ...]) -> NDArray[np.int64]:
    """Return which flat member of `shape` is broadcast to each flat member of the batch."""
    return np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), batch).ravel()
