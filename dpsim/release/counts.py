"""What is counted of a table: the pairs' counts, and what its owner alone may know."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from dpsim import checks
from dpsim.release.unit import EVENT, Unit


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each transition occurs, with what was kept of each unit. Nothing in it is private.

    Parameters
    ----------
    trips : DataFrame, columns origin, destination, trips: the pairs that occur
    unit : Unit that the limits protect: adding or removing one changes the counts by at most its events
    before : DataFrame, the trips before any were left out for the unit's sake, to measure utility with
    report : dict, what became of the rows of the table, in numbers, for their owner
    moves : bool, whether an event is the move of a unit from one visit to its next

    Examples
    --------
    >>> Counts(pd.DataFrame({"origin": ["a"], "destination": ["b"], "trips": [3]})).unit
    Unit(events=1, column=None)
    """

    trips: pd.DataFrame
    unit: Unit = EVENT
    before: pd.DataFrame | None = None
    report: dict[str, int] = field(default_factory=dict)
    moves: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.trips, pd.DataFrame) and {"origin", "destination", "trips"} <= set(self.trips.columns)):
            raise ValueError(f"trips must be a table with origin, destination and trips, got {self.trips!r:.80}")
        checks.integers("trips", self.trips["trips"], 0)
