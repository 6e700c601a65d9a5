"""Reads and writes notebook files, with an nbformat that is quick to import."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

# jsonschema builds its optional grammar of internationalised URIs while nbformat is imported: most of the start-up
# time of a command, for a format no notebook uses. Without the module it leaves that format out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import nbformat  # noqa: E402


def read(path: Path) -> Any:
    """Return the notebook in a file, in format 4; raises ValueError naming the file when it is not one."""
    try:
        return nbformat.read(path, as_version=4)
    except nbformat.reader.NotJSONError as error:
        raise ValueError(f"{path} is not a notebook: {str(error)[:200]}") from error


def write(notebook: Any, path: Path) -> None:
    """Write a notebook, checked against the format, whole or not at all."""
    nbformat.validate(notebook)
    partial = path.with_name(f".{path.name}.partial")
    nbformat.write(notebook, partial)
    os.replace(partial, path)
