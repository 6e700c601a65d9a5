"""Runs notebooks: what is current stays, each other one is a process of its own, and its outputs appear whole."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dpsim import checks, files, paths
from dpsim.runner.keys import fingerprint, versions
from dpsim.runner.parameters import load, notebook_path, resolve


@dataclass
class Run:
    """A notebook to run, and how that went.

    Attributes
    ----------
    name, parameters, key, point
        Of the notebook, what is not the default, the hash of what decides its outputs, what was asked for.
    output, record : Path, the folders of its outputs, and of its manifest and executed copy
    status : str
        planned, waiting, running; in the end done (its outputs are published), unchanged (they are those that a run
        would make), failed or interrupted (those of the run before are still there).
    message : str, why it failed, or what it waits for
    cell, cells : int, which cell runs, of how many
    seconds, cpu_seconds, peak_mib : float, what it took
    """

    name: str
    parameters: dict[str, Any]
    key: str
    output: Path
    record: Path
    point: dict[str, str]
    status: str = "planned"
    message: str = ""
    cell: int = 0
    cells: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mib: float = 0.0


def plan(names: Iterable[str] = (), overrides: Iterable[tuple[str, str]] = (), output: str | None = None) -> list[Run]:
    """Return what is to run, in order; nothing is written.

    Parameters
    ----------
    names : iterable of str, notebooks; all when there is none
    overrides : iterable of (str, str), parameter and value, as written on the command line
    output : str, optional
        Folder for the outputs, in <output>/<notebook>. None: default parameters without it go to figures/<notebook>,
        all others to build/runs/<notebook>/<key>.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> [run.status for run in runner.plan([paths.notebook_names()[1]])]
    ['planned']
    """
    overrides, planned = list(overrides), []
    for name in sorted(dict.fromkeys(names) or paths.notebook_names(), key=paths.stage):
        values = resolve(name, overrides)
        key, _ = fingerprint(name, load(notebook_path(name)), values)
        record = paths.build() / "runs" / name / (key[:16] if values else "default")
        target = record if values else paths.figures() / name
        if output is not None:
            target = record = Path(output).resolve() / name
            if target.is_relative_to(paths.figures().resolve()):
                raise ValueError(
                    f"output must be outside {paths.figures()}, which default runs alone write, got {output}"
                )
            used = target.exists() and (not target.is_dir() or any(target.iterdir()))
            if used and recorded(target).get("output") != str(target):
                raise ValueError(f"output must be new, empty or an earlier run's: {target} holds other files")
        planned.append(Run(name, values, key, target, record, dict(overrides)))
    return planned


def recorded(record: Path) -> dict[str, Any]:
    """Return the manifest in the record of a run; nothing where there is none, or a damaged one."""
    try:
        found = json.loads((record / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_current(run: Run) -> bool:
    """Return whether the recorded run has the same key and its outputs their sha256 (PDF=1: and figures as pdf)."""
    was = recorded(run.record)
    if (was.get("key"), was.get("output")) != (run.key, str(run.output)) or (_with_pdf() and not was.get("pdf")):
        return False
    try:
        return all(files.sha256(run.output / name) == digest for name, digest in was["outputs"].items() or [("", "")])
    except (OSError, KeyError, TypeError, AttributeError):  # outputs that are missing, or not listed
        return False


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    runs: list[Run], jobs: int | None = None, *, force: bool = False, tell: Callable[[Run], object] = lambda run: None
) -> list[Run]:
    """Return the runs, each saying how it ended: the overview runs after all others.

    SIGTERM and Ctrl-C stop the notebooks; what was finished stays, and the next run goes on from there.

    Parameters
    ----------
    runs : list of Run, from `plan`
    jobs : int, how many at a time; None: as many as there are cores
    force : bool, whether to run those too that are current
    tell : callable, ``tell(run)`` hears of every cell, wait and end
    """
    workers = min(cores() if jobs is None else checks.integer("jobs", jobs, 1, 1024), len(runs))
    try:
        asyncio.run(_all(runs, workers, force, tell))
    except (KeyboardInterrupt, asyncio.CancelledError):
        for one in runs:
            if one.status in ("planned", "waiting", "running"):
                one.status, one.message = "interrupted", ""
                tell(one)
    return runs


async def _all(runs: list[Run], workers: int, force: bool, tell: Callable[[Run], object]) -> None:
    """Run one stage after the other, so many notebooks at a time."""
    task, free, threads = asyncio.current_task(), asyncio.Semaphore(workers), max(1, cores() // workers)
    if task and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)

    async def one(run: Run) -> None:
        async with free:
            try:
                async with _locked(run, tell) as lock:
                    await _run(run, threads, force, tell, lock)
            except (OSError, ValueError) as error:
                run.status, run.message = "failed", str(error)
            tell(run)

    for stage in sorted({paths.stage(run.name) for run in runs}):
        async with asyncio.TaskGroup() as group:
            for run in runs:
                if paths.stage(run.name) == stage:
                    group.create_task(one(run))


@asynccontextmanager
async def _locked(run: Run, tell: Callable[[Run], object]) -> AsyncIterator[BinaryIO]:
    """Hold the lock of an output folder; the worker holds it too, so that a killed runner's is not taken too early."""
    folder = paths.build() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / str(run.output).replace("/", "%")[-150:]).open("wb") as lock:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if run.status != "waiting":
                run.status, run.message = "waiting", "waits for another run, which writes the same output"
                tell(run)
            await asyncio.sleep(0.05)
        run.message = ""
        yield lock


