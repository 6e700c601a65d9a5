"""The pages that are made: index, notebooks, gallery, published and reproduced, errata, interface, measurements."""

from __future__ import annotations

import ast
import html
import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import notebook_pages
from notebook_pages import Figure, plain

from dpsim import ledger, project

MEASURED = ("benchmarks/results", "figures/audit")
"""Folders whose Markdown, figures and tables make the page of measurements, where they exist."""

GROUPS = {
    "Mechanisms and their accuracy": ("dirichlet", "data_driven", "mdp", "boltzmann", "words"),
    "Privacy accounting": ("accounting", "boltzmann_exact", "word_epsilon", "selection"),
    "Markov chains": ("markov", "sparse_chains", "perturbation", "value_bounds", "simplex"),
    "Data, maps and figures": ("datasets", "maps", "figures", "ledger", "streams", "checks"),
}
"""How the interface's page groups the modules a notebook calls; all others come last."""


def ordered(names: list[str]) -> list[str]:
    """Return the notebooks as they are read: the overview, the papers in the report's order, the others."""
    papers = [ledger.NOTEBOOKS[paper] for paper in ledger.PAPERS]
    return sorted(names, key=lambda n: (not n.startswith("00_"), papers.index(n) if n in papers else len(papers), n))


def write(folder: Path, notebooks: Mapping[str, Any]) -> None:
    """Write every made page into the folder; notebooks: name -> notebook as committed, in reading order."""
    figures = {
        name: notebook_pages.figures(name, notebook, project.figures() / name) for name, notebook in notebooks.items()
    }
    texts = {
        "index.md": index(notebooks, figures),
        "notebooks/index.md": notebook_list(notebooks),
        "gallery.md": gallery(notebooks, figures),
        "report.md": (project.figures() / "REPORT.md").read_text(encoding="utf-8"),
        "errata.md": errata(notebooks),
        "data.md": (project.data() / "README.md").read_text(encoding="utf-8"),
        **interface(),
    }
    if measured := measurements(folder):
        texts["measurements.md"] = measured
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def index(notebooks: Mapping[str, Any], figures: Mapping[str, list[Figure]]) -> str:
    """Return the first page: the README's opening, then a card for each notebook with a link to each figure."""
    opening = (project.root() / "README.md").read_text(encoding="utf-8").split("\n\n")[:2]
    cards = [_card(name, notebook, figures[name]) for name, notebook in notebooks.items()]
    pages = ["notebooks/index", "gallery", "report", "errata", "data", "api/index"]
    pages += ["measurements"] if any((project.root() / place).is_dir() for place in MEASURED) else []
    return "\n\n".join(
        [
            *opening,
            '<div class="cards">',
            *cards,
            "</div>",
            "Every figure on one page: the [gallery](gallery.md). What does not hold as printed: the "
            "[errata](errata.md). Every number side by side: [published and reproduced](report.md).",
            _toctree(pages),
        ]
    )


def notebook_list(notebooks: Mapping[str, Any]) -> str:
    """Return the page above the notebooks: what each asks."""
    lines = [
        f"- [{notebook_pages.title(notebook)}]({name}.ipynb)" + (f" {_paper(name)}" if _paper(name) else "")
        for name, notebook in notebooks.items()
    ]
    return "\n\n".join(["# Notebooks", "\n".join(lines), _toctree(list(notebooks))])


def gallery(notebooks: Mapping[str, Any], figures: Mapping[str, list[Figure]]) -> str:
    """Return the page of all figures, each with its caption, its files and the way to its code."""
    parts = ["# Gallery"]
    for name, notebook in notebooks.items():
        if not figures[name]:
            continue
        parts += [f"## {notebook_pages.title(notebook)}", _paper(name), '<div class="gallery">']
        folder = project.figures() / name
        parts += [
            notebook_pages.figure_html(f, folder, f"notebooks/{name}.html") for f in sorted(figures[name], key=_number)
        ]
        parts += ["</div>"]
    return "\n\n".join(parts)


def errata(notebooks: Mapping[str, Any]) -> str:
    """Return the page of what cannot hold as printed, or fails under our reading: why, and where it is shown."""
    table = ledger.report()
    table = table[table["kind"].isin(["erratum", "reading"])]
    parts = [
        "# Errata",
        "Statements of the papers that cannot hold as printed, and readings of a formula, missing in the text we "
        "have, that fail. Each is settled by a number that its notebook computes; the notebook shows the smallest "
        "example.",
    ]
    for paper, name in ledger.PAPERS.items():
        rows = table[table["paper"] == paper]
        if rows.empty:
            continue
        parts += [f"## {name}"]
        for row in rows.itertuples():
            parts += [f"### {_escape(row.where)}: {_escape(row.quantity)}", _erratum(row, notebooks)]
    return "\n\n".join(parts)


