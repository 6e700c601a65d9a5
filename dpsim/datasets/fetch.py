"""Downloads the official month of taxi trips, verifies it and counts its trips."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dpsim import files
from dpsim.datasets.taxi import counts_file, load_taxi_zones

URL = "https://d37ci6vzurychx.cloudfront.net/trip-data/yellow_tripdata_2025-01.parquet"
SOURCE = (
    "NYC Taxi and Limousine Commission, trip record data, yellow taxis, January 2025"
)
GIT_BLOB = "f89625da7c28878f7a2c190786325aeaefa5fb15"
"""The git checksum that is reported for the file. No sha256 is reported."""
ISLANDS = (103, 104, 105, 153, 194, 202)
"""The zones of Manhattan that are not among the 63 in data/."""
ENDS = ["PULocationID", "DOLocationID"]
"""The columns of the file with the two zones of a trip."""
EXPECTED = (3_475_226, 2_933_898)
"""The number of all rows, and of those with both ends in Manhattan's 69 zones."""


class Month(NamedTuple):
    """A downloaded month of trips, and its counts.

    Attributes
    ----------
    file : Path, the file as TLC publishes it
    counts : Path, the table of the counts between zones
    rows : int, the number of all trips
    manhattan : int, the number of trips within Manhattan's 69 zones
    kept : int, the number of counted trips, which are those within the 63 zones
    sha256 : str, the checksum of the file
    blob_matches : bool, whether the file has the git checksum GIT_BLOB
    """

    file: Path
    counts: Path
    rows: int
    manhattan: int
    kept: int
    sha256: str
    blob_matches: bool


def fetch_taxi_month(
    url: str = URL, *, expected: tuple[int, int] = EXPECTED, progress: bool = False
) -> Month:
    """Return the month after downloading (if necessary), verifying and counting it.

    The counts are written to `counts_file`. Raise ValueError if the month cannot be
    downloaded, is not a Parquet file with TLC's columns, or does not have the expected
    numbers of rows. In these cases, no counts are written, and a wrong file is removed.

    Parameters
    ----------
    url : str, the address of the file
    expected : tuple of int, the numbers of rows, in all and within Manhattan
    progress : bool, whether to show the progress of the download
    """
    import pooch

    file = counts_file().with_name(url.rsplit("/", 1)[-1])
    pooch.get_logger().setLevel("ERROR")
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=30)
    try:
        pooch.retrieve(
            url,
            known_hash=None,
            fname=file.name,
            path=file.parent,
            downloader=downloader,
        )
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise ValueError(f"{url} could not be downloaded ({error})"[:500]) from error
    zones = load_taxi_zones()["zone"].tolist()
    try:
        table = pd.read_parquet(file, columns=ENDS).set_axis(
            ["origin", "destination"], axis=1
        )
        found = len(table), int(table.isin([*zones, *ISLANDS]).all(axis=1).sum())
        if found != expected:
            raise ValueError(
                f"expected {expected[0]} rows, {expected[1]} of them within Manhattan, got {found}"
            )
    except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
        file.unlink()
        raise ValueError(
            f"{file.name}: {error}. The file was removed: run `dpsim data fetch` again"
        ) from error
    trips = (
        table[table.isin(zones).all(axis=1)]
        .groupby(list(table))
        .size()
        .rename("trips")
        .reset_index()
    )
    files.write_csv(counts_file(), trips)
    contents = file.read_bytes()
    blob = hashlib.sha1(
        f"blob {len(contents)}\0".encode() + contents, usedforsecurity=False
    ).hexdigest()
    sha256 = hashlib.sha256(contents).hexdigest()
    return Month(
        file, counts_file(), *found, int(trips["trips"].sum()), sha256, blob == GIT_BLOB
    )