async def _run(run: Run, threads: int, force: bool, tell: Callable[[Run], object], lock: BinaryIO) -> None:
    """Execute a notebook into a folder beside its output and publish that folder, whole."""
    notebook = load(notebook_path(run.name))
    before = fingerprint(run.name, notebook, run.parameters)  # under the lock: what this run will read
    run.key = before[0]
    if not force and is_current(run):
        run.status = "unchanged"
        return
    staging, previous = (run.output.with_name(f".{run.output.name}.{word}") for word in ("partial", "previous"))
    _tidy(run.output, previous, staging)
    staging.mkdir(parents=True)
    executed = staging / f"{run.name}.ipynb"
    try:
        files.write_json(executed, notebook)
        await _execute(run, staging, threads, tell, lock)
        made = executed.read_text(encoding="utf-8")
        executed.unlink()
        if run.status != "done":
            kept = paths.build() / "runs" / run.name / f"failed-{run.key[:16]}.ipynb"
            kept.parent.mkdir(parents=True, exist_ok=True)
            files.write_text(kept, made)
            raise ValueError(f"{run.message} (see {kept})")
        after = fingerprint(run.name, notebook, run.parameters)
        if before != after:
            changed = sorted({name for name, _ in before[1].items() ^ after[1].items()})
            raise ValueError(f"{', '.join(changed) or 'a version'} changed while it ran: run it again")
        outputs = {str(f.relative_to(staging)): files.sha256(f) for f in sorted(staging.rglob("*")) if f.is_file()}
        home = staging if run.record == run.output else run.record
        home.mkdir(parents=True, exist_ok=True)
        files.write_text(home / executed.name, made)
        files.write_json(home / "manifest.json", _manifest(run, outputs))
        if run.output.exists():
            os.replace(run.output, previous)
        os.replace(staging, run.output)
    finally:
        _tidy(run.output, previous, staging)


def _tidy(output: Path, previous: Path, staging: Path) -> None:
    """Put back what a publication that was cut in two has moved away, and remove what is left beside the output."""
    if previous.exists() and not output.exists():
        os.replace(previous, output)
    for leftover in (previous, staging):
        shutil.rmtree(leftover, ignore_errors=True)


async def _execute(run: Run, folder: Path, threads: int, tell: Callable[[Run], object], lock: BinaryIO) -> None:
    """Execute the notebook in a folder, in place, and let the run say how that went: done, or why not."""
    run.status = "running"
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "dpsim.runner.worker"),
            cwd=folder,
            env=_environment(threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C reaches the runner alone, which then stops this one and all it started
            pass_fds=[lock.fileno()],
        )
        try:
            assert process.stdin and process.stdout
            parameters = {**run.parameters, "output": str(folder)}
            job = {"file": f"{run.name}.ipynb", "folder": str(paths.notebooks()), "parameters": parameters}
            process.stdin.write(json.dumps(job).encode() + b"\n")
            async for line in process.stdout:
                vars(run).update(json.loads(line))
                if run.status == "running":
                    tell(run)
            with suppress(TimeoutError):  # threads of a cell's that do not end
                await asyncio.wait_for(process.wait(), 5)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if run.status == "running" and not run.message:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or ["it wrote nothing"])[-1]
            run.message = f"ended the process, with exit code {process.returncode}: {last}"
        if run.message:
            run.message = f"cell {run.cell} {run.message}" if run.cell else run.message


LEFT_OUT = ("PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT")
"""Variables of the user's that would change what a notebook does: code of their own, assertions that are skipped."""


def _environment(threads: int) -> dict[str, str]:
    """Return the environment of a notebook: this package, and none of the user's own settings."""
    package = Path(__file__).parents[1]
    settings = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    settings |= {
        "IPYTHONDIR": str(paths.build() / "ipython"),  # no start-up files
        "MATPLOTLIBRC": os.devnull,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # no warning of the debugger's in what a dead process wrote last
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }
    if not os.access(package, os.W_OK):
        settings.setdefault("NUMBA_CACHE_DIR", str(paths.build() / "numba"))
    settings |= {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "NUMBA")}
    # our products are small: more threads would only wait for each other
    return settings | {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL")}


def _manifest(run: Run, outputs: dict[str, str]) -> dict[str, Any]:
    """Return the record of a run: what decided it, what came out, and what it took."""
    kept = {name: getattr(run, name) for name in ("name", "parameters", "key", "seconds", "cpu_seconds", "peak_mib")}
    kept |= {"output": str(run.output), "outputs": outputs, "pdf": _with_pdf(), "git_commit": _commit()}
    return kept | {"python": platform.python_version(), "versions": versions()}


def _with_pdf() -> bool:
    """Return whether figures are also wanted as pdf."""
    return os.environ.get("PDF") == "1"


def _commit() -> str | None:
    """Return the commit of the project's clone; None in an unpacked archive, and where there is no git."""
    if not (paths.root() / ".git").exists():  # git would look further up, and find somebody else's
        return None
    with suppress(OSError):
        command = ["git", "rev-parse", "HEAD"]
        return subprocess.run(command, cwd=paths.root(), capture_output=True, text=True).stdout.strip() or None
    return None
