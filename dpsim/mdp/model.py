"""The model of a Markov decision process, with its checks and two examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.checks import Array

Actions = NDArray[np.int64]
"""The action of each stage and state."""
Policy = NDArray[np.bool_] | Array
"""The probability of each action, along the last axis."""


@dataclass(frozen=True, eq=False)
class MDP:
    """A Markov decision process of S states and A actions, or a batch of them.

    It is the model of Gohari, Hale, Topcu 2020, Section II-B. The models in a batch
    differ in their transitions. The stored arrays are read-only.

    Parameters
    ----------
    transitions : array_like (..., S, A, S), probability vectors on the last axis
    rewards : array_like (S, A), whose sums may be at most 1e300 in modulus
    horizon : int, optional, the number of stages, at least 1; None means infinity
    discount : float, in [0, 1] with a horizon, in [0, 1) without
    terminal : array_like (S,), optional
        The values after the last stage, only with a horizon; zeros by default.
    allowed : bool array (S, A), optional
        The actions allowed in each state, at least one; all by default. Transitions and
        rewards of other actions are ignored and stored as zeros.

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.MDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], discount=0.9)
    >>> model.batch, model.random_vectors
    ((), 1)
    """

    transitions: Array
    rewards: Array
    horizon: int | None = None
    discount: float = 1.0
    terminal: Any = None
    allowed: Any = None

    def __post_init__(self) -> None:
        shape = checks.arrayed("transitions", self.transitions).shape
        if len(shape) < 3 or shape[-3] != shape[-1] or 0 in shape[-3:]:
            raise ValueError(f"transitions must have shape (..., S, A, S), got {shape}")
        states, actions = shape[-3:-1]
        given = True if self.allowed is None else self.allowed
        allowed = np.array(checks.mask("allowed", given, (states, actions)))
        playable = allowed.any(axis=1)
        if not playable.all():
            raise ValueError(
                "allowed must have an action in every state, "
                f"got none in {playable.argmin()}"
            )
        numbers = checks.numeric("transitions", self.transitions)
        ignored = np.eye(1, states)[0]  # any probability vector passes the check below
        vectors = np.where(allowed[..., None], numbers, ignored)
        _refuse_zeros(vectors)
        vectors = checks.simplex("transitions", vectors)
        transitions = np.where(allowed[..., None], vectors, 0.0)
        numbers = checks.numeric("rewards", self.rewards)
        if numbers.shape != (states, actions):
            raise ValueError(
                f"rewards must have shape ({states}, {actions}), got {numbers.shape}"
            )
        rewards = checks.real("rewards", np.where(allowed, numbers, 0.0))
        endless = self.horizon is None
        horizon = None if endless else checks.integer("horizon", self.horizon, 1)
        discount = checks.scalar("discount", self.discount, 0.0, 1.0, open_high=endless)
        terminal = _terminal_values(self.terminal, horizon, states)
        _refuse_overflow(rewards, discount, horizon, terminal)
        keep = object.__setattr__  # the class is frozen
        keep(self, "transitions", read_only(transitions))
        keep(self, "rewards", read_only(rewards))
        keep(self, "horizon", horizon)
        keep(self, "discount", discount)
        keep(self, "terminal", None if terminal is None else read_only(terminal))
        keep(self, "allowed", read_only(allowed))

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the transitions."""
        return self.transitions.shape[:-3]

    @property
    def random_vectors(self) -> int:
        """The number of transition vectors that the Dirichlet mechanism perturbs.

        They belong to allowed actions and have two or more positive entries.
        """
        positive = (self.transitions > 0).any(axis=tuple(range(len(self.batch))))
        return int((positive.sum(axis=-1) > 1).sum())


def _refuse_zeros(vectors: Array) -> None:
    """Raise ValueError if a transition vector has only zeros."""
    zeros = ~vectors.any(axis=-1)
    if zeros.any():
        place = tuple(int(i) for i in np.argwhere(zeros)[0])
        raise ValueError(
            f"transitions row {place} must sum to 1, got only zeros: let a state in "
            "which the process ends loop to itself with the reward 0, and leave out "
            "an action with `allowed`"
        )


LARGEST_VALUE = 1e300
"""The largest modulus that a value of a model may have."""


def _refuse_overflow(
    rewards: Array, discount: float, horizon: int | None, terminal: Array | None
) -> None:
    """Raise ValueError if the values of some policy may be too large for floats."""
    last = 0.0 if terminal is None else float(np.abs(terminal).max())
    stages = 1 / (1 - discount) if horizon is None else horizon
    each = float(np.abs(rewards).max())
    if each > (LARGEST_VALUE - last) / stages:
        raise ValueError(
            f"rewards and terminal must keep every value within {LARGEST_VALUE:g} of "
            f"0, got rewards up to {each:g} and terminal values up to {last:g}"
        )


def _terminal_values(
    terminal: ArrayLike | None, horizon: int | None, states: int
) -> Array | None:
    """Return a checked copy of the terminal values.

    The default is zeros with a horizon, and None without one.
    """
    if horizon is None:
        if terminal is not None:
            raise ValueError(
                f"terminal must be None without a horizon, got {checks.shown(terminal)}"
            )
        return None
    if terminal is None:
        return np.zeros(states)
    values = checks.real("terminal", terminal).copy()
    if values.shape != (states,):
        raise ValueError(f"terminal must have shape ({states},), got {values.shape}")
    return values


