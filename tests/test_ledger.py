"""The ledger's verdicts, and the look and the files of figures."""

import functools
import html
import io
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbclient
import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image
from toy_project import notebook

from dpsim import figures, ledger, paths, runner
from dpsim.cli import main
from dpsim.figures import explore, saving
from dpsim.ledger import display as display_of
from dpsim.ledger import recording
from dpsim.ledger import rows as rows_of
from dpsim.ledger import table_formats as tables_of
from dpsim.ledger import verdicts as words_of


def row(**more: object) -> pd.DataFrame:
    """Return one row of the ledger, a value read from the paper's own inputs, with what
    is given changed."""
    numbers = {
        "published": 2.26,
        "published_unit": 0.01,
        "expected": math.nan,
        "limit": math.nan,
        "relation": "",
    }
    base = ledger.published().loc[["benvenuti2026.fig1.eps_min"]]
    return base.assign(
        **{**numbers, "printed": "2.26", "claim": "value", "inputs": "paper", **more}
    )


def recorded(values: dict[str, float], error: float = math.nan) -> pd.DataFrame:
    """Return values by id as `ledger.results` does."""
    return pd.DataFrame(
        {"value": values, "standard_error": dict.fromkeys(values, error)}, dtype=float
    )


def judged(value: float, error: float = math.nan, **more: object) -> pd.Series:
    """Return such a row with its verdict."""
    rows = row(**{"expected": value, "expected_unit": 1.0, **more})
    return ledger.judge(rows, recorded({rows.index[0]: value}, error)).iloc[0]


DRAWN = {"draws": 100, "deviation": 0.1}
"""The paper found its number by drawing, with a standard error of 0.01."""
MOST = {"claim": "bound", "relation": "at most"}
LEAST = {"claim": "bound", "relation": "at least"}
SAYS = {
    "claim": "statement",
    "published": math.nan,
    "printed": "",
    "relation": "at most",
    "limit": 1.0,
}
EQUAL = {**SAYS, "relation": "equal to", "limit": 0.5, "limit_unit": 0.01}
FALLS = {"claim": "trend", "published": math.nan, "printed": "falls"}
THEOREM = {"relation": "at most", "limit": 2.25}


@pytest.mark.parametrize(
    "value, error, more, expected",
    [
        # a value: half a unit of the last digit, and three standard errors of the paper
        # and of ours
        (2.265, math.nan, {}, "agrees: value"),
        (2.2651, math.nan, {}, "differs: value"),
        (2.255, math.nan, {}, "agrees: value"),
        (2.2549, math.nan, {}, "differs: value"),
        (2.294, math.nan, DRAWN, "agrees: value"),
        (2.296, math.nan, DRAWN, "differs: value"),
        (2.301, 0.01, DRAWN, "agrees: value"),  # 0.005 + 3 * 0.01 * sqrt(2)
        (2.309, 0.01, DRAWN, "differs: value"),
        (2.2651, math.nan, {"inputs": "any"}, "contradicted: value"),
        (2.26, math.nan, {"inputs": "example"}, "not tested: value"),
        # a bound, with the same slack
        (2.2651, math.nan, MOST, "differs: bound"),
        (2.2651, 0.001, MOST, "agrees: bound"),
        (1.0, math.nan, MOST, "agrees: bound"),
        (1.0, math.nan, LEAST, "differs: bound"),
        (1.0, math.nan, LEAST | {"inputs": "any"}, "contradicted: bound"),
        (1.0, math.nan, LEAST | {"inputs": "example"}, "not tested: bound"),
        (1.0, math.nan, MOST | {"inputs": "example"}, "agrees: bound, on an example"),
        # a trend
        (-0.1, math.nan, FALLS, "agrees: trend"),
        (0.0, math.nan, FALLS, "differs: trend"),
        (0.1, math.nan, FALLS | {"printed": "rises"}, "agrees: trend"),
        (0.1, math.nan, FALLS | {"inputs": "example"}, "not tested: trend"),
        # a statement, tested as a limit on a number; a counterexample is beyond it by
        # three standard errors
        (1.0, math.nan, SAYS, "agrees: statement"),
        (1.001, math.nan, SAYS, "differs: statement"),
        (1.001, math.nan, SAYS | {"inputs": "any"}, "contradicted: statement"),
        (1.0029, 0.001, SAYS | {"inputs": "any"}, "agrees: statement"),
        (1.0031, 0.001, SAYS | {"inputs": "any"}, "contradicted: statement"),
        (1.001, math.nan, SAYS | {"inputs": "example"}, "not tested: statement"),
        (
            1.0,
            math.nan,
            SAYS | {"inputs": "example"},
            "agrees: statement, on an example",
        ),
        (0.495, math.nan, EQUAL, "agrees: statement"),
        (0.494, math.nan, EQUAL, "differs: statement"),
        # a slip
        (2.27, math.nan, {"claim": "slip"}, "slip"),
        (2.26, math.nan, {"claim": "slip"}, "agrees"),
        (2.27, math.nan, {"claim": "slip", "inputs": "lost"}, "not tested"),
        # a limit for a printed value decides before our own number, unless our copy may
        # have lost something
        (2.0, math.nan, {"inputs": "chosen"} | THEOREM, "contradicted: value"),
        (
            2.0,
            math.nan,
            {"inputs": "chosen", "relation": "at most", "limit": 2.256},
            "not tested: value",
        ),
        (
            2.0,
            math.nan,
            {"inputs": "chosen", "relation": "at least", "limit": 2.264},
            "not tested: value",
        ),
        (
            2.0,
            math.nan,
            {"inputs": "chosen", "relation": "equal to", "limit": 2.28},
            "contradicted: value",
        ),
        (
            2.26,
            math.nan,
            {"relation": "at least", "limit": 2.27},
            "contradicted: value",
        ),
        (
            2.0,
            math.nan,
            {"inputs": "chosen"} | DRAWN | THEOREM,
            "not tested: value",
        ),  # 0.005 + 3 * 0.01 below 2.26
        (
            2.0,
            math.nan,
            {"inputs": "chosen"} | DRAWN | THEOREM | {"limit": 2.224},
            "contradicted: value",
        ),
        (2.0, math.nan, {"inputs": "lost"} | THEOREM, "not tested: value"),
        (2.26, math.nan, {"inputs": "lost"}, "not tested: value"),
        (2.26, math.nan, {"inputs": "chosen"}, "not tested: value"),
        (2.0, math.nan, {"inputs": "none"} | THEOREM, "not judged"),
    ],
)
def test_the_word_follows_from_the_claim_and_the_inputs(
    value: float, error: float, more: dict, expected: str
) -> None:
    found = judged(value, error, **more)
    assert (found["shown"], found["ok"]) == (expected, True)


