"""The protocol of every `privatize`, and its result.

A `privatize` first makes a `Mechanism` from its public arguments, and only then lets it
read the secret::

    def privatize(secret, *, epsilon, ..., rng=None):
        mechanism = ...  # of the public arguments, which are checked here
        return mechanism.release(secret, rng)

So the secret cannot change the guarantee, the statement or the parameters.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dpsim import checks, streams

SIMULATION = (
    "SIMULATION, not private: drawn from a seed or a generator that somebody may know. "
    "Do not publish it."
)
"""The first words of a simulation's statement."""


@dataclass(frozen=True, repr=False)
class Private:
    """A private value and its guarantee.

    Attributes
    ----------
    value : array, DataFrame, Series, list or model
        The release, labelled like the input.
    statement : str
        The epsilon and the delta, the neighbours, and whether the epsilon is exact or a
        proven upper bound on the exact epsilon.
    epsilon, delta : float
        The guarantee; neither is larger than the value that the caller gave.
    simulation : bool
        Whether the value was sampled with a given seed or generator. If so, it must not
        be published.
    parameters : dict
        The parameters of the mechanism, such as k or t.
    """

    value: Any
    statement: str
    epsilon: float
    delta: float
    simulation: bool
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        value = " ".join(repr(self.value).split())
        if len(value) > 80:
            value = f"{value[:76]} ..."
        rest = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self)[1:]]
        return f"Private(value={value}, {', '.join(rest)})"


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism for given public arguments, which has not read the secret yet.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee, exact or a proven upper bound, as the statement says.
    statement : str
        As in `Private`, for a value that is not a simulation.
    draw : callable
        ``draw(secret, rng)`` checks the secret, and returns one release that is
        labelled like it. All randomness comes from rng, a Generator.
    parameters : dict
        As in `Private`.
    """

    epsilon: float
    delta: float
    statement: str
    draw: Callable[[Any, np.random.Generator], Any]
    parameters: dict[str, Any] = field(default_factory=dict)

    def release(self, secret: Any, rng: np.random.Generator | int | None) -> Private:
        """Return one release; the statement of a simulation begins with SIMULATION.

        If rng is None, nobody can predict the generator (`streams.private`), so the
        value is a release. A seed or a generator gives a simulation.
        """
        generator = streams.private() if rng is None else checks.generator(rng)
        words = self.statement if rng is None else f"{SIMULATION} {self.statement}"
        return Private(
            self.draw(secret, generator),
            words,
            float(self.epsilon),
            float(self.delta),
            rng is not None,
            dict(self.parameters),
        )


def strip_labels(value: Any, keep: bool = True) -> tuple[Any, Callable[[Any], Any]]:
    """Return a value without its labels, and a function that labels a result like it.

    The function turns an array of the same shape into the type of the value. With
    `keep`, which is for public labels, the result also has the labels of the value;
    otherwise it has a fresh index and no name. DataFrames and Series are recognised by
    their attributes, so that pandas need not be imported.
    """
    if hasattr(value, "columns") and hasattr(value, "index"):
        labels = {"index": value.index, "columns": value.columns}
    elif hasattr(value, "index") and hasattr(value, "to_numpy"):
        labels = {"index": value.index, "name": value.name}
    else:
        return value, lambda result: result
    container = type(value)
    shown = labels if keep else {}
    return value.to_numpy(), lambda result: container(result, **shown)


def round_up(value: float, spec: str = ".2f") -> str:
    """Return a number rounded up, as text, for the epsilon or the delta of a guarantee.

    Parameters
    ----------
    value : float
        The shortest decimal form of the value is rounded, so that 0.1 stays 0.1.
    spec : str
        The digits to keep, as in a format string: ".2f" for two decimals, ".3g" for
        three significant digits.

    Returns
    -------
    str
        The number, which is never smaller than the value.

    Examples
    --------
    >>> from dpsim.private import round_up
    >>> round_up(1.11), round_up(1.1101)
    ('1.11', '1.12')
    >>> round_up(2.0000049, ".6g"), round_up(1.2e-9, ".1g")
    ('2.00001', '2e-09')
    """
    with decimal.localcontext(rounding=decimal.ROUND_CEILING):
        up = format(decimal.Decimal(repr(float(value))), spec)
    return format(float(up), spec)
