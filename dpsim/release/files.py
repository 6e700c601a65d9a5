"""The files of a release, written whole or not at all, and read back.

What may be published lies in one folder; what is for the owner of the data alone in another one, which only its owner
can open (mode 0700, files 0600). What the first holds, its files, their columns, types and order, depends on the
released counts and on public choices alone.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpsim.private import SIMULATION
from dpsim.release import owner as owner_
from dpsim.release import report
from dpsim.release import support as supports
from dpsim.release.chain import PrivateChain

STATEMENT, REPORT, OWNER = "statement.json", "report.html", "owner.json"
ENDS = ("origin", "destination")


def write_release(
    chain: PrivateChain,
    folder: str | os.PathLike[str],
    trips: pd.DataFrame | None = None,
    owner: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write a release into a new folder and return the paths of what may be published.

    Parameters
    ----------
    chain : PrivateChain
        What `release_chain` gave.
    folder : path
        A new or empty folder, for counts, chain and states (each as csv and Parquet), statement.json and report.html.
        Of a simulation every file says so, the tables in a column `note`.
    trips : DataFrame, optional
        The counts that went in. With them the owner's folder is written.
    owner : path, optional
        Another new folder, for owner.json, which compares the release with the owner's own table and must not be
        published (default: the folder's name with "_OWNER_ONLY").

    Raises
    ------
    ValueError
        A folder exists and is not empty, or the owner's folder lies inside the released one.

    Notes
    -----
    Labels are written unchanged. A spreadsheet may take a label such as "=A1" in a csv for a formula.
    """
    target = new_folder(folder)
    private = None if trips is None else owner_folder(target, owner)
    partial = _beside(target)
    hidden = None if private is None else _beside(private)
    try:
        partial.mkdir(parents=True)
        _write_public(chain, partial)
        if hidden is not None and private is not None and trips is not None:
            hidden.mkdir(parents=True, mode=0o700)
            _write_owner(owner_.compared(chain, trips), hidden)
            _replace(hidden, private)
        _replace(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        if hidden is not None and not hidden.exists() and private is not None:  # moved already
            shutil.rmtree(private, ignore_errors=True)
        shutil.rmtree(hidden, ignore_errors=True) if hidden is not None else None
        raise
    return sorted(target.iterdir())


def load_release(folder: str | os.PathLike[str]) -> PrivateChain:
    """Return a release from its folder; it equals the one that was written.

    Parameters
    ----------
    folder : path
        What `dpsim release` or `write_release` has written: statement.json, states.parquet and counts.parquet are read.

    Returns
    -------
    PrivateChain

    Raises
    ------
    ValueError
        The folder holds no release, or its files do not belong together.

    Examples
    --------
    >>> import tempfile
    >>> from dpsim import release
    >>> trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 400]})
    >>> chain = release.release_chain(trips, epsilon=1.0, support=release.all_pairs(["a", "b"]), rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_release(chain, folder)
    ...     load_release(folder) == chain
    True
    """
    place = Path(folder)
    try:
        statement = json.loads((place / STATEMENT).read_text(encoding="utf-8"))
        states = pa.parquet.read_table(place / "states.parquet")
        counts = pa.parquet.read_table(place / "counts.parquet")
        labels = states["label"].to_pylist()
        index = pd.Index(labels)
        rows, columns = (index.get_indexer(counts[name].to_pandas()).astype(np.int64) for name in ENDS)
        noisy = counts["noisy_count"].to_numpy().astype(np.int64)
        totals = states["row_total"].to_numpy().astype(np.int64) if "row_total" in states.column_names else None
        kind = statement["support"]
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise ValueError(f"{os.fspath(folder)!r} holds no release that can be read ({error})") from error
    if (rows < 0).any() or (columns < 0).any() or len(noisy) != statement.get("pairs"):
        raise ValueError(f"{os.fspath(folder)!r}: the files do not belong together, or one of them was changed")
    support, order = supports.from_pairs(labels, rows, columns, kind)
    return PrivateChain(support, noisy[order], statement, totals)


def new_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path once nothing stands there but perhaps an empty folder (ValueError)."""
    target = Path(os.path.abspath(folder))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"output must be a new or empty folder, got {os.fspath(folder)!r}: none is ever overwritten")
    return target


def owner_folder(target: Path, owner: str | os.PathLike[str] | None = None) -> Path:
    """Return the new folder of the owner's part, beside the released one unless another is named (ValueError)."""
    private = new_folder(target.with_name(f"{target.name}_OWNER_ONLY") if owner is None else owner)
    inside, outside = Path(os.path.realpath(private)), Path(os.path.realpath(target))
    if inside == outside or outside in inside.parents or inside in outside.parents:
        raise ValueError(f"owner must be a folder outside the released one, got {os.fspath(private)!r}")
    return private


def tables(chain: PrivateChain) -> dict[str, pa.Table]:
    """Return the tables that are published, labels as integers where all are, else as text."""
    whole = bool(chain.labels) and all(isinstance(label, int) for label in chain.labels)
    kind = pa.int64() if whole else pa.string()
    named = pa.array(chain.labels if whole else [str(label) for label in chain.labels], kind)
    support = chain.support
    matrix = chain.estimate.matrix.tocoo()
    rows, columns = (np.asarray(place, dtype=np.int64) for place in matrix.coords)
    found = {
        "counts": {"origin": named.take(pa.array(support.rows)), "destination": named.take(pa.array(support.indices)),
                   "noisy_count": chain.noisy},
        "chain": {"origin": named.take(pa.array(rows)), "destination": named.take(pa.array(columns)),
                  "probability": matrix.data},
        "states": _states(chain, named),
    }  # fmt: skip
    return {name: _marked(pa.table(columns), chain) for name, columns in found.items()}


def _states(chain: PrivateChain, named: pa.Array) -> dict[str, Any]:
    """Return the columns of the table of states; the stationary ones are empty where there is no stationary law."""
    filled = np.zeros(len(chain.labels), dtype=bool)
    filled[chain.estimate.empty] = True
    states: dict[str, Any] = {"label": named, "departures": chain.departures(), "filled": filled}
    if chain.totals is not None:
        states["row_total"] = chain.totals
    try:
        states["stationary"] = chain.stationary().to_numpy()
    except ValueError:  # the released chain is reducible, or empty: seen by everybody
        states["stationary"] = pa.nulls(len(named), pa.float64())
    bars = report.stationary(chain)
    for end in ("low", "high"):
        states[f"stationary_{end}"] = pa.nulls(len(named), pa.float64()) if bars is None else bars[end].to_numpy()
    return states


def _marked(table: pa.Table, chain: PrivateChain) -> pa.Table:
    """Return a table that says of itself what it is: its status in the schema, and a column on simulations."""
    if chain.statement["simulation"]:
        note = pa.DictionaryArray.from_arrays(np.zeros(len(table), dtype=np.int8), [SIMULATION])
        table = table.append_column("note", note.cast(pa.string()))
    return table.replace_schema_metadata({"status": chain.statement["status"]})


def _write_public(chain: PrivateChain, folder: Path) -> None:
    """Write the tables twice, as csv and Parquet, the statement and the page."""
    for name, table in tables(chain).items():
        pa.csv.write_csv(table, folder / f"{name}.csv")
        pa.parquet.write_table(table, folder / f"{name}.parquet")
    (folder / STATEMENT).write_text(json.dumps(chain.statement, indent=2) + "\n", encoding="utf-8")
    (folder / REPORT).write_text(report.page(chain), encoding="utf-8")


def _write_owner(facts: dict[str, Any], folder: Path) -> None:
    """Write the owner's file, readable by its owner alone from the first byte on."""
    file = folder / OWNER
    text = json.dumps({"FOR THE OWNER OF THE DATA ONLY": "not private: computed from the data"} | facts, indent=2)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text + "\n")


def _beside(target: Path) -> Path:
    """Return a name in the same folder for what is not whole yet."""
    return target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.partial")


def _replace(partial: Path, target: Path) -> None:
    if target.exists():
        target.rmdir()  # empty, as `new_folder` has seen
    os.replace(partial, target)
