"""The key of a run: the hash of everything that decides its outputs."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dpsim import files, paths
from dpsim.runner import nbfiles
from dpsim.runner.parameters import notebook_path

LIBRARIES = (
    *("altair", "dp-accounting", "duckdb", "geopandas", "ibis-framework", "ipykernel", "lazy-loader", "matplotlib"),
    *("numba", "numpy", "opendp", "pandas", "papermill", "pyarrow", "pyogrio", "randomgen", "scipy"),
    "vl-convert-python",
)
"""What a notebook or the package behind it imports, and what executes it: these, and whatever they need."""

APART = ("__main__.py", "cli.py", "runner")
"""Parts of the package that start a run and cannot change what it computes."""


def key(name: str, values: Mapping[str, Any]) -> str:
    """Return the hash of everything that decides a run's outputs.

    Parameters
    ----------
    name : str
        Of the notebook.
    values : mapping of str to value
        The overridden parameters, as `resolve` returns them.

    Returns
    -------
    str
        Hexadecimal.

    Notes
    -----
    Code cells, parameters, contents of files that a parameter names, sources of dpsim but for what starts runs, data,
    the installed versions of the libraries behind; for a notebook that reads the others' results also those. Not the
    prose, which changes no output.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> name = paths.notebook_names()[1]
    >>> runner.key(name, {}) == runner.key(name, {"seed": 3})
    False
    """
    notebook = nbfiles.read(notebook_path(name))
    cells = [[c.source, "parameters" in c.metadata.get("tags", [])] for c in notebook.cells if c.cell_type == "code"]
    package = Path(__file__).parents[1]
    read = [f for ending in ("py", "pyi") for f in package.rglob(f"*.{ending}")]
    read = [f for f in read if f.relative_to(package).parts[0] not in APART]
    read += paths.data().rglob("*")
    if paths.stage(name):
        made = [f for f in paths.figures().glob("*/*") if paths.stage(f.parent.name) < paths.stage(name)]
        read += [f for f in made if not f.name.startswith("timings")]  # measured: other seconds in every run
    if "official" in values.values():  # a month fetched since makes another run
        read += (paths.build() / "data").glob("*.csv")
    for value in values.values():
        if isinstance(value, str) and os.path.isabs(value) and Path(value).exists():
            read += [Path(value), *(Path(value).rglob("*") if Path(value).is_dir() else [])]
    contents = {_label(path): files.sha256(path) for path in sorted(set(read)) if path.is_file()}
    whole = {"cells": cells, "parameters": dict(sorted(values.items())), "files": contents}
    whole |= {"versions": versions(), "python": sys.version}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


@functools.cache  # reading the metadata of 90 packages takes 0.2 s, and a sweep asks at every point
def versions() -> dict[str, str]:
    """Return the installed version of every distribution that LIBRARIES need, by name."""
    found: dict[str, str] = {}
    waiting = [canonicalize_name(name) for name in LIBRARIES]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[name] = distribution.version
        needs = [Requirement(text) for text in distribution.requires or []]
        waiting += [canonicalize_name(n.name) for n in needs if n.marker is None or n.marker.evaluate({"extra": ""})]
    return dict(sorted(found.items()))


def _label(path: Path) -> str:
    """Return a file's name in the key: relative inside the project, so that a moved clone keeps its keys."""
    base = paths.root()
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
