"""Records the numbers of a notebook's run, and shows them on a scoreboard."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from dpsim import checks, files, paths
from dpsim import notebook as notebooks
from dpsim.ledger.display import board
from dpsim.ledger.rows import findings, papers, published
from dpsim.ledger.table_formats import plain_table
from dpsim.ledger.verdicts import is_seconds, judge


@dataclass
class Recorded:
    """The numbers, by row, that a paper's notebook has recorded, and its parameters."""

    parameters: dict[str, Any]
    values: dict[str, dict[str, Any]] = field(default_factory=dict)


recorded: dict[str, Recorded] = {}
"""What notebooks have recorded in this process, by paper."""

shown: set[str] = set()
"""The papers whose scoreboards are shown in a notebook."""


def record(
    row: str,
    value: ArrayLike,
    *,
    standard_error: float | None = None,
    output: str = "",
) -> None:
    """Record our number for a claim of a paper, and show it on the scoreboard; or
    record the number that decides a finding of ours.

    Parameters
    ----------
    row : str
        The id of a row of data/published.csv or data/findings.csv.
    value : float or sequence of floats
        A finite number, of which six significant digits are kept. For a finding that
        rests on a family of inputs, one number for each input; the worst of them is
        recorded, with how many there are.
    standard_error : float, optional
        The standard error, if the number was sampled.
    output : str
        The folder of results.json; with "", nothing is written. Measured times go to
        timings.json instead, so that results.json is the same in every run.
    """
    owner = row.partition(".")[0]
    is_claim = owner in papers().index
    rows = published(owner) if is_claim else findings(owner)
    if row not in rows.index:
        raise ValueError(
            "row must be an id of published.csv or findings.csv in "
            f"{paths.data()}, got {row!r}"
        )
    entry: dict[str, Any] = {}
    if not is_claim and rows.loc[row, "basis"] == "family":
        values = _numbers(row, value)
        entry["tried"] = len(values)
        value = (min if rows.loc[row, "relation"] == "at least" else max)(values)
    entry["value"] = _rounded(checks.scalar(f"value of {row}", value))
    entry["standard_error"] = None
    if standard_error is not None:
        error = checks.scalar(f"standard_error of {row}", standard_error, 0)
        entry["standard_error"] = _rounded(error)
    if output:
        is_time = is_claim and is_seconds(rows.loc[row])
        name = "timings.json" if is_time else "results.json"
        path = Path(output) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        entries[row] = entry
        files.write_json(path, dict(sorted(entries.items())))
    if is_claim:
        _recorded(owner).values[row] = entry
    if owner in shown:
        from IPython.display import update_display

        _show(owner, update_display)


def _numbers(row: str, value: ArrayLike) -> list[float]:
    """Return the numbers of a family, one for each input."""
    array = checks.real(f"value of {row}", value)
    if array.ndim != 1 or not array.size:
        raise ValueError(
            f"value of {row} must be a list with a number for each input of the "
            f"family, got {value!r}"
        )
    return [float(number) for number in array]


def _rounded(value: float) -> Any:
    """Return a number rounded as in results.json."""
    return json.loads(files.number(value))


class Scoreboard:
    """A paper's claims as a table, which Jupyter shows and which each call of `record`
    refreshes."""

    def __init__(self, paper: str) -> None:
        self.paper = paper

    def to_html(self) -> str:
        """Return the table as HTML, with the numbers recorded so far."""
        return _bundle(self.paper)["text/html"]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        shown.add(self.paper)
        _show(self.paper, display)


def _show(paper: str, show: Callable[..., object]) -> None:
    """Show a scoreboard, or refresh it, under a display id that is saved in no file."""
    show(_bundle(paper), raw=True, display_id=f"scoreboard {paper}")


def scoreboard(paper: str) -> Scoreboard:
    """Return a paper's scoreboard, which also serves as the table of contents of the
    paper's notebook.

    Parameters
    ----------
    paper : str
        The id of the paper.

    Returns
    -------
    Scoreboard
        Each line shows where the paper makes a claim (with a link to the heading under
        which we check the claim), what the paper says, what this run has recorded, and
        the verdict with the kind of claim. If the claim does not hold, the verdict is
        followed by a reason. Rows with the same place, verdict and sentence share a
        line. If this run has not recorded a row, the number of a run with the usual
        parameters is shown in grey. The table may be placed above the cells that record
        its numbers.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "<table" in ledger.scoreboard(ledger.papers().index[0]).to_html()
    True
    """
    checks.choice("paper", paper, papers().index)
    return Scoreboard(paper)


def _bundle(paper: str) -> dict[str, str]:
    """Return a paper's scoreboard as HTML and as text."""
    run = _recorded(paper)
    rows = published(paper)
    usual = pd.DataFrame({"value": rows["expected"], "standard_error": math.nan})
    mine = pd.DataFrame.from_dict(run.values, "index", float, usual.columns)
    known = mine.combine_first(usual).reindex(rows.index)
    recorded_here = rows.index.isin(mine.index)
    table = judge(rows, known, default=False)
    table = table.assign(recorded=recorded_here, template=rows["sentence"])
    verified = judge(rows[recorded_here], mine)["ok"]
    text = board(table, _about(paper, run, missed=int((~verified).sum())))
    return {"text/html": text, "text/plain": plain_table(text)}


def _about(paper: str, run: Recorded, missed: int) -> str:
    """Return a sentence about the run if a parameter does not have its usual value, or
    if some numbers (`missed` of them) differ from the verified ones; otherwise return
    ""."""
    usual = usual_parameters(papers().loc[paper, "notebook"])
    changed = [
        f"{name} = {json.dumps(value)}"
        for name, value in run.parameters.items()
        if value != usual[name]
    ]
    if changed:
        return f"Run with {', '.join(changed)}; all other parameters as usual."
    if missed:
        return (
            f"{missed} of the numbers of this run differ from those that were verified "
            "for the usual parameters, so its parameters, its data or its code are not "
            "the usual ones."
        )
    return ""


def _recorded(paper: str) -> Recorded:
    """Return what a paper's notebook has recorded with its current parameters."""
    parameters = _parameters(papers().loc[paper, "notebook"])
    if paper not in recorded or recorded[paper].parameters != parameters:
        recorded[paper] = Recorded(parameters)
    return recorded[paper]


def _parameters(notebook: str) -> dict[str, Any]:
    """Return the current values of the running notebook's parameters. Outside a
    notebook, there are none."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return {}
    variables = shell.user_ns
    present = {
        name: variables[name]
        for name in usual_parameters(notebook)
        if name in variables
    }
    # a copy, because a cell may change a list in place
    return dict(json.loads(json.dumps(present, default=str)))


@functools.cache
def usual_parameters(notebook: str) -> dict[str, Any]:
    """Return the default parameters in a notebook's file, except `output`.

    The file is read only once, because JupyterLab may later save the file with
    parameters that a reader has changed.
    """
    try:
        usual = notebooks.load(notebook).defaults
    except ValueError:  # there is no such file, or it is being edited
        return {}
    return {name: value for name, value in usual.items() if name != "output"}
