"""Privacy of the matrix Dirichlet mechanism (Fallin et al. 2023): Theorem 1, and the largest k when all rows move.

A release draws every row i of P from Dir(k P_i). Theorem 1 says that it is as private as its worst row, which is right
when neighbours differ in one row. By Definition 4 every row may differ at once, each by b in 1-norm. Then the
log-likelihood ratios of the rows add up, and the matrix is exactly as private as the composition of its rows
(`accounting.compose`), because each row may be at its worst point whatever the others are.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, private
from dpsim.checks import Array
from dpsim.dirichlet import theorem1
from dpsim.numerics import search

LARGEST_K_OF_THEOREM = 1e9


def theorem1_matrix_epsilon(
    k: ArrayLike,
    *,
    b: float,
    eta: float,
    eta_bar: float,
    gamma: float,
    protected: ArrayLike,
) -> Any:
    """Return the epsilon of Theorem 1 of Fallin et al. 2023, in the shape of k, which is an upper bound if neighbours
    differ in one row.

    Parameters
    ----------
    k, eta, eta_bar, gamma : as in `dirichlet.theorem1_vector_epsilon`
    b : float, in (0, 1]; the largest distance in 1-norm between the rows of two neighbours
    protected : int or array_like of int
        ``|W_i|`` of each row, or one number. The row with the smallest number has the largest epsilon, which is the
        result.

    Examples
    --------
    >>> float(theorem1_matrix_epsilon(9.87, b=0.025, eta=0.1, eta_bar=0.051, gamma=1e-3, protected=2).round(3))
    1.168
    """
    shift = 0.5 * checks.scalar("b", b, 0.0, 1.0, open_low=True)
    row = partial(
        theorem1.theorem1_vector_epsilon,
        k,
        shift=shift,
        eta=eta,
        eta_bar=eta_bar,
        gamma=gamma,
    )
    sizes = set(checks.integers("protected", protected, 2).ravel().tolist())
    return checks.plain(np.max([row(n=m) for m in sizes], axis=0))


def theorem1_k(
    epsilon: float,
    *,
    b: float,
    eta: float,
    eta_bar: float,
    gamma: float,
    protected: ArrayLike,
) -> float:
    """Return the largest k, to within a relative error of 1e-12, at which Theorem 1 gives at most epsilon.

    Parameters
    ----------
    epsilon : float, above 0, and between the epsilon at k = 1e-9 and that at k = 1e9
    b, eta, eta_bar, gamma, protected : as in `theorem1_matrix_epsilon`

    Examples
    --------
    >>> round(theorem1_k(1.168, b=0.025, eta=0.1, eta_bar=0.051, gamma=1e-3, protected=2), 2)
    9.87
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)

    def excess(log_k: float) -> float:
        at = theorem1_matrix_epsilon(
            math.exp(log_k),
            b=b,
            eta=eta,
            eta_bar=eta_bar,
            gamma=gamma,
            protected=protected,
        )
        return float(at) - epsilon

    low, high = math.log(1.0 / LARGEST_K_OF_THEOREM), math.log(LARGEST_K_OF_THEOREM)
    if not excess(low) < 0.0 < excess(high):
        most = epsilon + excess(high)
        raise ValueError(
            f"epsilon must be in ({epsilon + excess(low):g}, {most:g}), got {epsilon:g}"
        )
    return math.exp(search.last_kept(excess, low, high, 1e-13))


def largest_k(
    epsilon: float, delta: float, *, shift: Array, eta: float, least: float
) -> float:
    """Return the largest k >= least, rounded down by a relative amount of about 1e-5, that is (epsilon, delta)-private
    when every row moves by its own shift (rows,) at once.

    The search for k uses a proven upper bound on delta, which was evaluated at the returned k. If no k reaches the
    target, the ValueError gives the epsilon at k = `least`.
    """

    def excess(log_k: float) -> float:
        composed = accounting.compose(math.exp(log_k), shift=shift, eta=eta)
        return math.log(float(composed.delta(epsilon)) / delta)

    bottom = math.log(least)
    if excess(bottom) > 0.0:
        cost = float(accounting.compose(least, shift=shift, eta=eta).epsilon(delta))
        reached = private.round_up(cost, ".6g")
        raise ValueError(
            f"epsilon must be at least {reached} for {shift.size} rows at delta {delta:g} and the public minimum "
            f"eta = {eta:g}, got {epsilon:g}: less needs k below {least:g}; a larger minimum or a smaller b reach it"
        )
    one_row = float(accounting.calibrate_k(epsilon, delta, shift=shift.max(), eta=eta))
    low = high = max(bottom, math.log(one_row))
    while excess(low) > 0.0:
        low, high = max(bottom, low - 1.5), low
    return math.exp(search.last_kept(excess, low, high, 1e-5))
