"""From a committed notebook to a page: every figure with its caption, alternative text,
anchor and downloads."""

from __future__ import annotations

import html
import json
import re
import struct
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import addresses
from markup import downloads, plain

from dpsim import __version__, ledger, paths
from dpsim.figures.saving import THUMBNAIL, THUMBNAIL_DPI

SCREEN = 110 / 200
"""Notebooks show figures at 110 dots per inch, the png files have 200."""


@dataclass(frozen=True)
class Figure:
    """One saved figure: the notebook, the stem of its files, its caption in Markdown
    and the section it is in."""

    notebook: str
    stem: str
    caption: str
    section: str

    @property
    def anchor(self) -> str:
        """The id of the figure on its notebook's page."""
        return self.stem.replace("_", "-")

    @property
    def label(self) -> str:
        """What the caption calls it, "Figure 5" for instance; the section's heading
        when there is no caption."""
        found = re.match(r"\*\*((?:Paper, )?Figures?\s[\w–-]+)", self.caption)
        return found[1].rstrip(".") if found else self.section

    @property
    def alt(self) -> str:
        """The alternative text: the caption without markup, formulas in Unicode."""
        return plain(self.caption) or self.section


def title(notebook: Any) -> str:
    """Return the notebook's first heading."""
    return next(heading for cell in notebook.cells for heading in _headings(cell))


def question(notebook: Any) -> str:
    """Return the first two sentences of a notebook's question, or of its first
    paragraph if it asks none."""
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    paragraphs = [
        part
        for source in prose
        for part in _paragraphs(source)
        if re.match(r"[\w*]", part)
    ]
    asked = [part for part in paragraphs if part.startswith("**The question.**")]
    text = plain((asked + paragraphs)[0].removeprefix("**The question.**"))
    return " ".join(re.split(r"(?<=[.?!]) (?=[A-Z])", text)[:2])


def thumbnail(name: str, notebook: Any, folder: Path, up: str = "") -> str:
    """Return the picture of a notebook's opening as HTML, or "" if it has none.

    up: the way from the page to the folder `figures`.
    """
    path = folder / f"{THUMBNAIL}.png"
    found = re.search(SHOWN, notebook.cells[0].source)
    if not found or not path.is_file():
        return ""
    width, height = screen_size(path, 110 / THUMBNAIL_DPI)
    source = f"{up}figures/{name}/{path.name}"
    alt = html.escape(found[1])
    return f'<img src="{source}" alt="{alt}" width="{width}" height="{height}">'


SHOWN = rf"!\[([^\]]*)\]\(\.\./figures/\w+/{THUMBNAIL}\.png\)"
"""The picture in a notebook's opening, in Markdown."""


def figures(name: str, notebook: Any, folder: Path) -> list[Figure]:
    """Return the figures in the folder that the notebook saves, in its order.

    Each with its caption: the next paragraph that begins with **Figure or **Paper,
    Figure. Figures of one cell may share one.
    """
    found: list[Figure] = []
    section = title(notebook)
    for number, cell in enumerate(notebook.cells):
        section = (_headings(cell) or [section])[-1]
        stems = _saved(cell)
        captions = _captions_below(notebook, number)
        # more paragraphs than figures: the last figure has the rest
        if 0 < len(stems) < len(captions):
            captions = [
                *captions[: len(stems) - 1],
                "\n\n".join(captions[len(stems) - 1 :]),
            ]
        last = captions[-1] if captions else ""
        captions += [last] * (len(stems) - len(captions))
        found += [
            Figure(name, stem, caption, section)
            for stem, caption in zip(stems, captions)
        ]
    return [
        figure
        for figure in found
        if figure.stem != THUMBNAIL and (folder / f"{figure.stem}.png").is_file()
    ]


