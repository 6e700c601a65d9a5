"""Fetching the taxi month from a local server: whole, cut short, wrong, absent."""

import hashlib
import http.server
import os
import shutil
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpsim import cli, datasets, paths
from dpsim.datasets import download, taxi_month
from dpsim.datasets.download import ISLANDS, fetch_taxi_month
from dpsim.datasets.taxi_month import OFFICIAL

ROOT = Path(__file__).resolve().parents[2]
NAME = "yellow_tripdata_2025-01.parquet"


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one file; `cut` ends each answer after so many bytes."""

    contents = b""
    cut = None
    asked = 0

    def do_GET(self):
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.contents)))
        self.end_headers()
        self.wfile.write(self.contents[: self.cut])
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    handler = type("OneFile", (Handler,), {})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}/trip-data/{NAME}", handler
        running.shutdown()
        thread.join()


@pytest.fixture
def month(tmp_path, monkeypatch):
    """Return a small month as TLC publishes it, and make the project a copy without
    one."""
    (tmp_path / "project" / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "data", tmp_path / "project" / "data")
    monkeypatch.setenv("DPSIM_ROOT", str(tmp_path / "project"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    zones = [*datasets.load_taxi_zones()["zone"].tolist(), *ISLANDS, 1, 265]
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "PULocationID": rng.choice(zones, 20_000).astype(np.int32),
            "DOLocationID": rng.choice(zones, 20_000),
        }
    ).assign(fare_amount=rng.random(20_000))
    table.to_parquet(tmp_path / NAME)
    inside = (~table[["PULocationID", "DOLocationID"]].isin([1, 265])).all(axis=1).sum()
    contents = (tmp_path / NAME).read_bytes()
    record = OFFICIAL._replace(rows=20_000, manhattan=int(inside), git_blob="")
    return contents, record


def left():
    folder = OFFICIAL.counts.parent
    return set(os.listdir(folder)) if folder.is_dir() else set()


def test_fetch_count_and_use(server, month):
    url, handler = server
    handler.contents, record = month
    record = record._replace(url=url)
    with pytest.raises(ValueError, match="run `dpsim data fetch` first"):
        datasets.load_taxi_trips("official")
    counted, sha256, git_blob = fetch_taxi_month(record)
    assert sha256 == hashlib.sha256(handler.contents).hexdigest()
    assert len(git_blob) == 40
    trips = datasets.load_taxi_trips("official")
    assert trips["trips"].sum() == counted < record.manhattan
    assert datasets.counts_matrix(trips, datasets.load_taxi_zones()["zone"]).shape == (
        63,
        63,
    )
    assert fetch_taxi_month(record) == (counted, sha256, git_blob)
    assert handler.asked == 1  # the file that is there is not asked for again
    assert fetch_taxi_month(record._replace(sha256=sha256))[0] == counted
    assert left() == {NAME, "yellow_2025-01_od.csv"}
    assert record.counts.is_relative_to(paths.build())


def test_a_file_with_another_checksum_is_refused(server, month):
    url, handler = server
    handler.contents, record = month
    with pytest.raises(ValueError, match=r"could not be downloaded.*SHA256"):
        fetch_taxi_month(record._replace(url=url, sha256="0" * 64))
    assert left() == set()


def test_cut_short(server, month):
    url, handler = server
    handler.contents, record = month
    record = record._replace(url=url)
    handler.cut = 100_000
    with pytest.raises(ValueError, match="could not be downloaded"):
        fetch_taxi_month(record)
    assert left() == set()
    handler.cut = None
    fetch_taxi_month(record)
    assert record.file.read_bytes() == handler.contents


@pytest.mark.parametrize(
    ("port", "said"),
    [("9", r"http://127.0.0.1:9/.* could not be downloaded"), (None, "403")],
)
def test_what_is_not_there_is_told(server, month, port, said):
    url, handler = server
    handler.do_GET = lambda self: self.send_error(403)
    url = f"http://127.0.0.1:{port}/{NAME}" if port else url
    with pytest.raises(ValueError, match=said):
        fetch_taxi_month(month[1]._replace(url=url))
    assert left() == set()


@pytest.mark.parametrize(
    "kind", ["html", "truncated", "other columns", "other rows", "other trips"]
)
def test_wrong_files_are_removed(server, month, kind, tmp_path):
    url, handler = server
    contents, record = month
    pd.DataFrame({"a": [1], "b": [2]}).to_parquet(tmp_path / "other.parquet")
    handler.contents = {
        "html": b"<html>not here</html>",
        "truncated": contents[:-1000],
        "other columns": (tmp_path / "other.parquet").read_bytes(),
    }.get(kind, contents)
    rows = record.rows + (kind == "other rows")
    manhattan = record.manhattan + (kind == "other trips")
    with pytest.raises(ValueError, match="The file was removed"):
        fetch_taxi_month(record._replace(url=url, rows=rows, manhattan=manhattan))
    assert left() == set()


def test_command(server, month, monkeypatch):
    url, handler = server
    handler.contents = month[0]
    record = month[1]._replace(url=url)
    wrong = partial(fetch_taxi_month, OFFICIAL._replace(url=url))
    monkeypatch.setattr(download, "fetch_taxi_month", wrong)
    result = CliRunner().invoke(cli.main, ["data", "fetch"])
    assert result.exit_code == 2
    assert (
        "expected 3475226 rows, 2933898 of them within Manhattan, got (20000"
        in result.output
    )
    monkeypatch.setattr(taxi_month, "OFFICIAL", record)
    monkeypatch.setattr(download, "fetch_taxi_month", partial(fetch_taxi_month, record))
    result = CliRunner().invoke(cli.main, ["data", "fetch"])
    assert result.exit_code == 0, result.output
    assert "20,000 rows" in result.output and "NOT as reported" in result.output
    result = CliRunner().invoke(cli.main, ["data"])
    assert result.exit_code == 0
    assert "od_surrogate" in result.output
