"""Sweeps over a grid: every point once, one tidy table, nothing lost with a worker."""

import os
import re
import signal
import threading
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from toy_project import (
    BODY,
    DEADLINE,
    ROOT,
    WAITING,
    notebook,
    start,
    wait_for,
    workers,
)

from dpsim import runner
from dpsim.cli import main


def test_points_are_the_product_of_the_grids(toy: Path) -> None:
    planned = runner.plan_grid("quick", ["scale=1,2", "draws=4:9:2"], [("seed", "3")])
    assert [tuple(run.parameters.values()) for run in planned] == [
        (3, s, d) for s in (1.0, 2.0) for d in (4, 6, 8)
    ]


def test_a_grid_sweeps_lists_and_texts_with_colons(toy: Path) -> None:
    """A list could not be swept, and %H:%M was taken for a range."""
    planned = runner.plan_grid("quick", ["bins=1,2/3", "label=%H:%M,iso"])
    found = [(run.parameters["bins"], run.parameters["label"]) for run in planned]
    assert found == [([1, 2], "%H:%M"), ([1, 2], "iso"), ([3], "%H:%M"), ([3], "iso")]
    with pytest.raises(
        ValueError, match="bins must be an integer of at least 0, got '1:3'"
    ):
        runner.plan_grid("quick", ["bins=1:3"])
    with pytest.raises(ValueError, match="for lists, k=1,2/3,4"):
        runner.plan_grid("quick", ["bins"])


def test_a_sweep_tells_how_many_runs_it_has_and_how_far_it_is_planned(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    runner.plan_grid("quick", ["seed=0:3"], tell=lambda *numbers: told.append(numbers))
    assert told == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(runner, "run", lambda runs, *_, **__: runs)
    result = CliRunner().invoke(main, ["run", "quick", "--grid", "seed=0:1000"])
    assert "planned 1000 of 1000 points\nquick: a sweep of 1000 runs" in result.stderr
    same = CliRunner().invoke(main, ["run", "quick", "--grid", "scale=1,1.0,2"])
    assert "quick: a sweep of 2 runs" in same.stderr


MANY = "points of the grid must be an integer from 1 to 100000"
REFUSED = [
    (grids, MANY)
    for grids in (["seed=5:5"], ["seed=0:1000000"], ["seed=0:1000", "draws=0:1000"])
]
REFUSED += [
    ([f"seed={values}"], "grid must have ranges a:b")
    for values in ("a:b", "0:" + "9" * 30)
]
REFUSED += [
    (["seed"], "grid must be NAME=VALUES"),
    (["seed="], "grid must be NAME=VALUES"),
]
REFUSED += [(["seed=1", "seed=2"], "each name once")]


@pytest.mark.parametrize("grids, message", REFUSED)
def test_grids_that_make_no_sense_are_refused(
    toy: Path, grids: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        runner.plan_grid("quick", grids)


NUMBERS = """\
import json, pathlib

numbers = json.dumps({"k": 12 * scale, "mean": 0.5})
pathlib.Path(output, "numbers.json").write_text(numbers)
"""


def table(toy: Path) -> pd.DataFrame:
    (path,) = (toy / "build" / "sweeps").glob("*.csv")
    return pd.read_csv(path)


@pytest.mark.full
def test_an_interrupted_sweep_goes_on_with_a_row_for_each_point_and_number(
    toy: Path,
) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", BODY, NUMBERS, WAITING)
    words = ("run", "quick", "--grid", "seed=0:2", "-p", "scale", "2", "-j", "1")
    process = start(*words)
    wait_for((toy / "begun-1").exists)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=DEADLINE)
    assert (
        process.returncode == 130
        and "Traceback" not in errors
        and "1 done, 1 interrupted" in output
    )
    assert (
        output.splitlines()[-1] == "interrupted: run the same command again to continue"
    )
    wait_for(lambda: not workers(toy))
    assert set(table(toy)["seed"]) == {0}
    (toy / "go").touch()
    output, errors = start(*words).communicate(timeout=DEADLINE)
    assert "1 done, 1 unchanged" in output
    told = [
        re.fullmatch(r"quick scale=2.0 (.*): .* \((.*)\)", line)
        for line in errors.splitlines()
    ]
    assert [(line[1], line[2]) for line in told if line] == [
        ("seed=0", "1 of 2"),
        ("seed=1", "2 of 2"),
    ]
    found = table(toy)
    assert list(found.columns) == [
        "scale",
        "seed",
        "id",
        "value",
        "standard_error",
        "run",
    ]
    values = found.set_index(["id", "seed"])["value"]
    assert (
        values["k"].to_dict() == {0: 24, 1: 24}
        and values["first", 0] != values["first", 1]
    )
    first, second = (
        run.output for run in runner.plan_grid("quick", ["seed=0:2"], [("scale", "2")])
    )
    first, second = map(runner.grid.numbers, (first, second))
    assert first["value"]["mean"] == second["value"]["mean"]


@pytest.mark.filterwarnings("default")  # of an extra, which the other tests never load
def test_a_sweep_on_a_cluster_survives_the_death_of_a_worker_and_is_current_without_it(
    toy: Path,
) -> None:
    distributed = pytest.importorskip(
        "distributed", reason="the extra `dask` is not installed"
    )
    notebook(toy / "notebooks" / "quick.ipynb", BODY, WAITING)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def kill_one() -> None:
            wait_for((toy / "begun-1").exists)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            (toy / "go").touch()

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        planned = runner.plan_grid("quick", ["seed=0:4"])
        runs = runner.run_on_cluster(
            planned, cluster.scheduler_address, lambda run: None
        )
        thread.join()
    assert {run.status for run in runs} <= {"done", "unchanged"}
    assert sorted(pd.read_csv(runner.gather(runs))["seed"].unique()) == [0, 1, 2, 3]
    without = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    } | {"PYTHONPATH": str(ROOT)}
    assert (
        "4 unchanged"
        in start("run", "quick", "--grid", "seed=0:4", env=without).communicate(
            timeout=DEADLINE
        )[0]
    )
