"""Small pieces of Markdown and HTML: plain text in, plain text out, lists of pages,
links to files."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(markdown: str) -> str:
    """Return Markdown as one line of text: no emphasis, links as their text, formulas
    in Unicode as far as it goes."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", without_formulas(markdown))
    text = re.sub(r"\*\*|\*|`", "", text)
    return " ".join(text.split())


def without_formulas(markdown: str, *, markup: bool = False) -> str:
    """Return Markdown with its formulas in Unicode, as far as it goes; markup: raised
    and lowered letters as HTML."""
    return re.sub(r"\$+([^$]+)\$+", lambda m: _formula(m[1], markup), markdown)


def _formula(tex: str, markup: bool) -> str:
    """Return a short formula as text: Greek letters and the commonest signs, other
    commands by their names."""
    signs = {
        "le": "≤",
        "ge": "≥",
        "to": "→",
        "times": "×",
        "sim": "∼",
        "in": "∈",
        "sum": "∑",
        "prod": "∏",
        "cdot": "·",
        "infty": "∞",
        "pm": "±",
        "epsilon": "ε",
        "varepsilon": "ε",
        "|": "‖",
        "ll": "≪",
        "sqrt": "√",
        "mathbb": "",
        "mathcal": "",
        "mathrm": "",
        "mathbf": "",
        "text": "",
        "bigl": "",
        "bigr": "",
        "left": "",
        "right": "",
        "log": "log",
        "approx": "≈",
        "ne": "≠",
        "mid": "|",
    }
    accents = {
        "tilde": "\u0303",
        "hat": "\u0302",
        "bar": "\u0304",
    }  # Unicode has them behind their letter

    def sign(found: re.Match[str]) -> str:
        name = found[1]
        if name in accents:
            return f"\\{name}"
        if name in signs:
            return signs[name]
        try:
            kind = "CAPITAL" if name[0].isupper() else "SMALL"
            return unicodedata.lookup(f"GREEK {kind} LETTER {name.upper()}")
        except KeyError:
            return name if name.isalpha() else " "

    part = r"(?:\{([^{}]*)\}|\s*(\w))"
    tex = re.sub(
        rf"\\[dt]?frac{part}{part}", lambda m: f"{m[1] or m[2]}/{m[3] or m[4]}", tex
    )
    tex = re.sub(
        r"\^(?:\{(-?\d+)\}|(\d))", lambda m: (m[1] or m[2]).translate(RAISED), tex
    )
    if markup:
        letters = r"(?:\{([^{}]*)\}|(\\[A-Za-z]+|\w))"
        tex = re.sub(rf"\^{letters}", lambda m: f"<sup>{m[1] or m[2]}</sup>", tex)
        tex = re.sub(rf"_{letters}", lambda m: f"<sub>{m[1] or m[2]}</sub>", tex)
    text = re.sub(r"[{}]", "", re.sub(r"\\([A-Za-z]+|.)", sign, tex))
    return re.sub(r"\\(tilde|hat|bar)\s*(.)", lambda m: m[2] + accents[m[1]], text)


def escape(text: str) -> str:
    """Return plain text as Markdown that shows it as it stands, with `code` as code."""
    parts = re.split(r"(`[^`|]+`)", text)
    return "".join(
        part if n % 2 else re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", part)
        for n, part in enumerate(parts)
    )


def toctree(pages: list[str], caption: str = "") -> str:
    """Return a hidden table of contents, with a caption where one is given."""
    return "\n".join(
        [
            "```{toctree}",
            ":hidden:",
            *([f":caption: {caption}"] if caption else []),
            "",
            *pages,
            "```",
        ]
    )


def downloads(files: Mapping[str, str], name: str) -> list[str]:
    """Return a link to each file, shown as its key and called "<key> of <name>" by
    screen readers."""
    called = html.escape(name)
    return [
        f'<a href="{path}" aria-label="{key} of {called}" download>{key}</a>'
        for key, path in files.items()
    ]
