"""`python -m tools.lint` measures texts and cells that should be short.

`make test` runs it. Each limit is a habit that makes a page easy to read; a limit may
be changed when there is a reason.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from dpsim import ledger, notebook, paths
from tools import archive


class Measure(NamedTuple):
    """What was measured, its length and the largest length."""

    what: str
    length: int
    most: int


def words(markdown: str) -> int:
    """Return how many words a reader sees: an address is none, a formula is one."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"\$[^$]+\$", "x", markdown))
    return len([word for word in text.split() if re.search(r"\w", word)])


def pages() -> Iterator[Measure]:
    """Measure the pages of the repository."""
    root = paths.root()
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = len(re.findall(r"^## ", text, flags=re.MULTILINE))
    yield Measure("words of CHANGELOG.md", len(text.split()), 500 * releases)
    text = (root / "environment.yml").read_text(encoding="utf-8")
    yield Measure("lines of environment.yml", len(text.splitlines()), 45)
    text = (root / "README.md").read_text(encoding="utf-8")
    for start, (end, _) in archive.MADE.items():
        text = text.partition(start)[0] + text.partition(end)[2]
    yield Measure("own lines of README.md", len(text.splitlines()), 140)
    for path in sorted((root / "tools" / "letters").iterdir()):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            letters = [word for word in text.split() if re.search(r"[^\W\d_]", word)]
            yield Measure(f"words of {path.name}", len(letters), 500)
        elif path.suffix == ".py":
            yield Measure(f"lines of {path.name}", len(text.splitlines()), 40)


def cells(name: str) -> Iterator[Measure]:
    """Measure the cells of a notebook's code."""
    code = [c["source"] for c in notebook.load(name).cells if c["cell_type"] == "code"]
    for number, source in enumerate(code, 1):
        yield Measure(f"lines of {name}, cell {number}", len(source.splitlines()), 30)


def lesson(name: str) -> Iterator[Measure]:
    """Measure the parts of a lesson."""
    source = notebook.load(name)
    texts = [c["source"] for c in source.cells if c["cell_type"] == "markdown"]
    code = [c["source"] for c in source.cells if c["cell_type"] == "code"]
    opening = texts[0].partition("**The question.**")[2].partition("\n\n")[2]
    opening = opening.partition("**Whose numbers these are.**")[0]
    opening = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", opening)
    yield Measure(f"words between question and numbers of {name}", words(opening), 90)
    above = code[0].partition("# only for Part 2")[0].strip()
    yield Measure(f"lesson's parameters of {name}", len(above.splitlines()), 5)
    yield Measure(f"lines of imports of {name}", len(code[2].splitlines()), 20)
    answer = "\n\n".join(texts).partition("## The short answer\n")[2]
    answer = re.split(r"^#|\*\*The lesson ends here", answer, flags=re.MULTILINE)[0]
    yield Measure(f"words of the short answer of {name}", words(answer), 150)


def main() -> int:
    """Print what is too long; exit status 1 if anything is."""
    measures = list(pages())
    for name in paths.notebook_names():
        measures += cells(name)
    for name in ledger.papers()["notebook"]:
        measures += lesson(name)
    long = [one for one in measures if one.length > one.most]
    for one in long:
        print(f"{one.what}: {one.length}, at most {one.most}")
    print(f"{len(measures)} lengths, {len(long)} too long")
    return int(bool(long))


if __name__ == "__main__":
    sys.exit(main())
