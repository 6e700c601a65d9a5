"""Private transition vectors of a Markov decision process (Gohari, Hale, Topcu 2020).

Algorithm 1 releases every transition vector through the Dirichlet mechanism (`perturb` at a k, `privatize` at an
epsilon) and plans with the release (`synthesize`). Rewards, supports and the model's shape are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, dirichlet, private
from dpsim.checks import Array
from dpsim.mdp.model import MDP, _refuse_other
from dpsim.numerics.simplex import project_to_simplex


def privatize(
    mdp: MDP,
    epsilon: float,
    delta: float,
    *,
    support: ArrayLike,
    vectors: str,
    eta: float | None = None,
    records: float | None = None,
    b: float | None = None,
    mechanism: str = "dirichlet",
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return the model with (epsilon, delta)-private transition vectors (Definition 1, Algorithm 1, Lemma 1).

    The `private.Private` holds the model, and a statement of what is spent under which adjacency. Policies and bounds
    computed from it spend nothing more (Lemma 1).

    Parameters
    ----------
    mdp : MDP, not a batch
        The secret transitions; rewards, horizon, discount, terminal values and allowed actions are public.
    epsilon : float > 0
    delta : float in (0, 1)
    support : bool array (S, A, S)
        The public support: which state may follow each state and action. What the model has off it is dropped.
    vectors : {"one", "all"}
        In how many vectors adjacent models differ: one, the paper's adjacency; or all, of allowed pairs of state and
        action with two states or more in their support, each of which may change; their losses add up.
    eta : float in (0, 1/2)
        The public border, required by "dirichlet": vectors are projected onto entries of at least eta.
    records, b : float
        Exactly one, public, says how far two adjacent vectors are apart. records: N >= 2 records stand behind each
        vector, one of which changes. b in (0, 1]: they differ in two entries and by at most b in 1-norm (b-adjacent,
        Definition 1).
    mechanism : {"dirichlet", "laplace", "gaussian"}
        Independent draws of Dir(k p), k the largest that epsilon and delta allow; or `perturb_with_noise`, which needs
        no border and as a rule plans better at the same epsilon and delta.
    rng : Generator, int or None; anything but None, the operating system's entropy, makes a simulation

    Notes
    -----
    The projection onto the border never increases what a vector may change by, and one draw is accounted for exactly
    (`dirichlet.privatize` with a row for each allowed pair): k is one number where all vectors may change, otherwise
    one for each. A change in one vector costs what its draw costs, whichever it is. The noise is scaled to two entries
    that change by b/2 (or 1/N) in each vector concerned.

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> public = {"support": model.transitions > 0, "vectors": "one", "eta": 0.1, "b": 0.02}
    >>> release = mdp.privatize(model, 3.0, 1e-3, rng=1, **public)
    >>> release.epsilon, release.value.transitions.shape
    (3.0, (7, 6, 7))
    """
    _refuse_batch(mdp)
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    checks.choice("vectors", vectors, ("one", "all"))
    checks.choice("mechanism", mechanism, ("dirichlet", "laplace", "gaussian"))
    mask = checks.mask("support", support, mdp.transitions.shape)[mdp.allowed]
    random = int((mask.sum(axis=-1) > 1).sum())
    if not mask.any(axis=-1).all() or not random:
        raise ValueError("support must have a next state for every allowed action, and a choice of two for one of them")
    if (records is None) == (b is None):
        raise ValueError("exactly one of records and b must be given: it says what is protected")
    if records is not None:
        apart = 2.0 / checks.scalar("records", records, 2.0)  # a record moves 1/N from one entry to another
    else:
        apart = checks.scalar("b", b, 0.0, 1.0, open_low=True)
    generator, simulation = private.source(rng)
    if mechanism == "dirichlet":
        if eta is None:
            raise ValueError("eta must be the public border of the transitions, a number in (0, 1/2), got None")
        # b/2 is one record in N = 2/b, whole or not; rounded so that 1/N is never below b/2, by 1e-16: no test can tell
        public = {"b": apart} if vectors == "all" else {"records": math.nextafter(2.0 / apart, 0.0)}
        rows = mdp.transitions[mdp.allowed]
        released = dirichlet.privatize(rows, epsilon, delta, support=mask, eta=eta, rng=generator, **public)
        drawn, parameters = _with_vectors(mdp, released.value), released.parameters
    else:
        scale = accounting.laplace_scale if mechanism == "laplace" else accounting.gaussian_scale
        parameters = {"scale": float(scale(epsilon, delta, b=apart, rows=random if vectors == "all" else 1))}
        drawn = perturb_with_noise(mdp, parameters["scale"], mechanism, generator, support=support)
    concerned = f"all {random} transition vectors" if vectors == "all" else f"one of {random} transition vectors"
    moved = f"by up to {b!r} in 1-norm, in two entries" if records is None else f"by one of its {records!r} records"
    statement = (
        f"Adjacent are models that differ in {concerned}, each {moved}: epsilon {epsilon!r}, delta {delta!r} (a proven "
        f"bound), by the mechanism {mechanism}. Rewards, support, border and the shape of the model are public."
    )
    return private.made(drawn, statement, epsilon=epsilon, delta=delta, simulation=simulation, **parameters)