def random_mdp(
    states: int,
    actions: int,
    rng: np.random.Generator | int | None = None,
    *,
    horizon: int | None = None,
    discount: float = 1.0,
) -> MDP:
    """Return a random model, whose transition vectors are uniform on the simplex.

    Its rewards and terminal values are uniform on [0, 1]. Example 2 of Gohari, Hale,
    Topcu 2020 has 20 states, 5 actions and horizon 10, but the paper does not say how
    the other numbers are sampled.

    Parameters
    ----------
    states, actions : int, at least 1
    rng : Generator, int or None
    horizon, discount : as in `MDP`

    Returns
    -------
    MDP, with transitions of shape (states, actions, states)

    Examples
    --------
    >>> from dpsim import mdp
    >>> mdp.random_mdp(20, 5, 1, horizon=10).transitions.shape
    (20, 5, 20)
    """
    states = checks.integer("states", states, 1)
    actions = checks.integer("actions", actions, 1)
    rng = checks.generator(rng)
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    rewards = rng.random((states, actions))
    terminal = rng.random(states)
    return MDP(
        transitions,
        rewards,
        horizon=horizon,
        discount=discount,
        terminal=None if horizon is None else terminal,
    )


STARTUP_STATES = (
    "search",
    "startup 1",
    "startup 2",
    "startup 3",
    "startup 4",
    "success",
    "failure",
)
STARTUP_ACTIONS = ("acquire 1", "acquire 2", "acquire 3", "acquire 4", "hold", "invest")


def startup_mdp() -> MDP:
    """Return a stand-in for Example 1 of Gohari, Hale, Topcu 2020, with four startups.

    The numbers of the example are missing from our copy of the paper. States and
    actions are STARTUP_STATES and STARTUP_ACTIONS. The horizon is 6, and the process
    starts in "search" (state 0). In "search" each startup can be acquired at a price of
    .5, 1, 1.5 or 2. The deal closes with probability .9, .8, .7 or .6, and otherwise
    the search goes on. A startup that is held may succeed or fail in each stage, and a
    cheaper one is less reliable. Investing costs .5 in each stage and makes success
    more likely. "success" and "failure" are absorbing, and only "hold" is possible
    there. The terminal value is 10 for success and 2 for a startup that is still held.

    Returns
    -------
    MDP, with transitions of shape (7, 6, 7)

    Examples
    --------
    >>> from dpsim import mdp
    >>> mdp.startup_mdp().random_vectors
    12
    """
    transitions = np.zeros((7, 6, 7))
    rewards = np.zeros((7, 6))
    allowed = np.zeros((7, 6), dtype=bool)
    allowed[0, :4] = True
    allowed[1:5, 4:] = True
    allowed[5:, 4] = True
    startups = range(1, 5)
    closing = np.array([0.9, 0.8, 0.7, 0.6])
    transitions[0, range(4), startups] = closing
    transitions[0, :4, 0] = 1 - closing
    rewards[0, :4] = [-0.5, -1.0, -1.5, -2.0]
    rewards[1:5, 5] = -0.5
    # success and failure per stage of a startup that is held, and of one invested in
    transitions[1:5, 4:, 5:] = [
        [[0.14, 0.16], [0.26, 0.18]],
        [[0.20, 0.15], [0.34, 0.16]],
        [[0.28, 0.14], [0.44, 0.14]],
        [[0.36, 0.10], [0.54, 0.10]],
    ]
    stays = 1 - transitions[1:5, 4:, 5] - transitions[1:5, 4:, 6]
    transitions[startups, 4:, startups] = stays
    transitions[5, 4, 5] = 1.0
    transitions[6, 4, 6] = 1.0
    return MDP(
        transitions,
        rewards,
        horizon=6,
        terminal=[0.0, 2.0, 2.0, 2.0, 2.0, 10.0, 0.0],
        allowed=allowed,
    )


def refuse_other(name: str, value: Any) -> None:
    """Raise TypeError unless the value is an MDP."""
    if not isinstance(value, MDP):
        raise TypeError(f"{name} must be an MDP, got {type(value).__name__}")


def policy_weights(mdp: MDP, policy: ArrayLike) -> Policy:
    """Return the probability of each action, (..., horizon, S, A) or (..., S, A).

    For a policy of integers, the probabilities are 0 or 1.
    """
    states, actions = mdp.rewards.shape
    shape = (states,) if mdp.horizon is None else (mdp.horizon, states)
    given = checks.arrayed("policy", policy)
    randomised = given.dtype.kind == "f"
    shape = (*shape, actions) if randomised else shape
    if given.shape[-len(shape) :] != shape:
        wanted = ", ".join(map(str, shape))
        kind = "probabilities" if randomised else "actions"
        raise ValueError(
            f"policy must have shape (..., {wanted}) for {kind}, got {given.shape}"
        )
    if randomised:
        weights: Policy = checks.simplex("policy", policy)
    else:
        chosen = checks.integers("policy", policy, 0, actions - 1)
        weights = np.eye(actions, dtype=bool)[chosen]
    forbidden = (weights > 0) & ~mdp.allowed
    if forbidden.any():
        *_, state, action = np.argwhere(forbidden)[0]
        raise ValueError(
            f"policy must play allowed actions, got {action} in state {state}"
        )
    return weights


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view of an array, or of a copy if necessary."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
