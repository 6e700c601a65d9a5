"""Privacy of the matrix Dirichlet mechanism (Fallin et al. 2023): Theorem 1, and Definition 4 exactly.

A release draws every row i of P from Dir(k P_i). By Theorem 1 the matrix is as private as its worst row, which
is right when neighbours differ in one row. Definition 4 lets every row differ from its neighbour's at once, by b in
1-norm each: then the log-likelihood ratios of the rows add up, and the matrix is as private as the composition of
its rows (`accounting.compose`), exactly, because each row may stand at its worst point whatever the others do.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpsim import accounting, checks
from dpsim.accounting import dirichlet
from dpsim.checks import Array
from dpsim.dirichlet import theorem1
from dpsim.numerics import special

VANISHING_K = 1e-6
"""A k so small that delta and epsilon of a composition have reached their limits as k -> 0."""
SMALLEST_GAMMA = 1e-300
"""Below about 1e-308 the inverse of the incomplete beta function is not right."""
SMALLEST_BORDER = dirichlet.PARAMETER_RANGE[0] / VANISHING_K
"""Of eta and of b / 2 in the composition of rows: below it the accounting has no k as small as that."""
LARGEST_ROWS = 10_000


def theorem1_epsilon(k: ArrayLike, *, b: float, eta: float, eta_bar: float, gamma: float, protected: ArrayLike) -> Any:
    """Return the epsilon of Theorem 1, its largest over the rows.

    Parameters
    ----------
    k : array_like
        As in `dirichlet.epsilon_bound`.
    b : float
        How far two adjacent rows are apart in 1-norm, in (0, 1].
    eta, eta_bar, gamma : float
        As in `dirichlet.epsilon_bound`.
    protected : int or array_like of int
        ``|W_i|`` of each row, or one number. The row with the smallest decides.

    Returns
    -------
    float or ndarray, of the shape of k
        An upper bound when one row differs.

    Raises
    ------
    ValueError
        As `dirichlet.epsilon_bound` does, and for b outside its range.

    References
    ----------
    Fallin et al. 2023, Theorem 1.

    Examples
    --------
    >>> float(theorem1_epsilon(9.87, b=0.025, eta=0.1, eta_bar=0.051, gamma=1e-3, protected=2).round(3))
    1.168
    """
    sizes = set(checks.integers("protected", protected, 2).ravel().tolist())
    shift = _half(b)
    rows = [theorem1.epsilon_bound(k, shift=shift, eta=eta, eta_bar=eta_bar, gamma=gamma, n=m) for m in sizes]
    return checks.plain(np.max(rows, axis=0))


def theorem1_delta(k: ArrayLike, *, n: int, eta: float, gamma: float, protected: ArrayLike) -> tuple[Array, Array]:
    """Return bounds around the delta of Theorem 1, the largest over rows of 1 - min P(Omega_1).

    Parameters
    ----------
    k : array_like
        As in `dirichlet.delta_bounds`.
    n : int
        States.
    eta, gamma : float
        As in `dirichlet.delta_bounds`.
    protected : int or array_like of int
        ``|W_i|`` of each row, or one number. The row with the largest decides.

    Returns
    -------
    lower, upper : float or ndarray, of the shape of k

    Raises
    ------
    ValueError
        As `dirichlet.delta_bounds` does.

    Notes
    -----
    The paper prints 1 - max min instead, the delta of its best row.

    References
    ----------
    Fallin et al. 2023, Theorem 1.

    Examples
    --------
    >>> [float(bound.round(4)) for bound in theorem1_delta(9.87, n=32, eta=0.1, gamma=1e-3, protected=2)]
    [0.0188, 0.0189]
    """
    sizes = set(checks.integers("protected", protected, 2).ravel().tolist())
    bounds = [theorem1.delta_bounds(k, eta=eta, gamma=gamma, n=n, protected=m) for m in sizes]
    lower, upper = np.max(bounds, axis=0)
    return checks.plain(lower), checks.plain(upper)


def theorem1_best_epsilon(
    delta: float, k: ArrayLike, *, b: float, eta: float, eta_bar: float, protected: ArrayLike
) -> Any:
    """Return the epsilon of Theorem 1 at delta with the best gamma_i for each row.

    Parameters
    ----------
    delta : float
        In (0, 1).
    k, b, eta, eta_bar, protected
        As in `theorem1_epsilon`.

    Returns
    -------
    float or ndarray, of the shape of k
        An upper bound when one row differs.

    Raises
    ------
    ValueError
        As `theorem1_epsilon` does, and where gamma_i would underflow.

    Notes
    -----
    gamma_i is the largest for which the union bound of `dirichlet.delta_bounds` stays at most delta.

    Examples
    --------
    >>> float(theorem1_best_epsilon(0.01, 9.87, b=0.025, eta=0.1, eta_bar=0.051, protected=2).round(3))
    1.248
    """
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    k = checks.real("k", k, 0.0, open_low=True)
    eta = checks.scalar("eta", eta, 0.0, 1.0, open_low=True, open_high=True)
    sizes = set(checks.integers("protected", protected, 2).ravel().tolist())
    shift = _half(b)
    rows = []
    for m in sizes:
        gamma = np.minimum(special.beta_quantile(k * eta, k - k * eta, delta / m), 1.0 / m) * (1.0 - 1e-9)
        if not (gamma >= SMALLEST_GAMMA).all():  # the inverse fails, or stops at the smallest double, above the root
            raise ValueError(
                f"delta must be larger for k = {k.min():g} and eta = {eta:g}, got {delta:g}: gamma underflows"
            )
        rows.append(theorem1.epsilon_bound(k, shift=shift, eta=eta, eta_bar=eta_bar, gamma=gamma, n=m))
    return checks.plain(np.max(rows, axis=0))


def theorem1_k(epsilon: float, *, b: float, eta: float, eta_bar: float, gamma: float, protected: ArrayLike) -> float:
    """Return the k at which Theorem 1 gives epsilon, within 1e-12 relative.

    Parameters
    ----------
    epsilon : float
        Above 0.
    b, eta, eta_bar, gamma, protected
        As in `theorem1_epsilon`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For an epsilon out of range or beyond k = 1e9, and as `theorem1_epsilon` does.

    Examples
    --------
    >>> round(theorem1_k(1.168, b=0.025, eta=0.1, eta_bar=0.051, gamma=1e-3, protected=2), 2)
    9.87
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)

    def excess(log_k: float) -> float:
        at = theorem1_epsilon(math.exp(log_k), b=b, eta=eta, eta_bar=eta_bar, gamma=gamma, protected=protected)
        return float(at) - epsilon

    low, high = math.log(1e-9), math.log(1e9)
    if not excess(low) < 0.0 < excess(high):
        most = epsilon + excess(high)
        raise ValueError(f"epsilon must be in ({epsilon + excess(low):g}, {most:g}), got {epsilon:g}")
    return math.exp(brentq(excess, low, high, xtol=1e-13))


