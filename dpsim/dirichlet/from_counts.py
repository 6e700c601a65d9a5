"""From counts to private shares and chains: Algorithms 1 and 2 of Benvenuti et al. 2026, and a release with a fixed
prior.

In counts (..., n, n) the row is the origin of a transition. Each record is protected: neighbouring databases differ in
the state where one transition ended, so two entries of one row change by 1/N_i each (Definition 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from dpsim import checks
from dpsim.checks import Array
from dpsim.dirichlet import mechanism, theorem1

SMALLEST_SHAPE = (
    1e-150  # below about 1e-154 the incomplete beta function (of SciPy 1.17) is wrong
)


class Rows(NamedTuple):
    """The numbers that the published accounting needs for each row.

    Attributes
    ----------
    total, categories, eta, k_min : ndarray, shape (..., n)
        `total` is N_i, the number of departures. `categories` is the number of transitions that occur, since those that
        never occur stay impossible. `eta` is the smallest positive share, which is the paper's minimum, as its Table 1
        implies. `k_min` is 3 / (2 eta_i), the smallest k that Assumption 4 allows.
    """

    total: Array
    categories: Array
    eta: Array
    k_min: Array


def rows(counts: ArrayLike) -> Rows:
    """Return N_i, n_i, eta_i and k_min,i of each row of counts, as `Rows`.

    eta_i is read from the data, as the paper's Table 1 implies for its simulations, so the guarantee holds only for
    databases that have no share below eta_i.

    Parameters
    ----------
    counts : array_like, shape (..., n, n) or (n,); at least 0, with a positive count in every row

    Examples
    --------
    >>> found = rows([2, 3, 5])
    >>> float(found.eta.round(2)), float(found.k_min.round(2))
    (0.2, 7.5)
    """
    array = checks.real("counts", counts, 0.0)
    total = array.sum(axis=-1)
    if (total == 0).any():
        raise ValueError(
            f"counts must be positive somewhere in each row, got none in row {np.argwhere(total == 0)[0]}"
        )
    eta = np.where(array > 0, array, np.inf).min(axis=-1) / total
    return Rows(*map(checks.plain, (total, (array > 0).sum(axis=-1), eta, 1.5 / eta)))


class Released(NamedTuple):
    """The result of `private_counts`. Its epsilon and delta are proven upper bounds, by Theorem 1 or for a chain by
    Theorem 3.

    Attributes
    ----------
    value : ndarray
        The private shares, ``(*size, n)``, or the private chain, ``(*size, n, n)``.
    epsilon, delta : float
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
    """Return the private shares of a table of counts (Algorithm 1 of Benvenuti et al. 2026), or of each row of counts
    of transitions (their Algorithm 2), as `Released`.

    Each record is in only one row, so a chain is as private as its worst row (Theorem 3). Transitions that never occur
    stay impossible.

    Parameters
    ----------
    counts : array_like, shape (n,) or (n, n)
        The numbers of records in n categories, or of transitions, where the row is the origin. The total N_i of each
        row is public.
    k : array_like
        The parameter of the draw from Dir(k C), where C are the shares; one number for all rows, or one for each row.
        The paper asks for at least 3 / (2 eta).
    eta : array_like
        The public minimum: no share of the database or of its neighbours is below it. A database with a smaller share
        raises ValueError, because the theorem does not cover it.
    gamma : array_like, in (0, 1/(n-1)), the gamma of equations (6) and (7)
    size, rng : as in `dirichlet_mechanism`

    Examples
    --------
    >>> made = private_counts([20, 30, 48], k=20.6, eta=0.073, gamma=4e-4, rng=1)
    >>> made.value.round(2), round(made.epsilon, 3), round(made.delta, 5)
    (array([0.19, 0.28, 0.53]), 2.212, 0.001)
    """
    row = rows(counts)
    low = checks.real("eta", eta, 0.0, 0.25, open_low=True, open_high=True)
    if (checks.fitted("eta", low, row.eta.shape) > row.eta * (1 + 1e-12)).any():
        raise ValueError(
            f"eta must be at most the smallest share of each row, got {low.max():g}"
        )
    epsilon, delta = row_privacy(counts, k=k, eta=eta, gamma=gamma)
    shares = np.asarray(counts, dtype=float) / np.asarray(row.total)[..., None]
    value = mechanism.dirichlet_mechanism(
        shares, np.broadcast_to(k, row.total.shape), size=size, rng=rng
    )
    return Released(value, float(np.max(epsilon)), float(np.max(delta)))


