"""Private shares and chains from counts: Algorithms 1 and 2, and tempered posteriors.

The algorithms are those of Benvenuti et al. 2026. The rows of counts (..., n, n) are
the states in which transitions begin. Neighbours differ in the state in which one
transition ends, so two shares in one row change by 1/N_i (Definition 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from dpsim import checks
from dpsim.checks import Array
from dpsim.dirichlet.mechanism import dirichlet_mechanism
from dpsim.dirichlet.theorem1 import theorem1_delta_bounds, theorem1_vector_epsilon

SMALLEST_SHAPE = 1e-150  # SciPy 1.17's incomplete beta function is wrong below 1e-154


class Rows(NamedTuple):
    """The quantities that Theorem 1 requires for each row of counts.

    Attributes
    ----------
    total : ndarray, shape (...)
        The number N_i of records.
    categories : ndarray, shape (...)
        The number n_i of positive counts; shares that are 0 are also 0 in the release.
    eta : ndarray, shape (...)
        The smallest positive share eta_i.
    k_min : ndarray, shape (...)
        The smallest k that Assumption 4 allows, 3 / (2 eta_i).
    """

    total: Array
    categories: Array
    eta: Array
    k_min: Array


def rows(counts: ArrayLike) -> Rows:
    """Return N_i, n_i, eta_i and k_min,i of each row of counts, as `Rows`.

    Table 1 of the paper implies that its simulations take eta_i from the data. In that
    case, the guarantee holds only for databases with no share below eta_i.

    Parameters
    ----------
    counts : array_like, shape (..., n); at least 0, with a positive count in every row

    Returns
    -------
    Rows
        The quantities of each row, each of shape (...).

    Examples
    --------
    >>> row = rows([2, 3, 5])
    >>> float(row.eta.round(2)), float(row.k_min.round(2))
    (0.2, 7.5)
    """
    array = checks.real("counts", counts, 0.0)
    total = array.sum(axis=-1)
    if (total == 0).any():
        raise ValueError(
            "counts must be positive somewhere in each row, "
            f"got none in row {np.argwhere(total == 0)[0]}"
        )
    occurs = array > 0
    eta = np.where(occurs, array, np.inf).min(axis=-1) / total
    return Rows(
        total=checks.plain(total),
        categories=checks.plain(occurs.sum(axis=-1)),
        eta=checks.plain(eta),
        k_min=checks.plain(1.5 / eta),
    )


class Released(NamedTuple):
    """The result of `private_counts`.

    Attributes
    ----------
    value : ndarray
        The private shares, ``(*size, n)``, or the private chain, ``(*size, n, n)``.
    epsilon, delta : float
        The guarantee of Theorem 1 or, for a chain, of Theorem 3.
    """

    value: Array
    epsilon: float
    delta: float


def private_counts(
    counts: ArrayLike,
    *,
    k: ArrayLike,
    eta: ArrayLike,
    gamma: ArrayLike,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Released:
    """Return private shares, or a private chain, as `Released`.

    One row of counts is released by Algorithm 1 of Benvenuti et al. 2026, and a matrix
    of counts by their Algorithm 2. Each record belongs to only one row, so a chain is
    as private as its worst row (Theorem 3). A share that is 0 is also 0 in the release.

    Parameters
    ----------
    counts : array_like, shape (n,) or (n, n)
        The number of records in each category, or of transitions from the row's state
        to the column's state. The total N_i of each row is public.
    k : array_like
        Each row of shares C is replaced with a draw from Dir(k C). There may be one k
        for all rows or one for each row. The paper requires k to be at least
        3 / (2 eta).
    eta : array_like, in (0, 1/4)
        The public minimum: no share in the database or in a neighbour may be smaller.
        Raises ValueError if a share in the database is smaller, because the theorem
        does not cover that case.
    gamma : array_like, in (0, 1/(n-1)); the gamma of equations (6) and (7)
    size, rng : as in `dirichlet_mechanism`

    Returns
    -------
    Released
        The private shares or the private chain, and their guarantee.

    Examples
    --------
    >>> released = private_counts([20, 30, 48], k=20.6, eta=0.073, gamma=4e-4, rng=1)
    >>> released.value.round(2)
    array([0.19, 0.28, 0.53])
    >>> round(released.epsilon, 3), round(released.delta, 5)
    (2.212, 0.001)
    """
    if not np.size(counts):
        raise ValueError(f"counts must not be empty, got shape {np.shape(counts)}")
    row = rows(counts)
    low = checks.real("eta", eta, 0.0, 0.25, open_low=True, open_high=True)
    if (checks.fitted("eta", low, row.eta.shape) > row.eta * (1 + 1e-12)).any():
        raise ValueError(
            f"eta must be at most the smallest share of each row, got {low.max():g}"
        )
    epsilon, delta = row_privacy(counts, k=k, eta=eta, gamma=gamma)
    shares = np.asarray(counts, dtype=float) / np.asarray(row.total)[..., None]
    each_k = np.broadcast_to(k, row.total.shape)
    value = dirichlet_mechanism(shares, each_k, size=size, rng=rng)
    return Released(value, float(np.max(epsilon)), float(np.max(delta)))


def row_privacy(
    counts: ArrayLike, *, k: ArrayLike, eta: ArrayLike, gamma: ArrayLike
) -> tuple[Array, Array]:
    """Return the promised epsilon of Theorem 1 and an upper bound on its delta.

    They follow equations (6) and (7) of Benvenuti et al. 2026 and are given for each
    row, shape (...). For a chain, take the largest value of each over the rows (Theorem
    3).

    Raises ValueError if a row has no neighbour whose shares are all at least eta_i,
    because the formula is then undefined. This is the case if 2 eta_i + 1 / N_i > 1,
    or, with more than two positive counts, if 3 eta_i + 1 / N_i > 1.

    Parameters
    ----------
    counts : array_like, as in `rows`
        Only N_i and the number of positive counts matter.
    k, eta, gamma : as in `private_counts`

    Returns
    -------
    epsilon, delta : ndarray, shape (...)
        The promise for each row.

    Examples
    --------
    >>> epsilon, delta = row_privacy([20, 30, 50], k=7.5, eta=0.2, gamma=1e-3)
    >>> round(float(epsilon), 3), round(float(delta), 4)
    (0.616, 0.0007)
    """
    row = rows(counts)
    shape = np.shape(row.total)
    k = checks.fitted("k", checks.numeric("k", k), shape)
    eta = checks.fitted("eta", checks.real("eta", eta, 0.0, 1.0, open_low=True), shape)
    gamma = checks.fitted("gamma", checks.numeric("gamma", gamma), shape)
    needed = np.minimum(row.categories, 3) * eta + 1.0 / row.total
    lacking = (row.categories < 2) | (needed > 1.0 + 1e-9)
    if lacking.any():
        raise ValueError(
            "counts must leave each row a neighbour, "
            f"got none in row {np.argwhere(lacking)[0]}"
        )
    epsilon = np.empty(shape)
    delta = np.empty(shape)
    shift = np.asarray(1.0 / row.total)
    categories = np.asarray(row.categories)
    for n in np.unique(categories).tolist():
        at = categories == n
        epsilon[at] = theorem1_vector_epsilon(
            k[at], shift=shift[at], eta=eta[at], gamma=gamma[at], n=n
        )
        _, delta[at] = theorem1_delta_bounds(k[at], eta=eta[at], gamma=gamma[at], n=n)
    return checks.plain(epsilon), checks.plain(delta)


def posterior_absolute_error(
    counts: ArrayLike, *, kappa: ArrayLike, alpha: ArrayLike
) -> Array:
    """Return the exact expected errors of the tempered posterior, shape (..., n).

    They are E ``|x_i - c_i/N|`` for x ~ Dir(kappa (c + alpha)), which include the bias.
    The variable x_i is Beta(a, b) with mean m. For p = c_i/N, its expected error is p
    (2 I_p(a, b) - 1) + m (1 - 2 I_p(a+1, b)).

    Parameters
    ----------
    counts : array_like, shape (..., n); the counts c, with a sum N > 0 in each row
    kappa, alpha : array_like, above 0; broadcast with the rows of counts

    Examples
    --------
    >>> posterior_absolute_error([20, 30, 50], kappa=0.5, alpha=10.0).round(3)
    array([0.047, 0.046, 0.059])
    """
    c = checks.real("counts", counts, 0.0)
    pseudo = checks.real("alpha", alpha, 0.0, open_low=True)[..., None]
    scale = checks.real("kappa", kappa, 0.0, open_low=True)[..., None]
    share = c / rows(c).total[..., None]
    a = scale * (c + pseudo)
    total = a.sum(axis=-1, keepdims=True)
    checks.real("kappa (counts + alpha)", a, SMALLEST_SHAPE, 1e15)
    b = total - a
    mean = a / (a + b)
    of_share = share * (2.0 * betainc(a, b, share) - 1.0)
    of_mean = mean * (1.0 - 2.0 * betainc(a + 1.0, b, share))
    return of_share + of_mean
