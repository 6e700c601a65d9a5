"""A private version of a Markov decision process in one call.

`privatize` releases the transition vectors at a given epsilon and delta. `perturb` is
the first stage of Algorithm 1 of Gohari, Hale, Topcu 2020, at a given k; the second
stage plans with the release (`synthesize`). Rewards, supports and the shape of the
model are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

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
    mechanism: str | None = None,
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return the model with (epsilon, delta)-private transition vectors.

    Policies and bounds that are computed from the model have the same privacy (Gohari,
    Hale, Topcu 2020, Lemma 1).

    Parameters
    ----------
    mdp : MDP, not a batch
        Its transitions are secret. Its rewards, horizon, discount, terminal values and
        allowed actions are public.
    epsilon : float > 0
    delta : float in (0, 1)
    support : bool array (S, A, S)
        The public support: which states may follow each state and action. Probabilities
        off the support are dropped.
    rows : {"one", "all"}
        How many transition vectors differ between neighbours. With "one" it is a single
        vector, as in the paper. With "all" it may be every vector of an allowed action
        with two or more states in its support, and then their losses add up.
    eta : float in (0, 1/2), optional
        The public minimum, which only "dirichlet" needs: vectors are projected onto
        those whose entries are at least eta.
    b, records : float
        How far a vector may move, which is public; give exactly one of the two. With b
        in (0, 1], the vectors of neighbours differ in two entries and by at most b in
        1-norm (Definition 1). With records, each vector is estimated from N >= 2
        records, one of which is replaced, so b is 2/N.
    mechanism : {"laplace", "gaussian", "dirichlet"}, optional
        Laplace or Gaussian noise added to the entries (`perturb_with_noise`), or the
        Dirichlet mechanism of Algorithm 1 with the largest k that epsilon and delta
        allow. None means the best mechanism known, which is the noise with the smaller
        variance, unless `eta` is given, which selects the Dirichlet mechanism. (In both
        examples of the notebook, plans made with Laplace noise lost less than half as
        much as plans made with the Dirichlet mechanism at the same epsilon and delta.)
    rng : Generator, int or None
        None uses the operating system's entropy; anything else makes a simulation.

    Returns
    -------
    private.Private
        Its `value` is an MDP whose transitions have the same shape (S, A, S), and its
        `parameters` are the scale, or k, eta and shift.

    Notes
    -----
    The projection onto vectors whose entries are at least eta never moves two vectors
    further apart. The exact accounting of one Dirichlet draw is that of
    `dirichlet.privatize`, with a row for each allowed action. With "all", k is one
    number, and with "one" each vector has its own. The noise is scaled to two entries
    that change by b/2 in each vector that moves.

    Examples
    --------
    >>> from dpsim import mdp
    >>> model = mdp.startup_mdp()
    >>> release = mdp.privatize(
    ...     model, 3.0, 1e-3, support=model.transitions > 0, rows="one", b=0.02, rng=1
    ... )
    >>> release.epsilon, release.value.transitions.shape
    (3.0, (7, 6, 7))
    """
    _refuse_batch(mdp)
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    checks.choice("rows", rows, ("one", "all"))
    if mechanism is not None:
        checks.choice("mechanism", mechanism, ("dirichlet", "laplace", "gaussian"))
    elif eta is not None:
        mechanism = "dirichlet"
    mask = checks.mask("support", support, mdp.transitions.shape)[mdp.allowed]
    random = int((mask.sum(axis=-1) > 1).sum())
    if not mask.any(axis=-1).all() or not random:
        raise ValueError(
            "support must have a next state for every allowed action, "
            "and a choice of two for one of them"
        )
    if (records is None) == (b is None):
        raise ValueError(
            "exactly one of b and records must be given: "
            "it says how far a vector of a neighbour moves"
        )
    if b is None:
        number = checks.scalar("records", records, 2.0)
        apart = 2.0 / number  # a record moves 1/N from one entry to another
        far = f"by one of its {repr(number).removesuffix('.0')} records"
    else:
        apart = checks.scalar("b", b, accounting.noise_scales.SMALLEST_B, 1.0)
        far = f"by up to {apart!r} in 1-norm, in two entries"
    if mechanism == "dirichlet":
        if eta is None:
            raise ValueError(
                "eta must be the public minimum of the transitions, "
                "a number in (0, 1/2), got None"
            )
        release = partial(
            dirichlet.privatize,
            epsilon=epsilon,
            delta=delta,
            support=mask,
            eta=eta,
            b=b,
            records=records,
            rows=rows,
        )
        # k depends only on public arguments, so it is that of any vectors
        parameters = release(mask / mask.sum(axis=-1, keepdims=True), rng=0).parameters

        def draw(secret: MDP, generator: np.random.Generator) -> MDP:
            vectors = release(secret.transitions[secret.allowed], rng=generator)
            return _with_vectors(secret, vectors.value)

    else:
        together = random if rows == "all" else 1
        noise, scale = _smallest_noise(epsilon, delta, apart, together, mechanism)
        mechanism = noise
        parameters = {"scale": scale}

        def draw(secret: MDP, generator: np.random.Generator) -> MDP:
            return perturb_with_noise(secret, scale, noise, generator, support=support)

    minimum = ", eta" if mechanism == "dirichlet" else ""
    moving = f"all {random}" if rows == "all" else f"one of {random}"
    statement = (
        f"Neighbours are models that differ in {moving} transition vectors, "
        f"each {far}: epsilon {epsilon!r}, delta {delta!r} (a proven upper bound), "
        f"by the mechanism {mechanism}. Everything but the transitions is public: "
        f"the support{minimum} and the other parts of the model. "
        "What the rounding of floats may reveal is not covered."
    )
    public = private.Mechanism(
        epsilon=epsilon,
        delta=delta,
        statement=statement,
        draw=draw,
        parameters=parameters,
    )
    return public.release(mdp, rng)


