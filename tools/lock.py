"""Makes the locks and environment.yml from both pyproject.toml (needs uv on the PATH).

requirements.lock holds what a run needs; tools/locks/<name>.lock what comes on top of
it: test, site, cluster (Spark and Dask), archive.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = ("pyproject.toml", "release/pyproject.toml")

FLAGS = [
    "--universal",
    "--python-version",
    "3.11",
    "--fork-strategy",
    "fewest",
    "--generate-hashes",
]
FLAGS += ["--no-header", "--no-annotate", "--no-emit-index-url"]
"""One numpy for all systems and Pythons: without `fewest` the lock forks into two."""

EXTRAS = {
    "test": ("test",),
    "site": ("site",),
    "cluster": ("spark", "dask"),
    "archive": ("archive",),
}
"""The locks on top of the first, and the extras of pyproject.toml that each holds."""

CONDA = {
    "jupyterlab": ">=4.4",
    "numpy": ">=2.4.1,<2.5",
    "scipy": ">=1.17,<1.18",
    "matplotlib": ">=3.11.1,<3.12",
    "papermill": ">=2.7",
    "pandas": ">=3.0,<3.2",
    "seaborn": ">=0.13.2,<0.14",
}
"""What environment.yml takes from conda-forge: the packages that were ordered, in the
versions that give the same figures (the oldest and the newest of each range were
tried). All others come from PyPI in the versions of the lock, because conda-forge may
lack the locked version of a smaller package."""

HEAD = """\
# For conda, mamba and Binder: Python and the seven packages that were ordered come from
# conda-forge, in versions that give the same figures as those of requirements.lock,
# which `make` installs. The others come from PyPI, in the versions of the lock. Made by
# `make lock`; a test holds it to the lock.
name: dpsim
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python=3.11
  - pip
"""


def pins(lock: str) -> list[str]:
    """Return the pins of a hashed lock as pip takes them in a list, markers kept."""
    return [
        line.rstrip(" \\")
        for line in lock.splitlines()
        if re.match(r"^[A-Za-z0-9]", line)
    ]


def projects() -> list[dict[str, Any]]:
    """Return the tables [project] of dpsim and of dpsim_release."""
    texts = ((ROOT / file).read_text(encoding="utf-8") for file in PROJECTS)
    return [tomllib.loads(text)["project"] for text in texts]


def direct() -> list[str]:
    """Return the names that both pyproject.toml list."""
    listed = [name for project in projects() for name in project["dependencies"]]
    return sorted({re.split(r"[^A-Za-z0-9_-]", each, maxsplit=1)[0] for each in listed})


def environment(lock: str) -> str:
    """Return environment.yml: the direct dependencies, in versions that give the
    figures of a lock."""
    versions = locked(lock)
    names = direct()
    # matplotlib-base is matplotlib without Qt
    conda = [
        f"  - {name.replace('matplotlib', 'matplotlib-base')}{allowed}\n"
        for name, allowed in CONDA.items()
    ]
    pip = [f"      - {name}=={versions[name]}\n" for name in names if name not in CONDA]
    return (
        HEAD
        + "".join(conda)
        + "  - pip:\n"
        + "".join(pip)
        + '      - "-e ."\n      - "-e ./release"\n'
    )


def locked(lock: str) -> dict[str, str]:
    """Return the versions of a lock by name."""
    return dict(pin.partition(" ;")[0].split("==") for pin in pins(lock))


def additional(lock: str, base: str) -> str:
    """Return the blocks of a lock whose packages another lock does not hold: what to
    install on top of it."""
    held = {pin.split("==")[0] for pin in pins(base)}
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", lock)
    return "".join(
        block for block in blocks if block and block.split("==")[0] not in held
    )


def main() -> None:
    """Write the locks and environment.yml."""
    compile = [
        "uv",
        "pip",
        "compile",
        *PROJECTS,
        "--extra",
        "install",
        *FLAGS,
    ]
    subprocess.run(
        [*compile, "-o", "requirements.lock"], cwd=ROOT, check=True, capture_output=True
    )
    base = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, extras in EXTRAS.items():
        chosen = [word for extra in extras for word in ("--extra", extra)]
        done = subprocess.run(
            [*compile, *chosen, "-c", "requirements.lock"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        (ROOT / "tools" / "locks" / f"{name}.lock").write_text(
            additional(done.stdout, base), encoding="utf-8"
        )
    (ROOT / "environment.yml").write_text(environment(base), encoding="utf-8")


if __name__ == "__main__":
    main()