def privacy_floor(delta: ArrayLike, *, b: float, eta: float, rows: int) -> Any:
    """Return the epsilon at delta that no k goes below when `rows` rows may differ at once.

    Parameters
    ----------
    delta : array_like
        In [1e-11, 1].
    b : float
        In [0.002, 1].
    eta : float
        In [0.001, 1/2 - b/4].
    rows : int
        In 1..10,000.

    Returns
    -------
    float or ndarray, of the shape of delta

    Raises
    ------
    ValueError
        Outside these ranges.

    Notes
    -----
    The lower end of the bracket at k = `VANISHING_K` (delta grows with k): below the limit by about 1e-6 relative, by
    up to 1e-2 at the smallest delta, where the bracket's margin of 1e-12 in delta shows.

    Examples
    --------
    >>> float(privacy_floor(1e-2, b=0.1, eta=0.1, rows=2).round(2))
    2.21
    """
    return _composed(VANISHING_K, b, eta, rows).epsilon_lower_bound(delta)


def smallest_border(epsilon: float, delta: float, *, b: float, rows: int) -> float:
    """Return the border eta whose `privacy_floor` is epsilon at delta, within 1e-6: a smaller one cannot reach it.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In [1e-11, 1].
    b : float
        In [0.002, 1].
    rows : int
        In 1..10,000.

    Returns
    -------
    float
        With W protected entries a row has room for eta up to (1 - eta_bar) / W only.

    Raises
    ------
    ValueError
        Outside these ranges and when no eta does, or only one below 0.001.

    Examples
    --------
    >>> round(smallest_border(3.0, 1e-2, b=0.1, rows=1), 3)
    0.057
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta, widest = checks.scalar("delta", delta, 1e-11, 1.0), 0.5 * (1.0 - _shift(b))

    @cache
    def floor(eta: float) -> float:
        return float(privacy_floor(delta, b=b, eta=eta, rows=rows))

    low = high = widest
    while floor(low) <= epsilon and low > SMALLEST_BORDER:
        low, high = max(0.5 * low, SMALLEST_BORDER), low
    if not floor(widest) < epsilon < floor(low):
        raise ValueError(
            f"epsilon must be above {floor(widest):.4g}, the floor of the widest border, and below "
            f"{floor(SMALLEST_BORDER):.4g}, that of eta = {SMALLEST_BORDER:g}, at delta {delta:g} and b {b:g}, "
            f"got {epsilon:g}"
        )
    return float(brentq(lambda eta: floor(eta) - epsilon, low, high, xtol=1e-6))


def largest_k(epsilon: float, delta: float, *, b: float, eta: float, rows: int) -> float:
    """Return the largest k, rounded down by about 1e-5 relative, with (epsilon, delta) when `rows` rows may differ.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In [1e-11, 1].
    b, eta, rows
        As in `privacy_floor`.

    Returns
    -------
    float
        The k returned was itself evaluated: its proven upper bound of epsilon at delta meets the target.

    Raises
    ------
    ValueError
        Outside these ranges and for an epsilon below the floor, or beyond what k = 1e6 spends.

    Examples
    --------
    >>> round(largest_k(6.0, 1e-2, b=0.1, eta=0.1, rows=1), 1)
    89.4
    """
    epsilon, delta = checks.scalar("epsilon", epsilon, 0.0, open_low=True), checks.scalar("delta", delta, 1e-11, 1.0)

    @cache
    def spent(log_k: float) -> float:
        return float(_composed(math.exp(log_k), b, eta, rows).epsilon(delta))

    low, high = math.log(VANISHING_K), math.log(1e6)
    if not spent(low) <= epsilon <= spent(high):
        raise ValueError(
            f"epsilon must be in [{spent(low):.6g}, {spent(high):.6g}] for {rows} rows at delta {delta:g}, got "
            f"{epsilon:g}: below lies the privacy floor of the border eta = {eta:g}, which no k passes"
        )
    root = brentq(lambda log_k: spent(log_k) - epsilon, low, high, xtol=1e-5) if spent(low) < epsilon else low
    while spent(root) > epsilon:
        root -= 1e-5
    return math.exp(root)


def _composed(k: float, b: float, eta: float, rows: int) -> accounting.Composition:
    """Return the composition of the rows at k."""
    eta = checks.scalar("eta", eta, SMALLEST_BORDER, 0.5, open_high=True)
    return accounting.compose(k, shift=_shift(b), eta=eta, count=checks.integer("rows", rows, 1, LARGEST_ROWS))


def _shift(b: float) -> float:
    return 0.5 * checks.scalar("b", b, 2.0 * SMALLEST_BORDER, 1.0)


def _half(b: float) -> float:
    return 0.5 * checks.scalar("b", b, 0.0, 1.0, open_low=True)
