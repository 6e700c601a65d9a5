"""`python -m tools.notebooks [NAME ...]` puts the outputs of the last default run into
the committed notebooks.

With `--begin NAME` it writes a new notebook of the cells that CONTRIBUTING shows.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

from dpsim import files, paths
from dpsim import notebook as notebooks

sys.path.append(str(Path(__file__).parent / "site"))
from markup import plain

KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
"""What JupyterLab writes when it saves a notebook, without the version of Python, which
differs between machines. JupyterLab adds the version to a notebook that it opens, and
the test of the committed notebooks allows this."""

FOLDED = ("checks", "hide-input", "hide-cell")
"""Tags of code cells whose source JupyterLab shows folded; of a cell tagged `hide-cell`
the outputs too."""


def begun(page: str) -> str:
    """Return the text of a notebook of the cells that a page shows, each below a line
    `# %% KIND TAGS`."""
    cells = page.partition("```text\n# %% ")[2].partition("\n```")[0].split("\n\n# %% ")
    notebook = nbformat.v4.new_notebook()
    for head, _, source in (cell.partition("\n") for cell in cells):
        kind, *tags = head.split()
        notebook.cells.append(
            getattr(nbformat.v4, f"new_{kind}_cell")(source, metadata={"tags": tags})
        )
    return written(notebook)


def refreshed(name: str) -> str:
    """Return a notebook's text with the outputs of its last default run
    (FileNotFoundError); prose and tags as written.

    ValueError when the code has changed since, and as in `clean`.
    """
    executed = paths.build() / "runs" / name / "default" / f"{name}.ipynb"
    if not executed.is_file():
        raise FileNotFoundError(
            f"{name} has no default run yet: `dpsim run {name}` first"
        )
    notebook = nbformat.read(notebooks.load(name).path, 4)
    cells, fresh = (
        [cell for cell in of.cells if _is_code(cell)]
        for of in (notebook, nbformat.read(executed, 4))
    )
    if [cell.source for cell in cells] != [cell.source for cell in fresh]:
        raise ValueError(
            f"{name} has changed since its last default run: `dpsim run {name}` first"
        )
    for cell, ran in zip(cells, fresh):
        cell.outputs = ran.outputs
    return written(notebook)


def written(notebook: Any) -> str:
    """Return the text of a notebook once it is clean; ValueError as in `clean`."""
    return str(nbformat.writes(clean(notebook))).rstrip("\n") + "\n"


def _is_code(cell: Any) -> bool:
    """Return whether a cell is code that was not put in by papermill."""
    return cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get(
        "tags", []
    )


def clean(notebook: Any) -> Any:
    """Return the notebook without what differs between machines and runs: metadata,
    widget state, counts.

    Pictures get their alternative text, which is also what a reader without pictures
    sees in their place. ValueError for an output with a warning, an absolute path of
    this project, or a drawing that no `figures.save` has saved: those must not be
    committed.
    """
    notebook.metadata = {"kernelspec": dict(KERNEL), "language_info": dict(LANGUAGE)}
    count = 0
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        cell.metadata = cell_metadata(cell.metadata.get("tags", []), cell.cell_type)
        if cell.cell_type == "code":
            cell.execution_count = count = count + 1
            cell.outputs = merge_streams(cell.outputs)
            for output in cell.outputs:
                _clean(output, count, position + 1)
                if "image/png" in output.get("data", {}):
                    _describe(output, notebook.cells[position + 1 :])
    return notebook


def merge_streams(outputs: Iterable[Any]) -> list[Any]:
    """Return a cell's outputs with consecutive pieces of printed text merged, because
    only timing separates them."""
    merged: list[Any] = []
    for output in outputs:
        if "name" in output and merged and output["name"] == merged[-1].get("name"):
            merged[-1]["text"] += output["text"]
        else:
            merged.append(output)
    return merged


def _describe(output: Any, below: Iterable[Any]) -> None:
    """Give a picture its alternative text, as on the site: the caption below it, or
    what a moving chart says itself."""
    if not any("vegalite" in kind for kind in output.data):
        output.data["text/plain"] = _alternative(below)
    output.metadata = {"image/png": {"alt": output.data["text/plain"]}}


def _alternative(below: Iterable[Any]) -> str:
    """Return the alternative text of a picture: the caption below it, as plain text."""
    paragraphs = (
        part
        for cell in below
        if cell.cell_type == "markdown"
        for part in cell.source.split("\n\n")
    )
    caption = next(
        (part for part in paragraphs if re.match(r"\*\*(Paper, )?Figure", part)), ""
    )
    return plain(caption)


def cell_metadata(tags: Iterable[str], cell_type: str = "code") -> dict[str, Any]:
    """Return the metadata of a committed cell: its tags, and how JupyterLab folds it,
    which follows from them."""
    tags = list(tags)
    found: dict[str, Any] = {"tags": tags} if tags else {}
    if cell_type == "code" and not set(tags).isdisjoint(FOLDED):
        found["jupyter"] = {"source_hidden": True}
        if "hide-cell" in tags:
            found["jupyter"]["outputs_hidden"] = True
    if cell_type == "markdown" and "collapsed" in tags:
        found["jp-MarkdownHeadingCollapsed"] = True
    return found


def _clean(output: Any, count: int, cell: int) -> None:
    """Take counts, widgets and addresses in memory from an output."""
    if output.get("name") == "stderr":
        raise ValueError(f"cell {cell} warns: {output.text.strip()[:300]}")
    if str(paths.root()) in str(output):
        raise ValueError(f"cell {cell} prints an absolute path: {str(output)[:300]}")
    if "execution_count" in output:
        output.execution_count = count
    if "data" in output:
        output.metadata = {}
        if "<Figure size" in output.data.get("text/plain", ""):
            raise ValueError(
                f"cell {cell} shows a drawing that `figures.save` has not saved"
            )
        output.data = {
            kind: _saved(data)
            for kind, data in output.data.items()
            if "widget" not in kind
        }
        if " at 0x" in output.data.get(
            "text/plain", ""
        ):  # a styled table's is an address
            output.data["text/plain"] = _plain(output.data.get("text/html", ""))


def _saved(value: Any) -> Any:
    """Return the data of an output as JupyterLab saves it, which writes the number 1.0
    as 1."""
    if isinstance(value, dict):
        return {key: _saved(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_saved(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(table: str) -> str:
    """Return an HTML table as text, a line a row, for what shows no HTML."""
    rows = re.sub(r"<style.*?</style>|\n", "", table, flags=re.DOTALL)
    rows = re.sub(r"</(tr|caption)>|<br>", "\n", re.sub(r"</t[hd]>", " | ", rows))
    lines = (
        " ".join(line.split()).removesuffix(" |")
        for line in re.sub("<[^>]+>", "", rows).splitlines()
    )
    return html.unescape("\n".join(line for line in lines if line))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--begin"]:
        with (paths.notebooks() / f"{sys.argv[2]}.ipynb").open(
            "x", encoding="utf-8"
        ) as new:
            new.write(
                begun((paths.root() / "CONTRIBUTING.md").read_text(encoding="utf-8"))
            )
    else:
        for name in sys.argv[1:] or paths.notebook_names():
            files.write_text(notebooks.load(name).path, refreshed(name))
