"""From a probability vector or a transition matrix to its private version in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, private
from dpsim.checks import Array, Integers
from dpsim.dirichlet import matrix, mechanism
from dpsim.numerics import simplex

SMALLEST_SHAPE = 0.5  # of k eta: below it a change of many entries at once can cost more than one of two
SMALLEST_COMPOSED = 1e-3  # of b / 2 and eta where losses add: below it their grid is coarse
INSIDE = 1e-9  # how far roundings may put a matrix off the paper's domain


def privatize(
    P: Any,
    epsilon: float,
    delta: float,
    *,
    support: ArrayLike,
    eta: float,
    records: ArrayLike | None = None,
    b: float | None = None,
    protected: ArrayLike | None = None,
    eta_bar: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return an (epsilon, delta)-private version of a probability vector or of a transition matrix.

    Every row is one draw of the Dirichlet mechanism with the largest k that the exact accounting allows. Exactly one of
    `records` and `b` says what is protected. Without `protected` P may be anything: it is projected onto the vectors
    whose entries on the support are at least eta. With it P must lie in the domain of Fallin et al. 2023. All arguments
    but P are public: k, and every refusal but that of the domain, depend on them alone. For an epsilon out of reach the
    ValueError says which one is in reach. The result is a `private.Private`: `value`, labelled as P was, `statement`,
    and `parameters` with k, eta and shift.

    Parameters
    ----------
    P : array_like, Series or DataFrame, shape (n,) or (rows, n); probability vectors
    epsilon : float, in (0, 1e30]
    delta : float, in (0, 1), where the losses of rows add in [1e-11, 1)
    support : array_like of bool, broadcast to P
        Which entries are possible; the others are 0 in what is returned. True: all of them.
    eta : float
        The border, in (0, 1/m) for rows of m possible entries. It must not be read from P.
    records : array_like, broadcast to the rows, optional
        N: how many records stand behind each row, fixed and public. Protected is one record of one row (Benvenuti et
        al. 2026, Definition 3): neighbours differ by 1/N in two entries of one row, and each row has a k of its own.
    b : float, optional
        In (0, 1], where the losses of rows add in [0.002, 1], and eta at least 0.001 there. Protected is every row at
        once by up to b in 1-norm (Fallin et al. 2023, Definition 4): the losses of the rows that have a choice add.
    protected : array_like of bool, broadcast to P, optional
        The paper's sets W_i, on the support, at least two entries of each row and not all; with `b` and `eta_bar`.
        Neighbours differ in two protected entries of each row, as in Definition 4, so that any k will do.
    eta_bar : float, optional
        The paper's second border: the protected entries of a row are together at most 1 - eta_bar.
    rng : numpy.random.Generator or int, optional
        None draws from the operating system's entropy. Anything else makes a simulation, and the result says so.

    Notes
    -----
    *The projection costs nothing*: it moves no two vectors further apart in total variation. It is max(x_j - tau, L_j)
    on the support, tau making the sum 1. Let s move from entry i to entry j. If tau does not fall, no entry but j
    rises, and j by at most s; if tau does not rise, no entry but i falls, and i by at most s. (An entry off the support
    does not count.) Either way the projections are at most s apart. A larger change is a sequence of such moves whose
    distances add up to its own. So neighbours s apart stay within s, but may then differ in many entries; the bound of
    the 2-norm, which falls as well, would be worse by a factor sqrt(n / 2).

    *Many entries cost no more than two* where k eta >= 1/2 (proof: `dpsim.accounting.dirichlet`): with s = 1/N or b/2
    (or 1 - m eta, the diameter of what is projected onto, where that is smaller), a row costs at most the exact profile
    of Beta(k eta + k s, k eta) against its mirror. That is attained for rows of three or more possible entries under
    `b`, and under `records` where eta N is an integer; elsewhere it is a bound. Under `b` with several rows it is
    composed, an upper bound by convolution within 1e-4 of the truth.

    *The paper's domain* (Definitions 1, 3 and 6): entries of W_i of at least eta with a sum of at most 1 - eta_bar.
    Nothing is projected there, since that could move entries outside W_i, and neighbours outside the domain are not
    covered. Two entries alone move, so the profile is exact for every k: for one row, and composed for several.

    Rows with one possible entry are certain and cost nothing. What the roundings of floats may reveal is not covered.

    Examples
    --------
    >>> made = privatize([0.2, 0.3, 0.5], 1.0, 1e-3, support=True, eta=0.1, records=500, rng=1)
    >>> made.value.round(2), made.simulation
    (array([0.2, 0.3, 0.5]), True)
    """
    values, labelled = private.unlabelled(P)
    vectors = checks.simplex("P", values)
    if vectors.ndim > 2:
        raise ValueError(f"P must be one vector or one matrix, got shape {vectors.shape}")
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 1e30, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    eta = checks.scalar("eta", eta, 0.0, 0.5, open_low=True, open_high=True)
    allowed = checks.mask("support", support, vectors.shape)
    if (protected is None) != (eta_bar is None) or (protected is not None and b is None):
        raise ValueError("protected and eta_bar must be given together, with b")
    inside, outer = allowed, 0.0
    if protected is not None:
        inside = checks.mask("protected", protected, vectors.shape)
        outer = checks.scalar("eta_bar", eta_bar, 0.0, 0.5 - eta, open_low=True, open_high=True)
        simplex._refuse_protected(inside, allowed & ~inside, allowed, eta, outer)
    entries = inside.sum(axis=-1)
    shift, together, adjacency = _neighbours(entries, 1.0 - outer, eta, records, b)
    k = _largest_k(epsilon, delta, eta, shift, together, two_move=protected is not None)
    generator, simulation = private.source(rng)
    if protected is None:
        brought = simplex.project_to_simplex(vectors, lower=eta, support=allowed)
        domain = "for all probability vectors: each row is projected onto entries of at least "
        domain += f"eta = {eta:g} on a public support of {_range(entries)} entries, then"
    else:
        brought = simplex.project_to_bordered_simplex(
            vectors, eta=eta, eta_bar=outer, protected=inside, support=allowed
        )
        if np.abs(brought - vectors).max() > INSIDE:
            raise ValueError(
                f"P must lie in the domain: zero off the support, protected entries of at least eta = {eta:g}, "
                f"together at most 1 - eta_bar = {1.0 - outer:g} in each row"
            )
        domain = f"between neighbours in one public domain: in each row {_range(entries)} protected entries "
        domain += f"of at least eta = {eta:g}, together at most {1.0 - outer:g}; each row is"
    exact = together == 1 and (protected is not None or (records is None and entries.min() > 2))
    statement = (
        f"({epsilon:g}, {delta:g})-differentially private, {'exact' if exact else 'a proven bound'}; "
        f"neighbours: {adjacency}. It holds {domain} drawn from Dir(k P), k = {_range(k)}."
    )
    return private.made(
        labelled(mechanism.dirichlet_mechanism(brought, k, rng=generator)),
        statement,
        epsilon=epsilon,
        delta=delta,
        simulation=simulation,
        k=k,
        eta=eta,
        shift=checks.plain(shift),
    )


