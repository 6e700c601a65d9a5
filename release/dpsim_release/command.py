"""`privatize`, its options, and the lines that `dpsim release` and `dpsim plan` print.

`privatize`, `dpsim release` and `dpsim release --check` take the same options, which
`Options` checks. A combination of options that makes no sense raises ValueError before
any row is read.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks
from dpsim.files import need_locks
from dpsim.private import SIMULATION
from dpsim.released import REPORT
from dpsim_release import estimate as estimates
from dpsim_release import files, owner, planning, sources, statement, text
from dpsim_release.budget import Limit, loss_limit, spend
from dpsim_release.chain import PrivateChain, losses, release_chain
from dpsim_release.labels import visible
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


WRITING = "writing a release"
WITHOUT_LOCKS = (
    "`dpsim release --check` works, and so does dpsim_release.privatize without output "
    "and budget"
)
"""What a user can still do on a system where files cannot be locked."""


def privatize(
    source: Any,
    *,
    origin: str | None = None,
    destination: str | None = None,
    count: str | None = None,
    trajectory: str | None = None,
    time_format: str | None = None,
    max_gap: str | None = None,
    categories: Sequence[Any] | str | os.PathLike[str] | None = None,
    graph: pd.DataFrame | str | os.PathLike[str] | None = None,
    pairs: str | None = None,
    unit: str | None = None,
    events: int | None = None,
    estimate: str = estimates.LEARNED,
    delimiter: str | None = None,
    quotes: bool | None = None,
    epsilon: float,
    delta: float = 0.0,
    output: str | os.PathLike[str] | None = None,
    budget: str | os.PathLike[str] | None = None,
    limit: Limit | None = None,
    rng: np.random.Generator | int | None = None,
    tell: Callable[[str], None] | None = None,
) -> PrivateChain:
    """Return a private Markov chain of a table of events, counts or visits.

    `dpsim release` calls this function.

    Parameters
    ----------
    source : path or paths, DataFrame, or Ibis table
        Files (csv, tsv, also .gz, or Parquet), a folder of them, or a table.
    origin, destination, count, trajectory, time_format, max_gap : as in `Options`
    categories, graph, pairs, unit, events, estimate : as in `Options`
    delimiter, quotes : as in `Options`
    epsilon, delta, budget, limit, rng : as in `release_chain`
    output : str or path
        A new folder for the release. A second folder, output_OWNER_ONLY, is only for
        the owner of the data. With None, no files are written.
    tell : function
        A function that is called with each line that only the owner of the data may
        read. These lines say what was counted, and what was left out and why.

    Examples
    --------
    >>> table = pd.DataFrame({"from": ["a", "b"] * 500, "to": ["b", "a"] * 500})
    >>> ends = {"origin": "from", "destination": "to"}
    >>> chain = privatize(table, **ends, categories=["a", "b"], epsilon=1, rng=1)
    >>> chain.stationary().round(2).tolist()
    [0.5, 0.5]
    """
    if output is not None:
        need_locks(WRITING, WITHOUT_LOCKS)
    options = Options(
        origin=origin,
        destination=destination,
        count=count,
        trajectory=trajectory,
        time_format=time_format,
        max_gap=max_gap,
        categories=categories,
        graph=graph,
        pairs=pairs,
        unit=unit,
        events=events,
        estimate=estimate,
        delimiter=delimiter,
        quotes=quotes,
    )
    noise, _, spent = losses(epsilon, delta, options.protected, options.support)
    if limit is not None and budget is None:
        raise ValueError(
            "limit belongs to a budget (--budget FILE), in which it is recorded, but "
            "no budget was given"
        )
    if budget is not None and rng is None:
        # a release that would exceed the limit is refused before any row is read
        spend(
            budget,
            epsilon=noise.epsilon,
            delta=spent,
            unit=options.protected,
            limit=limit,
            dry=True,
        )
    with nullcontext() if output is None else files.prepare(output, budget) as place:
        counts = (
            options.counts(source)
            if tell is None
            else _counts_aloud(source, options, tell)
        )
        made = release_chain(
            counts,
            epsilon=epsilon,
            delta=delta,
            support=options.support,
            estimate=options.estimate,
            budget=budget,
            limit=limit,
            rng=rng,
        )
        if place is not None:
            place.write(made, counts)
    return made


# --- the command line -----------------------------------------------------------------


def release_lines(
    source: Sequence[str],
    tell: Callable[[str], None],
    *,
    check: bool = False,
    epsilon: float | None = None,
    output: str | None = None,
    limit: str | None = None,
    seed: int | None = None,
    delta: float = 0.0,
    budget: str | None = None,
    **options: Any,
) -> list[str]:
    """Write a release, and return the lines that may be published.

    They are the guarantee, the unit, the place of the release and a warning if no
    budget file is named. The whole statement is in the report.
    `options` are the arguments of `Options`. If `check` is true, the events are
    counted, but nothing is released. Each line that only the owner of the data may read
    is passed to `tell`. If the release is refused, ValueError is raised and no files
    remain. On a system where files cannot be locked, ImportError is raised unless
    `check` is true.
    """
    try:
        need_locks(WRITING, WITHOUT_LOCKS)
    except ImportError as error:
        if not check:
            raise
        tell(f"only --check works on this system: {error}")
    if check:
        _counts_aloud(source, Options(**options), tell)
        found = sources.found_files(source)
        tell(f"{len(found):>15,} files counted:")
        for file in found:
            tell(f"{'':>16}{visible(file)}")
        tell("nothing was sampled, spent or written")
        return []
    if epsilon is None:
        raise ValueError("epsilon must be given, unless with --check")
    if output is None:
        raise ValueError("output must be given, unless with --check")
    most = None
    if limit is not None:
        most = loss_limit("limit", *_numbers("limit", limit, float, 2))
    chain = privatize(
        source,
        epsilon=epsilon,
        delta=delta,
        output=output,
        budget=budget,
        limit=most,
        rng=seed,
        tell=tell,
        **options,
    )
    folder = f"{os.path.abspath(output)}_OWNER_ONLY"
    tell(
        f"for you only: the release is in {output}, and its error against your table "
        f"is in {folder}/{files.OWNER}"
    )
    tell(statement.trust(chain))
    lines = statement.guarantee(chain)
    report = f"the whole statement is in {visible(os.path.join(output, REPORT))}"
    if seed is not None:
        return [SIMULATION, *lines, f"written to {visible(output)}; {report}"]
    lines.append(f"written to {visible(output)}: all of it may be published; {report}")
    if budget is None:
        lines.append(
            "no budget file was named, so keep account yourself: the epsilons and the "
            "deltas of all releases of the same data add up"
        )
    return lines


def _counts_aloud(source: Any, options: Options, tell: Callable[[str], None]) -> Counts:
    """Return the counts after telling the owner what was counted and what was left
    out."""
    lines = ["for you only:"]
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_: lines.append(f"warning: {message}")
        counts = options.counts(source)
    for line in lines + owner.count_lines(counts, options.support):
        tell(line)
    return counts


def plan_lines(
    *, epsilon: str, limits: str | None = None, **numbers: Any
) -> Iterator[str]:
    """Yield the table that `planning.plan` returns, and then the meaning of its
    columns."""
    epsilons = _numbers("epsilon", epsilon, float)
    kept = [] if limits is None else _numbers("limits", limits, int)
    table = planning.plan(epsilons=epsilons, limits=kept, **numbers)
    yield table.to_string(index=False, float_format=lambda x: f"{x:.4g}")
    yield planning.COLUMNS


def _numbers(name: str, text: str, kind: Any, number: int | None = None) -> list[Any]:
    """Return the numbers in an option's comma-separated list."""
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or number not in (None, len(found)):
        raise ValueError(
            f"{name} must be {number or 'some'} numbers with commas between them, "
            f"got {text!r:.80}"
        )
    return found
