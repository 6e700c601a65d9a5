"""How a notebook reads: the key figure first, few words and lines, and no number in prose without its evidence."""

import re
from collections.abc import Iterator
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest

from dpsim import ledger, paths

FURTHER = re.compile(r"^#+ +Further\b", re.MULTILINE)
"""The heading of part 2."""

CODE = {
    "boltzmann_histograms": 640,
    "data_driven_markov": 620,
    "matrix_dirichlet": 480,
    "mdp_policy_synthesis": 520,
    "permute_and_flip": 500,
}
"""Lines of code that a notebook has at most, folded ones too; another one the least of these."""

EXCEPTIONS: dict[str, dict[str, str]] = {"data_driven_markov": {"2,933,898": "the paper's number of trips"}}
"""Numbers in the prose of a notebook that no cell shows: notebook, then number, then the reason."""

NUMBER = re.compile(r"(?<![\w.,/-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+| *\\?%)?(?![\w/]|[.,]\d)")
"""A number in a text, with its thousands, its power of ten or its per cent; none inside a word or a name."""

NO_RESULT = re.compile(
    r"`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>]+>"
    r"|\b(?:Theorems?|Corollary|Lemma|Section|Definition|Assumption|Algorithm|Proposition|Remark|Appendix|Tables?|Figures?|"
    r"arXiv:?|doi:?|equations?|exercise|part|page|issue)s?\W+A?[\d.]+[a-z]?(?:(?:, | and | to |-)A?[\d.]+[a-z]?)*",
    re.IGNORECASE,
)
"""What holds digits and no result: code, addresses, names of places in a paper."""


def cells(name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4).cells


def words(chosen: list[nbformat.NotebookNode]) -> int:
    return sum(len(cell.source.split()) for cell in chosen if cell.cell_type == "markdown")


def lines(chosen: list[nbformat.NotebookNode], imports: bool = True) -> int:
    """Return the lines of code, of folded cells too; imports, which stand in one cell, only if asked for."""
    code = (line for cell in chosen if cell.cell_type == "code" for line in cell.source.splitlines())
    return sum(imports or not line.startswith(("import ", "from ")) for line in code)


def key_figure(chosen: list[nbformat.NotebookNode]) -> int:
    """Return which cell shows the first picture."""
    return next(
        i for i, cell in enumerate(chosen) if any("image/png" in o.get("data", {}) for o in cell.get("outputs", []))
    )


