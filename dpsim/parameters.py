"""The checks of a notebook's parameters, for its cell tagged `checks`.

Papermill hands over 4.0, "4" or "5e1" where a notebook declares an integer, a number
where it declares text, and one number where it declares a list. Each function returns
the value in the declared type, or raises a ValueError that gives the name, the value
and the allowed range. `dpsim run` executes the same cell before it runs anything, so
both accept the same values and refuse others in the same words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any

from dpsim import checks


def integer(
    name: str, value: Any, low: float = -math.inf, high: float | None = None
) -> int:
    """Return an integer in [low, high], as `checks.integer` does, also for text."""
    return checks.integer(name, literal(value), low, high)


def number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    **ends: bool,
) -> float:
    """Return a number in an interval, as `checks.scalar` does, also for text."""
    value = literal(value)
    if not isinstance(value, int | float):
        where = checks.interval(low, high, **ends)
        raise ValueError(f"{name} must be a number in {where}, got {value!r:.80}")
    return checks.scalar(name, value, low, high, **ends)


def text(name: str, value: Any) -> str:
    """Return text; a number, a truth value or None is written as Python writes it."""
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{name} must be text, got {value!r:.160}")
    return str(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return one of the allowed words."""
    return checks.choice(name, text(name, value), allowed)


def truth(name: str, value: Any) -> bool:
    """Return true or false, also for these words."""
    word = str(value).lower()
    if word not in ("true", "false"):
        raise ValueError(f"{name} must be true or false, got {value!r:.160}")
    return word == "true"


def integers(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float | None = None,
    *,
    least: int = 0,
    most: int | None = None,
) -> list[int]:
    """Return a list of `least` to `most` integers in [low, high].

    One number stands for a list with one entry, and text is read as 1,2,3 or [1, 2, 3].
    """
    listed = _listed(name, value, least, most)
    return [integer(f"each entry of {name}", one, low, high) for one in listed]


def numbers(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    least: int = 0,
    most: int | None = None,
    rising: bool = False,
    **ends: bool,
) -> list[float]:
    """Return a list of `least` to `most` numbers in an interval, read as by `integers`.
    If `rising` is set, each number must be larger than the one before."""
    listed = _listed(name, value, least, most)
    checked = [
        number(f"each entry of {name}", one, low, high, **ends) for one in listed
    ]
    if rising and checked != sorted(set(checked)):
        raise ValueError(f"the entries of {name} must rise, got {checked}")
    return checked


def texts(name: str, value: Any) -> list[str]:
    """Return a list of texts, read as by `integers`."""
    return [text(f"each entry of {name}", one) for one in _listed(name, value)]


def literal(value: Any) -> Any:
    """Return the number that a text writes, as papermill's command line does; anything
    else is returned unchanged."""
    if isinstance(value, str):
        for number_type in (int, float):
            try:
                return number_type(value)
            except ValueError:
                continue
    return value


def _listed(name: str, value: Any, least: int = 0, most: int | None = None) -> Any:
    """Return the entries of a list, of one value, or of a list written as text."""
    listed = value
    if isinstance(value, str):
        listed = [item.strip() for item in value.split(",")] if value.strip() else []
        if value.lstrip().startswith("["):
            try:
                listed = json.loads(value)
            except (ValueError, RecursionError):
                raise ValueError(
                    f"{name} must be a list like 1,2,3, got {value:.80}"
                ) from None
    elif not isinstance(value, list | tuple):
        listed = [value]
    highest = math.inf if most is None else most
    if not least <= len(listed) <= highest:
        many = least if least == most else f"{least} to {highest}"
        raise ValueError(f"{name} must have {many} entries, got {len(listed)}")
    return listed
