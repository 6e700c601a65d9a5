"""Compares two runs by their ledger values, their key numbers and the tables behind their figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from dpsim import ledger, paths


def folder(run: str) -> Path:
    """Return the folder of a run, given as a path, a notebook's name, or <notebook>/<the beginning of a key>."""
    places = [Path(run), paths.figures() / run, *(paths.build() / "runs").glob(f"{run.lstrip('/')}*/")]
    found = {path.resolve() for path in places if any(path.glob("*.csv")) or any(path.glob("*.json"))}
    if len(found) != 1:
        raise ValueError(f"{run!r} names {len(found)} runs: give a folder with results, a notebook or <notebook>/<key>")
    return found.pop()


def numbers(folder: Path) -> pd.DataFrame:
    """Return a table with value and standard_error, by id, of the ledger rows and the key numbers of a run."""
    found, path = ledger.results(folder), folder / "numbers.json"
    try:
        given = {**json.loads(path.read_text(encoding="utf-8"))} if path.is_file() else {}
        return pd.DataFrame({"value": given}, dtype=float).combine_first(found)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} must hold numbers by name: {error}") from error


def values(a: Path, b: Path) -> pd.DataFrame:
    """Return the numbers of two runs side by side: a, b, their difference, and this difference in standard errors."""
    left, right = numbers(a).align(numbers(b))
    found = pd.DataFrame({"a": left["value"], "b": right["value"], "difference": right["value"] - left["value"]})
    spread = np.hypot(left["standard_error"].fillna(0), right["standard_error"].fillna(0))
    found["standard_errors"] = found["difference"] / spread.replace(0, np.nan)
    return found.sort_index().rename_axis("id")


def tables(a: Path, b: Path) -> pd.DataFrame:
    """Return, for each csv file of either run, the columns that differ and the largest relative change."""
    rows = {}
    for name in sorted({path.name for run in (a, b) for path in run.glob("*.csv")}):
        left, right = (pd.read_csv(run / name) if (run / name).is_file() else pd.DataFrame() for run in (a, b))
        if left.shape != right.shape or any(left.columns != right.columns):
            rows[name] = f"shape {left.shape} against {right.shape}", np.nan
        else:
            changes = {column: _change(left[column], right[column]) for column in left}
            changed = ", ".join(column for column, change in changes.items() if change > 0)
            rows[name] = f"changed: {changed}" if changed else "equal", max(changes.values(), default=0.0)
    columns = ["difference", "largest_relative_change"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("table")


def _change(left: pd.Series, right: pd.Series) -> float:
    """Return the largest relative change of a column, which is infinite if any text or missing value differs."""
    x, y = (pd.to_numeric(column, errors="coerce") for column in (left, right))
    change = (x - y).abs() / np.maximum(x.abs(), y.abs())
    return float(change.mask(left.astype(str) == right.astype(str), 0.0).fillna(np.inf).max())


def describe(a: str, b: str) -> str:
    """Return how two runs differ, as text.

    Parameters
    ----------
    a, b : str, each a folder, a notebook (for its committed figures), or <notebook>/<the beginning of a key>
    """
    left, right = folder(a), folder(b)
    parts = [f"A {left}\nB {right}"]
    for found, empty, digits in ((values(left, right), "no numbers", 6), (tables(left, right), "no tables", 3)):
        parts.append(found.to_string(float_format=f"{{:.{digits}g}}".format, na_rep="-") if len(found) else empty)
    return "\n\n".join(parts)