def part_one(chosen: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Return the cells above the heading of part 2."""
    end = next(i for i, cell in enumerate(chosen) if cell.cell_type == "markdown" and FURTHER.search(cell.source))
    return chosen[:end]


@pytest.mark.parametrize("name", list(ledger.papers()["notebook"]))
def test_the_key_figure_comes_first_and_the_notebook_is_short(name: str) -> None:
    all_of_it = cells(name)
    place, paper = key_figure(all_of_it), part_one(all_of_it)
    assert words(all_of_it[:place]) < 450
    assert lines(all_of_it[: place + 1], imports=False) <= 56
    assert words(paper) <= 1800
    assert words(all_of_it) <= 3000 and lines(all_of_it) <= CODE.get(name, min(CODE.values()))


def rendered(cell: nbformat.NotebookNode) -> int:
    """Return how many words a reader of a cell sees beside its code: prose, and what code prints."""
    if cell.cell_type == "markdown":
        return len(cell.source.split())
    shown = (
        output.get("text", "") + output.get("data", {}).get("text/markdown", "") for output in cell.get("outputs", [])
    )
    return sum(len(text.split()) for text in shown)


def test_the_overview_begins_with_a_lesson_of_ten_minutes() -> None:
    all_of_it = cells("00_overview")
    heads = [i for i, cell in enumerate(all_of_it) if re.search(r"^## ", cell.source, re.MULTILINE)]
    assert "## Differential privacy in ten minutes" in all_of_it[heads[0]].source
    assert sum(map(rendered, all_of_it[: heads[1]])) <= 600
    assert sum(map(rendered, all_of_it[: key_figure(all_of_it)])) <= 150, "its chart on the first screens"
    assert sum(map(rendered, all_of_it)) <= 1800


@pytest.mark.parametrize("name", [name for name in paths.notebook_names() if name != "00_overview"])
def test_a_notebook_has_at_most_2600_rendered_words(name: str) -> None:
    assert sum(map(rendered, cells(name))) <= 2600


def numbers_in(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield each number of a text: as written, its value, and half a unit of its last digit."""
    for found in NUMBER.finditer(NO_RESULT.sub(" ", text).replace("{,}", ",")):
        written = found.group().replace("−", "-")
        mantissa = re.match(r"-?[\d,]+(?:\.(\d+))?", written)
        assert mantissa
        power = int(written.lower().partition("e")[2] or 0) if "%" not in written else -2
        digits = mantissa[0].replace(",", "")
        yield written, float(f"{digits}e{power}"), 0.5 * 10.0 ** (power - len(mantissa[1] or ""))


def results_in(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield the numbers of a text that may be results: no whole number below 100, no year, none of one digit."""
    for written, value, half in numbers_in(text):
        plain = re.fullmatch(r"-?[\d,]+", written) and (
            abs(value) < 100 or re.fullmatch(r"19\d\d|20\d\d|2100", written)
        )
        if not plain and len(re.sub(r"[eE].*|\D", "", written).lstrip("0")) >= 2:
            yield written, value, half


def shown(name: str) -> np.ndarray:
    """Return every number that a cell or its output, a csv or the ledger shows, sorted, without signs."""
    texts = []
    for cell in cells(name):
        if cell.cell_type == "code":
            texts += [cell.source]
            for output in cell.outputs:
                data = output.get("data", {})
                texts += [output.get("text", ""), *(data[kind] for kind in ("text/plain", "text/html") if kind in data)]
    ledger_rows = ledger.report()
    ledger_rows = ledger_rows[ledger_rows["paper"].map(ledger.papers()["notebook"]) == name]
    texts += [*ledger_rows["printed"], *ledger_rows["quantity"]]
    held = [float(x.replace(",", "")) for text in texts for x in re.findall(r"\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?", text)]
    tables = [pd.read_csv(path) for path in (paths.figures() / name).glob("*.csv")]
    numbers = [table.select_dtypes("number").to_numpy(float).ravel() for table in tables]
    numbers += [ledger_rows[column].to_numpy(float) for column in ("reproduced", "expected", "published", "limit")]
    everything = np.abs(np.concatenate([held, *numbers]))
    return np.sort(everything[np.isfinite(everything)])


def without_evidence(text: str, held: np.ndarray) -> list[str]:
    """Return the numbers of a text that round from none of those held, as they stand or as a share of one."""
    missing = []
    for written, value, half in results_in(text):
        for scale in (1.0, 100.0) if "%" in written else (1.0,):
            target, slack = abs(value) * scale, half * scale * (1 + 1e-6)
            near = np.searchsorted(held, [target - slack, target + slack])
            if near[0] < near[1]:
                break
        else:
            missing.append(written)
    return missing


@pytest.mark.parametrize("name", paths.notebook_names())
def test_each_number_in_prose_stands_in_an_output_a_table_or_the_ledger(name: str) -> None:
    held, excused = shown(name), EXCEPTIONS.get(name, {})
    prose = [cell.source for cell in cells(name) if cell.cell_type == "markdown"]
    found = {number: text[:60] for text in prose for number in without_evidence(text, held) if number not in excused}
    assert not found, "print it, or excuse it in EXCEPTIONS with a reason"
    used = {written for text in prose for written, _, _ in results_in(text)}
    assert set(excused) <= used, "excuses that nothing needs"


@pytest.mark.parametrize("row", list(ledger.published().itertuples()), ids=lambda row: row.Index)
def test_a_sentence_of_the_ledger_types_no_number_of_ours(row: Any) -> None:
    rows = ledger.published().query("paper == @row.paper")
    theirs = [*(rows["printed"] + " " + rows["unit"]), *rows["quantity"], f"{row.draws:.0f}"]
    held = {value for text in theirs for _, value, _ in numbers_in(text)}
    typed = [
        found
        for found in numbers_in(re.sub(r"\{[^}]*\}", "", row.sentence))
        if not re.fullmatch(r"-?\d\d?|20\d\d", found[0])
    ]
    assert [written for written, value, _ in typed if value not in held] == [], "fill it, or leave it out"


def test_what_is_a_result_in_a_text_and_what_is_evidence() -> None:
    text = "In 2026, Theorem 5.12 and `0.77` give 12.7 letters, 34 %, 2,931,688 trips and $1.4e-16$; 45 zones, 0.5."
    assert [written for written, _, _ in results_in(text)] == ["12.7", "34 %", "2,931,688", "1.4e-16"]
    held = np.array([1.397e-16, 0.3435, 12.6866, 2931688.0])
    assert without_evidence(text, held) == []
    assert without_evidence(text.replace("12.7", "12.6"), held) == ["12.6"]
    assert without_evidence(text.replace("34 %", "35 %"), held) == ["35 %"]
