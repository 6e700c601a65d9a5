"""Where the project's files are: notebooks, data, figures and the ignored build folder."""

from __future__ import annotations

import os
from pathlib import Path


def root() -> Path:
    """Return the project's folder: DPSIM_ROOT when set, else the checkout this package was installed from.

    Raises FileNotFoundError when that folder holds no notebooks, as after an install that copied the package
    alone: the compendium runs from a clone.
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
    """Return the ignored folder of executed copies, manifests and runs with other parameters."""
    return root() / "build"


def notebook_names() -> list[str]:
    """Return the names of all notebooks in the order in which they run: by stage, then by name."""
    names = sorted(path.stem for path in notebooks().glob("*.ipynb"))
    return sorted(names, key=stage)


LAST = ("00_overview",)
"""Notebooks that read what the others write to figures/."""


def stage(name: str) -> int:
    """Return when a notebook runs: 0 for one that stands alone, 1 for one that reads the results of those."""
    return int(name in LAST)
