"""Plans and runs notebooks: strict parameters, keys, what may be skipped, one worker process per notebook."""

from __future__ import annotations

import enum
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from dpsim import checks, files, paths
from dpsim.runner.keys import key
from dpsim.runner.parameters import resolve

SCRATCH = "dpsim-run-"
"""Prefix of the temporary folders that hold a kernel's sockets; the owner's pid follows."""


@dataclass(frozen=True)
class Job:
    """One notebook to run.

    Attributes
    ----------
    name : str
    parameters : dict
    key : str
        The hash of what decides its outputs.
    output, record : str
        Where they go, and where its record is kept.
    threads : int
    """

    name: str
    parameters: dict[str, Any]
    key: str
    output: str
    record: str
    threads: int


class Status(enum.StrEnum):
    """How a notebook can end.

    Attributes
    ----------
    DONE
        It ran, and its outputs are published.
    UNCHANGED
        Its outputs are those that a run would make: nothing ran.
    FAILED
        It raised, or its process died; the outputs of the run before are still there.
    INTERRUPTED
        It was stopped from outside, and published nothing.
    """

    DONE = "done"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass
class Outcome:
    """How a notebook ended, where its outputs are, what it took, and why when it failed.

    Attributes
    ----------
    name : str
    status : Status
    output : str
    seconds, cpu_seconds, peak_mib : float
    message : str
    """

    name: str
    status: Status
    output: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mib: float = 0.0
    message: str = ""


