"""The ledger's verdicts, and the look and the files of figures."""

import functools
import html
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image

from dpsim import figures, ledger, mdp, paths
from dpsim.cli import main
from dpsim.figures import explore, house_style


def row(**more: object) -> pd.DataFrame:
    """Return one row of the ledger, with what is given changed."""
    base = (
        ledger.published()
        .loc[["benvenuti2026.fig1.eps_min"]]
        .assign(
            published=2.26, printed="2.26", published_unit=0.01, expected=math.nan, basis="rounding", limit=math.nan
        )
    )
    return base.assign(**more)


def recorded(values: dict[str, float], error: float = math.nan) -> pd.DataFrame:
    """Return values by id as `ledger.results` does."""
    return pd.DataFrame({"value": values, "standard_error": dict.fromkeys(values, error)}, dtype=float)


def verdict(value: float, error: float | None = None, **more: object) -> tuple[str, bool]:
    """Return verdict and ok of a value at such a row."""
    rows = row(**more)
    judged = ledger.judge(rows, recorded({rows.index[0]: value}, math.nan if error is None else error))
    return judged["verdict"].iloc[0], bool(judged["ok"].iloc[0])


EMPIRICAL = {"basis": "contradiction", "relation": "at most", "draws": 100, "deviation": 0.1}
"""A statement about draws of the paper's own."""


@pytest.mark.parametrize(
    "value, error, more, expected",
    [
        (2.265, None, {}, "agrees"),
        (2.2651, None, {}, "differs"),
        (2.255, None, {}, "agrees"),
        (2.2549, None, {}, "differs"),
        (2.294, None, {"basis": "sampling", "draws": 100, "deviation": 0.1}, "agrees"),  # 0.005 + 3 * 0.01
        (2.296, None, {"basis": "sampling", "draws": 100, "deviation": 0.1}, "differs"),
        (2.301, 0.01, {"basis": "sampling", "draws": 100, "deviation": 0.1}, "agrees"),  # 0.005 + 3 * 0.01 * sqrt(2)
        (2.309, 0.01, {"basis": "sampling", "draws": 100, "deviation": 0.1}, "differs"),
        (2.2699, None, {"basis": "reading", "relation": "cut"}, "agrees"),
        (2.2599, None, {"basis": "reading", "relation": "cut"}, "differs"),
        (2.2701, None, {"basis": "reading", "relation": "cut"}, "differs"),
        (2.266, None, {"basis": "reading", "relation": "at most"}, "differs"),
        (2.266, 0.001, {"basis": "reading", "relation": "at most"}, "agrees"),
        (1.0, None, {"basis": "reading", "relation": "at most"}, "agrees"),
        (1.0, None, {"basis": "reading", "relation": "at least"}, "differs"),
        (2.26, None, {"basis": "identity"}, "agrees"),
        (-0.1, None, {"basis": "qualitative", "printed": "falls"}, "agrees"),
        (-0.1, None, {"basis": "qualitative", "printed": "rises"}, "differs"),
        (0.1, None, {"basis": "reading", "printed": "rises"}, "agrees"),
        (0.0, None, {"basis": "reading", "printed": "rises"}, "differs"),
        (-0.1, None, {"basis": "reading", "printed": "rises"}, "differs"),
        (4.52, None, {"basis": "surrogate"}, "not tested"),
        (1.13, None, {"basis": "calibrated"}, "not tested"),
        (1.13, None, {"basis": "choice"}, "not tested"),
        (math.nan, None, {"basis": "missing"}, "not tested"),
        (1.13, None, {"basis": "missing"}, "not tested"),
        (2.2701, None, {"basis": "formula"}, "contradicted"),
        (2.0, None, {"basis": "contradiction", "limit": 2.28, "limit_unit": 0.01}, "contradicted"),
        (2.0, None, {"basis": "contradiction", "relation": "at most", "limit": 2.25}, "contradicted"),
        (2.0, None, {"basis": "contradiction", "relation": "at least", "limit": 2.27}, "contradicted"),
        (2.0, None, EMPIRICAL | {"limit": 2.224}, "contradicted"),  # 0.005 + 3 * 0.01 below 2.26
        (2.0, None, EMPIRICAL | {"limit": 2.226}, "not tested"),
        (2.0, 0.1, {"basis": "false", "relation": "at most", "limit": 1.69}, "contradicted"),
        (2.2651, None, {"basis": "standin"}, "not tested"),
        (2.265, None, {"basis": "standin"}, "agrees"),
        (-0.1, None, {"basis": "standin", "printed": "rises"}, "not tested"),
        (0.9, None, {"basis": "standin", "relation": "at most", "published": math.nan, "limit": 1.0}, "agrees"),
    ],
)
def test_the_verdict_follows_from_the_basis(value: float, error: float | None, more: dict, expected: str) -> None:
    assert verdict(value, error, **more) == (expected, True)


