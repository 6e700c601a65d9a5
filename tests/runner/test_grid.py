"""Sweeps over a grid: every point once, one tidy table, nothing lost with a worker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from toy_project import BODY, ROOT, WAITING, notebook, start, wait_for, workers

from dpsim import runner
from dpsim.cli import main
from dpsim.runner import grid


def test_points_are_the_product_of_the_grids() -> None:
    assert grid.points(["seed=0:3"]) == [[("seed", "0")], [("seed", "1")], [("seed", "2")]]
    assert grid.points(["a=1,x", "b=4:9:2"]) == [
        [("a", one), ("b", other)] for one in ("1", "x") for other in ("4", "6", "8")
    ]


@pytest.mark.parametrize(
    "grids, message",
    [
        (["seed"], "grid must be NAME=VALUES"),
        (["seed="], "grid must be NAME=VALUES"),
        (["seed=1", "seed=2"], "each parameter once"),
        (["seed=5:5"], "of 1 to 100000 integers"),
        (["seed=a:b"], "of 1 to 100000 integers"),
        (["seed=0:1000000"], "of 1 to 100000 integers"),
        (["seed=0:1000", "draws=0:1000"], "points of the grid must be an integer from 1 to 100000"),
    ],
)
def test_grids_that_make_no_sense_are_refused(grids: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grid.points(grids)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--grid", "sede=0:2"], "did you mean seed"),
        (["--grid", "draws=50,500"], "draws must be an integer from 1 to 100, got 500"),
        (["--dask", "tcp://127.0.0.1:1"], "a sweep takes one notebook and --grid"),
        (["--grid", "seed=0:2", "--output", "x"], "no --output"),
        (["--grid", "seed=0:2", "-p", "seed", "3"], "grid must not name what -p fixes, got seed in both"),
    ],
)
def test_a_point_out_of_range_is_refused_before_any_runs(toy: Path, words: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["run", "quick", *words])
    assert result.exit_code == 2 and message in result.output
    assert not (toy / "build" / "runs").exists()


NUMBERS = """\
import json, pathlib

pathlib.Path(output, "numbers.json").write_text(json.dumps({"k": 12 * scale, "mean": 0.5}))
"""


def sweep(*words: str) -> list[str]:
    return [sys.executable, "-m", "dpsim", "run", "quick", *words]


def table(toy: Path) -> pd.DataFrame:
    (path,) = (toy / "build" / "sweeps").glob("*.csv")
    return pd.read_csv(path)


def test_a_sweep_here_gives_one_row_for_each_point_and_is_not_repeated(toy: Path) -> None:
    command = sweep("--grid", "seed=0:2", "--grid", "scale=1,2")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 done" in done.stdout
    found = table(toy)
    assert list(found.columns) == ["seed", "scale", "id", "value", "standard_error", "run"]
    drawn = found[found["id"] == "first"].set_index(["seed", "scale"])["value"]
    assert len(drawn) == 4 and drawn.nunique() == 4
    for seed in (0, 1):
        assert drawn[seed, 2] == pytest.approx(2 * drawn[seed, 1])
    told = [re.fullmatch(r"quick (.*): done, [0-9.]+ s \((.*)\)", line) for line in done.stderr.splitlines()]
    assert sorted(line[1] for line in told if line) == [f"seed={s} scale={w}" for s in (0, 1) for w in (1, 2)]
    assert [line[2] for line in told if line] == [f"{i} of 4" for i in (1, 2, 3, 4)]
    assert "4 unchanged" in subprocess.run(command, capture_output=True, text=True).stdout


def test_key_numbers_of_a_notebook_without_ledger_rows_are_in_the_table(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", NUMBERS)
    done = subprocess.run(sweep("--grid", "scale=1,2", "-p", "seed", "5"), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = table(toy)
    assert list(found.columns) == ["seed", "scale", "id", "value", "standard_error", "run"]
    assert (found["seed"] == 5).all() and len(found) == 4
    assert found[found["id"] == "k"].set_index("scale")["value"].to_dict() == {1: 12, 2: 24}
    planned = runner.plan_grid("quick", ["scale=1,2"], [("seed", "5")])
    first, second = (run.output for run in planned)
    assert runner.diff.values(first, second).loc["k", "difference"] == 12
    assert runner.diff.folder(str(first)) == first


def test_ctrl_c_ends_a_sweep_in_order_and_the_next_one_goes_on(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", BODY, WAITING)
    words = ("run", "quick", "--grid", "seed=0:2", "-j", "1")
    process = start(*words)
    wait_for((toy / "begun-1").exists)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert output.splitlines()[-1] == "interrupted: run the same command again to go on with what is missing"
    assert "Traceback" not in errors and "1 done, 1 interrupted" in output
    wait_for(lambda: not workers(toy))
    assert set(table(toy)["seed"]) == {0}
    (toy / "go").touch()
    assert "1 done, 1 unchanged" in start(*words).communicate(timeout=120)[0]
    assert set(table(toy)["seed"]) == {0, 1}


def test_a_sweep_on_a_cluster_survives_the_death_of_a_worker_and_is_current_without_it(toy: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    notebook(toy / "notebooks" / "quick.ipynb", BODY, WAITING)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:

        def kill_one() -> None:
            wait_for((toy / "begun-1").exists)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            (toy / "go").touch()

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        planned = runner.plan_grid("quick", ["seed=0:4"])
        runs = runner.run_on_cluster(planned, cluster.scheduler_address, lambda run: None)
        thread.join()
    assert {run.status for run in runs} <= {"done", "unchanged"}
    assert sorted(pd.read_csv(runner.gather(runs))["seed"].unique()) == [0, 1, 2, 3]
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONPATH": str(ROOT)}
    again = subprocess.run(sweep("--grid", "seed=0:4"), capture_output=True, text=True, env=without)
    assert "4 unchanged" in again.stdout
