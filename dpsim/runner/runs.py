"""Decides which notebooks must run, runs them, and moves their outputs into place once
they are complete."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from dpsim import checks, files, notebook, paths, streams
from dpsim.runner.keys import fingerprint, versions


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
        "planned", "waiting" or "running", and finally "done" (the outputs are
        published), "unchanged" (the published outputs are those that a run would make),
        "failed" or "interrupted" (the outputs of the previous run are still there).
    message : str
        Why the run failed, or what it is waiting for.
    cell, cells : int
        The number of the cell that is running, and the total number of cells.
    seconds : float
        How long it took.
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

    Returns
    -------
    list of Run
        The runs, whose status is "planned".

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> [run.status for run in runner.plan_runs([paths.notebook_names()[1]])]
    ['planned']
    """
    overrides = list(overrides)
    chosen = sorted(dict.fromkeys(names) or paths.notebook_names(), key=paths.stage)
    accepted = [(one, one.checked(overrides)) for one in map(notebook.load, chosen)]
    return [plan_run(one, values, output) for one, values in accepted]


def plan_run(
    source: notebook.Notebook, values: dict[str, Any], output: str | None = None
) -> Run:
    """Return the planned run of a notebook with these values of parameters, which its
    checks have accepted, without writing anything."""
    name = source.name
    key, _ = fingerprint(source, values)
    record = paths.build() / "runs" / name / (key[:16] if values else "default")
    target = record if values else paths.figures() / name
    if output is not None:
        target = record = Path(output).resolve() / name
        figures = paths.figures().resolve()
        if target.is_relative_to(figures):
            raise ValueError(
                f"output must be outside {figures}, which only default runs write, "
                f"got {output}"
            )
    run = Run(name, values, key, target, record)
    _check_place(run)
    return run