def page(name: str, notebook: Any, folder: Path) -> Any:
    """Return the notebook as its page shows it; folder: where its figures are.

    Images in outputs are those of `folder`, in a <figure> with the caption; anchors
    stand before the code of each figure and before each cell that records a value in
    the ledger. Links to headings, written as Jupyter names them, lead to the ids that
    Sphinx makes.
    """
    from nbformat.v4 import new_markdown_cell

    made = {figure.stem: figure for figure in figures(name, notebook, folder)}
    picture = thumbnail(name, notebook, folder, up="../")
    opening = notebook.cells[0]
    framed = picture and f"<p>{picture}</p>"
    opening.source = re.sub(SHOWN, lambda _: framed, opening.source)
    captions = {
        part for figure in made.values() for part in _paragraphs(figure.caption)
    }
    cells: list[Any] = []
    start = 0  # where the code of the next figure begins
    section = title(notebook)
    lower = 0  # by how many levels the headings of this part are lowered
    for position, cell in enumerate(notebook.cells):
        if (
            "checks" in (tags := cell.metadata.get("tags", []))
            and "hide-input" not in tags
        ):  # as in JupyterLab
            cell.metadata["tags"] = [*tags, "hide-input"]
        stems = [stem for stem in _saved(cell) if stem in made]
        if headings := _headings(cell):
            section = headings[-1]
            start = len(cells) + 1
        recorded = (
            re.findall(r'ledger\.record\(\s*"([^"]+)"', cell.source)
            if cell.cell_type == "code"
            else []
        )
        if recorded:
            cells.append(
                new_markdown_cell(
                    "".join(f'<div id="{anchor(id)}"></div>' for id in recorded)
                )
            )
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = "\n\n".join(
                part for part in _paragraphs(cell.source) if part not in captions
            )
            cell.source = with_site_links(cell.source)
            if cell.source.startswith(PART_2):
                lower = 1
                contains = html.escape(part_2(name, notebook.cells[position:]))
                cells.append(
                    new_markdown_cell(
                        f'<div class="fold-here" data-contains="{contains}"></div>'
                    )
                )
            elif cell.source.startswith("# Further"):
                lower += 1
            # a page has one title, and the other headings stand below it
            if len(cells) > 1:
                cell.source = lowered(cell.source, lower)
        elif stems:
            cell.outputs = _without_images(cell.outputs, len(stems))
            anchors = "".join(
                f'<div id="code-{made[stem].anchor}"></div>' for stem in stems
            )
            cells.insert(start, new_markdown_cell(anchors))
            last = {
                made[stem].caption: stem for stem in stems
            }  # figures may share a caption: below the last
            shown = [
                figure_html(made[s], folder, caption=last[made[s].caption] == s)
                for s in stems
            ]
            cells.append(new_markdown_cell("\n\n".join(shown)))
            start = len(cells)
        if cell.cell_type == "code":
            cell.outputs = [shown_output(output) for output in cell.outputs]
            cell.metadata["mystnb"] = {
                "image": {"alt": f"Output of the code above, in “{plain(section)}”"}
            }
        if "collapsed" in cell.metadata.get(
            "tags", []
        ):  # folded.js folds the section that holds this
            cells.append(new_markdown_cell('<div class="fold-here"></div>'))
    notebook.cells = _one_bar([cell for cell in cells if cell.source.strip()])
    _head(notebook, name, list(made.values()))
    return notebook


PART_2 = "# The paper, claim by claim"
"""How the part of a notebook begins that the site folds."""


def part_2(name: str, cells: list[Any]) -> str:
    """Return a sentence about what the second part of a paper's notebook contains."""
    paper = ledger.papers().reset_index().set_index("notebook")["id"].get(name)
    claims = int((ledger.published(paper)["inputs"] != "none").sum()) if paper else 0
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    named = re.findall(r"^\*\*Paper, Figures? (\d+)", prose, flags=re.MULTILINE)
    found = list(dict.fromkeys(named))
    figures = ""
    if found:
        word = "Figures" if len(found) > 1 else "Figure"
        figures = f"the paper's {word} {_listed(found)}, and "
    return (
        f"For readers who hold the paper: {figures}each of its {claims} claims beside "
        "what we compute"
    )


def _listed(words: list[str]) -> str:
    """Return words as a list in a sentence."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def lowered(source: str, by: int) -> str:
    """Return Markdown whose headings are `by` levels lower, and at least at the second
    level."""

    def heading(found: re.Match[str]) -> str:
        return f"{'#' * max(2, len(found[1]) + by)} "

    parts = re.split(r"(^```.*?^```)", source, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [
        re.sub(r"^(#+) ", heading, part, flags=re.MULTILINE) for part in parts[::2]
    ]
    return "".join(parts)


def _one_bar(cells: list[Any]) -> list[Any]:
    """Return the cells with each row of folded ones in one, behind one bar, which is
    called Setup."""
    kept: list[Any] = []
    for cell in cells:
        before = next((c for c in reversed(kept) if not _is_anchor(c)), None)
        if (
            before is not None
            and _folded(cell)
            and _folded(before)
            and not before.outputs
        ):
            cell.source = f"{before.source.rstrip()}\n\n\n{cell.source}"
            cell.metadata.setdefault("mystnb", {})["code_prompt_show"] = "Setup"
            kept = [c for c in kept if c is not before]
        kept.append(cell)
    return kept


def _folded(cell: Any) -> bool:
    """Return whether a cell's code is folded."""
    return cell.cell_type == "code" and "hide-input" in cell.metadata.get("tags", [])


def _is_anchor(cell: Any) -> bool:
    """Return whether a cell is nothing but places for links to lead to."""
    return (
        cell.cell_type == "markdown"
        and not re.sub(r"<div [^>]*></div>", "", cell.source).strip()
    )


