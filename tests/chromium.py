"""The browser of the tests of the site and of JupyterLab."""

import shutil
from typing import Any

CHROMIUM = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
"""Where Chromium is installed, or None."""


def launch(playwright: Any) -> Any:
    """Start Chromium without a window; it does not search for updates."""
    return playwright.chromium.launch(
        executable_path=CHROMIUM,
        headless=True,
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ],
    )
