"""One known answer: what it is about, its value by two methods, and its row in the
table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

import mpmath as mp

DIGITS = 50
"""Digits in which both methods compute."""

SHOWN = 15
"""Significant digits of the two numbers between which a value lies."""

AGREEMENT = mp.mpf(10) ** -20
"""The largest relative difference of the two methods."""


Profile = Callable[[Any], Any]
"""Delta at any epsilon."""


class About(NamedTuple):
    """A mechanism, its parameters, and what neighbours are (nothing for the answers
    that need none)."""

    mechanism: str
    parameters: Mapping[str, Any]
    neighbours: str = ""


class Answer(NamedTuple):
    """A value by two methods that share no formula, and the names of the methods."""

    about: About
    quantity: str
    given: Mapping[str, Any]
    values: tuple[Any, Any]
    methods: tuple[str, str]

    @property
    def id(self) -> str:
        """Return a name made of what the answer is about."""
        numbers = [*self.about.parameters.items(), *self.given.items()]
        parts = [_named(name, number) for name, number in numbers]
        return "_".join(
            filter(None, map(_slug, [self.about.mechanism, *parts, self.quantity]))
        )

    def row(self) -> dict[str, str]:
        """Return the row of the table; ValueError where the two methods disagree."""
        first, second = self.values
        if not abs(first - second) <= AGREEMENT * abs(first):
            found = (
                f"{mp.nstr(x, 25)} by {how}"
                for x, how in zip(self.values, self.methods)
            )
            raise ValueError(f"{self.id}: {', '.join(found)}")
        low, high = ends(first)
        return {
            "id": self.id,
            "mechanism": self.about.mechanism,
            "parameters": json.dumps(self.about.parameters),
            "neighbours": self.about.neighbours,
            "quantity": self.quantity,
            "given": json.dumps(self.given),
            "low": low,
            "high": high,
            "method": self.methods[0],
            "second_method": self.methods[1],
        }


def ends(value: Any) -> tuple[str, str]:
    """Return the nearest decimals of 15 digits below and above; twice the same where
    the value is one of them."""
    digits = Decimal(mp.nstr(value, DIGITS - 10, min_fixed=0, max_fixed=0))
    if not digits:
        return "0", "0"
    unit = Decimal(1).scaleb(digits.adjusted() - SHOWN + 1)
    nearest = digits.quantize(unit)
    if abs(nearest - digits) < unit.scaleb(
        SHOWN - DIGITS + 15
    ):  # only rounding separates them
        return _text(nearest), _text(nearest)
    low = digits.quantize(unit, rounding=ROUND_FLOOR)
    high = digits.quantize(unit, rounding=ROUND_CEILING)
    return _text(low), _text(high)


def exact(number: float) -> Any:
    """Return the decimal number that is written in the table, not the float next to
    it."""
    return mp.mpf(repr(number))


def least_epsilon(losses: Mapping[Any, Any], delta: Any) -> Any:
    """Return the smallest epsilon >= 0 whose delta is at most the given one, from
    privacy losses and their mass.

    With A the mass of the losses above epsilon and B the sum of its parts divided by
    e^loss, delta(epsilon) is A - e^epsilon B until epsilon meets the next loss.
    """
    above = mp.mpf(0)
    divided = mp.mpf(0)
    for loss in sorted(losses, reverse=True):
        if above - mp.exp(loss) * divided > delta:
            break
        above += losses[loss]
        divided += losses[loss] * mp.exp(-loss)
        highest = loss
    if delta == 0:
        return max(losses)
    return (
        max(mp.log((above - delta) / divided), mp.mpf(0)) if above > delta else highest
    )


def delta_of(losses: Mapping[Any, Any], epsilon: Any) -> Any:
    """Return delta at epsilon, from privacy losses and their mass."""
    return mp.fsum(
        mass * -mp.expm1(epsilon - loss)
        for loss, mass in losses.items()
        if loss > epsilon
    )


def corrected(epsilon: Any, delta: Any, first: Profile, second: Profile) -> Any:
    """Return where the second method's profile has this delta, by a step of Newton's
    method.

    It begins where the first profile has it, and takes the slope from there. If the
    profiles are equal up to a relative error r, so are the two epsilons up to a
    multiple of r.
    """
    width = epsilon * mp.mpf(10) ** -20
    slope = (first(epsilon + width) - first(epsilon - width)) / (2 * width)
    return epsilon + (delta - second(epsilon)) / slope


def profile_answers(
    about: About,
    profiles: tuple[Profile, Profile],
    methods: tuple[str, str],
    epsilons: Sequence[float],
    guesses: Mapping[float, Any],
) -> Iterator[Answer]:
    """Yield the deltas at some epsilons, and the epsilons that the first method finds
    at some deltas, near a first guess."""
    first, second = profiles
    for epsilon in epsilons:
        values = (first(exact(epsilon)), second(exact(epsilon)))
        yield Answer(about, "delta", {"epsilon": epsilon}, values, methods)
    for delta, guess in guesses.items():
        target = exact(delta)
        value = mp.findroot(
            lambda epsilon, target=target: mp.log(first(epsilon) / target),
            (mp.mpf(guess), guess * (1 - mp.mpf("1e-9"))),
        )
        values = (value, corrected(value, target, first, second))
        yield Answer(about, "epsilon", {"delta": delta}, values, methods)


def _text(number: Decimal) -> str:
    """Return a decimal without superfluous zeros, with an exponent where it is far from
    1."""
    number = number.normalize()
    return f"{number:f}" if -5 < number.adjusted() < 15 else f"{number:e}"


def _named(name: str, value: Any) -> str:
    """Return a part of a name: a text as it is, numbers behind what they are, and
    nothing for a matrix."""
    if isinstance(value, list):
        return (
            f"{name}{'-'.join(map(str, value))}"
            if not isinstance(value[0], list)
            else ""
        )
    return value if isinstance(value, str) else f"{name}{value}"


def _slug(text: str) -> str:
    """Return a text in small letters, digits, dots and single hyphens."""
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9.+-]", "-", text.lower())).strip("-")
