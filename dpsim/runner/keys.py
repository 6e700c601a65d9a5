"""The key of a run, which is a hash of everything that determines its outputs."""

from __future__ import annotations

import csv
import functools
import hashlib
import importlib.metadata
import importlib.util
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
from dpsim.notebook import Notebook

LIBRARIES = (
    "dp-accounting",
    "duckdb",
    "geopandas",
    "ibis-framework",
    "ipykernel",
    "lazy-loader",
    "matplotlib",
    "numba",
    "numpy",
    "opendp",
    "pandas",
    "papermill",
    "pyarrow",
    "pyogrio",
    "randomgen",
    "scipy",
    "seaborn",
    "vl-convert-python",
)
"""The libraries that notebooks or the package import, or that execute notebooks. The
key also covers the libraries on which these libraries depend."""

APART = ("__main__.py", "cli.py", "runner")
"""The parts of the package that start a run and cannot change its numbers."""

ENDS = ("py", "pyi", "mplstyle")
"""The ends of the names of the package's files that can change an output."""

LEDGER = {
    "papers.csv": ("address", "answer"),
    "published.csv": ("quote", "sent"),
    "findings.csv": (),
}
"""The tables in data/ of which a notebook reads only its own rows, and their columns
that only REPORT.md and readers of the table need."""

FINDING = ("id", "basis", "relation")
"""The columns of findings.csv that `ledger.record` needs. Only a notebook that reads
the results of others may show the rest."""

UNREAD = (
    "README.md",
    "LEDGER.md",
    "known_answers.csv",
    "checksums.txt",
    "ledger.sha256",
)
"""The files in data/ that affect no output: texts, answers for tests, and the checksums
of tables that the key covers anyway."""

Stamps = dict[str, tuple[int, int, int]]


def fingerprint(notebook: Notebook, values: Mapping[str, Any]) -> tuple[str, Stamps]:
    """Return the key of a run, and the time stamps of the files that the key covers.

    The key covers

    - the code cells of the notebook, and which of them hold the parameters;
    - `values`, the overridden parameters, and the files that they name;
    - the sources of dpsim, except for APART, and of dpsim_release if a cell names it;
    - the notebook's rows of LEDGER, and the files in data/ except for UNREAD;
    - the versions of Python and of LIBRARIES;
    - for a notebook that reads the results of others, these results and all rows of
      LEDGER.

    A stamp consists of inode, mtime and ctime. Because nobody can set the ctime, the
    stamps show whether a file was changed and then restored. The tables of LEDGER have
    no stamps, because the rows of another paper may change during a run.
    """
    read = _sources(notebook) | _data(notebook.name) | _named(notebook, values)
    root = paths.root()
    stats = {os.path.relpath(f, root): f.stat() for f in read}
    stamps = {f: (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for f, s in stats.items()}
    whole = {
        "cells": [
            [cell["source"], "parameters" in cell["metadata"].get("tags", [])]
            for cell in notebook.cells
            if cell["cell_type"] == "code"
        ],
        "parameters": dict(values),
        "files": {
            os.path.relpath(f, root): files.sha256(f) for f in read if f.is_file()
        },
        "ledger": _rows(notebook.name),
        "versions": versions(),
        "python": sys.version,
    }
    text = json.dumps(whole, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest(), stamps


def _sources(notebook: Notebook) -> set[Path]:
    """Return the sources of dpsim and, if a cell names it, of dpsim_release."""
    package = Path(__file__).parents[1]
    sources = {f for end in ENDS for f in package.rglob(f"*.{end}")}
    read = {f for f in sources if f.relative_to(package).parts[0] not in APART}
    if any("dpsim_release" in cell["source"] for cell in notebook.cells):
        spec = importlib.util.find_spec("dpsim_release")
        for folder in (spec and spec.submodule_search_locations) or ():
            read |= set(Path(folder).glob("*.py*"))
    return read | set(paths.notebooks().glob("*.py"))


def _data(name: str) -> set[Path]:
    """Return the data that a notebook reads, and the results of other notebooks."""
    read = {paths.data(), *paths.data().rglob("*")}
    read -= {paths.data() / file for file in (*LEDGER, *UNREAD)}
    for f in paths.figures().glob("[!.]*/*"):
        earlier = paths.stage(f.parent.name) < paths.stage(name)
        # measured times differ in every run
        if earlier and not f.name.startswith("timings"):
            read.add(f)
    return read


def _named(notebook: Notebook, values: Mapping[str, Any]) -> set[Path]:
    """Return the files that the overridden parameters name."""
    read: set[Path] = set()
    for name, value in values.items():
        if notebook.parameters[name].may_name_a_file:
            # downloaded tables, because the word "official" names one of them
            read |= set((paths.build() / "data").glob("*.csv"))
            if os.path.isabs(value) and os.path.exists(value):
                read |= {Path(value), *Path(value).rglob("*")}
    return read


def _rows(name: str) -> list[dict[str, str]]:
    """Return what a notebook reads of LEDGER, or all rows for a notebook that reads the
    results of other notebooks."""
    papers, published, findings = map(_table, LEDGER)
    if not paths.stage(name):
        papers = [paper for paper in papers if paper["notebook"] == name]
        findings = [
            {column: row[column] for column in FINDING}
            for row in findings
            if row["notebook"] == name
        ]
    known = {paper["id"] for paper in papers}
    return papers + [row for row in published if row["paper"] in known] + findings


def _table(file: str) -> list[dict[str, str]]:
    """Return the rows of a table of LEDGER, without the columns named there."""
    with (paths.data() / file).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        for column in LEDGER[file]:
            row.pop(column, None)
    return rows


@functools.cache  # the metadata of 90 packages take 0.1 s, at every point of a grid
def versions() -> dict[str, str]:
    """Return the installed versions, by name, of LIBRARIES and of every distribution
    that they need."""
    installed: dict[str, str] = {}
    names = list(LIBRARIES)
    for name in map(canonicalize_name, names):  # the list grows during the loop
        if name in installed:
            continue
        with suppress(importlib.metadata.PackageNotFoundError):
            about = importlib.metadata.metadata(name)
            installed[name] = about["Version"]
            for text in about.get_all("Requires-Dist", []):
                needed = Requirement(text)
                if not needed.marker or needed.marker.evaluate({"extra": ""}):
                    names.append(needed.name)
    return dict(sorted(installed.items()))
