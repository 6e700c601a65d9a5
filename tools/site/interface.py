"""The pages of the programming interface, one a module, and of the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import click
from markup import escape, toctree

from dpsim import paths
from dpsim.cli import main

GROUPS = {
    "Dirichlet mechanisms": ("dirichlet", "matrix_dirichlet", "data_driven", "baselines"),
    "Privacy accounting": ("accounting", "quadrature", "special"),
    "Words and automata": (
        *("words", "automaton", "selection", "word_epsilon", "word_optimum", "word_normaliser", "word_search"),
        *("word_space", "word_tables"),
    ),
    "Histograms": (
        *("boltzmann", "boltzmann_exact", "boltzmann_approximate", "boltzmann_steps", "boltzmann_sampling"),
        *("boltzmann_baselines", "boltzmann_space"),
    ),
    "Decision processes": ("mdp", "value_bounds"),
    "Markov chains": ("markov", "sparse_chains", "perturbation", "simplex"),
    "Private release of your own events": (
        *("events", "release", "unit_privacy", "private_draws", "release_files", "release_command"),
    ),
    "Data, maps and figures": ("datasets", "fetch", "maps", "drawing", "figures", "controls"),
    "Audit and comparison with the papers": ("audit", "release_audit", "ledger", "compare"),
    "Machinery of the command line": (
        *("runner", "worker", "sweep", "refresh", "nbfiles", "project", "streams", "checks"),
    ),
}
"""How the interface's pages group the modules, every one of them: what a notebook calls first."""


INTRODUCTION = (
    "Every module of `dpsim`, what a notebook calls first; the [command line](command_line.md); "
    'every name in the <a href="../genindex.html">alphabetical index</a>.'
)

COLUMNS = 72
"""Width of a command's help, which fits beside the list of modules."""


def pages() -> dict[str, str]:
    """Return the pages by name: the groups with their modules, each module, the command line.

    Raises ValueError for a module that is in no group, and for one in a group that is not there.
    """
    docs = module_docs()
    placed = [name for names in GROUPS.values() for name in names]
    if wrong := sorted(set(docs).symmetric_difference(placed)):
        raise ValueError(f"GROUPS of site/interface.py must hold every module of dpsim and no other: {wrong}")
    parts = ["# API reference", INTRODUCTION]
    for group, names in GROUPS.items():
        rows = [f"| [{name}]({name}.md) | {escape(docs[name])} |" for name in names]
        parts += [f"## {group}", "\n".join(["| module | what it holds |", "| --- | --- |", *rows])]
    parts += [toctree(list(names), group) for group, names in GROUPS.items()]
    parts += [toctree(["command_line"], "Shell")]
    modules = {name: f"# {name}\n\n```{{eval-rst}}\n.. automodule:: dpsim.{name}\n   :members:\n```\n" for name in docs}
    texts = {"index": "\n\n".join(parts), **modules, "command_line": command_line()}
    return {f"api/{name}.md": text for name, text in texts.items()}


def module_docs() -> dict[str, str]:
    """Return the first paragraph of every module's docstring."""
    sources = sorted((paths.root() / "dpsim").glob("[a-z]*.py"))
    docs = {path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in sources}
    return {name: " ".join(doc.partition("\n\n")[0].split()) for name, doc in docs.items()}


def command_line() -> str:
    """Return the commands with the help of each."""
    root = click.Context(main, info_name="dpsim", max_content_width=COLUMNS)
    commands = [command for name, entry in main.commands.items() for command in _commands(name, entry, root)]
    rows = [f"| [{name}](#{name.replace(' ', '-')}) | {escape(_purpose(entry))} |" for name, entry, _ in commands]
    parts = ["# Command line", "\n".join(["| command | what it does |", "| --- | --- |", *rows])]
    for name, command, context in commands:
        parts += [f"## {name}", f"```text\n{command.get_help(context)}\n```"]
    return "\n\n".join(parts)


def _commands(
    name: str, command: click.Command, parent: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield a command and those below it, each with the words that call it."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=COLUMNS)
    yield context.command_path, command, context
    for below, entry in getattr(command, "commands", {}).items():
        yield from _commands(below, entry, context)


def _purpose(command: click.Command) -> str:
    """Return what a command does, in full: click would cut it to a line."""
    paragraph = (command.help or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split())
