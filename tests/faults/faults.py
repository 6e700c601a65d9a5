"""What goes wrong in real life, done on purpose: kills, full and read-only disks,
damaged data, odd machines and users.

Under each fault a run either gives the same figures, byte for byte, or is refused in
one line; the next ordinary run gives them in any case, and no process is left. `python
tests/faults/faults.py` takes a notebook of a few lines, `--full` takes all notebooks
with their default parameters; `--only WORD` chooses faults by name. Each fault has a
copy of the project to itself, so that several are staged at once.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import psutil

from dpsim import streams

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534

SOURCE = """\
import matplotlib.pyplot as plt
import pandas as pd
from dpsim import datasets, figures, ledger, markov, streams

figures.style()
counts = datasets.csv_files.read_table("nyc/od_surrogate_2025-01.csv")
P = [[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]
walk = markov.random_walk(P, 0, 50, rng=streams.stream(seed, "fig1"))
fig, ax = plt.subplots(figsize=figures.size(1, 2))
ax.plot(walk, label="a walk")
ax.legend()
figures.save(fig, "fig1_walk", pd.DataFrame({"state": walk}), output)
ledger.record("fallin2023.eps.k9", float(counts.iloc[:, -1].mean()), output=output)
"""
"""A notebook that reads data, runs compiled code, draws, and records a number."""


class Project:
    """A copy of this project, of its sources and data alone; or of such a copy, and
    what that one made."""

    def __init__(
        self, folder: Path, *, full: bool = False, of: "Project | None" = None
    ) -> None:
        self.folder = folder
        if of is not None:
            shutil.copytree(of.folder, folder, ignore=shutil.ignore_patterns("build"))
            return
        ignored = shutil.ignore_patterns(
            ".git", ".venv", "build", "__pycache__", ".*_cache", "*.partial"
        )
        shutil.copytree(ROOT, folder, ignore=ignored)
        shutil.rmtree(folder / "figures")
        (folder / "figures").mkdir()
        if not full:
            shutil.rmtree(folder / "notebooks")
            (folder / "notebooks").mkdir()
            cells = [
                nbformat.v4.new_code_cell(
                    'seed: int = 1  # seed\noutput: str = ""  # folder of the results'
                )
            ]
            cells[0].metadata["tags"] = ["parameters"]
            cells.append(nbformat.v4.new_code_cell(SOURCE))
            kernel = {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            }
            made = nbformat.v4.new_notebook(
                cells=cells, metadata={"kernelspec": kernel}
            )
            nbformat.write(made, folder / "notebooks" / "quick.ipynb")

    def start(
        self,
        *words: str,
        prefix: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        **settings: Any,
    ) -> subprocess.Popen[str]:
        """Start `dpsim run` in this project; its output is read when it has ended."""
        return subprocess.Popen(
            [*prefix, sys.executable, "-m", "dpsim", "run", *words],
            cwd=self.folder,
            env=plain() | {"DPSIM_ROOT": str(self.folder)} | (environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            **settings,
        )

    def run(self, *words: str, **settings: Any) -> tuple[int, str]:
        """Return the exit code and the output of `dpsim run`."""
        process = self.start(*words, **settings)
        output, _ = process.communicate()
        return process.returncode, output

    def made(self) -> dict[str, bytes]:
        """Return the bytes of all figures, tables and results."""
        found = sorted((self.folder / "figures").glob("*/*"))
        return {
            f"{f.parent.name}/{f.name}": f.read_bytes()
            for f in found
            if "timings" not in f.name
        }

    def forget(self) -> None:
        """Remove what runs have made."""
        for folder in (self.folder / "build", *(self.folder / "figures").iterdir()):
            shutil.rmtree(folder, ignore_errors=True)

    def settle(self) -> None:
        """Wait until no process of this project is left, a minute at most."""
        end = time.monotonic() + 60
        while left := [
            p.pid for p in psutil.process_iter(["environ"]) if self._owns(p)
        ]:
            assert time.monotonic() < end, f"processes {left} are left"
            psutil.wait_procs(
                [psutil.Process(pid) for pid in left if psutil.pid_exists(pid)],
                timeout=1,
            )

    def _owns(self, process: psutil.Process) -> bool:
        return (process.info["environ"] or {}).get("DPSIM_ROOT") == str(self.folder)


def plain() -> dict[str, str]:
    """Return this process's environment without what would let a run see another
    project."""
    return {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DPSIM_ROOT")
    } | {"CI": "true"}


class Bench:
    """A project, what an undisturbed run of it makes, and room for what a fault
    needs."""

    def __init__(
        self, folder: Path, *, full: bool = False, like: "Bench | None" = None
    ) -> None:
        self.full = full
        self.room = folder
        folder.mkdir(exist_ok=True)
        self.project = Project(
            folder / "project", full=full, of=like.project if like else None
        )
        if like is not None:
            self.expected = like.expected
            self.seconds = like.seconds
            return
        start = time.monotonic()
        code, output = self.project.run()
        assert code == 0, output
        self.seconds = time.monotonic() - start
        self.expected = self.project.made()
        assert full or len(self.expected) == 3

    def new(self, name: str) -> Path:
        """Return a new folder."""
        folder = self.room / name
        folder.mkdir()
        return folder

    def works(self, project: Project | None = None, **settings: Any) -> str:
        """Run; the figures must be the same."""
        project = project or self.project
        project.forget()
        code, output = project.run(**settings)
        assert code == 0, output
        different = [
            name
            for name, made in project.made().items()
            if made != self.expected.get(name)
        ]
        assert project.made() == self.expected, f"other figures: {different}"
        project.settle()
        return "the same figures"

    def refused(self, reason: str, *words: str, **settings: Any) -> str:
        """Run; it must fail with the reason, in one line a notebook, and without a
        traceback."""
        code, output = self.project.run(*words, **settings)
        assert code in (1, 2), f"exit code {code}: {output}"
        assert reason in output and "Traceback" not in output, output
        self.project.settle()
        lines = [
            re.sub(r"\s+", " ", line).strip()
            for line in output.splitlines()
            if reason in line
        ]
        assert len({line.split()[0] for line in lines}) == len(lines) and (
            self.full or len(lines) == 1
        ), output
        return f"refused: {lines[0][:150]}"


FAULTS: dict[str, Callable[[Bench], str]] = {
    "no home": lambda bench: bench.works(environment={"HOME": "/nonexistent"}),
    "umask 077": lambda bench: bench.works(umask=0o077),
    "128 open files at most": lambda bench: bench.works(
        prefix=["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"]
    ),
    "locale C, without UTF-8": lambda bench: bench.works(
        environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ),
    "no git": lambda bench: bench.works(environment={"PATH": "/nonexistent"}),
    "a path with spaces, quotes and letters beyond ASCII": lambda bench: bench.works(
        Project(bench.room / 'it\'s a "project" $HOME; é', full=bench.full)
    ),
}


def fault(name: str) -> Callable[[Callable[[Bench], str]], Callable[[Bench], str]]:
    """Add a function to the list of faults, under a name that says what is wrong."""

    def add(function: Callable[[Bench], str]) -> Callable[[Bench], str]:
        FAULTS[name] = function
        return function

    return add


class Impossible(Exception):
    """This machine, or this user, cannot stage the fault."""


# The machine and the user.


@fault("a home that cannot be written")
def sealed_home(bench: Bench) -> str:
    home = bench.new("sealed")
    home.chmod(0o555)
    return bench.works(environment={"HOME": str(home)}, prefix=without_rights())


@fault("a package and a home that cannot be written")
def sealed_package(bench: Bench) -> str:
    home = bench.new("home")
    project = Project(bench.room / "sealed-package", full=bench.full)
    folders = [
        home,
        *(f for f in (project.folder / "dpsim").rglob("*") if f.is_dir()),
        project.folder / "dpsim",
    ]
    for folder in folders:
        folder.chmod(0o555)
    try:
        return bench.works(
            project, environment={"HOME": str(home)}, prefix=without_rights()
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)


@fault("a user who is not root")
def not_root(bench: Bench) -> str:
    prefix = as_nobody()
    for folder in (bench.room.parent, bench.room):
        folder.chmod(0o755)
    for path in (bench.project.folder, *bench.project.folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    return bench.works(prefix=prefix, environment={"HOME": str(bench.project.folder)})


@fault("locale tr_TR, with its comma for decimals and its dotless i")
def locale_turkish(bench: Bench) -> str:
    made = bench.new("locales")
    localedef = shutil.which("localedef")
    if localedef is None:
        raise Impossible("no localedef here to make the locale with")
    command = [localedef, "-i", "tr_TR", "-f", "UTF-8", str(made / "tr_TR.UTF-8")]
    if subprocess.run(command, capture_output=True).returncode:
        raise Impossible("the definition of this locale is not installed")
    return bench.works(
        environment={
            "LC_ALL": "tr_TR.UTF-8",
            "LANG": "tr_TR.UTF-8",
            "LOCPATH": str(made),
        }
    )


# What the user has set for themselves.


@fault("the user's matplotlibrc in ~/.config")
def matplotlibrc_at_home(bench: Bench) -> str:
    home = bench.new("home-matplotlib")
    path = home / ".config" / "matplotlib" / "matplotlibrc"
    path.parent.mkdir(parents=True)
    text = (
        "axes.grid: True\nfigure.facecolor: red\nsavefig.bbox: "
        "tight\nlines.linestyle: --\nlegend.fancybox: False\n"
    )
    path.write_text(text)
    return bench.works(
        environment={"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    )


# The disk and the data.


@fault("a full disk")
def full_disk(bench: Bench) -> str:
    with mounted("size=16k") as mount:
        answer = bench.refused("No space left", "--output", mount)
        assert not [p for p in Path(mount).rglob("*") if p.is_file()], (
            "half-written figures"
        )
    return answer


@fault("a full disk below build/")
def full_build(bench: Bench) -> str:
    bench.project.forget()
    build = bench.project.folder / "build"
    build.mkdir()
    with mounted("size=16k", build):
        answer = bench.refused("No space left")
    assert not bench.project.made(), "half-written figures"
    return answer


@fault("a read-only folder")
def read_only(bench: Bench) -> str:
    with mounted("ro") as mount:
        return bench.refused("Read-only file system", "--output", mount)


@fault("a read-only project")
def read_only_project(bench: Bench) -> str:
    bench.project.forget()
    with mounted("ro", bench.project.folder / "figures"):
        return bench.refused("Read-only file system")


@fault("damaged data")
def damaged_data(bench: Bench) -> str:
    table = bench.project.folder / "data" / "nyc" / "od_surrogate_2025-01.csv"
    good = table.read_bytes()
    table.write_bytes(good[:1000] + bytes([good[1000] ^ 1]) + good[1001:])
    answer = bench.refused("od_surrogate_2025-01.csv is damaged")
    assert bench.full or bench.project.made() == bench.expected, (
        "the figures there were are gone"
    )
    return answer


# Two at a time, and none at all.


@fault("two runs at once")
def two_at_once(bench: Bench) -> str:
    bench.project.forget()
    runs = [bench.project.start() for _ in range(2)]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    assert bench.project.made() == bench.expected, "other figures"
    bench.project.settle()
    return "the same figures"


def killed(bench: Bench, part: float) -> str:
    """Kill the runner when this part of an undisturbed run's time is over; the next run
    must give the same figures."""
    bench.project.forget()
    process = bench.project.start()
    time.sleep(part * bench.seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    bench.project.settle()
    found = len(bench.project.made())
    code, output = bench.project.run()
    assert code == 0, output
    assert bench.project.made() == bench.expected, "other figures"
    bench.project.settle()
    left = [
        p.name
        for p in (bench.project.folder / "figures").iterdir()
        if p.name.startswith(".")
    ]
    assert not left, left
    return f"{found} of {len(bench.expected)} files were there; then the same figures"


def kills(times: int) -> dict[str, Callable[[Bench], str]]:
    """Return as many kills, at random moments."""
    rng = random.Random(1)
    parts = [rng.uniform(0.02, 1.0) for _ in range(times)]
    return {
        f"kill {i} of {times}, at {p:.0%} of the run": partial(killed, part=p)
        for i, p in enumerate(parts, 1)
    }


def without_rights() -> list[str]:
    """Return what a command starts with to lose root's right to write anywhere; nothing
    for another user."""
    if os.getuid():
        return []
    if shutil.which("setpriv") is None:
        raise Impossible("no setpriv here to lose root's rights with")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def as_nobody() -> list[str]:
    """Return what a command starts with to run as nobody, with the right to read where
    this Python is root's alone."""
    if os.getuid() or shutil.which("setpriv") is None:
        raise Impossible("only root, with setpriv, can become another user")
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    again = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    )
    for prefix in (
        nobody,
        [*nobody, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"],
    ):
        if (
            subprocess.run(
                [*prefix, sys.executable, "-c", again], capture_output=True
            ).returncode
            == 0
        ):
            return prefix
    raise Impossible("this Python lies where nobody else can read it")


@contextmanager
def mounted(options: str, at: Path | None = None) -> Iterator[str]:
    """Yield the folder of a small file system mounted so."""
    with tempfile.TemporaryDirectory() as temporary:
        mount = str(at or temporary)
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", mount], capture_output=True
        ).returncode:
            raise Impossible("no right to mount a small file system here")
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)


