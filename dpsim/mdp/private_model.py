"""A private version of a Markov decision process in one call (Gohari, Hale, Topcu 2020).

Algorithm 1 releases every transition vector through the Dirichlet mechanism (`perturb` at a given k, `privatize` at a
given epsilon) and plans with the release (`synthesize`). Rewards, supports and the shape of the model are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, dirichlet, private
from dpsim.checks import Array
from dpsim.mdp.model import MDP, refuse_other
from dpsim.numerics.simplex import project_to_simplex


def privatize(
    mdp: MDP,
    epsilon: float,
    delta: float,
    *,
    support: ArrayLike,
    rows: str,
    eta: float | None = None,
    b: float | None = None,
    records: float | None = None,
    mechanism: str = "dirichlet",
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return the model with (epsilon, delta)-private transition vectors (Definition 1, Algorithm 1, Lemma 1).

    The `private.Private` holds the model and a statement of its privacy. Policies and bounds that are computed from it
    have the same privacy (Lemma 1).

    Parameters
    ----------
    mdp : MDP, not a batch
        The secret transitions; rewards, horizon, discount, terminal values and allowed actions are public.
    epsilon : float > 0
    delta : float in (0, 1)
    support : bool array (S, A, S)
        The public support: which state may follow each state and action. Probabilities off the support are dropped.
    rows : {"one", "all"}
        How many transition vectors differ between neighbours. With "one" it is a single vector, as in the paper. With
        "all" it may be every vector of an allowed pair of state and action with two or more states in its support, and
        then the losses add up.
    eta : float in (0, 1/2)
        The public minimum, required by "dirichlet": vectors are projected onto entries of at least eta.
    b, records : float
        How far a vector may move, which is public; give exactly one of the two. With b in (0, 1], the vectors of
        neighbours differ in two entries and by at most b in 1-norm (Definition 1). With records, each vector is counted
        from N >= 2 records, of which one is replaced, so that b is 2/N.
    mechanism : {"dirichlet", "laplace", "gaussian"}
        Independent draws of Dir(k p) with the largest k that epsilon and delta allow, or the noise of
        `perturb_with_noise`, which needs no public minimum and usually leads to better plans at the same epsilon and
        delta.
    rng : Generator, int or None; None uses the operating system's entropy, anything else makes a simulation

    Notes
    -----
    The projection never increases the change of a vector, and one draw is accounted for exactly (`dirichlet.privatize`
    with a row for each allowed pair). If all vectors may change, k is one number, and otherwise each vector has its
    own. If one vector changes, the loss is that of its draw. The noise is scaled to two entries that change by b/2 (or
    1/N) in each vector that moves.

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> public = {"support": model.transitions > 0, "rows": "one", "eta": 0.1, "b": 0.02}
    >>> release = mdp.privatize(model, 3.0, 1e-3, rng=1, **public)
    >>> release.epsilon, release.value.transitions.shape
    (3.0, (7, 6, 7))
    """
    _refuse_batch(mdp)
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    checks.choice("rows", rows, ("one", "all"))
    checks.choice("mechanism", mechanism, ("dirichlet", "laplace", "gaussian"))
    mask = checks.mask("support", support, mdp.transitions.shape)[mdp.allowed]
    random = int((mask.sum(axis=-1) > 1).sum())
    if not mask.any(axis=-1).all() or not random:
        raise ValueError(
            "support must have a next state for every allowed action, and a choice of two for one of them"
        )
    if (records is None) == (b is None):
        raise ValueError(
            "exactly one of b and records must be given: it says how far a vector of a neighbour moves"
        )
    if b is None:
        number = checks.scalar("records", records, 2.0)
        apart = 2.0 / number  # a record moves 1/N from one entry to another
        far = f"by one of its {repr(number).removesuffix('.0')} records"
    else:
        apart = checks.scalar("b", b, 0.0, 1.0, open_low=True)
        far = f"by up to {apart!r} in 1-norm, in two entries"
    generator, simulation = private.source(rng)
    if mechanism == "dirichlet":
        if eta is None:
            raise ValueError(
                "eta must be the public minimum of the transitions, a number in (0, 1/2), got None"
            )
        public = {"support": mask, "eta": eta, "b": b, "records": records, "rows": rows}
        released = dirichlet.privatize(
            mdp.transitions[mdp.allowed], epsilon, delta, **public, rng=generator
        )
        drawn = _with_vectors(mdp, released.value)
        parameters = released.parameters
    else:
        scale = (
            accounting.laplace_scale
            if mechanism == "laplace"
            else accounting.gaussian_scale
        )
        parameters = {
            "scale": float(
                scale(epsilon, delta, b=apart, rows=random if rows == "all" else 1)
            )
        }
        drawn = perturb_with_noise(
            mdp, parameters["scale"], mechanism, generator, support=support
        )
    concerned = (
        f"all {random} transition vectors"
        if rows == "all"
        else f"one of {random} transition vectors"
    )
    statement = (
        f"Neighbours are models that differ in {concerned}, each {far}: epsilon {epsilon!r}, delta {delta!r} (a proven "
        f"upper bound), by the mechanism {mechanism}. "
        "Everything but the transitions is public: the support, eta and the other parts of the model. "
        "What the rounding of floats may reveal is not covered."
    )
    return private.result(
        drawn,
        statement,
        epsilon=epsilon,
        delta=delta,
        simulation=simulation,
        **parameters,
    )


