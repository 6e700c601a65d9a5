"""The result of every `privatize`: a private value, labelled as its input was, and a statement of its privacy."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpsim import checks, streams

SIMULATION = "SIMULATION, not private: drawn from a seed or a generator that somebody may know. Do not publish it."
"""The first words of the statement of a value that was not drawn from the operating system's entropy."""


@dataclass(frozen=True)
class Private:
    """A private value and what is known about its privacy.

    Attributes
    ----------
    value : array, DataFrame, Series, list or model
        The release, labelled as the input was.
    statement : str
        The epsilon and the delta, the neighbours, and whether the epsilon is exact or a proven upper bound.
    epsilon, delta : float
        The guarantee, which is at most the epsilon and the delta that the caller gave.
    simulation : bool
        Whether the value was drawn from a given seed or generator, in which case it must not be published.
    parameters : dict
        The parameters of the mechanism with which it reaches the guarantee, such as k or t.
    """

    value: Any = field(repr=False)
    statement: str
    epsilon: float
    delta: float
    simulation: bool
    parameters: dict[str, Any]


def result(
    value: Any,
    words: str,
    *,
    epsilon: float,
    delta: float,
    simulation: bool,
    **parameters: Any,
) -> Private:
    """Return a `Private`. The statement of a simulation begins by saying that it is one."""
    statement = f"{SIMULATION} {words}" if simulation else words
    return Private(
        value, statement, float(epsilon), float(delta), simulation, parameters
    )


def source(rng: np.random.Generator | int | None) -> tuple[np.random.Generator, bool]:
    """Return the generator of a release, and whether the release is a simulation.

    Without `rng` the generator is `streams.private`, which nobody can predict. With a seed or a generator it is the
    generator of `checks.generator`, which serves only for simulations.
    """
    return (streams.private(), False) if rng is None else (checks.generator(rng), True)


def strip_labels(value: Any, keep: bool = True) -> tuple[Any, Callable[[Any], Any]]:
    """Return a value without its labels, and the function that gives a result of the same shape the type of the value.

    With `keep` the result has the labels of the value, because they are public. Otherwise it has a fresh index and no
    name. DataFrames and Series are recognised by their attributes, so that no table library is imported here.
    """
    if hasattr(value, "columns") and hasattr(value, "index"):
        labels = {"index": value.index, "columns": value.columns}
    elif hasattr(value, "index") and hasattr(value, "to_numpy"):
        labels = {"index": value.index, "name": value.name}
    else:
        return value, lambda result: result
    kind = type(value)
    kept = labels if keep else {}
    return value.to_numpy(), lambda result: kind(result, **kept)


def round_up(value: float, spec: str = ".2f") -> str:
    """Return a number as text that is never below it, for an epsilon or a delta that is promised.

    Parameters
    ----------
    value : float
        It counts as its shortest decimal form, so that 0.1 stays 0.1.
    spec : str
        The digits to keep, as in a format string: ".2f" for two decimals, ".3g" for three significant digits.

    Examples
    --------
    >>> from dpsim.private import round_up
    >>> round_up(1.11), round_up(1.1101), round_up(2.0000049, ".6g"), round_up(1.2e-9, ".1g")
    ('1.11', '1.12', '2.00001', '2e-09')
    """
    with decimal.localcontext(rounding=decimal.ROUND_CEILING):
        up = format(decimal.Decimal(repr(float(value))), spec)
    return format(float(up), spec)
