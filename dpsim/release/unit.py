"""Whose presence a release protects."""

from __future__ import annotations

from dataclasses import dataclass

from dpsim import checks

LARGEST = 10**6  # events of a unit: with the smallest epsilon the noise stays far below 2^63


@dataclass(frozen=True)
class Unit:
    """What is in one of two neighbouring tables and not in the other: an event, or a person, a car, a session.

    events: how many of a unit are counted at most, wherever they are, from 1 to 10^6. column: names the unit an event
    belongs to; None: each event is a unit of its own.

    >>> Unit(events=10, column="card").words
    'all that one card has in the table, of which at most 10 events are counted'
    """

    events: int = 1
    column: str | None = None

    def __post_init__(self) -> None:
        checks.integer("events", self.events, 1, LARGEST)
        if self.column is None and self.events > 1:
            raise ValueError(f"column must name the unit that has up to {self.events} events, got None")
        if not (self.column is None or (isinstance(self.column, str) and self.column)):
            raise ValueError(f"column must be the name of a column or None, got {self.column!r:.80}")

    @property
    def words(self) -> str:
        """The unit in words."""
        if self.column is None:
            return "one event; somebody with several events is protected in each of them, not in all together"
        most = "one event is" if self.events == 1 else f"{self.events} events are"
        return f"all that one {self.column} has in the table, of which at most {most} counted"


EVENT = Unit()
