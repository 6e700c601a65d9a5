"""Plans and runs notebooks, each in its own process. Runs that are current are skipped, and outputs
appear only when they are complete."""

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
    name, parameters, key
        The notebook, its overridden parameters, and the hash of everything that decides its outputs.
    output, record : Path, the folders of its outputs, and of its manifest and executed copy
    status : str
        planned, waiting, running, ended; then done (its outputs are published), unchanged (the published outputs are
        those that a run would make), failed or interrupted (the outputs of the previous run are still there).
    message : str, why it failed, or what it waits for
    cell, cells : int, the number of the cell that runs, and the number of cells
    seconds, cpu_seconds, peak_mib : float, time and memory of its process, without the imports before its first cell
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


def plan(
    names: Iterable[str] = (),
    overrides: Iterable[tuple[str, str]] = (),
    output: str | None = None,
) -> list[Run]:
    """Return the planned runs in their order, without writing anything.

    Parameters
    ----------
    names : iterable of str, the notebooks; if it is empty, all notebooks
    overrides : iterable of (str, str), parameters and values, as written on the command line
    output : str, optional
        The folder for the outputs, which go to <output>/<notebook>. If it is None, a run with default parameters writes
        to figures/<notebook>, and any other run to build/runs/<notebook>/<key>.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> [run.status for run in runner.plan([paths.notebook_names()[1]])]
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
        if output is not None:
            ours = all(
                (target / file).is_file() for file in ("manifest.json", f"{name}.ipynb")
            )
            if os.path.lexists(target) and not ours:
                raise ValueError(
                    f"output must be a new folder or that of an earlier run: {target} holds other files"
                )
        planned.append(Run(name, values, key, target, record))
    return planned


def is_current(run: Run) -> bool:
    """Return whether the recorded run has the same key and its outputs still have their recorded hashes.

    With PDF=1 the recorded run must also have made pdf files.
    """
    try:
        was = json.loads((run.record / "manifest.json").read_text(encoding="utf-8"))
        same = [
            files.sha256(run.output / name) == digest
            for name, digest in was["outputs"].items()
        ]
        return (
            was["key"] == run.key
            and was["pdf"] >= _with_pdf()
            and bool(same)
            and all(same)
        )
    except (
        OSError,
        ValueError,
        RecursionError,
        KeyError,
        TypeError,
        AttributeError,
    ):  # a file is missing or damaged
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
"""Libraries that nearly every notebook imports, which takes seconds. If several notebooks run, these libraries are
imported only once, except on macOS, where they do not survive a fork."""


MOST_JOBS = 1024
"""The largest number of notebooks that may run at the same time."""


def run(
    runs: list[Run],
    jobs: int | None = None,
    *,
    force: bool = False,
    tell: Callable[[Run], object] = lambda run: None,
) -> list[Run]:
    """Return the runs, each with its final status, after executing them. The overview runs after all other notebooks.

    KeyboardInterrupt stops the notebooks. The outputs of finished notebooks remain, so the next run continues with
    the others.

    Parameters
    ----------
    runs : list of Run, from `plan`
    jobs : int, the number of notebooks that run at the same time; None for the number of cores
    force : bool, whether to run current notebooks too
    tell : callable, ``tell(run)`` is called at every cell, wait and end
    """
    workers = (
        streams.cores() if jobs is None else checks.integer("jobs", jobs, 1, MOST_JOBS)
    )
    files.need_locks("running notebooks with dpsim")
    workers = max(1, min(workers, len(runs)))
    main = (
        threading.current_thread() is threading.main_thread()
    )  # Dask runs points in other threads
    heard = [
        s
        for s in (signal.SIGINT, signal.SIGTERM)
        if main and signal.getsignal(s) is signal.default_int_handler
    ]
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
    """Run the stages one after the other, with `workers` notebooks at a time, until the first signal.

    Further signals change nothing.
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
    """Wait until no other run writes to the output folder, and return the descriptor of its lock."""
    path = paths.build() / "locks" / str(run.output).replace("/", "%")[-150:]
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with suppress(BlockingIOError):
            return files.lock(path, os.O_CREAT | os.O_WRONLY)
        if run.status != "waiting":
            run.status, run.message = (
                "waiting",
                "waits for another run, which writes the same output",
            )
            tell(run)
        await asyncio.sleep(0.05)


