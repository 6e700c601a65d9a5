"""Asks whether a seed can turn a verdict: `python -m tools.verify.verdict_seeds` draws
every drawn row with 20 seeds.

Of each notebook only the cells run that such a row needs, with the committed sample
sizes; a row whose cells never read `seed` cannot be turned by one. Every row must be in
order at each seed, with the committed verdict, and every finding of our own must keep
its limit. By `ledger.FALSE_ALARM` the chance that any drawn row misses what was
verified in any of these runs is below one in a thousand.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import io
import re
import symtable
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pandas as pd

from dpsim import ledger, paths


@dataclass(frozen=True)
class Cell:
    """What a cell of code says, which names it reads from cells above, which it makes
    or changes, which it replaces."""

    source: str
    reads: frozenset[str]
    makes: frozenset[str]
    replaces: frozenset[str]


def cell(source: str) -> Cell:
    """Return what a cell reads and makes; when in doubt it reads and changes a name,
    and does not replace it."""
    reads: set[str] = set()
    makes: set[str] = set()
    replaces: set[str] = set()
    for statement in ast.parse(source).body:
        table = symtable.symtable(ast.unparse(_apart(statement)), "cell", "exec")
        bound = {
            s.get_name()
            for s in table.get_symbols()
            if s.is_assigned() or s.is_imported()
        } - _own(table)
        changed = _changed(statement)
        reads |= (_referenced(table) | changed) - replaces - _counted(statement)
        makes |= bound | changed
        if isinstance(
            statement,
            ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.Import | ast.ImportFrom,
        ):
            replaces |= bound - reads
    return Cell(source, frozenset(reads), frozenset(makes), frozenset(replaces))


def _referenced(table: symtable.SymbolTable) -> set[str]:
    """Return the names of the notebook that a statement refers to, also within its
    functions."""
    whole = table.get_type() == "module"
    own = {
        s.get_name()
        for s in table.get_symbols()
        if s.is_referenced() and (whole or s.is_global())
    }
    return own.union(*(_referenced(child) for child in table.get_children())) - _own(
        table
    )


OWN = "comprehension_own_"


def _apart(statement: ast.stmt) -> ast.stmt:
    """Return the statement with other names for what its comprehensions count with:
    Python 3.12 inlines them."""
    statement = copy.deepcopy(statement)
    for node in ast.walk(statement):
        if isinstance(
            node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        ):
            outside = set(ast.walk(node.generators[0].iter))
            inside = [
                name
                for name in ast.walk(node)
                if isinstance(name, ast.Name) and name not in outside
            ]
            counted = {name.id for name in inside if isinstance(name.ctx, ast.Store)}
            for name in inside:
                name.id = OWN + name.id if name.id in counted else name.id
    return statement


def _own(table: symtable.SymbolTable) -> set[str]:
    """Return the names that comprehensions count with."""
    return {name for name in table.get_identifiers() if name.startswith(OWN)}


def _changed(statement: ast.stmt) -> set[str]:
    """Return the names whose value a statement may change in place: x += 1, x[0] = 1,
    x.a = 1, x.append(1)."""
    found = set()
    for node in ast.walk(statement):
        place: ast.expr | None = (
            node.target if isinstance(node, ast.AugAssign) else None
        )
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            place = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = node.func
        while isinstance(place, ast.Subscript | ast.Attribute):
            place = place.value
        if isinstance(place, ast.Name):
            found.add(place.id)
    return found


def _counted(statement: ast.stmt) -> set[str]:
    """Return the names that a loop itself sets before it reads them."""
    if not isinstance(statement, ast.For):
        return set()
    return {
        node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)
    }


def needed(cells: Sequence[Cell], last: int) -> list[int]:
    """Return which cells must run for the last one, in order."""
    modules = {
        alias.asname or alias.name
        for each in cells
        for node in ast.walk(ast.parse(each.source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    chosen = [last]
    wanted = set(cells[last].reads)
    for number in reversed(range(last)):
        made = cells[number].makes - (
            modules - cells[number].replaces
        )  # np.sort(x) does not change np
        if made & wanted:
            chosen.append(number)
            wanted = wanted - cells[number].replaces | cells[number].reads
    return sorted(chosen)


def drawn(name: str) -> list[Cell]:
    """Return the cells that a notebook's drawn rows need: rows of which some cell reads
    `seed`.

    Rows that are only shown are not asked, because nothing follows from them.
    """
    notebook = nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)
    cells = [cell(each.source) for each in notebook.cells if each.cell_type == "code"]
    left_out = tuple(ledger.published().query("inputs == 'none'").index)
    chosen: set[int] = set()
    for number, each in enumerate(cells):
        for start in re.findall(r'ledger\.record\(\s*f?"([^"{]+)', each.source):
            found = needed(cells, number)
            if any("seed" in cells[i].reads for i in found) and not any(
                id.startswith(start) for id in left_out
            ):
                chosen |= set(found)
    return [cells[number] for number in sorted(chosen)]


def run(cells: Sequence[Cell], seed: int, output: Path) -> Path:
    """Run the cells with this seed; what they record goes to output/results.json."""
    names: dict[str, Any] = {"__name__": "cells"}
    with contextlib.redirect_stdout(io.StringIO()):
        for each in cells:
            exec(compile(each.source, "a cell", "exec"), names)
            if "seed" in each.replaces:
                names["seed"] = seed
                names["output"] = str(output)
    plt.close("all")
    return output


def turned(paper: str, runs: Mapping[str, Path]) -> pd.DataFrame:
    """Return the rows of a paper that are out of order in a run, or have another
    verdict than the committed figures.

    runs: the folder of each run's results. Columns run, committed, verdict, reproduced;
    index the id. Rows that every run leaves out, those that no seed can turn, are not
    asked.
    """
    rows = ledger.published().query("paper == @paper")
    found = {name: ledger.results(folder) for name, folder in runs.items()}
    rows = rows.loc[
        rows.index.isin(set().union(*(each.index for each in found.values())))
    ]
    committed = ledger.judge(
        rows, ledger.results(paths.figures() / ledger.papers().loc[paper, "notebook"])
    )
    parts = []
    for name, values in found.items():
        judged = ledger.judge(rows, values)
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
    """Draw the rows of each paper with each seed; exit status 1 when a verdict
    turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=ledger.SEEDS, help="how many")
    parser.add_argument(
        "--papers",
        nargs="*",
        default=list(ledger.papers().index),
        choices=list(ledger.papers().index),
    )
    arguments = parser.parse_args()
    bad = 0
    for paper in arguments.papers:
        began = time.process_time()
        cells = drawn(ledger.papers().loc[paper, "notebook"])
        if not cells:
            print(f"{paper}: no row is drawn")
            continue
        with tempfile.TemporaryDirectory() as folder:
            runs = {
                f"seed {i}": run(cells, i, Path(folder) / str(i))
                for i in range(1, arguments.seeds + 1)
            }
            rows = {id for each in runs.values() for id in ledger.results(each).index}
            notebook = ledger.papers().loc[paper, "notebook"]
            table = pd.concat([turned(paper, runs), broken(notebook, runs)])
        seconds = time.process_time() - began
        print(
            f"{paper}: {len(rows)} rows, {len(runs)} seeds, {len(table)} turned "
            f"({seconds:.0f} s of processors)"
        )
        if len(table):
            print(table.to_string())
        bad += len(table)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
