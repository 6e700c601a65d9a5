"""Releases and counts at scale: 100,000 states, 5 million declared pairs or pairs
chosen privately, 100 million trips. `python -m release.tools.scale` writes
release/tools/results: release_scale.csv, release_scale.md and counting.csv.

Each line is measured in a process of its own: seconds by the clock and of processors
(`_cpu_s`), peak memory. The files are written to a temporary folder and removed.
(`tools.bench.compare` counts smaller tables beside DuckDB's SQL and pandas.)
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import dpsim_release
from dpsim.ledger.table_formats import markdown_table
from dpsim_release import release_folder
from dpsim_release import support as supports
from tools.bench.machine import machine

RESULTS = Path(__file__).parent / "results"
STATES, OUT = 100_000, 50  # at scale: states, and allowed destinations of each
EVENTS = {"declared": 5_000_000, "private": 10_000_000}
ZONES = 263
ENDS = ["PULocationID", "DOLocationID"]
PER_FILE = 5_000_000
TRIPS = {False: 100_000_000, True: 10_000_000}  # whether units are truncated
LIMIT_MIB = 2048  # for counts, whatever the number of rows: beyond, this command fails


class Clock:
    """The seconds of one step after another, and this process's peak of memory."""

    def __init__(self) -> None:
        self.times = [np.array([time.perf_counter(), time.process_time()])]
        self.found: dict[str, Any] = {}

    def lap(self, name: str, since: int = -2) -> None:
        """Note the seconds of the step that ends."""
        self.times.append(np.array([time.perf_counter(), time.process_time()]))
        took = (self.times[-1] - self.times[since]).round(1)
        self.found[f"{name}_s"], self.found[f"{name}_cpu_s"] = took.tolist()

    def ended(self) -> dict[str, Any]:
        """Return what was found, and the peak."""
        status = Path("/proc/self/status").read_text()  # ru_maxrss may be the parent's
        peak = re.findall(r"VmHWM:\s+(\d+) kB", status)[0]
        return self.found | {"peak_mib": int(peak) // 1024}


def alone(
    write: Callable[..., None], measure: Callable[..., dict[str, Any]], *arguments: Any
) -> dict[str, Any]:
    """Return what is measured in a process of its own, whose peak of memory is that of
    the work: another one has written the files.
    """
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        with ProcessPoolExecutor(1, spawn) as pool:
            pool.submit(write, Path(folder), *arguments).result()
        with ProcessPoolExecutor(1, spawn) as pool:
            found = pool.submit(measure, Path(folder), *arguments).result()
    print(*arguments, found, flush=True)
    return found


# --- releases -------------------------------------------------------------------------


def write_events(folder: Path, pairs: str) -> None:
    """Write the events, the graph and the states."""
    rng = np.random.default_rng(1)
    total = EVENTS[pairs]
    steps = np.append(1, rng.choice(np.arange(2, STATES), OUT - 1, replace=False))
    ends = (np.arange(STATES)[:, None] + steps) % STATES
    start = rng.integers(0, STATES, total)
    end = ends[start, (OUT * rng.random(total) ** 3).astype(int)]
    events = pd.DataFrame({"origin": start, "destination": end})
    events.to_parquet(folder / "events.parquet")
    starts = np.repeat(np.arange(STATES), OUT)
    graph = pd.DataFrame({"origin": starts, "destination": ends.ravel()})
    graph.to_parquet(folder / "graph.parquet")
    states = "\n".join(map(str, range(STATES)))
    (folder / "states.txt").write_text(states, encoding="utf-8")


def release(folder: Path, pairs: str) -> dict[str, Any]:
    """Return what each step of `dpsim release` takes, from a file on."""
    clock = Clock()
    support: Any
    if pairs == "declared":
        graph = supports.read_graph(folder / "graph.parquet")
        support = dpsim_release.declared_graph(graph)
    else:
        states = supports.read_categories(folder / "states.txt")
        support = dpsim_release.private_pairs(states)
    clock.lap("support")
    counts = dpsim_release.count_transitions(
        folder / "events.parquet", "origin", "destination", categories=support.labels
    )
    clock.lap("count")
    chain = dpsim_release.release_chain(
        counts, epsilon=1.0, delta=1e-6, support=support
    )
    clock.lap("release")
    clock.found["counted_pairs"] = len(counts.trips)
    clock.found["released_pairs"] = chain.noisy.size
    assert chain.estimate.matrix.shape[0] == len(support.labels)
    clock.lap("estimate")
    with release_folder.prepare(folder / "out") as place:
        place.write(chain, counts)
    clock.lap("write")
    clock.lap("total", since=0)
    return clock.ended()


def page(table: pd.DataFrame) -> str:
    """Return release_scale.md."""
    columns = {
        "pairs": "pairs",
        "events": "events",
        "released_pairs": "released pairs",
        "release_s": "draws, s",
        "total_s": "in all, s",
        "total_cpu_s": "of processors, s",
        "peak_mib": "peak, MiB",
    }
    rows = [
        [name, *(f"{value:,.0f}" for value in values)]
        for name, *values in table[list(columns)].itertuples(index=False)
    ]
    return (
        "# Releases at scale\n\n"
        f"By `python -m release.tools.scale` ({machine()}): `dpsim release` "
        f"from a Parquet file to the "
        f"written folder, {STATES:,} states. Declared: a public "
        f"graph of 5 million pairs. "
        "Private: pairs chosen by their noisy counts among the declared states. Draws "
        "are OpenDP's, in threads. "
        "[Each step](release_scale.csv).\n\n"
        + markdown_table(list(columns.values()), rows)
        + "\n"
    )


# --- counts ---------------------------------------------------------------------------


def write_trips(folder: Path, rows: int, *_: Any) -> None:
    """Write the trips: zones as skewed as taxi trips are, and a user of whom each has
    about 50 trips.
    """
    weights = 1.0 / np.arange(1, ZONES + 1)
    cumulative = np.cumsum(weights / weights.sum())
    for part, start in enumerate(range(0, rows, PER_FILE)):
        rng = np.random.default_rng([1, part])
        size = min(PER_FILE, rows - start)
        columns = {
            name: np.searchsorted(cumulative, rng.random(size)).astype(np.int32)
            for name in ENDS
        }
        columns["user"] = rng.integers(0, max(1, rows // 50), size).astype(np.int32)
        pq.write_table(pa.table(columns), folder / f"part{part:03d}.parquet")


def count(folder: Path, rows: int, truncated: bool) -> dict[str, Any]:
    """Return what counting trips takes."""
    clock = Clock()
    unit = dpsim_release.Unit(10, "user") if truncated else dpsim_release.Unit()
    counts = dpsim_release.count_transitions(folder, *ENDS, unit=unit)
    assert counts.report["rows"] == rows
    clock.lap("count")
    return clock.ended()


def main() -> None:
    releases = pd.DataFrame(
        [
            {"pairs": pairs, "states": STATES, "events": events}
            | alone(write_events, release, pairs)
            for pairs, events in EVENTS.items()
        ]
    )
    path = RESULTS / "release_scale.csv"
    releases.to_csv(path, index=False, lineterminator="\n")
    path.with_suffix(".md").write_text(page(releases), encoding="utf-8")
    counts = pd.DataFrame(
        [
            {"truncated": truncated, "rows": rows}
            | alone(write_trips, count, rows, truncated)
            for truncated, rows in TRIPS.items()
        ]
    )
    counts.to_csv(RESULTS / "counting.csv", index=False, lineterminator="\n")
    if (counts["peak_mib"] > LIMIT_MIB).any():
        sys.exit(f"ours took more than {LIMIT_MIB} MiB")


if __name__ == "__main__":
    main()
