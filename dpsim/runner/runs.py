"""Runs notebooks: what is current stays, each other one is a process of its own, and its outputs appear whole."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dpsim import checks, files, paths
from dpsim.runner.keys import fingerprint, versions
from dpsim.runner.parameters import load, resolve


@dataclass
class Run:
    """A notebook to run, and how that went.

    Attributes
    ----------
    name, parameters, key
        Of the notebook, what was asked for, the hash of what decides its outputs.
    output, record : Path, the folders of its outputs, and of its manifest and executed copy
    status : str
        planned, waiting, running, ended; then done (its outputs are published), unchanged (they are those that a run
        would make), failed or interrupted (those of the run before are still there).
    message : str, why it failed, or what it waits for
    cell, cells : int, which cell runs, of how many
    seconds, cpu_seconds, peak_mib : float, what its process took, without the imports before its first cell
    """

    name: str
    parameters: dict[str, Any]
    key: str
    output: Path
    record: Path
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
        key, _ = fingerprint(name, load(name), values)
        record = paths.build() / "runs" / name / (key[:16] if values else "default")
        target = record if values else paths.figures() / name
        if output is not None:
            target = record = Path(output).resolve() / name
            if target.is_relative_to(paths.figures().resolve()):
                raise ValueError(f"output must be outside {paths.figures()}, of default runs alone, got {output}")
            ours = all((target / file).is_file() for file in ("manifest.json", f"{name}.ipynb"))
            if os.path.lexists(target) and not ours:
                raise ValueError(f"output must be new or of an earlier run: {target} holds other files")
        planned.append(Run(name, values, key, target, record))
    return planned


def is_current(run: Run) -> bool:
    """Return whether the recorded run has the same key and its outputs their sha256 (PDF=1: and figures as pdf)."""
    try:
        was = json.loads((run.record / "manifest.json").read_text(encoding="utf-8"))
        same = [files.sha256(run.output / name) == digest for name, digest in was["outputs"].items()]
        return was["key"] == run.key and was["pdf"] >= _with_pdf() and bool(same) and all(same)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):  # missing, or damaged
        return False


SHARED = "papermill", "ipykernel.inprocess.ipkernel", "numba", "scipy.stats", "seaborn", "geopandas", "pyogrio"
"""What nearly every notebook imports, for seconds: once where several run, but on macOS, where it survives no fork."""


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    runs: list[Run], jobs: int | None = None, *, force: bool = False, tell: Callable[[Run], object] = lambda run: None
) -> list[Run]:
    """Return the runs, each saying how it ended: the overview runs after all others.

    KeyboardInterrupt stops the notebooks; what was finished stays, and the next run goes on from there.

    Parameters
    ----------
    runs : list of Run, from `plan`
    jobs : int, how many at a time; None: as many as there are cores
    force : bool, whether to run those too that are current
    tell : callable, ``tell(run)`` hears of every cell, wait and end
    """
    workers = min(cores() if jobs is None else checks.integer("jobs", jobs, 1, 1024), len(runs))
    main = threading.current_thread() is threading.main_thread()  # Dask runs points in others
    heard = [s for s in (signal.SIGINT, signal.SIGTERM) if main and signal.getsignal(s) is signal.default_int_handler]
    try:
        asyncio.run(_all(runs, workers, force, tell, heard))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for sign in heard:
            signal.signal(sign, signal.default_int_handler)
    return runs


async def _all(
    runs: list[Run], workers: int, force: bool, tell: Callable[[Run], object], heard: Iterable[signal.Signals]
) -> None:
    """Run one stage after the other, so many notebooks at a time, until a signal; those after it change nothing."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(*_: object) -> None:
        if task and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

    for sign in heard:
        signal.signal(sign, stop)
    free, threads = asyncio.Semaphore(workers), max(1, cores() // workers)
    shared = SHARED if len(runs) > 1 and sys.platform != "darwin" else ()

    async def one(run: Run) -> None:
        async with free:
            try:
                lock = await _locked(run, tell)
                try:
                    await _run(run, forks, force, tell)
                finally:
                    os.close(lock)
            except (OSError, ValueError) as error:
                run.status, run.message = "failed", str(error)
            tell(run)

    with tempfile.TemporaryFile() as errors, closing(_Forks(threads, shared, errors)) as forks:
        for _, stage in itertools.groupby(runs, lambda run: paths.stage(run.name)):
            async with asyncio.TaskGroup() as group:
                for run in stage:
                    group.create_task(one(run))


async def _locked(run: Run, tell: Callable[[Run], object]) -> int:
    """Return the descriptor of the lock of an output folder, when nobody else writes there."""
    path = paths.build() / "locks" / str(run.output).replace("/", "%")[-150:]
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with suppress(BlockingIOError):
            return files.lock(path, os.O_CREAT | os.O_WRONLY)
        if run.status != "waiting":
            run.status, run.message = "waiting", "waits for another run, which writes the same output"
            tell(run)
        await asyncio.sleep(0.05)


async def _run(run: Run, forks: _Forks, force: bool, tell: Callable[[Run], object]) -> None:
    """Execute a notebook into a folder beside its output and publish that folder, whole."""
    run.message, notebook = "", load(run.name)
    before = fingerprint(run.name, notebook, run.parameters)  # under the lock: what this run will read
    run.key = before[0]
    if not force and is_current(run):
        run.status = "unchanged"
        return
    _tidy(run.output)
    staging = run.output.with_name(f".{run.output.name}.{os.getpid()}.partial")
    staging.mkdir(parents=True)
    executed = staging / f"{run.name}.ipynb"
    try:
        files.write_json(executed, notebook)
        await _execute(run, staging, forks, tell)
        if run.message:
            kept = paths.build() / "runs" / run.name / f"failed-{run.key[:16]}.ipynb"
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(executed, kept)
            raise ValueError(f"{run.message} (see {kept})")
        after = fingerprint(run.name, notebook, run.parameters)
        if before != after:
            changed = sorted({name for name, _ in before[1].items() ^ after[1].items()})
            raise ValueError(f"{', '.join(changed) or 'a version'} changed while it ran: run it again")
        made = [f for f in sorted(staging.rglob("*")) if f.is_file() and f != executed]
        manifest = _manifest(run, {str(f.relative_to(staging)): files.sha256(f) for f in made})
        home = staging if run.record == run.output else run.record
        home.mkdir(parents=True, exist_ok=True)
        shutil.move(executed, home / executed.name)
        files.write_json(home / "manifest.json", manifest)
        if run.output.exists():
            os.replace(run.output, _previous(run.output))
        os.replace(staging, run.output)
        run.status = "done"
    finally:
        _tidy(run.output)


def _previous(output: Path) -> Path:
    """Return where an output folder is while the next one takes its place."""
    return output.with_name(f".{output.name}.previous")


def _tidy(output: Path) -> None:
    """Put back what a publication that was cut in two has moved away, and remove what is left beside the output."""
    if _previous(output).exists() and not output.exists():
        os.replace(_previous(output), output)
    for leftover in (_previous(output), *output.parent.glob(f".{output.name}.*.partial")):
        shutil.rmtree(leftover, ignore_errors=True)


class _Forks:
    """The process from which those of the notebooks are forked: it starts with the first."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, threads: int, modules: Iterable[str], errors: BinaryIO) -> None:
        self.threads, self.modules, self.errors = threads, modules, errors

    def new(self, errors: BinaryIO) -> socket.socket:
        """Return the socket of a notebook's new process, which writes its standard error to a file."""
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.jobs, theirs = socket.socketpair()
            with theirs:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", str(Path(__file__).with_name("forks.py")), *self.modules],
                    env=_environment(self.threads),
                    stdin=theirs.fileno(),
                    stdout=self.errors,
                    stderr=self.errors,
                    start_new_session=True,  # Ctrl-C reaches the runner alone, which then stops the notebooks
                )
        ours, theirs = socket.socketpair()
        with theirs, suppress(BrokenPipeError):  # it has just died, which the socket tells
            socket.send_fds(self.jobs, [b"1"], [theirs.fileno(), errors.fileno()])
        return ours

    def close(self) -> None:
        """Wait until it has ended, with all its processes."""
        if self.process:
            self.jobs.close()
            self.process.wait()