def test_what_was_verified_guards_the_value_and_the_verdict() -> None:
    verified = {"expected": 2.2601, "expected_unit": 0.0001}
    assert judged(2.26019, **verified)["shown"] == "agrees: value"
    assert judged(2.2603, **verified)["verdict"] == "agrees, MISSES EXPECTED 2.2601"
    assert (
        judged(2.2603, **verified)["shown"] == "agrees: value, MISSES EXPECTED 2.2601"
    )
    assert judged(2.27, 0.003, inputs="chosen", **verified)[
        "ok"
    ]  # 3.3 of our standard errors
    assert not judged(2.28, 0.003, inputs="chosen", **verified)["ok"]  # 6.6 of them
    other = judged(2.2655, expected=2.264, expected_unit=0.01)
    assert (other["verdict"], other["ok"]) == ("differs, EXPECTED AGREES", False)
    rows = row(expected=3.0, expected_unit=0.1)
    found = ledger.judge(rows, recorded({rows.index[0]: 2.26}), default=False).iloc[0]
    assert (found["shown"], found["ok"]) == ("agrees: value", True), (
        "expected says what default runs find"
    )


@pytest.mark.parametrize(
    "text, unit",
    [
        ("4.690", 1e-3),
        ("45.39", 1e-2),
        ("6", 1),
        ("3e-6", 1e-6),
        ("1.3e-4", 1e-5),
        ("0.50", 0.01),
    ],
)
def test_the_unit_of_the_last_printed_digit(toy: Path, text: str, unit: float) -> None:
    edited(toy, "benvenuti2026.fig1.eps_min", "published", text)
    rows = ledger.published()
    assert rows.loc["benvenuti2026.fig1.eps_min", "published_unit"] == pytest.approx(
        unit
    )
    no_number = rows[rows["claim"].isin(["statement", "trend"])]
    assert len(no_number) and no_number["published_unit"].isna().all()


MISTAKES = [
    (
        "claim",
        "rounded",
        "must be value or bound or trend or statement or slip, got 'rounded'",
    ),
    ("paper", "andres2031", "must be benvenuti2026 or fallin2023"),
    ("sent", "maybe", "must be no or yes, got 'maybe'"),
    ("published", "2,26", "must be a number for a bound, got '2,26'"),
    ("published", "", "must be a number for a bound, got ''"),
    ("limit", "2", "must be empty for a bound"),
    ("expected", "", "must be the value that was verified here"),
    ("expected", "nan", "must be a number"),
    ("draws", "0", "column draws: must be at least 1, got '0'"),
    ("draws", "-5", "column draws: must be at least 1, got '-5'"),
    ("deviation", "-1", "column deviation: must be at least 0, got '-1'"),
    (
        "sentence",
        "It is {fuond}.",
        "column sentence: must hold only {found} and {limit} in braces",
    ),
    (
        "sentence",
        "It is {found:.2q}.",
        "column sentence: must hold only {found} and {limit} in braces",
    ),
    (
        "sentence",
        "It is {.",
        "column sentence: must hold only {found} and {limit} in braces",
    ),
    (
        "sentence",
        "It is {}.",
        "column sentence: must hold only {found} and {limit} in braces",
    ),
    ("draws", "2000", "column deviation: must be given together with draws"),
    ("relation", "equal to", "must be at most or at least for a bound"),
    ("section", " ", "must be a text, got ' '"),
    ("id", "benvenuti2026.theorem1", "is the id of a row above"),
    ("id", "fig1.eps_min", "must begin with the paper and a dot"),
    ("claim", "statement", "column published: must be empty for a statement"),
    ("claim", "trend", "column published: must be falls or rises for a trend"),
    ("claim", "slip", "column relation: must be empty for a slip"),
    ("claim", "value", "column limit: must be given together with relation"),
]


