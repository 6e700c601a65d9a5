"""Projections onto the simplex and onto the part of it above public minima."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array, Mask


def project_to_simplex(
    x: ArrayLike,
    *,
    total: ArrayLike = 1.0,
    lower: ArrayLike = 0.0,
    support: ArrayLike | None = None,
) -> Array:
    """Return the point nearest to x with a given sum and given minima, shape (..., n).

    It is the point at the smallest Euclidean distance from x among all y with sum
    y = total, y >= lower, and y = 0 off the support. The minima are met to the last
    bit, and the total is met within rounding. With z = x - lower, the result is
    lower + max(z - tau, 0), where tau follows in closed form from the sorted z (Held,
    Wolfe and Crowder 1974; Duchi et al. 2008, figure 1).

    Parameters
    ----------
    x : array_like, shape (..., n)
    total : array_like, shape (...), above 0
    lower : array_like, at least 0, which broadcasts to x; ignored off the support
    support : bool array, which broadcasts to x, optional; None means all entries

    Returns
    -------
    y : ndarray, shape (..., n)

    Examples
    --------
    >>> project_to_simplex([0.7, 0.5, -0.1]).round(2)
    array([0.6, 0.4, 0. ])
    """
    points = _points("x", x)
    totals = checks.real("total", total, 0.0, open_low=True)
    totals = checks.fitted("total", totals, points.shape[:-1])
    allowed = checks.mask("support", True if support is None else support, points.shape)
    bounds = checks.fitted("lower", checks.real("lower", lower, 0.0), points.shape)
    bounds = np.where(allowed, bounds, 0.0)
    if not allowed.any(axis=-1).all():
        raise ValueError(
            "support must have at least one entry in each row, got a row with none"
        )
    rounding = bounds.shape[-1] * np.finfo(float).eps
    excess = bounds.sum(axis=-1) - totals * (1.0 + rounding)
    if (excess > 0.0).any():
        raise ValueError(
            "lower must add up to at most the total in each row, "
            f"got {excess.max():g} more"
        )
    return _nearest(points, totals, bounds, allowed)


def project_to_bordered_simplex(
    x: ArrayLike,
    *,
    eta: float,
    eta_bar: float,
    protected: ArrayLike,
    support: ArrayLike | None = None,
) -> Array:
    """Return the point nearest to x in the domain of Fallin et al. 2023, (..., n).

    The domain (their Definition 1, but closed) contains the probability vectors that
    are 0 off the support, at least eta on the set W of protected entries, and at most
    1 - eta_bar in total on W. In the result, the minimum eta is met to the last bit,
    and so is eta_bar if only one entry of the support is outside W. If several entries
    are, their sum is at least eta_bar within rounding.

    Parameters
    ----------
    x, support : as in `project_to_simplex`
    eta, eta_bar : float, above 0, with a sum below 1/2 (Assumption 1)
    protected : bool array, which broadcasts to x
        W: at least two entries of the support in each row, but not all of them.

    Returns
    -------
    y : ndarray, shape (..., n)

    Examples
    --------
    >>> x = [0.9, 0.0, 0.1]
    >>> W = [True, True, False]
    >>> project_to_bordered_simplex(x, eta=0.1, eta_bar=0.1, protected=W).round(3)
    array([0.8, 0.1, 0.1])
    """
    points = _points("x", x)
    eta = checks.scalar("eta", eta, 0.0, 0.5, open_low=True, open_high=True)
    eta_bar = checks.scalar(
        "eta_bar", eta_bar, 0.0, 0.5 - eta, open_low=True, open_high=True
    )
    allowed = checks.mask("support", True if support is None else support, points.shape)
    inside = checks.mask("protected", protected, points.shape)
    outside = allowed & ~inside
    _check_protected(inside, outside, allowed, eta, eta_bar)

    bounds = np.where(inside, eta, 0.0)
    free = _nearest(points, np.ones(points.shape[:-1]), bounds, allowed)
    # If the solution without the second minimum violates it, that minimum is attained
    # at the solution, so 1 - eta_bar is distributed within W, and eta_bar outside W.
    shares = np.full(points.shape[:-1], eta_bar)
    within = _nearest(points, 1.0 - shares, bounds, inside)
    others = _nearest(points, shares, 0.0 * bounds, outside)
    split = within + others
    violated = np.where(outside, free, 0.0).sum(axis=-1) < eta_bar
    return np.where(violated[..., None], split, free)


def protected_entries(matrix: ArrayLike) -> Mask:
    """Return the sets W_i of Fallin et al. 2023, Section V, as a mask (..., n).

    W_i consists of all non-zero entries of row i except the smallest one (if several
    are equally small, the first of them).

    Parameters
    ----------
    matrix : array_like, shape (..., n), at least 0

    Returns
    -------
    protected : ndarray of bool, shape (..., n)

    Examples
    --------
    >>> protected_entries([0.5, 0.2, 0.3, 0.0])
    array([ True, False,  True, False])
    """
    points = _points("matrix", matrix, 0.0)
    nonzero = points > 0
    count = nonzero.sum(axis=-1)
    if (count < 3).any():
        row = np.argwhere(count < 3)[0].tolist()
        raise ValueError(
            "matrix must have at least 3 non-zero entries in each row, "
            f"got {count.min()} in row {row}"
        )
    smallest = np.where(nonzero, points, np.inf).argmin(axis=-1)
    return nonzero & (np.arange(points.shape[-1]) != smallest[..., None])


def _nearest(points: Array, totals: Array, bounds: Array, allowed: Mask) -> Array:
    """Return the projections of `project_to_simplex`, if the set is not empty.

    A row without any allowed entry gives zeros.
    """
    spare = np.maximum(totals - bounds.sum(axis=-1), 0.0)[..., None]
    shifted = points - bounds
    top = np.max(shifted, axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)  # in a row without support
    # Entries more than `spare` below the largest one end up at their bounds in any
    # case. They are clipped there, so all sums below are of the order of `spare`, and
    # no accuracy is lost, however large x is.
    shifted = np.where(allowed, np.maximum(shifted - top, -spare), -spare)
    ordered = -np.sort(-shifted, axis=-1)
    rank = np.arange(1, points.shape[-1] + 1)
    excess = np.cumsum(ordered, axis=-1) - spare
    active = np.maximum((ordered * rank > excess).sum(axis=-1, keepdims=True), 1)
    tau = np.take_along_axis(excess, active - 1, axis=-1) / active
    return np.where(allowed, bounds + np.maximum(shifted - tau, 0.0), 0.0)


def _points(name: str, value: ArrayLike, low: float = -math.inf) -> Array:
    """Return the value as an array, and raise ValueError if it has no categories."""
    points = checks.real(name, value, low)
    if points.ndim < 1 or points.shape[-1] == 0:
        raise ValueError(
            f"{name} must have at least one category on its last axis, "
            f"got shape {points.shape}"
        )
    return points


def _check_protected(
    inside: Mask, outside: Mask, allowed: Mask, eta: float, eta_bar: float
) -> None:
    """Raise ValueError if the domain of any row is empty.

    `inside` marks the protected entries, `outside` the other entries of the support,
    and `allowed` the support.
    """
    count = inside.sum(axis=-1)
    most = int(min(2.0**53, (1.0 - eta_bar) / eta * (1.0 + 4.0 * np.finfo(float).eps)))
    bad = (count < 2) | (count > most)
    if bad.any():
        raise ValueError(
            f"protected must mark 2 to {most} entries of each row "
            f"(|W| eta + eta_bar <= 1 at eta {eta:g}, eta_bar {eta_bar:g}), "
            f"got {int(count[bad].flat[0])}"
        )
    if (inside & ~allowed).any():
        raise ValueError(
            "protected must lie within the support, got a protected entry off it"
        )
    if not outside.any(axis=-1).all():
        raise ValueError(
            "protected must leave at least one entry of the support of each row, "
            "got a row with none"
        )
