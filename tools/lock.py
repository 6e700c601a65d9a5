"""Makes requirements.lock, requirements-extra.lock and environment.yml from pyproject.toml (needs uv on the PATH)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

FLAGS = ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes"]
FLAGS += ["--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"]
"""One numpy for all systems and Pythons: without `fewest` the lock forks into two."""

HEAD = """\
# The locked environment for conda, mamba and Binder: Python from conda, the pins of requirements.lock under pip.
# Made by `make lock`; a test holds it to the lock. Python 3.11 on Linux is what is tested.
name: dpsim
channels:
  - conda-forge
dependencies:
  - python=3.11
  - pip
  - pip:
"""


def pins(lock: str) -> list[str]:
    """Return the pins of a hashed lock as pip takes them in a list, markers kept."""
    return [line.rstrip(" \\") for line in lock.splitlines() if re.match(r"^[A-Za-z0-9]", line)]


def environment(lock: str) -> str:
    """Return environment.yml for the text of a lock; pip and the build backend come from conda's side too."""
    lines = [f'      - "{pin}"\n' for pin in pins(lock) if not pin.startswith("pip==")]
    return HEAD + "".join(lines) + "      - --editable .\n"


def main() -> None:
    """Write the three files."""
    compile = ["uv", "pip", "compile", "pyproject.toml", *FLAGS]
    subprocess.run([*compile, "--extra", "test", "-o", "requirements.lock"], cwd=ROOT, check=True)
    extras = ["--extra", "site", "--extra", "spark", "--extra", "dask", "-c", "requirements.lock"]
    subprocess.run([*compile, *extras, "-o", "requirements-extra.lock"], cwd=ROOT, check=True)
    text = environment((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    (ROOT / "environment.yml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
