"""From counts of transitions to a private Markov chain: Algorithm 2 of Benvenuti et al. 2026, and a data-free release.

Counts (..., n, n) have the origin as row. Protected is one record: adjacent databases differ in where one transition
ended, so that one row changes, by 1/N_i in two entries (Definition 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from dpsim import accounting, checks
from dpsim.checks import Array
from dpsim.dirichlet import mechanism, theorem1

SMALLEST_SHAPE = 1e-150  # below about 1e-154 the incomplete beta function (of SciPy 1.17) is wrong


class Rows(NamedTuple):
    """What the published accounting of each row needs, as `rows` returns it.

    Attributes
    ----------
    total, categories, eta, k_min : ndarray, shape (..., n)
        N_i, n_i, eta_i and the smallest k that the paper allows, one entry a row.
    """

    total: Array
    """N_i, the departures."""
    categories: Array
    """How many transitions occur in the row: those that never occur stay impossible."""
    eta: Array
    """The smallest positive share, taken as the border of the simplex."""
    k_min: Array
    """3 / (2 eta_i), the smallest k that Assumption 4 allows."""


def rows(counts: ArrayLike) -> Rows:
    """Return N_i, n_i, eta_i and k_min,i of each row of counts.

    Parameters
    ----------
    counts : array_like, shape (..., n, n) or (n,)
        At least 0, some in every row.

    Returns
    -------
    Rows

    Raises
    ------
    ValueError
        For negative counts and for a row without any.

    Notes
    -----
    eta_i is read from the data, as in the paper's simulations; the guarantee holds on the databases whose smallest
    share is at least eta_i.

    Examples
    --------
    >>> found = rows([2, 3, 5])
    >>> float(found.eta.round(2)), float(found.k_min.round(2))
    (0.2, 7.5)
    """
    array = checks.real("counts", counts, 0.0)
    total = array.sum(axis=-1)
    if (total == 0).any():
        raise ValueError(f"counts must be positive somewhere in each row, got none in row {np.argwhere(total == 0)[0]}")
    eta = np.where(array > 0, array, np.inf).min(axis=-1) / total
    return Rows(*map(checks.plain, (total, (array > 0).sum(axis=-1), eta, 1.5 / eta)))


def published_epsilon(counts: ArrayLike, *, factor: float = 1.0, gamma: float) -> Any:
    """Return Theorem 1's epsilon of each row at k_i = factor k_min,i; the chain's is the largest.

    Parameters
    ----------
    counts : array_like
        As in `rows`.
    factor : float
        Above 0.
    gamma : float
        As in `dirichlet.epsilon_bound`.

    Returns
    -------
    float or ndarray, shape (..., n)
        A proven upper bound, with the delta of `published_delta`; its n is the number of transitions that occur in the
        row.

    Raises
    ------
    ValueError
        Outside these ranges, and for a row without neighbours on its bordered simplex, where there is nothing to
        protect and the formula has no value: 2 N_i eta_i + 1 > N_i, with 3 for the 2 where more than 2 transitions
        occur (one kind of transition alone, or all equally often, for instance).

    References
    ----------
    Benvenuti et al. 2026, equation 6 and Theorem 3.

    Examples
    --------
    >>> float(published_epsilon([20, 30, 50], gamma=1e-3).round(3))
    0.616
    """
    row = rows(counts)
    _refuse_without_neighbours(row, np.where(row.categories > 2, 3, 2))
    k = checks.scalar("factor", factor, 0, open_low=True) * row.k_min
    epsilon = [
        theorem1.epsilon_bound(k_i, shift=1.0 / N_i, eta=eta_i, gamma=gamma, n=int(n_i))
        for k_i, N_i, eta_i, n_i in _each(k, row)
    ]
    return checks.plain(np.reshape(epsilon, row.total.shape))


def published_delta(counts: ArrayLike, *, factor: float = 1.0, gamma: float) -> tuple[Array, Array]:
    """Return proven bounds on Theorem 1's delta of each row at k_i = factor k_min,i.

    Parameters
    ----------
    counts, factor, gamma
        As in `published_epsilon`.

    Returns
    -------
    lower, upper : float or ndarray, shape (..., n)

    Raises
    ------
    ValueError
        As `published_epsilon` does.

    References
    ----------
    Benvenuti et al. 2026, equation 7.

    Examples
    --------
    >>> [float(bound.round(4)) for bound in published_delta([20, 30, 50], gamma=1e-3)]
    [0.0007, 0.0007]
    """
    row = rows(counts)
    k = checks.scalar("factor", factor, 0, open_low=True) * row.k_min
    delta = [theorem1.delta_bounds(k_i, eta=eta_i, gamma=gamma, n=int(n_i)) for k_i, _, eta_i, n_i in _each(k, row)]
    lower, upper = np.moveaxis(np.array(delta), 1, 0)
    return checks.plain(lower.reshape(row.total.shape)), checks.plain(upper.reshape(row.total.shape))


def _refuse_without_neighbours(row: Rows, smallest: Array) -> None:
    """Raise ValueError unless each row has an event to move besides so many times its smallest count."""
    lacking = smallest * row.total * row.eta + 1.0 > row.total + 1e-9
    if lacking.any():
        where = np.argwhere(lacking)[0].tolist()
        raise ValueError(
            f"counts must leave each row a neighbour, N_i - {smallest[lacking].flat[0]} min of at least 1, "
            f"got N_i {row.total[lacking].flat[0]:g} and min {(row.total * row.eta)[lacking].flat[0]:g} in row {where}"
        )


def _each(k: Array, row: Rows) -> Iterator[tuple[Any, ...]]:
    """Return k_i, N_i, eta_i, n_i row by row."""
    return zip(np.ravel(k), np.ravel(row.total), np.ravel(row.eta), np.ravel(row.categories))


def exact_epsilon(counts: ArrayLike, delta: ArrayLike, *, factor: float = 1.0) -> Any:
    """Return the exact epsilon at delta of each row at k_i = factor k_min,i; the chain's is the largest.

    Parameters
    ----------
    counts, factor
        As in `published_epsilon`.
    delta : array_like
        In (0, 1].

    Returns
    -------
    float or ndarray, shape (..., n)
        Exact on the bordered simplex of each row (`accounting.exact_epsilon`): the release of `published_epsilon`.

    Raises
    ------
    ValueError
        As `published_epsilon` does, with 2 however many transitions occur.

    Examples
    --------
    >>> float(exact_epsilon([20, 30, 50], 1e-6).round(3))
    0.568
    """
    row = rows(counts)
    _refuse_without_neighbours(row, np.full(row.total.shape, 2))
    k = checks.scalar("factor", factor, 0, open_low=True) * row.k_min
    return accounting.exact_epsilon(delta, k, shift=1.0 / row.total, eta=row.eta)


def posterior_release(
    counts: ArrayLike,
    *,
    kappa: ArrayLike,
    alpha: float,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return draws of Dir(kappa (c + alpha)) for each row c of counts: the data-free release.

    Parameters
    ----------
    counts : array_like, shape (..., n)
        At least 0.
    kappa : array_like
        Above 0, public; broadcasts with the rows.
    alpha : float
        Above 0, public.
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    ndarray, shape ``(*size, ..., n)``

    Raises
    ------
    ValueError
        Outside these ranges.

    Notes
    -----
    With alpha and kappa public, its exact epsilon (`accounting.posterior_epsilon`) holds for every database, zero
    counts included, and every transition stays possible.

    References
    ----------
    Tempered Dirichlet posterior sampling: Geumlek, Song and Chaudhuri 2017, Ponnoprat 2023.

    Examples
    --------
    >>> posterior_release([20, 30, 50], kappa=0.5, alpha=10.0, rng=1).round(2)
    array([0.22, 0.29, 0.48])
    """
    weights = checks.real("counts", counts, 0.0) + checks.scalar("alpha", alpha, 0, open_low=True)
    total = weights.sum(axis=-1)
    concentration = checks.real("kappa", kappa, 0.0, open_low=True) * total
    return mechanism.dirichlet_mechanism(weights / total[..., None], concentration, size=size, rng=rng)


def posterior_absolute_error(counts: ArrayLike, *, kappa: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the exact mean of ``|x_i - c_i/N|`` of x ~ Dir(kappa (c + alpha)): bias and spread together.

    Parameters
    ----------
    counts : array_like, shape (..., n)
        N > 0 records in each row.
    kappa, alpha : array_like, shape (...)
        Above 0; they broadcast with the rows.

    Returns
    -------
    ndarray, shape (..., n)

    Raises
    ------
    ValueError
        Outside these ranges.

    Notes
    -----
    x_i is Beta(a, b) with mean m, and its error is p (2 I_p(a, b) - 1) + m (1 - 2 I_p(a+1, b)) with p = c_i/N.

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
    if (total > 1e15).any() or (a < SMALLEST_SHAPE).any():
        raise ValueError(
            f"kappa must keep kappa (counts + alpha) in [{SMALLEST_SHAPE:g}, 1e15], got {a.min():g} to {total.max():g}"
        )
    b = total - a
    mean = a / (a + b)
    return share * (2.0 * betainc(a, b, share) - 1.0) + mean * (1.0 - 2.0 * betainc(a + 1.0, b, share))
