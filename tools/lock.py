"""Makes the locks and environment.yml from pyproject.toml (needs uv on the PATH).

requirements.lock holds what a run needs; tools/locks/<name>.lock what comes on top of it: test, site, cluster
(Spark and Dask), archive.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

FLAGS = ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes"]
FLAGS += ["--no-header", "--no-annotate", "--no-emit-index-url"]
"""One numpy for all systems and Pythons: without `fewest` the lock forks into two."""

EXTRAS = {"test": ("test",), "site": ("site",), "cluster": ("spark", "dask"), "archive": ("archive",)}
"""The locks on top of the first, and the extras of pyproject.toml that each holds."""

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


def additional(lock: str, base: str) -> str:
    """Return the blocks of a lock whose packages another lock does not hold: what to install on top of it."""
    held = {pin.split("==")[0] for pin in pins(base)}
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", lock)
    return "".join(block for block in blocks if block and block.split("==")[0] not in held)


def main() -> None:
    """Write the locks and environment.yml."""
    compile = ["uv", "pip", "compile", "pyproject.toml", "--extra", "release", *FLAGS]
    subprocess.run([*compile, "-o", "requirements.lock"], cwd=ROOT, check=True, capture_output=True)
    base = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, extras in EXTRAS.items():
        chosen = [word for extra in extras for word in ("--extra", extra)]
        done = subprocess.run(
            [*compile, *chosen, "-c", "requirements.lock"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        (ROOT / "tools" / "locks" / f"{name}.lock").write_text(additional(done.stdout, base), encoding="utf-8")
    (ROOT / "environment.yml").write_text(environment(base), encoding="utf-8")


if __name__ == "__main__":
    main()
