"""README's generated tables: the papers, and our plots of their figures."""

from __future__ import annotations

import re
import textwrap

import pandas as pd

from dpsim import notebook, paths
from dpsim.ledger.display import by_paper
from dpsim.ledger.rows import papers
from dpsim.ledger.table_formats import markdown_table
from dpsim.ledger.verdicts import VERDICTS

WHOSE = "**Whose numbers these are.**"
"""The words before those with which a notebook names its stand-ins."""

WIDTH = 120
"""The width of a line of prose in README.md."""


def papers_table(table: pd.DataFrame, folder: str = "") -> str:
    """Return README's table of the papers as Markdown, and the sentences below it.

    For each paper, the table has its notebook, what stands in for what (in the words of
    the notebook), how many of the reported values were reproduced, and the number of
    claims with each verdict. Except for "agrees", a verdict has a column only if some
    claim has that verdict.

    Parameters
    ----------
    table : DataFrame
        As `judged_claims` returns it.
    folder : str
        The folder of the notebooks, relative to the text; "" for no links.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.papers_table(ledger.judged_claims()).startswith("| paper and notebook")
    True
    """
    declared = papers()
    counted = by_paper(table)
    words = [word for word in VERDICTS if word == "agrees" or counted[word].any()]
    rows = []
    for paper, found in counted.iterrows():
        name, reference = declared.loc[paper, ["notebook", "reference"]]
        shown = f"[`{name}`]({folder}/{name}.ipynb)" if folder else f"`{name}`"
        values = " / ".join(map(str, _values(table[table["paper"] == paper])))
        about = f"{reference.rpartition(',')[0]}: {shown}"
        rows.append([about, _whose(name), values, *found[words]])
    columns = ["paper and notebook", "whose numbers these are", "values", *words]
    return f"{markdown_table(columns, rows, (0, 1))}\n\n{_about_values(table)}\n"


def _values(table: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many of the values that papers report were reproduced, how many could
    be tested, and how many there are."""
    verdicts = table["verdict"][
        (table["claim"] == "value") & (table["inputs"] != "none")
    ]
    tested = verdicts != "not tested"
    return int((verdicts == "agrees").sum()), int(tested.sum()), len(verdicts)


def values_sentence(table: pd.DataFrame) -> str:
    """Return how many of the values that the papers report were reproduced.

    Parameters
    ----------
    table : DataFrame
        As `judged_claims` returns it.
    """
    reproduced, tested, values = _values(table)
    return (
        f"**Of the {values} numbers that the papers report as results, {tested} could "
        f"be tested, and {reproduced} came out again.**\n"
    )


def _about_values(table: pd.DataFrame) -> str:
    """Return the sentences below README's table."""
    reproduced, tested, values = _values(table)
    fell = int(
        ((table["claim"] == "value") & (table["verdict"] == "contradicted")).sum()
    )
    judged = int((table["inputs"] != "none").sum())
    return textwrap.fill(
        "The column *values* counts the results that a paper reports as numbers (and "
        "not as limits): reproduced / could be tested / all. "
        f"Of {values} such values, {tested} could be tested. Of these, {reproduced} "
        f"equals ours after rounding, and {fell} are ruled out by a theorem or by "
        f"another sentence of the paper. The other {values - tested} depend on data or "
        "on inputs that the papers do not publish. The columns on the right count all "
        f"{judged} claims that are judged: values, limits, trends, statements and "
        f"slips. The report also lists {len(table) - judged} rows that are shown but "
        "not judged, such as sizes and measured times.",
        width=WIDTH,
    )


def _whose(name: str) -> str:
    """Return what a notebook says about whose numbers it uses, without its heading."""
    for paragraph in _paragraphs(name):
        if WHOSE in paragraph:
            text = " ".join(paragraph.partition(WHOSE)[2].split())
            # where more is said or a figure stands concerns only the notebook's reader
            text = re.sub(r" \(\[[^]]*\]\(#[^)]*\)\)", "", text)
            text = re.sub(r"\[([^]]*)\]\(#[^)]*\)", r"\1", text)
            return re.sub(r" (?:The paper's )?Figures? [^.]*\.$", "", text)
    return ""


def _paragraphs(name: str) -> list[str]:
    """Return the paragraphs of a notebook's Markdown cells."""
    if name not in paths.notebook_names():
        return []
    cells = notebook.load(name).cells
    texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    return [part for text in texts for part in text.split("\n\n")]


def figure_index() -> str:
    """Return README's index of our plots of the papers' figures, as Markdown.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "(figures/" in ledger.figure_index()
    True
    """
    rows = []
    for name, reference in papers().set_index("notebook")["reference"].items():
        links = []
        for _, stem in sorted(_papers_figures(name)):
            title = stem[3:].replace("_", " ")
            links.append(f"[{title}](figures/{name}/{stem}.png)")
        paper = f"[{reference.rpartition(',')[0]}](notebooks/{name}.ipynb)"
        rows.append((paper, ", ".join(links)))
    columns = ("paper", "our plots of its figures")
    return f"{PLOTS}\n\n{markdown_table(columns, rows, range(2))}\n"


PLOTS = textwrap.fill(
    "Our plots of the papers' figures use stand-ins where the table above says so. We "
    "have not seen the papers' own pictures, because our copies contain only the texts "
    "and the captions.",
    width=WIDTH,
)


def _papers_figures(name: str) -> list[tuple[int, str]]:
    """Return the number and the stem of each plot of a figure of the paper."""
    stems = [path.stem for path in (paths.figures() / name).glob("*.png")]
    numbers = [(re.match(r"fig([1-9]\d*)_\w+", stem), stem) for stem in stems]
    return [(int(found[1]), stem) for found, stem in numbers if found]
