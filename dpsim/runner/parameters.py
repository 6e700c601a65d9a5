"""The parameters of notebooks: read, parsed, and checked before anything runs."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papermill.inspection import inspect_notebook

from dpsim import checks, paths
from dpsim.runner import nbfiles

TYPES = ("int", "float", "str", "bool", "list[int]", "list[float]", "list[str]")
"""Annotations that papermill's inspection keeps, and that a value on the command line can have."""


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's `parameters` cell.

    Attributes
    ----------
    name, type : str
    default : Any
    help : str
        The comment behind it.
    """

    name: str
    type: str
    default: Any
    help: str


def notebook_parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, as papermill's inspection reads them.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict of str to Parameter

    Raises
    ------
    ValueError
        For a notebook whose parameter has a type outside TYPES, and as `notebook_path` does.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> "seed" in runner.notebook_parameters(paths.notebook_names()[1])
    True
    """
    found = {}
    for item in inspect_notebook(str(notebook_path(name))).values():
        kind = item["inferred_type_name"].replace(" ", "")
        checks.choice(f"type of parameter {item['name']} of {name}", kind, TYPES)
        default = ast.literal_eval(item["default"])
        found[item["name"]] = Parameter(item["name"], kind, default, item["help"].strip())
    return found


def notebook_path(name: str) -> Path:
    """Return the path of a notebook.

    Parameters
    ----------
    name : str

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        With the nearest name, for a notebook that does not exist.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runner.notebook_path(paths.notebook_names()[0]).suffix
    '.ipynb'
    """
    names = paths.notebook_names()
    if name not in names:
        raise ValueError(f"no notebook is called {name!r}{_nearest(name, names)}; there are {', '.join(names)}")
    return paths.notebooks() / f"{name}.ipynb"


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter written on the command line.

    Parameters
    ----------
    parameter : Parameter
    text : str
        Lists as 1,2,3 or ["a", "b"].

    Returns
    -------
    int, float, bool, str or list

    Raises
    ------
    ValueError
        Naming the parameter, the text and the type it should have.

    Examples
    --------
    >>> from dpsim import runner
    >>> runner.parse(runner.Parameter("draws", "int", 100, "how many"), "200")
    200
    """
    if parameter.type.startswith("list["):
        inner = Parameter(parameter.name, parameter.type[5:-1], None, "")
        items = json.loads(text) if text.lstrip().startswith("[") else text.split(",") if text else []
        return [parse(inner, str(item).strip()) for item in items]
    if parameter.type == "str":
        return text
    if parameter.type == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if parameter.type == "int":
            return int(text)
        if parameter.type == "float":
            return float(text)
    except ValueError:
        pass
    example = {"bool": "true or false", "int": "an integer", "float": "a number"}[parameter.type]
    raise ValueError(f"{parameter.name} must be {example} ({parameter.type}), got {text!r}")


def resolve(name: str, overrides: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of the overridden parameters of a notebook, checked before anything runs.

    Parameters
    ----------
    name : str
        Of the notebook.
    overrides : iterable of (str, str)
        Parameter and value, as written on the command line.

    Returns
    -------
    dict of str to value
        A string that names a file or folder seen from the caller becomes its absolute path, because the kernel may
        start elsewhere.

    Raises
    ------
    ValueError
        For unknown names (with the nearest), wrong types and ranges. The notebook's own checks (the cell tagged
        `checks`) run here, so a value outside its range is refused in their words.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> runner.resolve(paths.notebook_names()[1], [("seed", "3")])
    {'seed': 3}
    """
    known = notebook_parameters(name)
    values: dict[str, Any] = {}
    for given, text in overrides:
        if given == "output":
            raise ValueError("output is set by the runner: use --output DIR")
        if given not in known:
            allowed = sorted(set(known) - {"output"})
            raise ValueError(
                f"{given} is not a parameter of {name}{_nearest(given, allowed)}; it has {', '.join(allowed)}"
            )
        value = parse(known[given], text)
        if isinstance(value, str) and value != known[given].default and Path(value).exists():
            value = str(Path(value).resolve())
        values[given] = value
    _run_checks(name, {key: p.default for key, p in known.items()} | values)
    return values


def _run_checks(name: str, values: dict[str, Any]) -> None:
    """Run the cell tagged `checks` on the given values; its ValueError is the refusal."""
    notebook = nbfiles.read(notebook_path(name))
    for cell in notebook.cells:
        if "checks" in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}: checks of the parameters", "exec"), dict(values))


def _nearest(word: str, words: Iterable[str]) -> str:
    """Return a question for the nearest known word, or nothing."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f": did you mean {close[0]}?" if close else ""