@pytest.mark.parametrize(
    "value, error, more",
    [
        (2.261, None, {"basis": "identity"}),
        (2.2699, None, {"basis": "formula"}),
        (2.0, None, {"basis": "contradiction", "relation": "at most", "limit": 2.256}),  # it may be rounded to 2.26
        (2.0, None, {"basis": "contradiction", "relation": "at least", "limit": 2.264}),
        (2.0, 0.1, {"basis": "false", "relation": "at most", "limit": 1.71}),
        (2.0, 0.1, {"basis": "false", "relation": "at least", "limit": 2.29}),
    ],
)
def test_evidence_that_does_not_carry_its_basis_is_out_of_order(value: float, error: float | None, more: dict) -> None:
    said, ok = verdict(value, error, **more)
    assert said.endswith("NOT SHOWN") and not ok


def test_what_was_verified_guards_the_value_and_the_verdict() -> None:
    verified = {"expected": 2.2601, "expected_unit": 0.0001}
    assert verdict(2.26019, **verified) == ("agrees", True)
    assert verdict(2.2603, **verified)[0] == "agrees, MISSES EXPECTED 2.2601"
    assert verdict(2.27, 0.003, basis="surrogate", **verified)[1]  # 3.3 of our standard errors
    assert not verdict(2.28, 0.003, basis="surrogate", **verified)[1]  # 6.6 of them
    assert verdict(2.2655, expected=2.264, expected_unit=0.01) == ("differs, EXPECTED AGREES", False)


@pytest.mark.parametrize(
    "text, unit", [("4.690", 1e-3), ("45.39", 1e-2), ("6", 1), ("3e-6", 1e-6), ("1.3e-4", 1e-5), ("0.50", 0.01)]
)
def test_the_unit_of_the_last_printed_digit(text: str, unit: float) -> None:
    assert ledger._unit(text) == pytest.approx(unit)
    assert math.isnan(ledger._unit("")) and math.isnan(ledger._unit("falls"))


def test_every_row_has_what_its_rule_needs() -> None:
    rows = ledger.published()
    _, rules = (paths.data() / "README.md").read_text(encoding="utf-8").split("| basis | the word, and its rule |")
    assert set(rows["basis"]) <= set(re.findall(r"^\| `(\w+)` \|", rules, re.M))
    assert set(rows["relation"]) <= {"", "cut", "at most", "at least"}
    assert set(rows["paper"]) == set(ledger.papers().index)
    for row in rows.itertuples():
        direction = row.printed in ("falls", "rises")
        limited = (
            row.basis in ("reading", "standin") and row.relation and math.isfinite(row.limit)
        )  # words, read as a limit
        assert math.isfinite(row.published) or row.basis in ("false", "missing", "choice") or direction or limited, (
            row.Index
        )
        assert direction if row.basis == "qualitative" else not direction or row.basis in ("reading", "standin"), (
            row.Index
        )
        assert math.isfinite(row.limit) == (row.basis in ("contradiction", "false") or bool(limited)), row.Index
        assert row.basis not in ("reading", "standin") or " if " in row.sentence, row.Index
        assert row.sentence.endswith(".") and row.sentence.count(". ") <= 1, "one or two sentences"
        assert row.sent in ("", "no", "yes")
        assert row.relation != "cut" or row.basis == "reading", row.Index
        assert math.isfinite(row.expected) or row.basis in ("speed", "missing"), row.Index
        assert math.isnan(row.draws) == math.isnan(row.deviation), row.Index


def test_no_draw_of_ours_can_turn_a_verdict() -> None:
    table = ledger.report()
    for id, row in table[table["standard_error"] > 0].iterrows():
        for value in np.linspace(-1, 1, 41) * ledger._alarm() * row["standard_error"] + row["reproduced"]:
            said, _ = ledger._verdict(row, value, row["standard_error"])
            assert said == row["verdict"], (id, value)


