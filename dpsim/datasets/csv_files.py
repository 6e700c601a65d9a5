"""Reads the csv files in data/ and verifies their checksums."""

from __future__ import annotations

import hashlib
import io

import pandas as pd

from dpsim import checks, paths


def checksums() -> dict[str, str]:
    """Return the sha256 of every table, keyed by its path in data/.

    Raise ValueError if there is no folder data/ beside the package.
    """
    listing = paths.data() / "checksums.txt"
    if not listing.is_file():
        raise ValueError(
            f"{listing} is missing: dpsim reads its tables from the clone it is "
            "installed from; run `pip install -e .` there, or restore the folder with "
            "`git checkout -- data`"
        )
    lines = listing.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}


def read_bytes(name: str) -> bytes:
    """Return the contents of a table, named by its path in data/.

    If the table cannot be read or its sha256 is wrong, a ValueError says how to restore
    it.
    """
    recorded = checksums()
    checks.choice("name", name, recorded)
    remedy = f"restore it with `git checkout -- data/{name}`"
    try:
        contents = (paths.data() / name).read_bytes()
    except OSError as error:
        raise ValueError(
            f"data/{name} cannot be read ({error.strerror}): {remedy}"
        ) from error
    if hashlib.sha256(contents).hexdigest() != recorded[name]:
        raise ValueError(
            f"data/{name} is damaged or changed (its sha256 is not the one in "
            f"data/checksums.txt): {remedy}, or renew its line there if the change is "
            "meant"
        )
    return contents


def read_table(name: str) -> pd.DataFrame:
    """Return a csv table in data/ after verifying its checksum."""
    return pd.read_csv(io.BytesIO(read_bytes(name)))


def load_sources() -> pd.DataFrame:
    """Return where each table in data/ comes from, and whether it is intact.

    The columns are file, contents, source, licence, sha256 (as recorded) and status.
    The status is "intact", or says what is wrong with the file and what to do. Raise
    ValueError if sources.csv itself is damaged, or if it or the list of checksums is
    missing.

    >>> from dpsim.datasets import csv_files
    >>> set(csv_files.load_sources()["status"])
    {'intact'}
    """
    sources = read_table("sources.csv")
    return sources.assign(
        sha256=sources["file"].map(checksums()), status=sources["file"].map(_status)
    )


def _status(name: str) -> str:
    """Return "intact", or what is wrong with a table in data/."""
    try:
        read_bytes(name)
    except ValueError as error:
        return str(error)
    return "intact"


def load_grades() -> pd.DataFrame:
    """Return the grades that stand in for those of the class in Benvenuti et al. 2026.

    The columns are grade (A, B, C, D or F) and students (their number).

    >>> from dpsim import datasets
    >>> int(datasets.load_grades()["students"].sum())
    98
    """
    return read_table("grades/calculus_1.csv")
