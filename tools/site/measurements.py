"""The page of measurements: what benchmarks and audit wrote, each text with the figure
and the files of its name."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

from markup import downloads, plain
from notebook_pages import lowered, screen_size

from dpsim import paths

RESULTS = ("tools/verify/results", "tools/bench/results", "release/tools/results")
"""Folders of <name>.md, each beginning with a heading, with png and csv files."""


def texts() -> list[Path]:
    """Return the files that the page shows, in the order of their names."""
    return [
        path
        for folder in RESULTS
        for path in sorted((paths.root() / folder).glob("*.md"))
    ]


def page(folder: Path) -> str:
    """Return the page; the files that it links are copied below folder/files."""
    files = folder / "files" / "measurements"
    for results in RESULTS:
        if (paths.root() / results).is_dir():
            shutil.copytree(paths.root() / results, files, dirs_exist_ok=True)
    parts = ["# Measurements", *(_section(path, files) for path in texts())]
    return "\n\n".join(parts)


def _section(path: Path, files: Path) -> str:
    """Return one text, a level lower, with its figure where it shows it, or else at its
    end, and its files."""
    text = path.read_text(encoding="utf-8").strip()
    shown = re.search(rf"!\[([^\]]*)\]\({path.stem}\.png\)", text)
    title = plain(text.partition("\n")[0].lstrip("# "))
    made = _files(
        path.stem,
        files,
        title,
        plain(shown[1]) if shown and shown[1] else _first_paragraph(text) or title,
    )
    text = text.replace(shown[0], made) if shown else f"{text}\n\n{made}"
    return lowered(_linked(text, files), 1)


def _files(stem: str, files: Path, title: str, alt: str) -> str:
    """Return the figure and the links to the files of that name, as far as there are
    any."""
    found = {
        ending: f"{files.name}/{stem}.{ending}"
        for ending in ("png", "csv")
        if (files / f"{stem}.{ending}").is_file()
    }
    links = (
        f'<p class="downloads">{" · ".join(downloads(found, title))}</p>'
        if found
        else ""
    )
    if "png" not in found:
        return links
    width, height = screen_size(files / f"{stem}.png")
    image = (
        f'<img src="{found["png"]}" alt="{html.escape(alt)}" width="{width}" '
        f'height="{height}">'
    )
    return (
        '<figure class="published"><a '
        f'href="{found["png"]}">{image}</a><figcaption>{links}</figcaption></figure>'
    )


def _first_paragraph(text: str) -> str:
    """Return the first paragraph of prose as plain text, "" when there is none."""
    parts = re.split(r"\n\s*\n", text)
    return next(
        (plain(part) for part in parts if not re.match(r"\s*([#|<`]|!\[|[-*] )", part)),
        "",
    )


def _linked(text: str, files: Path) -> str:
    """Return the text with links to files beside it as links to their copies, other
    local links as their words."""

    def link(found: re.Match[str]) -> str:
        words = found[1]
        target = found[2]
        return (
            f'<a href="{files.name}/{target}">{words}</a>'
            if (files / target).is_file()
            else words
        )

    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)]+)\)", link, text)
