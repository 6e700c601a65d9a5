"""A line that describes the machine on which something is measured."""

from __future__ import annotations

import platform
from pathlib import Path

from dpsim import streams


def machine() -> str:
    """Return a line that describes the machine."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.split(": ")[1] for line in lines if line.startswith("model name")]
    return (
        f"{models[0]}, {streams.threads()} threads, {platform.system()}, Python "
        f"{platform.python_version()}"
    )