def perturb(
    mdp: MDP,
    k: ArrayLike,
    rng: np.random.Generator | int | None = None,
    *,
    size: int | Sequence[int] | None = None,
) -> MDP:
    """Return the model with each transition vector p replaced by draws of Dir(k p), Algorithm 1 at the paper's k.

    The batch is ``(*size, *k.shape)``; supports are kept. The vectors are drawn independently, so for vectors that are
    b-adjacent (Definition 1) one at a time the release is as private as one draw, `accounting.exact_epsilon` at shift
    b/2; if all may change at once, compose it `mdp.random_vectors` times.

    Parameters
    ----------
    mdp : MDP, not a batch
    k : float or array > 0
    rng : Generator, int or None
    size : int or sequence of int, optional

    Examples
    --------
    >>> from dpsim import mdp
    >>> mdp.perturb(mdp.startup_mdp(), [5.0, 50.0], rng=1, size=3).batch
    (3, 2)
    """
    _refuse_batch(mdp)
    k = checks.real("k", k, 0.0, open_low=True)
    vectors = mdp.transitions[mdp.allowed]
    vectors = np.broadcast_to(vectors, k.shape + vectors.shape)
    draws = dirichlet.dirichlet_mechanism(vectors, k[..., None], size=size, rng=rng)
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
    """Return models, of the batch `size`, whose transition vectors have noise and are projected onto their support.

    Parameters
    ----------
    mdp, rng, size : as in `perturb`
    scale : float > 0, mean absolute value of the Laplace, standard deviation of the Gaussian noise
    noise : {"laplace", "gaussian"}
    support : as in `privatize`; noise falls on all of it

    Notes
    -----
    Where `rows` vectors change at once, each by b/2 moved from one entry to another, the noisy entries are (epsilon,
    delta)-private for scale = accounting.laplace_scale(epsilon, delta, b=b, rows=rows) or gaussian_scale: the 1-norm of
    the difference is rows b (each of its 2 rows entries is b/2), its 2-norm b sqrt(rows / 2). Vectors with one state in
    their public support are not secret. The projection (Euclidean, onto the simplex of the support) reads the noisy
    entries and the support alone, so it keeps the privacy.

    Examples
    --------
    >>> from dpsim import accounting, mdp
    >>> model, scale = mdp.startup_mdp(), accounting.laplace_scale(4.0, 1e-3, b=0.01)
    >>> mdp.perturb_with_noise(model, scale, "laplace", 1, support=model.transitions > 0).batch
    ()
    """
    _refuse_batch(mdp)
    mask = checks.mask("support", support, mdp.transitions.shape)[mdp.allowed]
    noisy = dirichlet.noisy_matrix(mdp.transitions[mdp.allowed], scale, noise, support=mask, size=size, rng=rng)
    return _with_vectors(mdp, project_to_simplex(noisy, support=mask))


def _refuse_batch(mdp: MDP) -> None:
    """Raise unless this is one model."""
    _refuse_other("mdp", mdp)
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")


def _with_vectors(mdp: MDP, vectors: Array) -> MDP:
    """Return the model with these vectors (..., V, S) in the place of those of the allowed actions."""
    transitions = np.zeros((*vectors.shape[:-2], *mdp.transitions.shape))
    transitions[..., mdp.allowed, :] = vectors
    return replace(mdp, transitions=transitions)
