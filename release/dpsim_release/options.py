"""The options of a release, as `privatize` and `dpsim release` take them.

A combination of options that makes no sense raises ValueError before any row is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks
from dpsim_release import estimate as estimates
from dpsim_release import text
from dpsim_release.budget import Limit
from dpsim_release.support import PrivatePairs, Support, declare
from dpsim_release.table import Counts, count_trajectories, count_transitions
from dpsim_release.unit import Unit, unit_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The columns of a table, the unit to protect, and the labels or pairs declared
    public.

    If neither categories nor a graph is given, the pairs are chosen privately from all
    that occur.

    Parameters
    ----------
    origin, destination, count : str
        The columns of a table in which each row is one event, or `count` events.
    trajectory : str
        "USER,TIME,PLACE", the columns of a table in which each row is a visit. This
        argument is given instead of the three above, and the unit is USER.
    time_format, max_gap : str, only with a trajectory, as in `count_trajectories`
    categories : sequence, str or path
        The labels of the states that may occur, or a text file with one label per line.
    graph : DataFrame, str or path
        The transitions that may occur, as a table with the columns origin and
        destination, or as a file that contains such a table.
    pairs : str, only with categories
        With "all" (the default), every pair of categories gets a noisy count. With
        "private", a pair gets one only if the pair occurs and the noisy count reaches a
        threshold.
    unit : str
        The column that names the person, car or session to protect as a whole. With
        None, single events are protected.
    events : int, only with a unit or a trajectory
        The largest number of events of a unit that are counted.
    estimate : str, as in `release_chain`
    delimiter : str
        What separates the fields of a text file ("tab" for a tab). With None, the
        header tells it.
    quotes : bool
        Whether a field of a text file may stand in quotes. With None, it may in csv
        files, but not in tsv files.

    Examples
    --------
    >>> table = pd.DataFrame({"from": ["home", "shop"], "to": ["shop", "home"]})
    >>> places = ["home", "shop"]
    >>> options = Options(origin="from", destination="to", categories=places)
    >>> options.counts(table).trips.values.tolist()
    [['home', 'shop', 1], ['shop', 'home', 1]]
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
    estimate: str = estimates.LEARNED
    delimiter: str | None = None
    quotes: bool | None = None

    def __post_init__(self) -> None:
        checks.choice("estimate", self.estimate, estimates.KINDS)
        text.form_of(self.delimiter, self.quotes)
        if self.trajectory is None:
            if self.origin is None or self.destination is None:
                raise ValueError(
                    "origin and destination must be given, or trajectory "
                    "(USER,TIME,PLACE) for visits"
                )
            if self.time_format is not None or self.max_gap is not None:
                raise ValueError(
                    "time_format and max_gap belong to trajectory, got no trajectory"
                )
        else:
            if len(self.visits) != 3 or not all(self.visits):
                raise ValueError(
                    "trajectory must be three columns, USER,TIME,PLACE, "
                    f"got {self.trajectory!r}"
                )
            others = (self.origin, self.destination, self.count, self.unit)
            if any(name is not None for name in others):
                raise ValueError(
                    "trajectory names the unit, so no origin, destination, count or "
                    "unit may be given with it"
                )

    @cached_property
    def form(self) -> text.Form:
        """How fields are separated in text files."""
        return text.form_of(self.delimiter, self.quotes)

    @cached_property
    def visits(self) -> list[str]:
        """The column names in `trajectory`, or an empty list if there is no
        trajectory."""
        if self.trajectory is None:
            return []
        return [name.strip() for name in str(self.trajectory).split(",")]

    @cached_property
    def protected(self) -> Unit:
        """The unit to protect."""
        return unit_of(self.visits[0] if self.visits else self.unit, self.events)

    @cached_property
    def support(self) -> Support | PrivatePairs:
        """The declared support, or a request to choose the pairs privately."""
        columns = [self.origin, self.destination, *self.visits]
        return declare(self.categories, self.graph, self.pairs, columns)

    def counts(self, source: Any) -> Counts:
        """Return the transition counts of a source (anything that `sources.read`
        accepts)."""
        if not self.visits:
            return count_transitions(
                source,
                str(self.origin),
                str(self.destination),
                count=self.count,
                categories=self.support.labels,
                unit=self.protected,
                form=self.form,
            )
        _, time, place = self.visits
        return count_trajectories(
            source,
            self.protected,
            time,
            place,
            time_format=self.time_format,
            max_gap=self.max_gap,
            categories=self.support.labels,
            form=self.form,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseOptions(Options):
    """A table, its `Options`, the loss of its release, and the place of the files.

    Parameters
    ----------
    source : path or paths, DataFrame, or Ibis table
        Files (csv, tsv, also .gz, or Parquet), a folder of them, or a table.
    epsilon, delta, budget, limit, rng : as in `release_chain`
    output : str or path
        A new folder for the release. A second folder, output_OWNER_ONLY, is only for
        the owner of the data. With None, no files are written.
    tell : function
        A function that is called with each line that only the owner of the data may
        read. These lines say what was counted, and what was left out and why.
    """

    source: Any = field(kw_only=False)
    epsilon: float
    delta: float = 0.0
    output: str | os.PathLike[str] | None = None
    budget: str | os.PathLike[str] | None = None
    limit: Limit | None = None
    rng: np.random.Generator | int | None = None
    tell: Callable[[str], None] | None = None
