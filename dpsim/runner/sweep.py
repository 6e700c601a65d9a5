"""Runs a notebook over a grid of parameters, here or on a Dask cluster, and gathers one tidy table.

Every point of the grid is an ordinary run with its own key below build/runs, so nothing is lost when a worker dies:
the same command goes on with the points that are missing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dpsim import checks, files, paths
from dpsim.runner import schedule
from dpsim.runner.diff import numbers
from dpsim.runner.schedule import Job, Outcome, Status

LARGEST = 100_000
"""How many points a grid may have: more is a slip of the keyboard."""


def points(grids: Iterable[str]) -> list[list[tuple[str, str]]]:
    """Return the overrides of every point of the product of grids.

    Parameters
    ----------
    grids : iterable of str
        Like "zones=30,40,50" and "seed=0:100": a:b counts from a to b - 1, a:b:step in steps; values keep their order.

    Returns
    -------
    list of lists of (str, str)

    Raises
    ------
    ValueError
        For a grid without "=" or values, one named twice, or more than 100,000 points.

    Examples
    --------
    >>> from dpsim import runner
    >>> runner.points(["zones=30,40", "seed=0:1"])
    [[('zones', '30'), ('seed', '0')], [('zones', '40'), ('seed', '0')]]
    """
    axes: dict[str, list[str]] = {}
    for grid in grids:
        if not isinstance(grid, str):
            raise TypeError(f"grid must be text, NAME=VALUES, got {grid!r}")
        name, _, text = grid.partition("=")
        if not name or not text:
            raise ValueError(f"grid must be NAME=VALUES, like zones=30,40,50 or seed=0:100, got {grid!r}")
        if name in axes:
            raise ValueError(f"grid must name each parameter once, got {name} twice")
        axes[name] = _values(name, text)
    total = 1
    for values in axes.values():
        total *= len(values)
    checks.integer("points of the grid", total, 1, LARGEST)
    return [list(zip(axes, combination)) for combination in itertools.product(*axes.values())]


def _values(name: str, text: str) -> list[str]:
    """Return the values of one axis of a grid, listed or as a range of integers."""
    if ":" not in text:
        return [value.strip() for value in text.split(",")]
    try:
        values = range(*(int(part) for part in text.split(":")))
    except (TypeError, ValueError) as error:
        raise ValueError(f"grid {name} must be a:b or a:b:step in integers, got {text!r}") from error
    if not values:
        raise ValueError(f"grid {name} must have values, got the empty range {text!r}")
    if values[LARGEST:]:  # before they are listed: len() would overflow, a list fill the memory
        raise ValueError(f"points of the grid must be an integer from 1 to {LARGEST}, got more from {name}={text}")
    return [str(value) for value in values]


def run_grid(
    name: str,
    grids: Iterable[str],
    fixed: Iterable[tuple[str, str]] = (),
    *,
    jobs: int | None = None,
    dask: str | None = None,
    on_point: Callable[[dict[str, str], Outcome], object] = lambda point, outcome: None,
) -> tuple[list[Outcome], Path]:
    """Run a notebook at each point of a grid and gather the results.

    Parameters
    ----------
    name : str
        Of the notebook.
    grids : iterable of str
        As in `points`.
    fixed : iterable of (str, str)
        Parameters that are the same everywhere.
    jobs : int, optional
        Points at a time here; None: the cores.
    dask : str, optional
        Address of a scheduler whose workers share this project's folder (extra `dask`).
    on_point : callable
        ``on_point(point, outcome)`` hears of each point as it ends.

    Returns
    -------
    outcomes : list of Outcome
        How each point ended.
    table : Path
        All results (csv), build/sweeps/<notebook>-<key>.csv: a row for each point and number, with the parameters, id,
        value, standard_error. The numbers are the notebook's ledger rows and the key numbers of its numbers.json.

    Raises
    ------
    ValueError
        Before anything runs, for whatever `runner.plan` refuses at any point.

    Notes
    -----
    Ctrl-C stops what runs here (on a cluster: what has not begun) and gathers what is finished.
    """
    grids, fixed = list(grids), list(fixed)
    grid = [[*fixed, *point] for point in points(grids)]
    if twice := {parameter for parameter, _ in fixed} & {parameter for parameter, _ in grid[0][len(fixed) :]}:
        raise ValueError(f"grid must not name what -p fixes, got {', '.join(sorted(twice))} in both")
    jobs_at = {job.output: (job, dict(point)) for point in grid for job in schedule.plan([name], point)[0]}
    planned = [job for job, _ in jobs_at.values()]
    at = {output: point for output, (_, point) in jobs_at.items()}

    def tell(outcome: Outcome) -> None:
        on_point(at[outcome.output], outcome)

    if dask is None:
        workers = schedule.cores() if jobs is None else checks.integer("jobs", jobs, 1, 1024)
        outcomes = _here(planned, workers, tell)
    else:
        outcomes = _on_cluster(planned, dask, tell)
    return outcomes, _gather(name, grids, fixed, at, outcomes)


def _here(planned: list[Job], workers: int, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """Run the points on this machine."""

    def hear(name: str, event: dict[str, Any]) -> None:
        if event["event"] == "end":
            tell(event["outcome"])

    threads = max(1, schedule.cores() // workers)
    return schedule.run([replace(job, threads=threads) for job in planned], workers, on_event=hear)


def _on_cluster(planned: list[Job], address: str, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """Run the points on the workers of a Dask scheduler; a point whose worker dies runs on another one."""
    try:
        from dask.distributed import Client, as_completed
    except ImportError as error:
        raise ValueError(
            "dask must be installed for --dask: `make extras`, then PYTHONPATH=build/extra-packages"
        ) from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"dask must be a scheduler's address, like tcp://host:8786, got {address!r}: {error}"
        ) from error
    outcomes = {job.output: Outcome(job.name, Status.INTERRUPTED, job.output) for job in planned}
    with client:
        futures = client.map(_one, [replace(job, threads=1) for job in planned], pure=False)
        try:
            for _, outcome in as_completed(futures, with_results=True):
                outcomes[outcome.output] = outcome
                tell(outcome)
        except KeyboardInterrupt:
            client.cancel(futures)
    return list(outcomes.values())


def _one(job: Job) -> Outcome:
    """Run one point on a worker of the cluster."""
    return schedule.run([job], 1, on_event=lambda name, event: None)[0]


def _gather(
    name: str, grids: list[str], fixed: list[tuple[str, str]], at: dict[str, dict[str, str]], outcomes: list[Outcome]
) -> Path:
    """Write the table of everything that finished, whole or not at all."""
    rows = []
    for outcome in outcomes:
        if outcome.status in (Status.DONE, Status.UNCHANGED):
            run = os.path.relpath(outcome.output, paths.root())
            for id, found in numbers(Path(outcome.output)).items():
                rows.append({**at[outcome.output], "id": id, **found, "run": run})
    columns = [*next(iter(at.values())), "id", "value", "standard_error", "run"]
    identity = hashlib.sha256(json.dumps([name, grids, fixed]).encode()).hexdigest()[:16]
    path = paths.build() / "sweeps" / f"{name}-{identity}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_csv(path, pd.DataFrame(rows, columns=columns))
    return path
