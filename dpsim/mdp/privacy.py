"""Private policy synthesis in Markov decision processes and its cost of privacy.

Gohari, Hale, Topcu 2020, "Privacy-Preserving Policy Synthesis in Markov Decision Processes". Algorithm 1
releases every transition vector through the Dirichlet mechanism (`privatize`) and plans with what was
released (`synthesize`); Theorems 1 and 2 bound what the policy is worth (`value_bounds`, `cost_of_privacy`),
with the radius and the inner problem of `dpsim.value_bounds`. Rewards, supports of the transitions and the
model's shape are public.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, dirichlet
from dpsim.mdp.inner_problem import extreme_values
from dpsim.mdp.model import MDP, Array, _checked_policy, _checked_support, _flat_index, _read_only, _refuse_other
from dpsim.mdp.planning import iterations_needed


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
