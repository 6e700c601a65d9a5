"""Checksums of the ledger's tables, so that a damaged table is not judged unseen."""

from __future__ import annotations

from pathlib import Path

from dpsim import files, paths
from dpsim.ledger.rows import findings, papers, published

TABLES = ("papers.csv", "published.csv", "findings.csv")
"""The tables in data/ that have a checksum."""


def damage() -> list[str]:
    """Return a message for each table of the ledger that does not have its checksum.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.damage()
    []
    """
    path = _listing()
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    listed = {line.partition("  ")[2]: line for line in lines}
    return [
        f"data/{name} does not have the checksum in data/{path.name}: if you edited "
        "it, look at `git diff data` and run `make ledger`; if not, restore it with "
        f"`git checkout -- data/{name}`"
        for name in TABLES
        if listed.get(name) != _line(name)
    ]


def write_checksums() -> None:
    """Write the checksums of the ledger's tables, after reading and checking every row.

    This is what `make ledger` does after an edit.
    """
    papers(), published(), findings()
    text = "".join(f"{_line(name)}\n" for name in TABLES)
    files.write_text(_listing(), text)


def _listing() -> Path:
    """Return the file with the checksums."""
    return paths.data() / "ledger.sha256"


def _line(name: str) -> str:
    """Return the line of a table: its sha256 and its name, as sha256sum writes it."""
    return f"{files.sha256(paths.data() / name)}  {name}"
