"""Private policy synthesis in Markov decision processes and its cost of privacy.

Gohari, Hale, Topcu 2020, "Privacy-Preserving Policy Synthesis in Markov Decision Processes". Algorithm 1
releases every transition vector through the Dirichlet mechanism (`perturb` at a k, `privatize` at an epsilon) and
plans with what was released (`synthesize`); Theorems 1 and 2 bound what the policy is worth (`value_bounds`,
`cost_of_privacy`), with the radius of `concentration` and the inner problem of `inner_problem`. Rewards, supports of
the transitions and the model's shape are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsim import accounting, checks, dirichlet, private
from dpsim.checks import Array
from dpsim.mdp.inner_problem import extreme_values
from dpsim.mdp.model import MDP, _checked_policy, _checked_support, _flat_index, _read_only, _refuse_other, _support
from dpsim.mdp.planning import iterations_needed
from dpsim.numerics.simplex import project_to_simplex

NOISES = ("laplace", "gaussian")
STEPS = 9  # halvings of the logarithm of k in search of the largest one that composes to the target: 0.3 %
SMALLEST_PARAMETER = 1e-9  # of k eta and k shift, the end of the accounting's range


def privatize(
    mdp: MDP,
    *,
    epsilon: float,
    delta: float,
    support: ArrayLike,
    shift: float,
    vectors: int | str,
    eta: float | None = None,
    shrink: bool = False,
    mechanism: str = "dirichlet",
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return the model with private transition vectors, (epsilon, delta)-differentially private.

    Parameters
    ----------
    mdp : MDP, not a batch
        The secret transitions; rewards, horizon, discount, terminal values and allowed actions are public.
    epsilon : float > 0
    delta : float in (0, 1)
        At least 1e-10 when several vectors may change.
    support : bool array (S, A, S)
        The public support: which state may follow each state and action. Every true probability off it is zero.
    shift : float in (0, 1/2)
        What adjacent vectors move from one entry to another: b/2 for b-adjacent ones (Definition 1), 1/N where one of
        the N records behind a vector changes.
    vectors : int or "all"
        In how many vectors adjacent models may differ at once, each by one shift. 1 is the paper's adjacency; "all" are
        the allowed pairs of state and action with two states or more in their support.
    eta : float in (0, 1/2)
        The public border, required by the mechanism "dirichlet": every entry on the support is at least eta.
    shrink : bool
        Maps every vector p into the border, to eta + (1 - m eta) p on its support of m states, whatever p is. Without
        it a vector outside the border is no input of the mechanism, and its refusal is not private.
    mechanism : {"dirichlet", "laplace", "gaussian"}
        Independent draws of Dir(k p), k the largest that epsilon and delta allow; or noise and projection as in
        `perturb_with_noise`, which need no border and plan better at the same epsilon and delta.
    rng : Generator, int or None
        None draws from the operating system's entropy; anything else makes a simulation.

    Returns
    -------
    Private
        The model; the statement says what is spent and under which adjacency. Policies and bounds computed from it
        spend nothing more (Lemma 1).

    Raises
    ------
    ValueError
        For arguments outside their ranges, an epsilon that no k reaches, a vector off the support or the border. What
        is public is checked first and alone decides k.

    Notes
    -----
    One draw is exactly accounted for (`accounting.exact_delta`); where several vectors change their losses add up
    (`accounting.compose`, an upper bound). The map of `shrink` is affine, so it takes vectors that differ by a shift s
    in two entries to vectors that differ by (1 - m eta) s in the same two: at most (1 - m eta) s with the smallest m.

    References
    ----------
    Gohari, Hale, Topcu 2020, Definition 1, Algorithm 1, Lemma 1.

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> release = mdp.privatize(model, epsilon=3.0, delta=1e-3, support=model.transitions > 0,
    ...                         shift=0.01, vectors=1, eta=0.05, rng=1)
    >>> release.epsilon, round(release.parameters["k"], 1)
    (3.0, 1.0)
    """
    _refuse_other("mdp", mdp)
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    shift = checks.scalar("shift", shift, 0.0, 0.5, open_low=True, open_high=True)
    checks.choice("mechanism", mechanism, ("dirichlet", *NOISES))
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")
    mask = _support(support, mdp.transitions.shape) & mdp.allowed[..., None]
    sizes = mask.sum(axis=-1)[mdp.allowed]
    changing = _changing(vectors, sizes)
    parameters: dict[str, Any]
    if mechanism == "dirichlet":
        if eta is None:
            raise ValueError("eta must be the public border of the transitions, a number in (0, 1/2), got None")
        eta = checks.scalar("eta", eta, 0.0, 0.5, open_low=True, open_high=True)
        if eta * sizes.max() > 1:
            raise ValueError(f"eta must be at most 1 / {sizes.max()}, the largest support, got {eta:g}")
        moved = (1.0 - sizes[sizes > 1].min() * eta) * shift if shrink else shift
        if not moved > 0.0:
            raise ValueError(f"eta must leave the vectors room to differ, got {eta:g}")
        parameters = {"k": _largest_k(epsilon, delta, moved, eta, changing)}
    else:
        scale = accounting.laplace_scale if mechanism == "laplace" else accounting.gaussian_scale
        parameters = {"scale": float(scale(epsilon, delta, b=2.0 * shift, rows=changing))}
    generator, simulation = private.source(rng)
    if ((mdp.transitions > 0.0) & ~mask).any():
        raise ValueError("transitions must be zero off the support")
    if mechanism == "dirichlet":
        assert eta is not None
        model = _inside_border(mdp, mask, eta, shrink)
        drawn = perturb(model, parameters["k"], generator)
    else:
        drawn = perturb_with_noise(mdp, parameters["scale"], mechanism, generator, support=mask)
    border = f", entries of at least {eta:g}" if mechanism == "dirichlet" else ""
    statement = (
        f"Adjacent are models in which {changing} of {(sizes > 1).sum()} transition vectors differ, each by at most "
        f"{shift:g} moved from one entry to another{border}: epsilon {epsilon!r}, delta {delta!r} (a proven bound), by "
        f"the mechanism {mechanism} with {parameters}. Rewards, support and the shape of the model are public."
    )
    return private.made(drawn, statement, epsilon=epsilon, delta=delta, simulation=simulation, **parameters)


