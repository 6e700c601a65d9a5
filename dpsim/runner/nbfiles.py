"""Reads and writes notebook files, with whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from dpsim import files


def read(path: Path) -> Any:
    """Return the notebook in a file, in format 4; raises ValueError naming the file when it is not one."""
    try:
        return nbformat.read(path, as_version=4)
    except nbformat.reader.NotJSONError as error:
        raise ValueError(f"{path} is not a notebook: {str(error)[:200]}") from error


def write(notebook: Any, path: Path) -> None:
    """Write a notebook, checked against the format, whole or not at all."""
    nbformat.validate(notebook)
    with files.replacing(path) as partial:
        nbformat.write(notebook, partial)
