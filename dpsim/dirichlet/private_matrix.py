"""A private probability vector or transition matrix in one call, and additive noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, private
from dpsim.checks import Array, Integers, Mask
from dpsim.dirichlet import matrix
from dpsim.dirichlet.mechanism import dirichlet_mechanism
from dpsim.numerics import simplex

# With a smaller k eta, a change of many entries can have a larger delta than a change
# of two.
LARGEST_SCALE = 1e300
SMALLEST_K_ETA = 0.5
# the smallest b / 2 and eta if losses add up; below them, the grid is too coarse
SMALLEST_COMPOSED = 1e-3
INSIDE = 1e-9  # the distance from the paper's domain that is regarded as rounding


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
    """Return a private probability vector or transition matrix, as `private.Private`.

    Each row is released by the Dirichlet mechanism with the largest k for which the
    exact accounting gives (epsilon, delta)-differential privacy. Neighbours differ by
    `b`, or in one of `records` (give exactly one of these two arguments), either in one
    row or in all rows, as `rows` states.

    Without `protected`, P may be any transition matrix, because its rows are first
    projected onto the vectors whose entries on the support are at least eta. With
    `protected`, P must be in the domain of Fallin et al. 2023. All arguments except P
    are public, and k depends only on them. The same is true of every ValueError, except
    the one for a P outside that domain. If no k reaches the given epsilon, a ValueError
    says which epsilon can be reached. The `parameters` of the result are k, eta and
    shift.

    Parameters
    ----------
    P : array_like, Series or DataFrame, shape (n,) or (rows, n); probability vectors
        Its shape and its labels are public, and the release has the same shape and
        labels. Arrays of float32 or float16 raise ValueError, because their rounding
        moves neighbours further apart. For 10^7 records, neighbours can be up to
        1.19 / N apart instead of 1 / N.
    epsilon : float, in (0, 1e30]
    delta : float, in (0, 1)
    support : array_like of bool, which broadcasts to P
        Which entries are possible; the others are 0 in the release. True means all of
        them.
    eta : float, in (0, 1/m), where m is the largest number of possible entries in a row
        The public minimum, which must not be computed from P.
    b : float, in (0, 1], optional
        The largest distance in 1-norm between the rows of neighbours (Fallin et al.
        2023, Definition 4).
    records : array_like, which broadcasts to the rows, optional
        The public number N of records that are counted in each row. Neighbours differ
        in one record, so 1/N moves from one entry of a row to another (Benvenuti et al.
        2026, Definition 3).
    rows : {"one", "all"}
        Needed only if more than one row has several possible entries. With "one",
        neighbours differ in one row, and each row has its own k. With "all", they may
        differ in every row, so the losses of all rows add up. Then delta must be at
        least 1e-11, b (or 2/N) at least 0.002, and eta at least 0.001.
    protected : array_like of bool, which broadcasts to P, optional
        The sets W_i of Fallin et al. 2023, to be given with `eta_bar` and `b`. In each
        row, W_i contains at least two entries of the support, but not all of them.
        Neighbours differ in two protected entries of a row, as in Definition 4.
        Together with `records` they raise ValueError, because a record may also move to
        or from an entry that is not protected. Such an entry may be smaller than eta,
        and then there is no bound on the loss.
    eta_bar : float, optional
        The protected entries of each row sum to at most 1 - eta_bar.
    rng : numpy.random.Generator or int, optional
        None means the operating system's entropy. With anything else, the result is a
        simulation, and its statement says so.

    Returns
    -------
    private.Private
        The release in the shape of P, its guarantee and its statement.

    Notes
    -----
    *The projection costs no privacy*, because it moves no two vectors further apart in
    total variation. On the support, it is max(x_j - tau, L_j), where tau makes the sum
    1. Let an amount s move from entry i to entry j. If tau does not fall, only entry j
    rises, by at most s. If tau does not rise, only entry i falls, by at most s. (An
    entry off the support does not count.) In both cases the projections are at most s
    apart. Any other change is a sequence of such moves whose distances add up to its
    own. So neighbours at distance s remain within distance s, although they may then
    differ in many entries. The projection does not increase the 2-norm either, but a
    bound based on the 2-norm would be worse by a factor of sqrt(n / 2).

    *A change of many entries costs no more than a change of two* if k eta >= 1/2
    (proven in `dpsim.accounting.exact`). Let s be 1/N or b/2, or 1 - m eta, the
    diameter of the set of projections, if that is smaller. Then the delta of a row is
    at most that of Beta(k eta + k s, k eta) against its mirror image. With `b`, this
    value is attained for rows with at least three possible entries. With `records`, it
    is attained if, in addition, eta N is an integer. Otherwise it is an upper bound,
    and so is epsilon where the largest k of the accounting has a smaller one. If all
    rows change, the rows are composed, which gives an upper bound within 1e-4 of the
    exact delta.

    *In the domain of Fallin et al.* (Definitions 1, 3 and 6) the entries of W_i are at
    least eta, and their sum is at most 1 - eta_bar. P is not projected onto this
    domain, because that could change entries outside W_i. Neighbours outside the domain
    are not covered. Neighbours differ in two entries, so the delta of one row is exact
    for every k. Several rows are composed.

    Rows with one possible entry are certain and reveal nothing. The guarantee does not
    cover what rounding errors may reveal.

    Examples
    --------
    >>> p = [0.2, 0.3, 0.5]
    >>> release = privatize(p, 1.0, 1e-3, support=True, eta=0.1, records=500, rng=1)
    >>> release.value.round(2), release.simulation
    (array([0.2, 0.3, 0.5]), True)
    """
    values, labelled = private.strip_labels(P)
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize < 8:
        raise ValueError(
            f"P must have entries of at least 64 bits, got {kind}: its rounding moves "
            "neighbours further apart than b or records say, so compute P in float64"
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
    if protected is None or eta_bar is None:
        domain = _all_matrices(allowed, eta)
    elif records is None:
        domain = _papers_domain(allowed, eta, protected, eta_bar)
    else:
        raise ValueError(
            "protected must go with b, not with records, "
            "because a record may move to any other entry"
        )
    neighbours = _neighbours(domain, eta, b, records, rows)
    k = _largest_k(epsilon, delta, eta, neighbours, domain.two_entries)
    largest = accounting.exact.PARAMETER_RANGE[1] / np.maximum(eta, neighbours.shift)
    exact = (
        neighbours.together == 1
        and records is None
        and (domain.two_entries or domain.entries.min() > 2)
        and np.any(k < largest * (1.0 - INSIDE))
    )
    mechanism = private.Mechanism(
        epsilon=epsilon,
        delta=delta,
        statement=(
            f"({private.round_up(epsilon, '.6g')}, {private.round_up(delta, '.6g')})"
            "-differentially private, "
            f"{'exact' if exact else 'a proven upper bound'}; "
            f"neighbours: {neighbours.words}. "
            f"It holds {domain.words} drawn from Dir(k P), k = {_range(k)}. "
            "Everything but the entries of P is public, labels included. "
            "What the rounding of floats may reveal is not covered."
        ),
        draw=lambda secret, generator: labelled(
            dirichlet_mechanism(domain.means(secret), k, rng=generator)
        ),
        parameters={"k": k, "eta": eta, "shift": checks.plain(neighbours.shift)},
    )
    return mechanism.release(vectors, rng)


@dataclass(frozen=True)
class _Domain:
    """The public set of matrices that a guarantee covers.

    Attributes
    ----------
    means : callable
        Returns the means of the draws, which are in the set, for a given matrix.
    entries : ndarray of int, shape (rows,)
        How many entries of each row may change; each of them is at least eta.
    most : float
        The largest sum of these entries in a row.
    two_entries : bool
        Whether neighbours differ in only two entries of a row.
    words : str
        What the statement says about the set.
    """

    means: Callable[[Array], Array]
    entries: Integers
    most: float
    two_entries: bool
    words: str


def _all_matrices(allowed: Mask, eta: float) -> _Domain:
    """Return all matrices, whose rows are first projected onto entries >= eta."""
    entries = allowed.sum(axis=-1)
    return _Domain(
        means=partial(simplex.project_to_simplex, lower=eta, support=allowed),
        entries=entries,
        most=1.0,
        two_entries=False,
        words=(
            "for all probability vectors: each row is projected onto entries of "
            f"at least eta = {eta!r} on a public support of {_range(entries)} entries, "
            "then"
        ),
    )


def _papers_domain(
    allowed: Mask, eta: float, protected: ArrayLike, eta_bar: float
) -> _Domain:
    """Return the domain of Fallin et al. 2023."""
    inside = checks.mask("protected", protected, allowed.shape)
    nearest = partial(
        simplex.project_to_bordered_simplex,
        eta=eta,
        eta_bar=eta_bar,
        protected=inside,
        support=allowed,
    )
    nearest(np.zeros(allowed.shape))  # it checks these arguments
    entries = inside.sum(axis=-1)
    most = 1.0 - float(eta_bar)

    def means(vectors: Array) -> Array:
        projected = nearest(vectors)
        if np.abs(projected - vectors).max() > INSIDE:
            raise ValueError(
                "P must lie in the domain: zero off the support, protected entries of "
                f"at least eta = {eta!r}, together at most 1 - eta_bar = {most!r} "
                "in each row"
            )
        return projected

    return _Domain(
        means=means,
        entries=entries,
        most=most,
        two_entries=True,
        words=(
            f"between neighbours in one public domain: in each row {_range(entries)} "
            f"protected entries of at least eta = {eta!r}, together at most {most!r}; "
            "each row is"
        ),
    )


@checks.fits_into_memory("size")
def noisy_matrix(
    P: ArrayLike,
    scale: float,
    noise: str,
    *,
    support: ArrayLike | None = None,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return P with independent noise added on its support, shape ``(*size, ..., n)``.

    The rows of the result are not yet probability vectors.

    Parameters
    ----------
    P : array_like, shape (..., n); probability vectors
    scale : float, above 0
        The mean absolute value of Laplace noise, or the standard deviation of Gaussian
        noise.
    noise : {"laplace", "gaussian"}
    support : bool array, which broadcasts to P, optional
        None means the positive entries of P.
    size, rng : as in `dirichlet_mechanism`

    Returns
    -------
    ndarray, shape ``(*size, ..., n)``
        The noisy matrices.

    Examples
    --------
    >>> noisy_matrix([[0.5, 0.5]], 0.1, "laplace", rng=1).round(2)
    array([[0.5 , 0.73]])
    """
    rng = checks.generator(rng)
    P = checks.simplex("P", P)
    scale = checks.scalar("scale", scale, 0.0, LARGEST_SCALE, open_low=True)
    sizes = checks.size("size", size)
    samplers = {"laplace": rng.laplace, "gaussian": rng.normal}
    sample = samplers[checks.choice("noise", noise, samplers)]
    allowed = P > 0.0 if support is None else checks.mask("support", support, P.shape)
    noisy = np.broadcast_to(P, sizes + P.shape).copy()
    noisy[..., allowed] += sample(0.0, scale, (*sizes, int(allowed.sum())))
    return noisy


