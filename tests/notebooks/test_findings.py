"""Our own advice and comparisons: each has a row, and a link that says its ground."""

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import nbformat
import pytest

from dpsim import ledger, paths
from tools import notebooks  # noqa: F401  # it makes the modules of the site importable

import markup  # isort: skip
import notebook_pages  # isort: skip

COMPARES = (
    r"\b(?:than|better|best|worse|worst|fewest|smallest|largest|least|closest"
    r"|half as|twice as|times as|as much as|advantage|either|cannot|never|always|only"
    r"|need not|no longer)\b"
)
"""Words of a sentence that compares. It needs a row of its own."""

ADVISES = r"\b(?:choose|prefer|avoid|should|take|add|use|ask|compare)\b"
"""Words of a sentence that advises. A row in the same paragraph gives the reason."""

LINK = re.compile(r"\s*\(?\[([^\]]+)\]\([^)\s]*REPORT\.md#([\w.]+)\)\)?")
"""The link from a sentence to its row; the text is the ground."""

MARK = re.compile(r" ⟦([^|⟧]*)\|([^⟧]*)⟧")
"""Such a link in the texts of this module: the ground and the id."""

OVERVIEW = "00_overview"
ADVICE = "## What to do after reading"
ROWS = ledger.findings()


def marked(text: str) -> str:
    """Return Markdown as plain text, with a mark in place of each link to a row."""
    text = markup.plain(LINK.sub(r" ⟦\1|\2⟧", text))
    return re.sub(r"([.!?])( ⟦[^⟧]*⟧)\.?", r"\2\1", text)


def section(text: str, heading: str) -> str:
    """Return the text under a heading, up to the next heading that is not deeper, or
    "" without such a heading."""
    level = len(heading.split()[0])
    rest = f"\n{text}\n".partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


@functools.cache
def cells(name: str) -> Any:
    return nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)


@functools.cache
def prose(name: str) -> str:
    """Return the Markdown of a notebook."""
    sources = [cell.source for cell in cells(name).cells if cell.cell_type != "code"]
    return "\n\n".join(sources)


@functools.cache
def captions(name: str) -> dict[str, str]:
    """Return the first paragraph of each figure's caption, by the stem of its file."""
    found = notebook_pages.figures(name, cells(name), paths.figures() / name)
    return {figure.stem: figure.caption.split("\n\n")[0] for figure in found}


def message(caption: str) -> str:
    """Return what a caption says in bold, without the figure's number."""
    bold = re.match(
        r"\*\*(?:Paper, )?Figures?\s[\w–-]+\.(?:\*\*\s+\*\*|\s+)(.+?)\*\*",
        caption,
        re.DOTALL,
    )
    return bold[1] if bold else ""


class Place(NamedTuple):
    """A text that compares or advises: of which notebook, what it is called in the
    column `places`, and its Markdown."""

    notebook: str
    name: str
    text: str


def places() -> Iterator[Place]:
    """Yield the places whose sentences have rows."""
    readme = (paths.root() / "README.md").read_text(encoding="utf-8")
    yield Place("", "README", section(readme, ADVICE))
    which = section(prose(OVERVIEW), "## Which mechanism to use")
    yield Place(OVERVIEW, "which mechanism", which)
    for name in paths.notebook_names():
        if name in (OVERVIEW, *ledger.papers()["notebook"]):
            answer = section(prose(name), "## The short answer")
            yield Place(name, "short answer", answer)
        for stem, caption in captions(name).items():
            if stem == "thumbnail":
                continue
            bold = message(caption)
            after = caption[caption.index(bold) + len(bold) + 2 :] if bold else ""
            linked = LINK.match(after)
            yield Place(name, stem, bold + (linked[0] if linked else ""))


def paragraphs(text: str) -> Iterator[list[str]]:
    """Yield the paragraphs, list items and table lines of a Markdown text, each as its
    sentences."""
    for part in re.split(r"\n\n|\n(?=[-|\d])", text):
        part = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", part)
        cells = part.strip("|").split(" | ") if part.startswith("|") else [part]
        found = [re.split(r"(?<=[.!?])\s+(?=[A-Z(])", marked(cell)) for cell in cells]
        yield [sentence for cell in found for sentence in cell]


