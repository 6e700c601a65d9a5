"""The address of the repository: as declared in pyproject.toml or, where a GitHub
workflow publishes, as the workflow's environment says."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping

from dpsim import paths

PLACEHOLDER = "git clone ADDRESS"
"""What README writes, because a tracked file cannot know where its copies are."""


def completed(urls: Mapping[str, str]) -> dict[str, str]:
    """Return the table `project.urls` of pyproject.toml, with the address of the
    repository for which a GitHub workflow runs if the table names none."""
    server, name = map(os.environ.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
    known = {"Repository": f"{server}/{name}"} if server and name else {}
    return known | dict(urls)


def declared() -> dict[str, str]:
    """Return `completed` of what pyproject.toml declares."""
    text = (paths.root() / "pyproject.toml").read_text(encoding="utf-8")
    return completed(tomllib.loads(text)["project"].get("urls", {}))


def binder(urls: Mapping[str, str], notebook: str) -> str:
    """Return the address that opens a notebook on Binder, or "" if the repository's,
    https://github.com/<owner>/<name>, is not known."""
    address = urls.get("Repository", "")
    found = re.fullmatch(r"https://github\.com/([^/]+/[^/]+?)/?", address)
    if not found:
        return ""
    path = f"notebooks%2F{notebook}.ipynb"
    return f"https://mybinder.org/v2/gh/{found[1]}/HEAD?labpath={path}"


def filled(markdown: str, urls: Mapping[str, str]) -> str:
    """Return README's text with the repository's address in its `git clone`, if the
    address is known."""
    if "Repository" not in urls:
        return markdown
    return markdown.replace(PLACEHOLDER, f"git clone {urls['Repository']}")
