"""Sphinx's configuration: committed notebooks, docstrings, and nothing from another origin."""

from __future__ import annotations

import re

import numba
from sphinx.util.inspect import TypeAliasForwardRef

from dpsim.paths import root


def _as_written(*function, **options):  # type: ignore[no-untyped-def]
    """Return the function as it is written, whether numba's decorator has options or not."""
    return function[0] if function else lambda function: function


_as_written.__module__ = "numba"  # imported, not a module's own
numba.njit = numba.vectorize = _as_written  # a compiled function is none to autodoc: it would be missing

project = "dpsim"
author = "The dpsim compendium authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns = ["figures", "files"]
suppress_warnings = ["myst.header"]
smartquotes = False  # what is quoted from code or a table stays as it is
highlight_language = "none"

nb_execution_mode = "off"  # the pages show what is committed
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # live controls need a kernel; their scripts come from elsewhere
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3

mathjax_path = "mathjax/tex-chtml.js"
mathjax4_config = {  # MathML for screen readers; the spoken version would need another 5 MB
    "options": {
        "enableMenu": False,
        "menuOptions": {"settings": {"enrich": False, "speech": False, "braille": False, "assistiveMml": True}},
    },
    "output": {"fontPath": "[mathjax]/font", "displayOverflow": "scroll", "scale": 0.95},
}

html_theme = "pydata_sphinx_theme"
html_title = "dpsim: private Markov chains"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["dpsim.css"]
html_extra_path = ["files"]
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False
html_sidebars = {
    page: [] for page in ("index", "gallery", "report", "errata", "data", "measurements", "run", "notebooks/*")
}
html_theme_options = {
    "logo": {"text": "dpsim"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "github-dark-high-contrast",
}
html_context = {"default_mode": "auto"}
copyright = "the dpsim compendium authors; code MIT, data under their own licences"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
_arrays = [
    (name, f"NDArray[{kind.rstrip('_')}]")
    for module in (root() / "dpsim").glob("*.py")
    for name, kind in re.findall(r"^(\w+) = NDArray\[np\.(\w+)\]$", module.read_text("utf-8"), re.MULTILINE)
]
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "NDArray": "NDArray", **dict(_arrays)}
toc_object_entries_show_parents = "hide"
# An alias within a larger type is shown by its repr: there it has to be the name alone, with what it is an array of.
TypeAliasForwardRef.__repr__ = lambda self: self.name
TypeAliasForwardRef.__getitem__ = lambda self, item: TypeAliasForwardRef(f"{self.name}[{item.__name__}]")


def as_text(lines: list[str]) -> list[str]:
    """Return a docstring's plain text as reStructuredText: nothing is markup but `code`; indented blocks as they are.

    Docstrings hold formulas such as |W| or pi~, which reStructuredText would read as its own.
    """
    text: list[str] = []
    literal = False
    for number, line in enumerate(lines):
        indented = line.startswith(" ")
        if indented and not literal and not (number and lines[number - 1].strip()):
            text += ["::", ""]
            literal = True
        elif literal and line.strip() and not indented:
            literal = False
        text.append(line if literal else _escaped(line.strip()))
    return text


def _escaped(line: str) -> str:
    """Return the line with `code` as literals and every other character taken as it stands."""
    parts = re.split(r"`([^`]+)`", line)
    prose = [re.sub(r"([\\*`|_<>])", r"\\\1", part) for part in parts[::2]]
    prose[0] = re.sub(r"^([-+:.]|\w+[.)])(?=\s|:|\.|$)", r"\\\1", prose[0])
    literal = [f"``{part}``" for part in parts[1::2]]
    joined = prose[0]
    for code, after in zip(literal, prose[1:]):
        joined += code + (rf"\ {after}" if after[:1].isalnum() else after)
    return joined


def setup(app):  # type: ignore[no-untyped-def]
    """Read every docstring as plain text."""
    app.connect("autodoc-process-docstring", lambda app, what, name, obj, options, lines: _replace(lines))


def _replace(lines: list[str]) -> None:
    """Change the list in place, which is how Sphinx takes the answer; fields of a named tuple say nothing new."""
    lines[:] = [] if lines[:1] and lines[0].startswith("Alias for field number") else as_text(lines)
