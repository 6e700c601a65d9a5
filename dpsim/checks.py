"""Argument checks, whose errors name the argument, its value and the allowed range."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def interval(
    low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> str:
    """Return the interval in the usual notation, for example "(0, 1]"; an infinite end is always open."""
    left = "(" if open_low or math.isinf(low) else "["
    right = ")" if open_high or math.isinf(high) else "]"
    return f"{left}{low:g}, {high:g}{right}"


def real(
    name: str,
    value: ArrayLike,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Array:
    """Return the value as a float array (0-d for a number) if every entry is finite and in the interval.

    Python and NumPy numbers, arrays, lists, Series and DataFrames of a real dtype are accepted. Otherwise a ValueError
    names the argument, the first offending value and the range. For a value that is not a real number (text, dates,
    complex and masked arrays, booleans, missing values), the ValueError names the kind of the value instead.
    """
    array = numeric(name, value)
    below = array <= low if open_low else array < low
    above = array >= high if open_high else array > high
    bad = below | above | ~np.isfinite(array)
    if bad.any():
        offender = array[bad].flat[0] if array.ndim else float(array)
        where = interval(low, high, open_low=open_low, open_high=open_high)
        raise ValueError(f"{name} must be in {where}, got {offender:g}")
    return array


def numeric(name: str, value: Any) -> Array:
    """Return the value as a float array, finite or not; raise ValueError, as `real` does, if it is not of real
    numbers."""
    kind = _foreign(value)
    if kind is None:
        try:
            return np.asarray(value, dtype=float)
        except (
            TypeError,
            ValueError,
            OverflowError,
        ):  # ragged lists; integers beyond the floats
            kind = f"{value!r}"
    raise ValueError(f"{name} must be {TAKEN}, got {kind[:160]}")


def scalar(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, **ends: bool
) -> float:
    """Return one finite float in the interval; raise ValueError as `real` does, and also for anything that is not one
    number."""
    array = real(name, value, low, high, **ends)
    if array.ndim:
        raise ValueError(
            f"{name} must be one number, got an array of shape {array.shape}"
        )
    return float(array)


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return the value as an int from low to high, with no upper end if high is None.

    Raises a ValueError that names the argument, the value and the range. 3.0 counts as 3, and True is not an integer
    here.
    """
    where = (
        f"an integer of at least {low}"
        if high is None
        else f"an integer from {low} to {high}"
    )
    if (
        isinstance(value, np.ndarray)
        and value.ndim == 0
        and not isinstance(value, np.ma.MaskedArray)
    ):
        value = value[()]
    real = isinstance(value, numbers.Real) and not isinstance(
        value, bool | np.timedelta64
    )  # NumPy's is an integer
    if not real or not (isinstance(value, numbers.Integral) or value == value // 1):
        raise ValueError(f"{name} must be {where}, got {value!r}")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be {where}, got {value}")
    return int(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return the value if it is one of the allowed words; otherwise raise a ValueError that lists them."""
    if value not in allowed:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
        )
    return str(value)


def integers(name: str, value: Any, low: int, high: int | None = None) -> Integers:
    """Return the value as an array of integers from low to high (0-d for one integer), in which 3.0 counts as 3.

    Raises a ValueError that names the argument, the first offending value and the range.
    """
    where = (
        f"integers of at least {low}"
        if high is None
        else f"integers from {low} to {high}"
    )
    array = numeric(name, value)
    top = 2.0**63 if high is None else float(high)
    bad = ~(
        np.isfinite(array)
        & (array == np.floor(array))
        & (array >= low)
        & (array <= top)
        & (array < 2.0**63)
    )
    if bad.any():
        raise ValueError(
            f"{name} must be {where}, got {array[bad].flat[0] if array.ndim else float(array):g}"
        )
    exact = np.asarray(value)
    return (
        exact.astype(np.int64) if exact.dtype.kind in "iu" else array.astype(np.int64)
    )


def size(name: str, value: Any) -> tuple[int, ...]:
    """Return a size as a tuple. As in NumPy it is an integer, a sequence of integers or None, and None gives ().

    Raises a ValueError that names the argument for anything that is not the shape of an array.
    """
    if value is None:
        return ()
    lengths = integers(name, value, 0)
    if lengths.ndim > 1:
        raise ValueError(
            f"{name} must be an integer or a sequence of integers, got shape {lengths.shape}"
        )
    return tuple(lengths.reshape(-1).tolist())


def mask(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Mask:
    """Return booleans broadcast to a shape; raise ValueError for anything else."""
    array = np.asarray(value)
    if array.dtype != bool or isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must be booleans, got {value!r:.160}")
    return fitted(name, array, shape)


def fitted(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array broadcast to a shape; raise a ValueError that names the argument if the array does not fit."""
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{name} must broadcast to the shape {shape}, got {array.shape}"
        ) from None


def plain(result: ArrayLike) -> Any:
    """Return a result in the form that functions return: a 0-d array as a NumPy scalar, other arrays unchanged."""
    return np.asarray(result)[()]


CLOSE = 1e-6 * (
    1.0 + 1e-9
)  # because in floats three times 0.333333 is slightly further than 1e-6 from 1
"""How far the sum of probabilities may be from 1, so that float32 and six printed digits are renormalised."""


def simplex(name: str, value: ArrayLike) -> Array:
    """Return probability vectors (..., n) if each is non-negative and sums to one.

    Sums within max(5e-15, n eps) of 1, which is the rounding of a sum of doubles, are left untouched bit for bit. Sums
    within 1e-6 are renormalised. For any other sum, a ValueError names the argument, the row, its sum and the range.
    """
    array = real(name, value, 0.0)
    if array.ndim < 1 or array.shape[-1] == 0:
        raise ValueError(
            f"{name} must have at least one category on its last axis, got shape {array.shape}"
        )
    scales = row_scales(name, array.sum(axis=-1), array.shape[-1])
    return array / scales[..., None] if (scales != 1.0).any() else array


def row_scales(name: str, totals: Array, n: int) -> Array:
    """Return the divisors that normalise rows of n probabilities with these sums; a divisor is 1 if the sum is 1 within
    rounding.

    Raises a ValueError that names the argument, the first row whose sum is further than 1e-6 from 1, and the sum.
    """
    off = np.abs(totals - 1.0)
    bad = off > CLOSE
    if bad.any():
        row = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" row {row if len(row) != 1 else row[0]}" if row else ""
        raise ValueError(
            f"{name}{where} must sum to 1 within {CLOSE:g}, got {float(totals[row]):.10g}: "
            "markov.transition_matrix makes probabilities of counts"
        )
    return np.where(off > max(5e-15, n * np.finfo(float).eps), totals, 1.0)


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the given generator, one made from an integer seed, or a new one seeded by the operating system.

    It is for simulations, because NumPy's generators can be predicted from their output. A release draws from
    `private.source`. Raises ValueError for a negative seed, and TypeError for anything else, including legacy states.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, numbers.Integral) and not isinstance(rng, bool):
        return np.random.default_rng(integer("rng", rng, 0))
    raise TypeError(
        f"rng must be a numpy.random.Generator, an integer or None, got {type(rng).__name__}"
    )


TAKEN = "real numbers: Python or NumPy numbers, or arrays, lists, Series or DataFrames of a real dtype"
"""The types of numeric arguments, for messages."""


def _foreign(value: Any) -> str | None:
    """Find the first part of a value that is not a real number and return its kind; return None if all parts are real
    numbers."""
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array"
    if isinstance(value, bool | np.bool_):
        return f"the boolean {value}"
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, np.timedelta64
    ):
        return None
    if isinstance(value, list | tuple | range):
        return next((kind for kind in map(_foreign, value) if kind is not None), None)
    if isinstance(value, numbers.Real) and not isinstance(value, np.generic):
        return None
    if isinstance(value, str | bytes) or not hasattr(value, "__array__"):
        return f"{value!r}"
    array = np.asarray(value)
    if array.dtype.kind in "iuf":
        return None
    if array.dtype.kind == "O":
        return next(
            (
                kind
                for kind in map(_foreign, array.ravel().tolist())
                if kind is not None
            ),
            None,
        )
    return f"an array of dtype {array.dtype}"