def test_the_family_of_rows_and_seeds_has_one_small_chance_of_a_false_alarm() -> None:
    rare = 2 * (1 - NormalDist().cdf(ledger._alarm()))
    assert 0.9e-3 < rare * len(ledger.published()) * 20 <= 1.0001e-3


@functools.cache
def headings(name: str) -> list[str]:
    """Return the fragments under which Jupyter finds the headings of a notebook."""
    cells = nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [ledger.anchor(heading) for heading in re.findall(r"^#+ +(.+?) *$", prose, flags=re.MULTILINE)]


@pytest.mark.parametrize("row", list(ledger.published().itertuples()), ids=lambda row: row.Index)
def test_every_row_leads_to_one_heading_of_its_notebook(row: Any) -> None:
    file, _, fragment = ledger.evidence(row).partition("#")
    assert headings(file.removesuffix(".ipynb")).count(fragment) == 1
    assert re.fullmatch(r"[\w,:?.'-]+", fragment), "as it is within a link of Markdown and of HTML"


@pytest.mark.parametrize("name", paths.notebook_names())
def test_every_link_between_headings_leads_to_one(name: str) -> None:
    text = (paths.notebooks() / f"{name}.ipynb").read_text(encoding="utf-8")
    links = re.findall(r"\]\((\w*)(?:\.ipynb)?#([^)\s]+)\)", text)
    for other, fragment in links:
        assert headings(other or name).count(fragment) == 1, (other, fragment)
    assert not re.search(r'<a id=|\{eq\}|"\([\w-]+\)=', text), "plain Jupyter shows these raw, or drops them"


def test_a_correction_is_told_to_be_sent_and_nothing_else_is() -> None:
    table = ledger.report()
    assert (table.loc[table["verdict"] == "contradicted", "sent"] != "").all()
    assert set(table.loc[table["sent"] != "", "verdict"]) <= {"contradicted", "differs"}


@pytest.mark.parametrize("paper", list(ledger.papers().index))
def test_the_scoreboard_says_what_the_report_says_and_leads_to_headings(paper: str) -> None:
    text = ledger.scoreboard(paper).to_html()
    table = ledger.report().query("paper == @paper")
    board = table.query("basis not in ['speed', 'identity']")
    for row in board.itertuples():
        assert f">{row.verdict}</a>" in text
    assert {html.unescape(place) for place in re.findall('href="#([^"]+)"', text)} == {
        ledger.anchor(section) for section in board["section"]
    }
    assert f"<br>{ledger.by_paper(table).loc[paper, 'verdict']}.<br>" in text and ledger.RULE in text
    for sentence in table.query("basis in ['speed', 'identity']")["sentence"]:
        assert sentence not in text


def test_rows_that_share_a_sentence_share_a_line_and_recorded_values_fill_it() -> None:
    rows = pd.concat([row(section="A")] * 3).set_axis(["a", "b", "c"])
    values = recorded({"a": 2.26, "b": 2.3, "c": 2.5})
    board = ledger._board(ledger.judge(rows.assign(sentence="{found} of {limit:.1%}.", limit=0.5), values)).to_html()
    assert "2.26 of 50.0 %." in board and "2.3 of 50.0 %." in board
    board = ledger._board(ledger.judge(rows.assign(sentence="Elsewhere.", basis="surrogate"), values)).to_html()
    assert board.count("Elsewhere.") == 1 and "2.26 to 2.5" in board
    two = ledger._board(ledger.judge(rows[:2].assign(sentence="Elsewhere.", basis="surrogate"), values)).to_html()
    assert "2.26; 2.3" in two
    assert f"{ledger._Found(0.026):.1%} {ledger._Found(-50.0)} {ledger._Found(0.012345)}" == "2.6 % -50 0.01235"
    assert f"{ledger._Found(-0.762):by.2f}, {ledger._Found(3.0):by}" == "falls by 0.76, rises by 3"


def test_a_line_leads_to_a_heading_with_an_apostrophe() -> None:
    board = ledger._board(ledger.judge(row(section="Laplace's noise"), recorded({row().index[0]: 2.26}))).to_html()
    (place,) = re.findall('href="#([^"]+)"', board)
    assert html.unescape(place) == "Laplace's-noise"


