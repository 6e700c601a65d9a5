"""The notebooks themselves: clean as committed, run top to bottom, the same numbers
again, nothing written unasked."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from quick_runs import quick_value

from dpsim import ledger, paths, runner
from dpsim.notebook import load
from tools import notebooks
from tools.notebooks import cell_metadata

NAMES = paths.notebook_names()

SAMPLED = [
    name
    for name in NAMES
    if ledger.results(paths.figures() / name)["standard_error"].any()
]
"""The notebooks with a sampled ledger row: the others record exact values alone."""

STEPPED = {"gohari2020.fig1.trend"}
"""Sampled rows whose value takes few levels: a rank correlation may be the same with
another seed."""

OF_THE_SIZE = {"benvenuti2026.fig4.err"}
"""Exact rows that are a function of a sample size, which the quick runs reduce."""

FAMILIES = set(ledger.findings().query("basis == 'family'").index)
"""Worst values of families, which have no standard error."""

SPEED = set(ledger.published().query("inputs == 'none' and unit == 's'").index)
"""Rows that hold measured seconds."""


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)


def codes(name: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(name).cells if cell.cell_type == "code"]


def quick(name: str, **more: object) -> list[tuple[str, str]]:
    """Return the parameters of a quick run, and others, as written on the command
    line."""
    small = {
        p.name: quick_value(p)
        for p in load(name).parameters.values()
        if quick_value(p) != p.default
    }
    return [(key, str(value)) for key, value in (small | more).items()]


def dpsim_run(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpsim", "run", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


COMMITTED = Path(os.environ.get("COMMITTED", paths.figures()))
"""The committed results; named where a full run has just replaced those in figures/."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a full default run of every notebook, made anew."""
    if paths.figures() != COMMITTED:
        return paths.figures()
    folder = tmp_path_factory.mktemp("fresh")
    dpsim_run("--output", str(folder))
    return folder


VERSION = re.compile(r',\n *"version": "3\.[\d.]+"(?=\n)')
"""The version of Python, which JupyterLab adds when it saves a notebook that somebody
has only opened."""


@pytest.mark.parametrize("name", NAMES)
def test_committed_notebooks_are_clean(name: str) -> None:
    path = paths.notebooks() / f"{name}.ipynb"
    text = path.read_text(encoding="utf-8")
    notebook = read(name)
    text = VERSION.sub("", text)
    assert text == notebooks.written(read(name)), (
        f"`git checkout {path.relative_to(paths.root())}` undoes what JupyterLab has "
        "saved; an edited notebook is written as it is committed by `make "
        f"notebooks`, or by `dpsim run {name}` and `python -m tools.notebooks {name}`"
    )
    assert path.stat().st_size < 1_000_000
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert "papermill" not in json.dumps([cell.metadata for cell in notebook.cells])
    assert (
        str(paths.root()) not in text
        and "/home/" not in text
        and "site-packages" not in text
    )
    for cell in notebook.cells:
        assert cell.metadata == cell_metadata(
            cell.metadata.get("tags", []), cell.cell_type
        )
    for count, cell in enumerate(codes(name), start=1):
        assert cell.execution_count == count, (
            "not the outputs of one run from top to bottom"
        )
        assert not [
            o
            for o in cell.outputs
            if o.output_type == "error" or o.get("name") == "stderr"
        ]


ONE_LINE = "each parameter must be one line of at most 96 characters with its comment"


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_typed_commented_and_checked(name: str) -> None:
    tagged = [
        cell for cell in codes(name) if "parameters" in cell.metadata.get("tags", [])
    ]
    assert len(tagged) == 1
    found = load(name).parameters
    lines = tagged[0].source.strip().splitlines()
    assert len(found) == len([x for x in lines if not x.startswith("#")]), ONE_LINE
    assert all(parameter.help for parameter in found.values())
    assert found["output"].default == ""
    assert found["seed"].type == "int"
    load(name).checked(quick(name))  # which are in range
    with pytest.raises(
        ValueError, match="seed must be an integer of at least 0, got -1"
    ):
        load(name).checked([("seed", "-1")])


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_caption_and_its_numbers(name: str) -> None:
    prose = "\n".join(
        cell.source for cell in read(name).cells if cell.cell_type == "markdown"
    )
    code = "\n".join(cell.source for cell in codes(name))
    saved = set(re.findall(r'figures\.save(?:_moving)?\([^"]*"(\w+)"', code))
    folder = paths.figures() / name
    assert {path.stem for path in folder.glob("*.png")} == saved
    assert all((folder / f"{stem}.csv").is_file() for stem in saved)
    captions = re.findall(r"^\*\*(?:Paper, )?Figures? ", prose, flags=re.MULTILINE)
    assert len(captions) >= len(
        {stem.split("_")[0] for stem in saved if stem.startswith("fig")}
    )


