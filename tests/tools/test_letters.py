"""The letters to the papers' authors: one page each, and a script for every point."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from toy_project import ROOT

from dpsim import ledger

LETTERS = sorted((ROOT / "tools" / "letters").glob("*.md"))
SCRIPTS = sorted((ROOT / "tools" / "letters").glob("*.py"))
ALONE = {"numpy", "scipy"} | set(sys.stdlib_module_names)

PLACE = r"(?:Theorem|Lemma|Section|Figure|Table|Appendix|Assumption|Algorithm)s?"
REFERENCE = rf"{PLACE} [\dIVX.\-]+(?: (?:and|to) \d)?|line \d|\(\d+\)|\b(?:19|20)\d\d\b"


def paper(path: Path) -> str:
    """Return the id of the paper that a letter or a script is about."""
    return path.stem.partition("_")[0]


@cache
def printed(script: Path) -> str:
    """Run a script as its reader does, without this project; return what it prints."""
    command = [sys.executable, "-I", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def numbers(text: str) -> set[str]:
    """Return the numbers in a text that have a second digit, without references."""
    text = re.sub(rf"`\w+\.py`|{REFERENCE}", "", text)
    found = re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)
    return {number.rstrip(",") for number in found if len(number.rstrip(",")) > 1}


def paragraphs(letter: Path) -> list[str]:
    """Return the paragraphs of a letter, each on one line."""
    text = letter.read_text(encoding="utf-8")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def named(paragraph: str) -> list[str]:
    """Return the names of the scripts that a paragraph gives."""
    return re.findall(r"`(\w+\.py)`", paragraph)


def outcomes(rows: pd.DataFrame) -> str:
    """Return the sentence with which a letter counts the verdicts on its paper."""
    verdict = rows["verdict"].value_counts()
    told = int(verdict.drop("not judged", errors="ignore").sum())
    parts = [f"{verdict['agrees']} agree"]
    for word, one, many in (
        ("contradicted", "is contradicted", "are contradicted"),
        ("slip", "is a slip", "are slips"),
        ("not tested", "is not tested", "are not tested"),
    ):
        if count := verdict.get(word, 0):
            parts += [f"{count} {one if count == 1 else many}"]
    open_rows = rows[rows["verdict"] == "not tested"]
    lost = int((open_rows["inputs"] == "lost").sum())
    wants = {
        "for want of data, a number or a rule": len(open_rows) - lost,
        "for want of what our copy may have lost": lost,
    }
    given = {want: count for want, count in wants.items() if count}
    reasons = [want if len(given) == 1 else f"{n} {want}" for want, n in given.items()]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"We gave {told} of your claims a verdict: {listed} ({', '.join(reasons)})."


def test_every_paper_has_a_letter() -> None:
    assert {letter.stem for letter in LETTERS} == set(ledger.papers().index)


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_a_letter_names_the_paper_and_whom_it_addresses(
    letter: Path,
) -> None:
    reference = ledger.papers().loc[letter.stem, "reference"]
    assert reference.split()[0].rstrip(",") in paragraphs(letter)[1]
    assert paragraphs(letter)[1].startswith("Dear ")


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_a_letter_has_a_script_for_each_point(letter: Path) -> None:
    points = [each for each in paragraphs(letter) if re.match(r"\*\*\d\. ", each)]
    order = [int(point[2]) for point in points]
    assert order == list(range(1, len(points) + 1)) and len(points) >= 3
    assert [len(named(point)) for point in points] == [1] * len(points)
    scripts = [name for each in paragraphs(letter) for name in named(each)]
    mine = [script.name for script in SCRIPTS if paper(script) == letter.stem]
    assert sorted(scripts) == mine


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_a_letter_says_no_number_that_its_script_does_not_show(letter: Path) -> None:
    rows = ledger.judged_claims()
    rows = rows[rows["paper"] == letter.stem]
    counted = outcomes(rows)
    shown = ledger.markdown(rows)
    for paragraph in paragraphs(letter)[2:]:
        scripts = [letter.with_name(name) for name in named(paragraph)]
        known = " ".join(printed(script) for script in scripts)
        if not re.match(r"\*\*\d\. ", paragraph):
            known += shown
        assert numbers(paragraph.replace(counted, "")) <= numbers(known), paragraph


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_a_letter_counts_what_the_report_counts_and_offers_to_print_an_answer(
    letter: Path,
) -> None:
    rows = ledger.judged_claims()
    last = paragraphs(letter)[-2]
    assert last.startswith(outcomes(rows[rows["paper"] == letter.stem]))
    assert "Could you send us" in last
    assert "figures/REPORT.md will show your answer" in last


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_needs_nothing_of_this_project(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    imports = [node for node in nodes if isinstance(node, ast.Import)]
    names = [alias.name for node in imports for alias in node.names]
    names += [str(n.module) for n in nodes if isinstance(n, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= ALONE
    assert any(isinstance(node, ast.Assert) for node in nodes), "it cannot fail"
    assert printed(script)