class _Neighbours(NamedTuple):
    """How neighbours differ.

    Attributes
    ----------
    shift : ndarray, shape (rows,)
        The total variation distance between the rows of two neighbours, or 0 if a row
        has only one possible entry.
    together : int
        The number of rows that change at once.
    words : str
        What the statement says about it.
    """

    shift: Array
    together: int
    words: str


def _neighbours(
    domain: _Domain,
    eta: float,
    b: float | None,
    records: ArrayLike | None,
    rows: str | None,
) -> _Neighbours:
    """Return how neighbours in a domain differ."""
    possible = domain.entries
    if (records is None) == (b is None):
        raise ValueError(
            "exactly one of b and records must be given: "
            "it says how far a row of a neighbour moves"
        )
    choices = int((possible > 1).sum())
    if (possible == 0).any() or not choices:
        raise ValueError(
            "support must leave each row an entry and some row a choice, "
            f"got {possible.tolist()} entries"
        )
    if rows is not None or choices > 1:
        checks.choice("rows", rows, ("one", "all"))
    if possible.max() * eta >= domain.most:
        raise ValueError(
            f"eta must be below {domain.most / possible.max():g}, got {eta:g}: "
            "the public minimum leaves no room"
        )
    together = choices if rows == "all" else 1
    moving = "one row" if choices > 1 else "the row"
    at_once = ""
    if together > 1:
        moving = "every row"
        at_once = " at once"
    if records is not None:
        records = checks.real("records", records, 1.0, 1e15)
        step = 1.0 / checks.fitted("records", records, possible.shape)
        words = (
            f"one record of {moving} replaced{at_once}, "
            "the number of records of each row being public"
        )
    else:
        b = checks.scalar("b", b, accounting.noise_scales.SMALLEST_B, 1.0)
        step = np.full(possible.shape, 0.5 * b)
        part = "two protected entries of " if domain.two_entries else ""
        words = f"{part}{moving} changed{at_once}, by up to {b!r} in 1-norm"
    if together > 1:
        checks.scalar("eta", eta, SMALLEST_COMPOSED)
        checks.real("b", 2.0 * step, 2.0 * SMALLEST_COMPOSED)
    room = domain.most - possible * eta
    shift = np.where(possible > 1, np.minimum(step, room), 0.0)
    return _Neighbours(shift, together, words)


