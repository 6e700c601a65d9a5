"""Exact Euclidean projections, in batches and by one sort each, onto the simplex and onto its part above public
minima."""

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
    """Return the point nearest to x in {y : sum y = total, y >= lower, y = 0 off the support}, in the shape of x.

    The result meets the lower bounds to the last bit and the total within rounding. With z = x - lower the result is
    lower + max(z - tau, 0), and tau follows in closed form from the sorted z, so the algorithm is finite (Held, Wolfe
    and Crowder 1974; Duchi et al. 2008, figure 1).

    Parameters
    ----------
    x : array_like, shape (..., n)
    total : array_like, shape (...), above 0
    lower : array_like, at least 0, broadcastable to x, ignored off the support
    support : bool array, optional, broadcastable to x; None for all entries

    Examples
    --------
    >>> project_to_simplex([0.7, 0.5, -0.1]).round(2)
    array([0.6, 0.4, 0. ])
    """
    points = _points("x", x)
    totals = checks.fitted(
        "total", checks.real("total", total, 0.0, open_low=True), points.shape[:-1]
    )
    allowed = checks.mask("support", True if support is None else support, points.shape)
    bounds = np.where(
        allowed,
        checks.fitted("lower", checks.real("lower", lower, 0.0), points.shape),
        0.0,
    )
    if not allowed.any(axis=-1).all():
        raise ValueError(
            "support must have at least one entry in each row, got a row with none"
        )
    excess = bounds.sum(axis=-1) - totals * (
        1.0 + bounds.shape[-1] * np.finfo(float).eps
    )
    if (excess > 0.0).any():
        raise ValueError(
            f"lower must add up to at most the total in each row, got {excess.max():g} more"
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
    """Return the point nearest to x in the domain of Fallin et al. 2023, Definition 1, with zeros off the support.

    The domain holds the vectors y of the simplex with y_i >= eta for i in W, the protected entries, and with a sum of y
    over W of at most 1 - eta_bar. The closed set is used, so entries of the support outside W only need to be >= 0. The
    result has y_i >= eta to the last bit, and also y_j >= eta_bar when j is the only entry outside W. When several
    entries are outside W, their sum is at least eta_bar within rounding.

    Parameters
    ----------
    x, support : as in `project_to_simplex`
    eta, eta_bar : float, above 0, with a sum below 1/2 (Assumption 1)
    protected : bool array, broadcastable to x; W, at least two entries of each row, on the support

    Examples
    --------
    >>> masks = [True, True, False]
    >>> project_to_bordered_simplex([0.9, 0.05, 0.05], eta=0.1, eta_bar=0.1, protected=masks).round(3)
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
    # If the solution without the second minimum violates it, that minimum is active at the solution, and the
    # problem splits into two independent ones, which distribute 1 - eta_bar within W and eta_bar outside W.
    shares = np.full(points.shape[:-1], eta_bar)
    split = _nearest(points, 1.0 - shares, bounds, inside) + _nearest(
        points, shares, 0.0 * bounds, outside
    )
    violated = np.where(outside, free, 0.0).sum(axis=-1) < eta_bar
    return np.where(violated[..., None], split, free)


def protected_entries(matrix: ArrayLike) -> Mask:
    """Return the sets W_i of Fallin et al. 2023, Section V, as a mask in the shape of the matrix. The set W_i holds all
    non-zero entries of row i except the smallest one. If several entries are equally small, the first of them is left
    out.

    Parameters
    ----------
    matrix : array_like, shape (..., n), at least 0

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
            f"matrix must have at least 3 non-zero entries in each row, got {count.min()} in row {row}"
        )
    smallest = np.where(nonzero, points, np.inf).argmin(axis=-1)
    return nonzero & (np.arange(points.shape[-1]) != smallest[..., None])


def _nearest(points: Array, totals: Array, bounds: Array, allowed: Mask) -> Array:
    """Return the projections of rows whose projection is known to exist."""
    spare = np.maximum(totals - bounds.sum(axis=-1), 0.0)[..., None]
    shifted = points - bounds
    top = np.max(shifted, axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)  # a row without support
    # Entries more than `spare` below the largest end at their bound in any case, so clipping them there keeps
    # every sum below of the order of `spare`, so that no accuracy is lost however large x is.
    shifted = np.where(allowed, np.maximum(shifted - top, -spare), -spare)
    ordered = -np.sort(-shifted, axis=-1)
    rank = np.arange(1, points.shape[-1] + 1)
    excess = np.cumsum(ordered, axis=-1) - spare
    active = np.maximum((ordered * rank > excess).sum(axis=-1, keepdims=True), 1)
    tau = np.take_along_axis(excess, active - 1, axis=-1) / active
    return np.where(allowed, bounds + np.maximum(shifted - tau, 0.0), 0.0)


def _points(name: str, value: ArrayLike, low: float = -math.inf) -> Array:
    """Return the value as an array; raise ValueError unless its last axis has at least one category."""
    points = checks.real(name, value, low)
    if points.ndim < 1 or points.shape[-1] == 0:
        raise ValueError(
            f"{name} must have at least one category on its last axis, got shape {points.shape}"
        )
    return points


def _check_protected(
    inside: Mask, outside: Mask, allowed: Mask, eta: float, eta_bar: float
) -> None:
    """Raise ValueError unless some vector of each row has the minimum eta in its protected entries, which are `inside`,
    and a sum of at least eta_bar in the other entries of the support, which are `outside`."""
    count = inside.sum(axis=-1)
    most = int(min(2.0**53, (1.0 - eta_bar) / eta * (1.0 + 4.0 * np.finfo(float).eps)))
    bad = (count < 2) | (count > most)
    if bad.any():
        raise ValueError(
            f"protected must mark 2 to {most} entries of each row (|W| eta + eta_bar <= 1 at eta {eta:g}, "
            f"eta_bar {eta_bar:g}), got {int(count[bad].flat[0])}"
        )
    if (inside & ~allowed).any():
        raise ValueError(
            "protected must lie within the support, got a protected entry off it"
        )
    if not outside.any(axis=-1).all():
        raise ValueError(
            "protected must leave at least one entry of the support of each row, got a row with none"
        )
