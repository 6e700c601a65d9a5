"""Reads and writes notebook files, with whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from dpsim import files


def read(path: Path) -> Any:
    """Return the notebook in a file, in format 4.

    Parameters
    ----------
    path : Path

    Returns
    -------
    NotebookNode

    Raises
    ------
    ValueError
        Naming the file when it is not a notebook.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runner.read(runner.notebook_path(paths.notebook_names()[1])).nbformat
    4
    """
    try:
        return nbformat.read(path, as_version=4)
    except nbformat.reader.NotJSONError as error:
        raise ValueError(f"{path} is not a notebook: {str(error)[:200]}") from error


def text(notebook: Any) -> str:
    """Return the text of a notebook's file, checked against the format.

    Parameters
    ----------
    notebook : NotebookNode

    Returns
    -------
    str

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runner.text(runner.read(runner.notebook_path(paths.notebook_names()[1])))[0]
    '{'
    """
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def write(notebook: Any, path: Path) -> None:
    """Write a notebook, checked against the format, whole or not at all.

    Parameters
    ----------
    notebook : NotebookNode
    path : Path
    """
    files.write_text(path, text(notebook))
