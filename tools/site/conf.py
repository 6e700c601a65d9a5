"""Sphinx's configuration: committed notebooks, docstrings, and nothing from another
origin."""

from __future__ import annotations

import tomllib
from pathlib import Path

from dpsim import paths

declared = tomllib.loads((paths.root() / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
project = "dpsim"
author = ", ".join(each["name"] for each in declared["authors"])
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
extensions += ["sphinx_click"]
exclude_patterns = ["figures", "files"]
suppress_warnings = ["myst.header"]
smartquotes = False  # what is quoted from code or a table stays as it is
highlight_language = "none"

nb_execution_mode = "off"  # the pages show what is committed
nb_ipywidgets_js: dict[
    str, dict[str, str]
] = {}  # their scripts would come from elsewhere
nb_mime_priority_overrides = [
    ("html", "application/vnd.vegalite.v5+json", None)
]  # the page Explore shows those
nb_merge_streams = True
nb_render_markdown_format = "myst"  # formulas in outputs are typeset too
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3

mathjax_path = "mathjax/startup.js"
mathjax_config_path = "mathjax.js"

html_theme = "pydata_sphinx_theme"
html_title = "dpsim: private Markov chains"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_css_files = ["dpsim.css"]
html_js_files = ["tables.js", "folded.js"]
html_extra_path = ["files"]
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False
html_sidebars: dict[str, list[str]] = {
    "**": []
}  # the width is for code; siblings are a click on the trail away
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
html_baseurl = declared.get("urls", {}).get("Documentation", "")
copyright = f"{author}; code MIT, data under their own licences"

autosummary_generate = False
autodoc_typehints = (
    "none"  # the sections of the docstrings say types, shapes and ranges
)
autodoc_preserve_defaults = True  # as the source has them
napoleon_google_docstring = False
napoleon_use_param = False  # "x, t, steps: as in metropolis" stays one line
napoleon_custom_sections = [("Attributes", "params_style")]  # a list as of parameters
napoleon_use_rtype = False
maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"
