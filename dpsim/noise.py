"""Two-sided geometric noise: whole numbers that make counts private, in simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array, Integers


@checks.fits_into_memory("size")
def geometric(
    epsilon: ArrayLike,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    change: float = 1.0,
) -> Integers:
    """Return noise z (..., epsilon) with probabilities of exp(-epsilon ``|z|``/change).

    With it, counts are epsilon-private if neighbours differ by at most `change` in all
    counts together (Ghosh, Roughgarden, Sundararajan 2009). It is the difference of two
    geometric variables. Releases use samplers that are exact for every outcome;
    NumPy's, used here, round the probabilities of far outcomes.

    Parameters
    ----------
    epsilon : array_like, with epsilon / change in [1e-15, 700]
    size : int or sequence of int, optional
    rng : Generator, int or None
    change : float, above 0
        For example 2 if a person who changes moves from one count to another.

    Returns
    -------
    array of int, of the shape ``(*size, *epsilon.shape)``

    Examples
    --------
    >>> from dpsim import noise
    >>> (np.array([20, 30, 50]) + noise.geometric(1.0, 3, rng=1)).tolist()
    [18, 33, 50]
    """
    rng = checks.generator(rng)
    stop = -np.expm1(-_rate(epsilon, change))
    shape = checks.size("size", size) + stop.shape
    noise = rng.geometric(stop, shape) - rng.geometric(stop, shape)
    return np.asarray(noise, dtype=np.int64)[()]


def geometric_error(epsilon: ArrayLike, *, change: float = 1.0) -> Array:
    """Return the expected ``|z|`` of `geometric` noise, 1 / sinh(epsilon / change).

    Returns
    -------
    array of float, of the shape of epsilon
        The expected absolute values.

    >>> from dpsim import noise
    >>> noise.geometric_error([1.0, 2.0]).round(3)
    array([0.851, 0.276])
    """
    return checks.plain(1.0 / np.sinh(_rate(epsilon, change)))


def _rate(epsilon: ArrayLike, change: float) -> Array:
    change = checks.scalar("change", change, 0.0, open_low=True)
    values = checks.real("epsilon", epsilon, 1e-15 * change, 700.0 * change)
    return np.asarray(values / change)