def _check_place(run: Run) -> None:
    """Raise ValueError if the output of a run would replace what is no run's output."""
    for place in (run.output, run.record, _previous(run.output)):
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            raise ValueError(
                f"output must be a folder, and {place} is a file or a link: "
                "move it away"
            )
    usual = (paths.figures(), paths.build() / "runs")
    if run.output.exists() and not any(map(run.output.is_relative_to, usual)):
        written = (run.output / "manifest.json", run.output / f"{run.name}.ipynb")
        if not all(file.is_file() for file in written):
            raise ValueError(
                f"output must be a new folder or that of an earlier run: {run.output} "
                "holds other files"
            )


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

    Returns
    -------
    list of Run
        The given runs, whose status is "done", "unchanged" or "failed".
    """
    workers = streams.cores()
    if jobs is not None:
        workers = checks.integer("jobs", jobs, 1, MOST_JOBS)
    workers = min(workers, max(1, len(runs)))
    threads = max(1, streams.cores() // workers)
    files.need_locks("running notebooks with dpsim")
    context = multiprocessing.get_context("spawn")
    # the workers end when this process closes the pipe or has been killed
    ended, alive = context.Pipe(duplex=False)
    events = context.SimpleQueue()
    with (
        _one_interrupt(),
        ProcessPoolExecutor(workers, context, _begin, (ended, events)) as pool,
        alive,
    ):
        try:
            for _, stage in itertools.groupby(runs, lambda run: paths.stage(run.name)):
                _run_stage(list(stage), pool, (force, threads), events, tell)
        except KeyboardInterrupt:
            alive.close()
            pool.shutdown(cancel_futures=True)
            for run in runs:
                with suppress(OSError), _locked(run.output):
                    _tidy(run.output)
            raise
    return runs


@contextmanager
def _one_interrupt() -> Iterator[None]:
    """Within this block, raise KeyboardInterrupt at the first signal of those for which
    Python does so, and ignore further ones, so that the clean-up is not interrupted."""

    def stop(*_: object) -> None:
        for sign in heard:
            signal.signal(sign, signal.SIG_IGN)
        raise KeyboardInterrupt

    heard = [
        sign
        for sign in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(sign) is signal.default_int_handler
    ]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    for sign in heard:
        signal.signal(sign, stop)
    try:
        yield
    finally:
        for sign in heard:
            signal.signal(sign, signal.default_int_handler)


def _run_stage(
    runs: list[Run],
    pool: ProcessPoolExecutor,
    how: tuple[bool, int],
    events: SimpleQueue[tuple[int, dict[str, Any]]],
    tell: Callable[[Run], object],
) -> None:
    """Execute runs in a pool of processes, and tell what the processes report."""
    waiting: dict[Future[Run], Run] = {}
    for number, run in enumerate(runs):
        try:
            waiting[pool.submit(_run_in_pool, number, run, *how)] = run
        except BrokenProcessPool as error:  # a process has been killed
            _has_lost_its_process(run, error)
            tell(run)
    while waiting:
        done, _ = wait(waiting, timeout=0.05, return_when=FIRST_COMPLETED)
        while not events.empty():
            number, news = events.get()
            vars(runs[number]).update(news)
            tell(runs[number])
        for future in done:
            run = waiting.pop(future)
            try:
                vars(run).update(vars(future.result()))
            except BrokenProcessPool as error:
                _has_lost_its_process(run, error)
            tell(run)


def _has_lost_its_process(run: Run, error: BrokenProcessPool) -> None:
    """Mark a run as failed because its process of the pool has ended."""
    run.status = "failed"
    run.message = f"the process that ran it has ended: {error}"


_events: SimpleQueue[tuple[int, dict[str, Any]]]
"""Through this, a process of the pool reports the state of its runs."""


def _begin(ended: Connection, events: SimpleQueue[tuple[int, dict[str, Any]]]) -> None:
    """Prepare a process of the pool: it ends at once, with its kernel, when `ended` is
    closed at the other end or a signal arrives."""
    global _events
    _events = events

    def leave(*_: object) -> None:
        try:
            from dpsim.runner import kernels

            kernels.kill_all()
        finally:
            os._exit(1)

    def watch() -> None:
        with suppress(EOFError, OSError):
            ended.recv()
        leave()

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, leave)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if ignored, none can be waited for
    # jsonschema needs it for no notebook, and importing it takes more than a second
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    threading.Thread(target=watch, daemon=True).start()


def _run_in_pool(number: int, run: Run, force: bool, threads: int) -> Run:
    """Return a run after it has been executed in this process of a pool."""
    return run_here(run, force, threads, lambda run: _events.put((number, vars(run))))


def run_here(
    run: Run,
    force: bool = False,
    threads: int = 1,
    tell: Callable[[Run], object] = lambda run: None,
) -> Run:
    """Return a run, with its final status, after executing it from this process."""
    try:
        while True:
            with suppress(BlockingIOError), _locked(run.output):
                _run(run, force, threads, tell)
                return run
            if run.status != "waiting":
                run.status = "waiting"
                run.message = "waits for another run, which writes the same output"
                tell(run)
            time.sleep(0.05)
    except (OSError, ValueError) as error:
        run.status = "failed"
        run.message = str(error)
    return run


@contextmanager
def _locked(output: Path) -> Iterator[None]:
    """Lock an output folder, with a file beside it, during this block. Raises
    BlockingIOError if another process has locked it, of any clone of the project."""
    path = output.with_name(f".{output.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = files.lock(path, os.O_CREAT | os.O_WRONLY)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _run(run: Run, force: bool, threads: int, tell: Callable[[Run], object]) -> None:
    """Execute a notebook in a folder beside its output. Once complete, this folder
    replaces the output.

    If a file in the folder is only for the owner of the data, nobody else can read the
    folder, and it is not published in figures/.
    """
    from dpsim.runner import kernels  # imported here because it takes a second

    run.message = ""
    source = notebook.load(run.name)
    # under the lock, from the files that will be read
    run.key, stamps = fingerprint(source, run.parameters)
    _tidy(run.output)  # even if nothing has to run
    if not force and is_current(run):
        run.status = "unchanged"
        return
    _check_place(run)
    staging = run.output.with_name(f".{run.output.name}.{os.getpid()}.partial")
    staging.mkdir()
    mode = stat.S_IMODE(staging.stat().st_mode)
    with suppress(PermissionError):  # on a file system without modes
        # nobody else can read it until it is known to show no private data
        staging.chmod(mode & ~0o077)
    executed = staging / f"{run.name}.ipynb"
    run.status = "running"
    run.cells = len(source.cells)

    def tell_cell(number: int) -> None:
        run.cell = number
        tell(run)

    begun = os.open(staging, os.O_RDONLY)
    try:
        files.write_json(executed, source.contents)
        parameters = {**run.parameters, "output": str(staging)}
        start = time.perf_counter()
        run.message = kernels.execute(executed, parameters, threads, tell_cell)
        run.seconds = time.perf_counter() - start
        if run.message:
            failed = paths.build() / "runs" / run.name / f"failed-{run.key[:16]}.ipynb"
            with suppress(OSError):  # the disk may be full
                failed.parent.mkdir(parents=True, exist_ok=True)
                executed.chmod(0o600)  # it may show private data
                shutil.move(executed, failed)
                run.message += f" (see {failed})"
            raise ValueError(run.message)
        key, after = fingerprint(source, run.parameters)
        if key != run.key or after != stamps:
            changed = sorted({name for name, _ in stamps.items() ^ after.items()})
            raise ValueError(
                f"{', '.join(changed) or 'a version'} changed while it ran: "
                "run it again"
            )
        if not os.path.samestat(os.fstat(begun), os.stat(staging)):
            raise ValueError(f"{staging} was replaced while it ran: run it again")
        if not holds_owner_only(staging):
            with suppress(PermissionError):
                staging.chmod(mode)
        elif run.output == run.record:
            executed.chmod(0o600)
        else:
            raise ValueError(
                "it shows data that only their owner may see, "
                f"not {run.output}: use --output DIR"
            )
        _publish(run, staging, executed)
    finally:
        os.close(begun)
        _tidy(run.output)


def _publish(run: Run, staging: Path, executed: Path) -> None:
    """Write the manifest of a complete run, and replace its output with the folder
    `staging`."""
    _check_place(run)  # again, because the run took its time
    results = [f for f in sorted(staging.rglob("*")) if f.is_file() and f != executed]
    outputs = {str(f.relative_to(staging)): files.sha256(f) for f in results}
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


def _manifest(run: Run, outputs: dict[str, str]) -> dict[str, Any]:
    """Return the record of a run: what determined its outputs, their hashes, and the
    time that the run took."""
    return {
        "name": run.name,
        "parameters": run.parameters,
        "key": run.key,
        "seconds": run.seconds,
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
        commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        return commit or None
    return None
