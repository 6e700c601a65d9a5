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


def text(notebook: Any) -> str:
    """Return the text of a notebook's file, checked against the format."""
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def write(notebook: Any, path: Path) -> None:
    """Write a notebook, checked against the format, whole or not at all."""
    files.write_text(path, text(notebook))
