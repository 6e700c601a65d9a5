"""The unit of a release: one event, or all events of one person, car or session."""

from __future__ import annotations

from dataclasses import dataclass

from dpsim import checks
from dpsim_release.labels import MOST_OF_A_NAME, short_label

# even with the smallest epsilon, the noise is then far below 2^63
MOST_OF_A_UNIT = 10**6


@dataclass(frozen=True)
class Unit:
    """The difference between two neighbouring tables.

    It is one event, or everything about one person, car or session.

    Parameters
    ----------
    events : int from 1 to 10^6
        The largest number of events that are counted for a unit, over all pairs
        together.
    column : str
        The column that names the unit of each event. With None, each event is its own
        unit.

    Examples
    --------
    >>> Unit(events=10, column="card")
    Unit(events=10, column='card')
    """

    events: int = 1
    column: str | None = None

    def __post_init__(self) -> None:
        checks.integer("events", self.events, 1, MOST_OF_A_UNIT)
        if self.column is None and self.events > 1:
            raise ValueError(
                f"column must name the unit that has up to {self.events} events, "
                "got None"
            )
        if not (self.column is None or (isinstance(self.column, str) and self.column)):
            raise ValueError(
                f"column must be the name of a column or None, got {self.column!r:.80}"
            )

    @property
    def words(self) -> str:
        """A description of the unit in words, for the statement."""
        if self.column is None:
            return (
                "one event. A person with several events is protected for each of "
                "them, but not for all together"
            )
        most = "one event is" if self.events == 1 else f"{self.events} events are"
        name = short_label(self.column, MOST_OF_A_NAME)
        return (
            f"everything that the table holds about one {name}, of which at most "
            f"{most} counted"
        )


EVENT = Unit()


def unit_of(unit: Unit | str | None, events: int | None = None) -> Unit:
    """Return a `Unit`, given as one or as a column and a largest number of events.

    >>> unit_of("card", 10), unit_of(None)
    (Unit(events=10, column='card'), Unit(events=1, column=None))
    """
    if isinstance(unit, Unit):
        if events is not None:
            raise ValueError(
                "events belongs to the name of a column, and the unit has its own, "
                f"got {events!r:.80}"
            )
        return unit
    if (unit is None) != (events is None):
        raise ValueError(
            "events must go with a unit (or trajectory), and a unit with events, the "
            "largest number that is counted"
        )
    return EVENT if events is None else Unit(events, unit)
