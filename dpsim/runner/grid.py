"""Sweeps: runs of a notebook over a grid of parameters, here or on a Dask cluster, and their numbers in one tidy table.

Every point of the grid is an ordinary run with its own key below build/runs. Nothing is lost when a worker dies: the
same command continues with the points that are missing.
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

from dpsim import checks, files, paths
from dpsim.runner.diff import numbers
from dpsim.runner.parameters import notebook_parameters
from dpsim.runner.runs import Run, holds_owner_only, plan
from dpsim.runner.runs import run as run_here

MOST_RUNS = 100_000
"""The number of points that a grid may have; a larger number is a typing error."""


def plan_grid(
    name: str,
    grids: Iterable[str],
    fixed: Iterable[tuple[str, str]] = (),
    tell: Callable[[int, int], object] = lambda planned, points: None,
) -> list[Run]:
    """Return a notebook's runs, one for each combination of the values in the grids. Like `plan`, it writes nothing.

    Parameters
    ----------
    name : str, of the notebook
    grids : iterable of str, NAME=VALUES with values like a,b,c, integers like a:b or a:b:step (up to b - 1), or, for a
        parameter that is a list, lists like 1,2/3,4
    fixed : iterable of (str, str), parameters and their values that are the same at every point
    tell : callable, ``tell(planned, points)`` is called when a point is planned, which takes about 30 ms

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> [run.parameters for run in runner.plan_grid(paths.notebook_names()[1], ["seed=5:7"])]
    [{'seed': 5}, {'seed': 6}]
    """
    known = notebook_parameters(name)
    axes: dict[str, list[str] | range] = {
        parameter: [value] for parameter, value in fixed
    }
    for grid in grids:
        parameter, _, text = grid.partition("=")
        if not text or parameter in axes:
            raise ValueError(
                f"grid must be NAME=VALUES, like {LIKE}, each name once and not with -p, got {grid!r}"
            )
        kind = (
            known[parameter].type if parameter in known else "str"
        )  # `plan` refuses an unknown name
        axes[parameter] = _values(kind, text)
    points = math.prod(map(len, axes.values()))
    checks.integer("points of the grid", points, 1, MOST_RUNS)
    planned: dict[Path, Run] = {}
    for number, values in enumerate(itertools.product(*axes.values()), 1):
        (run,) = plan([name], zip(axes, map(str, values)))
        planned[run.output] = run
        tell(number, points)
    return list(planned.values())


LIKE = "seed=0:100 or zones=30,40 or, for lists, k=1,2/3,4"
"""The forms of a grid, for messages."""


def _values(kind: str, text: str) -> list[str] | range:
    """Return the values of one axis of a grid for a type of parameter; numbers may be given as a range of integers."""
    if kind.startswith("list["):
        return [value.strip() for value in text.split("/")]
    if ":" not in text or kind not in ("int", "float"):
        return [value.strip() for value in text.split(",")]
    try:
        values = range(*map(int, text.split(":")))
        len(values)  # the length of a range must be finite
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"grid must have ranges a:b or a:b:step of integers, got {text[:80]}: {error}"
        ) from error
    return values


def gather(runs: list[Run]) -> Path:
    """Return the path of a csv table, written below build/sweeps, of the numbers that the runs of a grid recorded.

    It has a row for each finished point and each number, with the parameters, id, value and standard_error. These
    numbers are the notebook's rows in the ledger and the key numbers in its numbers.json. If a run shows somebody's
    data, nobody but the owner can read the table.

    Parameters
    ----------
    runs : list of Run
    """
    rows = []
    for run in runs:
        found = (
            numbers(run.output).to_dict("index")
            if run.status in ("done", "unchanged")
            else {}
        )
        where = os.path.relpath(run.output, paths.root())
        rows += [
            {**run.parameters, "id": id, **row, "run": where}
            for id, row in found.items()
        ]
    identity = hashlib.sha256(
        json.dumps([run.parameters for run in runs]).encode()
    ).hexdigest()[:16]
    path = paths.build() / "sweeps" / f"{runs[0].name}-{identity}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(
        rows, columns=[*runs[0].parameters, "id", "value", "standard_error", "run"]
    )
    owner_only = any(holds_owner_only(run.output) for run in runs)
    files.write_csv(path, table, owner_only=owner_only)
    return path


def run_on_cluster(
    runs: list[Run], address: str, tell: Callable[[Run], object]
) -> list[Run]:
    """Return the runs, executed by the workers of a Dask scheduler. When a worker dies, another one repeats its run.

    Parameters
    ----------
    runs : list of Run
    address : str, the address of the scheduler, whose workers share this project's folder (extra `dask`)
    tell : callable, ``tell(run)`` is called when a run ends
    """
    try:
        from dask.distributed import Client, as_completed

        client = Client(address, timeout=10)
    except (ImportError, OSError, ValueError) as error:
        wanted = "dask must be a scheduler's address, like tcp://host:8786, and Dask installed (`make extras`)"
        raise ValueError(f"{wanted}, got {address!r}: {error}") from error
    with client:
        planned = dict(zip(client.map(_one, runs, pure=False), runs))
        for future, ended in as_completed(planned, with_results=True):
            planned[future].__dict__.update(vars(ended))
            tell(ended)
    return runs


def _one(planned: Run) -> Run:
    """Run one point on a worker of the cluster."""
    return run_here([planned], 1)[0]
