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
    """Return P plus independent noise on its positive entries: not yet stochastic.

    Parameters
    ----------
    P : array_like, shape (..., n)
        Probability vectors.
    scale : float
        Above 0: mean absolute value of the Laplace, standard deviation of the Gaussian noise.
    noise : {"laplace", "gaussian"}
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    ndarray, shape ``(*size, ..., n)``

    Raises
    ------
    ValueError
        For P off the simplex, a scale that is not positive, another noise.

    Examples
    --------
    >>> noisy_matrix([[0.5, 0.5]], 0.1, "laplace", rng=1).round(2)
    array([[0.5 , 0.73]])
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
    """Return matrices whose rows are projected onto the simplex or the bordered simplex, on the support.

    Parameters
    ----------
    matrices : array_like, shape (..., n, n)
    eta, eta_bar : float
        As in `simplex.project_to_bordered_simplex`.
    protected, support : bool array (n, n)
        Only the support is sorted, row by row of the matrix.
    onto : {"simplex", "bordered"}
        "simplex", where rows may lose entries and a chain its irreducibility, or "bordered", where every protected
        entry stays positive.

    Returns
    -------
    ndarray, shape (..., n, n)

    Raises
    ------
    ValueError
        As the projections do, and for another word in `onto`.

    Examples
    --------
    >>> masks = np.full((2, 2), True)
    >>> project_matrices([[0.7, 0.4], [0.1, 0.9]], eta=0.1, eta_bar=0.1, protected=masks, support=masks, onto="simplex")
    array([[0.65, 0.35],
           [0.1 , 0.9 ]])
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
