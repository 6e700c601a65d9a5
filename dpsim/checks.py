"""Argument checks: every refusal names the argument, its value and the allowed range."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def interval(low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> str:
    """Return the interval in the usual notation, "(0, 1]" for instance; an infinite end is always open."""
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
    """Return the value as a float array (0-d for a number) once every entry is finite and in the interval.

    Raises ValueError naming the argument, the first offending value and the range.
    """
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:  # the last for integers beyond the floats
        raise ValueError(f"{name} must be real numbers, got {value!r}"[:200]) from error
    below = array <= low if open_low else array < low
    above = array >= high if open_high else array > high
    bad = below | above | ~np.isfinite(array)
    if bad.any():
        offender = array[bad].flat[0] if array.ndim else float(array)
        where = interval(low, high, open_low=open_low, open_high=open_high)
        raise ValueError(f"{name} must be in {where}, got {offender:g}")
    return array


def scalar(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return one finite float in the interval; raises ValueError like `real`, also when it is not one number."""
    array = real(name, value, low, high, open_low=open_low, open_high=open_high)
    if array.ndim:
        raise ValueError(f"{name} must be one number, got an array of shape {array.shape}")
    return float(array)


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return the value as an int in low..high (no upper end when high is None).

    Raises ValueError naming the argument, the value and the range; 3.0 counts as 3, True does not count.
    """
    where = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    integral = isinstance(value, numbers.Integral) or (isinstance(value, numbers.Real) and value == value // 1)
    if isinstance(value, bool) or not integral:
        raise ValueError(f"{name} must be {where}, got {value!r}")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be {where}, got {value}")
    return int(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return the value once it is one of the allowed words; raises ValueError that lists them."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


def simplex(name: str, value: ArrayLike) -> Array:
    """Return probability vectors (..., n) once each is non-negative and sums to one.

    The tolerance of the sum is max(5e-15, n eps) scaled by the number of roundings, as GTH allows.
    Raises ValueError naming the argument, and the row, value and range at fault.
    """
    array = real(name, value, 0.0)
    if array.ndim < 1 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have at least one category on its last axis, got shape {array.shape}")
    totals = array.sum(axis=-1)
    tolerance = max(5e-15, array.shape[-1] * np.finfo(float).eps)
    bad = np.abs(totals - 1.0) > tolerance
    if bad.any():
        row = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" row {row if len(row) != 1 else row[0]}" if row else ""
        raise ValueError(f"{name}{where} must sum to 1 within {tolerance:.2g}, got {float(totals[row]):.17g}")
    return array


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the generator given, or a new one seeded from the operating system when None.

    Raises TypeError for anything else: seeds and legacy states are not accepted.
    """
    if rng is None:
        return np.random.default_rng()
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator or None, got {type(rng).__name__}")
    return rng
