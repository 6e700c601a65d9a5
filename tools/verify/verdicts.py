"""Asks whether a seed can turn a verdict: `python -m tools.verify.verdicts` runs every notebook with 20 seeds.

Every row of the ledger must be in order in every run, with the committed verdict. By `ledger.FALSE_ALARM` the chance
that any sampled row misses what was verified in any of these runs is below one in a thousand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dpsim import ledger, paths, runner


def turned(paper: str, runs: Mapping[str, Path]) -> pd.DataFrame:
    """Return the rows of a paper that are out of order in a run, or have another verdict than the committed figures.

    runs: the folder of each run's results. Columns run, committed, verdict, reproduced; index the id.
    """
    rows = ledger.published().query("paper == @paper")
    committed = ledger.judge(rows, ledger.results(paths.figures() / ledger.NOTEBOOKS[paper]))
    parts = []
    for run, folder in runs.items():
        found = ledger.judge(rows, ledger.results(folder))
        same = found["verdict"].str.split(",").str[0] == committed["verdict"].str.split(",").str[0]
        bad = found.loc[~(same & found["ok"]), ["verdict", "reproduced"]]
        parts.append(bad.assign(run=run, committed=committed.loc[bad.index, "verdict"]))
    return pd.concat(parts)[["run", "committed", "verdict", "reproduced"]]


def main() -> int:
    """Run every notebook of a paper with each seed; exit status 1 when a run fails or a verdict turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=ledger.SEEDS, help="how many")
    parser.add_argument("--papers", nargs="*", default=list(ledger.PAPERS), choices=list(ledger.PAPERS))
    arguments = parser.parse_args()
    bad = 0
    for paper in arguments.papers:
        outcomes, _ = runner.run_grid(ledger.NOTEBOOKS[paper], [f"seed=1:{arguments.seeds + 1}"])
        failed = [outcome for outcome in outcomes if outcome.status not in ("done", "unchanged")]
        folders = {f"seed {i + 1}": Path(o.output) for i, o in enumerate(outcomes) if o not in failed}
        table = turned(paper, folders)
        print(f"{paper}: {len(folders)} runs, {len(failed)} failed, {len(table)} rows turned")
        if len(table):
            print(table.to_string())
        bad += len(failed) + len(table)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
