"""Asks whether a seed can turn a verdict: `python -m tools.verify.verdict_seeds` runs
each paper's notebook with 20 other seeds.

Every row must be in order at each seed, with the committed verdict, and every finding
of our own must keep its limit. By `ledger.FALSE_ALARM` the chance that any drawn row
misses what was verified in any of these runs is below one in a thousand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dpsim import ledger, paths, runner


def turned(paper: str, runs: Mapping[str, Path]) -> pd.DataFrame:
    """Return the rows of a paper that are out of order in a run, or have another
    verdict than the committed figures.

    runs: the folder of each run's results. Columns run, committed, verdict, reproduced;
    index the id. Rows that are only shown are not asked, because nothing follows from
    them.
    """
    rows = ledger.published(paper).query("inputs != 'none'")
    notebook = ledger.papers().loc[paper, "notebook"]
    committed = ledger.judge(rows, ledger.results(paths.figures() / notebook))
    parts = []
    for name, folder in runs.items():
        judged = ledger.judge(rows, ledger.results(folder))
        same = (
            judged["verdict"].str.split(",").str[0]
            == committed["verdict"].str.split(",").str[0]
        )
        bad = judged.loc[~(same & judged["ok"]), ["verdict", "reproduced"]]
        parts.append(
            bad.assign(run=name, committed=committed.loc[bad.index, "verdict"])
        )
    return pd.concat(parts)[["run", "committed", "verdict", "reproduced"]]


def broken(notebook: str, runs: Mapping[str, Path]) -> pd.DataFrame:
    """Return our own findings that break their limit in a run, as `turned` does."""
    rows = ledger.findings(notebook)
    parts = []
    for name, folder in runs.items():
        found = ledger.results(folder)
        recorded = rows[rows.index.isin(found.index)]
        judged = ledger.judge_findings(recorded, found, default=False)
        bad = judged[~judged["ok"]].rename(columns={"ground": "verdict"})
        grounds = [ledger.GROUNDS[basis] for basis in bad["basis"]]
        parts.append(bad.assign(run=name, committed=grounds))
    return pd.concat(parts)[["run", "committed", "verdict", "reproduced"]]


def main() -> int:
    """Run each notebook with each seed; exit status 1 when a verdict turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=ledger.SEEDS, help="how many")
    every = list(ledger.papers().index)
    parser.add_argument("--papers", nargs="*", default=every, choices=every)
    arguments = parser.parse_args()
    bad = 0
    for paper in arguments.papers:
        notebook = ledger.papers().loc[paper, "notebook"]
        # the committed figures are those of seed 1
        done = runner.run(runner.plan_grid(notebook, [f"seed=2:{arguments.seeds + 2}"]))
        failed = [run for run in done if run.status == "failed"]
        for run in failed:
            print(f"{notebook} failed with {run.parameters}: {run.message}")
        runs = {f"seed {run.parameters['seed']}": run.output for run in done}
        table = pd.DataFrame()
        if not failed:
            table = pd.concat([turned(paper, runs), broken(notebook, runs)])
            print(f"{paper}: {len(runs)} seeds, {len(table)} turned", flush=True)
        if len(table):
            print(table.to_string())
        bad += len(failed) + len(table)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
