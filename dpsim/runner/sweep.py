"""Runs a notebook over a grid of parameters through joblib, here or on a Dask cluster, and gathers one tidy table.

Every point of the grid is an ordinary run with its own key below build/runs, so nothing is lost when a worker dies:
the same command goes on with the points that are missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import joblib
import pandas as pd

from dpsim import checks, ledger, paths
from dpsim.runner import schedule

LARGEST = 100_000
"""How many points a grid may have: more is a slip of the keyboard."""


def points(grids: Iterable[str]) -> list[list[tuple[str, str]]]:
    """Return the overrides of every point of the product of grids like "zones=30,40,50" and "seed=0:100".

    a:b counts from a to b - 1, a:b:step in steps; values keep their order. Raises ValueError for a grid without "=" or
    values, one named twice, or more than 100,000 points.
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
    on_point: Callable[[schedule.Outcome], object] = lambda outcome: None,
) -> tuple[list[schedule.Outcome], Path]:
    """Return how each point of the grid ended, and the table of all results (csv): build/sweeps/<notebook>-<key>.csv.

    fixed: parameters that are the same everywhere; jobs: points at a time here (default: the cores); dask: address of
    a scheduler whose workers share this project's folder (extra `dask`). The table has a row for each point and ledger
    row: the grid's parameters, id, value, standard_error. Raises ValueError, before anything runs, for whatever
    `runner.plan` refuses at any point.
    """
    grids = list(grids)
    grid = points(grids)
    planned = [schedule.plan([name], [*fixed, *point])[0][0] for point in grid]
    workers = checks.integer("jobs", jobs or joblib.cpu_count(), 1, 1024)
    tasks = [joblib.delayed(_one)(schedule.with_threads(job, 1)) for job in planned]
    outcomes = []
    with _backend(workers, dask):
        for outcome in joblib.Parallel(return_as="generator", batch_size=1, pre_dispatch="all")(tasks):
            outcomes.append(outcome)
            on_point(outcome)
    return outcomes, _gather(name, grids, list(fixed), grid, outcomes)


def _one(job: schedule.Job) -> schedule.Outcome:
    """Run one point wherever joblib has sent it."""
    return schedule.run([job], 1, on_event=lambda name, event: None)[0]


@contextlib.contextmanager
def _backend(workers: int, address: str | None) -> Iterator[None]:
    """Let joblib run here, or on the cluster of a scheduler for as long as its client lives."""
    if address is None:
        with joblib.parallel_config(backend="loky", n_jobs=workers):
            yield
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise ValueError("dask must be installed for --dask: see requirements-extra.lock") from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"dask must be a scheduler's address, like tcp://host:8786, got {address!r}: {error}"
        ) from error
    with client, joblib.parallel_config(backend="dask", n_jobs=-1):
        yield


def _gather(
    name: str,
    grids: list[str],
    fixed: list[tuple[str, str]],
    grid: list[list[tuple[str, str]]],
    outcomes: list[schedule.Outcome],
) -> Path:
    """Write the table of everything that finished, whole or not at all."""
    rows = []
    for point, outcome in zip(grid, outcomes):
        for id, found in ledger.results(Path(outcome.output)).items():
            rows.append({**dict(point), "id": id, **found, "run": os.path.relpath(outcome.output, paths.root())})
    columns = [*dict(grid[0]), "id", "value", "standard_error", "run"]
    identity = hashlib.sha256(json.dumps([name, grids, fixed]).encode()).hexdigest()[:16]
    path = paths.build() / "sweeps" / f"{name}-{identity}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    pd.DataFrame(rows, columns=columns).to_csv(partial, index=False, float_format="%.10g", lineterminator="\n")
    os.replace(partial, path)
    return path
