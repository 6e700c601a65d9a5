"""The numbers of runs and how two runs differ: the ledger's values, key numbers and every plotted table."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd

from dpsim import ledger, paths


def folder(run: str) -> Path:
    """Return the folder of a run.

    Parameters
    ----------
    run : str
        A path, a notebook's name (its committed figures), or <notebook>/<key>, where the key may be shortened as long
        as it is unique.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        When nothing, or more than one run, is meant.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runner.folder(paths.notebook_names()[1]).parent == paths.figures()
    True
    """
    direct = [Path(run), paths.figures() / run]
    found = [path for path in direct if path.is_dir()][:1] or sorted((paths.build() / "runs").glob(f"{run}*/"))
    found = [path for path in found if numbers(path) or any(path.glob("*.csv"))]
    if len(found) != 1:
        what = "no run" if not found else f"{len(found)} runs"
        raise ValueError(f"{run!r} names {what}: give a folder with results, a notebook or <notebook>/<key>")
    return found[0]


def numbers(folder: Path) -> dict[str, dict[str, float | None]]:
    """Return the numbers in a run's folder by id: its ledger rows, and the key numbers of its numbers.json.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict of str to dict
        Value and standard error by id.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runner.numbers(paths.figures() / "nowhere")
    {}
    """
    key_numbers = folder / "numbers.json"
    found = ledger.results(folder)
    if key_numbers.is_file():
        values = json.loads(key_numbers.read_text(encoding="utf-8"))
        found |= {id: {"value": value, "standard_error": None} for id, value in values.items()}
    return found


def values(a: Path, b: Path) -> pd.DataFrame:
    """Return the numbers of two runs side by side.

    Parameters
    ----------
    a, b : Path
        The runs' folders.

    Returns
    -------
    DataFrame
        Columns a, b, difference, standard_errors (how many).

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> run = runner.folder(paths.notebook_names()[1])
    >>> runner.values(run, run).columns.tolist()
    ['a', 'b', 'difference', 'standard_errors']
    """
    left, right = numbers(a), numbers(b)
    rows = []
    for id in sorted(left | right):
        x, y = ledger._number(left.get(id), "value"), ledger._number(right.get(id), "value")
        errors = [ledger._number(side.get(id), "standard_error") for side in (left, right)]
        spread = math.sqrt(sum(error**2 for error in errors if not math.isnan(error)))
        rows.append((id, x, y, y - x, (y - x) / spread if spread else math.nan))
    return pd.DataFrame(rows, columns=["id", "a", "b", "difference", "standard_errors"]).set_index("id")


def tables(a: Path, b: Path) -> pd.DataFrame:
    """Return, for each csv of either run, how its numbers differ.

    Parameters
    ----------
    a, b : Path
        The runs' folders.

    Returns
    -------
    DataFrame
        Rows, changed columns, largest relative change.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> run = runner.folder(paths.notebook_names()[1])
    >>> runner.tables(run, run).empty
    False
    """
    names = sorted({path.name for run in (a, b) for path in run.glob("*.csv")})
    rows = []
    for name in names:
        if not ((a / name).is_file() and (b / name).is_file()):
            rows.append((name, f"only in {'A' if (a / name).is_file() else 'B'}", math.nan))
            continue
        left, right = pd.read_csv(a / name), pd.read_csv(b / name)
        if left.shape != right.shape or list(left.columns) != list(right.columns):
            rows.append((name, f"shape {left.shape} against {right.shape}", math.nan))
            continue
        changes = {column: _change(left[column], right[column]) for column in left.columns}
        changed = [column for column, change in changes.items() if change > 0]
        text = f"changed: {', '.join(changed)}" if changed else "equal"
        rows.append((name, text, max(changes.values(), default=0.0)))
    return pd.DataFrame(rows, columns=["table", "difference", "largest_relative_change"]).set_index("table")


def describe(a: Path, b: Path) -> str:
    """Return both comparisons as text.

    Parameters
    ----------
    a, b : Path
        The runs' folders.

    Returns
    -------
    str

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> run = runner.folder(paths.notebook_names()[1])
    >>> isinstance(runner.describe(run, run), str)
    True
    """
    numbers, files = values(a, b), tables(a, b)
    parts = [f"A {a}\nB {b}"]
    parts += [numbers.to_string(float_format="{:.6g}".format, na_rep="-") if len(numbers) else "no numbers"]
    parts += [files.to_string(float_format="{:.3g}".format, na_rep="-") if len(files) else "no tables"]
    return "\n\n".join(parts)


def _change(left: pd.Series, right: pd.Series) -> float:
    """Return the largest relative change of a column; infinite where text or missing values differ."""
    if not (pd.api.types.is_numeric_dtype(left) and pd.api.types.is_numeric_dtype(right)):
        return 0.0 if left.astype(str).equals(right.astype(str)) else math.inf
    x, y = left.to_numpy(float), right.to_numpy(float)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return math.inf
    scale = np.maximum(np.abs(x), np.abs(y))
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.where(x == y, 0.0, np.abs(x - y) / scale)
    return float(np.nanmax(change, initial=0.0))
