"""What goes wrong in real life, done on purpose: kills, a full disk, a read-only folder, damaged data.

Each fault is followed by an ordinary run, whose figures must equal those of an undisturbed one byte for byte, with no
process and no lock left. `python tests/faults/faults.py` kills a reduced run 20 times; `--full` one of full size.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
REDUCED = ["-p", "draws", "50", "-p", "draws_tv", "10", "-p", "draws_delta", "1000"]
NOTEBOOK = "data_driven_markov"


def clone(folder: Path) -> Path:
    """Return a copy of the project without its build folder, so that nothing of this clone is touched."""
    project = folder / "project"
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, project, ignore=ignored)
    return project


def command(project: Path, *words: str) -> subprocess.Popen[str]:
    """Start `dpsim run` in a project of its own; its output is read when it has ended."""
    environment = {**os.environ, "DPSIM_ROOT": str(project), "CI": "true"}
    return subprocess.Popen(
        [sys.executable, "-m", "dpsim", "run", NOTEBOOK, *words],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(project: Path, *words: str) -> tuple[int, str]:
    """Return the exit code and the output of `dpsim run`."""
    process = command(project, *words)
    output, _ = process.communicate()
    return process.returncode, output


def made(project: Path) -> dict[str, bytes]:
    """Return the bytes of all figures of this project, wherever its runs put them."""
    folders = [project / "figures" / NOTEBOOK, *(project / "build" / "runs" / NOTEBOOK).glob("*")]
    kinds = (".png", ".csv", ".json")
    return {
        f"{folder.name}/{path.name}": path.read_bytes()
        for folder in folders
        for path in folder.glob("*")
        if path.suffix in kinds and path.name not in ("manifest.json",) and "timings" not in path.name
    }


def leftovers(project: Path) -> list[str]:
    """Return the workers and kernels that still belong to this project, and partial folders."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        if (process.info["environ"] or {}).get("DPSIM_ROOT") == str(project):
            found.append(" ".join(process.info["cmdline"] or [])[:80])
    return found


def settle(project: Path) -> None:
    """Wait until all processes of the project are gone; fail when they do not go."""
    end = time.monotonic() + 15
    while leftovers(project):
        if time.monotonic() > end:
            raise AssertionError(f"left behind: {leftovers(project)}")
        time.sleep(0.1)


def kills(project: Path, words: list[str], times: int, expected: dict[str, bytes], seconds: float) -> None:
    """Kill the runner at random moments; each time the next run must finish with the same figures."""
    rng = random.Random(1)
    for round_ in range(times):
        shutil.rmtree(project / "build", ignore_errors=True)
        process = command(project, *words)
        moment = rng.uniform(0.05, seconds)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        settle(project)
        code, output = run(project, *words)
        assert code == 0, output
        assert made(project) == expected, f"round {round_}: other figures"
        settle(project)
        partial = [p.name for p in (project / "figures").iterdir() if p.name.startswith(".") and p.is_dir()]
        assert not partial, partial
        print(f"killed after {moment:5.2f} s: the next run made the same {len(expected)} files", flush=True)


@contextmanager
def mounted(options: str) -> Iterator[str | None]:
    """Yield the folder of a small file system mounted so, None where this user may not mount one."""
    with tempfile.TemporaryDirectory() as mount:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", mount], capture_output=True).returncode:
            yield None
            return
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)


def full_disk(project: Path, words: list[str]) -> None:
    """Write to a file system with no room: refused with the reason, nothing half written."""
    with mounted("size=64k") as mount:
        if mount is None:
            print("full disk: no right to mount a small file system here, skipped")
            return
        code, output = run(project, *words, "--output", mount)
        assert code == 1 and "No space left" in output, output
        assert not [p for p in Path(mount).rglob("*") if p.is_file()], "half-written figures"
    print("full disk: refused, nothing half written")


def read_only(project: Path, words: list[str]) -> None:
    """Write to a read-only file system: refused before the notebook runs."""
    with mounted("ro") as mount:
        if mount is None:
            print("read-only folder: no right to mount one here, skipped")
            return
        code, output = run(project, *words, "--output", mount)
        assert code == 1 and "Read-only file system" in output, output
    print("read-only folder: refused")


def damaged_data(project: Path, words: list[str]) -> None:
    """Flip a bit of a data file: the run names the file and the remedy, and keeps the figures there are."""
    table = project / "data" / "nyc" / "od_surrogate_2025-01.csv"
    good, before = table.read_bytes(), made(project)
    table.write_bytes(good[:1000] + bytes([good[1000] ^ 1]) + good[1001:])
    code, output = run(project, *words, "--force")
    table.write_bytes(good)
    assert code == 1 and "od_surrogate_2025-01.csv is damaged" in output and "git checkout" in output, output
    assert {name: made(project).get(name) for name in before} == before
    print("damaged data: named with the remedy, figures kept")


def main() -> None:
    """Run every fault."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--full", action="store_true", help="kill a run with the default parameters")
    arguments.add_argument("--kills", type=int, default=20)
    chosen = arguments.parse_args()
    words = [] if chosen.full else REDUCED
    with tempfile.TemporaryDirectory(prefix="dpsim-faults-") as folder:
        project = clone(Path(folder))
        start = time.monotonic()
        code, output = run(project, *words)
        assert code == 0, output
        expected, seconds = made(project), time.monotonic() - start
        print(f"undisturbed: {len(expected)} files, {seconds:.1f} s")
        damaged_data(project, words)
        full_disk(project, words)
        read_only(project, words)
        kills(project, words, chosen.kills, expected, seconds)


if __name__ == "__main__":
    main()
