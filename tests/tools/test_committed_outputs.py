"""What is committed of a notebook: its outputs, its tags, and the folding that follows
from them."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from toy_project import CHECKS, PARAMETERS, ROOT, notebook

from dpsim import files, ledger, paths, runner
from dpsim.notebook import load
from tools import notebooks

FOLDINGS = {
    ("parameters",): None,
    ("checks",): {"source_hidden": True},
    ("hide-input",): {"source_hidden": True},
    ("parameters", "hide-input"): {"source_hidden": True},
    ("hide-cell",): {"source_hidden": True, "outputs_hidden": True},
    ("remark",): None,
    (): None,
}
"""What JupyterLab folds of a cell with these tags, whatever it folded before; of text
nothing."""


@pytest.mark.parametrize("tags", FOLDINGS)
def test_folding_in_jupyterlab_follows_from_the_tags_alone(
    tags: tuple[str, ...],
) -> None:
    given = {
        "tags": list(tags),
        "collapsed": True,
        "papermill": {},
        "jupyter": {"source_hidden": True},
    }
    cells = [
        nbformat.v4.new_code_cell("1 + 1", metadata=given),
        nbformat.v4.new_markdown_cell("A.", metadata=given),
    ]
    code, text = notebooks.clean(nbformat.v4.new_notebook(cells=cells)).cells
    expected = {"tags": list(tags)} if tags else {}
    assert text.metadata == expected
    assert code.metadata == expected | (
        {"jupyter": FOLDINGS[tags]} if FOLDINGS[tags] else {}
    )


def test_papermill_reads_the_parameters_of_a_folded_notebook(toy: Path) -> None:
    before = load("quick").parameters
    path = toy / "notebooks" / "quick.ipynb"
    nbformat.write(notebooks.clean(nbformat.read(path, 4)), path)
    assert nbformat.read(path, 4).cells[0].metadata == {"tags": ["parameters"]}
    assert load("quick").parameters == before
    assert load("quick").checked([("draws", "21")]) == {"draws": 21}


def executed(toy: Path, *sources: str) -> None:
    """Put a default run of `quick` where the runner keeps it: the cells given, each of
    which printed its source."""
    cells = [
        nbformat.v4.new_code_cell(source, metadata={"papermill": {"duration": 1.0}})
        for source in sources
    ]
    injected = nbformat.v4.new_code_cell(
        "output = '/x'", metadata={"tags": ["injected-parameters"]}
    )
    for cell in cells:
        cell.outputs = [
            nbformat.v4.new_output("stream", name="stdout", text=cell.source)
        ]
    record = toy / "build" / "runs" / "quick" / "default"
    record.mkdir(parents=True)
    made = nbformat.v4.new_notebook(cells=[cells[0], injected, *cells[1:]])
    files.write_text(record / "quick.ipynb", nbformat.writes(made))


def test_outputs_come_from_the_run_and_prose_and_tags_from_the_notebook(
    toy: Path,
) -> None:
    path = toy / "notebooks" / "quick.ipynb"
    notebook(path, "3 + 3")
    executed(toy, PARAMETERS, CHECKS, "3 + 3")
    edited = nbformat.read(path, 4)
    edited.cells.insert(0, nbformat.v4.new_markdown_cell("Written after the run."))
    edited.cells[-1].metadata["tags"] = ["hide-input"]
    nbformat.write(edited, path)
    found = nbformat.reads(notebooks.refreshed("quick"), 4).cells
    assert [cell.source for cell in found] == [
        "Written after the run.",
        PARAMETERS,
        CHECKS,
        "3 + 3",
    ]
    assert found[-1].outputs[0].text == "3 + 3"
    assert found[-1].metadata == {
        "tags": ["hide-input"],
        "jupyter": {"source_hidden": True},
    }
    assert [cell.execution_count for cell in found[1:]] == [1, 2, 3]


def test_a_notebook_whose_code_has_changed_since_its_run_is_refused(toy: Path) -> None:
    notebook(toy / "notebooks" / "quick.ipynb", "4 + 4")
    executed(toy, PARAMETERS, CHECKS, "3 + 3")
    with pytest.raises(
        ValueError, match="quick has changed since its last default run"
    ):
        notebooks.refreshed("quick")


def test_a_chart_is_written_as_jupyterlab_saves_it() -> None:
    spec = {
        "width": 720.0,
        "params": [{"value": 1.0, "bind": {"step": 0.5, "max": True}}],
    }
    cell = nbformat.v4.new_code_cell("1")
    shown = {"application/vnd.vegalite.v5+json": spec, "text/plain": "A chart."}
    cell.outputs = [nbformat.v4.new_output("display_data", shown)]
    text = notebooks.written(nbformat.v4.new_notebook(cells=[cell]))
    assert (
        '"width": 720\n' in text
        and '"value": 1\n' in text
        and '"step": 0.5\n' in text
        and '"max": true' in text
    )


def test_cleaning_a_notebook_strips_what_differs_and_refuses_warnings() -> None:
    made = nbformat.v4.new_notebook()
    made.metadata = {"papermill": {"duration": 3.2}, "widgets": {"state": {}}}
    cell = nbformat.v4.new_code_cell(
        "1", metadata={"papermill": {"start": "now"}, "execution": {}}
    )
    cell.outputs = [
        nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=7)
    ]
    made.cells = [cell]
    fresh = notebooks.clean(made)
    assert fresh.cells[0].id == "cell-00"
    assert dict(fresh.cells[0].metadata) == {} and set(fresh.metadata) == {
        "kernelspec",
        "language_info",
    }
    assert (
        fresh.cells[0].execution_count == fresh.cells[0].outputs[0].execution_count == 1
    )
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="RuntimeWarning: overflow")
    ]
    with pytest.raises(ValueError, match="cell 1 warns: RuntimeWarning"):
        notebooks.clean(made)
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=f"{paths.root()}/x")
    ]
    with pytest.raises(ValueError, match="absolute path"):
        notebooks.clean(made)


def test_the_cells_that_the_page_shows_are_a_notebook_that_runs(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table, row in {
        "papers.csv": {
            "id": "author2030",
            "notebook": "count",
            "reference": "Author 2030, a count",
            "address": "x",
        },
        "published.csv": {
            **{
                "id": "author2030.fig1.one",
                "paper": "author2030",
                "where": "Figure 1",
                "quantity": "mean error",
            },
            "quote": "The mean error is 0.85 at epsilon = 1.",
            **{
                "published": "0.85",
                "claim": "value",
                "inputs": "paper",
                "expected": "0.851",
            },
            **{"sentence": "Both are {found:.2f}."},
            "section": "Figure 1: the error of a count",
        },
    }.items():
        path = toy / "data" / table
        pd.concat([pd.read_csv(path, dtype=str), pd.DataFrame([row])]).to_csv(
            path, index=False
        )
    path = toy / "notebooks" / "count.ipynb"
    path.write_text(
        notebooks.begun((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")),
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "ruff",
        "--config",
        str(ROOT / "notebooks" / "ruff.toml"),
    ]
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [*command[:3], *words, *command[3:], str(path)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (ran,) = runner.run(runner.plan_runs(["count"]))
    assert ran.status == "done", ran.message
    row = ledger.judged_claims().loc["author2030.fig1.one"]
    assert row["verdict"] == "agrees" and row["ok"]
    for away in (
        np.linspace(-5, 5, 41) * row["standard_error"]
    ):  # as test_ledger asks of every sampled row
        assert (
            ledger.verdict(row, row["reproduced"] + away, row["standard_error"])
            == "agrees"
        ), "take more draws"
    path.write_text(notebooks.refreshed("count"), encoding="utf-8")
    outputs = [
        output
        for cell in nbformat.read(path, 4).cells
        for output in cell.get("outputs", [])
    ]
    (board,) = [
        output.data["text/html"]
        for output in outputs
        if "the paper says" in str(output.get("data"))
    ]
    assert "agrees: value" in board and "in grey" not in board, (
        "it stands above the cell that records the row"
    )
    assert 20 <= len(nbformat.read(path, 4).cells) <= 30


JUPYTER = {"": "share/jupyter", "_CONFIG": "etc/jupyter"}
"""Where Jupyter finds what `make env` copies into .venv."""


def test_a_picture_has_its_caption_and_a_styled_table_its_text(tmp_path: Path) -> None:
    table = (
        "<style>td {color: red}</style><table><caption>A &lt; "
        "B</caption><tr><td>1</td><td>2</td></tr></table>"
    )
    png = {
        "image/png": "iVBORw==",
        "text/plain": "<PIL.Image.Image image mode=RGBA size=720x220>",
    }
    styled = {
        "text/html": table,
        "text/plain": "<pandas.io.formats.style.Styler at 0x7f>",
    }
    cells = [
        nbformat.v4.new_code_cell("1"),
        nbformat.v4.new_markdown_cell(
            "Text.\n\n**Figure 1.** *One* [a](b) $\\epsilon$."
        ),
    ]
    cells[0].outputs = [
        nbformat.v4.new_output("display_data", data) for data in (png, styled)
    ]
    made = notebooks.clean(nbformat.v4.new_notebook(cells=cells))
    picture, shown = made.cells[0].outputs
    assert (
        picture.metadata["image/png"]["alt"]
        == picture.data["text/plain"]
        == "Figure 1. One a ε."
    )
    cells[1].source = "**Paper, Figure 1.** One."
    assert (
        notebooks.clean(made).cells[0].outputs[0].metadata["image/png"]["alt"]
        == "Paper, Figure 1. One."
    )
    assert shown.data["text/plain"] == "A < B\n1 | 2"
    (tmp_path / "a.ipynb").write_text(
        nbformat.writes(made).replace("Paper, ", "Paper, 1 < 2, ")
    )
    places = {
        f"JUPYTER{kind}_PATH": ROOT / "tools/jupyter" / place
        for kind, place in JUPYTER.items()
    }
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "html",
        str(tmp_path / "a.ipynb"),
    ]
    environment = os.environ | {name: str(place) for name, place in places.items()}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    )
    assert "Alternative text is missing" not in done.stderr
    assert 'alt="Paper, 1 &lt; 2, Figure 1. One."' in (tmp_path / "a.html").read_text(
        encoding="utf-8"
    )
    fresh = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in "12"]
    )
    moving = {
        "application/vnd.vegalite.v5+json": {},
        "image/png": "iVBORw==",
        "text/plain": "A chart.",
    }
    for cell, data in zip(
        fresh.cells, (png, moving)
    ):  # as `nbconvert --execute` finds them
        cell.outputs = [nbformat.v4.new_output("display_data", data)]
    fresh.cells.insert(
        1,
        nbformat.v4.new_markdown_cell(
            "Text.\n\n**Paper, Figure 2.** At $\\epsilon$ < 1\nit *falls*."
        ),
    )
    nbformat.write(fresh, tmp_path / "a.ipynb")
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    )
    assert "Alternative text is missing" not in done.stderr
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert (
        'alt="Paper, Figure 2. At epsilon &lt; 1 it falls."' in page
        and 'alt="A chart."' in page
    )
    moving = {
        "application/vnd.vegalite.v5+json": {},
        "image/png": "iVBORw==",
        "text/plain": "A chart.",
    }
    cells[0].outputs = [nbformat.v4.new_output("display_data", moving)]
    assert (
        notebooks.clean(made).cells[0].outputs[0].metadata["image/png"]["alt"]
        == "A chart."
    )
    cells[0].outputs = [
        nbformat.v4.new_output(
            "display_data", png | {"text/plain": "<Figure size 72x22 with 1 Axes>"}
        )
    ]
    with pytest.raises(
        ValueError, match=r"cell 1 shows a drawing that `figures\.save` has not saved"
    ):
        notebooks.clean(made)