def perturb(
    mdp: MDP,
    k: ArrayLike,
    rng: np.random.Generator | int | None = None,
    *,
    size: int | Sequence[int] | None = None,
) -> MDP:
    """Return the model with each transition vector p replaced by draws of Dir(k p), as in Algorithm 1 at the paper's k.

    The batch is ``(*size, *k.shape)``, and the supports stay the same. The vectors are drawn independently. So if the
    vectors of
    neighbours differ one at a time (Definition 1), the release is as private as one draw, whose exact epsilon is
    `accounting.exact_epsilon` at shift b/2. If all may change at once, compose one draw `mdp.random_vectors` times.

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
    """Return a batch of models, of shape `size`, whose transition vectors are perturbed by noise and projected onto the
    simplex of their support.

    Parameters
    ----------
    mdp, rng, size : as in `perturb`
    scale : float > 0, the mean absolute value of Laplace noise or the standard deviation of Gaussian noise
    noise : {"laplace", "gaussian"}
    support : as in `privatize`; every entry of it gets noise

    Notes
    -----
    If `rows` vectors change at once, so that in each of them b/2 moves from one entry to another, the noisy entries are
    (epsilon, delta)-private for scale = accounting.laplace_scale(epsilon, delta, b=b, rows=rows) or gaussian_scale. The
    1-norm of the difference is rows b (each of its 2 rows entries is b/2), and its 2-norm is b sqrt(rows / 2). Vectors
    with one state in their public support are not secret. The projection (Euclidean, onto the simplex of the support)
    reads only the noisy entries and the support, so it keeps the privacy.

    Examples
    --------
    >>> from dpsim import accounting, mdp
    >>> model, scale = mdp.startup_mdp(), accounting.laplace_scale(4.0, 1e-3, b=0.01)
    >>> mdp.perturb_with_noise(model, scale, "laplace", 1, support=model.transitions > 0).batch
    ()
    """
    _refuse_batch(mdp)
    mask = checks.mask("support", support, mdp.transitions.shape)[mdp.allowed]
    noisy = dirichlet.noisy_matrix(
        mdp.transitions[mdp.allowed], scale, noise, support=mask, size=size, rng=rng
    )
    return _with_vectors(mdp, project_to_simplex(noisy, support=mask))


def _refuse_batch(mdp: MDP) -> None:
    """Raise TypeError or ValueError unless this is a single model."""
    refuse_other("mdp", mdp)
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")


def _with_vectors(mdp: MDP, vectors: Array) -> MDP:
    """Return the model with these vectors (..., V, S) in place of those of the allowed actions."""
    transitions = np.zeros((*vectors.shape[:-2], *mdp.transitions.shape))
    transitions[..., mdp.allowed, :] = vectors
    return replace(mdp, transitions=transitions)
