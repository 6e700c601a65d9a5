"""What runs a notebook again: its code, its data, the mathematics behind it and their
libraries; nothing else."""

import ast
import importlib.metadata
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from toy_project import BODY, PARAMETERS, ROOT, notebook

from dpsim import files, paths, runner
from dpsim.notebook import load
from dpsim.runner import keys, runs

PACKAGE = ROOT / "dpsim"


def key(name: str = "quick", **values: object) -> str:
    """Return the key of a notebook with these parameters."""
    return keys.fingerprint(load(name), values)[0]


@pytest.fixture
def house(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the package whose sources the key reads instead of those that
    run."""
    copy = toy / "dpsim"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys, "__file__", str(copy / "runner" / "keys.py"))
    return copy


Edit = Callable[[Path, pytest.MonkeyPatch], object]


def written(text: str, *names: str) -> Edit:
    """Return what writes a text at the end of files, new ones too."""

    def edit(toy: Path, _: pytest.MonkeyPatch) -> None:
        for path in (toy / name for name in names):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((path.read_text() if path.exists() else "") + text)

    return edit


def recut(change: Callable[[list[Any]], object]) -> Edit:
    """Return what changes the cells of the notebook."""

    def edit(toy: Path, _: pytest.MonkeyPatch) -> None:
        path = toy / "notebooks" / "quick.ipynb"
        made = nbformat.read(path, 4)
        change(made.cells)
        nbformat.write(made, path)

    return edit


def installed(*names: str) -> Edit:
    """Return what puts packages of these names where they are found first."""

    def edit(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in names:
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 999.0\n"
            written(text, f"{name}-999.0.dist-info/METADATA")(toy, monkeypatch)
        monkeypatch.syspath_prepend(str(toy))
        assert importlib.metadata.version(names[-1]) == "999.0"
        monkeypatch.setattr(keys, "versions", keys.versions.__wrapped__)

    return edit


COMPILED = (
    "mechanism.cpython-311.pyc",
    "mechanism.draw-12.py311.nbi",
    "mechanism.draw-12.py311.1.nbc",
)
COMPUTES = (
    "dirichlet/mechanism.py",
    "dirichlet/__init__.pyi",
    "streams.py",
    "figures/house_style.py",
    "figures/dpsim.mplstyle",
)
COMPUTES += ("ledger/rows.py", "released.py")
STARTS = ("runner/runs.py", "runner/__init__.pyi", "cli.py", "__main__.py")
EDITS: dict[str, tuple[bool, Edit]] = {
    **{name: (True, written("\n", f"dpsim/{name}")) for name in COMPUTES},
    **{name: (False, written("\n", f"dpsim/{name}")) for name in STARTS},
    "what python and numba compile": (
        False,
        written("x", *(f"dpsim/dirichlet/__pycache__/{x}" for x in COMPILED)),
    ),
    "site and tools": (
        False,
        written("x", "tools/site/a.py", "tests/a.py", "build/site/a.py"),
    ),
    "prose": (
        False,
        recut(lambda cells: cells.insert(0, nbformat.v4.new_markdown_cell("A title."))),
    ),
    "folding": (
        False,
        recut(lambda cells: cells[-1].metadata.update(tags=["hide-input"])),
    ),
    "code": (True, recut(lambda cells: cells[-1].update(source=BODY + "\n# changed"))),
    "which cell has the parameters": (
        True,
        recut(
            lambda cells: [
                cell.metadata.update(tags=tags)
                for cell, tags in ((cells[0], []), (cells[1], ["parameters"]))
            ]
        ),
    ),
    "a new table": (True, written("b\n", "data/new.csv")),
    "prose about the data, and what others may test against": (
        False,
        written(
            "# Tables\n", "data/README.md", "data/LEDGER.md", "data/known_answers.csv"
        ),
    ),
    "sums of tables that are in the key themselves": (
        False,
        written("1  a.csv\n", "data/checksums.txt"),
    ),
    "python": (
        True,
        lambda _, patch: patch.setattr(
            sys, "version", sys.version.replace("3.", "3.9", 1)
        ),
    ),
    **{
        name: (True, installed(name))
        for name in ("numpy", "dp_accounting", "ibis_framework")
    },
    "test tools, extras": (
        False,
        installed(
            "pytest", "ruff", "dask", "distributed", "pyspark", "sphinx", "rocrate"
        ),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_runs_again(
    house: Path, toy: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    again, edit = EDITS[name]
    before = key()
    assert key() == before
    edit(toy, monkeypatch)
    assert (key() != before) == again


@pytest.mark.parametrize("imports", [True, False])
def test_a_notebook_that_imports_the_release_runs_again_when_its_sources_change(
    toy: Path, monkeypatch: pytest.MonkeyPatch, imports: bool
) -> None:
    written("x = 1\n", "dpsim_release/__init__.py")(toy, monkeypatch)
    monkeypatch.syspath_prepend(str(toy))
    monkeypatch.delitem(sys.modules, "dpsim_release", raising=False)
    first = "import dpsim_release" if imports else "import dpsim"
    recut(lambda cells: cells[-1].update(source=f"{first}\n{BODY}"))(toy, monkeypatch)
    before = key()
    written("y = 2\n", "dpsim_release/unit.py")(toy, monkeypatch)
    assert (key() != before) == imports


FILES = {
    "table.csv": "table.csv",
    "months": "months/2025/01/part.csv",
    "official": "build/data/month.csv",
}
"""What a parameter says, and a file that is read then: itself, one below a folder, one
that was fetched."""


@pytest.mark.parametrize("said", FILES)
def test_the_key_sees_parameters_and_the_files_that_one_names(
    toy: Path, said: str
) -> None:
    file = toy / FILES[said]
    found = []
    file.parent.mkdir(parents=True, exist_ok=True)
    for text in ("1", "2"):
        file.write_text(text)
        values = load("quick").checked([("label", said)])
        assert values == {"label": said if said == "official" else str(toy / said)}
        found.append((key(**values), key(seed=2), key()))
    (one, *others), (two, *same) = found
    assert one != two and others == same and len({one, *others}) == 3


def test_a_text_beside_a_file_of_its_name_stays_a_text(toy: Path) -> None:
    """`-p count trips` beside a folder `trips` became the path of the folder."""
    notebook(
        toy / "notebooks" / "quick.ipynb",
        parameters=PARAMETERS + 'count: str = ""  # a column',
    )
    (toy / "trips").mkdir()
    (toy / "plain").touch()
    given = [("count", "trips"), ("label", "trips")]
    assert load("quick").checked(given) == {
        "count": "trips",
        "label": str(toy / "trips"),
    }
    assert load("quick").checked([("label", "plain")]) == {
        "label": "plain"
    }  # the default


def test_the_notebooks_say_which_of_their_parameters_may_name_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DPSIM_ROOT", raising=False)
    every = [
        (name, each)
        for name in paths.notebook_names()
        for each in load(name).parameters.values()
    ]
    found = {
        (name, each.name)
        for name, each in every
        if each.may_name_a_file and each.name != "output"
    }
    mine = {("your_own_chain", "events_path"), ("your_own_chain", "categories")}
    assert found == mine | {("data_driven_markov", "trips")}


def test_the_key_sees_the_rows_of_its_own_paper_and_the_overview_those_of_all(
    toy: Path,
) -> None:
    for name in ("other", "apart", "00_overview"):
        notebook(toy / "notebooks" / f"{name}.ipynb", BODY)
    names = ("quick", "other", "apart", "00_overview")
    papers = toy / "data" / "papers.csv"
    published = toy / "data" / "published.csv"
    papers.write_text("id,notebook\none,quick\ntwo,other\n")
    published.write_text('id,paper,sentence\none.a,one,"1, 2"\ntwo.a,two,3\n')

    def seen(path: Path, old: str, new: str) -> set[str]:
        """Return which keys an edit changes."""
        before = [key(name) for name in names]
        path.write_text(path.read_text().replace(old, new))
        return {name for name, was in zip(names, before) if key(name) != was}

    assert seen(published, "1, 2", "1, 3") == {"quick", "00_overview"}
    assert seen(published, "two,3", "two,4") == {"other", "00_overview"}
    assert seen(published, "two,4\n", "two,4\ntwo.b,two,5\n") == {
        "other",
        "00_overview",
    }
    assert seen(papers, "two,other\n", "two,other\nthree,apart\n") == {
        "apart",
        "00_overview",
    }
    assert seen(published, "two.b,two", "two.b,three") == {
        "other",
        "apart",
        "00_overview",
    }
    (toy / "data" / "sources.csv").write_text("a.csv,1\n")
    assert seen(toy / "data" / "sources.csv", "1", "2") == set(names)


def test_columns_that_change_no_output_run_nothing_again(toy: Path) -> None:
    notebook(toy / "notebooks" / "00_overview.ipynb", BODY)
    table = "id,paper,quote,sentence,sent\none.a,one,said,1,no\n"
    names = ("quick", "00_overview")
    files.write_text(toy / "data" / "papers.csv", "id,notebook,answer\none,quick,\n")
    published = toy / "data" / "published.csv"
    published.write_text(table)
    before = [key(name) for name in names]
    published.write_text(table.replace("no", "yes").replace("said", "told"))
    files.write_text(toy / "data" / "papers.csv", "id,notebook,answer\none,quick,x\n")
    assert [key(name) for name in names] == before
    published.write_text(table.replace("1", "2"))
    assert {key(name) for name in names}.isdisjoint(before)


def test_the_overview_follows_the_others_results_but_not_their_seconds(
    toy: Path,
) -> None:
    notebook(toy / "notebooks" / "00_overview.ipynb", BODY)
    folder = toy / "figures" / "quick"
    folder.mkdir()
    keys_ = []
    for name, text in (
        ("timings.json", "1"),
        ("timings.json", "2"),
        ("results.json", "1"),
        ("results.json", "2"),
    ):
        (folder / name).write_text(text)
        keys_.append(key("00_overview"))
    assert keys_[0] == keys_[1] and len(set(keys_)) == 3


def imported(source: str) -> set[str]:
    """Return the top-level packages that a source imports, at its head or inside a
    function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).split(".")[0])
    return found - set(sys.stdlib_module_names) - {"dpsim", "dpsim_release"}


