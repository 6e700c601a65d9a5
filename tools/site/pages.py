"""The pages that are made: index, how to run it, notebooks, published and reproduced,
errata."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import addresses
import answers
import explore_page
import interface
import measurements
import notebook_pages
from markup import escape, plain, toctree
from notebook_pages import Figure

from dpsim import ledger, paths

READERS = """\
<div class="readers">
<a href="notebooks/index.html"><b>You read one of the papers</b>its
figures plotted again, its claims checked</a>
<a href="notebooks/your_own_chain.html"><b>You have data</b>from a
table of events to a private chain</a>
<a href="explore.html"><b>You teach</b>interactive charts for the
browser, each from a lesson</a>
<a href="api/index.html"><b>You write code</b>the mechanisms, their
exact accounting, the command line</a>
</div>"""
"""Four kinds of readers, and where each goes in one click."""

INTRODUCTION = f"""The numbers that the papers report beside those that we compute
(<a href="data/published.csv" download>the table</a>;
[what stands in for the papers' data](data.md);
[how a claim is judged](ledger.md); [what does not hold](errata.md)).

{ledger.LEGEND}
{{summary}}"""
"""What the page of numbers says before its tables."""


PAGES = {
    "data/README.md": "data.md",
    "data/LEDGER.md": "ledger.md",
    "figures/REPORT.md": "report.md",
}
"""Files to which the README links, and their pages here."""


def _without_local_links(markdown: str) -> str:
    """Return the text of a file of data/, whose links to other files lead to their
    pages."""
    for file, page in PAGES.items():
        name = file.partition("/")[2]
        markdown = markdown.replace(f"](../{file})", f"]({page})").replace(
            f"]({name})", f"]({page})"
        )
    return markdown


def ordered(names: list[str]) -> list[str]:
    """Return the notebooks as they are read: the overview, the papers in the report's
    order, the others."""
    papers = list(ledger.papers()["notebook"])
    return sorted(
        names,
        key=lambda n: (
            not n.startswith("00_"),
            papers.index(n) if n in papers else len(papers),
            n,
        ),
    )


def write(folder: Path, notebooks: Mapping[str, Any]) -> None:
    """Write every made page into the folder; notebooks: name -> notebook as committed,
    in reading order."""
    figures = {
        name: notebook_pages.figures(name, notebook, paths.figures() / name)
        for name, notebook in notebooks.items()
    }
    texts = {
        "index.md": index(notebooks, figures),
        "explore.md": explore_page.page(notebooks),
        "run.md": run_it_yourself(),
        "notebooks/index.md": notebook_list(notebooks),
        "report.md": published_and_reproduced(),
        "errata.md": errata(notebooks),
        "known_answers.md": answers.page(),
        "data.md": _without_local_links(
            (paths.data() / "README.md").read_text(encoding="utf-8")
        ),
        "ledger.md": _without_local_links(
            (paths.data() / "LEDGER.md").read_text(encoding="utf-8")
        ),
        "notebooks/terms.md": (paths.notebooks() / "terms.md").read_text(
            encoding="utf-8"
        ),
        **interface.pages(),
    }
    if measurements.texts():
        texts["measurements.md"] = measurements.page(folder)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def index(notebooks: Mapping[str, Any], figures: Mapping[str, list[Figure]]) -> str:
    """Return the first page: what this is, four ways on, what to do, and a card for
    each notebook with a link to each figure."""
    title, opening = (
        (paths.root() / "README.md").read_text(encoding="utf-8").split("\n\n")[:2]
    )
    cards = [
        card(name, notebook, figures[name]) for name, notebook in notebooks.items()
    ]
    pages = [
        "explore",
        "notebooks/index",
        "All claims <report>",
        "errata",
        "run",
        "api/index",
        "data",
        "ledger",
        "known_answers",
    ]
    pages += ["measurements"] if measurements.texts() else []
    return "\n\n".join(
        [
            title,
            opening,
            READERS,
            *_advice(),
            "## The notebooks",
            '<div class="cards">',
            *cards,
            "</div>",
            "[One page](report.md) compares what the papers report with what we find, "
            "and [another](errata.md) lists what does not hold. To change a "
            "parameter, [run the project yourself](run.md). [The "
            "overview](notebooks/00_overview.ipynb) says which mechanism to use, and "
            "when, and [the terms](notebooks/terms.md) explain the words.",
            toctree(pages),
        ]
    )


def _sections() -> list[str]:
    """Return the sections of the README, without those that are generated, because the
    site has pages of its own."""
    readme = (paths.root() / "README.md").read_text(encoding="utf-8")
    return [
        f"## {section}".strip()
        for section in readme.split("\n## ")[1:]
        if "<!-- " not in section
    ]


def _is_advice(section: str) -> bool:
    """Return whether a section of the README is a list of advice, and not a way to run
    something."""
    return "\n- **" in section and "```" not in section


def _advice() -> list[str]:
    """Return the first page's part of the README: what a reader should do."""
    return [
        _on_the_site(block)
        for section in _sections()
        if _is_advice(section)
        for block in section.split("\n\n")
    ]


def run_it_yourself() -> str:
    """Return the README's sections, except for its advice and what is generated, as a
    page: its tables and pictures are elsewhere here."""
    blocks = [
        block
        for section in _sections()
        if not _is_advice(section)
        for block in section.split("\n\n")
    ]
    return "\n\n".join(
        [
            "# Install it and run it yourself",
            *(_on_the_site(block) for block in blocks if not block.startswith("|")),
        ]
    )


def _on_the_site(markdown: str) -> str:
    """Return a block of the README: commands within the page's width, links to what is
    a page here, others as words."""
    markdown = addresses.filled(markdown, addresses.declared())
    if markdown.startswith(("```\n", "```sh\n")):
        return re.sub(r"^```\n", "```sh\n", markdown)
    markdown = re.sub(
        r"!\[([^\]]*)\]\([^)]*\)", r"\1", markdown
    )  # images of other origins stay out

    def link(found: re.Match[str]) -> str:
        words = found[1]
        target = found[2]
        if target.startswith(measurements.RESULTS) and measurements.texts():
            return f"[{words}](measurements.md)"
        file, _, row = target.partition("#")
        page = target if target.startswith("notebooks/") else PAGES.get(file)
        if page and row and file in PAGES:
            return f'<a href="{page.replace(".md", ".html")}#{row}">{words}</a>'
        return f"[{words}]({page})" if page else words

    return re.sub(r"\[([^\]]+)\]\((?!\w+:|#)([^)]+)\)", link, markdown)


def notebook_list(notebooks: Mapping[str, Any]) -> str:
    """Return the page above the notebooks: what each asks."""
    lines = [
        f"- [{notebook_pages.title(notebook)}]({name}.ipynb)"
        + (f" {paper}" if (paper := notebook_pages.reference(name)) else "")
        for name, notebook in notebooks.items()
    ]
    lines.append("- [The terms that they use](terms.md)")
    return "\n\n".join(
        ["# Notebooks", "\n".join(lines), toctree([*notebooks, "terms"])]
    )


def published_and_reproduced() -> str:
    """Return the page of every number: what the verdicts mean, the tables; what does
    not hold leads to its erratum."""
    table = ledger.judged_claims()
    summary = ledger.papers_table(table)
    wrong = table["sent"] != ""
    links = [
        f'<a href="errata.html#{_place(id)}">{shown}</a>'
        for id, shown in table["shown"][wrong].items()
    ]
    table.loc[wrong, "shown"] = links
    table["where"] = [_where(row) for row in table.itertuples()]
    return "\n\n".join(
        [
            "# What the papers report, and what we find",
            INTRODUCTION.format(summary=summary),
            ledger.about_letters(table),
            ledger.markdown(table),
            ledger.findings_text(ledger.judged_findings()).replace(
                "](../notebooks/", "](notebooks/"
            ),
        ]
    )


def _where(row: Any) -> str:
    """Return the place of a row, as a link to the section of the notebook that settles
    it."""
    if not row.section:
        return str(row.where)
    notebook = ledger.papers().loc[row.paper, "notebook"]
    page = f"notebooks/{notebook}.html#{ledger.site_anchor(row.section)}"
    return f'<a href="{page}">{escape(row.where)}</a>'


def errata(notebooks: Mapping[str, Any]) -> str:
    """Return the page of what cannot hold as printed, or fails under our reading: why,
    and where it is shown."""
    table = ledger.judged_claims()
    table = table[table["sent"] != ""]
    parts = [
        "# Errata",
        "This page lists the claims of the papers that are contradicted, and slips "
        "that a small correction repairs. Each entry gives the limit that settles the "
        "question, and the reason for it. The notebooks also list gaps in proofs and "
        "misprints without a number of their own.",
        ledger.about_letters(table),
    ]
    for paper, name in ledger.papers()["reference"].items():
        rows = table[table["paper"] == paper]
        if rows.empty:
            continue
        parts += [f"## {name}"]
        for row in rows.itertuples():
            parts += [
                f'<div id="{_place(row.Index)}"></div>',
                f"### {escape(row.where)}: {escape(row.quantity)}",
            ]
            parts += [_erratum(row, notebooks)]
    return "\n\n".join(parts)


def card(name: str, notebook: Any, figures: list[Figure]) -> str:
    """Return a notebook's card: its title, its paper, its question, its picture, and a
    link to each figure."""
    page = f"notebooks/{name}.html"
    title = html.escape(plain(notebook_pages.title(notebook)))
    links = []
    for figure in sorted(figures, key=_number):
        label = html.escape(plain(figure.label))
        address = f"{page}#{figure.anchor}"
        links.append(f'<a href="{address}" aria-label="{label}: {title}">{label}</a>')
    image = notebook_pages.thumbnail(name, notebook, paths.figures() / name)
    if figures and not image:
        key = next(
            (figure for figure in figures if figure.caption.startswith("**Paper,")),
            figures[0],
        )
        path = f"figures/{name}/{key.stem}.png"
        width, height = notebook_pages.screen_size(
            paths.figures() / name / f"{key.stem}.png"
        )
        image = (
            f'<img src="{path}" alt="{html.escape(key.alt)}" width="{width}" '
            f'height="{height}">'
        )
    reference = notebook_pages.reference(name)
    paper = f'<p class="paper">{html.escape(reference)}</p>\n' if reference else ""
    return (
        f'<div class="entry">\n{image}\n<h3><a href="{page}">{title}</a></h3>\n'
        f"{paper}<p>{html.escape(notebook_pages.question(notebook))}</p>\n"
        f'<p class="downloads">{" · ".join(links)}</p>\n</div>'
    )


def _number(figure: Figure) -> tuple[int, str]:
    """Return what sorts figures by their number; those without one come last."""
    found = re.match(r"fig(a?)(\d+)", figure.stem)
    if not found:
        return 1000, figure.stem
    own = 500 if found[1] else 0
    return own + int(found[2]), figure.stem


def _place(id: str) -> str:
    """Return the id that marks the erratum of a ledger row."""
    return "erratum-" + notebook_pages.anchor(id)


def _settles(row: Any) -> list[str]:
    """Return the numbers that settle an erratum: what the paper reports or what its
    theorem allows, and the limit or the counterexample that rules it out."""
    if row.claim == "value":  # our own number may rest on a stand-in
        limit = f"must be: **{row.relation} {row.limit:g}**"
        return [f"reported: **{row.printed}**", limit]
    found = f"**{row.reproduced:.4g}**"
    if row.claim == "slip":
        return [f"should be: **{row.printed}**", f"as it stands: {found}"]
    allowed = f"{row.relation} {row.limit:g}"
    return [f"the claim allows: **{allowed}**", f"a counterexample has: {found}"]


def _erratum(row: Any, notebooks: Mapping[str, Any]) -> str:
    """Return one erratum: what settles it, why, and the link to the cell that shows
    it."""
    name = ledger.papers().loc[row.paper, "notebook"]
    facts = [row.shown, *_settles(row)]
    if name in notebooks:
        place = (
            notebook_pages.anchor(row.Index)
            if row.Index in notebook_pages.recorded(notebooks[name])
            else ""
        )
        facts += [
            f'<a href="notebooks/{name}.html#{place}">the cell that computes it</a>'
        ]
    else:
        facts += ["its notebook is not written yet"]
    return " · ".join(facts) + f"\n\n{escape(row.sentence)}"