def plan(
    names: Iterable[str],
    overrides: Iterable[tuple[str, str]] = (),
    output: str | None = None,
    jobs: int | None = None,
) -> tuple[list[Job], int]:
    """Return the jobs of a run and how many run at a time; nothing is written.

    Parameters
    ----------
    names : iterable of str
        Notebooks.
    overrides : iterable of (str, str)
        Parameter and value, as written on the command line.
    output : str, optional
        Folder for the outputs, in <output>/<notebook>. None: default parameters without it go to figures/<notebook>,
        all others to build/runs/<notebook>/<key>.
    jobs : int, optional
        How many at a time; None: as many as there are cores.

    Returns
    -------
    jobs : list of Job
    workers : int

    Raises
    ------
    ValueError
        For anything a user could have mistyped, before any job starts.

    Examples
    --------
    >>> from dpsim import paths, runner
    >>> jobs, workers = runner.plan([paths.notebook_names()[1]], jobs=1)
    >>> len(jobs), workers
    (1, 1)
    """
    chosen = list(dict.fromkeys(names)) or paths.notebook_names()
    chosen.sort(key=paths.stage)
    overrides = list(overrides)
    workers = min(cores() if jobs is None else checks.integer("jobs", jobs, 1, 1024), len(chosen))
    planned = []
    for name in chosen:
        values = resolve(name, overrides)
        identity = key(name, values)
        runs = paths.build() / "runs" / name
        if output is not None:
            target = Path(output).resolve() / name
            _refuse_figures(target)
            record = runs / f"{identity[:16]}-{hashlib.sha256(str(target).encode()).hexdigest()[:8]}"
        elif values:
            target = record = runs / identity[:16]
        else:
            target, record = paths.figures() / name, runs / "default"
        if output is not None:
            _refuse_foreign(target)
        planned.append(Job(name, values, identity, str(target), str(record), max(1, cores() // workers)))
    return planned, workers


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else os.cpu_count() or 1


def is_current(job: Job) -> bool:
    """Return whether the job's recorded run has the same key and all its outputs still have their sha256.

    Parameters
    ----------
    job : Job

    Returns
    -------
    bool
    """
    try:
        recorded = json.loads((Path(job.record) / "manifest.json").read_text(encoding="utf-8"))
        return (recorded["key"], recorded["output"]) == (job.key, job.output) and all(
            files.sha256(Path(job.output) / name) == digest for name, digest in recorded["outputs"].items()
        )
    except (OSError, ValueError, KeyError, TypeError):  # a record or an output that is missing or damaged
        return False


def run(
    planned: list[Job], workers: int, *, force: bool = False, on_event: Callable[[str, dict[str, Any]], None]
) -> list[Outcome]:
    """Run the jobs, the overview after all others.

    Parameters
    ----------
    planned : list of Job
        As `plan` returns them.
    workers : int
        How many at a time.
    force : bool
        Whether to run those too that are current.
    on_event : callable
        ``on_event(name, event)`` hears of every cell and wait.

    Returns
    -------
    list of Outcome
        How each job ended.

    Raises
    ------
    ValueError
        Where too few files may be open at a time.

    Notes
    -----
    SIGTERM and Ctrl-C stop the workers, and their kernels with them; what was finished stays, and the next run goes on
    from there.
    """
    _allow_files()
    _sweep()
    running: dict[str, subprocess.Popen[str]] = {}  # by output: a sweep runs one notebook many times
    stopping = threading.Event()
    former = signal.getsignal(signal.SIGTERM)
    main = threading.current_thread() is threading.main_thread()

    def one(job: Job) -> Outcome:
        if stopping.is_set():
            return Outcome(job.name, Status.INTERRUPTED, job.output)
        if not force and is_current(job):
            return Outcome(job.name, Status.UNCHANGED, job.output)
        return _work(job, force, running, stopping, lambda event: on_event(job.name, event))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    outcomes: list[Outcome] = []
    if main:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        with ThreadPoolExecutor(workers) as pool:
            try:
                for stage in sorted({paths.stage(job.name) for job in planned}):
                    jobs = [job for job in planned if paths.stage(job.name) == stage]
                    if stage:  # the key holds the results of the stage before, which exist only now
                        jobs = [replace(job, key=key(job.name, job.parameters)) for job in jobs]
                    futures: list[Future[Outcome]] = [pool.submit(one, job) for job in jobs]
                    for future in as_completed(futures):
                        outcomes.append(future.result())
                        on_event(outcomes[-1].name, {"event": "end", "outcome": outcomes[-1]})
            except KeyboardInterrupt:
                stopping.set()
                for process in list(running.values()):
                    process.terminate()
                pool.shutdown(wait=True, cancel_futures=True)
                finished = {outcome.output for outcome in outcomes}
                outcomes += [Outcome(j.name, Status.INTERRUPTED, j.output) for j in planned if j.output not in finished]
    finally:
        if main:
            signal.signal(signal.SIGTERM, former)
    order = {job.output: i for i, job in enumerate(planned)}
    return sorted(outcomes, key=lambda outcome: order[outcome.output])


def _work(
    job: Job,
    force: bool,
    running: dict[str, subprocess.Popen[str]],
    stopping: threading.Event,
    on_event: Callable[[dict[str, Any]], None],
) -> Outcome:
    """Return the outcome of one worker process, passing its events on."""
    scratch = tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-")
    message = json.dumps({**asdict(job), "force": force, "scratch": scratch, "owner": os.getpid()})
    outcome: Outcome | None = None
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpsim.runner.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=_environment(Path(scratch), job.threads),
            start_new_session=True,  # Ctrl-C reaches the runner alone, which then stops the workers in order
        )
        running[job.output] = process
        try:
            assert process.stdin is not None and process.stdout is not None
            if stopping.is_set():
                process.terminate()
            try:
                process.stdin.write(message)
                process.stdin.close()
            except BrokenPipeError:
                pass
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "outcome":
                    found = event["outcome"]
                    outcome = Outcome(**{**found, "status": Status(found["status"])})
                else:
                    on_event(event)
            process.wait()
        finally:
            del running[job.output]
            shutil.rmtree(scratch, ignore_errors=True)
        if stopping.is_set() and (outcome is None or outcome.status == Status.FAILED):
            return Outcome(job.name, Status.INTERRUPTED, job.output)
        if outcome is None:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or ["it wrote nothing"])[-1]
            text = f"the worker stopped with exit code {process.returncode}: {last}"
            outcome = Outcome(job.name, Status.FAILED, job.output, message=text)
    return outcome


LEFT_OUT = ("PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT")
"""Variables of the user's that would change what a notebook does: code of their own, assertions that are skipped."""


def _environment(scratch: Path, threads: int) -> dict[str, str]:
    """Return the environment of a worker and its kernel: this package, and none of the user's own settings."""
    package = Path(__file__).parents[1]
    settings = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    (scratch / "matplotlibrc").touch()
    settings |= {
        "JUPYTER_RUNTIME_DIR": str(scratch),  # sockets: short paths, and removed with the run
        "IPYTHONDIR": str(scratch / "ipython"),  # no start-up files, no history
        "JUPYTER_PREFER_ENV_PATH": "1",
        "MATPLOTLIBRC": str(scratch / "matplotlibrc"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }
    if not os.access(package, os.W_OK):
        settings.setdefault("NUMBA_CACHE_DIR", str(paths.build() / "numba"))
    for variable in ("OMP", "NUMBA"):
        settings[f"{variable}_NUM_THREADS"] = str(threads)
    for variable in ("OPENBLAS", "MKL"):  # our products are small: more threads would only wait for each other
        settings[f"{variable}_NUM_THREADS"] = "1"
    return settings


def _refuse_figures(target: Path) -> None:
    """Refuse an --output inside figures/, which belongs to default runs."""
    if target.is_relative_to(paths.figures().resolve()):
        raise ValueError(f"output must be outside {paths.figures()}, which default runs alone write, got {target}")


def _refuse_foreign(target: Path) -> None:
    """Refuse an --output folder with files that no run of ours recorded."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        manifests = (paths.build() / "runs").glob("*/*/manifest.json")
        if str(target) not in {json.loads(m.read_text(encoding="utf-8")).get("output") for m in manifests}:
            raise ValueError(f"output must be new, empty or an earlier run's: {target} holds other files")


OPEN_FILES = 256
"""How many files a kernel may need to have open: its sockets, libraries and fonts take more than 64."""


def _allow_files() -> None:
    """Raise this process's limit of open files, which workers inherit, where it is too low and may be raised."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < OPEN_FILES:
        raise ValueError(f"a run needs {OPEN_FILES} open files, and no more than {most} are allowed here (ulimit -n)")
    if allowed != resource.RLIM_INFINITY and allowed < OPEN_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, most))


def _sweep() -> None:
    """Remove what runners that were killed left in the temporary folder, kernels included."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        owner = folder.name.removeprefix(SCRATCH).split("-")[0]
        if not owner.isdigit() or psutil.pid_exists(int(owner)):
            continue
        for process in psutil.process_iter(["cmdline"]):
            if any(str(folder) in word for word in process.info["cmdline"] or []):
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)
