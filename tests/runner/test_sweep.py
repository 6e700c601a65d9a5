"""Sweeps over a grid: every point once, one tidy table, nothing lost with a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from toy_project import BODY, notebook

from dpsim import runner
from dpsim.cli import main


def test_points_are_the_product_of_the_grids() -> None:
    assert runner.points(["seed=0:3"]) == [[("seed", "0")], [("seed", "1")], [("seed", "2")]]
    assert runner.points(["a=1,x", "b=4:9:2"]) == [
        [("a", one), ("b", other)] for one in ("1", "x") for other in ("4", "6", "8")
    ]


@pytest.mark.parametrize(
    "grids, message",
    [
        (["seed"], "grid must be NAME=VALUES"),
        (["seed="], "grid must be NAME=VALUES"),
        (["seed=1", "seed=2"], "each parameter once"),
        (["seed=5:5"], "got the empty range"),
        (["seed=a:b"], "in integers"),
        (["seed=0:1000000"], "points of the grid must be an integer from 1 to 100000"),
    ],
)
def test_grids_that_make_no_sense_are_refused(grids: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runner.points(grids)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--grid", "sede=0:2"], "did you mean seed"),
        (["--grid", "draws=50,500"], "draws must be an integer from 1 to 100, got 500"),
        (["--dask", "tcp://127.0.0.1:1"], "a sweep takes one notebook and --grid"),
        (["--grid", "seed=0:2", "--output", "x"], "no --output"),
    ],
)
def test_a_point_out_of_range_is_refused_before_any_runs(toy: Path, words: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["run", "quick", *words])
    assert result.exit_code == 2 and message in result.output
    assert not (toy / "build" / "runs").exists()


RANDOM = BODY + 'ledger.record("fallin2023.fig2.min", abs(float(x[0])), standard_error=scale, output=output)\n'


def test_a_sweep_here_gives_one_row_for_each_point_and_is_not_repeated(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", RANDOM)
    command = [sys.executable, "-m", "dpsim", "run", "quick", "--grid", "seed=0:2", "--grid", "scale=1,2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 done" in done.stdout
    (path,) = (toy / "build" / "sweeps").glob("*.csv")
    table = pd.read_csv(path)
    assert list(table.columns) == ["seed", "scale", "id", "value", "standard_error", "run"]
    drawn = table[table["id"] == "fallin2023.fig2.min"].set_index(["seed", "scale"])["value"]
    assert len(drawn) == 4 and drawn.nunique() == 4
    for seed in (0, 1):
        assert drawn[seed, 2] == pytest.approx(2 * drawn[seed, 1])
    assert "4 unchanged" in subprocess.run(command, capture_output=True, text=True).stdout


def test_a_sweep_on_a_cluster_survives_the_death_of_a_worker(toy: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    notebook(toy / "notebooks" / "quick.ipynb", RANDOM, "import time\ntime.sleep(2)")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:

        def kill_one() -> None:
            end = time.monotonic() + 60
            while not list(toy.glob("build/locks/*.holder")) and time.monotonic() < end:
                time.sleep(0.1)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        outcomes, path = runner.run_grid("quick", ["seed=0:5"], dask=cluster.scheduler_address)
        thread.join()
    assert [outcome.status for outcome in outcomes].count("done") + [o.status for o in outcomes].count("unchanged") == 5
    assert sorted(pd.read_csv(path)["seed"].unique()) == [0, 1, 2, 3, 4]