def interface() -> dict[str, str]:
    """Return the pages of the programming interface, one a module, and of the command line."""
    docs = {
        path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for path in sorted((project.root() / "dpsim").glob("[a-z]*.py"))
    }
    grouped = {group: [name for name in names if name in docs] for group, names in GROUPS.items()}
    placed = {name for names in grouped.values() for name in names}
    grouped["Underneath"] = [name for name in docs if name not in placed]
    parts = ["# API reference", "The modules of `dpsim` and the [command line](command_line.md)."]
    for group, names in grouped.items():
        rows = [f"| [{name}]({name}.md) | {_escape(docs[name].splitlines()[0])} |" for name in names]
        parts += [f"## {group}", "\n".join(["| module | |", "| --- | --- |", *rows])]
    order = [name for names in grouped.values() for name in names]
    pages = {"api/index.md": "\n\n".join([*parts, _toctree([*order, "command_line"])])}
    for name in order:
        module = f"# {name}\n\n```{{eval-rst}}\n.. automodule:: dpsim.{name}\n   :members:\n```\n"
        pages[f"api/{name}.md"] = module
    pages["api/command_line.md"] = command_line()
    return pages


def command_line() -> str:
    """Return the help of every command."""
    import click

    from dpsim.__main__ import main

    context = click.Context(main, info_name="dpsim", max_content_width=88)
    parts = ["# Command line", f"```text\n{main.get_help(context)}\n```"]
    for name, command in main.commands.items():
        help = command.get_help(click.Context(command, info_name=name, parent=context, max_content_width=88))
        parts += [f"## dpsim {name}", f"```text\n{help}\n```"]
    return "\n\n".join(parts)


def measurements(folder: Path) -> str:
    """Return the page of benchmarks and audit; their files are copied beside it. "" when there are none."""
    parts = []
    for place in MEASURED:
        source = project.root() / place
        if not source.is_dir():
            continue
        name = place.replace("/", "-")
        files = folder / "files" / name
        shutil.copytree(source, files)
        for text in sorted(source.glob("*.md")):
            parts += [re.sub(r"\]\((?!\w+:)([^)]+)\)", rf"]({name}/\1)", "#" + text.read_text(encoding="utf-8"))]
        for image in sorted(files.rglob("*.png")):
            path = f"{name}/{image.relative_to(files)}"
            width, height = (round(side * notebook_pages.SCREEN) for side in notebook_pages.png_size(image))
            alt = html.escape(image.stem.replace("_", " "))
            parts += [f'<figure class="published"><img src="{path}" alt="{alt}" width="{width}" height="{height}">']
            parts[-1] += f"<figcaption>{_downloads(image, path)}</figcaption></figure>"
    return "\n\n".join(["# Measurements", *parts]) if parts else ""


def _downloads(image: Path, path: str) -> str:
    """Return links to an image and to the files of the same name beside it."""
    endings = [e for e in ("png", "pdf", "csv") if image.with_suffix(f".{e}").is_file()]
    links = [f'<a href="{path[:-3]}{ending}" download>{ending}</a>' for ending in endings]
    return f'<p class="downloads">{" · ".join(links)}</p>'


def _card(name: str, notebook: Any, figures: list[Figure]) -> str:
    """Return a notebook's card: its question, its paper, its first figure, a link to each figure."""
    page = f"notebooks/{name}.html"
    links = [f'<a href="{page}#{f.anchor}">{html.escape(plain(f.label))}</a>' for f in sorted(figures, key=_number)]
    image = ""
    if figures:
        first = min(figures, key=_number)
        width, height = notebook_pages.png_size(project.figures() / name / f"{first.stem}.png")
        image = (
            f'<a href="{page}"><img src="figures/{name}/{first.stem}.png" alt="{html.escape(first.alt)}" '
            f'width="{width}" height="{height}"></a>'
        )
    question = html.escape(plain(notebook_pages.title(notebook)))
    heading = f'<p class="question"><a href="{page}">{question}</a></p>'
    return (
        f'<div class="entry">\n{image}\n{heading}\n<p>{html.escape(_paper(name))}</p>\n'
        f'<p class="downloads">{" · ".join(links)}</p>\n</div>'
    )


def _number(figure: Figure) -> tuple[int, str]:
    """Return what sorts figures by their number; those without one come last."""
    found = re.match(r"fig(\d+)", figure.stem)
    return (int(found[1]) if found else 1000, figure.stem)


def _paper(name: str) -> str:
    """Return the paper that a notebook follows, "" for the others."""
    return next((ledger.PAPERS[paper] for paper, own in ledger.NOTEBOOKS.items() if own == name), "")


def _erratum(row: Any, notebooks: Mapping[str, Any]) -> str:
    """Return one erratum: what is printed, what is computed, why, and the link to the cell that shows it."""
    name = ledger.NOTEBOOKS[row.paper]
    facts = [] if math.isnan(row.published) else [f"printed: **{row.published:g}**"]
    if not math.isnan(row.reproduced):
        error = "" if math.isnan(row.standard_error) else f" ± {row.standard_error:.1g}"
        facts += [f"computed: **{row.reproduced:.4g}{error}**"]
    facts += [f"kind: {row.kind}"]
    if name in notebooks:
        place = notebook_pages.anchor(row.Index) if row.Index in notebook_pages.recorded(notebooks[name]) else ""
        facts += [f'<a href="notebooks/{name}.html#{place}">shown in the notebook</a>']
    else:
        facts += ["its notebook is not written yet"]
    return " · ".join(facts) + (f"\n\n{_escape(row.note)}." if row.note else "")


def _toctree(pages: list[str]) -> str:
    """Return a hidden table of contents."""
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def _escape(text: str) -> str:
    """Return plain text as Markdown that shows it as it stands."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)
