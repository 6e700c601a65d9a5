"""Fetching the taxi month from a local server: whole, cut short, wrong, absent."""

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
from dpsim.datasets import fetch

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
    """Return a small month as TLC publishes it, and make the project a copy without one."""
    (tmp_path / "project" / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "data", tmp_path / "project" / "data")
    monkeypatch.setenv("DPSIM_ROOT", str(tmp_path / "project"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    zones = [*datasets.load_taxi_zones()["zone"].tolist(), *fetch.ISLANDS, 1, 265]
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "PULocationID": rng.choice(zones, 20_000).astype(np.int32),
            "DOLocationID": rng.choice(zones, 20_000),
        }
    ).assign(fare_amount=rng.random(20_000))
    table.to_parquet(tmp_path / NAME)
    inside = (~table[["PULocationID", "DOLocationID"]].isin([1, 265])).all(axis=1).sum()
    return (tmp_path / NAME).read_bytes(), (20_000, int(inside))


def left():
    folder = datasets.taxi.counts_file().parent
    return set(os.listdir(folder)) if folder.is_dir() else set()


def test_fetch_count_and_use(server, month):
    url, handler = server
    handler.contents, expected = month
    with pytest.raises(ValueError, match="run `dpsim data fetch` first"):
        datasets.load_taxi_trips("official")
    got = datasets.fetch.fetch_taxi_month(url, expected=expected)
    assert (got.rows, got.manhattan) == expected
    assert not got.blob_matches and len(got.sha256) == 64
    trips = datasets.load_taxi_trips("official")
    assert trips["trips"].sum() == got.kept < got.manhattan
    assert datasets.counts_matrix(trips, datasets.load_taxi_zones()["zone"]).shape == (
        63,
        63,
    )
    assert datasets.fetch.fetch_taxi_month(url, expected=expected) == got
    assert handler.asked == 1  # the file that is there is not asked for again
    assert left() == {NAME, "yellow_2025-01_od.csv"}
    assert got.counts.is_relative_to(paths.build())


def test_cut_short(server, month):
    url, handler = server
    handler.contents, expected = month
    handler.cut = 100_000
    with pytest.raises(ValueError, match="could not be downloaded"):
        datasets.fetch.fetch_taxi_month(url, expected=expected)
    assert left() == set()
    handler.cut = None
    assert (
        datasets.fetch.fetch_taxi_month(url, expected=expected).file.read_bytes()
        == handler.contents
    )


@pytest.mark.parametrize(
    ("port", "said"),
    [("9", r"http://127.0.0.1:9/.* could not be downloaded"), (None, "403")],
)
def test_what_is_not_there_is_told(server, month, port, said):
    url, handler = server
    handler.do_GET = lambda self: self.send_error(403)
    with pytest.raises(ValueError, match=said):
        datasets.fetch.fetch_taxi_month(
            f"http://127.0.0.1:{port}/{NAME}" if port else url
        )
    assert left() == set()


@pytest.mark.parametrize(
    "kind", ["html", "truncated", "other columns", "other rows", "other trips"]
)
def test_wrong_files_are_removed(server, month, kind, tmp_path):
    url, handler = server
    contents, expected = month
    pd.DataFrame({"a": [1], "b": [2]}).to_parquet(tmp_path / "other.parquet")
    handler.contents = {
        "html": b"<html>not here</html>",
        "truncated": contents[:-1000],
        "other columns": (tmp_path / "other.parquet").read_bytes(),
    }.get(kind, contents)
    expected = (
        expected[0] + (kind == "other rows"),
        expected[1] + (kind == "other trips"),
    )
    with pytest.raises(ValueError, match="The file was removed"):
        datasets.fetch.fetch_taxi_month(url, expected=expected)
    assert left() == set()


def test_command(server, month, monkeypatch):
    url, handler = server
    handler.contents = month[0]
    monkeypatch.setattr(
        datasets.fetch,
        "fetch_taxi_month",
        partial(datasets.fetch.fetch_taxi_month, url),
    )
    result = CliRunner().invoke(cli.main, ["data", "fetch"])
    assert result.exit_code == 2
    assert (
        "expected 3475226 rows, 2933898 of them within Manhattan, got (20000"
        in result.output
    )
    result = CliRunner().invoke(cli.main, ["data"])
    assert result.exit_code == 0
    assert "od_surrogate" in result.output
