"""The ledger's verdicts, and the look and the files of figures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner
from toy_project import ROOT

from dpsim import figures, ledger, project, refresh
from dpsim.__main__ import main


@pytest.mark.parametrize(
    "value, target, mode, tolerance, agrees",
    [
        (1.0099, 1.0, "relative", 0.01, True),
        (1.0101, 1.0, "relative", 0.01, False),
        (-0.95, -1.0, "absolute", 0.1, True),
        (-0.85, -1.0, "absolute", 0.1, False),
        (6.0, 6.0, "exact", 0.0, True),
        (6.0000001, 6.0, "exact", 0.0, False),
        (0.51, 1.0, "factor", 2.0, True),
        (0.49, 1.0, "factor", 2.0, False),
        (1.99, 1.0, "factor", 2.0, True),
        (2.01, 1.0, "factor", 2.0, False),
        (-1.0, 1.0, "factor", 2.0, False),
    ],
)
def test_within(value: float, target: float, mode: str, tolerance: float, agrees: bool) -> None:
    assert ledger.within(value, target, mode, tolerance) is agrees


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((10**400, 1.0, "relative", 0.1), "value must be real numbers"),
        ((1.0, math.nan, "absolute", 0.1), "target must be in"),
        ((1.0, 1.0, "factor", -1.0), "tolerance must be in"),
    ],
)
def test_within_refuses_what_cannot_be_compared(arguments: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ledger.within(*arguments)


def test_every_published_row_has_a_kind_a_comparison_and_a_notebook() -> None:
    rows = ledger.published()
    assert set(rows["kind"]) == {"match", "surrogate", "erratum", "reading", "speed"}
    assert set(rows["paper"]) == set(ledger.PAPERS) == set(ledger.NOTEBOOKS)
    compared = rows[rows["kind"].isin(["match", "surrogate"])]
    assert set(compared["mode"]) <= {"relative", "absolute", "exact", "factor"}
    assert compared[["published", "tolerance"]].notna().all().all()
    assert (rows["expected"].notna() == rows["expected_tolerance"].notna()).all()


def results(folder: Path, values: dict[str, float]) -> None:
    folder.mkdir(parents=True)
    text = json.dumps({id: {"value": value, "standard_error": None} for id, value in values.items()})
    (folder / "results.json").write_text(text)


def fleischer(toy: Path, values: dict[str, float]) -> pd.DataFrame:
    (toy / "notebooks" / "boltzmann_histograms.ipynb").touch()
    results(toy / "figures" / "boltzmann_histograms", values)
    return ledger.report().query("paper == 'fleischer2024'")


def test_a_row_in_order_a_miss_and_an_unrecorded_row(toy: Path) -> None:
    table = fleischer(toy, {"fleischer2024.space.6": 6.0, "fleischer2024.space.316251": 316250.0})
    assert table["ok"].to_dict() == {
        "fleischer2024.space.6": True,
        "fleischer2024.space.316251": False,
        "fleischer2024.invariant": False,
    }
    assert "OUT OF TOLERANCE" in table.loc["fleischer2024.space.316251", "verdict"]
    assert table.loc["fleischer2024.invariant", "verdict"] == "not recorded"
    others = ledger.report().query("paper != 'fleischer2024'")
    assert (others["verdict"] == "not yet").all() and others["ok"].all()


def test_the_report_fails_on_a_row_out_of_order_and_passes_when_all_agree(toy: Path) -> None:
    fleischer(toy, {"fleischer2024.space.6": 6.0, "fleischer2024.space.316251": 316250.0})
    runner = CliRunner()
    assert runner.invoke(main, ["report"]).exit_code == 1
    good = {"fleischer2024.space.6": 6.0, "fleischer2024.space.316251": 316251.0, "fleischer2024.invariant": 50.0}
    path = toy / "figures" / "boltzmann_histograms" / "results.json"
    path.write_text(json.dumps({id: {"value": v, "standard_error": None} for id, v in good.items()}))
    shown = runner.invoke(main, ["report"])
    assert shown.exit_code == 0, shown.output
    assert "316251" in (toy / "figures" / "REPORT.md").read_text()


def test_expected_gates_every_kind(toy: Path) -> None:
    rows = ledger.published()
    id = "benvenuti2026pf.fig5.pf_5"
    assert rows.loc[id, "kind"] == "erratum"
    for value, ok in ((rows.loc[id, "expected"], True), (rows.loc[id, "expected"] * 1.01, False)):
        judged = ledger.judge(rows.loc[[id]], {id: {"value": value, "standard_error": None}})
        assert bool(judged.loc[id, "ok"]) is ok
        assert ("MISSES EXPECTED" in judged.loc[id, "verdict"]) is not ok


def test_a_surrogate_row_beyond_its_factor_is_shown_not_hidden() -> None:
    rows = ledger.published()
    id = "benvenuti2026.table1.50"
    judged = ledger.judge(rows.loc[[id]], {id: {"value": rows.loc[id, "expected"], "standard_error": None}})
    assert judged.loc[id, "verdict"].startswith("not reproduced (surrogate data), factor 4.46")
    assert judged.loc[id, "ok"]


def test_record_refuses_unknown_rows_and_values_that_are_not_finite(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="id must be a row"):
        ledger.record("nobody2026.x", 1.0)
    with pytest.raises(ValueError, match="value of fallin2023"):
        ledger.record("fallin2023.eps.k9", math.nan, output=str(tmp_path))
    assert not list(tmp_path.iterdir())
    ledger.record("fallin2023.eps.k9", 1.1678, standard_error=0.1, output=str(tmp_path))
    ledger.record("gohari2020.time.base", 2.0, output=str(tmp_path))
    assert set(json.loads((tmp_path / "results.json").read_text())) == {"fallin2023.eps.k9"}
    assert set(json.loads((tmp_path / "timings.json").read_text())) == {"gohari2020.time.base"}
    assert set(ledger.results(tmp_path)) == {"fallin2023.eps.k9", "gohari2020.time.base"}


def test_figures_are_the_same_bytes_each_time_and_nothing_without_output(tmp_path: Path) -> None:
    figures.style()
    fig, ax = plt.subplots(figsize=figures.size(2, 2))
    ax.plot([0, 1], [0, 1 / 3])
    table = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1 / 3]})
    figures.save(fig, "fig1_line", table, "")
    assert not list(tmp_path.iterdir())
    for folder in ("a", "b"):
        figures.save(fig, "fig1_line", table, str(tmp_path / folder))
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == ["fig1_line.csv", "fig1_line.pdf", "fig1_line.png"]
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)
    assert (tmp_path / "a" / "fig1_line.csv").read_text() == "x,y\n0,0\n1,0.3333333333\n"
    with pytest.raises(ValueError, match="name must be"):
        figures.save(fig, "Fig 1", table, str(tmp_path))
    with pytest.raises(ValueError, match="columns must be"):
        figures.size(3, 2)


def test_cleaning_a_notebook_strips_what_differs_and_refuses_warnings() -> None:
    made = nbformat.v4.new_notebook()
    made.metadata = {"papermill": {"duration": 3.2}, "widgets": {"state": {}}}
    cell = nbformat.v4.new_code_cell("1", metadata={"papermill": {"start": "now"}, "execution": {}})
    cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=7)]
    injected = nbformat.v4.new_code_cell("output = 'x'", metadata={"tags": ["injected-parameters"]})
    made.cells = [injected, cell]
    fresh = refresh.clean(made)
    assert len(fresh.cells) == 1 and fresh.cells[0].id == "cell-00"
    assert dict(fresh.cells[0].metadata) == {} and set(fresh.metadata) == {"kernelspec", "language_info"}
    assert fresh.cells[0].execution_count == fresh.cells[0].outputs[0].execution_count == 1
    cell.outputs = [nbformat.v4.new_output("stream", name="stderr", text="RuntimeWarning: overflow")]
    with pytest.raises(ValueError, match="cell 1 warns: RuntimeWarning"):
        refresh.clean(made)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=f"{project.root()}/x")]
    with pytest.raises(ValueError, match="absolute path"):
        refresh.clean(made)


def test_the_environment_file_is_the_locks() -> None:
    import sys

    sys.path.insert(0, str(ROOT / "tools"))
    from lock import environment

    assert (ROOT / "environment.yml").read_text() == environment((ROOT / "requirements.lock").read_text())
