"""Releases at scale: 100,000 states, 5 million declared pairs or pairs chosen
privately.

With --write the numbers go to release/tools/results: release_scale.csv and
release_scale.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpsim_release
from dpsim.ledger.table_formats import markdown_table
from dpsim_release import release_folder
from dpsim_release import support as supports
from tools.bench.compare import machine

SCALE = Path(__file__).parent / "results" / "release_scale.csv"
STATES, OUT = 100_000, 50  # at scale: states, and allowed destinations of each
EVENTS = {"declared": 5_000_000, "private": 10_000_000}


def at_scale(states: int, out: int, pairs: str) -> dict[str, Any]:
    """Return what each step of `dpsim release` takes, from a file on: by the clock, and
    of processors (`_cpu_s`).

    In a process of its own, whose peak of memory is that of the release: another one
    has written the files.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for work, arguments in (
            (_write_events, (states, out, EVENTS[pairs])),
            (_measure, (pairs,)),
        ):
            here, there = context.Pipe()
            process = context.Process(
                target=work, args=(Path(folder), there, *arguments)
            )
            process.start()
            there.close()
            found = here.recv()
            process.join()
    return {"pairs": pairs, "states": states, "events": EVENTS[pairs], **found}


def _write_events(folder: Path, pipe: Any, states: int, out: int, total: int) -> None:
    rng = np.random.default_rng(1)
    steps = np.append(1, rng.choice(np.arange(2, states), out - 1, replace=False))
    ends = (np.arange(states)[:, None] + steps) % states
    start = rng.integers(0, states, total)
    end = ends[start, (out * rng.random(total) ** 3).astype(int)]
    pd.DataFrame({"origin": start, "destination": end}).to_parquet(
        folder / "events.parquet"
    )
    graph = pd.DataFrame(
        {"origin": np.repeat(np.arange(states), out), "destination": ends.ravel()}
    )
    graph.to_parquet(folder / "graph.parquet")
    (folder / "states.txt").write_text(
        "\n".join(map(str, range(states))), encoding="utf-8"
    )
    pipe.send({})


def _measure(folder: Path, pipe: Any, pairs: str) -> None:
    found: dict[str, Any] = {}
    times = [(time.perf_counter(), time.process_time())]

    def lap(name: str) -> None:
        times.append((time.perf_counter(), time.process_time()))
        found[f"{name}_s"], found[f"{name}_cpu_s"] = (
            round(b - a, 1) for a, b in zip(*times[-2:])
        )

    if pairs == "declared":
        support: Any = dpsim_release.declared_graph(
            supports.read_graph(str(folder / "graph.parquet"))
        )
    else:
        support = dpsim_release.private_pairs(
            supports.read_categories(str(folder / "states.txt"))
        )
    lap("support")
    counts = dpsim_release.count_transitions(
        str(folder / "events.parquet"),
        "origin",
        "destination",
        categories=support.labels,
    )
    lap("count")
    chain = dpsim_release.release_chain(
        counts, epsilon=1.0, delta=1e-6, support=support
    )
    lap("release")
    found["counted_pairs"] = len(counts.trips)
    found["released_pairs"] = chain.noisy.size
    assert chain.estimate.matrix.shape[0] == len(support.labels)
    lap("estimate")
    with release_folder.prepare(folder / "out") as place:
        place.write(chain, counts)
    lap("write")
    found["total_s"], found["total_cpu_s"] = (
        round(b - a, 1) for a, b in zip(times[0], times[-1])
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["peak_mib"] = round(peak / 2**10)
    pipe.send(found)


def page_of_scale(table: pd.DataFrame) -> str:
    """Return release_scale.md."""
    columns = [
        "pairs",
        "events",
        "released pairs",
        "draws, s",
        "in all, s",
        "of processors, s",
        "peak, MiB",
    ]
    rows = []
    for r in table.itertuples():
        seconds = (f"{each:.0f}" for each in (r.release_s, r.total_s, r.total_cpu_s))
        rows.append(
            [
                r.pairs,
                f"{r.events:,}",
                f"{r.released_pairs:,}",
                *seconds,
                f"{r.peak_mib:,}",
            ]
        )
    return (
        "# Releases at scale\n\n"
        f"By `python -m release.tools.scale --write` ({machine()}): `dpsim release` "
        f"from a Parquet file to the "
        f"written folder, {int(table['states'].iloc[0]):,} states. Declared: a public "
        f"graph of 5 million pairs. "
        "Private: pairs chosen by their noisy counts among the declared states. Draws "
        "are OpenDP's, in threads. "
        "[Each step](release_scale.csv).\n\n" + markdown_table(columns, rows) + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write",
        action="store_true",
        help="write release/tools/results/release_scale*",
    )
    parser.add_argument("--states", type=int, default=STATES)
    a = parser.parse_args()
    table = pd.DataFrame([at_scale(a.states, OUT, pairs) for pairs in EVENTS])
    print(table.to_string(index=False))
    if a.write:
        table.to_csv(SCALE, index=False, lineterminator="\n")
        SCALE.with_suffix(".md").write_text(page_of_scale(table), encoding="utf-8")


if __name__ == "__main__":
    main()