def edited(toy: Path, id: str, column: str, text: str) -> None:
    """Change a field of the toy project's data/published.csv."""
    path = toy / "data" / "published.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.loc[table["id"] == id, column] = text
    table.to_csv(path, index=False)


@pytest.mark.parametrize("column, text, message", MISTAKES)
def test_a_mistake_in_the_table_is_refused_with_its_file_row_and_column(
    toy: Path, column: str, text: str, message: str
) -> None:
    id = "benvenuti2026.fig1.eps_min"
    edited(toy, id, column, text)
    with pytest.raises(ValueError) as refused:
        ledger.published()
    said = str(refused.value)
    assert "published.csv, row " in said and "(line " in said and message in said, said
    assert f"column {column}: " in said or message.startswith("column ")
    assert id in said or column == "id"


def test_a_stray_comma_a_lost_quote_and_another_header_name_the_file(toy: Path) -> None:
    path = toy / "data" / "published.csv"
    text = path.read_text(encoding="utf-8")
    quoted = 'fallin2023.theorem1,fallin2023,Theorem 1,"'
    for old, new, message in (
        (
            "fallin2023.fig2.max,",
            "fallin2023.fig2.max,,",
            "row fallin2023.fig2.max (line ",
        ),
        (quoted, quoted[:-1], "columns instead of"),
        ("claim,inputs", "basis", "the columns must be id,paper,where"),
    ):
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(ValueError, match=re.escape(message)) as refused:
            ledger.published()
        assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "id,notebook\n", "id,notebook,reference,address,answer\na,b\n"]
)
def test_papers_that_cannot_be_read_are_refused_by_name(toy: Path, text: str) -> None:
    (toy / "data" / "papers.csv").write_text(text)
    with pytest.raises(
        ValueError,
        match=(
            r"papers\.csv(: the columns must be id,notebook|, row a \(line 2\): 2 "
            r"columns instead)"
        ),
    ):
        ledger.papers()


def test_a_mistake_in_the_rows_of_another_paper_does_not_stop_a_run(toy: Path) -> None:
    edited(toy, "gohari2020.close", "claim", "rounded")
    ledger.record("fallin2023.eps.k9", 1.16, output=str(toy / "out"))
    assert ledger.scoreboard("fallin2023") is not None
    with pytest.raises(ValueError, match="column claim"):
        ledger.record("gohari2020.lemma4", 1.0)


def test_the_table_is_read_once(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(toy / "data" / "published.csv", ns=(1, 1))
    opened: list[str] = []
    usual = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, *_, **of: opened.append(path.name) or usual(path, *_, **of),
    )
    ledger.markdown(ledger.judged_claims(), "there")
    assert opened.count("published.csv") == 1


def test_every_row_has_what_the_rule_explains() -> None:
    rows = ledger.published()
    text = (paths.data() / "LEDGER.md").read_text(encoding="utf-8")
    for column, allowed in rows_of.COLUMNS.items():
        words = set(allowed) - {"", rows_of.NUMBER, rows_of.TEXT}
        assert not [word for word in (column, *words) if f"`{word}`" not in text], (
            column
        )
    lines = [
        line
        for line in text.splitlines()
        if re.match(r"\| `(claim|inputs)` \| `\w+` \|", line)
    ]
    shown = [
        re.findall(r"`([^`]+)`", line)[:2] + re.findall(r"`(\w+\.[\w.]+)`", line)[:1]
        for line in lines
    ]
    assert [each[1] for each in shown if each[0] == "claim"] == [
        "slip",
        "trend",
        "bound",
        "value",
        "statement",
    ]
    order = ["none", "lost", "chosen", "any", "paper", "example"]
    assert [each[1] for each in shown if each[0] == "inputs"] == order
    assert re.findall(r"^\d\. \*\*(?:.*?)`(\w+)`", text, re.M | re.S)[:6] == order, (
        "the six questions"
    )
    assert set(order) == set(rows_of.COLUMNS["inputs"])
    for column, choice, id in shown:
        assert rows.loc[id, column] == choice, (id, "is no example of it any more")
    assert set(rows["paper"]) == set(ledger.papers().index)
    for row in rows.itertuples():
        assert row.sentence.endswith(".") and row.sentence.count(". ") <= 1, (
            row.Index,
            "one or two sentences",
        )


def test_no_draw_of_ours_can_turn_a_verdict() -> None:
    """A sampled row lies so far from the edge of its word that no seed carries it
    across: see data/LEDGER.md."""
    table = ledger.judged_claims()
    alarm = words_of.most_standard_errors(len(table))
    for id, row in table[table["standard_error"] > 0].iterrows():
        for value in (
            np.linspace(-1, 1, 41) * alarm * row["standard_error"] + row["reproduced"]
        ):
            assert (
                ledger.verdict(row, value, row["standard_error"]) == row["verdict"]
            ), (id, value, "take more draws")


