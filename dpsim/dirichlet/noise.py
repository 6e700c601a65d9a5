"""Noise and projection to compare the Dirichlet mechanism with."""

from __future__ import annotations

from collections.abc import Sequence

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
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return P (..., n) plus independent noise on its positive entries, shape (*size, ..., n): not yet stochastic.

    noise: "laplace" (scale: mean absolute value) or "gaussian" (scale: standard deviation). Raises ValueError for P off
    the simplex, a scale that is not positive, another noise.
    """
    rng = checks.generator(rng)
    P = checks.simplex("P", P)
    scale = checks.scalar("scale", scale, 0.0, open_low=True)
    sizes = checks.size("size", size)
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
    eta, eta_bar = checks.scalar("eta", eta), checks.scalar("eta_bar", eta_bar)
    matrices = checks.real("matrices", matrices)
    square = matrices.shape[-2:]
    if len(square) != 2 or square[0] != square[1]:
        raise ValueError(f"matrices must have shape (..., n, n), got {matrices.shape}")
    support, protected = (checks.mask(*named, square) for named in (("support", support), ("protected", protected)))
    out = np.zeros_like(matrices)
    for i, allowed in enumerate(support):
        rows = matrices[..., i, allowed]
        if onto == "simplex":
            out[..., i, allowed] = simplex.project_to_simplex(rows)
        else:
            inside = protected[i, allowed]
            out[..., i, allowed] = simplex.project_to_bordered_simplex(rows, eta=eta, eta_bar=eta_bar, protected=inside)
    return out