def _neighbours(
    possible: Integers, room: float, eta: float, records: ArrayLike | None, b: float | None
) -> tuple[Array, int, str]:
    """Return how far a row of a neighbour can be in total variation, shape of the rows, 0 where a row has no choice,
    how many rows move at once, and what is protected. A row has so many `possible` entries, each at least eta, together
    at most `room`."""
    if (records is None) == (b is None):
        raise ValueError("exactly one of records and b must be given: it says what is protected")
    if (possible == 0).any() or not (possible > 1).any():
        raise ValueError(f"support must leave each row an entry and some row a choice, got {possible.tolist()} entries")
    if possible.max() * eta >= room:
        raise ValueError(f"eta must be below {room / possible.max():g}, got {eta:g}: the border leaves no room")
    if records is not None:
        step = 1.0 / checks.fitted("records", checks.real("records", records, 1.0, 1e15), possible.shape)
        together, words = 1, "one record of one row replaced, the number of records of each row being public"
    else:
        step = np.full(possible.shape, 0.5 * checks.scalar("b", b, 0.0, 1.0, open_low=True))
        together = int((possible > 1).sum())
        words = f"every row changed at once by up to {b:g} in 1-norm" if together > 1 else f"1-norm of at most {b:g}"
    if together > 1:
        checks.scalar("eta", eta, SMALLEST_COMPOSED)
        checks.real("b", 2.0 * step, 2.0 * SMALLEST_COMPOSED)
    shift = np.where(possible > 1, np.minimum(step, room - possible * eta), 0.0)
    return shift, together, words


def _largest_k(epsilon: float, delta: float, eta: float, shifts: Array, together: int, two_move: bool) -> Any:
    """Return the largest k for the target, one for each row unless their losses add."""
    moving = shifts > 0.0
    shift, least = shifts[moving], SMALLEST_SHAPE / eta
    if two_move:  # any k in the accounting's range
        least = accounting.dirichlet.PARAMETER_RANGE[0] / min(eta, shift.min()) * (1.0 + 1e-9)
    if together > 1:
        return matrix.largest_k(epsilon, delta, shift=shift, eta=eta, least=least)
    cost = float(accounting.exact_epsilon(delta, least, shift=shift, eta=eta).max())
    if epsilon < cost:
        raise ValueError(
            f"epsilon must be at least {cost:.6g} at delta {delta:g} for the border eta = {eta:g}, got {epsilon:g}: "
            f"less needs k eta below {least * eta:g}; a wider border, more records or a smaller b reach it"
        )
    of_moving = np.maximum(least, accounting.calibrate_k(epsilon, delta, shift=shift, eta=eta))
    k = np.full(moving.shape, of_moving.max())  # any will do for rows without a choice
    k[moving] = of_moving
    return checks.plain(k)


def _range(values: ArrayLike) -> str:
    low, high = np.min(values), np.max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