@functools.cache
def headings(name: str) -> list[str]:
    """Return the fragments under which Jupyter finds the headings of a notebook."""
    cells = nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [
        display_of.anchor(heading)
        for heading in re.findall(r"^#+ +(.+?) *$", prose, flags=re.MULTILINE)
    ]


@pytest.mark.parametrize(
    "row", list(ledger.published().itertuples()), ids=lambda row: row.Index
)
def test_every_row_leads_to_one_heading_of_its_notebook(row: Any) -> None:
    fragment = display_of.anchor(row.section)
    assert headings(ledger.papers().loc[row.paper, "notebook"]).count(fragment) == 1
    assert re.fullmatch(r"[\w,:?.'-]+", fragment), (
        "as it is within a link of Markdown and of HTML"
    )


@pytest.mark.parametrize("name", paths.notebook_names())
def test_every_link_between_headings_leads_to_one(name: str) -> None:
    text = (paths.notebooks() / f"{name}.ipynb").read_text(encoding="utf-8")
    links = re.findall(r"\]\((\w*)(?:\.ipynb)?#([^)\s]+)\)", text)
    for other, fragment in links:
        assert headings(other or name).count(fragment) == 1, (other, fragment)
    assert not re.search(r'<a id=|\{eq\}|"\([\w-]+\)=', text), (
        "plain Jupyter shows these raw, or drops them"
    )


def test_a_correction_is_told_to_be_sent_and_nothing_else_is() -> None:
    table = ledger.judged_claims()
    assert (
        table.loc[table["verdict"].isin(["contradicted", "slip"]), "sent"] != ""
    ).all()
    assert set(table.loc[table["sent"] != "", "verdict"]) <= {
        "contradicted",
        "slip",
        "differs",
    }


@pytest.fixture(autouse=True)
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin like a process that has recorded and shown nothing."""
    monkeypatch.setattr(recording, "recorded", {})
    monkeypatch.setattr(recording, "shown", set())
    recording.usual_parameters.cache_clear()


@pytest.mark.parametrize("paper", list(ledger.papers().index))
def test_the_scoreboard_says_what_the_report_says_and_leads_to_headings(
    paper: str,
) -> None:
    table = ledger.judged_claims().query("paper == @paper")
    board = table.query("inputs != 'none'")
    for row in table.dropna(subset="reproduced").itertuples():
        error = None if math.isnan(row.standard_error) else row.standard_error
        ledger.record(row.Index, row.reproduced, standard_error=error)
    text = ledger.scoreboard(paper).to_html()
    assert display_of.GREY not in text, "this run has recorded every row"
    for row in board.itertuples():
        assert f">{row.shown}<" in text or f">{row.shown}.<br>" in text
        told = html.escape(row.sentence.replace("`", ""), quote=False)
        assert (told in re.sub("</?code>", "", text)) == (
            row.verdict in display_of.FAILING
        ), row.Index
    assert {html.unescape(place) for place in re.findall('href="#([^"]+)"', text)} == {
        display_of.anchor(section) for section in board["section"]
    }
    assert text.count('href="../figures/REPORT.md"') == 1
    assert f"Of the paper's {len(board)} claims, " in text
    for sentence in table.query("inputs == 'none'")["sentence"]:
        assert sentence not in text


STYLED = re.compile(r"<(th|td|caption)\b([^>]*)>")


@pytest.mark.parametrize("paper", list(ledger.papers().index))
def test_a_notebook_that_is_not_trusted_keeps_the_alignment(paper: str) -> None:
    """JupyterLab drops style sheets and ids there, but keeps the style of an
    element."""
    text = ledger.scoreboard(paper).to_html()
    assert "<style" not in text and " id=" not in text
    cells = STYLED.findall(text)
    assert {name for name, _ in cells} == {"th", "td", "caption"}
    assert {inside.strip() for _, inside in cells} == {f'style="{tables_of.STYLE}"'}
    assert "text-align: left" in tables_of.STYLE


def test_rows_that_share_a_sentence_share_a_line() -> None:
    rows = pd.concat([row(section="Laplace's noise")] * 3).set_axis(["a", "b", "c"])
    values = recorded({"a": 2.26, "b": 2.3, "c": 2.5})

    def board(rows: pd.DataFrame) -> str:
        table = ledger.judge(rows, values, default=False)
        return display_of.board(
            table.assign(recorded=True, template=rows["sentence"]), ""
        )

    said = rows.assign(sentence="It is {found}.")
    assert "It is" not in board(said[:1]), "the reason for what agrees is in the report"
    assert "It is 2.3." in board(said) and "It is 2.5." in board(said)
    assert {
        html.unescape(place) for place in re.findall('href="#([^"]+)"', board(said))
    } == {"Laplace's-noise"}
    chosen = rows.assign(sentence="Elsewhere, {found}.", inputs="chosen")
    assert board(chosen).count("not tested: value") == 1 and "2.26 to 2.5" in board(
        chosen
    )
    assert "2.26; 2.3" in board(chosen[:2]) and "Similar claims share a line" in board(
        chosen
    )
    assert "Similar claims" not in board(chosen[:1])
    Found = words_of.Found
    assert f"{Found(0.026):.1%} {Found(-50.0)} {Found(0.012345)}" == "2.6 % -50 0.01235"
    assert f"{Found(-0.762):by.2f}, {Found(3.0):by}" == "falls by 0.76, rises by 3"


def found_on(text: str, quantity: str) -> str:
    """Return the cell "we find" of a scoreboard's line."""
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith("<tr><td") and quantity in line
    ]
    return re.findall("<td[^>]*>(.*?)</td>", line)[2]


