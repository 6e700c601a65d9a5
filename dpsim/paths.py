"""The folders of the project, and the order in which its notebooks run."""

from __future__ import annotations

import os
from pathlib import Path


def root() -> Path:
    """Return the folder of the project.

    It is DPSIM_ROOT if that is set, and otherwise the clone in which this package is
    installed. Raises FileNotFoundError if the folder has no notebooks, for example
    because the installation copied only the package.
    """
    folder = Path(os.environ.get("DPSIM_ROOT") or Path(__file__).resolve().parents[1])
    if not (folder / "notebooks").is_dir():
        raise FileNotFoundError(
            f"{folder} holds no notebooks: run from a clone installed with "
            "`pip install --no-deps -e .`, or set DPSIM_ROOT to one"
        )
    return folder


def notebooks() -> Path:
    """Return the folder of the notebooks."""
    return root() / "notebooks"


def figures() -> Path:
    """Return the folder of the committed figures and results."""
    return root() / "figures"


def data() -> Path:
    """Return the folder of the committed tables that the notebooks read."""
    return root() / "data"


def build() -> Path:
    """Return the folder for everything that is computed but not committed.

    It contains executed notebooks, records of runs, and runs with other parameters.
    """
    return root() / "build"


def notebook_names() -> list[str]:
    """Return the names of all notebooks, ordered by `stage` and then by name."""
    names = sorted(path.stem for path in notebooks().glob("*.ipynb"))
    return sorted(names, key=stage)


LAST = ("00_overview",)
"""The notebooks that read what the others write to figures/."""


def stage(name: str) -> int:
    """Return 1 for a notebook that must run after the rest, and 0 otherwise."""
    return int(name in LAST)