PAGES = {
    r"data/README\.md": "data",
    r"data/LEDGER\.md": "ledger",
    r"figures/REPORT\.md": "report",
}
"""Files of the project that are pages here, as patterns, with the names of the
pages."""


def _page_of(path: str) -> str:
    """Return the page that shows a file of the project, or "" if there is none."""
    found = [
        re.sub(file, page, path)
        for file, page in PAGES.items()
        if re.fullmatch(file, path)
    ]
    return found[0] if found else ""


def with_site_links(markdown: str, page: str = "") -> str:
    """Return Markdown of a notebook whose links to headings and other notebooks hold
    where it is shown.

    Files of the project that are pages here become links. page: the notebook's own
    page, seen from one level above the notebooks; "" on that page.
    """
    up = "" if page else "../"

    def named(found: re.Match[str]) -> str:
        place = _page_of(found[1])
        return f'<a href="{up}{place}.html">{found[0]}</a>' if place else found[0]

    def linked(found: re.Match[str]) -> str:
        place = _page_of(found[1])
        return f"]({up}{place}.md)" if place else found[0]

    if page:
        markdown = re.sub(
            r"\]\((\w+\.(?:ipynb|md))",
            r"](notebooks/\1",
            markdown.replace("](#", f"]({page}#"),
        )
    # the letters to the authors are not published
    markdown = re.sub(r"\[([^\]]+)\]\(\.\./tools/[^)]*\)", r"\1", markdown)
    row = r"\[([^\]]+)\]\([./]*figures/REPORT\.md#([^)\s]+)\)"  # of our findings
    markdown = re.sub(row, rf'<a href="{up}report.html#\2">\1</a>', markdown)
    markdown = re.sub(r"(?<!\[)`([\w/]+\.(?:md|py))`", named, markdown)
    markdown = re.sub(r"\]\(\.\./([\w/]+\.(?:md|py))\)", linked, markdown)
    link = r"(?<!!)\[([^\]]*)\]\(([\w/]*(?:\.ipynb|\.html|\.md)?#[^)\s]+)\)"
    return re.sub(link, lambda m: f'<a href="{_site_link(m[2])}">{m[1]}</a>', markdown)


def shown_output(output: Any) -> Any:
    """Return an output whose links to headings lead to the ids that Sphinx makes, whose
    links to files lead to their pages, and whose tables all look alike."""
    html_text = output.get("data", {}).get("text/html")
    if html_text:
        text = html_text if isinstance(html_text, str) else "".join(html_text)
        text = re.sub(r'<table id="(\w+)">', r'<table id="\1" class="dataframe">', text)
        found = r'href="((?:\w+\.ipynb)?#[^"]+)"'
        text = re.sub(found, lambda m: f'href="{_site_link(m[1])}"', text)
        file = r'href="\.\./([\w/]+\.md)"'
        output["data"]["text/html"] = re.sub(
            file, lambda m: f'href="../{_page_of(m[1])}.html"', text
        )
    if printed := output.get("data", {}).get("text/markdown"):
        output["data"]["text/markdown"] = with_site_links(
            printed if isinstance(printed, str) else "".join(printed)
        )
    return output


def _site_link(link: str) -> str:
    """Return a link to a heading, of this notebook or of another page, as the site has
    it."""
    file, _, heading = link.partition("#")
    page = re.sub("[.](ipynb|md)$", ".html", file)
    return f"{page}#{ledger.site_anchor(html.unescape(heading))}"


def figure_html(figure: Figure, folder: Path, *, caption: bool = True) -> str:
    """Return the figure for its notebook's page: image, caption, links to its files,
    its code, its chart that moves."""
    base = f"../figures/{figure.notebook}"
    png = f"{base}/{figure.stem}.png"
    width, height = screen_size(folder / f"{figure.stem}.png")
    endings = [
        ending
        for ending in ("png", "pdf", "csv")
        if (folder / f"{figure.stem}.{ending}").is_file()
    ]
    label = plain(figure.label)
    links = downloads(
        {ending: f"{base}/{figure.stem}.{ending}" for ending in endings}, label
    )
    label = html.escape(label)
    links.append(
        f'<a href="#code-{figure.anchor}" aria-label="code of {label}">code</a>'
    )
    alt = figure.alt
    chart = folder / f"{figure.stem}.json"
    if chart.is_file():  # a chart that moves says itself what it shows
        alt = json.loads(chart.read_text(encoding="utf-8")).get("description", alt)
        links.append(
            f'<a href="../explore.html#{figure.anchor}" aria-label="move it: '
            f'{label}">move it</a>'
        )
    image = (
        f'<a href="{png}"><img src="{png}" alt="{html.escape(alt)}" width="{width}" '
        f'height="{height}"></a>'
    )
    start = f'<figure class="published" id="{figure.anchor}">\n{image}\n<figcaption>'
    text = with_site_links(figure.caption) if caption else ""
    cite = (
        "<details><summary>cite this "
        f"figure</summary>{html.escape(citation(figure))}</details>"
    )
    return (
        f"{start}\n\n{text}\n\n<p "
        f'class="downloads">{" · ".join(links)}</p>\n{cite}\n</figcaption>\n</figure>'
    )


