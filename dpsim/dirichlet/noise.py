"""Noise and projection to compare the Dirichlet mechanism with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics import simplex

NOISES = ("laplace", "gaussian")


def noisy_matrix(
    P: ArrayLike,
    scale: float,
    noise: str,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return P (..., n) plus independent noise on its positive entries, shape (*size, ..., n): not yet stochastic.

    noise: "laplace" (scale: mean absolute value) or "gaussian" (scale: standard deviation). Raises ValueError for P off
    the simplex, a scale that is not positive, another noise.
    """
    rng = checks.generator(rng)
    P = checks.simplex("P", P)
    scale = checks.scalar("scale", scale, 0.0, open_low=True)
    sizes = () if size is None else (size if isinstance(size, tuple) else (size,))
    sizes = tuple(checks.integer("size", length, 0) for length in sizes)
    draw = {"laplace": rng.laplace, "gaussian": rng.normal}[checks.choice("noise", noise, NOISES)]
    noisy = np.broadcast_to(P, sizes + P.shape).copy()
    support = P > 0.0
    noisy[..., support] += draw(0.0, scale, (*sizes, int(support.sum())))
    return noisy


def project_matrices(
    matrices: ArrayLike, *, eta: float, eta_bar: float, protected: ArrayLike, support: ArrayLike, onto: str
) -> Array:
    """Return matrices (..., n, n), each row projected onto the simplex or the bordered simplex, on the support.

    onto: "simplex", where rows may lose entries and a chain its irreducibility, or "bordered" (eta, eta_bar and the
    masks as in `simplex.project_to_bordered_simplex`), where every protected entry stays positive. Only the support is
    sorted, row by row of the matrix.
    """
    checks.choice("onto", onto, ("simplex", "bordered"))
    matrices = checks.real("matrices", matrices)
    support, protected = np.asarray(support), np.asarray(protected)
    square = matrices.shape[-2:]
    if len(square) != 2 or square[0] != square[1]:
        raise ValueError(f"matrices must have shape (..., n, n), got {matrices.shape}")
    for name, mask in (("support", support), ("protected", protected)):
        if mask.dtype != bool or mask.shape != square:
            raise ValueError(f"{name} must be booleans of shape {square}, got {mask.dtype} of shape {mask.shape}")
    out = np.zeros_like(matrices)
    for i, allowed in enumerate(support):
        rows = matrices[..., i, allowed]
        if onto == "simplex":
            out[..., i, allowed] = simplex.project_to_simplex(rows)
        else:
            inside = protected[i, allowed]
            out[..., i, allowed] = simplex.project_to_bordered_simplex(rows, eta=eta, eta_bar=eta_bar, protected=inside)
    return out
