"""The order of a notebook: a lesson that ends, then the paper claim by claim."""

import ast
import re

import nbformat
import pytest

from dpsim import ledger, paths, runner
from tools import notebooks  # noqa: F401  # it makes the modules of the site importable

import notebook_pages  # isort: skip

NAMES = paths.notebook_names()
PAPERS = {notebook: paper for paper, notebook in ledger.papers()["notebook"].items()}
PART_2 = "# The paper, claim by claim"
ENDS = "**The lesson ends here.**"


def cells(name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4).cells


def parts(name: str) -> tuple[list[nbformat.NotebookNode], list[nbformat.NotebookNode]]:
    """Return the cells of the lesson, and those from the heading of Part 2 on."""
    found = cells(name)
    begins = [
        number for number, cell in enumerate(found) if cell.source.startswith(PART_2)
    ]
    assert len(begins) == 1, f"one Markdown cell begins with {PART_2!r}"
    return found[: begins[0]], found[begins[0] :]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


@pytest.mark.parametrize("name", PAPERS)
def test_the_lesson_ends_and_the_scoreboard_opens_part_2(name: str) -> None:
    lesson, paper = parts(name)
    assert (
        lesson[-1].cell_type == "markdown"
        and ENDS in lesson[-1].source.split("\n\n")[-1]
    )
    code = [cell.source for cell in paper if cell.cell_type == "code"]
    assert code[0].strip() == f'ledger.scoreboard("{PAPERS[name]}")'
    whole = "\n".join(cell.source for cell in lesson + paper)
    assert whole.count("ledger.scoreboard(") == 1


@pytest.mark.parametrize("name", PAPERS)
def test_before_the_lesson_stand_the_parameters_and_one_short_cell(name: str) -> None:
    before = []
    for cell in cells(name):
        if cell.cell_type == "markdown" and re.search(
            "^## ", cell.source, re.MULTILINE
        ):
            break
        if cell.cell_type == "code":
            before.append(cell)
    parameters, *checks = before
    assert tags(parameters) == ["parameters"]
    assert [tags(cell) for cell in checks] in ([], [["checks", "hide-input"]])
    assert all(len(cell.source.splitlines()) <= 30 for cell in checks)


@pytest.mark.parametrize("name", PAPERS)
def test_the_lesson_folds_nothing_but_solutions(name: str) -> None:
    lesson, _ = parts(name)
    prose = "\n".join(cell.source for cell in lesson if cell.cell_type == "markdown")
    assert [
        found
        for found in re.findall(r"<summary>(.*?)</summary>", prose)
        if "olution" not in found
    ] == []
    assert not [word for word in ("our copy", "see below") if word in prose.lower()]


@pytest.mark.parametrize("name", NAMES)
def test_only_sections_under_further_are_collapsed_and_no_row_leads_into_one(
    name: str,
) -> None:
    further = False
    level = 0  # of the heading that hides what follows, 0 for none
    hidden = set()
    for cell in cells(name):
        if cell.cell_type != "markdown":
            continue
        further |= bool(re.match("#+ Further", cell.source))
        for marks, heading in re.findall(r"^(#+) +(.+?) *$", cell.source, re.MULTILINE):
            if level and len(marks) <= level:
                level = 0
            if "collapsed" in tags(cell) and not level:
                assert further, (
                    f"{heading} is collapsed, but does not stand under Further"
                )
                level = len(marks)
            if level:
                hidden.add(heading)
    rows = ledger.published(PAPERS[name]) if name in PAPERS else ledger.published()[:0]
    assert hidden.isdisjoint(rows["section"])


@pytest.mark.parametrize("name", NAMES)
def test_parameters_keep_their_values_to_the_end(name: str) -> None:
    """The scoreboard compares them with the usual ones after each recorded row."""
    assigned = set()
    for cell in cells(name):
        if cell.cell_type == "code" and "parameters" not in tags(cell):
            assigned |= names_assigned(
                ast.parse(re.sub("^[%!].*", "", cell.source, flags=re.MULTILINE))
            )
    assert assigned.isdisjoint(runner.notebook_parameters(name))


INNER = (
    ast.FunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
"""What has names of its own."""


def names_assigned(node: ast.AST) -> set[str]:
    """Return the names that code assigns, except for those of its functions and comprehensions."""
    found = (
        {node.id}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        else set()
    )
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, INNER):
            found |= names_assigned(child)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_file_and_its_caption_have_the_same_number(name: str) -> None:
    """fig3_map is Figure 3, of the paper or of a page without one, and figa3_map is Figure A3."""
    notebook = nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)
    wrong = []
    for figure in notebook_pages.figures(name, notebook, paths.figures() / name):
        file = re.match(r"fig(a?\d+)", figure.stem)
        caption = re.match(r"(?:Paper, )?Figures?\s(A?\d+)", figure.label)
        if file and (caption is None or caption[1].lower() != file[1]):
            wrong.append(f"{figure.stem} is called {figure.label}")
    assert wrong == []
