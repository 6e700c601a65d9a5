"""The pages of the programming interface, one a subpackage, and of the command line."""

from __future__ import annotations

import ast
import importlib
import inspect

from markup import toctree

import dpsim
from dpsim import paths

FLOOR = ("private", "checks", "streams", "paths")
"""What stands below the subpackages and has a page: behind them, because few readers
need it."""

RELEASE = "dpsim_release"
"""The package beside dpsim, in a folder of its own."""

INTRODUCTION = (
    "`import dpsim` shows these subpackages; each page lists what one offers, in the "
    "order a reader needs, and then each name with its parameters, what it returns and "
    "an example. What every `privatize` returns is in [private](private.md). The "
    "[command line](command_line.md) has a page of its own, and every name stands in "
    'the <a href="../genindex.html">alphabetical index</a>.'
)


def subpackages() -> list[str]:
    """Return the subpackages in the face's order, what stands below them last;
    `numerics` has only modules."""
    named = [
        name for name in face("dpsim") if inspect.ismodule(getattr(dpsim, name, None))
    ]
    subpackages = [name for name in named if name not in (*FLOOR, "numerics")]
    return [*subpackages, RELEASE, *FLOOR]


def module_name(name: str) -> str:
    """Return the full name of a page's module."""
    return name if name == RELEASE else f"dpsim.{name}"


def face(module: str) -> list[str]:
    """Return the names of a module's stub in their order; those of a module without one
    in the order of its source."""
    house = "release" if module == RELEASE else "."
    folder = paths.root() / house / module.replace(".", "/")
    stub = folder / "__init__.pyi"
    if stub.is_file():
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        return [
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
    tree = ast.parse(folder.with_suffix(".py").read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [
        node.name
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


def pages() -> dict[str, str]:
    """Return the pages by name: the list of subpackages, a page for each, the command
    line."""
    names = subpackages()
    rows = [
        f"| [{name}]({name}.md) | {first_sentence(module_name(name))} |"
        for name in names
    ]
    table = "\n".join(["| subpackage | what it holds |", "| --- | --- |", *rows])
    index = ["# Interface", INTRODUCTION, table, toctree([*names, "command_line"])]
    texts = {
        "index": "\n\n".join(index),
        **{name: subpackage(name) for name in names},
        "command_line": COMMAND_LINE,
    }
    return {f"api/{name}.md": text for name, text in texts.items()}


def first_sentence(module: str) -> str:
    """Return the first paragraph of a module's docstring in one line."""
    doc = inspect.getdoc(importlib.import_module(module)) or ""
    return " ".join(doc.partition("\n\n")[0].split())


def subpackage(name: str) -> str:
    """Return the page of a subpackage: its docstring, a table of its functions and
    classes, each of them in full."""
    full_name = module_name(name)
    module = importlib.import_module(full_name)
    shown = [
        entry for entry in face(full_name) if callable(getattr(module, entry, None))
    ]
    summary = (
        f"```{{eval-rst}}\n.. currentmodule:: {full_name}\n.. autosummary::\n   "
        ":nosignatures:\n"
    )
    listed = "\n".join(f"   {entry}" for entry in shown)
    full = "\n\n".join(
        f".. auto{_kind(getattr(module, entry))}:: {full_name}.{entry}"
        for entry in shown
    )
    doc = inspect.getdoc(module) or ""
    parts = [f"# {full_name}", f"```{{eval-rst}}\n{doc}\n```"]
    if shown:
        parts += [f"{summary}\n{listed}\n```", f"```{{eval-rst}}\n{full}\n```"]
    return "\n\n".join(parts)


def _kind(entry: object) -> str:
    """Return autodoc's word for a function or a class."""
    return "class" if inspect.isclass(entry) else "function"


COMMAND_LINE = """\
# Command line

```{eval-rst}
.. click:: dpsim.cli:main
   :prog: dpsim
   :nested: full
   :commands: run, report, list, data

.. click:: dpsim_release.commands:release
   :prog: dpsim release

.. click:: dpsim_release.commands:plan
   :prog: dpsim plan
```
"""
