"""Runs a notebook over a grid of parameters, locally or on a Dask cluster, and gathers
the numbers of these runs in one table.

Each point of the grid is an ordinary run, with its outputs below build/runs. If a sweep
is interrupted, the same command continues with the missing points.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from dpsim import checks, files, ledger, notebook, paths, streams
from dpsim.runner.runs import Run, holds_owner_only, plan_run, run_here

MOST_RUNS = 100_000
"""The largest number of points in a grid. A larger number is surely a typing error."""

LIKE = "seed=0:100 or zones=30,40 or, for lists, k=1,2/3,4"
"""Examples of grids, for messages."""


def plan_grid(
    name: str,
    grids: Iterable[str],
    fixed: Iterable[tuple[str, str]] = (),
    tell: Callable[[int, int], object] = lambda planned, points: None,
) -> list[Run]:
    """Return the runs of a sweep, one for each combination of values, without writing
    anything.

    Parameters
    ----------
    name : str
        The notebook.
    grids : iterable of str
        NAME=VALUES. The values are separated by commas or, if they are lists, by
        slashes, as in 1,2/3,4. For numbers, a:b or a:b:step means the integers from a
        to b - 1, in steps of 1 or `step`.
    fixed : iterable of (str, str)
        The names and values of parameters that are the same at every point.
    tell : callable
        ``tell(planned, points)`` is called after each point. Planning a point takes
        about 30 ms.

    Returns
    -------
    list of Run
        The runs, whose status is "planned".

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runs = runner.plan_grid(paths.notebook_names()[1], ["seed=5:7"])
    >>> [run.parameters for run in runs]
    [{'seed': 5}, {'seed': 6}]
    """
    source = notebook.load(name)
    axes: dict[str, list[str] | range] = {
        parameter: [value] for parameter, value in fixed
    }
    for grid in grids:
        parameter, _, text = grid.partition("=")
        if not text or parameter in axes:
            raise ValueError(
                f"grid must be NAME=VALUES, like {LIKE}, "
                f"each name once and not with -p, got {grid!r}"
            )
        # `checked` raises ValueError for an unknown name
        known = source.parameters.get(parameter)
        axes[parameter] = _values(known.type if known else "str", text)
    points = math.prod(map(len, axes.values()))
    checks.integer("points of the grid", points, 1, MOST_RUNS)
    planned: dict[Path, Run] = {}
    for number, values in enumerate(itertools.product(*axes.values()), 1):
        run = plan_run(source, source.checked(zip(axes, values)))
        planned[run.output] = run
        tell(number, points)
    return list(planned.values())


def _values(parameter_type: str, text: str) -> list[str] | range:
    """Return the values on one axis of a grid, for a parameter of this type."""
    if parameter_type.startswith("list["):
        return [value.strip() for value in text.split("/")]
    if ":" not in text or parameter_type not in ("int", "float"):
        return [value.strip() for value in text.split(",")]
    try:
        values = range(*map(int, text.split(":")))
        len(values)  # raises OverflowError for a huge range
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "grid must have ranges a:b or a:b:step of integers, "
            f"got {text[:80]}: {error}"
        ) from error
    return values


def numbers(folder: Path) -> pd.DataFrame:
    """Return the numbers that a run recorded: its ledger rows and its key numbers.

    Parameters
    ----------
    folder : Path
        The folder of the run's outputs.

    Returns
    -------
    DataFrame
        `value` and `standard_error` (NaN if there is none), by id.
    """
    recorded = ledger.results(folder)
    for name in ("numbers.json", f"numbers_{files.OWNER_ONLY}.json"):
        path = folder / name
        if not path.is_file():
            continue
        try:
            given = {**json.loads(path.read_text(encoding="utf-8"))}
            read = pd.DataFrame({"value": given}, dtype=float)
            recorded = read.combine_first(recorded)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{path} must hold numbers by name: {error}") from error
    return recorded


def gather(runs: list[Run]) -> Path:
    """Return the path of a new csv file, below build/sweeps, with a sweep's numbers.

    For each finished point and each number (see `numbers`), the table has a row with
    the parameters, id, value, standard_error and the folder of the run. If a run shows
    nonpublic data, only the owner of these data can read the table.

    Parameters
    ----------
    runs : list of Run

    Returns
    -------
    Path
        The csv file.
    """
    rows = []
    for run in runs:
        if run.status not in ("done", "unchanged"):
            continue
        where = os.path.relpath(run.output, paths.root())
        for id, row in numbers(run.output).to_dict("index").items():
            rows.append({**run.parameters, "id": id, **row, "run": where})
    points = json.dumps([run.parameters for run in runs])
    identity = hashlib.sha256(points.encode()).hexdigest()[:16]
    path = paths.build() / "sweeps" / f"{runs[0].name}-{identity}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [*runs[0].parameters, "id", "value", "standard_error", "run"]
    owner_only = any(holds_owner_only(run.output) for run in runs)
    files.write_csv(path, pd.DataFrame(rows, columns=columns), owner_only=owner_only)
    return path


def run_on_cluster(
    runs: list[Run], address: str, tell: Callable[[Run], object]
) -> list[Run]:
    """Return the runs after the workers of a Dask scheduler have executed them. If a
    worker dies, another one repeats its run.

    Parameters
    ----------
    runs : list of Run
    address : str
        The address of the scheduler. Its workers must share the project's folder and
        have the extra `dask` installed.
    tell : callable
        ``tell(run)`` is called when a run ends.

    Returns
    -------
    list of Run
        The given runs, each with its final status.
    """
    try:
        from dask.distributed import Client, as_completed

        client = Client(address, timeout=10)
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(
            "dask must be a scheduler's address, like tcp://host:8786, and Dask "
            f"installed (`make extras`), got {address!r}: {error}"
        ) from error
    with client:
        planned = dict(zip(client.map(_one, runs, pure=False), runs))
        for future, ended in as_completed(planned, with_results=True):
            planned[future].__dict__.update(vars(ended))
            tell(ended)
    return runs


def _one(planned: Run) -> Run:
    """Run one point on a worker of the cluster."""
    return run_here(planned, threads=streams.cores())
