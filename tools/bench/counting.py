"""Counting synthetic trips in Parquet: dpsim (Ibis and DuckDB, 1 GiB limit), DuckDB's own SQL, pandas.

    python tools/bench/counting.py --write                                                # 100 million, no unit
    python tools/bench/counting.py --write --rows 10000000 --ways "dpsim, units truncated"

Each way runs in a process of its own: seconds by the clock and of processors, peak memory. The files (about 10 bytes a
row) are written to a temporary folder and removed. With --write the lines go to tools/bench/results/counting.csv, in
the place of earlier ones of the same way and size.
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

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ZONES = 263
PER_FILE = 5_000_000
LIMIT_MIB = 2048  # of ours, whatever the number of rows: beyond, this command fails
RESULTS = Path(__file__).parent / "results" / "counting.csv"


def write_trips(folder: Path, rows: int) -> None:
    """Write the trips: zones as skewed as taxi trips are, and a user of whom each has about 50 trips."""
    weights = 1.0 / np.arange(1, ZONES + 1)
    cumulative = np.cumsum(weights / weights.sum())
    for part, start in enumerate(range(0, rows, PER_FILE)):
        rng = np.random.default_rng([1, part])
        size = min(PER_FILE, rows - start)
        columns = {
            "PULocationID": np.searchsorted(cumulative, rng.random(size)).astype(np.int32),
            "DOLocationID": np.searchsorted(cumulative, rng.random(size)).astype(np.int32),
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
        query = f"SELECT PULocationID, DOLocationID, count(*) n FROM '{folder}/*.parquet' GROUP BY ALL"
        return int(duckdb.sql(query).df()["n"].sum())
    from dpsim import release

    unit = release.Unit(10, "user") if way == "dpsim, units truncated" else release.Unit()
    return int(release.count_transitions(folder, "PULocationID", "DOLocationID", unit=unit).report["rows"])


def measure(way: str, folder: Path) -> None:
    """Print rows, seconds and the peak memory of this process as json."""
    start, begun = time.perf_counter(), time.process_time()
    rows = count(way, folder)
    found = {"rows": rows, "seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - begun}
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss may be the parent's
    assert peak is not None
    print(json.dumps({name: round(value, 1) for name, value in found.items()} | {"peak_mib": int(peak[1]) // 1024}))


def measured(ways: list[str], folder: Path, rows: int) -> pd.DataFrame:
    """Return a line for each way, measured in a process of its own."""
    lines = []
    for way in ways:
        command = [sys.executable, __file__, "--measure", way, "--folder", str(folder)]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        lines.append({"way": way} | json.loads(result.stdout.splitlines()[-1]))
        print(lines[-1], flush=True)
        assert lines[-1]["rows"] == rows, lines[-1]
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--ways", default="dpsim;duckdb;pandas", help="of these and 'dpsim, units truncated'")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.measure:
        measure(a.measure, a.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        write_trips(Path(name), a.rows)
        table = measured(a.ways.split(";"), Path(name), a.rows)
    if a.write:
        if RESULTS.exists():
            table = pd.concat([pd.read_csv(RESULTS), table]).drop_duplicates(["way", "rows"], keep="last")
        table.sort_values(["way", "rows"]).to_csv(RESULTS, index=False)
    ours = table[table["way"].str.startswith("dpsim")]
    if (ours["peak_mib"] > LIMIT_MIB).any():
        sys.exit(f"ours took more than {LIMIT_MIB} MiB")


if __name__ == "__main__":
    main()
