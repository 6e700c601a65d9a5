"""A private probability vector or transition matrix in one call, and the noise with which it is compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, private
from dpsim.checks import Array, Integers
from dpsim.dirichlet import matrix, mechanism
from dpsim.numerics import simplex

SMALLEST_K_ETA = (
    0.5  # below it a change of many entries at once can cost more than a change of two
)
SMALLEST_COMPOSED = (
    1e-3  # of b / 2 and eta if losses add up, because their grid is too coarse below it
)
INSIDE = 1e-9  # how far rounding may put a matrix outside the paper's domain


def privatize(
    P: Any,
    epsilon: float,
    delta: float,
    *,
    support: ArrayLike,
    eta: float,
    b: float | None = None,
    records: ArrayLike | None = None,
    rows: str | None = None,
    protected: ArrayLike | None = None,
    eta_bar: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return an (epsilon, delta)-private version of a probability vector or of a transition matrix.

    Every row is one draw of the Dirichlet mechanism with the largest k that the exact accounting allows. Neighbours are
    described by how far a row moves (`b` or `records`, exactly one of them) and by how many rows move (`rows`). Without
    `protected`, P may be any transition matrix, because its rows are projected onto the vectors whose entries on the
    support are at least eta. With `protected`, P must lie in the domain of Fallin et al. 2023. All arguments except P
    are public, and k and every refusal except that of the domain depend only on them. When no k reaches the given
    epsilon, the ValueError says which epsilon can be reached. The result is a `private.Private` with the `value`,
    labelled as P was, the `statement`, and `parameters` with k, eta and shift.

    Parameters
    ----------
    P : array_like, Series or DataFrame, shape (n,) or (rows, n); probability vectors
        Its shape and its labels are public, and the release has the same. Arrays of float32 or float16 are refused,
        because their rounding moves neighbours further apart: for 10^7 records by up to 1.19 / N instead of 1 / N.
    epsilon : float, in (0, 1e30]
    delta : float, in (0, 1)
    support : array_like of bool, broadcast to P
        Which entries are possible; the others are 0 in the release. True means all of them.
    eta : float
        The public minimum, in (0, 1/m) for rows of m possible entries. It must not be read from P.
    b : float, optional
        In (0, 1]: the row of a neighbour is at most b away in 1-norm (Fallin et al. 2023, Definition 4).
    records : array_like, broadcast to the rows, optional
        N, fixed and public: each row is counted from N records, of which one is replaced, so that 1/N moves from one
        entry to another (Benvenuti et al. 2026, Definition 3) and b is 2/N.
    rows : {"one", "all"}, required if more than one row has a choice
        With "one", neighbours differ in one row, and each row has a k of its own. With "all", every row may differ, and
        the losses of all rows that have a choice add up. For "all" delta must be at least 1e-11, b at least 0.002 and
        eta at least 0.001.
    protected : array_like of bool, broadcast to P, optional
        The paper's sets W_i, with `eta_bar` and `b`. In each row they hold at least two entries of the support, but not
        all. Neighbours differ in two protected entries of a row, as in Definition 4, so any k is covered. `records` is
        refused, because a replaced record may also move to or from an entry that is not protected. Such an entry may be
        smaller than eta, and then nothing bounds the loss.
    eta_bar : float, optional
        The paper's second minimum: the protected entries of a row are together at most 1 - eta_bar.
    rng : numpy.random.Generator or int, optional
        None draws from the operating system's entropy. With anything else the result is a simulation and says so.

    Notes
    -----
    *The projection costs nothing.* It moves no two vectors further apart in total variation. The projection is max(x_j
    - tau, L_j) on the support, where tau makes the sum 1. Let s move from entry i to entry j. If tau does not fall,
    only entry j rises, by at most s. If tau does not rise, only entry i falls, by at most s. (An entry off the support
    does not count.) Either way the projections are at most s apart. A larger change is a sequence of such moves whose
    distances add up to its own. So neighbours that are s apart stay within s, but may then differ in many entries. A
    bound by the 2-norm, which the projection does not increase either, would be worse by a factor sqrt(n / 2).

    *Many entries cost no more than two* if k eta >= 1/2 (proof: `dpsim.accounting.dirichlet`). With s = 1/N or b/2 (or
    1 - m eta, the diameter of the set that is projected onto, if that is smaller), a row costs at most the exact
    profile of Beta(k eta + k s, k eta) against its mirror. This profile is attained for rows of three or more possible
    entries under `b`, and under `records` if eta N is an integer; otherwise it is an upper bound. If all rows move, the
    profiles are composed, and the convolution gives an upper bound within 1e-4 of the exact value.

    *The domain of Fallin et al.* (Definitions 1, 3 and 6) has entries of W_i of at least eta with a sum of at most 1 -
    eta_bar. Nothing is projected there, since that could move entries outside W_i, and neighbours outside the domain
    are not covered. Neighbours differ in two entries, so the profile is exact for every k if one row moves. For several
    rows the profiles are composed.

    Rows with one possible entry are certain and reveal nothing. The guarantee does not cover information that rounding
    errors may reveal.

    Examples
    --------
    >>> made = privatize([0.2, 0.3, 0.5], 1.0, 1e-3, support=True, eta=0.1, records=500, rng=1)
    >>> made.value.round(2), made.simulation
    (array([0.2, 0.3, 0.5]), True)
    """
    values, labelled = private.strip_labels(P)
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize < 8:
        raise ValueError(
            f"P must have entries of at least 64 bits, got {kind}: its rounding moves neighbours further apart than b "
            "or records say, so compute P in float64"
        )
    vectors = checks.simplex("P", values)
    if vectors.ndim > 2:
        raise ValueError(
            f"P must be one vector or one matrix, got shape {vectors.shape}"
        )
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 1e30, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    eta = checks.scalar("eta", eta, 0.0, 0.5, open_low=True, open_high=True)
    allowed = checks.mask("support", support, vectors.shape)
    if (protected is None) != (eta_bar is None):
        raise ValueError("protected and eta_bar must be given together")
    if protected is not None and records is not None:
        raise ValueError(
            "protected must go with b, not with records, because a record may move to any other entry"
        )
    inside, most = allowed, 1.0
    if protected is not None and eta_bar is not None:
        inside = checks.mask("protected", protected, vectors.shape)
        means = simplex.project_to_bordered_simplex(
            vectors, eta=eta, eta_bar=eta_bar, protected=inside, support=allowed
        )
        most = 1.0 - float(eta_bar)
    entries = inside.sum(axis=-1)
    changed = "" if protected is None else "two protected entries of "
    shift, together, adjacency = _neighbours(
        entries, most, eta, b, records, rows, changed
    )
    k = _largest_k(epsilon, delta, eta, shift, together, two_move=protected is not None)
    generator, simulation = private.source(rng)
    if protected is None:
        means = simplex.project_to_simplex(vectors, lower=eta, support=allowed)
        where = "for all probability vectors: each row is projected onto entries of at least "
        where += f"eta = {eta!r} on a public support of {_range(entries)} entries, then"
    else:
        if np.abs(means - vectors).max() > INSIDE:
            raise ValueError(
                f"P must lie in the domain: zero off the support, protected entries of at least eta = {eta!r}, "
                f"together at most 1 - eta_bar = {most!r} in each row"
            )
        where = f"between neighbours in one public domain: in each row {_range(entries)} protected entries "
        where += f"of at least eta = {eta!r}, together at most {most!r}; each row is"
    exact = (
        together == 1
        and records is None
        and (protected is not None or entries.min() > 2)
    )
    promised = f"({private.round_up(epsilon, '.6g')}, {private.round_up(delta, '.6g')})"
    statement = (
        f"{promised}-differentially private, {'exact' if exact else 'a proven upper bound'}; "
        f"neighbours: {adjacency}. It holds {where} drawn from Dir(k P), k = {_range(k)}. "
        "Everything but the entries of P is public, labels included. What the rounding of floats may reveal is not "
        "covered."
    )
    value = labelled(mechanism.dirichlet_mechanism(means, k, rng=generator))
    parameters = {"k": k, "eta": eta, "shift": checks.plain(shift)}
    return private.result(
        value,
        statement,
        epsilon=epsilon,
        delta=delta,
        simulation=simulation,
        **parameters,
    )


