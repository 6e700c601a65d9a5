"""Fingerprints of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

# isort: skip  (before papermill: it spares nbformat a slow import)


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
