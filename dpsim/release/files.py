"""The files of a release, written whole or not at all: what may be published, and what is for the data owner only."""

from __future__ import annotations

import json
import os
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpsim import markov
from dpsim.checks import Array
from dpsim.markov import stationary
from dpsim.release import chain as release_chain
from dpsim.release.chain import PrivateChain

OWNER_FOLDER = "OWNER_ONLY_not_private"
MOSTLY_PRIOR = 0.5  # mean row error bound from which the report warns
_PACKAGES = ("dpsim-compendium", "numpy", "scipy", "opendp", "dp-accounting", "ibis-framework", "duckdb")


def write_release(
    chain: PrivateChain, folder: str | os.PathLike[str], trips: pd.DataFrame | None = None
) -> dict[str, Any]:
    """Write a release into a new folder and return the side-car's contents.

    matrix.csv, matrix.parquet (origin, destination, probability), states.csv (category, row_total, error_bound,
    stationary where the declared graph is irreducible), release.json (side-car), report.md; and, when the trips are
    given, utility.json in OWNER_ONLY_not_private, which compares with them. Of a simulation every file says so: the
    tables in a column `note`. Raises ValueError when the folder exists and is not empty.
    """
    target = new_folder(folder)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        pi = _stationary(chain)
        card = side_car(chain)
        matrix = _matrix_table(chain)
        pa.csv.write_csv(matrix, partial / "matrix.csv")
        pa.parquet.write_table(matrix, partial / "matrix.parquet")
        states = utility_table(chain).assign(**({} if pi is None else {"stationary": pi}))
        _marked(states, chain).to_csv(partial / "states.csv", index=False)
        (partial / "release.json").write_text(json.dumps(card, indent=2, default=_plain) + "\n", encoding="utf-8")
        (partial / "report.md").write_text(report(chain, pi), encoding="utf-8")
        if trips is not None:
            (partial / OWNER_FOLDER).mkdir()
            owner = {"FOR THE DATA OWNER ONLY": "not private: computed from the data", "status": chain.status}
            text = json.dumps(owner | owner_utility(chain, trips, pi), indent=2, default=_plain)
            (partial / OWNER_FOLDER / "utility.json").write_text(text + "\n", encoding="utf-8")
        if target.exists():
            target.rmdir()
        os.replace(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return card


def new_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path once nothing stands there but perhaps an empty folder (ValueError)."""
    target = Path(os.path.abspath(folder))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"output must be a new or empty folder, got {str(folder)!r}: a release is never overwritten")
    return target


def side_car(chain: PrivateChain) -> dict[str, Any]:
    """Return what is published beside the matrix: the statement, the categories, the versions; nothing unpaid."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed as a package"
    return {**chain.statement, "categories": chain.support.categories, "versions": versions}


def utility_table(chain: PrivateChain) -> pd.DataFrame:
    """Return columns category, allowed_destinations, row_total, row_error_bound: without another look at the data."""
    return pd.DataFrame(
        {
            "category": chain.support.categories,
            "allowed_destinations": chain.support.sizes,
            "row_total": chain.totals.astype(np.int64),
            "row_error_bound": chain.row_errors,
        }
    )


def report(chain: PrivateChain, pi: Array | None) -> str:
    """Return the report for readers of the release (Markdown): what it cost, what it is good for, what to beware of."""
    s = chain.statement
    bound = s["mean_row_error_bound"]
    lines = [f"# {chain.status[0].upper()}{chain.status[1:]}", ""]
    lines += [f"- epsilon {s['epsilon']:.6g}, delta {s['delta']:.3g}, for neighbours that differ in one unit: "
              f"{s['neighbours']}.", f"- Unit: {_unit(**s['unit'])}."]  # fmt: skip
    for share in s["budget"]:
        lines.append(f"- Spent on the {share['what']}: epsilon {share['epsilon']:.4g}, delta {share['delta']:.3g} "
                     f"({share['method']}).")  # fmt: skip
    parameters = [f"{name} {s[name]:.6g}" for name in ("alpha", "kappa", "eta", "k_smallest", "k_largest") if name in s]
    lines.append(f"- Mechanism: {s['mechanism']}; {', '.join(parameters)}.")
    if "assumptions" in s:
        lines.append(f"- Assumptions: {s['assumptions']}.")
    n, allowed = len(chain.support.categories), s["allowed_transitions"]
    lines.append(
        f"- {n} categories ({s['categories_from']}), {allowed} allowed transitions, row totals {s['row_totals']}."
    )
    lines.append(f"- Expected total variation error of a row, averaged over events: at most {bound:.3g} (proven, "
                 "computed without looking at the data again).")  # fmt: skip
    if bound > MOSTLY_PRIOR:
        lines.append("- **This release is mostly prior**: there are too few events a row for this epsilon.")
    if "events_in_a_row_for_error_0.1" in s:
        lines.append(f"- A row needs about {s['events_in_a_row_for_error_0.1']} events for an error bound of 0.1.")
    if pi is None:
        lines.append("- No stationary distribution: the declared graph does not lead from everywhere to everywhere.")
    elif n <= stationary.DENSE_UP_TO:
        factor = markov.half_row_distance(markov.fundamental_matrix(chain.matrix.toarray()))
        lines.append(
            f"- The stationary distribution is off by at most {float(factor):.3g} times the largest row error."
        )
    lines += [f"- Randomness: {s['randomness']}. {s['floating_point']}",
              f"- Publish every file but the folder {OWNER_FOLDER}, if there is one.", ""]  # fmt: skip
    return "\n".join(lines)


def owner_utility(chain: PrivateChain, trips: pd.DataFrame, pi: Array | None) -> dict[str, Any]:
    """Return how far the release is from the data: numbers for their owner only, never to be published."""
    support = chain.support
    counts, outside = release_chain.counts_on(trips, support, "drop")
    totals = np.add.reduceat(counts, support.indptr[:-1]).astype(float)
    shares = counts / np.repeat(np.maximum(totals, 1.0), support.sizes)
    moved = 0.5 * np.add.reduceat(np.abs(shares - chain.matrix.data), support.indptr[:-1])
    seen = totals > 0
    result: dict[str, Any] = {
        **trips.attrs.get("report", {}),
        "trips_on_allowed_pairs": int(totals.sum()),
        "trips_left_out": outside,
        "rows_without_events": int((~seen).sum()),
        "mean_row_total_variation": float(totals @ moved / totals.sum()) if seen.any() else None,
        "largest_row_total_variation": float(moved[seen].max()) if seen.any() else None,
        "stationary_total_variation": None,
    }
    if pi is not None and seen.all():
        empirical = chain.matrix.copy()
        empirical.data = shares
        try:
            truth = markov.stationary_distribution(empirical)
            result["stationary_total_variation"] = float(0.5 * np.abs(truth - pi).sum())
        except ValueError:  # the chain as counted need not be irreducible
            pass
    return result


def _unit(events_per_row: int, rows: int) -> str:
    if events_per_row * rows == 1:
        return "one event (someone with many events is protected in each of them, not in all together)"
    return f"someone with at most {events_per_row} events in each of at most {rows} rows (origins)"


def _stationary(chain: PrivateChain) -> Array | None:
    try:
        return chain.stationary()
    except ValueError:  # the declared graph is not irreducible: public, and said in the report
        return None


def _matrix_table(chain: PrivateChain) -> pa.Table:
    labels = np.array(chain.support.categories)
    columns = {
        "origin": np.repeat(labels, chain.support.sizes),
        "destination": labels[chain.support.indices],
        "probability": chain.matrix.data,
    }
    table = pa.table(columns)
    if chain.status == release_chain.SIMULATION:
        note = pa.DictionaryArray.from_arrays(np.zeros(len(table), dtype=np.int8), [release_chain.SIMULATION])
        table = table.append_column("note", note.cast(pa.string()))
    return table.replace_schema_metadata({"status": chain.status})


def _marked(table: pd.DataFrame, chain: PrivateChain) -> pd.DataFrame:
    return table.assign(note=release_chain.SIMULATION) if chain.status == release_chain.SIMULATION else table


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return str(value)