async def _execute(run: Run, folder: Path, forks: _Forks, tell: Callable[[Run], object]) -> None:
    """Execute the notebook in a folder, in place; the run's message says why it failed."""
    run.status, exit_code = "running", ""
    job: dict[str, Any] = {"file": f"{run.name}.ipynb", "output": str(folder), "folder": str(paths.notebooks())}
    job["parameters"] = {**run.parameters, "output": str(folder)}
    with tempfile.TemporaryFile() as errors:
        reader, writer = await asyncio.open_unix_connection(sock=forks.new(errors))
        try:
            writer.write(json.dumps(job).encode() + b"\n")
            async for line in reader:
                event = json.loads(line)
                if "exit_code" in event:  # what the notebook started is gone as well
                    exit_code = ", with exit code {exit_code}".format(**event)
                    break
                vars(run).update(event)
                if run.status == "running":
                    tell(run)
        except ConnectionError:
            pass  # it has ended before it read the job
        except asyncio.CancelledError:
            writer.write_eof()  # which stops it
            await reader.read()
            raise
        finally:
            writer.close()
        if run.status != "ended":
            why = _last_line(errors) or ("" if exit_code else _last_line(forks.errors)) or "it wrote nothing"
            run.message = f"ended the process{exit_code}: {why}"
        if run.message:
            run.message = f"cell {run.cell} {run.message}"


def _last_line(file: BinaryIO) -> str:
    """Return the last line of a file of text, empty where there is none."""
    file.seek(0)
    return (file.read().decode(errors="replace").strip().splitlines() or [""])[-1]


LEFT_OUT = ("PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONDONTWRITEBYTECODE")
"""Variables of the user's that would change what a notebook does: code of their own, assertions that are skipped,
libraries that each process compiles again."""


def _environment(threads: int) -> dict[str, str]:
    """Return the environment of a notebook: this package, and none of the user's own settings."""
    package = Path(__file__).parents[1]
    settings = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    settings |= {
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # only a process without threads may fork
        "IPYTHONDIR": str(paths.build() / "ipython"),  # no start-up files
        "MATPLOTLIBRC": os.devnull,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
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
    kept |= {"outputs": outputs, "pdf": _with_pdf(), "git_commit": _commit()}
    return kept | {"python": platform.python_version(), "versions": versions()}


def _with_pdf() -> bool:
    """Return whether figures are also wanted as pdf."""
    return os.environ.get("PDF") == "1"


def _commit() -> str | None:
    """Return the commit of the project's clone; None in an unpacked archive, and where there is no git."""
    with suppress(OSError):
        command = ["git", f"--git-dir={paths.root() / '.git'}", "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or None
    return None