def staged(name: str, stage: Callable[[Bench], str], bench: Bench) -> tuple[str, str]:
    """Return what came of a fault, in a word and in a line."""
    try:
        answer = stage(bench)
    except Impossible as reason:
        return "not staged", f"{name}: not staged: {reason}"
    except Exception as error:
        return "failed", f"{name}: FAILED: {type(error).__name__}: {error}"
    return "refused in one line" if answer.startswith(
        "refused"
    ) else "with the same figures", f"{name}: {answer}"


def main() -> int:
    """Stage every fault, a line each, and sum up; return 1 when one is not survived."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument(
        "--full",
        action="store_true",
        help="all notebooks with their default parameters",
    )
    arguments.add_argument("--kills", type=int, default=20)
    arguments.add_argument(
        "--only", default="", help="faults whose name holds this word"
    )
    chosen = arguments.parse_args()
    faults = {
        name: stage
        for name, stage in (FAULTS | kills(chosen.kills)).items()
        if chosen.only in name
    }
    # a run of the small notebook is one process after another: as many at once as there
    # are processors
    at_once = 1 if chosen.full else streams.cores()
    found: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as folder,
        ThreadPoolExecutor(at_once) as pool,
    ):
        first = Bench(Path(folder) / "undisturbed", full=chosen.full)
        print(
            f"undisturbed: {len(first.expected)} files, {first.seconds:.1f} s",
            flush=True,
        )

        def one(name: str, stage: Callable[[Bench], str]) -> tuple[str, str]:
            room = Path(tempfile.mkdtemp(dir=folder))
            try:
                return staged(name, stage, Bench(room, full=chosen.full, like=first))
            finally:
                shutil.rmtree(room, ignore_errors=True)

        for done in as_completed(
            [pool.submit(one, name, stage) for name, stage in faults.items()]
        ):
            outcome, line = done.result()
            found[outcome] += 1
            print(line, flush=True)
    print(
        f"{len(faults)} faults: "
        + ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items()))
    )
    return int(found["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
