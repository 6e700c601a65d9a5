"""The key of a run, which is the hash of everything that decides its outputs."""

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
    *(
        "dp-accounting",
        "duckdb",
        "geopandas",
        "ibis-framework",
        "ipykernel",
        "lazy-loader",
        "matplotlib",
    ),
    *(
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
    ),
    "vl-convert-python",
)
"""Libraries that a notebook or the package imports, or that execute a notebook. Their own requirements are added."""

APART = ("__main__.py", "cli.py", "runner")
"""Parts of the package that start a run and cannot change what it computes."""

LEDGER = ("papers.csv", "published.csv")
"""Tables of data/ from which a notebook reads only the rows of its paper."""

UNREAD = ("README.md", "LEDGER.md", "known_answers.csv", "checksums.txt")
"""Files of data/ that change no output: prose, answers for tests, and the checksums of tables that are in the key
themselves."""

Stamps = dict[str, tuple[int, int, int]]


def fingerprint(
    name: str, notebook: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[str, Stamps]:
    """Return the hash of everything that decides the outputs of a run, and the time stamps of the files that it covers.

    The hash covers the code cells and which of them hold the parameters, `values` (the
    overridden ones, from `resolve`), the contents of files that they name, the sources
    of dpsim except for those that start runs, the rows of the LEDGER for the notebook's
    paper, all other tables, Python and the installed versions of the libraries. For a
    notebook that reads the results of others it also covers these results and the whole
    LEDGER. It leaves out the prose, which changes no output, and the data files in
    UNREAD. The stamps (inode, mtime, ctime) reveal a file that was changed and restored
    in the meantime, because nobody can set the ctime. The LEDGER has no stamps, because
    somebody may edit the rows of another paper during the run.
    """
    package = Path(__file__).parents[1]
    root = paths.root()
    read = {f for ending in ("py", "pyi") for f in package.rglob(f"*.{ending}")}
    read = {f for f in read if f.relative_to(package).parts[0] not in APART}
    tables = {paths.data() / table for table in LEDGER}
    read |= {paths.data(), *paths.data().rglob("*"), *paths.notebooks().glob("*.py")}
    read -= tables | {paths.data() / file for file in UNREAD}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if paths.stage(name):
        made = [
            f
            for f in paths.figures().glob("[!.]*/*")
            if paths.stage(f.parent.name) < paths.stage(name)
        ]
        read |= {
            f for f in made if not f.name.startswith("timings")
        }  # measured times, which differ in every run
    for text in (
        value for value in values.values() if isinstance(value, str)
    ):  # one may ask for a downloaded table
        read |= set((paths.build() / "data").glob("*.csv"))
        if os.path.isabs(text) and os.path.exists(text):
            read |= {Path(text), *Path(text).rglob("*")}
    stats = {os.path.relpath(f, root): f.stat() for f in read}
    stamps = {f: (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for f, s in stats.items()}
    whole = {
        "cells": [
            [cell["source"], "parameters" in cell["metadata"].get("tags", [])]
            for cell in code
        ],
        "parameters": dict(values),
        "files": {
            os.path.relpath(f, root): files.sha256(f)
            for f in sorted(read)
            if f.is_file()
        },
        "ledger": _rows(name),
        "versions": versions(),
        "python": sys.version,
    }
    return hashlib.sha256(
        json.dumps(whole, sort_keys=True).encode()
    ).hexdigest(), stamps


def _rows(name: str) -> list[dict[str, str]]:
    """Return the rows of the LEDGER for the notebook's paper, or for all papers if it reads others' results."""
    texts = [(paths.data() / table).read_text(encoding="utf-8") for table in LEDGER]
    papers, published = (
        list(csv.DictReader(text.splitlines(keepends=True))) for text in texts
    )
    papers = [
        paper for paper in papers if paths.stage(name) or paper["notebook"] == name
    ]
    return papers + [
        row for row in published if row["paper"] in {paper["id"] for paper in papers}
    ]


@functools.cache  # the metadata of 90 packages take 0.1 s, at every point of a grid
def versions() -> dict[str, str]:
    """Return the installed versions, by name, of LIBRARIES and of every distribution that they need."""
    found = {}
    names = list(LIBRARIES)
    for name in map(canonicalize_name, names):  # the list grows during the loop
        with suppress(importlib.metadata.PackageNotFoundError):
            about = importlib.metadata.metadata(
                name
            )  # once, because every access reads it anew
            needs = [
                Requirement(text)
                for text in about.get_all("Requires-Dist", [])
                if name not in found
            ]
            names += [
                each.name
                for each in needs
                if not each.marker or each.marker.evaluate({"extra": ""})
            ]
            found[str(name)] = about["Version"]
    return dict(sorted(found.items()))