def test_the_verdict_of_a_paper_follows_from_its_rows() -> None:
    rows = pd.concat([row(), row()]).set_axis(["a", "b"])

    def said(*values: float, **more: object) -> str:
        found = ledger.judge(rows.assign(**more), recorded(dict(zip("ab", values))))
        return str(ledger.by_paper(found)["verdict"].item())

    assert said(2.26, 2.26) == "agrees: Section 6.1"
    assert said(2.26, 2.3) == "agrees: Section 6.1 (1 of 2); differs: Section 6.1 (1 of 2)"
    half = "Section 6.1 (1 of 2)"
    assert said(2.26, 2.26, basis=["standin", "surrogate"]) == f"agrees on stand-ins: {half}; not tested: {half}"
    assert said(2.3, 2.3, basis=["standin", "formula"]) == f"contradicted: {half}; not tested: {half}"
    assert said(2.26, 2.3, basis=["rounding", "identity"], where=["A", "B"]) == "agrees: A"


def test_the_report_leads_from_each_row_to_its_evidence() -> None:
    table = ledger.report()
    places = [ledger.evidence(row) for row in table.itertuples()]
    assert re.findall(r"\]\(there/([^)]+)\)", ledger.markdown(table, "there")) == places


def results(folder: Path, values: dict[str, float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    recorded(values).to_json(folder / "results.json", orient="index", double_precision=15)


def fleischer(toy: Path, values: dict[str, float]) -> pd.DataFrame:
    results(toy / "figures" / "boltzmann_histograms", values)
    return ledger.report().query("paper == 'fleischer2024'")


def test_a_row_in_order_a_miss_and_an_unrecorded_row(toy: Path) -> None:
    table = fleischer(toy, {"fleischer2024.space.6": 6.0, "fleischer2024.space.316251": 316250.0})
    assert list(table.index[table["ok"]]) == ["fleischer2024.space.6"]
    assert "NOT SHOWN" in table.loc["fleischer2024.space.316251", "verdict"]
    assert table.loc["fleischer2024.invariant", "verdict"] == "not recorded"


def test_the_report_fails_on_a_row_out_of_order_and_passes_when_all_agree(toy: Path) -> None:
    fleischer(toy, {"fleischer2024.space.6": 6.0, "fleischer2024.space.316251": 316250.0})
    runner = CliRunner()
    assert runner.invoke(main, ["report"]).exit_code == 1
    for paper, rows in ledger.published().dropna(subset="expected").groupby("paper"):
        results(toy / "figures" / ledger.papers().loc[paper, "notebook"], rows["expected"].to_dict())
    shown = runner.invoke(main, ["report"])
    assert shown.exit_code == 0, shown.output
    assert "316251" in (toy / "figures" / "REPORT.md").read_text()


def test_the_readme_gets_a_verdict_a_paper(toy: Path) -> None:
    fleischer(toy, {"fleischer2024.space.6": 6.0, "fleischer2024.cold": 0.5})
    text = ledger.summary(ledger.report(), "notebooks")
    assert "machine mechanism | agrees on stand-ins: Simulated annealing | 1 | 0 | 0 | 0 |" in text


def test_seconds_are_shown_alike_with_and_without_a_run_of_this_machine() -> None:
    rows = ledger.published().loc[["gohari2020.time.base"]]
    without, measured = (ledger.judge(rows, recorded(values)) for values in ({}, {"gohari2020.time.base": 1.0}))
    assert ledger.markdown(without) == ledger.markdown(measured) and without["ok"].all()


def test_record_refuses_unknown_rows_and_values_that_are_not_finite(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="row must be an id"):
        ledger.record("nobody2026.x", 1.0)
    with pytest.raises(ValueError, match="value of fallin2023"):
        ledger.record("fallin2023.eps.k9", math.nan, output=str(tmp_path))
    assert not list(tmp_path.iterdir())
    ledger.record("fallin2023.eps.k9", 1.1678000001234, standard_error=0.1, output=str(tmp_path))
    ledger.record("gohari2020.time.base", 2.0, output=str(tmp_path))
    held = {"fallin2023.eps.k9": {"value": 1.1678, "standard_error": 0.1}}
    assert json.loads((tmp_path / "results.json").read_text()) == held, "six digits"
    assert set(json.loads((tmp_path / "timings.json").read_text())) == {"gohari2020.time.base"}
    assert set(ledger.results(tmp_path).index) == {"fallin2023.eps.k9", "gohari2020.time.base"}


def test_figures_are_the_same_bytes_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures.style()
    fig, ax = plt.subplots(figsize=figures.size(2, 2))
    ax.plot([0, 1], [0, 1 / 3])
    table = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1 / 3]})
    figures.save(fig, "fig1_line", table, "")
    assert not list(tmp_path.iterdir())
    for folder in ("a", "b"):
        figures.save(fig, "fig1_line", table, str(tmp_path / folder))
        names = sorted(p.name for p in (tmp_path / folder).iterdir())
        assert names == ["fig1_line.csv", "fig1_line.png"]
        monkeypatch.setenv("PDF", "1")
        figures.save(fig, "fig1_line", table, str(tmp_path / folder))
        monkeypatch.delenv("PDF")
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == ["fig1_line.csv", "fig1_line.pdf", "fig1_line.png"]
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)
    assert (tmp_path / "a" / "fig1_line.csv").read_text() == "x,y\n0,0\n1,0.333333\n"
    with pytest.raises(ValueError, match="name must be"):
        figures.save(fig, "Fig 1", table, str(tmp_path))
    with pytest.raises(ValueError, match="columns must be"):
        figures.size(3, 2)


