"""Noise to compare the Dirichlet mechanism with, before a projection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array

NOISES = ("laplace", "gaussian")


def noisy_matrix(
    P: ArrayLike,
    scale: float,
    noise: str,
    *,
    support: ArrayLike | None = None,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return P plus independent noise on its support, shape ``(*size, ..., n)``: not yet stochastic.

    Parameters
    ----------
    P : array_like, shape (..., n); probability vectors
    scale : float
        Above 0: mean absolute value of the Laplace, standard deviation of the Gaussian noise.
    noise : {"laplace", "gaussian"}
    support : bool array, broadcast to P, optional; None: the positive entries of P
    size, rng : as in `dirichlet_mechanism`

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
    allowed = P > 0.0 if support is None else checks.mask("support", support, P.shape)
    noisy = np.broadcast_to(P, sizes + P.shape).copy()
    noisy[..., allowed] += draw(0.0, scale, (*sizes, int(allowed.sum())))
    return noisy