@pytest.mark.parametrize("name", NAMES)
def test_no_column_of_a_table_is_called_by_a_number_that_is_not_rounded(
    name: str,
) -> None:
    for path in (paths.figures() / name).glob("*.csv"):
        assert not re.search(
            r"\d\.\d{6}", path.read_text(encoding="utf-8").partition("\n")[0]
        ), path


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_run_gives_the_committed_files_byte_for_byte(
    name: str, fresh: Path
) -> None:
    made, committed = (
        {
            path.name: path.read_bytes()
            for kind in ("csv", "json", "png")
            for path in (folder / name).glob(f"*.{kind}")
        }
        for folder in (fresh, COMMITTED)
    )
    changed = {
        file
        for file in made.keys() | committed.keys()
        if made.get(file) != committed.get(file)
    }
    assert not [
        file for file in sorted(changed) if not file.startswith(("timings", "manifest"))
    ]


@pytest.mark.full
def test_the_report_of_a_fresh_run_is_clean(fresh: Path) -> None:
    table = ledger.judged_claims(fresh)
    assert table["ok"].all(), table.loc[~table["ok"], ["reproduced", "verdict"]]


@pytest.fixture(scope="module")
def reseeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of quick runs with another seed, two at a time."""
    folder = tmp_path_factory.mktemp("reseeded")

    def run(name: str) -> None:
        words = [
            word for key, value in quick(name, seed=8) for word in ("-p", key, value)
        ]
        dpsim_run(name, *words, "--output", str(folder / name))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, SAMPLED))
    return folder


@pytest.mark.full
@pytest.mark.xdist_group("reseeded")
@pytest.mark.parametrize("name", SAMPLED)
def test_another_seed_changes_what_is_sampled_and_nothing_else(
    name: str, fresh: Path, reseeded: Path
) -> None:
    first = runner.grid.numbers(fresh / name)
    second = runner.grid.numbers(reseeded / name / name)
    errors = ledger.results(fresh / name)["standard_error"]
    for id, difference in (second["value"] - first["value"]).items():
        if id in SPEED | STEPPED | OF_THE_SIZE | FAMILIES:
            continue
        assert (difference != 0) == np.isfinite(errors[id]), (id, difference)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_every_drawing_cell_runs_again_last_cell_first_with_the_same_numbers(
    name: str, tmp_path: Path
) -> None:
    resolved = load(name).checked(quick(name))
    source = load_notebook_node(str(paths.notebooks() / f"{name}.ipynb"))
    made = parameterize_notebook(source, resolved | {"output": str(tmp_path)})
    drawing = [
        i
        for i, cell in enumerate(made.cells)
        if cell.cell_type == "code" and "figures.save" in cell.source
    ]
    client = nbclient.NotebookClient(made, timeout=600, kernel_name="python3")
    with client.setup_kernel(cwd=str(tmp_path)):
        for index, cell in enumerate(made.cells):
            client.execute_cell(cell, index)
        first = {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")}
        for index in reversed(drawing):
            client.execute_cell(made.cells[index], index)
            again = {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")}
            changed = [
                file
                for file, held in first.items()
                if again[file] != held and not file.startswith("timings")
            ]
            assert not changed, made.cells[index].source
    assert drawing and first


@pytest.mark.full
def test_plain_papermill_from_another_folder_writes_nothing_but_its_copy(
    tmp_path: Path,
) -> None:
    name = "permute_and_flip"
    command = [
        sys.executable,
        "-m",
        "papermill",
        str(paths.notebooks() / f"{name}.ipynb"),
        "copy.ipynb",
    ]
    for key, value in quick(name):
        command += ["-p", key, value]
    before = {p: p.stat().st_mtime_ns for p in (paths.figures()).rglob("*")}
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [*command, "--no-progress-bar"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path.name for path in tmp_path.iterdir()} == {"copy.ipynb", "ipython"}
    assert {p: p.stat().st_mtime_ns for p in (paths.figures()).rglob("*")} == before
