"""The key of a run: the hash of everything that decides its outputs."""

from __future__ import annotations

import csv
import functools
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dpsim import files, paths

LIBRARIES = (
    *("dp-accounting", "duckdb", "geopandas", "ibis-framework", "ipykernel", "lazy-loader", "matplotlib"),
    *("numba", "numpy", "opendp", "pandas", "papermill", "pyarrow", "pyogrio", "randomgen", "scipy", "seaborn"),
    "vl-convert-python",
)
"""What a notebook or the package behind it imports, and what executes it: these, and whatever they need."""

APART = ("__main__.py", "cli.py", "runner")
"""Parts of the package that start a run and cannot change what it computes."""

LEDGER = ("papers.csv", "published.csv")
"""Tables of data/ of which a notebook reads the rows of its paper alone."""

Stamps = dict[str, tuple[int, int, int]]


def fingerprint(name: str, notebook: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, Stamps]:
    """Return the hash of everything that decides a run's outputs, and when each file behind it last changed.

    The hash is over code cells and whether they hold the parameters, `values` (the overridden ones, from `resolve`),
    contents of files that they name, sources of dpsim but for what starts runs, the rows of the LEDGER of the
    notebook's paper, all other data, Python and the installed versions of the libraries behind; for a notebook that
    reads the others' results also those, and the LEDGER whole. Not the prose, which changes no output. The stamps
    (inode, mtime, ctime) tell of a file that was changed and restored meanwhile: nobody can set the ctime.
    """
    package, root = Path(__file__).parents[1], paths.root()
    read = {f for ending in ("py", "pyi") for f in package.rglob(f"*.{ending}")}
    read = {f for f in read if f.relative_to(package).parts[0] not in APART}
    tables = {paths.data() / table for table in LEDGER}
    read |= {paths.data(), *paths.data().rglob("*"), *paths.notebooks().glob("*.py")}
    read -= tables | {paths.data() / "README.md"}
    if paths.stage(name):
        made = [f for f in paths.figures().glob("[!.]*/*") if paths.stage(f.parent.name) < paths.stage(name)]
        read |= {f for f in made if not f.name.startswith("timings")}  # measured: other seconds in every run
    for text in (value for value in values.values() if isinstance(value, str)):  # which may ask for what was fetched
        read |= set((paths.build() / "data").glob("*.csv"))
        read |= {Path(text), *Path(text).rglob("*")} if os.path.isabs(text) and os.path.exists(text) else set()
    stats = {os.path.relpath(f, root): f.stat() for f in read | tables}
    stamps = {f: (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for f, s in stats.items()}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    whole = {
        "cells": [[cell["source"], "parameters" in cell["metadata"].get("tags", [])] for cell in code],
        "parameters": dict(values),
        "files": {os.path.relpath(f, root): files.sha256(f) for f in sorted(read) if f.is_file()},
        "ledger": _rows(name),
        "versions": versions(),
        "python": sys.version,
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest(), stamps


def _rows(name: str) -> list[dict[str, str]]:
    """Return the rows of the LEDGER of the paper that a notebook settles; of all papers for one that reads results."""
    texts = [(paths.data() / table).read_text(encoding="utf-8") for table in LEDGER]
    papers, published = (list(csv.DictReader(text.splitlines(keepends=True))) for text in texts)
    papers = [paper for paper in papers if paths.stage(name) or paper["notebook"] == name]
    return papers + [row for row in published if row["paper"] in {paper["id"] for paper in papers}]


@functools.cache  # reading the metadata of 90 packages takes 0.1 s, and a grid asks at every point
def versions() -> dict[str, str]:
    """Return the installed version of every distribution that LIBRARIES need, by name."""
    found, names = {}, list(LIBRARIES)
    for name in map(canonicalize_name, names):  # which grow meanwhile
        with suppress(importlib.metadata.PackageNotFoundError):
            about = importlib.metadata.metadata(name)  # once: it is read anew at every access
            needs = [Requirement(text) for text in about.get_all("Requires-Dist", []) if name not in found]
            names += [each.name for each in needs if not each.marker or each.marker.evaluate({"extra": ""})]
            found[str(name)] = about["Version"]
    return dict(sorted(found.items()))
