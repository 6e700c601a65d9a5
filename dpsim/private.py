"""What `privatize` returns in every subpackage: a private value, labelled as given, and its statement of privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpsim import checks, streams

SIMULATION = "SIMULATION, not private: drawn from a seed or a generator that somebody may know. Do not publish it."
"""The first words of the statement of a value that was not drawn from the operating system's entropy."""


@dataclass(frozen=True)
class Private:
    """A private value and what it cost.

    Attributes
    ----------
    value : array, DataFrame, Series, list or model
        What may be published, labelled as the input was.
    statement : str
        What was spent, under which adjacency, whether it is exact or a proven bound, and what it rests on.
    epsilon, delta : float
        The guarantee, at most what was asked for.
    simulation : bool
        Whether the draw came from a given seed or generator: then it must not be published.
    parameters : dict
        The mechanism's own parameters that reach the guarantee, such as k or t.
    """

    value: Any = field(repr=False)
    statement: str
    epsilon: float
    delta: float
    simulation: bool
    parameters: dict[str, Any]


def made(value: Any, words: str, *, epsilon: float, delta: float, simulation: bool, **parameters: Any) -> Private:
    """Return the record of a release; the statement of a simulation begins by saying so."""
    statement = f"{SIMULATION} {words}" if simulation else words
    return Private(value, statement, float(epsilon), float(delta), simulation, parameters)


def source(rng: np.random.Generator | int | None) -> tuple[np.random.Generator, bool]:
    """Return the generator of a release and whether it makes a simulation.

    Without `rng` it is `streams.private`, which nobody can predict: the one for what is published. With a seed or a
    generator it is that of `checks.generator`, for simulations alone.
    """
    return (streams.private(), False) if rng is None else (checks.generator(rng), True)


def unlabelled(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a value without its labels, and the function that puts them on a result of the same shape.

    DataFrames and Series are known by what they have, so that no table library is imported here.
    """
    if hasattr(value, "columns") and hasattr(value, "index"):
        kind, index, columns = type(value), value.index, value.columns
        return value.to_numpy(), lambda result: kind(result, index=index, columns=columns)
    if hasattr(value, "index") and hasattr(value, "to_numpy"):
        kind, index, name = type(value), value.index, value.name
        return value.to_numpy(), lambda result: kind(result, index=index, name=name)
    return value, lambda result: result
