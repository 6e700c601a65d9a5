"""The parameters of notebooks: their types, defaults and comments, and the values given
on the command line.

Each notebook states the allowed ranges in its cell tagged `checks`.
"""

from __future__ import annotations

import ast
import difflib
import json
import math
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsim import checks, paths

TYPES = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "list[int]": "a list like 1,2,3",
    "list[float]": "a list like 1,2,3",
    "list[str]": "a list like 1,2,3",
}
"""The types of parameters, each with its description in messages."""


@dataclass(frozen=True)
class Parameter:
    """A declared parameter of a notebook; `help` is the comment at the end of its
    line."""

    name: str
    type: str
    default: Any
    help: str

    @property
    def may_name_a_file(self) -> bool:
        """Whether the parameter's comment contains the word "file" or "folder"."""
        found = re.search(r"\b(file|folder)\b", self.help)
        return self.type == "str" and found is not None


def load(name: str) -> dict[str, Any]:
    """Return a notebook's json, with the source of each cell as one string.

    Raises ValueError if the file is not a notebook, for example after a merge with
    conflicts.
    """
    path = notebook_path(name)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            tags = cell["metadata"].get("tags", [])
            if not isinstance(cell["cell_type"], str) or not isinstance(tags, list):
                raise TypeError("a cell has a cell_type, and tags in a list")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a notebook: {type(error).__name__} {error}"[:400]
        ) from error
    return notebook


def notebook_path(name: str) -> Path:
    """Return the path of a notebook, or raise a ValueError that suggests the nearest
    name."""
    _check_known("notebook", name, paths.notebook_names())
    return paths.notebooks() / f"{name}.ipynb"


def notebook_parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name.

    Parameters
    ----------
    name : str
        A notebook whose cell tagged `parameters` consists of lines NAME: TYPE = VALUE
        with types from TYPES; other lines raise ValueError.
    """
    path = notebook_path(name)
    found: dict[str, Parameter] = {}
    for source in _cells_with_tag(name, "parameters"):
        try:
            for line in ast.parse(source).body:
                where = f"line {line.lineno}"
                assert isinstance(line, ast.AnnAssign), where
                assert line.value and line.end_lineno, where
                target = ast.unparse(line.target)
                # `ruff format` breaks a longer line
                assert line.lineno == line.value.lineno, (
                    f"{target} must be one line of at most 96 characters with its comment"
                )
                kind = ast.unparse(line.annotation).replace(" ", "")
                checks.choice("type", kind, TYPES)
                default = ast.literal_eval(line.value)
                last = source.splitlines()[line.end_lineno - 1].encode()
                comment = last[line.end_col_offset :].decode().partition("#")[2]
                found[target] = Parameter(target, kind, default, comment.strip())
        except (SyntaxError, ValueError, AssertionError) as error:
            raise ValueError(
                f"{path}: parameters must be lines of NAME: TYPE = VALUE: {error}"
            ) from error
    return found


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter from the command line, where a list is written as
    1,2,3 or ["a", "b"]."""
    kind = parameter.type
    try:
        if kind.startswith("list["):
            is_json = not text or text.lstrip().startswith("[")
            items = json.loads(text or "[]") if is_json else text.split(",")
        elif kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        else:
            value: Any = {"str": str, "int": int, "float": float}[kind](text)
            if kind == "float" and not math.isfinite(value):
                raise ValueError(f"{text} is not finite")
            return value
    except (RecursionError, KeyError, ValueError) as error:
        raise ValueError(
            f"{parameter.name} must be {TYPES[kind]} ({kind}), got {text[:80]!r}"
        ) from error
    inner = Parameter(parameter.name, kind[5:-1], None, "")
    return [parse(inner, str(item).strip()) for item in items]


def resolve(name: str, overrides: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of the overridden parameters of a notebook, by name.

    `overrides` are names and values as written on the command line. The path of an
    existing file or folder becomes absolute, because the notebook runs in another
    folder, but only if the parameter's comment contains the word "file" or "folder".
    Therefore a column called `trips` is not mistaken for a folder `trips`.

    Raises ValueError for an unknown name (and suggests the nearest one), for a wrong
    type, and for a value out of range. To check the ranges, the notebook's cell tagged
    `checks` is run.
    """
    known = notebook_parameters(name)
    values: dict[str, Any] = {}
    for given, text in overrides:
        if given == "output":
            raise ValueError("output is set by the runner: use --output DIR")
        _check_known(f"parameter of {name}", given, sorted(set(known) - {"output"}))
        if given in values:
            raise ValueError(f"{given} must be given once, got -p {given} twice")
        parameter = known[given]
        value = parse(parameter, text)
        names_a_file = parameter.may_name_a_file and value != parameter.default
        if names_a_file and os.path.exists(value):
            value = str(Path(value).resolve())
        values[given] = value
    defaults = {parameter.name: parameter.default for parameter in known.values()}
    for source in _cells_with_tag(name, "checks"):
        body = ast.parse(source).body
        last = 0
        for number, part in enumerate(body, 1):
            if "checks." in ast.unparse(part):
                last = number
        # the imports below the last check are left out
        checked = ast.Module(body[:last], [])
        code = compile(checked, f"{name}: checks of the parameters", "exec")
        exec(code, defaults | values)
    return values


def _cells_with_tag(name: str, tag: str) -> list[str]:
    """Return the sources of those cells of a notebook that have this tag."""
    return [
        cell["source"]
        for cell in load(name)["cells"]
        if tag in cell["metadata"].get("tags", [])
    ]


def _check_known(kind: str, word: str, words: Collection[str]) -> None:
    """Raise ValueError if a word is not known; the message suggests the nearest known
    word."""
    if word not in words:
        close = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
        question = f": did you mean {close[0]}?" if close else ""
        raise ValueError(
            f"{word!r} is no {kind}{question}; there are {', '.join(words)}"
        )
