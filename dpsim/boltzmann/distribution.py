"""The objective of the Boltzmann machine and its stationary distribution.

Fleischer 2024 defines both. The true histogram x of N people in n bins maximises the
objective c_x(z) = -(z - x)' W (z - x) over all histograms z with the same total, and
the stationary distribution pi(z | x), the Boltzmann distribution, is proportional to
exp(c_x(z) / t). Two histograms are neighbours if they differ in the bin of one person,
so that their L1 distance is 2. Here W is a diagonal matrix of public weights, the same
for all x, although the slides allow any W_x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.boltzmann.histograms import SCALE, bin_weights, configurations, histogram
from dpsim.checks import Array


def objective(z: ArrayLike, x: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return c_x(z) = -sum_i w_i (z_i - x_i)^2, at most 0, for each histogram z.

    Parameters
    ----------
    z : array_like of float (..., n), histograms
    x : array_like of int (n,), the true histogram: n >= 2 bins, counts >= 0, and at
        least one person
    weights : array_like (n,), optional, w >= 0; None means ones

    Returns
    -------
    array of float (...)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.objective([[30, 15, 5], [29, 16, 5]], [30, 15, 5])
    array([ 0., -2.])
    """
    centre = histogram(x)
    w = bin_weights(weights, centre.size)
    states = checks.real("z", z)
    if states.ndim == 0 or states.shape[-1] != centre.size:
        raise ValueError(
            f"z must have {centre.size} bins on its last axis, got shape {states.shape}"
        )
    return checks.plain(-((states - centre) ** 2) @ w)


def log_stationary(
    x: ArrayLike, t: ArrayLike, weights: ArrayLike | None = None
) -> Array:
    """Return log pi(z | x) for every row z of `configurations`.

    Parameters
    ----------
    x : array_like of int (n,), the true histogram
    t : array_like (...), Fleischer 2024's temperature, in [1e-100, 1e100]
    weights : array_like (n,), optional, as in `objective`

    Returns
    -------
    array of float (..., rows)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.log_stationary([1, 1], 2.0).round(3)
    array([-1.551, -0.551, -1.551])
    """
    centre = histogram(x)
    warm = checks.real("t", t, 1 / SCALE, SCALE)
    cost = objective(configurations(int(centre.sum()), centre.size), centre, weights)
    exponent = cost / warm[..., None]  # the largest one is 0, at z = x
    normaliser = np.exp(exponent).sum(axis=-1, keepdims=True)
    return exponent - np.log(normaliser)
