"""Decides which notebooks must run, runs them, and moves their outputs into place once
they are complete."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dpsim import checks, files, paths, streams
from dpsim.runner.keys import fingerprint, versions
from dpsim.runner.parameters import load, resolve


@dataclass
class Run:
    """A notebook to run, and the state of its run.

    Attributes
    ----------
    name : str
        The notebook.
    parameters : dict
        The overridden parameters.
    key : str
        The hash of everything that determines the outputs.
    output : Path
        The folder of the outputs.
    record : Path
        The folder that contains the manifest and the executed copy of the notebook.
    status : str
        "planned", "waiting", "running" or "ended" (its process has ended), and finally
        "done" (the outputs are published), "unchanged" (the published outputs are those
        that a run would make), "failed" or "interrupted" (the outputs of the previous
        run are still there).
    message : str
        Why the run failed, or what it is waiting for.
    cell, cells : int
        The number of the cell that is running, and the total number of cells.
    seconds, cpu_seconds, peak_mib : float
        The time and memory used by the run's process, without the imports before the
        first cell.
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


def plan_runs(
    names: Iterable[str] = (),
    overrides: Iterable[tuple[str, str]] = (),
    output: str | None = None,
) -> list[Run]:
    """Return the planned runs in the order of the names, without writing anything.

    Parameters
    ----------
    names : iterable of str
        The notebooks; if no names are given, all notebooks.
    overrides : iterable of (str, str)
        Parameters and their values, as written on the command line.
    output : str, optional
        The outputs go to <output>/<notebook>. If `output` is None, the outputs of a run
        with default parameters go to figures/<notebook>, and those of any other run go
        to build/runs/<notebook>/<key>.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> [run.status for run in runner.plan_runs([paths.notebook_names()[1]])]
    ['planned']
    """
    overrides = list(overrides)
    figures = paths.figures()
    planned = []
    for name in sorted(dict.fromkeys(names) or paths.notebook_names(), key=paths.stage):
        values = resolve(name, overrides)
        key, _ = fingerprint(name, load(name), values)
        record = paths.build() / "runs" / name / (key[:16] if values else "default")
        target = record if values else figures / name
        if output is not None:
            target = record = Path(output).resolve() / name
            if target.is_relative_to(figures.resolve()):
                raise ValueError(
                    f"output must be outside {figures}, which only default runs write, got {output}"
                )
        for place in (target, record, _previous(target)):
            if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
                raise ValueError(
                    f"output must be a folder, and {place} is a file or a link: move it away"
                )
        if output is not None and target.exists():
            made = (target / "manifest.json", target / f"{name}.ipynb")
            if not all(file.is_file() for file in made):
                raise ValueError(
                    f"output must be a new folder or that of an earlier run: {target} holds other files"
                )
        planned.append(Run(name, values, key, target, record))
    return planned


def is_current(run: Run) -> bool:
    """Return whether an earlier run has published the outputs that this run would make.

    The earlier run must have the same key and, if PDF=1 is set, have made pdf files.
    Its outputs must still have their recorded hashes.
    """
    try:
        was = json.loads((run.record / "manifest.json").read_text(encoding="utf-8"))
        if was["key"] != run.key or was["pdf"] < _with_pdf():
            return False
        same = [
            files.sha256(run.output / name) == digest
            for name, digest in was["outputs"].items()
        ]
        return bool(same) and all(same)
    # a file is missing or damaged
    except (
        OSError,
        ValueError,
        RecursionError,
        KeyError,
        TypeError,
        AttributeError,
    ):
        return False


SHARED = (
    "papermill",
    "ipykernel.inprocess.ipkernel",
    "numba",
    "scipy.stats",
    "seaborn",
    "geopandas",
    "pyogrio",
)
"""Libraries that nearly every notebook imports, and that take seconds to import. If
several notebooks run, these libraries are imported only once, except on macOS, where
they do not survive a fork."""

MOST_JOBS = 1024
"""The largest number of notebooks that may run at the same time."""


def run(
    runs: list[Run],
    jobs: int | None = None,
    *,
    force: bool = False,
    tell: Callable[[Run], object] = lambda run: None,
) -> list[Run]:
    """Return the runs, each with its final status, after executing them. The overview
    runs after all other notebooks.

    KeyboardInterrupt stops the notebooks. Because the outputs of finished notebooks
    remain, the next call continues with the others.

    Parameters
    ----------
    runs : list of Run
        As `plan_runs` returns them.
    jobs : int, optional
        How many notebooks may run at the same time; None for the number of cores.
    force : bool
        Whether to run a notebook even if its outputs are current.
    tell : callable
        ``tell(run)`` is called whenever a run reaches a cell, waits or ends.
    """
    workers = streams.cores()
    if jobs is not None:
        workers = checks.integer("jobs", jobs, 1, MOST_JOBS)
    workers = min(workers, max(1, len(runs)))
    files.need_locks("running notebooks with dpsim")
    # Dask runs points in other threads, which cannot handle signals
    heard = []
    if threading.current_thread() is threading.main_thread():
        for sign in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(sign) is signal.default_int_handler:
                heard.append(sign)
    try:
        asyncio.run(_all(runs, workers, force, tell, heard))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for sign in heard:
            signal.signal(sign, signal.default_int_handler)
    return runs