def _largest_k(
    epsilon: float,
    delta: float,
    eta: float,
    neighbours: _Neighbours,
    two_entries: bool,
) -> Any:
    """Return the largest private k for each row or, if losses add up, for all rows.

    If neighbours differ in only two entries of a row, every k in the range of the
    accounting is allowed.
    """
    moving = neighbours.shift > 0.0
    shift = neighbours.shift[moving]
    least = SMALLEST_K_ETA / eta
    if two_entries:
        smallest = accounting.exact.PARAMETER_RANGE[0]
        least = smallest / min(eta, shift.min()) * (1.0 + 1e-9)
    if neighbours.together > 1:
        return matrix.largest_k(epsilon, delta, shift=shift, eta=eta, least=least)
    cost = float(accounting.exact_epsilon(delta, least, shift=shift, eta=eta).max())
    if epsilon < cost:
        reached = private.round_up(cost, ".6g")
        raise ValueError(
            f"epsilon must be at least {reached} at delta {delta:g} for the public "
            f"minimum eta = {eta:g}, got {epsilon:g}: less needs k eta below "
            f"{least * eta:g}; a larger minimum, more records or a smaller b reach it"
        )
    calibrated = accounting.calibrate_k(epsilon, delta, shift=shift, eta=eta)
    of_moving = np.maximum(least, calibrated)
    k = np.full(moving.shape, of_moving.max())  # any k does for rows that are certain
    k[moving] = of_moving
    return checks.plain(k)


def _range(values: ArrayLike) -> str:
    low, high = np.min(values), np.max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