AROUND = {"filelock", "pooch", "requests", "tqdm"}
"""What fetches a file, which is then read by its checksum, or locks one: it cannot
change a number."""

CLUSTER = {"pyspark", "quantecon"}
"""What a user may ask for in place of ours; the results are compared in tests of their
own."""


def test_the_key_holds_every_library_behind_the_notebooks() -> None:
    sources = {
        str(f.relative_to(PACKAGE)): f.read_text() for f in PACKAGE.rglob("*.py")
    }
    behind = {
        name: text
        for name, text in sources.items()
        if Path(name).parts[0] not in keys.APART
    }
    assert len(behind) > 40
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, 4).cells
        behind[path.name] = "\n".join(
            cell.source for cell in cells if cell.cell_type == "code"
        )
    for path in (ROOT / "release" / "dpsim_release").glob("*.py"):
        behind[f"release/{path.name}"] = path.read_text()
    modules = set().union(*map(imported, behind.values())) - AROUND - CLUSTER
    assert {"numpy", "dp_accounting", "ibis", "opendp"} <= modules
    distributions = importlib.metadata.packages_distributions()
    held = keys.versions()
    assert [
        module
        for module in sorted(modules)
        if not set(distributions[module]) & set(held)
    ] == []


@pytest.fixture
def finished(toy: Path) -> runner.Run:
    """Return a run that ended, as its record tells."""
    (run,) = runner.plan_runs(["quick"])
    for folder in (run.output, run.record):
        folder.mkdir(parents=True)
    (run.output / "a.csv").write_text("x\n1\n")
    (run.output / "b.png").write_bytes(b"picture")
    outputs = {path.name: files.sha256(path) for path in run.output.iterdir()}
    files.write_json(
        run.record / "manifest.json", {"key": run.key, "outputs": outputs, "pdf": False}
    )
    assert runs.is_current(run)
    return run


