"""The parameters of notebooks: how they are declared, and how values from the command line are parsed and checked."""

from __future__ import annotations

import ast
import difflib
import json
import math
import os
import re
from collections.abc import Iterable
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
"""The types that a parameter can have, each with its description in error messages."""


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's `parameters` cell; `help` is the comment at its end."""

    name: str
    type: str
    default: Any
    help: str

    @property
    def may_name_a_file(self) -> bool:
        """Whether the value may name a file or a folder, which the comment says with one of these two words."""
        return (
            self.type == "str"
            and re.search(r"\b(file|folder)\b", self.help) is not None
        )


def load(name: str) -> dict[str, Any]:
    """Return a notebook's json, with each cell's source as one string.

    Raise ValueError if the file is not a notebook, for example after a merge with conflicts.
    """
    path = notebook_path(name)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            if not isinstance(cell["cell_type"], str) or not isinstance(
                cell["metadata"].get("tags", []), list
            ):
                raise TypeError("a cell has a cell_type, and tags in a list")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a notebook: {type(error).__name__} {error}"[:400]
        ) from error
    return notebook


def notebook_path(name: str) -> Path:
    """Return the path of a notebook. If it does not exist, the ValueError suggests the nearest name."""
    _check_known("notebook", name, paths.notebook_names())
    return paths.notebooks() / f"{name}.ipynb"


def notebook_parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name.

    Parameters
    ----------
    name : str, of a notebook whose cell tagged `parameters` has only lines NAME: TYPE = VALUE, with one of TYPES
    """
    path = notebook_path(name)
    found: dict[str, Parameter] = {}
    for source in _cells_with_tag(name, "parameters"):
        try:
            for line in ast.parse(source).body:
                assert (
                    isinstance(line, ast.AnnAssign) and line.value and line.end_lineno
                ), f"line {line.lineno}"
                broken = f"{ast.unparse(line.target)} must be one line of at most 96 characters with its comment"
                assert line.lineno == line.value.lineno, (
                    broken
                )  # `ruff format` breaks a longer one
                kind = checks.choice(
                    "type", ast.unparse(line.annotation).replace(" ", ""), TYPES
                )
                behind = (
                    source.splitlines()[line.end_lineno - 1]
                    .encode()[line.end_col_offset :]
                    .decode()
                )
                target = ast.unparse(line.target)
                found[target] = Parameter(
                    target,
                    kind,
                    ast.literal_eval(line.value),
                    behind.partition("#")[2].strip(),
                )
        except (SyntaxError, ValueError, AssertionError) as error:
            raise ValueError(
                f"{path}: parameters must be lines of NAME: TYPE = VALUE: {error}"
            ) from error
    return found


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter from the command line, where a list is written as 1,2,3 or ["a", "b"]."""
    kind = parameter.type
    try:
        if kind.startswith("list["):
            items = (
                json.loads(text)
                if text.lstrip().startswith("[")
                else text.split(",")
                if text
                else []
            )
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
    """Return the values of the overridden parameters of a notebook, checked before anything runs.

    The overrides are parameters with their values, as written on the command line. The path of an existing file or
    folder becomes absolute, because the notebook runs in another folder. This happens only to parameters whose comment
    says that they may name a file or a folder, so that a column called `trips` stays a column beside a folder `trips`.

    Raise ValueError for an unknown name (with the nearest known one), a wrong type or a wrong range. The ranges are
    checked by running the notebook's own cell tagged `checks`, which has its own messages.
    """
    known = notebook_parameters(name)
    values: dict[str, Any] = {}
    for given, text in overrides:
        if given == "output":
            raise ValueError("output is set by the runner: use --output DIR")
        _check_known(f"parameter of {name}", given, sorted(set(known) - {"output"}))
        if given in values:
            raise ValueError(f"{given} must be given once, got -p {given} twice")
        values[given] = value = parse(known[given], text)
        if (
            known[given].may_name_a_file
            and value != known[given].default
            and os.path.exists(value)
        ):
            values[given] = str(Path(value).resolve())
    for source in _cells_with_tag(name, "checks"):
        body = ast.parse(source).body
        last = max(
            (i for i, part in enumerate(body, 1) if "checks." in ast.unparse(part)),
            default=0,
        )
        # the imports below the last check are left out
        code = compile(
            ast.Module(body[:last], []), f"{name}: checks of the parameters", "exec"
        )
        exec(
            code,
            {parameter.name: parameter.default for parameter in known.values()}
            | values,
        )
    return values


def _cells_with_tag(name: str, tag: str) -> list[str]:
    """Return the sources of those cells of a notebook that have a tag."""
    return [
        cell["source"]
        for cell in load(name)["cells"]
        if tag in cell["metadata"].get("tags", [])
    ]


def _check_known(kind: str, word: str, words: list[str]) -> None:
    """Raise ValueError if a word is not among the known words; the message suggests the nearest one."""
    if word not in words:
        close = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
        question = f": did you mean {close[0]}?" if close else ""
        raise ValueError(
            f"{word!r} is no {kind}{question}; there are {', '.join(words)}"
        )
