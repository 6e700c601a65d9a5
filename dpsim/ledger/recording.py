"""What a run of a notebook records, and the scoreboard that shows it.

The scoreboard stands above the cells that record the rows. Jupyter therefore shows it
under an id, and each recorded row replaces what is shown there.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from dpsim import checks, files, paths
from dpsim.ledger.display import board
from dpsim.ledger.rows import papers, published
from dpsim.ledger.tables import plain_table
from dpsim.ledger.verdicts import is_seconds, judge


@dataclass
class Run:
    """The rows of one paper that this process recorded with the same parameters of the
    notebook."""

    parameters: dict[str, Any]
    values: dict[str, dict[str, float | None]] = field(default_factory=dict)


_runs: dict[str, Run] = {}
"""The run of each paper's notebook in this process. In practice there is one, because a
process runs one notebook."""

_shown: set[str] = set()
"""The papers whose scoreboards a notebook shows."""


def record(
    row: str, value: float, *, standard_error: float | None = None, output: str = ""
) -> None:
    """Record the reproduced value of one ledger row, to six significant digits, and
    show it on the scoreboard.

    Parameters
    ----------
    row : str
        The id of a row of data/published.csv.
    value : float
        Finite.
    standard_error : float, optional
        The standard error of a value that was estimated from random draws.
    output : str
        The folder of results.json; "" writes nothing. Rows of seconds go to
        timings.json, so that results.json is the same in every run.
    """
    paper = row.partition(".")[0]
    rows = published(paper)
    if row not in rows.index:
        raise ValueError(
            f"row must be an id of {paths.data() / 'published.csv'}, got {row!r}"
        )
    found = {
        "value": _rounded(checks.scalar(f"value of {row}", value)),
        "standard_error": None,
    }
    if standard_error is not None:
        error = checks.scalar(f"standard_error of {row}", standard_error, 0)
        found["standard_error"] = _rounded(error)
    if output:
        path = Path(output) / (
            "timings.json" if is_seconds(rows.loc[row]) else "results.json"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        held = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        files.write_json(path, dict(sorted((held | {row: found}).items())))
    _run(paper).values[row] = found
    if paper in _shown:
        from IPython.display import update_display

        bundle = _bundle(paper)
        update_display(bundle, raw=True, display_id=_display_id(paper))  # type: ignore[no-untyped-call]


def _rounded(value: float) -> Any:
    """Return a number as results.json holds it."""
    return json.loads(files.number(value))


class Scoreboard:
    """The claims of a paper as a table, which a notebook shows and updates while the run records its rows."""

    def __init__(self, paper: str) -> None:
        self.paper = paper

    def to_html(self) -> str:
        """Return the table as HTML, with the rows that have been recorded so far."""
        return _bundle(self.paper)["text/html"]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        _shown.add(self.paper)
        bundle = _bundle(self.paper)
        display(bundle, raw=True, display_id=_display_id(self.paper))  # type: ignore[no-untyped-call]


def scoreboard(paper: str) -> Scoreboard:
    """Return the paper's claims as a table for its notebook, which is the index of the
    sections that check them.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Returns
    -------
    object that Jupyter shows
        A table of the place of each claim, with a link to the heading under which it is
        checked (column `section`), of what the paper says, what this run recorded, and
        the verdict with the kind of claim. The reason follows the verdict if the claim
        does not hold. The table may stand above the cells that record the rows, because
        each call of `record` refreshes it. A row that this run has not recorded shows
        in grey the number of a run with the usual parameters. Rows with the same
        verdict, kind and sentence share a line.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "<table" in ledger.scoreboard(ledger.papers().index[0]).to_html()
    True
    """
    checks.choice("paper", paper, papers().index)
    return Scoreboard(paper)


def _bundle(paper: str) -> dict[str, str]:
    """Return the scoreboard of a paper as HTML and as text."""
    run = _run(paper)
    rows = published(paper)
    usual = pd.DataFrame({"value": rows["expected"], "standard_error": math.nan})
    mine = pd.DataFrame.from_dict(run.values, "index", float, usual.columns)
    known = mine.combine_first(usual).reindex(rows.index)
    recorded = rows.index.isin(mine.index)
    table = judge(rows, known, default=False)
    table = table.assign(recorded=recorded, template=rows["sentence"])
    verified = judge(rows[recorded], mine)["ok"]
    text = board(table, _about(paper, run, missed=int((~verified).sum())))
    return {"text/html": text, "text/plain": plain_table(text)}


def _about(paper: str, run: Run, missed: int) -> str:
    """Return a sentence about the parameters of a run if they are not the usual ones,
    or "" if they are."""
    usual = _usual_parameters(papers().loc[paper, "notebook"])
    changed = {
        name: value for name, value in run.parameters.items() if value != usual[name]
    }
    if changed:
        told = ", ".join(
            f"{name} = {json.dumps(value)}" for name, value in changed.items()
        )
        return f"Run with {told}; all other parameters as usual."
    if missed:
        return (
            f"{missed} of the numbers of this run differ from those that were verified for the usual parameters, so "
            "its parameters, its data or its code are not the usual ones."
        )
    return ""


def _run(paper: str) -> Run:
    """Return the run of a paper's notebook. When a parameter has changed, a new run
    begins without records."""
    parameters = _parameters(papers().loc[paper, "notebook"])
    if paper not in _runs or _runs[paper].parameters != parameters:
        _runs[paper] = Run(parameters)
    return _runs[paper]


def _parameters(notebook: str) -> dict[str, Any]:
    """Return the parameters that the running notebook has, or no parameters outside a
    notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return {}
    held = shell.user_ns
    return {
        name: _copy(held[name]) for name in _usual_parameters(notebook) if name in held
    }


@functools.cache
def _usual_parameters(notebook: str) -> dict[str, Any]:
    """Return the parameters of a notebook as its file gives them, except for `output`.

    The file is read once in a process, because JupyterLab saves the parameters that a
    reader changes.
    """
    path = paths.notebooks() / f"{notebook}.ipynb"
    if not path.is_file():
        return {}
    found: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "parameters" not in cell["metadata"].get("tags", []):
            continue
        for line in ast.parse("".join(cell["source"])).body:
            if isinstance(line, ast.AnnAssign) and line.value is not None:
                found[ast.unparse(line.target)] = ast.literal_eval(line.value)
    return {name: value for name, value in found.items() if name != "output"}


def _copy(value: Any) -> Any:
    """Return a copy of a parameter that does not change with it."""
    return json.loads(json.dumps(value, default=str))


def _display_id(paper: str) -> str:
    """Return the id under which a notebook shows a scoreboard. No file contains it."""
    return f"scoreboard {paper}"
