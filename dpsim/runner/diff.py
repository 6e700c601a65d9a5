"""Reads the numbers that a run recorded, and sets those of two runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from dpsim import files, ledger


def numbers(folder: Path) -> pd.DataFrame:
    """Return a table with value and standard_error, by id, of the ledger rows and the key numbers of a run."""
    found = ledger.results(folder)
    for name in ("numbers.json", f"numbers_{files.OWNER_ONLY}.json"):
        path = folder / name
        try:
            given = (
                {**json.loads(path.read_text(encoding="utf-8"))}
                if path.is_file()
                else {}
            )
            found = pd.DataFrame({"value": given}, dtype=float).combine_first(found)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{path} must hold numbers by name: {error}") from error
    return found


def values(a: Path, b: Path) -> pd.DataFrame:
    """Return the numbers of two runs side by side: a, b, their difference, and this difference in standard errors."""
    left, right = numbers(a).align(numbers(b))
    difference = right["value"] - left["value"]
    found = pd.DataFrame(
        {"a": left["value"], "b": right["value"], "difference": difference}
    )
    spread = np.hypot(
        left["standard_error"].fillna(0), right["standard_error"].fillna(0)
    )
    found["standard_errors"] = found["difference"] / spread.replace(0, np.nan)
    return found.sort_index().rename_axis("id")