def _changing(vectors: int | str, sizes: NDArray[np.int64]) -> int:
    """Return in how many vectors neighbours may differ, of those with these numbers of states in their support."""
    if (sizes == 0).any():
        raise ValueError("support must have a next state for every state and allowed action")
    random = int((sizes > 1).sum())
    if random == 0:
        raise ValueError("support must leave two next states somewhere: nothing here is secret")
    if isinstance(vectors, str):
        checks.choice("vectors", vectors, ("all",))
        return random
    return checks.integer("vectors", vectors, 1, random)


def _largest_k(epsilon: float, delta: float, shift: float, eta: float, count: int) -> float:
    """Return the largest k found whose draws of `count` vectors at once are (epsilon, delta)-private."""
    high = float(accounting.calibrate_k(epsilon, delta, shift=shift, eta=eta))
    if count == 1:
        return high
    checks.scalar("delta", delta, 1e-10, 1.0)

    def reaches(k: float) -> bool:
        return float(accounting.compose(k, shift=shift, eta=eta, count=count).delta(epsilon)) <= delta

    low = high / 4.0
    while not reaches(low):
        high, low = low, low / 4.0
        if low * min(eta, shift) < SMALLEST_PARAMETER:
            raise ValueError(
                f"epsilon must be larger: no k makes {count} vectors ({epsilon:g}, {delta:g})-private at eta {eta:g}"
            )
    for _ in range(STEPS):  # delta grows with k
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def _inside_border(mdp: MDP, mask: NDArray[np.bool_], eta: float, shrink: bool) -> MDP:
    """Return the model with every vector within the border: shrunk towards it, or as it is."""
    if shrink:
        share = 1.0 - mask.sum(axis=-1, keepdims=True) * eta
        sole = mask.sum(axis=-1, keepdims=True) == 1  # nothing there is secret
        shrunk = np.where(mask, np.where(sole, 1.0, eta + share * mdp.transitions), 0.0)
        return replace(mdp, transitions=shrunk)
    if (mdp.transitions[mask] < eta).any():
        raise ValueError(
            f"transitions must be at least eta {eta:g} on the support; shrink=True maps every vector there"
        )
    return mdp


