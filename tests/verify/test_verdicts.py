"""The audit of the verdicts finds a run whose seed turned one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpsim import ledger, paths
from tools.verify import verdicts

PAPER, ROW = "benvenuti2026", "benvenuti2026.fig3.tv"


def run(folder: Path, value: float) -> Path:
    """Return a folder of results that are the committed ones but for one sampled row."""
    results = ledger.results(paths.figures() / ledger.NOTEBOOKS[PAPER])
    results[ROW] = results[ROW] | {"value": value}
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


def test_a_run_within_chance_is_in_order_and_one_beyond_is_found(tmp_path: Path) -> None:
    row = ledger.published().loc[ROW]
    error = ledger.results(paths.figures() / ledger.NOTEBOOKS[PAPER])[ROW]["standard_error"]
    assert error
    good = run(tmp_path / "good", row["expected"] + 4 * error)
    bad = run(tmp_path / "bad", row["expected"] + row["expected_unit"] + 5 * error)
    table = verdicts.turned(PAPER, {"good": good, "bad": bad})
    assert list(table["run"]) == ["bad"] and list(table.index) == [ROW]
    assert "MISSES EXPECTED" in table["verdict"].iloc[0]


def test_a_row_that_a_run_does_not_record_is_found(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", 0.0174)
    kept = {id: row for id, row in ledger.results(folder).items() if id != "benvenuti2026.thm5"}
    (folder / "results.json").write_text(json.dumps(kept), encoding="utf-8")
    assert list(verdicts.turned(PAPER, {"run": folder}).index) == ["benvenuti2026.thm5"]


@pytest.mark.parametrize("paper", list(ledger.PAPERS))
def test_the_committed_results_are_in_order(paper: str) -> None:
    assert verdicts.turned(paper, {"committed": paths.figures() / ledger.NOTEBOOKS[paper]}).empty