@functools.cache
def place_text(notebook: str, place: str) -> str:
    """Return the plain text of a place that a row names."""
    if place == "overview":
        return marked(prose(OVERVIEW))
    if place in ("README", "which mechanism"):
        notebook = OVERVIEW if place != "README" else ""
    other, colon, stem = place.rpartition(":")
    owner = {"overview": OVERVIEW}.get(other, other) if colon else notebook
    found = [
        each.text
        for each in PLACES
        if each.notebook == owner and re.match(rf"{stem}(?![a-z0-9])", each.name)
    ]
    assert found, f"no such place: {place}"
    return marked("\n\n".join(found))


PLACES = list(places())


@pytest.mark.parametrize("place", PLACES, ids=lambda each: f"{each[0]}-{each[1]}")
def test_each_sentence_that_compares_or_advises_links_to_its_row(place: Place) -> None:
    assert place.text, "the heading or the bold message is missing"
    grounds = ledger.judged_findings()["ground"]
    for text, among in (
        (text, "".join(part)) for part in paragraphs(place.text) for text in part
    ):
        links = MARK.findall(text)
        plain = MARK.sub("", text)
        for words, linked in ((COMPARES, links), (ADVISES, MARK.findall(among))):
            assert linked or not re.search(words, plain, re.IGNORECASE), (
                f"a row in data/findings.csv and a link are missing: {plain!r}"
            )
        for ground, id in links:
            assert id in grounds, f"data/findings.csv has no row {id!r}"
            assert ground == grounds[id], f"{id} is {grounds[id]!r}, not {ground!r}"
            assert ROWS.loc[id, "sentence"].rstrip(".") in plain


STAND = ROWS[ROWS["basis"] != "withdrawn"]


@pytest.mark.parametrize("row", list(STAND.itertuples()), ids=lambda row: row.Index)
def test_each_row_stands_where_it_says(row: Any) -> None:
    for place in row.places.split("; "):
        text = place_text(row.notebook, place)
        written = re.escape(row.sentence.rstrip("."))
        ground = re.escape(ledger.GROUNDS[row.basis])
        assert re.search(rf"{written} ⟦{ground}\|{re.escape(row.Index)}⟧", text), (
            f"{place} must say {row.sentence!r} with a link to {row.Index}"
        )
    if row.basis == "stand-in":
        assert re.search("stand-in|made up|our", row.sentence), "say so in words"


FELL = ROWS[ROWS["basis"] == "withdrawn"]


@pytest.mark.parametrize("row", list(FELL.itertuples()), ids=lambda row: row.Index)
def test_a_withdrawn_sentence_stands_nowhere(row: Any) -> None:
    readme = (paths.root() / "README.md").read_text(encoding="utf-8")
    for text in (readme, *map(prose, paths.notebook_names())):
        assert row.sentence not in marked(text)
    assert re.search(r"\d", row.reason), "the counterexample has numbers"


@pytest.mark.parametrize("row", list(ROWS.itertuples()), ids=lambda row: row.Index)
def test_each_row_belongs_to_a_heading_of_its_notebook(row: Any) -> None:
    headings = re.findall(r"^#+ +(.+?) *$", prose(row.notebook), re.MULTILINE)
    assert headings.count(row.section) == 1


def test_the_words_of_a_sentence_that_compares_and_how_it_is_read() -> None:
    text = (
        "Use $\\epsilon$. It is **smaller** than `b` "
        "([proved](../figures/REPORT.md#a.b)). See."
    )
    assert list(paragraphs(text)) == [
        ["Use ε.", "It is smaller than b ⟦proved|a.b⟧.", "See."]
    ]
    other = "It is true. ([proved](figures/REPORT.md#a.b))"
    assert marked(other) == "It is true ⟦proved|a.b⟧."
    assert re.search(COMPARES, "It is smaller than b.")
    assert not re.search(COMPARES, "A cold walk stays near the truth.")
    assert message("**Figure A1.** **It\nis so.** More.") == "It\nis so."
    assert message("**Paper, Figure 1. It is so.** More.") == "It is so."
    assert message("**Figure A1.** It is so.") == ""