async def _all(
    runs: list[Run],
    workers: int,
    force: bool,
    tell: Callable[[Run], object],
    heard: Iterable[signal.Signals],
) -> None:
    """Run one stage after the other, with `workers` notebooks at a time.

    The first of the `heard` signals cancels this task; further signals have no effect.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def stop(*_: object) -> None:
        if task and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

    for sign in heard:
        signal.signal(sign, stop)
    free = asyncio.Semaphore(workers)
    threads = max(1, streams.cores() // workers)
    shared = SHARED if len(runs) > 1 and sys.platform != "darwin" else ()

    async def one(run: Run) -> None:
        async with free:
            try:
                lock = await _lock(run, tell)
                try:
                    await _run(run, forks, force, tell)
                finally:
                    os.close(lock)
            except (OSError, ValueError) as error:
                run.status = "failed"
                run.message = str(error)
            tell(run)

    with (
        tempfile.TemporaryFile() as errors,
        closing(_Forks(threads, shared, errors)) as forks,
    ):
        for _, stage in itertools.groupby(runs, lambda run: paths.stage(run.name)):
            async with asyncio.TaskGroup() as group:
                for run in stage:
                    group.create_task(one(run))


async def _lock(run: Run, tell: Callable[[Run], object]) -> int:
    """Wait until no other run writes to the output folder, and return the descriptor of
    the folder's lock."""
    path = paths.build() / "locks" / str(run.output).replace("/", "%")[-150:]
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with suppress(BlockingIOError):
            return files.lock(path, os.O_CREAT | os.O_WRONLY)
        if run.status != "waiting":
            run.status = "waiting"
            run.message = "waits for another run, which writes the same output"
            tell(run)
        await asyncio.sleep(0.05)


async def _run(
    run: Run, forks: _Forks, force: bool, tell: Callable[[Run], object]
) -> None:
    """Execute a notebook in a folder beside its output. Once complete, this folder
    replaces the output.

    If a file in the folder is only for the owner of the data, nobody else can read the
    folder, and it is not published in figures/.
    """
    run.message = ""
    notebook = load(run.name)
    # under the lock, from the files that will be read
    run.key, stamps = fingerprint(run.name, notebook, run.parameters)
    _tidy(run.output)  # even if nothing has to run
    if not force and is_current(run):
        run.status = "unchanged"
        return
    staging = run.output.with_name(f".{run.output.name}.{os.getpid()}.partial")
    staging.mkdir(parents=True)
    mode = stat.S_IMODE(staging.stat().st_mode)
    with suppress(PermissionError):  # on a file system without modes
        # nobody else can read it until it is known to show no private data
        staging.chmod(mode & ~0o077)
    executed = staging / f"{run.name}.ipynb"
    try:
        files.write_json(executed, notebook)
        await _execute(run, staging, forks, tell)
        if run.message:
            kept = paths.build() / "runs" / run.name / f"failed-{run.key[:16]}.ipynb"
            kept.parent.mkdir(parents=True, exist_ok=True)
            executed.chmod(0o600)  # it may show private data
            shutil.move(executed, kept)
            raise ValueError(f"{run.message} (see {kept})")
        key, after = fingerprint(run.name, notebook, run.parameters)
        if key != run.key or after != stamps:
            changed = sorted({name for name, _ in stamps.items() ^ after.items()})
            raise ValueError(
                f"{', '.join(changed) or 'a version'} changed while it ran: run it again"
            )
        if not holds_owner_only(staging):
            with suppress(PermissionError):
                staging.chmod(mode)
        elif run.output == run.record:
            executed.chmod(0o600)
        else:
            raise ValueError(
                f"it shows data that only their owner may see, not {run.output}: use --output DIR"
            )
        _publish(run, staging, executed)
    finally:
        _tidy(run.output)


def _publish(run: Run, staging: Path, executed: Path) -> None:
    """Write the manifest of a complete run, and replace its output with the folder
    `staging`."""
    made = [f for f in sorted(staging.rglob("*")) if f.is_file() and f != executed]
    outputs = {str(f.relative_to(staging)): files.sha256(f) for f in made}
    home = staging if run.record == run.output else run.record
    home.mkdir(parents=True, exist_ok=True)
    shutil.move(executed, home / executed.name)
    files.write_json(home / "manifest.json", _manifest(run, outputs))
    if run.output.exists():
        os.replace(run.output, _previous(run.output))
    os.replace(staging, run.output)
    run.status = "done"


def holds_owner_only(folder: Path) -> bool:
    """Return whether a folder contains a file that, according to its name, is only for
    the owner of the data."""
    return any(files.OWNER_ONLY in path.name for path in folder.rglob("*"))


def _previous(output: Path) -> Path:
    """Return the folder to which an output is moved until its replacement is in
    place."""
    return output.with_name(f".{output.name}.previous")