def test_the_scoreboard_shows_what_was_recorded_and_in_grey_what_was_not() -> None:
    quantity = "distance of two stationary distributions"
    board = ledger.scoreboard("fallin2023")
    usual = found_on(board.to_html(), quantity)
    assert usual == f'<span style="{display_of.GREY}">0.49</span>'
    ledger.record("fallin2023.lemma3", 0.75)
    assert found_on(board.to_html(), quantity) == "0.75"
    assert "in grey" in board.to_html()
    ledger.record("fallin2023.lemma3", 1.25)
    assert (
        found_on(board.to_html(), quantity) == "1.25"
        and "not tested" in board.to_html()
    )
    assert (
        "2 of the numbers" not in board.to_html()
        and "1 of the numbers of this run differ" in board.to_html()
    )


LINES = [
    'from dpsim import ledger\nledger.record("fallin2023.theorem3", 0.25)',
    'ledger.scoreboard("fallin2023")',
    'ledger.record("fallin2023.lemma3", scale / 4, output=output)',
]
"""A notebook that records a row, shows the scoreboard, and then records another row."""


def scoreboards(made: nbformat.NotebookNode) -> list[str]:
    """Return the scoreboards among the outputs of a notebook."""
    outputs = [output for cell in made.cells for output in cell.get("outputs", [])]
    return [
        output["data"]["text/html"]
        for output in outputs
        if "we find" in output.get("data", {}).get("text/html", "")
    ]


def check_the_scoreboard(text: str) -> None:
    """Check the scoreboard of LINES with the parameters scale = 2 and seed = 8."""
    assert found_on(text, "distance of two stationary distributions") == "0.5"
    assert (
        found_on(text, "mean error of the stationary distribution as a share") == "0.25"
    )
    assert display_of.GREY in found_on(text, "largest delta of the figure")
    assert "Run with scale = 2.0, seed = 8; all other parameters as usual." in text


def test_papermill_puts_what_is_recorded_below_into_the_scoreboard_above(
    toy: Path,
) -> None:
    path = toy / "notebooks" / "matrix_dirichlet.ipynb"
    notebook(path, *LINES)
    texts = []
    for _ in range(2):
        papermill.execute_notebook(
            path, toy / "made.ipynb", {"scale": 2.0, "seed": 8}, progress_bar=False
        )
        texts += scoreboards(nbformat.read(toy / "made.ipynb", 4))
    check_the_scoreboard(texts[0])
    assert texts == texts[:1] * 2, "and no id differs from run to run"
    client = nbclient.NotebookClient(
        nbformat.read(path, 4), kernel_name="python3"
    )  # as `nbconvert --execute`
    (text,) = scoreboards(client.execute())
    assert (
        found_on(text, "distance of two stationary distributions") == "0.25"
        and "Run with" not in text
    )


def test_a_run_puts_what_is_recorded_below_into_the_scoreboard_above(
    toy: Path,
) -> None:
    notebook(toy / "notebooks" / "matrix_dirichlet.ipynb", *LINES)
    (ran,) = runner.run(
        runner.plan_runs(["matrix_dirichlet"], [("scale", "2"), ("seed", "8")])
    )
    assert ran.status == "done", ran.message
    (made,) = (toy / "build" / "runs" / "matrix_dirichlet").rglob(
        "matrix_dirichlet.ipynb"
    )
    (text,) = scoreboards(nbformat.read(made, 4))
    check_the_scoreboard(text)


def test_a_parameter_that_changes_in_a_session_begins_a_new_run(toy: Path) -> None:
    """JupyterLab: run all, change a parameter, which may be saved, and run all again
    without restarting the kernel."""
    path = toy / "notebooks" / "matrix_dirichlet.ipynb"
    notebook(path, *LINES)
    made = nbformat.read(path, 4)
    saved = (
        f"path = {str(path)!r}\ntext = open(path).read()\nopen(path, "
        "'w').write(text.replace('= 1.0', '= 2.0'))"
    )
    again = (
        'ledger.scoreboard("fallin2023")',
        'ledger.record("fallin2023.lemma3", scale / 4)',
    )
    made.cells += [
        nbformat.v4.new_code_cell(source)
        for source in (f"{saved}\nscale = 2.0", *again)
    ]
    first, second = scoreboards(
        nbclient.NotebookClient(made, kernel_name="python3").execute()
    )
    assert first == second, "both are the same board"
    assert found_on(second, "distance of two stationary distributions") == "0.5"
    assert display_of.GREY in found_on(
        second, "mean error of the stationary distribution as a share"
    )
    assert "Run with scale = 2.0; all other parameters as usual." in second


