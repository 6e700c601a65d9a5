"""Downloads the official month of taxi trips, verifies it and counts its trips."""

from __future__ import annotations

import hashlib

import pandas as pd

from dpsim import files
from dpsim.datasets.taxi import ENDS, load_taxi_zones
from dpsim.datasets.taxi_month import OFFICIAL, TaxiMonth

ISLANDS = (103, 104, 105, 153, 194, 202)
"""The zones of Manhattan that are not among the 63 in data/."""


def fetch_taxi_month(
    month: TaxiMonth = OFFICIAL, *, progress: bool = False
) -> tuple[int, str, str]:
    """Download a month (if necessary), verify it, and write its counts.

    Raise ValueError if the month cannot be downloaded, is not a Parquet file with TLC's
    columns, or does not have the expected checksum or numbers of rows. In these cases,
    no counts are written, and a wrong file is removed.

    Parameters
    ----------
    month : TaxiMonth
    progress : bool, whether to show the progress of the download

    Returns
    -------
    trips : int, the number of counted trips, which are those within the 63 zones
    sha256, git_blob : str, two checksums of the file
    """
    import pooch

    pooch.get_logger().setLevel("ERROR")
    try:
        pooch.retrieve(
            month.url,
            known_hash=month.sha256 or None,
            fname=month.file.name,
            path=month.file.parent,
            downloader=pooch.HTTPDownloader(progressbar=progress, timeout=30),
        )
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        problem = f"{month.url} could not be downloaded ({error})"
        raise ValueError(problem[:500]) from error
    zones = load_taxi_zones()["zone"].tolist()
    try:
        table = pd.read_parquet(month.file, columns=["PULocationID", "DOLocationID"])
        rows = len(table), int(table.isin([*zones, *ISLANDS]).all(axis=1).sum())
        if rows != (month.rows, month.manhattan):
            raise ValueError(
                f"expected {month.rows} rows, {month.manhattan} of them within "
                f"Manhattan, got {rows}"
            )
    except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
        month.file.unlink()
        raise ValueError(
            f"{month.file.name}: {error}. The file was removed: run `dpsim data fetch` "
            "again"
        ) from error
    table = table[table.isin(zones).all(axis=1)].set_axis(ENDS, axis=1)
    files.write_csv(month.counts, table.groupby(ENDS).size().reset_index(name="trips"))
    contents = month.file.read_bytes()
    blob = f"blob {len(contents)}\0".encode() + contents
    git_blob = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    return len(table), hashlib.sha256(contents).hexdigest(), git_blob
