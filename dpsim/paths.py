"""Where the files of the project are: notebooks, data, figures and the build folder, which git ignores."""

from __future__ import annotations

import os
from pathlib import Path


def root() -> Path:
    """Return the folder of the project: DPSIM_ROOT if it is set, otherwise the checkout from which this package was
    installed.

    Raises FileNotFoundError if that folder has no notebooks, for example after an installation that copied only the
    package, because the compendium runs from a clone.
    """
    folder = Path(os.environ.get("DPSIM_ROOT") or Path(__file__).resolve().parents[1])
    if not (folder / "notebooks").is_dir():
        raise FileNotFoundError(
            f"{folder} holds no notebooks: run from a clone installed with `pip install --no-deps -e .`, "
            "or set DPSIM_ROOT to one"
        )
    return folder


def notebooks() -> Path:
    """Return the folder of the notebooks, the only source of figures."""
    return root() / "notebooks"


def figures() -> Path:
    """Return the folder of the committed figures and results."""
    return root() / "figures"


def data() -> Path:
    """Return the folder of the tables that come with the project."""
    return root() / "data"


def build() -> Path:
    """Return the folder of executed copies, manifests and runs with other parameters, which git ignores."""
    return root() / "build"


def notebook_names() -> list[str]:
    """Return the names of all notebooks in the order in which they run, first by stage and then by name."""
    names = sorted(path.stem for path in notebooks().glob("*.ipynb"))
    return sorted(names, key=stage)


LAST = ("00_overview",)
"""Notebooks that read what the others write to figures/."""


def stage(name: str) -> int:
    """Return the stage in which a notebook runs: 0, or 1 for a notebook that reads the results of others."""
    return int(name in LAST)
