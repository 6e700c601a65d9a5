"""The official taxi month: downloaded once with pooch, verified by its rows, counted, kept in the ignored build/."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from dpsim import files, paths
from dpsim.datasets import events, taxi

URL = "https://d37ci6vzurychx.cloudfront.net/trip-data/yellow_tripdata_2025-01.parquet"
SOURCE = "NYC Taxi and Limousine Commission, trip record data, yellow taxis, January 2025"
GIT_BLOB = "f89625da7c28878f7a2c190786325aeaefa5fb15"  # reported for the file; its sha256 was not known here
ISLANDS = (103, 104, 105, 153, 194, 202)  # the zones of Manhattan that the 63 of data/ leave out


class Expected(NamedTuple):
    """What the file of a month must hold.

    Attributes
    ----------
    rows : int
        All rows.
    manhattan : int
        Those with both ends in Manhattan's 69 zones.
    """

    rows: int = 3_475_226
    manhattan: int = 2_933_898


JANUARY_2025 = Expected()


class Month(NamedTuple):
    """What was fetched and counted.

    Attributes
    ----------
    file, counts : Path
        The month as it was published, and the counts between zones.
    rows, manhattan, kept : int
        All rows, those within Manhattan's 69 zones, and those within the 63 that are counted.
    sha256 : str
        Of the file.
    blob_matches : bool
        Whether the file is the one whose checksum is recorded.
    """

    file: Path
    counts: Path
    rows: int
    manhattan: int
    kept: int
    sha256: str
    blob_matches: bool


def folder() -> Path:
    """Return where the month is kept: build/data, which git ignores.

    Returns
    -------
    Path

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.folder().parts[-2:]
    ('build', 'data')
    """
    return paths.build() / "data"


def counts_file() -> Path:
    """Return the path of the counts between the 63 zones: columns origin, destination, trips.

    Returns
    -------
    Path

    Examples
    --------
    >>> from dpsim import datasets
    >>> datasets.counts_file().suffix
    '.csv'
    """
    return folder() / "yellow_2025-01_od.csv"


def fetch_taxi_month(url: str = URL, *, expected: Expected = JANUARY_2025, progress: bool = False) -> Month:
    """Return the month, downloaded (or resumed, or found), verified and counted into `counts_file`.

    Parameters
    ----------
    url : str
        Where TLC publishes it.
    expected : Expected
        The numbers of rows it must hold.
    progress : bool
        Whether to say how far the download is.

    Returns
    -------
    Month

    Raises
    ------
    ValueError
        When the server cannot be reached, the file is cut short, is no Parquet file with the columns of TLC, or holds
        other numbers of rows than expected; then no counts are kept, and a wrong file is removed.

    Notes
    -----
    A partial download is kept beside the file and resumed where the server allows it.
    """
    file = folder() / url.rsplit("/", 1)[-1]
    if not file.is_file():
        _download(url, file, progress)
    try:
        zones = taxi.load_taxi_zones()["zone"].tolist()
        trips, all_rows, manhattan = _counted(file, zones)
        if (all_rows, manhattan) != expected:
            raise ValueError(
                f"{file.name}: expected {expected.rows} rows, {expected.manhattan} of them within Manhattan, got "
                f"{all_rows} and {manhattan}: not the file that was asked for"
            )
    except ValueError as error:
        file.unlink()
        raise ValueError(f"{error}. The file was removed: run `dpsim data fetch` again") from error
    files.write_csv(counts_file(), trips)
    digest, blob = _digests(file)
    return Month(file, counts_file(), all_rows, manhattan, int(trips["trips"].sum()), digest, blob == GIT_BLOB)


def _counted(file: Path, zones: list[int]) -> tuple[pd.DataFrame, int, int]:
    """Return the counts between the zones, the rows, and the rows within zones and islands."""
    columns = ("PULocationID", "DOLocationID")
    with_islands = events.count_transitions(file, *columns, categories=[*zones, *ISLANDS])
    report = with_islands.attrs["report"]
    inside = with_islands["origin"].isin(zones) & with_islands["destination"].isin(zones)
    return with_islands[inside].reset_index(drop=True), report["rows"], report["kept"]


class _Resuming:
    """A pooch downloader that goes on with what an interrupted download left, and checks the length."""

    def __init__(self, partial: Path, progress: bool) -> None:
        self.partial, self.progress = partial, progress

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        """Download to the partial file, then move it where pooch wants it."""
        import requests
        from tqdm import tqdm

        start = self.partial.stat().st_size if self.partial.exists() else 0
        headers = {"Range": f"bytes={start}-"} if start else {}
        with requests.get(url, headers=headers, stream=True, timeout=30) as response:
            if response.status_code == 416:  # nothing is left to send
                whole = int(response.headers.get("Content-Range", "*/-1").rsplit("/", 1)[-1])
                if whole != start:
                    self.partial.unlink()
                    raise OSError(f"{start} bytes kept of a file of {whole}; they were removed")
                os.replace(self.partial, output_file)
                return
            response.raise_for_status()
            if response.status_code != 206:
                start = 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else -1
            with (
                open(self.partial, "ab" if start else "wb") as stream,
                tqdm(total=max(total, 0), initial=start, unit="B", unit_scale=True, disable=not self.progress) as bar,
            ):
                for block in response.iter_content(1 << 16):
                    stream.write(block)
                    bar.update(len(block))
        size = self.partial.stat().st_size
        if total >= 0 and size != total:
            raise OSError(f"cut short: {size} bytes of {total} came; run again to go on from there")
        os.replace(self.partial, output_file)


def _download(url: str, file: Path, progress: bool) -> None:
    """Download a file to its place, going on where an earlier try stopped."""
    import pooch

    file.parent.mkdir(parents=True, exist_ok=True)
    downloader = _Resuming(file.with_name(f".{file.name}.part"), progress)
    logger = pooch.get_logger()
    level, _ = logger.level, logger.setLevel("ERROR")
    try:
        pooch.retrieve(url, known_hash=None, fname=file.name, path=file.parent, downloader=downloader)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise ValueError(f"{url} could not be downloaded ({error})"[:500]) from error
    finally:
        logger.setLevel(level)


def _digests(file: Path) -> tuple[str, str]:
    """Return sha256 and git blob id."""
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(f"blob {file.stat().st_size}\0".encode(), usedforsecurity=False)
    with open(file, "rb") as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
            blob.update(block)
    return sha256.hexdigest(), blob.hexdigest()