def anchor(id: str) -> str:
    """Return the id that marks where a ledger row is recorded."""
    return "ledger-" + re.sub(r"[^A-Za-z0-9]+", "-", id)


def recorded(notebook: Any) -> set[str]:
    """Return the ledger rows that the notebook records by name."""
    return {
        id
        for cell in notebook.cells
        if cell.cell_type == "code"
        for id in re.findall(r'ledger\.record\(\s*"([^"]+)"', cell.source)
    }


def screen_size(path: Path, scale: float = SCREEN) -> tuple[int, int]:
    """Return width and height at which a png file is shown, in pixels of the screen."""
    with path.open("rb") as file:
        width, height = struct.unpack(">16xII", file.read(24))
    return round(width * scale), round(height * scale)


def _head(notebook: Any, name: str, made: list[Figure]) -> None:
    """Put links to the file and to the figures under the page's title."""
    links = [f'<a href="{name}.ipynb" download>notebook (ipynb)</a>', *launch(name)]
    links += [
        f'<a href="#{figure.anchor}">{html.escape(plain(figure.label))}</a>'
        for figure in made
    ]
    first = next(cell for cell in notebook.cells if _headings(cell))
    line = f'\n\n<p class="downloads">{" · ".join(links)}</p>\n\n'
    first.source = re.sub(
        r"^#\s.+$", lambda m: m[0] + line, first.source, count=1, flags=re.MULTILINE
    )


def launch(name: str) -> list[str]:
    """Return a link that opens the notebook on Binder: none where the address of the
    repository is not known.

    Binder installs what environment.yml lists; Colab would install nothing, so no cell
    would run there.
    """
    binder = addresses.binder(addresses.declared(), name)
    return [f'<a href="{binder}">open on Binder</a>'] if binder else []


def reference(name: str) -> str:
    """Return the paper that a notebook follows, "" for the others."""
    return str(ledger.papers().set_index("notebook")["reference"].get(name, ""))


def citation(figure: Figure) -> str:
    """Return how to cite a figure: the paper behind it, this compendium with its
    version, the figure's own name."""
    after = (
        f"after {reference(figure.notebook)}; " if reference(figure.notebook) else ""
    )
    words = (
        f"{plain(figure.label)} of the notebook {figure.notebook}, {after}dpsim: a "
        "living compendium of private "
    )
    place = f"notebooks/{figure.notebook}.html#{figure.anchor}"
    declared = tomllib.loads(
        (paths.root() / "pyproject.toml").read_text(encoding="utf-8")
    )
    site = declared["project"].get("urls", {}).get("Documentation", "")
    doi = declared["tool"]["compendium"].get("doi")
    archive = f", https://doi.org/{doi}" if doi else ""
    return (
        f"{words}Markov chains, version {__version__}{archive}, "
        f"{site and site.rstrip('/') + '/'}{place}"
    )


def _saved(cell: Any) -> list[str]:
    """Return the names of the figures that a code cell saves."""
    return (
        re.findall(r'figures\.save(?:_moving)?\([^"]*?"(\w+)"', cell.source)
        if cell.cell_type == "code"
        else []
    )


def _headings(cell: Any) -> list[str]:
    """Return the headings of a Markdown cell."""
    return (
        re.findall(r"^#+\s+(.+)$", cell.source, flags=re.MULTILINE)
        if cell.cell_type == "markdown"
        else []
    )


def _paragraphs(source: str) -> list[str]:
    """Return the paragraphs of Markdown, without spaces at their ends."""
    return [part.strip() for part in re.split(r"\n\s*\n", source.strip())]


def _captions_below(notebook: Any, number: int) -> list[str]:
    """Return the captions below a cell, up to the next cell that saves a figure."""
    found: list[str] = []
    for cell in notebook.cells[number + 1 :]:
        if _saved(cell):
            break
        if cell.cell_type == "markdown":
            found += [
                part
                for part in _paragraphs(cell.source)
                if re.match(r"\*\*(Paper, )?Figure", part)
            ]
    return found


def _without_images(outputs: list[Any], count: int) -> list[Any]:
    """Return the outputs without the first `count` images."""
    kept = []
    for output in outputs:
        if count and "image/png" in output.get("data", {}):
            count -= 1
        else:
            kept.append(output)
    return kept
