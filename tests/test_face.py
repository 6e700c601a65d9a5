"""What the package shows: every name loads and says what it is, and notebooks use no other."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import dpsim

ROOT = Path(__file__).parent.parent
WINGS = [name for name in dpsim.__all__ if hasattr(getattr(dpsim, name), "__path__")]
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


@pytest.mark.parametrize("wing", WINGS)
def test_every_name_of_a_face_loads_and_says_what_it_is(wing):
    face = importlib.import_module(f"dpsim.{wing}")
    assert face.__all__ and len(set(face.__all__)) == len(face.__all__)
    for name in face.__all__:
        thing = getattr(face, name)
        assert not name.startswith("_")
        if callable(thing) or hasattr(thing, "__path__"):
            assert thing.__doc__, name


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_import_wings_and_names_of_their_faces_alone(notebook):
    found = list(imports(notebook))
    assert found
    for module, name in found:
        if module == "dpsim":
            assert name in dpsim.__all__, name
        else:
            wing = module.split(".")
            assert len(wing) == 2 and wing[1] in WINGS and name in importlib.import_module(module).__all__, (
                module,
                name,
            )


def test_importing_the_package_loads_nothing():
    code = (
        "import sys, dpsim; print({'numpy', 'scipy', 'numba', 'pandas', 'matplotlib'} & set(sys.modules), dir(dpsim))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert said.startswith("set()") and "dirichlet" in said
