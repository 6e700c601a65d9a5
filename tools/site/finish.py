"""Finishes the built pages: pictures become WebP that load when they come near the
screen, no line begins with the comma after a formula, and each page has a
description."""

from __future__ import annotations

import html
import re
from pathlib import Path

from PIL import Image

WHOLE = re.compile(
    r"""(?P<before>(?:[(“"]|&quot;)?)
    (?P<box><span\ class="math[^>]*>[^<]*</span>
    |<code\ class="[^"]*literal(?:(?!</code>).)*</code>)
    (?P<after>(?:[.,;:)”"?!]|&quot;)*)""",
    re.VERBOSE | re.DOTALL,
)
"""A formula or code, which browsers take for a box of its own, with the signs that
belong to it."""

LINE = 36
"""So many characters fit in a line of a phone; a longer formula or name is broken, and
keeps no sign beside it."""


def finish(site: Path) -> None:
    """Finish the built site in its folder."""
    for template in (site / "_static").glob(
        "*.html"
    ):  # the theme's own, which is no page
        template.unlink()
    for path in site.rglob("*.html"):
        parts = re.split(r"(<img\b[^>]*>)", path.read_text(encoding="utf-8"))
        parts[1::2] = [_light(tag, path.parent) for tag in parts[1::2]]
        path.write_text(described(whole("".join(parts))), encoding="utf-8")


LONGEST = 200
"""Characters of a description; search engines show no more."""


def described(page: str) -> str:
    """Return a page with its first long paragraph as its description, or its title if
    it has none."""
    article = page.partition("<article")[2]
    paragraphs = re.findall(r"<p>(.*?)</p>", article, flags=re.DOTALL)
    texts = [
        " ".join(html.unescape(re.sub("<[^>]+>", "", part)).split())
        for part in paragraphs
    ]
    title = html.unescape(re.findall(r"<title>(.*?)</title>", page, flags=re.DOTALL)[0])
    text = next((text for text in texts if len(text) > 60), " ".join(title.split()))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST].rpartition(' ')[0]} …"
    return page.replace(
        "</head>",
        f'  <meta name="description" content="{html.escape(text)}"/>\n  </head>',
        1,
    )


def whole(page: str) -> str:
    """Return a page with each short formula or code and the signs beside it in one
    element, where no line ends."""

    def kept(found: re.Match[str]) -> str:
        short = len(re.sub("<[^>]*>", "", found["box"])) <= LINE
        return (
            f'<span class="whole">{found[0]}</span>'
            if short and (found["before"] or found["after"])
            else found[0]
        )

    return WHOLE.sub(kept, page)


def _light(tag: str, folder: Path) -> str:
    """Return the tag of an image with the picture as WebP without loss, loaded when it
    comes near the screen."""
    found = re.search(r'src="([^":]+)\.png"', tag)
    if not found:
        return tag
    source = folder / f"{html.unescape(found[1])}.png"
    target = source.with_suffix(".webp")
    with Image.open(source) as picture:
        size = (
            "" if "width=" in tag else ' width="{}" height="{}"'.format(*picture.size)
        )
        if not target.is_file():
            picture.convert("RGB").save(target, lossless=True, method=2)
    return f'<img loading="lazy"{size}' + tag.removeprefix("<img").replace(
        found[0], f'src="{found[1]}.webp"'
    )
