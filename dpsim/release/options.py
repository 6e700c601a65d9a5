"""The options of a release that describe its table, say whom to protect, and declare what is public.

`privatize`, `dpsim release` and `dpsim release --check` take the same options, and they are checked only here. A
combination of options that makes no sense is refused before a row is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from dpsim.release import times
from dpsim.release.counts import Counts
from dpsim.release.support import PrivatePairs, Support, declare
from dpsim.release.table import count_trajectories, count_transitions
from dpsim.release.unit import Unit, unit_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The meaning of a table's columns, the unit to protect, and what is public without the data.

    Parameters
    ----------
    origin, destination, count : str, the columns of a table with a row for each event, or for `count` events
    trajectory : str
        "USER,TIME,PLACE", the columns of a table with a row for each visit, instead of the three above. The unit is
        USER.
    time_format, max_gap : str, only with a trajectory, as in `count_trajectories`
    categories : the labels of the states that may occur, or a text file with a label in each line
    graph : the transitions that may occur, as a table (or its file) with the columns origin and destination
    pairs : str, only with categories
        With "all" (the default) every pair of categories has a noisy count; with "private" only the pairs that occur
        often have one.
    unit : str, the column of the person, car or session to protect as a whole; with None single events are protected
    events : int, only with a unit or a trajectory, the largest number of events of a unit that are counted

    Without categories and without a graph, the pairs that occur often are chosen privately.

    Examples
    --------
    >>> table = pd.DataFrame({"from": ["home", "shop", "home"], "to": ["shop", "home", "shop"]})
    >>> options = Options(origin="from", destination="to", categories=["home", "shop"])
    >>> options.counts(table).trips.values.tolist()
    [['home', 'shop', 2], ['shop', 'home', 1]]
    """

    origin: str | None = None
    destination: str | None = None
    count: str | None = None
    trajectory: str | None = None
    time_format: str | None = None
    max_gap: str | None = None
    categories: Sequence[Any] | str | os.PathLike[str] | None = None
    graph: pd.DataFrame | str | os.PathLike[str] | None = None
    pairs: str | None = None
    unit: str | None = None
    events: int | None = None

    def __post_init__(self) -> None:
        if self.trajectory is None:
            if self.origin is None or self.destination is None:
                raise ValueError("origin and destination must be given, or trajectory (USER,TIME,PLACE) for visits")
            if not (self.time_format is self.max_gap is None):
                raise ValueError("time_format and max_gap belong to trajectory, got no trajectory")
        else:
            if len(self.visits) != 3 or not all(self.visits):
                raise ValueError(f"trajectory must be three columns, USER,TIME,PLACE, got {self.trajectory!r}")
            if not (self.origin is self.destination is self.count is self.unit is None):
                raise ValueError(
                    "trajectory protects its first column, so no origin, destination, count or unit may be given"
                )
            times.seconds(self.max_gap)
            times.reader(self.time_format)
        self.protected  # noqa: B018  # refuses a unit without events, and events without a unit

    @cached_property
    def visits(self) -> list[str]:
        """The names of the columns in `trajectory`, or an empty list without a trajectory."""
        return [] if self.trajectory is None else [name.strip() for name in str(self.trajectory).split(",")]

    @cached_property
    def protected(self) -> Unit:
        """The unit that the release protects."""
        return unit_of(self.visits[0] if self.visits else self.unit, self.events)

    @cached_property
    def support(self) -> Support | PrivatePairs:
        """The declared pairs, or a request to choose the pairs privately."""
        return declare(self.categories, self.graph, self.pairs)

    def counts(self, source: Any) -> Counts:
        """Return the counts of a table, which is given as files, a folder, a DataFrame or an Ibis table."""
        known: dict[str, Any] = {"unit": self.protected, "categories": self.support.labels}
        if not self.visits:
            return count_transitions(source, str(self.origin), str(self.destination), count=self.count, **known)
        known |= {"time_format": self.time_format, "max_gap": self.max_gap}
        return count_trajectories(source, time=self.visits[1], place=self.visits[2], **known)
