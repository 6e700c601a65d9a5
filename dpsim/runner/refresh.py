"""Puts the outputs of the last default run into the committed notebooks, clean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import nbformat

from dpsim import files, paths
from dpsim.runner.parameters import notebook_path

FOLDED = ("parameters", "checks", "hide-input", "hide-cell")
"""Tags of code cells whose source JupyterLab shows folded; of a cell tagged `hide-cell` the outputs too."""


def refresh_outputs(names: Iterable[str]) -> None:
    """Rewrite notebooks with the outputs of their last default run; as `refreshed`, one after the other.

    Parameters
    ----------
    names : iterable of str
    """
    for name in names:
        files.write_text(notebook_path(name), refreshed(name))


def refreshed(name: str) -> str:
    """Return a notebook's text with the outputs of its last default run (FileNotFoundError); prose and tags as written.

    ValueError when the code has changed since, and as in `clean`.
    """
    executed = paths.build() / "runs" / name / "default" / f"{name}.ipynb"
    if not executed.is_file():
        raise FileNotFoundError(f"{name} has no default run yet: `dpsim run {name}` first")
    notebook, run = nbformat.read(notebook_path(name), 4), clean(nbformat.read(executed, 4))
    cells, fresh = ([cell for cell in of.cells if cell.cell_type == "code"] for of in (notebook, run))
    if [cell.source for cell in cells] != [cell.source for cell in fresh]:
        raise ValueError(f"{name} has changed since its last default run: `dpsim run {name}` first")
    for cell, ran in zip(cells, fresh):
        cell.outputs = ran.outputs
    clean(notebook)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def clean(notebook: Any) -> Any:
    """Return the notebook without what differs between machines and runs.

    So without metadata of papermill and execution, widget state, injected parameters and kernel's version. ValueError
    for an output with a warning or an absolute path of this project: those must not be committed.
    """
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    notebook.cells = [c for c in notebook.cells if "injected-parameters" not in c.metadata.get("tags", [])]
    count = 0
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        cell.metadata = nbformat.from_dict(cell_metadata(cell.metadata.get("tags", []), cell.cell_type))
        if cell.cell_type == "code":
            cell.execution_count = count = count + 1
            cell.outputs = [_clean(output, count, position + 1) for output in _joined(cell.outputs)]
    return notebook


def cell_metadata(tags: Iterable[str], cell_type: str = "code") -> dict[str, Any]:
    """Return the metadata of a committed cell: its tags, and how JupyterLab folds it, which follows from them."""
    tags = list(tags)
    found: dict[str, Any] = {"tags": tags} if tags else {}
    if cell_type == "code" and not set(tags).isdisjoint(FOLDED):
        found["jupyter"] = {"source_hidden": True} | ({"outputs_hidden": True} if "hide-cell" in tags else {})
    if cell_type == "markdown" and "collapsed" in tags:
        found["jp-MarkdownHeadingCollapsed"] = True
    return found


def _clean(output: Any, count: int, cell: int) -> Any:
    """Return an output without counts and addresses in memory."""
    if output.output_type == "stream" and output.name == "stderr":
        raise ValueError(f"cell {cell} warns: {output.text.strip()[:300]}")
    if output.output_type == "execute_result":
        output.execution_count = count
    if output.output_type in ("execute_result", "display_data"):
        output.metadata = nbformat.from_dict({})
        output.data = nbformat.from_dict({kind: data for kind, data in output.data.items() if "widget" not in kind})
        if "text/html" in output.data:
            output.data.pop("text/plain", None)  # a styled table's is an address in memory
    if str(paths.root()) in str(output):
        raise ValueError(f"cell {cell} prints an absolute path: {str(output)[:300]}")
    return output


def _joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs with neighbouring pieces of one stream put together: timing alone separates them."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined
