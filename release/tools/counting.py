"""Counting synthetic trips in Parquet at scale: `python -m release.tools.counting`.

Each line is measured in a process of its own: seconds by the clock and of processors,
peak memory. The files (about 10 bytes a row) are written to a temporary folder and
removed. With --write the lines go to release/tools/results/counting.csv.
(`tools.bench.compare` counts smaller tables beside DuckDB's SQL and pandas.)
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ZONES = 263
PER_FILE = 5_000_000
ROWS = {"dpsim": 100_000_000, "dpsim, units truncated": 10_000_000}
LIMIT_MIB = 2048  # whatever the number of rows: beyond, this command fails
RESULTS = Path(__file__).parent / "results" / "counting.csv"


def write_trips(folder: Path, rows: int) -> None:
    """Write the trips: zones as skewed as taxi trips are, and a user of whom each has
    about 50 trips.
    """
    weights = 1.0 / np.arange(1, ZONES + 1)
    cumulative = np.cumsum(weights / weights.sum())
    for part, start in enumerate(range(0, rows, PER_FILE)):
        rng = np.random.default_rng([1, part])
        size = min(PER_FILE, rows - start)
        columns = {
            "PULocationID": np.searchsorted(cumulative, rng.random(size)).astype(
                np.int32
            ),
            "DOLocationID": np.searchsorted(cumulative, rng.random(size)).astype(
                np.int32
            ),
            "user": rng.integers(0, max(1, rows // 50), size).astype(np.int32),
        }
        pq.write_table(pa.table(columns), folder / f"part{part:03d}.parquet")


def count(way: str, folder: Path) -> int:
    """Return the number of trips counted."""
    if way == "pandas":
        trips = pd.read_parquet(folder, columns=["PULocationID", "DOLocationID"])
        return int(trips.groupby(["PULocationID", "DOLocationID"]).size().sum())
    if way == "duckdb":
        import duckdb

        duckdb.sql("SET threads = 2")
        query = (
            f"SELECT PULocationID, DOLocationID, count(*) n FROM '{folder}/*.parquet' "
            f"GROUP BY ALL"
        )
        return int(duckdb.sql(query).df()["n"].sum())
    import dpsim_release

    unit = (
        dpsim_release.Unit(10, "user")
        if way == "dpsim, units truncated"
        else dpsim_release.Unit()
    )
    return int(
        dpsim_release.count_transitions(
            folder, "PULocationID", "DOLocationID", unit=unit
        ).report["rows"]
    )


def measure(way: str, folder: Path) -> None:
    """Print rows, seconds and the peak memory of this process as json."""
    start = time.perf_counter()
    begun = time.process_time()
    rows = count(way, folder)
    found = {
        "rows": rows,
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - begun,
    }
    peak = re.search(
        r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()
    )  # ru_maxrss may be the parent's
    assert peak is not None
    print(
        json.dumps(
            {name: round(value, 1) for name, value in found.items()}
            | {"peak_mib": int(peak[1]) // 1024}
        )
    )


def measured(way: str, rows: int) -> dict[str, Any]:
    """Return one way to count so many rows, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        write_trips(Path(folder), rows)
        command = [
            sys.executable,
            "-m",
            "release.tools.counting",
            "--measure",
            way,
            "--folder",
            folder,
        ]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = {"way": way} | json.loads(result.stdout.splitlines()[-1])
    print(found, flush=True)
    assert found["rows"] == rows, found
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the rows, for a trial"
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.measure:
        measure(a.measure, a.folder)
        return
    table = pd.DataFrame(
        [measured(way, int(a.share * rows)) for way, rows in ROWS.items()]
    )
    if a.write:
        table.to_csv(RESULTS, index=False)
    if (table["peak_mib"] > LIMIT_MIB).any():
        sys.exit(f"ours took more than {LIMIT_MIB} MiB")


if __name__ == "__main__":
    main()
