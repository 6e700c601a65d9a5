"""Checks of the arguments of functions.

Each check returns the value in a standard form, or raises a ValueError whose message
gives the name of the argument, its value and the allowed range.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def interval(
    low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> str:
    """Return the usual notation of an interval, for example "(0, 1]".

    An infinite end is always open.
    """
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
    """Return finite real numbers in an interval as a float array (0-d for one number).

    Python and NumPy numbers are accepted, and so are arrays, lists, Series and
    DataFrames of a real dtype. If an entry is not finite or not in the interval, the
    ValueError gives the first such entry. If the value contains anything else (text,
    dates, complex numbers, booleans, missing values, masked arrays), the ValueError
    says what that is.

    Returns
    -------
    array of float
        The numbers, in the shape of the value.
    """
    array = numeric(name, value)
    below = array <= low if open_low else array < low
    above = array >= high if open_high else array > high
    bad = below | above | ~np.isfinite(array)
    if bad.any():
        where = interval(low, high, open_low=open_low, open_high=open_high)
        raise ValueError(f"{name} must be in {where}, got {array[bad].flat[0]:g}")
    return array


def numeric(name: str, value: Any) -> Array:
    """Return real numbers as a float array, whether or not they are finite.

    Raises ValueError, as `real` does, if the value does not consist of real numbers.

    Returns
    -------
    array of float
        The numbers, in the shape of the value; they may be infinite or NaN.
    """
    kind = _foreign(value)
    if kind is None:
        try:
            return np.asarray(value, dtype=float)
        # for example lists of unequal lengths, and integers above the largest float
        except (TypeError, ValueError, OverflowError):
            kind = shown(value)
    raise ValueError(f"{name} must be {TAKEN}, got {kind}")


def scalar(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, **ends: bool
) -> float:
    """Return one finite number in an interval as a float.

    Raises ValueError as `real` does, and also for an array of one number.
    """
    array = real(name, value, low, high, **ends)
    if array.ndim:
        raise ValueError(
            f"{name} must be one number, got an array of shape {array.shape}"
        )
    return float(array)


LARGEST_INTEGER = 2**63 - 1
"""The largest integer of NumPy."""


def integer(
    name: str, value: Any, low: float, high: float | None = LARGEST_INTEGER
) -> int:
    """Return an integer in [low, high] as an int, with no upper limit if high is None.

    A float without decimals, such as 3.0, is accepted as an integer, but True is not.
    Anything else raises ValueError.
    """
    masked = isinstance(value, np.ma.MaskedArray)
    if isinstance(value, np.ndarray) and value.ndim == 0 and not masked:
        value = value[()]
    # NumPy registers its time differences as integers
    real = isinstance(value, numbers.Real) and not isinstance(
        value, bool | np.timedelta64
    )
    if real and (isinstance(value, numbers.Integral) or value == value // 1):
        value = int(value)
        if low <= value and (high is None or value <= high):
            return value
    raise ValueError(
        f"{name} must be an integer {_range(value, low, high)}, got {shown(value)}"
    )


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return the value if it is one of the allowed words.

    Otherwise, a ValueError lists the allowed words.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}"
        )
    return str(value)


def integers(name: str, value: Any, low: int, high: int = LARGEST_INTEGER) -> Integers:
    """Return integers as an int64 array (0-d for one integer).

    The range and the accepted floats are those of `integer`. The ValueError gives the
    first entry that is not accepted.

    Returns
    -------
    array of int64
        The integers, in the shape of the value.
    """
    array = numeric(name, value)
    good = (
        (array == np.floor(array))
        & (array >= low)
        & (array <= high)
        & (array < 2.0**63)
    )
    if not good.all():
        first = float(array[~good].flat[0])
        whole = int(first) if first.is_integer() else first
        raise ValueError(
            f"{name} must be integers {_range(whole, low, high)}, got {first:g}"
        )
    exact = np.asarray(value)
    return (exact if exact.dtype.kind in "iu" else array).astype(np.int64)


def _range(value: Any, low: float, high: float | None) -> str:
    """Return the range in words, with the largest integer only if it is exceeded."""
    if high == LARGEST_INTEGER and not (isinstance(value, int) and value > high):
        high = None
    return f"of at least {low}" if high is None else f"from {low} to {high}"


def shown(value: Any) -> str:
    """Return the beginning of a value's representation, for a message."""
    try:
        return f"{value!r:.160}"
    except ValueError:  # an integer of more digits than Python writes
        return f"an integer of {value.bit_length()} bits"


