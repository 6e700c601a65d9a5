"""The shape of a lesson: what each part of a paper's notebook contains, in its order.

Each function takes the cells of a notebook and fails with a sentence that says what is
missing.
"""

import ast
import re

from nbformat import NotebookNode

PART_2 = "# The paper, claim by claim"
ENDS = "**The lesson ends here.**"
REST = "# only for Part 2"
CAN = "**After this lesson you can**"
NUMBERS = "**Whose numbers these are.**"


def tags(cell: NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def parts(
    cells: list[NotebookNode],
) -> tuple[list[NotebookNode], list[NotebookNode], list[NotebookNode]]:
    """Return the cells of the lesson, those of the solutions, and those of Part 2."""
    ends = [n for n, cell in enumerate(cells, 1) if ENDS in cell.source]
    begins = [n for n, cell in enumerate(cells) if cell.source.startswith(PART_2)]
    assert len(ends) == 1, f"one Markdown cell has the words {ENDS!r}"
    assert len(begins) == 1, f"one Markdown cell begins with {PART_2!r}"
    return cells[: ends[0]], cells[ends[0] : begins[0]], cells[begins[0] :]


def check_opening(cells: list[NotebookNode]) -> None:
    opening = cells[0].source
    assert opening.startswith("# ") and "**The question.**" in opening
    assert re.search(r"!\[[^\]]{20,}\]\(\.\./figures/\w+/thumbnail\.png\)", opening), (
        "the opening shows the thumbnail, with an alternative text"
    )
    secret = re.findall(r"ε|δ|\\epsilon|\\delta|\b(?:epsilon|delta)\b", opening, re.I)
    assert not secret, f"the opening needs no {secret}"
    assert "%" not in opening, "the opening has no percentages"
    paragraphs = opening.partition("**The question.**")[2].split("\n\n")[1:]
    said = "\n\n".join(paragraphs).partition(NUMBERS)[0]
    promised = said.partition(CAN)[2]
    assert len(re.findall(r"^- ", promised, re.MULTILINE)) == 3, f"three lines: {CAN}"


def check_first_code(cells: list[NotebookNode]) -> None:
    """The parameters, the checks and the imports, after a sentence on them.

    A first section of prose may stand before them.
    """
    code = [cell for cell in cells if cell.cell_type == "code"][:3]
    before = cells[: cells.index(code[-1]) + 1]
    assert [tags(cell) for cell in code] == [
        ["parameters"],
        ["checks", "hide-input"],
        ["hide-input"],
    ], "the parameters, the checks, the imports"
    parameters, checks, _ = code
    skipped = before[before.index(parameters) - 1]
    assert skipped.cell_type == "markdown" and "skip" in skipped.source, (
        "a sentence says that the reader may skip the parameters"
    )
    assert [cell for cell in before if NUMBERS in cell.source], (
        f"a line before the parameters begins with {NUMBERS!r}"
    )
    lesson, found, _ = parameters.source.partition(REST)
    assert found and lesson.strip(), f"parameters stand above the line {REST!r}"
    first, *rest = ast.parse(checks.source).body
    assert isinstance(first, ast.ImportFrom) and first.module == "dpsim"
    assert first.names[-1].name == "parameters"
    for line in rest:
        assert isinstance(line, ast.Assign) and "parameters." in ast.unparse(line), (
            f"a check assigns what it returns: {ast.unparse(line)}"
        )


def check_exercises(cells: list[NotebookNode]) -> None:
    """Three exercises in the lesson, each with a solution that asserts its output."""
    lesson, solutions, _ = parts(cells)
    prose = "\n\n".join(cell.source for cell in lesson if cell.cell_type == "markdown")
    asked = re.findall(r"^\*\*Exercise .*?(?=\n\n|\Z)", prose, re.MULTILINE | re.DOTALL)
    for number, text in enumerate(asked, 1):
        assert text.startswith(f"**Exercise {number}.**"), text
        assert text.endswith(f"([solution](#Solution-{number}))"), text
    assert len(asked) == 3, "a lesson has three exercises"
    assert "<details>" not in prose, "the lesson folds nothing"
    heading = ""
    asserted = set()
    for cell in solutions:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall("^#+ (.*)", cell.source, re.MULTILINE)][-1]
        elif re.search(r"^ *assert ", cell.source, re.MULTILINE):
            asserted.add(heading)
    assert solutions[0].source.startswith("## Solutions\n\n### Solution 1"), (
        "the solutions follow the lesson"
    )
    assert asserted == {f"Solution {number}" for number in (1, 2, 3)}, (
        "each solution asserts what it finds"
    )


def check_end(cells: list[NotebookNode]) -> None:
    """The short answer, a link to the overview, and the words that the lesson ends."""
    lesson, _, paper = parts(cells)
    last = lesson[-1].source.split("\n\n")[-1]
    assert last.startswith(ENDS), "they begin the last paragraph of the lesson"
    prose = "\n\n".join(cell.source for cell in lesson if cell.cell_type == "markdown")
    headings = re.findall("^## (.*)", prose, re.MULTILINE)
    assert "The short answer" in headings and "**The short answer.**" not in prose
    assert not [head for head in headings if "hich mechanism" in head], (
        "which mechanism to use stands in the overview"
    )
    assert "00_overview.ipynb#" in prose, "a link to the overview's advice"
    code = [cell.source for cell in paper if cell.cell_type == "code"]
    assert code[0].startswith("ledger.scoreboard("), "Part 2 begins with the scoreboard"
