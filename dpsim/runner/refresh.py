"""Puts the outputs of the last full default run into the committed notebooks, clean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import nbformat

from dpsim import paths
from dpsim.runner import nbfiles

FOLDED = ("parameters", "checks", "hide-input", "hide-cell")
"""Tags of code cells whose source JupyterLab shows folded; of a cell tagged `hide-cell` the outputs too."""


def clean(notebook: Any) -> Any:
    """Return the notebook free of what differs between machines and runs.

    Parameters
    ----------
    notebook : NotebookNode

    Returns
    -------
    NotebookNode
        Without papermill's and execution metadata, widget state, the injected parameters and the kernel's version.

    Raises
    ------
    ValueError
        For an output with a warning or an absolute path of this project: those must not be committed.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> notebook = runner.read(runner.notebook_path(paths.notebook_names()[1]))
    >>> runner.clean(notebook) == notebook
    True
    """
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    notebook.cells = _written(notebook)
    count = 0
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        cell.metadata = nbformat.from_dict(cell_metadata(cell.metadata.get("tags", []), cell.cell_type))
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = _joined(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                raise ValueError(f"cell {position + 1} warns: {output.text.strip()[:300]}")
            if output.output_type == "execute_result":
                output.execution_count = count
            output.pop("metadata", None)
            if output.output_type in ("execute_result", "display_data"):
                output.metadata = nbformat.from_dict({})
                output.data = nbformat.from_dict({k: v for k, v in output.data.items() if "widget" not in k})
                if "text/html" in output.data:
                    output.data.pop("text/plain", None)  # a styled table's is an address in memory
            if re.search(re.escape(str(paths.root())), str(output)):
                raise ValueError(f"cell {position + 1} prints an absolute path: {str(output)[:300]}")
    return notebook


def cell_metadata(tags: Iterable[str], cell_type: str = "code") -> dict[str, Any]:
    """Return the metadata of a committed cell: its tags, and how JupyterLab folds it, which follows from them.

    Parameters
    ----------
    tags : iterable of str
    cell_type : {"code", "markdown", "raw"}

    Returns
    -------
    dict

    Examples
    --------
    >>> from dpsim import runner
    >>> runner.cell_metadata([])
    {}
    """
    tags = list(tags)
    found: dict[str, Any] = {"tags": tags} if tags else {}
    if cell_type == "code" and not set(tags).isdisjoint(FOLDED):
        found["jupyter"] = {"source_hidden": True}
        if "hide-cell" in tags:
            found["jupyter"]["outputs_hidden"] = True
    if cell_type == "markdown" and "collapsed" in tags:
        found["jp-MarkdownHeadingCollapsed"] = True
    return found


def _written(notebook: Any) -> list[Any]:
    """Return the cells that somebody wrote: all but those in which papermill has put the parameters of a run."""
    return [cell for cell in notebook.cells if "injected-parameters" not in cell.metadata.get("tags", [])]


def _joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs with neighbouring pieces of one stream put together: timing alone separates them."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def refresh_outputs(names: list[str]) -> list[str]:
    """Rewrite notebooks with the outputs of their last default run.

    Parameters
    ----------
    names : list of str

    Returns
    -------
    list of str
        The names of the notebooks that changed.

    Raises
    ------
    FileNotFoundError, ValueError
        As `refreshed` does; what comes before the notebook at fault is written.
    """
    for name in names:
        nbfiles.write(refreshed(name), paths.notebooks() / f"{name}.ipynb")
    return names


def refreshed(name: str) -> Any:
    """Return a notebook, clean, with the outputs of its last default run; prose and tags are as written.

    Parameters
    ----------
    name : str

    Returns
    -------
    NotebookNode

    Raises
    ------
    FileNotFoundError
        When there is no such run.
    ValueError
        When the code has changed since, and as `clean` does.
    """
    executed = paths.build() / "runs" / name / "default" / f"{name}.ipynb"
    if not executed.is_file():
        raise FileNotFoundError(f"{name} has no default run yet: `dpsim run {name}` first")
    notebook = nbfiles.read(paths.notebooks() / f"{name}.ipynb")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    run = [cell for cell in _written(nbfiles.read(executed)) if cell.cell_type == "code"]
    if [cell.source for cell in run] != [cell.source for cell in cells]:
        raise ValueError(f"{name} has changed since its last default run: `dpsim run {name}` first")
    for cell, fresh in zip(cells, run):
        cell.outputs = fresh.outputs
    return clean(notebook)