def size(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape of an array, as a tuple, for a size in any form NumPy accepts.

    The size may be an integer, a sequence of integers, or None, which gives ().
    Anything else raises ValueError.

    Returns
    -------
    tuple of int
        The lengths of the axes.
    """
    if value is None:
        return ()
    lengths = integers(name, value, 0)
    if lengths.ndim > 1:
        raise ValueError(
            f"{name} must be an integer or a sequence of integers, "
            f"got shape {lengths.shape}"
        )
    return tuple(lengths.reshape(-1).tolist())


def fits_into_memory(
    name: str,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Let a function raise ValueError for a result that does not fit into memory.

    The message gives the name of the argument that says how large the result is.
    """

    def decorate(
        function: Callable[_Arguments, _Result],
    ) -> Callable[_Arguments, _Result]:
        @functools.wraps(function)
        def call(*args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
            try:
                return function(*args, **named)
            except (MemoryError, ValueError) as error:
                # NumPy raises ValueError if the size is beyond any memory
                if isinstance(error, ValueError) and "is too big" not in str(error):
                    raise
                raise ValueError(
                    f"{name} must be smaller, because the result does not fit into "
                    f"memory ({error})"
                ) from None

        return call

    return decorate


def mask(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Mask:
    """Return booleans broadcast to a shape; raise ValueError for anything else.

    Returns
    -------
    array of bool
        The booleans, of the given shape.
    """
    array = arrayed(name, value)
    if array.dtype != bool or isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must be booleans, got {shown(value)}")
    return fitted(name, array, shape)


def arrayed(name: str, value: Any) -> NDArray[Any]:
    """Return the value as an array; raise ValueError for lists of unequal lengths."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array, got lists of unequal lengths: {shown(value)}"
        ) from None


def flag(name: str, value: Any) -> bool:
    """Return a boolean; raise ValueError for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def together(names: str, *arrays: NDArray[Any]) -> None:
    """Raise ValueError unless the arrays with these names broadcast."""
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(
            f"{names} must have shapes that broadcast, got {shapes}"
        ) from None


def fitted(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array broadcast to a shape; raise ValueError if it does not fit.

    Returns
    -------
    array
        The array, of the given shape and read-only.
    """
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{name} must broadcast to the shape {shape}, got {array.shape}"
        ) from None


def plain(result: ArrayLike) -> Any:
    """Return a 0-d array as a NumPy scalar, and any other array unchanged."""
    return np.asarray(result)[()]


# As floats, three times 0.333333 is slightly further than 1e-6 from 1.
CLOSE = 1e-6 * (1.0 + 1e-9)
"""The largest distance from 1 at which a sum of probabilities is renormalised.

It allows for probabilities in float32 and for those written with six digits.
"""


def simplex(name: str, value: ArrayLike) -> Array:
    """Return probability vectors (..., n), whose entries are non-negative and sum to 1.

    If the sums are within max(5e-15, n eps) of 1, which is the rounding error of a sum
    of doubles, the vectors are returned unchanged, bit for bit. Sums within 1e-6 of 1
    are renormalised. Other sums raise a ValueError that gives the row and its sum.

    Returns
    -------
    array of float, shape (..., n)
        The probability vectors.
    """
    array = real(name, value, 0.0)
    if array.ndim < 1 or array.shape[-1] == 0:
        raise ValueError(
            f"{name} must have at least one category on its last axis, "
            f"got shape {array.shape}"
        )
    scales = row_scales(name, array.sum(axis=-1), array.shape[-1])
    return array / scales[..., None] if (scales != 1.0).any() else array


def row_scales(name: str, totals: Array, n: int) -> Array:
    """Return the divisors that normalise rows of n probabilities with the given sums.

    A divisor is 1 if the sum is 1 within rounding. If a sum is further than 1e-6 from
    1, the ValueError gives the first such row and its sum.

    Returns
    -------
    array of float
        The divisors, in the shape of the sums.
    """
    off = np.abs(totals - 1.0)
    bad = off > CLOSE
    if bad.any():
        row = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" row {row if len(row) != 1 else row[0]}" if row else ""
        raise ValueError(
            f"{name}{where} must sum to 1 within {CLOSE:g}, "
            f"got {float(totals[row]):.10g}: "
            "markov.transition_matrix makes probabilities of counts"
        )
    return np.where(off > max(5e-15, n * np.finfo(float).eps), totals, 1.0)


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the generator of a simulation.

    It is the given generator, one made from an integer seed, or, if rng is None, a new
    one seeded by the operating system. A release uses `streams.private` instead,
    because the next numbers of NumPy's generators can be predicted from the previous
    ones. Raises ValueError for a negative seed, and TypeError for anything else,
    including the legacy RandomState.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, numbers.Integral) and not isinstance(rng, bool):
        return np.random.default_rng(integer("rng", rng, 0, None))
    raise TypeError(
        "rng must be a numpy.random.Generator, an integer or None, "
        f"got {type(rng).__name__}"
    )


TAKEN = (
    "real numbers: Python or NumPy numbers, or arrays, lists, Series or DataFrames "
    "of a real dtype"
)
"""The accepted types of numbers, as error messages state them."""


def _foreign(value: Any) -> str | None:
    """Describe the first part of a value that is not a real number.

    If all parts are real numbers, the result is None.
    """
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array"
    if isinstance(value, bool | np.bool_):
        return f"the boolean {value}"
    number = isinstance(value, int | float | np.integer | np.floating)
    if number and not isinstance(value, np.timedelta64):
        return None
    if isinstance(value, list | tuple | range):
        return next((kind for kind in map(_foreign, value) if kind is not None), None)
    if isinstance(value, numbers.Real) and not isinstance(value, np.generic):
        return None
    if isinstance(value, str | bytes) or not hasattr(value, "__array__"):
        return shown(value)
    array = np.asarray(value)
    if array.dtype.kind in "iuf":
        return None
    if array.dtype.kind == "O":
        return _foreign(array.ravel().tolist())
    return f"an array of dtype {array.dtype}"