def drawn_figure() -> Figure:
    """Return a figure with what its layout has to make room for."""
    figures.style()
    fig, (left, right) = plt.subplots(1, 2, figsize=figures.size(2, 2))
    left.plot([0, 1], [1, 1e4])
    left.set(yscale="log", ylabel=r"$\epsilon$ of a release")
    right.legend(right.plot([0, 1], [0, 1]), ["a line"], loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def startups() -> Figure:
    """Return a figure whose arrows are placed by boxes of text."""
    figures.style()
    fig, ax = plt.subplots(figsize=figures.size(2, 3.3))
    ends = dict.fromkeys(mdp.STARTUP_STATES, 2.0)
    figures.draw_startups(ax, np.ones(4), np.full(4, 0.5), np.full((4, 2, 2), 0.5), ends)
    return fig


@pytest.mark.parametrize("draw", [drawn_figure, startups])
def test_saved_as_savefig(draw: Callable[[], Figure], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDF", "1")
    figures.save(draw(), "fig1_line", pd.DataFrame({"x": [0.0]}), str(tmp_path))
    other = draw()
    other.savefig(tmp_path / "other.png", metadata={"Software": None})
    other.set_layout_engine("none")
    other.savefig(tmp_path / "other.pdf", metadata={"CreationDate": None}, dpi=200)
    for ending in ("png", "pdf"):
        assert (tmp_path / f"fig1_line.{ending}").read_bytes() == (tmp_path / f"other.{ending}").read_bytes()


def test_a_figure_without_the_house_style_is_saved_and_stays_as_it_is(tmp_path: Path) -> None:
    with plt.rc_context({"savefig.dpi": "figure"}):
        fig = plt.figure(dpi=50, figsize=(2, 1))
        canvas = fig.canvas
        figures.save(fig, "fig1_empty", pd.DataFrame({"x": [0.0]}), str(tmp_path))
    with Image.open(tmp_path / "fig1_empty.png") as saved:
        assert saved.size == (100, 50)
    assert fig.canvas is canvas and fig.dpi == 50
    plt.close(fig)


def test_a_page_shows_the_saved_picture_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(house_style, "get_ipython", lambda: "a kernel")
    monkeypatch.setattr(house_style, "display", shown.append)
    fig, table = drawn_figure(), pd.DataFrame({"x": [0.0]})
    figures.save(fig, "fig1_line", table, "")
    assert not shown and plt.fignum_exists(fig.number)  # not written: the page draws it
    figures.save(fig, "fig1_line", table, str(tmp_path))
    with Image.open(tmp_path / "fig1_line.png") as saved:
        assert saved.size == (1440, 400) and [picture.size for picture in shown] == [(720, 200)]
    assert not plt.fignum_exists(fig.number)


def test_a_chart_that_moves_has_one_still_picture_half_as_large_in_the_page(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": [0.0, 1.0]})
    encoding = {"x": {"field": "x", "type": "quantitative"}}
    data = {"values": table.to_dict("records")}
    moving = explore.Moving({"data": data, "mark": "point", "encoding": encoding}, "Two points.")
    figures.save_moving(moving, "fig1_points", table, str(tmp_path))
    still = moving._repr_mimebundle_()[0]["image/png"]
    with Image.open(tmp_path / "fig1_points.png") as saved, Image.open(io.BytesIO(still)) as small:
        assert [-(-side // 2) for side in saved.size] == list(small.size)
