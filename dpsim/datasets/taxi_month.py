"""The official month of taxi trips: its name, address, row counts and checksums."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dpsim import paths


class TaxiMonth(NamedTuple):
    """A month of yellow taxi trips, as TLC publishes it.

    Attributes
    ----------
    name : str
    url : str, the address of the file
    rows : int, the number of all trips
    manhattan : int, the number of trips with both ends in Manhattan's 69 zones
    git_blob : str, the git checksum that is reported for the file
    sha256 : str, or "" if none is known; a file with another one is refused
    """

    name: str
    url: str
    rows: int
    manhattan: int
    git_blob: str
    sha256: str = ""

    @property
    def file(self) -> Path:
        """The path of the downloaded file, which git ignores."""
        return paths.build() / "data" / self.url.rpartition("/")[2]

    @property
    def counts(self) -> Path:
        """The path of the table of counts between zones."""
        stem = self.file.stem.replace("tripdata_", "")
        return self.file.with_name(f"{stem}_od.csv")


OFFICIAL = TaxiMonth(
    name="January 2025",
    url="https://d37ci6vzurychx.cloudfront.net/trip-data/"
    "yellow_tripdata_2025-01.parquet",
    rows=3_475_226,
    manhattan=2_933_898,
    git_blob="f89625da7c28878f7a2c190786325aeaefa5fb15",
)
"""The month that `dpsim data fetch` downloads. It is the paper's, and for another one
only this record changes."""
