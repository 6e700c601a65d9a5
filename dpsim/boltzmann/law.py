"""The Boltzmann distribution of histograms, and an upper bound on the exact epsilon of one draw (Fleischer 2024).

The true histogram x of N people in n bins maximises the objective c_x(z) = -(z - x)' W (z - x) over all histograms
z with the same total, and pi(z | x) is proportional to exp(c_x(z) / t). Two histograms are neighbours if a single
person is in another bin (L1 distance 2). Here W is public and the same for all x, although the slides write W_x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.space import (
    SCALE,
    configurations,
    histogram,
    size,
    temperature,
    weight_matrix,
)
from dpsim.checks import Array


def objective(z: ArrayLike, x: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return the objective of the Boltzmann machine, c_x(z) = -(z - x)' W (z - x), which is at most 0, shape (...).

    Parameters
    ----------
    z : array_like of float (..., n), histograms to score
    x : array_like of int (n,), the true histogram: n >= 2 bins, counts >= 0, at least one person
    weights : array_like, optional
        The matrix W, in every function here: None for the identity, (n,) for a diagonal, (n, n) symmetric positive
        semidefinite.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.objective([[30, 15, 5], [29, 16, 5]], [30, 15, 5])
    array([ 0., -2.])
    """
    centre = histogram(x)
    w = weight_matrix(weights, centre.size)
    states = checks.real("z", z)
    if states.ndim == 0 or states.shape[-1] != centre.size:
        raise ValueError(
            f"z must have {centre.size} bins on its last axis, got shape {states.shape}"
        )
    d = states - centre
    if w.ndim == 1:
        return checks.plain(-(d * d) @ w)
    return checks.plain(-np.maximum(np.einsum("...i,...i->...", d @ w, d), 0.0))


def log_stationary(
    x: ArrayLike, t: ArrayLike, weights: ArrayLike | None = None
) -> Array:
    """Return log pi(z | x) for every row z of `configurations`, (..., rows), where pi is proportional to exp(c_x(z) /
    t).

    Parameters
    ----------
    x : array_like of int (n,), the true histogram
    t : array_like (...), Fleischer 2024's temperature, in [1e-100, 1e100]
    weights : array_like, optional, W as in `objective`

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.log_stationary([1, 1], 2.0).round(3)
    array([-1.551, -0.551, -1.551])
    """
    centre = histogram(x)
    warm = checks.real("t", t, 1 / SCALE, SCALE)
    cost = objective(configurations(int(centre.sum()), centre.size), centre, weights)
    exponent = cost / warm[..., None]
    # the largest exponent is 0, at z = x
    return exponent - np.log(np.exp(exponent).sum(axis=-1, keepdims=True))


def sensitivity(total: int, bins: int, weights: ArrayLike | None = None) -> float:
    """Return s, the exact maximum of ``|c_x(z) - c_y(z)|`` over histograms z and neighbours x, y (Fleischer 2024).

    With y = x + m, m = e_j - e_i and g = W m, the difference c_y(z) - c_x(z) = 2 g.(z - x) - (g_j - g_i) is linear in z
    and in x. So the maximum is at z = N e_k and x = e_i + (N - 1) e_l, and s is the maximum over i != j of 2 N max(g) -
    2 (N - 1) min(g) - g_i - g_j. Exchanging x and y gives the other sign. For a diagonal W, s is (2 N - 1) times the
    sum of the two largest weights, which is 4 N - 2 for the identity.

    Parameters
    ----------
    total, bins : int, N >= 1 people and n >= 2 bins
    weights : array_like, optional, W as in `objective`

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.sensitivity(50, 3)
    198.0
    """
    total, bins = size(total, bins)
    w = weight_matrix(weights, bins)
    if w.ndim == 1:
        return float((2 * total - 1) * np.sort(w)[-2:].sum())
    largest = 0.0
    for i in range(bins):
        g = np.delete(w - w[i], i, axis=0)  # one row for each j
        ends = np.delete(np.diag(w), i) - w[i, i]  # g_i + g_j
        values = 2 * total * g.max(axis=1) - 2 * (total - 1) * g.min(axis=1) - ends
        largest = max(largest, float(values.max()))
    return largest


def epsilon_bound(
    total: int, bins: int, t: float, weights: ArrayLike | None = None
) -> float:
    """Return a proven upper bound on the exact epsilon of one draw of pi(z | x), never above Fleischer 2024's 2 s / t.

    Parameters
    ----------
    total, bins, weights : as in `sensitivity`
    t : float in [1e-100, 1e100], the temperature

    Notes
    -----
    Let y = x + m, m = e_j - e_i and g = W m as in `sensitivity`, and let E_h be the mean under the Boltzmann
    distribution centred at the real point x + h m. Integrate the derivative of the normaliser along the way from x to
    y. Then log pi(z | x) - log pi(z | y) is 2 / t times (the mean over h in [0, 1] of E_h[g.Z], less g.z). This is at
    most 2 N (max(g) - min(g)) / t, which for a diagonal W is 2 N times the sum of the two largest weights / t.

    For W = w times the identity the bound is s / t. Take w = 1. Then g.Z = N - S with S = 2 Z_i + (the counts of all
    bins except i and j), and min g = -1, so the claim is that S has a mean of at least 1 over h. Under E_h, S is in
    0..2N with weights q(S) exp(-(S - b + 2 h)^2 / (2 t)), where b = 2 x_i + (the counts of x in those bins) >= 2.
    Moreover q(0) <= q(2), since each split that makes S = 0 also makes S = 2. Lowering b to 2 only lowers the mean.
    After that, S -> 2 - S exchanges h and 1 - h on {0, 1, 2}, so the average over both is at least 1, because q(2) and
    S > 2 only add to it. For unequal weights s / t can fail.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.epsilon_bound(50, 3, 198.0)
    1.0
    """
    total, bins = size(total, bins)
    w = weight_matrix(weights, bins)
    t = temperature(t)
    if w.ndim == 1:
        moved = 2 * total - 1 if np.ptp(w) == 0 else 2 * total
        return moved * float(np.sort(w)[-2:].sum()) / t
    return (
        2 * total * max(float(np.ptp(w - w[i], axis=1).max()) for i in range(bins)) / t
    )
