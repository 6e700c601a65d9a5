"""The audit of the verdicts finds a run whose seed turned one."""

import json
from pathlib import Path

import pytest

from dpsim import ledger, paths
from tools.verify import verdict_seeds as verdicts

PAPER, ROW = "benvenuti2026", "benvenuti2026.fig3.tv"
NOTEBOOK = ledger.papers().loc[PAPER, "notebook"]


def altered(folder: Path, **rows: dict[str, float | None]) -> Path:
    """Return a folder of results that are the committed ones, but for the rows
    given."""
    folder.mkdir()
    results = (
        json.loads(
            (paths.figures() / NOTEBOOK / "results.json").read_text(encoding="utf-8")
        )
        | rows
    )
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


def test_a_run_within_chance_is_in_order_and_one_beyond_is_found(
    tmp_path: Path,
) -> None:
    row = ledger.published().loc[ROW]
    error = ledger.results(paths.figures() / NOTEBOOK).loc[ROW, "standard_error"]
    assert error > 0
    values = {
        "good": row["expected"] + 4 * error,
        "bad": row["expected"] + row["expected_unit"] + 6 * error,
    }
    runs = {
        name: altered(tmp_path / name, **{ROW: {"value": v, "standard_error": error}})
        for name, v in values.items()
    }
    table = verdicts.turned(PAPER, runs)
    assert list(table["run"]) == ["bad"] and list(table.index) == [ROW]
    assert "MISSES EXPECTED" in table["verdict"].iloc[0]


def test_a_row_that_one_run_does_not_record_is_found(tmp_path: Path) -> None:
    whole = altered(tmp_path / "whole")
    less = altered(tmp_path / "less")
    ledger.results(less).drop("benvenuti2026.thm5").to_json(
        less / "results.json", orient="index", double_precision=15
    )
    assert list(verdicts.turned(PAPER, {"whole": whole, "less": less}).index) == [
        "benvenuti2026.thm5"
    ]


@pytest.mark.parametrize("paper", list(ledger.papers().index))
def test_the_committed_results_are_in_order(paper: str) -> None:
    assert verdicts.turned(
        paper, {"committed": paths.figures() / ledger.papers().loc[paper, "notebook"]}
    ).empty


@pytest.mark.full
def test_another_seed_turns_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["verdict_seeds", "--seeds", "1", "--papers", "gohari2020"]
    monkeypatch.setattr("sys.argv", words)
    assert verdicts.main() == 0
    assert capsys.readouterr().out == "gohari2020: 1 seeds, 0 turned\n"


def test_a_finding_that_a_seed_breaks_is_found(tmp_path: Path) -> None:
    rows = ledger.findings().query("basis == 'family'")
    row = rows.iloc[0]
    beyond = row["limit"] + (0.1 if row["relation"] == "at most" else -0.1)
    for name, value in {"good": row["limit"], "bad": beyond}.items():
        (tmp_path / name).mkdir()
        held = {row.name: {"value": value, "standard_error": None, "tried": 20}}
        (tmp_path / name / "results.json").write_text(json.dumps(held))
    runs = {name: tmp_path / name for name in ("good", "bad")}
    table = verdicts.broken(row["notebook"], runs)
    assert list(table["run"]) == ["bad"] and list(table.index) == [row.name]
