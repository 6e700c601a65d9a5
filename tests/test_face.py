"""What the package shows: every name loads and says what it is, and notebooks use no other."""

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
SUBPACKAGES = [name for name in dpsim.__all__ if hasattr(getattr(dpsim, name), "__path__")]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def imports(notebook):
    """Return (module, name) of every import from the package in a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            lines = [line for line in "".join(cell["source"]).splitlines() if not line.startswith(("%", "!"))]
            for node in ast.walk(ast.parse("\n".join(lines))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dpsim":
                    yield from ((node.module, alias.name) for alias in node.names)
                if isinstance(node, ast.Import):
                    yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "dpsim")


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
        for name, thing in ((name, getattr(face, name)) for name in getattr(face, "__all__", vars(face))):
            mine = getattr(thing, "__module__", "").startswith(face.__name__) and not name.startswith("_")
            if mine and (inspect.isfunction(thing) or inspect.isclass(thing)):
                found[f"{subpackage}.{name}"] = thing
    return found


def missing_sections(thing):
    """Return the sections a docstring lacks: Parameters where there are any, Returns unless the summary says it."""
    doc = inspect.getdoc(thing) or ""
    has = set(re.findall(r"^(\w+)\n-{3,}$", doc, re.MULTILINE))
    if inspect.isclass(thing):
        return set() if has & {"Parameters", "Attributes"} else {"Parameters"}
    signature = inspect.signature(thing)
    wanted = {"Parameters"} if signature.parameters else set()
    if signature.return_annotation not in (None, "None") and not doc.startswith("Return "):
        wanted.add("Returns")
    return wanted - has


def failures(thing, doc):
    """Return how many examples of a docstring fail."""
    name, names = thing.__name__, dict(vars(inspect.getmodule(thing)))
    test = doctest.DocTestParser().get_doctest(doc, names, name, None, None)
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_says_what_it_takes_and_gives_and_its_examples_run(name):
    thing = public()[name]
    doc = inspect.getdoc(thing) or ""
    if not name.startswith("release."):  # a command, whose functions say it in fewer words
        assert not missing_sections(thing), f"{name}: {missing_sections(thing)}"
    if ">>> " in doc:
        assert failures(thing, doc) == 0


def test_a_wrong_example_fails():
    right = inspect.getdoc(dpsim.markov.total_variation)
    assert failures(dpsim.markov.total_variation, right.replace("\n0.25", "\n0.26")) == 1


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_import_subpackages_and_names_of_their_faces_alone(notebook):
    found = list(imports(notebook))
    assert found
    for module, name in found:
        if module == "dpsim":
            assert name in dpsim.__all__, name
        else:
            subpackage = module.split(".")
            assert (
                len(subpackage) == 2
                and subpackage[1] in SUBPACKAGES
                and name in importlib.import_module(module).__all__
            ), (module, name)


def test_importing_the_package_loads_nothing():
    code = (
        "import sys, dpsim; print({'numpy', 'scipy', 'numba', 'pandas', 'matplotlib'} & set(sys.modules), dir(dpsim))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert said.startswith("set()") and "dirichlet" in said