def edit(name: str, value: object) -> Callable[[runner.Run], None]:
    def change(run: runner.Run) -> None:
        path = run.record / "manifest.json"
        files.write_json(path, json.loads(path.read_text()) | {name: value})

    return change


DAMAGES: dict[str, Callable[[runner.Run], object]] = {
    "an output that changed": lambda run: (run.output / "a.csv").write_text("x\n2\n"),
    "an output that is gone": lambda run: (run.output / "b.png").unlink(),
    "no record": lambda run: (run.record / "manifest.json").unlink(),
    "a record cut short": lambda run: (run.record / "manifest.json").write_text(
        '{"key": "'
    ),
    "a record that is a list": lambda run: (run.record / "manifest.json").write_text(
        "[]"
    ),
    "a record of brackets": lambda run: (run.record / "manifest.json").write_text(
        "[" * 100_000
    ),
    "a record in another code": lambda run: (run.record / "manifest.json").write_bytes(
        b"\xff"
    ),
    "a record that lists no outputs": edit("outputs", {}),
    "a record whose outputs are a list": edit("outputs", ["a.csv", "b.png"]),
    "another key": edit("key", "0" * 64),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_is_current_only_with_its_record_and_every_output_as_it_was(
    finished: runner.Run, damage: str
) -> None:
    DAMAGES[damage](finished)
    assert not runs.is_current(finished)


def test_the_checks_are_executed_whole_and_what_they_leave_is_used(toy: Path) -> None:
    path = toy / "notebooks" / "quick.ipynb"
    made = nbformat.read(path, 4)
    made.cells[1].source += "label = label.strip()\nbins[draws]\n"
    nbformat.write(made, path)
    with pytest.raises(ValueError, match="the checks of quick raised IndexError"):
        load("quick").checked([("seed", "2")])
    given = [("draws", "1"), ("label", " a "), ("seed", "2.0")]
    assert load("quick").checked(given) == {"draws": 1, "label": "a", "seed": 2}
    with pytest.raises(ValueError, match="seed must be given once, got -p seed twice"):
        load("quick").checked([("seed", "1"), ("seed", "2")])  # the last one won