def perturb(
    mdp: MDP,
    k: ArrayLike,
    rng: np.random.Generator | int | None = None,
    *,
    size: int | Sequence[int] | None = None,
) -> MDP:
    """Return the model with each transition vector p replaced by draws of Dir(k p): Algorithm 1 at the paper's k.

    Parameters
    ----------
    mdp : MDP, not a batch
    k : float or array > 0
    rng : Generator, int or None
    size : int or sequence of int, optional

    Returns
    -------
    MDP
        With the batch (*size, *k.shape); supports are kept.

    Raises
    ------
    ValueError
        For k outside its range or a model that is a batch already.

    Notes
    -----
    The vectors are drawn independently, so for vectors that are b-adjacent (Definition 1) one at a time the release is
    as private as one draw, `accounting.exact_epsilon` at shift b/2; if all may change at once, compose it
    `mdp.random_vectors` times. Policies and bounds computed from the result spend nothing more (Lemma 1).

    References
    ----------
    Gohari, Hale, Topcu 2020, Algorithm 1.

    Examples
    --------
    >>> from dpsim import mdp
    >>> mdp.perturb(mdp.startup_mdp(), [5.0, 50.0], rng=1, size=3).batch
    (3, 2)
    """
    _refuse_other("mdp", mdp)
    k = checks.real("k", k, 0.0, open_low=True)
    sizes = checks.size("size", size)
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")
    vectors = mdp.transitions[mdp.allowed]
    vectors = np.broadcast_to(vectors, k.shape + vectors.shape)
    draws = dirichlet.dirichlet_mechanism(vectors, k[..., None], size=sizes, rng=checks.generator(rng))
    return _with_vectors(mdp, draws)


def perturb_with_noise(
    mdp: MDP,
    scale: float,
    noise: str,
    rng: np.random.Generator | int | None = None,
    *,
    support: ArrayLike,
    size: int | Sequence[int] | None = None,
) -> MDP:
    """Return the model with noise on each transition vector and the nearest vector on its support: the textbook's way.

    Parameters
    ----------
    mdp : MDP, not a batch
    scale : float > 0
        Mean absolute value of the Laplace, standard deviation of the Gaussian noise.
    noise : {"laplace", "gaussian"}
    rng : Generator, int or None
    support : bool array (S, A, S)
        The public support: noise falls on all of it and on nothing else.
    size : int or sequence of int, optional

    Returns
    -------
    MDP
        With the batch `size`.

    Raises
    ------
    ValueError
        For arguments outside their ranges, a batch, transitions off the support.

    Notes
    -----
    Where `rows` vectors change at once, each by b/2 moved from one entry to another, the noisy entries are
    (epsilon, delta)-private for scale = accounting.laplace_scale(epsilon, delta, b=b, rows=rows) or gaussian_scale:
    the 1-norm of the difference is rows b (each of its 2 rows entries is b/2), its 2-norm b sqrt(rows / 2). Vectors
    with one state in their public support are not secret. The projection (Euclidean, onto the simplex of the support)
    reads the noisy entries and the support alone, so it keeps the privacy.

    References
    ----------
    Dwork and Roth 2014, Theorem 3.6; Balle and Wang 2018, Theorem 8; Duchi et al. 2008 for the projection.

    Examples
    --------
    >>> from dpsim import accounting, mdp
    >>> model = mdp.startup_mdp()
    >>> scale = accounting.laplace_scale(4.0, 1e-3, b=0.01)
    >>> mdp.perturb_with_noise(model, scale, "laplace", 1, support=model.transitions > 0).batch
    ()
    """
    _refuse_other("mdp", mdp)
    scale = checks.scalar("scale", scale, 0.0, open_low=True)
    checks.choice("noise", noise, NOISES)
    sizes = checks.size("size", size)
    generator = checks.generator(rng)
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")
    mask = _support(support, mdp.transitions.shape)[mdp.allowed]
    vectors = mdp.transitions[mdp.allowed]
    if not mask.any(axis=-1).all() or ((vectors > 0) & ~mask).any():
        raise ValueError("support must contain every positive entry, and a next state for every allowed action")
    draw = generator.laplace if noise == "laplace" else generator.normal
    noisy = np.broadcast_to(vectors, (*sizes, *vectors.shape)).copy()
    noisy[..., mask] += draw(0.0, scale, (*sizes, int(mask.sum())))
    return _with_vectors(mdp, project_to_simplex(noisy, support=mask))


def _with_vectors(mdp: MDP, vectors: Array) -> MDP:
    """Return the model with these vectors (..., V, S) in the place of those of the allowed actions."""
    transitions = np.zeros((*vectors.shape[:-2], *mdp.transitions.shape))
    transitions[..., mdp.allowed, :] = vectors
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
    the worst, or the best, of the set D around the private one (see `inner_problem`). Leading axes of
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
    return checks.plain(upper[..., initial] - lower[..., initial])