def row_privacy(
    counts: ArrayLike, *, k: ArrayLike, eta: ArrayLike, gamma: ArrayLike
) -> tuple[Array, Array]:
    """Return Theorem 1's epsilon (6) and an upper bound on its delta (7), shape (..., n); the largest values over the
    rows hold for the chain.

    Raise ValueError if a row has no neighbour whose entries are all at least eta_i, because such a row has nothing to
    protect and the formula is undefined. Such a row has 2 N_i eta_i + 1 > N_i, with 3 in place of 2 if more than two
    transitions occur.

    Parameters
    ----------
    counts : array_like, as in `rows`; only N_i and the number of transitions that occur are read
    k, eta, gamma : as in `private_counts`

    Examples
    --------
    >>> epsilon, delta = row_privacy([20, 30, 50], k=7.5, eta=0.2, gamma=1e-3)
    >>> round(float(epsilon), 3), round(float(delta), 4)
    (0.616, 0.0007)
    """
    row = rows(counts)
    shape = np.shape(row.total)
    named = (("k", k), ("eta", eta), ("gamma", gamma))
    k, eta, gamma = (
        checks.fitted(name, checks.numeric(name, value), shape) for name, value in named
    )
    lacking = (row.categories < 2) | (
        np.minimum(row.categories, 3) * eta + 1.0 / row.total > 1.0 + 1e-9
    )
    if lacking.any():
        raise ValueError(
            f"counts must leave each row a neighbour, got none in row {np.argwhere(lacking)[0]}"
        )
    epsilon = np.empty(shape)
    delta = np.empty(shape)
    total = np.asarray(row.total)
    categories = np.asarray(row.categories)
    for n in np.unique(categories).tolist():
        at = categories == n  # all rows with this number of transitions
        epsilon[at] = theorem1.theorem1_vector_epsilon(
            k[at], shift=1.0 / total[at], eta=eta[at], gamma=gamma[at], n=n
        )
        _, delta[at] = theorem1.theorem1_delta_bounds(
            k[at], eta=eta[at], gamma=gamma[at], n=n
        )
    return checks.plain(epsilon), checks.plain(delta)


def posterior_release(
    counts: ArrayLike,
    *,
    kappa: ArrayLike,
    alpha: float,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return draws of Dir(kappa (c + alpha)), shape ``(*size, ..., n)``, where c is a row of counts.

    This is tempered Dirichlet posterior sampling (Geumlek, Song and Chaudhuri 2017; Ponnoprat 2023). If alpha and kappa
    are public, its exact privacy (`accounting.dirichlet.posterior_delta`) holds for every database, even one with zero counts,
    and every transition stays possible.

    Parameters
    ----------
    counts : array_like, shape (..., n), at least 0
    kappa : array_like, above 0, public; broadcasts with the rows
    alpha : float, above 0, public
    size, rng : as in `dirichlet_mechanism`

    Examples
    --------
    >>> posterior_release([20, 30, 50], kappa=0.5, alpha=10.0, rng=1).round(2)
    array([0.22, 0.29, 0.48])
    """
    weights = checks.real("counts", counts, 0.0) + checks.scalar(
        "alpha", alpha, 0, open_low=True
    )
    total = weights.sum(axis=-1)
    concentration = checks.real("kappa", kappa, 0.0, open_low=True) * total
    return mechanism.dirichlet_mechanism(
        weights / total[..., None], concentration, size=size, rng=rng
    )


def posterior_absolute_error(
    counts: ArrayLike, *, kappa: ArrayLike, alpha: ArrayLike
) -> Array:
    """Return the exact mean of ``|x_i - c_i/N|`` for x ~ Dir(kappa (c + alpha)), shape (..., n). It includes the bias.

    The variable x_i is Beta(a, b) with mean m, and with p = c_i/N its expected error is p (2 I_p(a, b) - 1) + m (1 - 2
    I_p(a+1, b)).

    Parameters
    ----------
    counts : array_like, shape (..., n); N > 0 records in each row
    kappa, alpha : array_like, shape (...), above 0; they broadcast with the rows

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
    checks.real("kappa (counts + alpha)", [a.min(), total.max()], SMALLEST_SHAPE, 1e15)
    b = total - a
    mean = a / (a + b)
    return share * (2.0 * betainc(a, b, share) - 1.0) + mean * (
        1.0 - 2.0 * betainc(a + 1.0, b, share)
    )
