"""The record that travels with counts: what was kept of each unit before its events were counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpsim import checks

RECORD = "limits"  # key in the attrs of a table of counts


@dataclass(frozen=True)
class Limits:
    """What the counting kept of each unit; None in all three: nothing was truncated, every row is one event.

    Parameters
    ----------
    counted : int
        The sum of the counts, so that the record is not taken for that of another table (rows left out later may make
        the sum smaller, never larger). A number of the data's owner, never published.
    events_per_row, rows : int or None
        At most so many events were kept of a unit in each of at most so many rows.
    events : int or None
        Or: at most so many events in all.
    trajectories : bool
        Whether the events are the moves between visits: then removing one visit changes three counts, and "one event"
        says too much.
    """

    counted: int
    events_per_row: int | None = None
    rows: int | None = None
    events: int | None = None
    trajectories: bool = False

    def __post_init__(self) -> None:
        checks.integer("counted", self.counted, 0)
        for name in ("events_per_row", "rows", "events"):
            if getattr(self, name) is not None:
                checks.integer(name, getattr(self, name), 1)
        if (self.events_per_row is None) != (self.rows is None) or (self.rows is not None and self.events is not None):
            raise ValueError("events_per_row and rows must be given together, without events, or none of them")

    @property
    def truncated(self) -> bool:
        """Whether events of a unit were left out, or could have been."""
        return self.rows is not None or self.events is not None


def record(trips: Any) -> Limits | None:
    """Return the record of a table of counts, None where it has none; ValueError when it is another table's."""
    found = getattr(trips, "attrs", {}).get(RECORD)
    if found is None:
        return None
    if not isinstance(found, Limits):
        raise TypeError(f"trips.attrs[{RECORD!r}] must be Limits, got {type(found).__name__}")
    total = int(trips["trips"].sum())
    if total > found.counted:
        raise ValueError(
            f"trips must be the table that its record of limits belongs to: {total} events stand in it, "
            f"{found.counted} were counted; units of two tables add up and are no longer limited"
        )
    return found
