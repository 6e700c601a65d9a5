"""The order of a notebook: a lesson that ends, then the paper claim by claim."""

import ast
import re
from collections.abc import Callable

import lesson_shape
import nbformat
import pytest
from lesson_shape import tags

from dpsim import ledger, paths
from dpsim.notebook import load
from tools import notebooks  # makes the modules of the site importable

import notebook_pages  # isort: skip

NAMES = paths.notebook_names()
PAPERS = {notebook: paper for paper, notebook in ledger.papers()["notebook"].items()}


def cells(name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4).cells


Check = Callable[[list[nbformat.NotebookNode]], None]
CHECKS: list[Check] = [
    lesson_shape.check_opening,
    lesson_shape.check_first_code,
    lesson_shape.check_exercises,
    lesson_shape.check_end,
]


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_lesson_has_its_shape(check: Check, name: str) -> None:
    check(cells(name))


@pytest.fixture
def page() -> str:
    """Return the page that shows the cells of a notebook."""
    return (paths.root() / "CONTRIBUTING.md").read_text(encoding="utf-8")


def begun(page: str) -> list[nbformat.NotebookNode]:
    return nbformat.reads(notebooks.begun(page), as_version=4).cells


def test_the_cells_that_the_page_shows_have_the_shape_of_a_lesson(page: str) -> None:
    for check in CHECKS:
        check(begun(page))


@pytest.mark.parametrize(
    "check, old, new",
    [
        (
            lesson_shape.check_opening,
            "**After this lesson",
            "With ε = 1 it holds.\n\n**",
        ),
        (lesson_shape.check_opening, "- say how large the error is.\n", ""),
        (lesson_shape.check_opening, "thumbnail.png", "fig1_errors.png"),
        (lesson_shape.check_first_code, "# only for Part 2\n", ""),
        (
            lesson_shape.check_first_code,
            'seed = parameters.integer("seed"',
            'parameters.integer("seed"',
        ),
        (lesson_shape.check_first_code, "You may skip the next cell.", "Look."),
        (lesson_shape.check_exercises, "**Exercise 2.**", "**Exercise 4.**"),
        (lesson_shape.check_exercises, "([solution](#Solution-3))", ""),
        (
            lesson_shape.check_exercises,
            "assert np.isclose(within",
            "print(np.isclose(within",
        ),
        (lesson_shape.check_end, "## The short answer", "## The end"),
        (lesson_shape.check_end, "00_overview.ipynb", "elsewhere.ipynb"),
        (lesson_shape.check_end, "## The price", "## Which mechanism to use"),
    ],
)
def test_another_shape_is_noticed(check: Check, old: str, new: str, page: str) -> None:
    assert old in page
    with pytest.raises(AssertionError):
        check(begun(page.replace(old, new)))


@pytest.mark.parametrize("name", PAPERS)
def test_the_scoreboard_opens_part_2(name: str) -> None:
    _, _, paper = lesson_shape.parts(cells(name))
    code = [cell.source for cell in paper if cell.cell_type == "code"]
    assert code[0].strip() == f'ledger.scoreboard("{PAPERS[name]}")'
    assert sum(cell.source.count("ledger.scoreboard(") for cell in cells(name)) == 1


@pytest.mark.parametrize("name", PAPERS)
def test_the_lesson_does_not_point_to_what_its_reader_cannot_see(name: str) -> None:
    lesson, _, _ = lesson_shape.parts(cells(name))
    prose = "\n".join(cell.source for cell in lesson if cell.cell_type == "markdown")
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
        if cell.cell_type == "code" and not {"parameters", "checks"} & set(tags(cell)):
            assigned |= names_assigned(
                ast.parse(re.sub("^[%!].*", "", cell.source, flags=re.MULTILINE))
            )
    assert assigned.isdisjoint(load(name).parameters)


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
    """Return the names that code assigns, except for those of its functions and
    comprehensions."""
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
    """fig3_map is Figure 3, of the paper or of a page without one, and figa3_map is
    Figure A3."""
    notebook = nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)
    wrong = []
    for figure in notebook_pages.figures(name, notebook, paths.figures() / name):
        file = re.match(r"fig(a?\d+)", figure.stem)
        caption = re.match(r"(?:Paper, )?Figures?\s(A?\d+)", figure.label)
        if file and (caption is None or caption[1].lower() != file[1]):
            wrong.append(f"{figure.stem} is called {figure.label}")
    assert wrong == []