def _smallest_noise(
    epsilon: float, delta: float, apart: float, rows: int, mechanism: str | None
) -> tuple[str, float]:
    """Return the noise with the smaller variance, or the given one, and its scale."""
    if mechanism == "gaussian":
        return "gaussian", accounting.gaussian_scale(epsilon, delta, b=apart, rows=rows)
    laplace = accounting.laplace_scale(epsilon, delta, b=apart, rows=rows)
    if mechanism is None:
        with suppress(ValueError):  # it cannot be computed at every epsilon and delta
            gaussian = accounting.gaussian_scale(epsilon, delta, b=apart, rows=rows)
            if gaussian**2 < 2.0 * laplace**2:
                return "gaussian", gaussian
    return "laplace", laplace


def perturb(
    mdp: MDP,
    k: ArrayLike,
    rng: np.random.Generator | int | None = None,
    *,
    size: int | Sequence[int] | None = None,
) -> MDP:
    """Return the model with a Dirichlet draw in place of each transition vector p.

    The draws are from Dir(k p), as in Algorithm 1 at the paper's k, and the supports
    stay the same. The vectors are sampled independently. So if only one vector differs
    between neighbours (Definition 1), the release is as private as one draw, whose
    exact epsilon is `accounting.exact_epsilon` at shift b/2. If all vectors may differ,
    compose one draw `mdp.random_vectors` times.

    Parameters
    ----------
    mdp : MDP, not a batch
    k : float or array > 0
    rng : Generator, int or None
    size : int or sequence of int, optional

    Returns
    -------
    MDP, whose transitions have the shape (*size, *k.shape, S, A, S)

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
    """Return the model with noisy transition vectors that have been projected.

    The projection is the Euclidean one onto the simplex of the support.

    Parameters
    ----------
    mdp, rng, size : as in `perturb`
    scale : float > 0, the mean absolute value of Laplace noise or the standard
        deviation of Gaussian noise
    noise : {"laplace", "gaussian"}
    support : as in `privatize`; every entry on it gets noise

    Returns
    -------
    MDP, whose transitions have the shape (*size, S, A, S)

    Notes
    -----
    Suppose that `rows` vectors differ between neighbours, and that in each of them b/2
    moves from one entry to another. Then the noisy entries are (epsilon, delta)-private
    if the scale is that of `accounting.laplace_scale` or `accounting.gaussian_scale`
    for this b and this number of rows. The difference has 2 rows entries of b/2, so its
    1-norm is rows b and its 2-norm is b sqrt(rows / 2). Vectors with one state in their
    public support are not secret. The projection reads only the noisy entries and the
    support, so it costs no privacy.

    Examples
    --------
    >>> from dpsim import accounting, mdp
    >>> model = mdp.startup_mdp()
    >>> scale = accounting.laplace_scale(4.0, 1e-3, b=0.01)
    >>> support = model.transitions > 0
    >>> mdp.perturb_with_noise(model, scale, "laplace", 1, support=support).batch
    ()
    """
    _refuse_batch(mdp)
    mask = checks.mask("support", support, mdp.transitions.shape)[mdp.allowed]
    vectors = mdp.transitions[mdp.allowed]
    noisy = dirichlet.noisy_matrix(
        vectors, scale, noise, support=mask, size=size, rng=rng
    )
    return _with_vectors(mdp, project_to_simplex(noisy, support=mask))


def _refuse_batch(mdp: MDP) -> None:
    """Raise TypeError or ValueError unless this is a single model."""
    refuse_other("mdp", mdp)
    if mdp.batch:
        raise ValueError(f"mdp must be one model, got a batch of shape {mdp.batch}")


def _with_vectors(mdp: MDP, vectors: Array) -> MDP:
    """Return the model with these vectors (..., V, S) for the allowed actions."""
    transitions = np.zeros((*vectors.shape[:-2], *mdp.transitions.shape))
    transitions[..., mdp.allowed, :] = vectors
    return replace(mdp, transitions=transitions)
