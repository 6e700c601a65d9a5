"""The counts of the pairs in a table, together with facts that only the owner of the table may know."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from dpsim import checks
from dpsim.release.unit import EVENT, Unit


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each transition occurs, after the limit on the events of a unit. These counts are not private.

    Parameters
    ----------
    trips : DataFrame with the columns origin, destination and trips, and a row for each pair that occurs
    unit : Unit to protect; adding or removing one unit changes the counts by at most `unit.events` in total
    before : DataFrame, the trips before the limit on the events of a unit, with which the release is compared
    report : dict, for the owner of the table: how many of its rows were counted, or left out for which reason
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
