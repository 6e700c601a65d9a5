"""Counting synthetic trips in Parquet: dpsim (Ibis and DuckDB, 1 GiB limit), DuckDB's own SQL, pandas.

    python tools/bench/counting.py --rows 100000000

Each way runs in a process of its own: seconds, rows per second, peak memory. The files (about 10 bytes a row) are
written to a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ZONES = 263
PER_FILE = 5_000_000
LIMIT_MIB = 2048


def write_trips(folder: Path, rows: int) -> None:
    """Write the trips: zones as skewed as taxi trips are, a fare, and a user of whom each has about 50 trips."""
    weights = 1.0 / np.arange(1, ZONES + 1)
    cumulative = np.cumsum(weights / weights.sum())
    for part, start in enumerate(range(0, rows, PER_FILE)):
        rng = np.random.default_rng([1, part])
        size = min(PER_FILE, rows - start)
        columns = {
            "PULocationID": np.searchsorted(cumulative, rng.random(size)).astype(np.int32),
            "DOLocationID": np.searchsorted(cumulative, rng.random(size)).astype(np.int32),
            "fare_amount": (rng.random(size) * 50).astype(np.float32),
            "user": rng.integers(0, max(1, rows // 50), size).astype(np.int32),
        }
        pq.write_table(pa.table(columns), folder / f"part{part:03d}.parquet")


def count(method: str, folder: Path) -> int:
    """Return the number of trips counted."""
    if method == "pandas":
        import pandas as pd

        trips = pd.read_parquet(folder, columns=["PULocationID", "DOLocationID", "fare_amount"])
        trips = trips[trips["fare_amount"] >= 0]
        return int(trips.groupby(["PULocationID", "DOLocationID"]).size().sum())
    if method == "duckdb":
        import duckdb

        duckdb.sql("SET threads = 2")
        source = f"'{folder}/*.parquet' WHERE fare_amount >= 0"
        query = f"SELECT PULocationID, DOLocationID, count(*) n FROM {source} GROUP BY ALL"
        return int(duckdb.sql(query).df()["n"].sum())
    from dpsim import datasets

    settings: dict[str, Any] = (
        {"unit": "user", "events_per_row": 2, "rows": 5} if method == "dpsim, units truncated" else {}
    )
    settings["where"] = "fare_amount >= 0"
    counted = datasets.count_transitions(folder, "PULocationID", "DOLocationID", **settings)
    return int(counted.attrs["report"]["rows"])


def measure(method: str, folder: Path) -> None:
    """Print seconds, rows and peak memory of this process as json."""
    start = time.perf_counter()
    rows = count(method, folder)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "rows": rows, "peak_mib": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--methods", default="dpsim;duckdb;pandas;dpsim, units truncated")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_trips(folder, arguments.rows)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 2**20
        print(f"{arguments.rows:,} trips, {size:,.0f} MiB of Parquet")
        for method in arguments.methods.split(";"):
            command = [sys.executable, __file__, "--measure", method, "--folder", name]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode:
                print(f"{method:<24} failed: {result.stderr.strip().splitlines()[-1][:100]}")
                continue
            m = json.loads(result.stdout.splitlines()[-1])
            assert m["rows"] == arguments.rows, m
            verdict = "" if not method.startswith("dpsim") or m["peak_mib"] < LIMIT_MIB else "  ABOVE 2 GiB"
            speed = m["rows"] / m["seconds"]
            print(f"{method:<24} {m['seconds']:7.1f} s {speed:14,.0f} rows/s {m['peak_mib']:7.0f} MiB{verdict}")


if __name__ == "__main__":
    main()