def test_the_verdict_of_a_paper_counts_its_claims_by_word() -> None:
    rows = pd.concat([row()] * 4).set_axis(list("abcd"))

    def said(*values: float, **more: object) -> str:
        found = ledger.judge(
            rows[: len(values)].assign(**more),
            recorded(dict(zip("abcd", values))),
            default=False,
        )
        return str(ledger.by_paper(found).iloc[0]["verdict"])

    assert said(2.26) == "Of the paper's 1 claim, 1 agrees with our results."
    assert said(2.26, 2.3) == (
        "Of the paper's 2 claims, 1 agrees with our results and 1 differs "
        "(Section 6.1)."
    )
    mixed = said(
        2.3,
        2.26,
        2.26,
        2.3,
        inputs=["any", "example", "chosen", "paper"],
        claim=["value", "bound", "value", "slip"],
        relation=["", "at most", "", ""],
        where=["A", "B", "C", "D"],
    )
    assert mixed == (
        "Of the paper's 4 claims, 1 agrees with our results, 1 is contradicted (A), 1 "
        "is a slip (D), and 1 could not be tested."
    )
    assert said(2.26, 2.26, inputs=["paper", "none"]) == said(2.26)


def test_the_report_links_each_row_to_a_declared_site_and_else_to_the_notebook(
    toy: Path,
) -> None:
    links = re.compile(r"\]\((there/[^)]+|https?:[^)]+)\)")
    rows = ledger.published()
    table = ledger.judge(rows, recorded(rows["expected"].to_dict()))
    notebooks = [
        f"there/{ledger.papers().loc[paper, 'notebook']}.ipynb"
        for paper in table["paper"]
    ]
    assert links.findall(ledger.markdown(table, "there")) == notebooks
    (toy / "pyproject.toml").write_text(
        '[project.urls]\nDocumentation = "https://example.org/dpsim/"\n'
    )
    places = links.findall(ledger.markdown(table, "there"))
    assert len(places) == len(table)
    assert places[0] == "https://example.org/dpsim/notebooks/{}.html#{}".format(
        ledger.papers().loc[table["paper"].iloc[0], "notebook"],
        ledger.site_anchor(table["section"].iloc[0]),
    )


