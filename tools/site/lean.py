"""Makes the built pages light: style sheets without what no page uses, pictures as WebP that load when near.

And keeps a line from beginning with the comma behind a formula.
"""

from __future__ import annotations

import html
import re
from itertools import pairwise
from pathlib import Path

import tinycss2  # type: ignore[import-untyped]
from PIL import Image

OWN = "dpsim.css"
"""Our own style sheet stays as it is written."""

ICONS = re.compile(r"\.fa[bsr]?(?![\w-])|\.fa-")
"""How a rule of Font Awesome begins; dpsim.css draws the icons that the theme shows."""

WHOLE = re.compile(
    r"""(?P<before>(?:[(“"]|&quot;)?)
    (?P<box><span\ class="math[^>]*>[^<]*</span>|<code\ class="[^"]*literal(?:(?!</code>).)*</code>)
    (?P<after>(?:[.,;:)”"?!]|&quot;)*)""",
    re.VERBOSE | re.DOTALL,
)
"""A formula or code, which browsers take for a box of its own, with the signs that belong to it."""

LINE = 36
"""So many characters fit in a line of a phone; a longer formula or name is broken, and keeps no sign beside it."""


def lighten(site: Path) -> None:
    """Lighten the built site in its folder."""
    for template in (site / "_static").glob("*.html"):  # the theme's own, which is no page
        template.unlink()
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    scripts = [path for path in (site / "_static").glob("**/*.js") if "mathjax" not in path.parts]
    words = {word for path in [*pages, *scripts] for word in re.findall(r"[\w-]+", path.read_text(encoding="utf-8"))}
    for path in (site / "_static").glob("**/*.css"):
        if path.name != OWN:
            path.write_text(used(path.read_text(encoding="utf-8"), words), encoding="utf-8")
    for path in pages:
        parts = re.split(r"(<img\b[^>]*>)", path.read_text(encoding="utf-8"))
        parts[1::2] = [_light(tag, path.parent) for tag in parts[1::2]]
        path.write_text(whole("".join(parts)), encoding="utf-8")


def whole(page: str) -> str:
    """Return a page with each short formula or code and the signs beside it in one element, where no line ends."""

    def kept(found: re.Match[str]) -> str:
        short = len(re.sub("<[^>]*>", "", found["box"])) <= LINE
        return f'<span class="whole">{found[0]}</span>' if short and (found["before"] or found["after"]) else found[0]

    return WHOLE.sub(kept, page)


def used(css: str, words: set[str]) -> str:
    """Return a style sheet without the rules whose classes or ids are none of the words that stand on the pages."""
    return "\n".join(_kept(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), words))


def _kept(rules: list[tinycss2.ast.Node], words: set[str]) -> list[str]:
    """Return the rules that stay."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            named = [_text(part) for part in _selectors(rule.prelude) if _concerns(part, words)]
            if named:
                kept.append(f"{','.join(named)}{{{_text(rule.content)}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            inner = _kept(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), words)
            if inner:
                kept.append(f"@{rule.at_keyword} {_text(rule.prelude)}{{{''.join(inner)}}}")
        elif not (rule.type == "at-rule" and rule.lower_at_keyword == "font-face" and "awesome" in _text(rule.content)):
            kept.append(rule.serialize())
    return kept


def _selectors(prelude: list[tinycss2.ast.Node]) -> list[list[tinycss2.ast.Node]]:
    """Return the selectors of a rule: what stands between its commas."""
    parts: list[list[tinycss2.ast.Node]] = [[]]
    for node in prelude:
        if node.type == "literal" and node.value == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def _concerns(selector: list[tinycss2.ast.Node], words: set[str]) -> bool:
    """Return whether every class and id that a selector asks for stands on some page, and it is none of the icons."""
    ids = {node.value for node in selector if node.type == "hash"}
    classes = {
        node.value
        for before, node in pairwise(selector)
        if node.type == "ident" and before.type == "literal" and before.value == "."
    }
    return ids | classes <= words and not ICONS.match(_text(selector))


def _text(nodes: list[tinycss2.ast.Node]) -> str:
    return tinycss2.serialize(nodes).strip()


def _light(tag: str, folder: Path) -> str:
    """Return the tag of an image with the picture as WebP without loss, loaded when it comes near the screen."""
    found = re.search(r'src="([^":]+)\.png"', tag)
    if not found:
        return tag
    source = folder / f"{html.unescape(found[1])}.png"
    target = source.with_suffix(".webp")
    with Image.open(source) as picture:
        size = "" if "width=" in tag else ' width="{}" height="{}"'.format(*picture.size)
        if not target.is_file():
            picture.convert("RGB").save(target, lossless=True, method=2)
    return f'<img loading="lazy"{size}' + tag.removeprefix("<img").replace(found[0], f'src="{found[1]}.webp"')