def _tidy(output: Path) -> None:
    """Remove what killed runs left beside an output. If the output was about to be
    replaced, put it back."""
    previous = _previous(output)
    if previous.exists() and not output.exists():
        os.replace(previous, output)
    for leftover in (previous, *output.parent.glob(f".{output.name}.*.partial")):
        shutil.rmtree(leftover, ignore_errors=True)


class _Forks:
    """The process from which the processes of the notebooks are forked. It starts with
    the first notebook."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, threads: int, modules: Iterable[str], errors: BinaryIO) -> None:
        self.threads = threads
        self.modules = modules
        self.errors = errors

    def new(self, errors: BinaryIO) -> socket.socket:
        """Start a process for a notebook and return its socket. The process writes its
        standard error to the file `errors`."""
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.jobs, theirs = socket.socketpair()
            server = str(Path(__file__).with_name("forks.py"))
            with theirs:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", server, *self.modules],
                    env=_environment(self.threads),
                    stdin=theirs.fileno(),
                    stdout=self.errors,
                    stderr=self.errors,
                    # Ctrl-C reaches only the runner, which then stops the notebooks
                    start_new_session=True,
                )
        ours, theirs = socket.socketpair()
        # if the process has just died, reading from the socket will show it
        with theirs, suppress(BrokenPipeError):
            socket.send_fds(self.jobs, [b"1"], [theirs.fileno(), errors.fileno()])
        return ours

    def close(self) -> None:
        """Wait until the process has ended together with all processes that it
        started."""
        if self.process:
            self.jobs.close()
            self.process.wait()


async def _execute(
    run: Run, folder: Path, forks: _Forks, tell: Callable[[Run], object]
) -> None:
    """Execute the copy of a run's notebook that is in a folder. If this fails, the
    run's message says why."""
    run.status = "running"
    exit_code = ""
    job = {
        "file": f"{run.name}.ipynb",
        "output": str(folder),
        "folder": str(paths.notebooks()),
        "parameters": {**run.parameters, "output": str(folder)},
    }
    with tempfile.TemporaryFile() as errors:
        reader, writer = await asyncio.open_unix_connection(sock=forks.new(errors))
        try:
            writer.write(json.dumps(job).encode() + b"\n")
            async for line in reader:
                event = json.loads(line)
                if "exit_code" in event:
                    # the processes that the notebook started have ended too
                    exit_code = f", with exit code {event['exit_code']}"
                    break
                vars(run).update(event)
                if run.status == "running":
                    tell(run)
        except ConnectionError:
            pass  # the process ended before it read the job
        except asyncio.CancelledError:
            writer.write_eof()  # this stops the process
            await reader.read()
            raise
        finally:
            writer.close()
        if run.status != "ended":
            why = _last_line(errors)
            if not why and not exit_code:
                why = _last_line(forks.errors)
            run.message = f"ended the process{exit_code}: {why or 'it wrote nothing'}"
        if run.message:
            run.message = f"cell {run.cell} {run.message}"


def _last_line(file: BinaryIO) -> str:
    """Return the last line of a file, or "" if it has none."""
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


LEFT_OUT = (
    "PYTHONSTARTUP",
    "PYTHONOPTIMIZE",
    "PYTHONWARNINGS",
    "PYTHONINSPECT",
    "PYTHONDONTWRITEBYTECODE",
)
"""The user's environment variables that would change a notebook's run, because they run
other code, skip assertions, or make each process compile the libraries again."""


def _environment(threads: int) -> dict[str, str]:
    """Return the environment variables of a notebook, which make this package
    importable and leave out the user's own settings."""
    package = Path(__file__).parents[1]
    settings = {
        name: value for name, value in os.environ.items() if name not in LEFT_OUT
    }
    path = [str(package.parent), os.environ.get("PYTHONPATH", "")]
    settings |= {
        # only a process without threads may fork
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "IPYTHONDIR": str(paths.build() / "ipython"),  # no start-up files
        "MATPLOTLIBRC": os.devnull,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path).rstrip(os.pathsep),
        "OMP_NUM_THREADS": str(threads),
        "NUMBA_NUM_THREADS": str(threads),
        # the products are small, so more threads would only wait for each other
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    if not os.access(package, os.W_OK):
        settings.setdefault("NUMBA_CACHE_DIR", str(paths.build() / "numba"))
    return settings


def _manifest(run: Run, outputs: dict[str, str]) -> dict[str, Any]:
    """Return the record of a run: what determined its outputs, their hashes, and the
    time and memory that the run took."""
    return {
        "name": run.name,
        "parameters": run.parameters,
        "key": run.key,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "peak_mib": run.peak_mib,
        "outputs": outputs,
        "pdf": _with_pdf(),
        "git_commit": _commit(),
        "python": platform.python_version(),
        "versions": versions(),
    }


def _with_pdf() -> bool:
    """Return whether figures are also wanted as pdf files."""
    return os.environ.get("PDF") == "1"


def _commit() -> str | None:
    """Return the commit of the project's clone, or None in an unpacked archive or
    without git."""
    command = ["git", f"--git-dir={paths.root() / '.git'}", "rev-parse", "HEAD"]
    with suppress(OSError):
        found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        return found or None
    return None