def results(folder: Path, values: dict[str, float], **columns: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    recorded(values).assign(**columns).to_json(
        folder / "results.json", orient="index", double_precision=15
    )


def fleischer(toy: Path, values: dict[str, float]) -> pd.DataFrame:
    results(toy / "figures" / "boltzmann_histograms", values)
    return ledger.judged_claims().query("paper == 'fleischer2024'")


def test_the_report_fails_on_a_row_out_of_order_and_passes_when_all_agree(
    toy: Path,
) -> None:
    table = fleischer(
        toy, {"fleischer2024.space.6": 6.0, "fleischer2024.space.316251": 316253.0}
    )
    assert list(table.index[table["ok"]]) == ["fleischer2024.space.6"]
    assert "MISSES EXPECTED" in table.loc["fleischer2024.space.316251", "verdict"]
    assert table.loc["fleischer2024.invariant", "verdict"] == "not recorded"
    runner = CliRunner()
    assert runner.invoke(main, ["report"]).exit_code == 1
    claims = ledger.published()
    claims["notebook"] = claims["paper"].map(ledger.papers()["notebook"])
    expected = pd.concat([claims, ledger.findings()]).dropna(subset="expected")
    for name, rows in expected.groupby("notebook"):
        results(toy / "figures" / name, rows["expected"].to_dict(), tried=20)
    shown = runner.invoke(main, ["report"])
    assert shown.exit_code == 0, shown.output
    assert "316251" in (toy / "figures" / "REPORT.md").read_text()
    drawing = (
        'figures.save(fig, "fig1_kept", table, output)\nfigures.save_moving(chart, '
        '"fig2_lost", table, output)'
    )
    notebook(toy / "notebooks" / "boltzmann_histograms.ipynb", drawing)
    (toy / "figures" / "boltzmann_histograms" / "fig1_kept.png").touch()
    shown = runner.invoke(main, ["report"])
    assert shown.exit_code == 1 and "fig1_kept" not in shown.output
    assert "fig2_lost.png is missing" in shown.output


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_report_fits_the_terminal_and_says_what_the_paper_says(width: int) -> None:
    table = ledger.judged_claims()
    text = ledger.text(table, width)
    assert max(map(len, text.splitlines())) <= width
    line = next(x for x in text.splitlines() if x.startswith("fig1.kl_max "))
    assert ": 0.103" in line and "0.1024" in line and "agrees" in line
    assert ("agrees: value" in line) == (width >= 100)
    assert len(text.splitlines()) == len(table) + 2 * len(ledger.papers())


def test_a_run_with_other_parameters_is_judged_by_what_it_recorded(toy: Path) -> None:
    folder = toy / "build" / "runs" / "matrix_dirichlet" / "0123456789abcdef"
    runner = CliRunner(env={"COLUMNS": "140"})
    results(folder, {"fallin2023.eps.k9": 1.1, "fallin2023.theorem3": 0.5})
    (folder / "manifest.json").write_text(
        json.dumps({"parameters": {"seed": 8, "b": 0.01}})
    )
    shown = runner.invoke(main, ["report", "--results", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert (
        "with seed = 8, b = 0.01" in shown.output
        and "2 rows (2 claims, which are judged" in shown.output
    )
    assert (
        "agrees: bound" in shown.output
        and "agrees: statement, on an example" in shown.output
    )
    (folder / "manifest.json").write_text(json.dumps({"parameters": {}}))
    shown = runner.invoke(main, ["report", "--results", str(folder)])
    assert (
        shown.exit_code == 1
        and "MISSES EXPECTED" in shown.output
        and "default parameters" in shown.output
    )
    for wrong in (toy / "nowhere", folder.parent):
        shown = runner.invoke(main, ["report", "--results", str(wrong)])
        assert shown.exit_code == 2 and str(wrong) in shown.output
    (folder / "results.json").unlink()
    shown = runner.invoke(main, ["report", "--results", str(folder)])
    assert shown.exit_code == 2 and "recorded no row" in shown.output
    results(folder, {"fallin2023.nobody": 1.0})
    shown = runner.invoke(main, ["report", "--results", str(folder)])
    assert shown.exit_code == 2 and "fallin2023.nobody" in shown.output


def test_the_readme_counts_verdicts_and_leaves_out_those_that_no_claim_has() -> None:
    table = ledger.judged_claims()
    text = ledger.papers_table(table, "notebooks").split("\n\n")[0]
    head, _, *lines = text.splitlines()
    words = [word for word in words_of.VERDICTS if (table["verdict"] == word).any()]
    assert head.endswith(f" | values | {' | '.join(words)} |")
    assert len(lines) == len(ledger.papers())
    about = [line.split(" | ")[1] for line in lines]
    assert all(about) and "](#" not in text  # a link within a notebook leads nowhere
    first = table[table["paper"] == ledger.papers().index[0]]
    counted = [str((first["verdict"] == word).sum()) for word in words]
    assert lines[0].endswith(f" | {' | '.join(counted)} |")
    none = ledger.papers_table(
        ledger.judge(row(), recorded({"benvenuti2026.fig1.eps_min": 2.26}))
    )
    assert none.splitlines()[0].endswith(" | values | agrees |")
    assert " | 1 / 1 / 1 | 1 |" in none.splitlines()[2]


def test_the_report_opens_with_the_picture_explains_the_words_once_and_prints_an_answer(
    toy: Path,
) -> None:
    path = toy / "data" / "papers.csv"
    path.write_text(
        re.sub(
            r"(,https://arxiv.org/abs/2602\S*?),$",
            r'\1,"They agree, with thanks."',
            path.read_text(),
            flags=re.M,
        )
    )
    assert CliRunner().invoke(main, ["report"]).exit_code == 1, "nothing has been run"
    text = (toy / "figures" / "REPORT.md").read_text(encoding="utf-8")
    assert (
        text.index("](00_overview/fig3_numbers.png)")
        < text.index("## What the words mean")
        < text.index("###")
    )
    for word in {*words_of.VERDICTS, *ledger.CLAIMS}:
        assert text.count(f"\n| `{word}` | ") == 1
    assert (
        text.count("**The authors' answer.** They agree, with thanks.\n\n| where |")
        == 1
    )


def test_seconds_are_shown_alike_with_and_without_a_run_of_this_machine() -> None:
    rows = ledger.published().loc[["gohari2020.time.base"]]
    without, measured = (
        ledger.judge(rows, recorded(values))
        for values in ({}, {"gohari2020.time.base": 1.0})
    )
    assert ledger.markdown(without) == ledger.markdown(measured) and without["ok"].all()


def test_record_refuses_unknown_rows_and_values_that_are_not_finite(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match="row must be an id"):
        ledger.record("nobody2026.x", 1.0)
    with pytest.raises(ValueError, match="value of fallin2023"):
        ledger.record("fallin2023.eps.k9", math.nan, output=str(tmp_path))
    assert not list(tmp_path.iterdir())
    ledger.record(
        "fallin2023.eps.k9", 1.1678000001234, standard_error=0.1, output=str(tmp_path)
    )
    ledger.record("gohari2020.time.base", 2.0, output=str(tmp_path))
    held = {"fallin2023.eps.k9": {"value": 1.1678, "standard_error": 0.1}}
    assert json.loads((tmp_path / "results.json").read_text()) == held, "six digits"
    assert set(json.loads((tmp_path / "timings.json").read_text())) == {
        "gohari2020.time.base"
    }
    ledger.record("fallin2023.eps.k9", 3.0, output=str(tmp_path / "whole"))
    assert '"value": 3,\n' in (tmp_path / "whole" / "results.json").read_text(), (
        "and not 3.0"
    )
    assert set(ledger.results(tmp_path).index) == {
        "fallin2023.eps.k9",
        "gohari2020.time.base",
    }


def test_figures_are_the_same_bytes_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert all(
        (tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes()
        for n in names
    )
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
    right.legend(
        right.plot([0, 1], [0, 1]),
        ["a line"],
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    return fig


def test_saved_as_savefig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDF", "1")
    figures.save(drawn_figure(), "fig1_line", pd.DataFrame({"x": [0.0]}), str(tmp_path))
    other = drawn_figure()
    other.savefig(tmp_path / "other.png", metadata={"Software": None})
    other.set_layout_engine("none")
    other.savefig(tmp_path / "other.pdf", metadata={"CreationDate": None}, dpi=200)
    for ending in ("png", "pdf"):
        assert (tmp_path / f"fig1_line.{ending}").read_bytes() == (
            tmp_path / f"other.{ending}"
        ).read_bytes()


def test_a_figure_without_the_house_style_is_saved_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    with plt.rc_context({"savefig.dpi": "figure"}):
        fig = plt.figure(dpi=50, figsize=(2, 1))
        canvas = fig.canvas
        figures.save(fig, "fig1_empty", pd.DataFrame({"x": [0.0]}), str(tmp_path))
    with Image.open(tmp_path / "fig1_empty.png") as saved:
        assert saved.size == (100, 50)
    assert fig.canvas is canvas and fig.dpi == 50
    plt.close(fig)


def test_a_figure_that_shows_somebodys_data_is_marked_and_only_for_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody could read the true probabilities in a csv without a mark."""
    monkeypatch.setenv("PDF", "1")
    fig = drawn_figure()
    table = pd.DataFrame({"true": [1 / 3], "private": [0.25]})
    figures.save(fig, "figa1_release", table, str(tmp_path), owner_only=True)
    figures.save_numbers({"row_error": 0.1}, str(tmp_path), owner_only=True)
    names = [f"figa1_release_OWNER_ONLY.{ending}" for ending in ("csv", "pdf", "png")]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *names,
        "numbers_OWNER_ONLY.json",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    note = "for the owner of the data only: not private"
    assert (
        tmp_path / names[0]
    ).read_text() == f"true,private,note\n0.333333,0.25,{note}\n"
    assert fig.get_suptitle() == note
    assert list(table) == ["true", "private"]
    small = plt.figure(figsize=figures.size(1, 2))
    figures.save(small, "figa2_small", table, str(tmp_path), owner_only=True)
    box = small._suptitle.get_window_extent()  # type: ignore[attr-defined]
    assert small.bbox.x0 < box.x0 and box.x1 < small.bbox.x1


def test_a_page_shows_the_saved_picture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(saving, "get_ipython", lambda: "a kernel")
    monkeypatch.setattr(saving, "display", shown.append)
    fig = drawn_figure()
    table = pd.DataFrame({"x": [0.0]})
    figures.save(fig, "fig1_line", table, "")
    assert not shown and plt.fignum_exists(fig.number)  # not written: the page draws it
    figures.save(fig, "fig1_line", table, str(tmp_path))
    with Image.open(tmp_path / "fig1_line.png") as saved:
        assert saved.size == (1440, 400) and [picture.size for picture in shown] == [
            (720, 200)
        ]
    assert not plt.fignum_exists(fig.number)


def test_a_chart_that_moves_has_one_still_picture_half_as_large_in_the_page(
    tmp_path: Path,
) -> None:
    table = pd.DataFrame({"x": [0.0, 1.0]})
    encoding = {"x": {"field": "x", "type": "quantitative"}}
    data = {"values": table.to_dict("records")}
    moving = explore.Moving(
        {"data": data, "mark": "point", "encoding": encoding}, "Two points."
    )
    figures.save_moving(moving, "fig1_points", table, str(tmp_path))
    still = moving._repr_mimebundle_()[0]["image/png"]
    with (
        Image.open(tmp_path / "fig1_points.png") as saved,
        Image.open(io.BytesIO(still)) as small,
    ):
        assert [-(-side // 2) for side in saved.size] == list(small.size)


@pytest.mark.parametrize(("given", "agrees"), [({"b": 0.01}, True), ({}, False)])
def test_only_runs_with_usual_parameters_are_compared_with_expected(
    tmp_path: Path, given: dict[str, float], agrees: bool
) -> None:
    place = tmp_path / "matrix_dirichlet"
    results(place, {"fallin2023.eps.k9": 1.1})
    (place / "manifest.json").write_text(json.dumps({"parameters": given}))
    row = ledger.judged_claims(tmp_path).loc["fallin2023.eps.k9"]
    assert bool(row["ok"]) == agrees, row["shown"]
    assert ("MISSES EXPECTED" in row["shown"]) != agrees
