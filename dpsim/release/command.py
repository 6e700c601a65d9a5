"""`dpsim release`: the steps from a file of events to the files of a private release, and what is said on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dpsim import checks
from dpsim.release import chain as chains
from dpsim.release import files, inputs, owner
from dpsim.release import support as supports


class Line(NamedTuple):
    """A line of text."""

    text: str
    private: bool
    """Whether it is for the owner of the data alone: it goes to standard error, the rest may be published."""


def run(
    *,
    epsilon: float,
    delta: float,
    output: str,
    owner_folder: str | None = None,
    mechanism: str | None = None,
    seed: int | None = None,
    **table: Any,
) -> Iterator[Line]:
    """Yield lines of text while counting, releasing and writing; every refusal (ValueError) leaves nothing behind.

    table: the options of `inputs.read`.
    """
    checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    private = files.owner_folder(files.new_folder(output), owner_folder)
    given = inputs.read(**table)
    for warning in given.said:
        yield Line(f"warning: {warning}", False)
    yield Line(f"for you only: {owner.counted(given.trips.attrs['report'])}", True)
    if given.graph is not None:
        support: Any = supports.declared_graph(given.graph, given.labels)
    else:
        support = supports.private_pairs() if given.labels is None else supports.all_pairs(given.labels)
    chain = chains.release_chain(
        given.trips, epsilon=epsilon, delta=delta, support=support, unit=given.unit, mechanism=mechanism, rng=seed
    )
    files.write_release(chain, output, given.trips, private)
    yield Line(chain.text, False)
    yield Line(f"written to {output}: publish all of it", False)
    yield Line(f"for you only, how far it is from your table: {private / files.OWNER}", True)
