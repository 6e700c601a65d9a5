"""Reads a notebook: its cells, the parameters that it declares, and the values that it
accepts for them.

Each notebook states the allowed ranges in its cell tagged `checks`.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpsim import checks, parameters, paths

TYPES: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "int": ("an integer", parameters.integer),
    "float": ("a number", parameters.number),
    "str": ("text", parameters.text),
    "bool": ("true or false", parameters.truth),
    "list[int]": ("a list like 1,2,3", parameters.integers),
    "list[float]": ("a list like 1,2,3", parameters.numbers),
    "list[str]": ("a list like 1,2,3", parameters.texts),
}
"""The types of parameters, each with its description in messages and its reader."""


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
        word = re.search(r"\b(file|folder)\b", self.help)
        return self.type == "str" and word is not None

    def read(self, value: Any) -> Any:
        """Return a value, or the text of one, in the parameter's type. Lists are
        written as 1,2,3 or ["a", "b"]. Raises ValueError for anything else."""
        description, reader = TYPES[self.type]
        value = value.tolist() if hasattr(value, "tolist") else value
        try:
            return reader(self.name, value)
        except ValueError:
            raise ValueError(
                f"{self.name} must be {description} ({self.type}), got {value!r:.80}"
            ) from None


@dataclass(frozen=True)
class Notebook:
    """A notebook's file.

    Attributes
    ----------
    name : str
        The file's name without its ending.
    path : Path
        The file.
    contents : dict
        The file's json, with the source of each cell as one string.
    """

    name: str
    path: Path
    contents: dict[str, Any]

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells."""
        return list(self.contents["cells"])

    def tagged(self, tag: str) -> list[str]:
        """Return the sources of the cells that have this tag."""
        return [
            cell["source"]
            for cell in self.cells
            if tag in cell["metadata"].get("tags", [])
        ]

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The declared parameters by name.

        The cell tagged `parameters` consists of lines NAME: TYPE = VALUE with types
        from TYPES; other lines raise ValueError.
        """
        declared: dict[str, Parameter] = {}
        for source in self.tagged("parameters"):
            try:
                for line in ast.parse(source).body:
                    parameter = _declared(line, source)
                    declared[parameter.name] = parameter
            except (SyntaxError, ValueError) as error:
                raise ValueError(
                    f"{self.path}: parameters must be lines of NAME: TYPE = VALUE: "
                    f"{error}"
                ) from error
        return declared

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of the parameters by name."""
        return {name: one.default for name, one in self.parameters.items()}

    def checked(self, overrides: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """Return the values of the overridden parameters by name, as the notebook's
        cell tagged `checks` leaves them.

        `overrides` are names and values, or values as written on the command line. The
        path of an existing file or folder becomes absolute, because the notebook runs
        in another folder, but only if the parameter's comment contains the word "file"
        or "folder". Therefore a column called `trips` is not mistaken for a folder
        `trips`.

        Raises ValueError for an unknown name (and suggests the nearest one), for a
        wrong type, and for a value out of range.
        """
        given: dict[str, Any] = {}
        for name, value in overrides:
            if name == "output":
                raise ValueError("output is set by the runner: use --output DIR")
            known = sorted(set(self.parameters) - {"output"})
            _check_known(f"parameter of {self.name}", name, known)
            if name in given:
                raise ValueError(f"{name} must be given once, got -p {name} twice")
            given[name] = self._first_reading(self.parameters[name], value)
        values = self._after_the_checks(self.defaults | given)
        return {name: self.parameters[name].read(values[name]) for name in given}

    def _first_reading(self, parameter: Parameter, value: Any) -> Any:
        """Return a value in the parameter's type or, if it has another type, as
        papermill's command line hands it over, so that the notebook's checks refuse
        both in the same words."""
        try:
            value = parameter.read(value)
        except ValueError:
            return parameters.literal(value)
        names_a_file = parameter.may_name_a_file and value != parameter.default
        if names_a_file and os.path.exists(value):
            return str(Path(value).resolve())
        return value

    def _after_the_checks(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all names after the cell tagged `checks`."""
        names = dict(values)
        for source in self.tagged("checks"):
            try:
                exec(compile(source, f"{self.name}: checks", "exec"), names)
            except (ValueError, OSError, ImportError):
                raise
            except Exception as error:
                raise ValueError(
                    f"the checks of {self.name} raised {type(error).__name__}: {error}"
                ) from error
        return names


def load(name: str) -> Notebook:
    """Return a notebook of this project.

    Raises ValueError for an unknown name (and suggests the nearest one), and if the
    file is not a notebook, for example after a merge with conflicts.
    """
    _check_known("notebook", name, paths.notebook_names())
    path = paths.notebooks() / f"{name}.ipynb"
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
        for cell in contents["cells"]:
            cell["source"] = "".join(cell["source"])
            tags = cell["metadata"].get("tags", [])
            if not isinstance(cell["cell_type"], str) or not isinstance(tags, list):
                raise TypeError("a cell has a cell_type, and tags in a list")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a notebook: {type(error).__name__} {error}"[:400]
        ) from error
    return Notebook(name, path, contents)


def _declared(line: ast.stmt, source: str) -> Parameter:
    """Return the parameter that a line of a cell declares."""
    if not isinstance(line, ast.AnnAssign) or line.value is None:
        raise ValueError(f"line {line.lineno}")
    name = ast.unparse(line.target)
    if line.lineno != line.value.lineno:  # `ruff format` breaks a longer line
        raise ValueError(
            f"{name} must be one line of at most 96 characters with its comment"
        )
    annotation = ast.unparse(line.annotation).replace(" ", "")
    checks.choice("type", annotation, TYPES)
    default = ast.literal_eval(line.value)
    last = source.splitlines()[(line.end_lineno or line.lineno) - 1].encode()
    comment = last[line.end_col_offset :].decode().partition("#")[2]
    return Parameter(name, annotation, default, comment.strip())


def _check_known(kind: str, word: str, words: Collection[str]) -> None:
    """Raise ValueError if a word is not known; the message suggests the nearest known
    word."""
    if word not in words:
        close = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
        question = f": did you mean {close[0]}? There" if close else "; there"
        raise ValueError(f"{word!r} is no {kind}{question} are {', '.join(words)}")
