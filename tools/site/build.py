"""Builds the static site from the committed notebooks: python tools/site/build.py
[OUTPUT].

Needs dpsim, Sphinx, myst-nb and the theme (tools/locks/site.lock) and, once, npm for
MathJax. Notebooks are not executed. All pages are served from one origin: nothing is
loaded from elsewhere.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import explore_page
import finish
import nbformat
import notebook_pages
import pages
from sphinx.cmd.build import build_main

from dpsim import paths

HERE = Path(__file__).resolve().parent

MATHJAX = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "output/chtml.js",
    "a11y/assistive-mml.js",
    "input/tex/extensions",
)
"""The parts of MathJax that the pages load; all in one file would be twice as much."""


def node_modules(cache: Path) -> Path:
    """Return the folder of MathJax, its font and Vega: fetched by npm as locked when
    missing or the lock is new."""
    lock = (HERE / "package-lock.json").read_bytes()
    fetched = cache / "fetched.json"
    if not fetched.is_file() or fetched.read_bytes() != lock:
        cache.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, cache)
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit(
                "site: npm is needed once, to fetch MathJax and Vega; install Node.js"
            )
        subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
            cwd=cache,
            check=True,
        )
        fetched.write_bytes(lock)
    return cache / "node_modules"


def stage(source: Path, modules: Path) -> None:
    """Write what Sphinx reads: pages made of notebooks and results, styles, MathJax;
    files to download as they are."""
    shutil.rmtree(source, ignore_errors=True)
    for own in ("_static", "_templates"):
        shutil.copytree(HERE / own, source / own)
    for script in ("conf.py", "scorer.js", "mathjax.js"):
        shutil.copy(HERE / script, source)
    target = source / "_static" / "mathjax"
    for part in MATHJAX:
        _copy(modules / "mathjax" / part, target / part)
    for part in ("chtml.js", "chtml"):
        _copy(
            modules / "@mathjax" / "mathjax-newcm-font" / part, target / "font" / part
        )
    explore_page.copy_script(modules, source / "_static" / "vega")
    names = pages.ordered(paths.notebook_names())
    notebooks = {
        name: nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)
        for name in names
    }
    pages.write(source, notebooks)
    files = source / "files"
    if not any(paths.figures().glob("*/*.pdf")):
        print(
            "site: without the pdf of the figures, which are not committed; `PDF=1 "
            "make figures` writes them"
        )
    for table in ("published.csv", "known_answers.csv"):
        _copy(paths.data() / table, files / "data" / table)
    (source / "figures").symlink_to(
        "files/figures"
    )  # images that a notebook takes from ../figures
    for name in names:
        _copy(
            paths.notebooks() / f"{name}.ipynb", files / "notebooks" / f"{name}.ipynb"
        )
        folder = paths.figures() / name
        for file in sorted(folder.glob("[a-z]*")):
            _copy(file, files / "figures" / name / file.name)
        page = notebook_pages.page(name, notebooks[name], folder)
        nbformat.write(page, source / "notebooks" / f"{name}.ipynb")


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def main() -> int:
    """Build into OUTPUT, build/site when none is given; warnings are errors."""
    build = paths.build()
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else build / "site"
    source = build / "site-source"
    stage(source, node_modules(build / "npm"))
    shutil.rmtree(output, ignore_errors=True)
    words = [
        "-b",
        "html",
        "-d",
        str(build / "site-doctrees"),
        "-j",
        "auto",
        "-W",
        "--keep-going",
    ]
    failed = build_main([*words, "-q", str(source), str(output)])
    if not failed:
        finish.finish(output)
    return failed


if __name__ == "__main__":
    sys.exit(main())
