"""What the package shows: every name loads and says what it is, and notebooks use no
other."""

import ast
import doctest
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpsim

ROOT = Path(__file__).parent.parent
SUBPACKAGES = [
    name for name in dpsim.__all__ if hasattr(getattr(dpsim, name), "__path__")
]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def used(source, known):
    """Yield each dotted name that code takes from the package; `known` holds what its
    names stand for."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == "dpsim"
        ):
            known |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}"
                for alias in node.names
            }
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            known |= {
                (alias.asname or alias.name): alias.name
                for alias in node.names
                if alias.name == "dpsim"
            }
            yield from (
                alias.name for alias in node.names if alias.name.startswith("dpsim.")
            )
    inner = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    for node in ast.walk(tree):
        names = []
        if id(node) not in inner:
            while isinstance(node, ast.Attribute):
                names.append(node.attr)
                node = node.value
        if names and isinstance(node, ast.Name) and node.id in known:
            yield ".".join([known[node.id], *reversed(names)])


WHOLE = (dpsim.numerics.simplex,)
"""Modules of a face whose names are public. The others are named there so that the
package itself can find them."""


def is_public(name):
    """Return whether a dotted name is one that a face lists: a subpackage, or a
    function, class or constant of one."""
    thing = dpsim
    last = ""
    for last in name.split(".")[1:]:
        if inspect.ismodule(thing) and last not in getattr(
            thing, "__all__", vars(thing)
        ):
            return False
        inside = thing is not dpsim and inspect.ismodule(thing)
        thing = getattr(thing, last)
        if last.startswith("_") or (
            inside and inspect.ismodule(thing) and thing not in WHOLE
        ):
            return False
        if not inspect.ismodule(thing):
            break
    return True


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_every_name_of_a_face_loads_and_says_what_it_is(subpackage):
    face = importlib.import_module(f"dpsim.{subpackage}")
    assert face.__all__ and len(set(face.__all__)) == len(face.__all__)
    for name in face.__all__:
        thing = getattr(face, name)
        assert not name.startswith("_")
        if callable(thing) or hasattr(thing, "__path__"):
            assert thing.__doc__, name


def public():
    """Return every public function and class by subpackage.name."""
    found = {}
    for subpackage in {*SUBPACKAGES, "ledger", "numerics.simplex"}:
        face = importlib.import_module(f"dpsim.{subpackage}")
        for name, thing in (
            (name, getattr(face, name)) for name in getattr(face, "__all__", vars(face))
        ):
            mine = getattr(thing, "__module__", "").startswith(
                face.__name__
            ) and not name.startswith("_")
            if mine and (inspect.isfunction(thing) or inspect.isclass(thing)):
                found[f"{subpackage}.{name}"] = thing
    return found


def missing_sections(thing):
    """Return the sections a docstring lacks: Parameters where there are any, Returns
    unless the summary says it."""
    doc = inspect.getdoc(thing) or ""
    has = set(re.findall(r"^(\w+)\n-{3,}$", doc, re.MULTILINE))
    if inspect.isclass(thing):
        return set() if has & {"Parameters", "Attributes"} else {"Parameters"}
    signature = inspect.signature(thing)
    wanted = {"Parameters"} if signature.parameters else set()
    if signature.return_annotation not in (None, "None") and not doc.startswith(
        "Return "
    ):
        wanted.add("Returns")
    return wanted - has


def failures(thing, doc):
    """Return how many examples of a docstring fail."""
    name = thing.__name__
    names = dict(vars(inspect.getmodule(thing)))
    test = doctest.DocTestParser().get_doctest(doc, names, name, None, None)
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_says_what_it_takes_and_gives_and_its_examples_run(name):
    thing = public()[name]
    doc = inspect.getdoc(thing) or ""
    assert not missing_sections(thing), f"{name}: {missing_sections(thing)}"
    if ">>> " in doc:
        assert failures(thing, doc) == 0


def test_a_wrong_example_fails():
    right = inspect.getdoc(dpsim.markov.total_variation)
    assert (
        failures(dpsim.markov.total_variation, right.replace("\n0.25", "\n0.26")) == 1
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_use_public_names_alone(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    known = {}
    found = {
        name
        for source in code
        for name in used(re.sub("^[%!].*", "", source, flags=re.MULTILINE), known)
    }
    assert found
    assert sorted(name for name in found if not is_public(name)) == []


def test_a_name_behind_a_module_is_not_public():
    source = """
import dpsim
from dpsim import datasets, figures
from dpsim.figures import explore
from dpsim.markov import stationary_distribution as pi
explore.note("x", [])
figures.style()
dpsim.words.privatize([1]).statement.strip()
print(datasets.taxi.MERGE_RULES, figures._look, figures.save.name)
"""
    wrong = [
        "dpsim.datasets.taxi.MERGE_RULES",
        "dpsim.figures._look",
        "dpsim.figures.explore",
    ]
    wrong.append("dpsim.figures.explore.note")
    assert (
        sorted(name for name in set(used(source, {})) if not is_public(name)) == wrong
    )


def test_importing_the_package_loads_nothing():
    code = (
        "import sys, dpsim; heavy = "
        "{'numpy', 'scipy', 'numba', 'pandas', 'matplotlib'}; print(heavy & "
        "set(sys.modules), dir(dpsim))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert said.startswith("set()") and "dirichlet" in said


def test_help_has_a_line_for_every_subpackage():
    told = {
        name
        for line in dpsim.__doc__.splitlines()[1:]
        for name in re.findall(r"\w+", line[:24])
    }
    assert set(SUBPACKAGES) <= told


@pytest.mark.parametrize(
    "package, name, said",
    [
        (dpsim, "markvo", "dpsim has no 'markvo': did you mean markov?"),
        (
            dpsim.words,
            "privatise",
            "dpsim.words has no 'privatise': did you mean privatize?",
        ),
        (dpsim, "qqqqqq", "dpsim has no 'qqqqqq'"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(package, name, said):
    with pytest.raises(AttributeError) as raised:
        getattr(package, name)
    assert str(raised.value) == said


def test_a_private_result_shows_the_field_with_its_value():
    word = dpsim.words.privatize("abca", letters="abc", b=1, epsilon=2.0, rng=1)
    assert repr(word).startswith(f"Private(value={word.value!r}, statement='")
    long = dpsim.words.privatize("ab" * 50, letters="ab", b=1, epsilon=2.0, rng=1)
    assert "\n" not in repr(long) and " ..., statement=" in repr(long)


DATABASES = ("dpsim_release", "duckdb", "ibis", "opendp")


@pytest.mark.parametrize(
    "notebook",
    [path for path in NOTEBOOKS if path.stem != "your_own_chain"],
    ids=lambda path: path.stem,
)
def test_a_notebook_of_a_paper_needs_no_database(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [
        line for cell in cells if cell["cell_type"] == "code" for line in cell["source"]
    ]
    assert [line for line in code if any(name in line for name in DATABASES)] == []


def test_a_published_release_is_read_where_no_database_can_be_imported():
    folder = ROOT / "release" / "tests" / "written_by_0_2_0" / "persons"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({DATABASES}))\n"
        f"import dpsim; chain = dpsim.load_release({str(folder)!r})\n"
        "print(chain, round(chain.stationary().sum(), 9), len(chain.walk(10)),"
        "chain.matrix.shape, len(chain.synthetic(1000)), chain.text[:9])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "ReleasedChain(21 labels, 441 pairs, epsilon 1, delta 0) 1.0 11 (21, 21) 1000 "
        "The noise\n"
    )