async def _run(
    run: Run, forks: _Forks, force: bool, tell: Callable[[Run], object]
) -> None:
    """Execute a notebook in a folder beside its output, and replace the output by this folder when it is complete.

    If a file in the folder is only for the owner of the data, nobody else can read the folder, and it is not published
    in figures/.
    """
    run.message = ""
    notebook = load(run.name)
    before = fingerprint(
        run.name, notebook, run.parameters
    )  # under the lock, from the files that will be read
    run.key = before[0]
    _tidy(run.output)  # removes leftovers of killed runs, even if nothing has to run
    if not force and is_current(run):
        run.status = "unchanged"
        return
    staging = run.output.with_name(f".{run.output.name}.{os.getpid()}.partial")
    staging.mkdir(parents=True)
    mode = stat.S_IMODE(staging.stat().st_mode)
    with suppress(PermissionError):  # on a file system without modes
        staging.chmod(
            mode & ~0o077
        )  # nobody else can read it before it is known to show nobody's data
    executed = staging / f"{run.name}.ipynb"
    try:
        files.write_json(executed, notebook)
        await _execute(run, staging, forks, tell)
        if run.message:
            kept = paths.build() / "runs" / run.name / f"failed-{run.key[:16]}.ipynb"
            kept.parent.mkdir(parents=True, exist_ok=True)
            executed.chmod(0o600)  # it may show somebody's data
            shutil.move(executed, kept)
            raise ValueError(f"{run.message} (see {kept})")
        after = fingerprint(run.name, notebook, run.parameters)
        if before != after:
            changed = sorted({name for name, _ in before[1].items() ^ after[1].items()})
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
        made = [f for f in sorted(staging.rglob("*")) if f.is_file() and f != executed]
        manifest = _manifest(
            run, {str(f.relative_to(staging)): files.sha256(f) for f in made}
        )
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


def holds_owner_only(folder: Path) -> bool:
    """Return whether a folder holds a file that is only for the owner of the data, as the file's name says."""
    return any(files.OWNER_ONLY in path.name for path in folder.rglob("*"))


def _previous(output: Path) -> Path:
    """Return the folder to which an output is moved while its replacement is put in place."""
    return output.with_name(f".{output.name}.previous")


def _tidy(output: Path) -> None:
    """Remove what killed runs left beside an output, and move the output back if its replacement was interrupted."""
    if _previous(output).exists() and not output.exists():
        os.replace(_previous(output), output)
    for leftover in (
        _previous(output),
        *output.parent.glob(f".{output.name}.*.partial"),
    ):
        shutil.rmtree(leftover, ignore_errors=True)