def noisy_matrix(
    P: ArrayLike,
    scale: float,
    noise: str,
    *,
    support: ArrayLike | None = None,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return P plus independent noise on its support, shape ``(*size, ..., n)``. The result is not yet stochastic.

    Parameters
    ----------
    P : array_like, shape (..., n); probability vectors
    scale : float
        Above 0: the mean absolute value of the Laplace noise, or the standard deviation of the Gaussian noise.
    noise : {"laplace", "gaussian"}
    support : bool array, broadcast to P, optional; None: the positive entries of P
    size, rng : as in `dirichlet_mechanism`

    Examples
    --------
    >>> noisy_matrix([[0.5, 0.5]], 0.1, "laplace", rng=1).round(2)
    array([[0.5 , 0.73]])
    """
    rng = checks.generator(rng)
    P = checks.simplex("P", P)
    scale = checks.scalar("scale", scale, 0.0, open_low=True)
    sizes = checks.size("size", size)
    laws = {"laplace": rng.laplace, "gaussian": rng.normal}
    draw = laws[checks.choice("noise", noise, laws)]
    allowed = P > 0.0 if support is None else checks.mask("support", support, P.shape)
    noisy = np.broadcast_to(P, sizes + P.shape).copy()
    noisy[..., allowed] += draw(0.0, scale, (*sizes, int(allowed.sum())))
    return noisy


def _neighbours(
    possible: Integers,
    room: float,
    eta: float,
    b: float | None,
    records: ArrayLike | None,
    rows: str | None,
    changed: str = "",
) -> tuple[Array, int, str]:
    """Return the total variation distance of a row to that of a neighbour, the number of rows that move at once, and a
    description of what is protected.

    The distance has the shape of the rows, and is 0 for a row without a choice. `possible` is the number of possible
    entries of each row. Each of them is at least eta, and together they are at most `room`. `changed` says in words
    which entries of a row change, if not all may.
    """
    if (records is None) == (b is None):
        raise ValueError(
            "exactly one of b and records must be given: it says how far a row of a neighbour moves"
        )
    choices = int((possible > 1).sum())
    if (possible == 0).any() or not choices:
        raise ValueError(
            f"support must leave each row an entry and some row a choice, got {possible.tolist()} entries"
        )
    if rows is not None or choices > 1:
        checks.choice("rows", rows, ("one", "all"))
    if possible.max() * eta >= room:
        raise ValueError(
            f"eta must be below {room / possible.max():g}, got {eta:g}: the public minimum leaves no room"
        )
    together = choices if rows == "all" else 1
    moving = "one row" if choices > 1 else "the row"
    at_once = ""
    if together > 1:
        moving = "every row"
        at_once = " at once"
    if records is not None:
        step = 1.0 / checks.fitted(
            "records", checks.real("records", records, 1.0, 1e15), possible.shape
        )
        words = f"one record of {moving} replaced{at_once}, the number of records of each row being public"
    else:
        b = checks.scalar("b", b, 0.0, 1.0, open_low=True)
        step = np.full(possible.shape, 0.5 * b)
        words = f"{changed}{moving} changed{at_once}, by up to {b!r} in 1-norm"
    if together > 1:
        checks.scalar("eta", eta, SMALLEST_COMPOSED)
        checks.real("b", 2.0 * step, 2.0 * SMALLEST_COMPOSED)
    shift = np.where(possible > 1, np.minimum(step, room - possible * eta), 0.0)
    return shift, together, words


def _largest_k(
    epsilon: float,
    delta: float,
    eta: float,
    shifts: Array,
    together: int,
    two_move: bool,
) -> Any:
    """Return the largest k for the target, one for each row unless their losses add up."""
    moving = shifts > 0.0
    shift = shifts[moving]
    least = SMALLEST_K_ETA / eta
    if two_move:  # any k in the range of the accounting
        least = (
            accounting.dirichlet.PARAMETER_RANGE[0]
            / min(eta, shift.min())
            * (1.0 + 1e-9)
        )
    if together > 1:
        return matrix.largest_k(epsilon, delta, shift=shift, eta=eta, least=least)
    cost = float(accounting.exact_epsilon(delta, least, shift=shift, eta=eta).max())
    if epsilon < cost:
        reached = private.round_up(cost, ".6g")
        raise ValueError(
            f"epsilon must be at least {reached} at delta {delta:g} for the public minimum eta = {eta:g}, "
            f"got {epsilon:g}: less needs k eta below {least * eta:g}; "
            "a larger minimum, more records or a smaller b reach it"
        )
    of_moving = np.maximum(
        least, accounting.calibrate_k(epsilon, delta, shift=shift, eta=eta)
    )
    k = np.full(moving.shape, of_moving.max())  # rows without a choice may have any k
    k[moving] = of_moving
    return checks.plain(k)


def _range(values: ArrayLike) -> str:
    low, high = np.min(values), np.max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
