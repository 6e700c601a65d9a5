"""The notes on errata: each script shows its case with NumPy and SciPy alone, and the note quotes what it prints."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from toy_project import ROOT

SCRIPTS = sorted((ROOT / "tools" / "errata").glob("*.py"))
ALONE = {"numpy", "scipy"} | set(sys.stdlib_module_names)


def test_every_note_has_a_script_and_every_script_a_note() -> None:
    notes = {path.stem for path in (ROOT / "tools" / "errata").glob("*.md")}
    assert SCRIPTS and notes == {path.stem for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_note_says_whether_it_was_sent(script: Path) -> None:
    third = script.with_suffix(".md").read_text(encoding="utf-8").split("\n\n")[2]
    assert re.fullmatch(r"sent: (no|\d{4}-\d{2}-\d{2} to \S.*)", third)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_needs_nothing_of_this_project_and_the_note_quotes_it(script: Path) -> None:
    nodes = list(ast.walk(ast.parse(script.read_text(encoding="utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= ALONE
    assert any(isinstance(node, ast.Assert) for node in nodes), "the script must fail when its case does not hold"
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    quoted = re.findall(r"```text\n(.*?)```", script.with_suffix(".md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert quoted == [done.stdout]