class _Forks:
    """The process from which the processes of the notebooks are forked. It starts with the first notebook."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, threads: int, modules: Iterable[str], errors: BinaryIO) -> None:
        self.threads, self.modules, self.errors = threads, modules, errors

    def new(self, errors: BinaryIO) -> socket.socket:
        """Start a new process for a notebook and return its socket; the process writes its standard error to a file."""
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.jobs, theirs = socket.socketpair()
            with theirs:
                self.process = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        str(Path(__file__).with_name("forks.py")),
                        *self.modules,
                    ],
                    env=_environment(self.threads),
                    stdin=theirs.fileno(),
                    stdout=self.errors,
                    stderr=self.errors,
                    start_new_session=True,  # Ctrl-C reaches only the runner, which then stops the notebooks
                )
        ours, theirs = socket.socketpair()
        with (
            theirs,
            suppress(BrokenPipeError),
        ):  # the process has just died, which the socket will show
            socket.send_fds(self.jobs, [b"1"], [theirs.fileno(), errors.fileno()])
        return ours

    def close(self) -> None:
        """Wait until the process has ended together with all processes that it started."""
        if self.process:
            self.jobs.close()
            self.process.wait()


async def _execute(
    run: Run, folder: Path, forks: _Forks, tell: Callable[[Run], object]
) -> None:
    """Execute the copy of the notebook in a folder. If it fails, the run's message says why."""
    run.status, exit_code = "running", ""
    job: dict[str, Any] = {
        "file": f"{run.name}.ipynb",
        "output": str(folder),
        "folder": str(paths.notebooks()),
    }
    job["parameters"] = {**run.parameters, "output": str(folder)}
    with tempfile.TemporaryFile() as errors:
        reader, writer = await asyncio.open_unix_connection(sock=forks.new(errors))
        try:
            writer.write(json.dumps(job).encode() + b"\n")
            async for line in reader:
                event = json.loads(line)
                if (
                    "exit_code" in event
                ):  # the processes that the notebook started have ended too
                    exit_code = ", with exit code {exit_code}".format(**event)
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
            why = (
                _last_line(errors)
                or ("" if exit_code else _last_line(forks.errors))
                or "it wrote nothing"
            )
            run.message = f"ended the process{exit_code}: {why}"
        if run.message:
            run.message = f"cell {run.cell} {run.message}"


def _last_line(file: BinaryIO) -> str:
    """Return the last line of a text file, or an empty text if there is none."""
    file.seek(0)
    return (file.read().decode(errors="replace").strip().splitlines() or [""])[-1]


LEFT_OUT = (
    "PYTHONSTARTUP",
    "PYTHONOPTIMIZE",
    "PYTHONWARNINGS",
    "PYTHONINSPECT",
    "PYTHONDONTWRITEBYTECODE",
)
"""Environment variables of the user that would change a notebook's run: they run other code, skip assertions, or make
each process compile the libraries again."""


def _environment(threads: int) -> dict[str, str]:
    """Return the environment of a notebook, with this package and without the user's own settings."""
    package = Path(__file__).parents[1]
    settings = {
        name: value for name, value in os.environ.items() if name not in LEFT_OUT
    }
    settings |= {
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # only a process without threads may fork
        "IPYTHONDIR": str(paths.build() / "ipython"),  # no start-up files
        "MATPLOTLIBRC": os.devnull,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(
            [str(package.parent), os.environ.get("PYTHONPATH", "")]
        ).rstrip(os.pathsep),
    }
    if not os.access(package, os.W_OK):
        settings.setdefault("NUMBA_CACHE_DIR", str(paths.build() / "numba"))
    settings |= {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "NUMBA")}
    # the products are small, so more threads would only wait for each other
    return settings | {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL")}


def _manifest(run: Run, outputs: dict[str, str]) -> dict[str, Any]:
    """Return the record of a run: what decided it, what it wrote, and how much time and memory it took."""
    kept = {
        name: getattr(run, name)
        for name in ("name", "parameters", "key", "seconds", "cpu_seconds", "peak_mib")
    }
    kept |= {"outputs": outputs, "pdf": _with_pdf(), "git_commit": _commit()}
    return kept | {"python": platform.python_version(), "versions": versions()}


def _with_pdf() -> bool:
    """Return whether figures are also wanted as pdf."""
    return os.environ.get("PDF") == "1"


def _commit() -> str | None:
    """Return the commit of the project's clone, or None in an unpacked archive or without git."""
    with suppress(OSError):
        command = ["git", f"--git-dir={paths.root() / '.git'}", "rev-parse", "HEAD"]
        return (
            subprocess.run(command, capture_output=True, text=True).stdout.strip()
            or None
        )
    return None
