"""Privacy of the matrix Dirichlet mechanism: Theorem 1, and k if all rows may differ.

The mechanism of Fallin et al. 2023 replaces each row P_i of a transition matrix with a
draw from Dir(k P_i). Their Theorem 1 states that the release is as private as its worst
row, which is true if neighbours differ in one row. By their Definition 4, however,
neighbours may differ in all rows, by b in 1-norm in each. Then the log-likelihood
ratios of the rows add up. Any row may attain its worst case whatever the others are, so
the matrix is exactly as private as the composition of its rows (`accounting.compose`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import accounting, checks, private
from dpsim.checks import Array
from dpsim.dirichlet.theorem1 import theorem1_vector_epsilon
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
    """Return the epsilon that Theorem 1 promises for a matrix, with the shape of k.

    The theorem is that of Fallin et al. 2023. If neighbours differ in one row, this
    epsilon is an upper bound on the log-likelihood ratio as long as every protected
    entry is at least gamma.

    Parameters
    ----------
    k, eta, eta_bar, gamma : as in `dirichlet.theorem1_vector_epsilon`
    b : float, in (0, 1]; the largest distance in 1-norm between the rows of neighbours
    protected : int or array_like of int, at least 2
        ``|W_i|`` for each row, or one value for all rows. The result is the largest
        epsilon over the rows, which belongs to the smallest ``|W_i|``.

    Returns
    -------
    float or ndarray
        The promised epsilons, in the shape of k.

    Examples
    --------
    >>> epsilon = theorem1_matrix_epsilon(
    ...     9.87, b=0.025, eta=0.1, eta_bar=0.051, gamma=1e-3, protected=2
    ... )
    >>> round(float(epsilon), 3)
    1.168
    """
    shift = 0.5 * checks.scalar("b", b, 0.0, 1.0, open_low=True)
    sizes = set(checks.integers("protected", protected, 2).ravel().tolist())
    if not sizes:
        raise ValueError("protected must have the number of one row or more, got none")
    of_rows = [
        theorem1_vector_epsilon(
            k, shift=shift, eta=eta, gamma=gamma, n=m, eta_bar=eta_bar
        )
        for m in sizes
    ]
    return checks.plain(np.max(of_rows, axis=0))


def largest_k(
    epsilon: float, delta: float, *, shift: Array, eta: float, least: float
) -> float:
    """Return the largest k >= least that is (epsilon, delta)-private for all rows.

    Neighbours differ in every row, each by its own shift, shape (rows,). At the
    returned k, which is rounded down by a relative amount of about 1e-5, a proven upper
    bound on the delta of the composition is at most `delta`. If there is no such k, a
    ValueError gives the epsilon that can be reached.
    """

    def excess(log_k: float) -> float:
        composed = accounting.compose(math.exp(log_k), shift=shift, eta=eta)
        return math.log(float(composed.delta(epsilon)) / delta)

    bottom = math.log(least)
    if excess(bottom) > 0.0:
        cost = float(accounting.compose(least, shift=shift, eta=eta).epsilon(delta))
        reached = private.round_up(cost, ".6g")
        raise ValueError(
            f"epsilon must be at least {reached} for {shift.size} rows at delta "
            f"{delta:g} and the public minimum eta = {eta:g}, got {epsilon:g}: "
            f"less needs k below {least:g}; a larger minimum or a smaller b reach it"
        )
    one_row = float(accounting.calibrate_k(epsilon, delta, shift=shift.max(), eta=eta))
    low = high = max(bottom, math.log(one_row))
    while excess(low) > 0.0:
        high = low
        low = max(bottom, low - 1.5)
    return math.exp(search.last_kept(excess, low, high, 1e-5))
