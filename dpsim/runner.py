"""Plans and runs notebooks: strict parameters, keys, what may be skipped, one worker process per notebook."""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpsim import checks, nbfiles, project  # isort: skip  (before papermill: it spares nbformat a slow import)

import psutil
from papermill.inspection import inspect_notebook

TYPES = ("int", "float", "str", "bool", "list[int]", "list[float]", "list[str]")
"""Annotations that papermill's inspection keeps, and that a value on the command line can have."""

SCRATCH = "dpsim-run-"
"""Prefix of the temporary folders that hold a kernel's sockets; the owner's pid follows."""


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's `parameters` cell."""

    name: str
    type: str
    default: Any
    help: str


@dataclass(frozen=True)
class Job:
    """One notebook to run: what decides its outputs (key), where they go, where its record is kept."""

    name: str
    parameters: dict[str, Any]
    key: str
    output: str
    record: str
    threads: int


@dataclass
class Outcome:
    """How a notebook ended: status is done, unchanged, failed or interrupted."""

    name: str
    status: str
    output: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mib: float = 0.0
    message: str = ""


def parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, as papermill's inspection reads them.

    Raises ValueError for a notebook whose parameter has a type outside TYPES.
    """
    found = {}
    for item in inspect_notebook(str(notebook_path(name))).values():
        kind = item["inferred_type_name"].replace(" ", "")
        checks.choice(f"type of parameter {item['name']} of {name}", kind, TYPES)
        default = ast.literal_eval(item["default"])
        found[item["name"]] = Parameter(item["name"], kind, default, item["help"].strip())
    return found


def notebook_path(name: str) -> Path:
    """Return the path of a notebook; raises ValueError with the nearest name for one that does not exist."""
    names = project.notebook_names()
    if name not in names:
        raise ValueError(f"no notebook is called {name!r}{_nearest(name, names)}; there are {', '.join(names)}")
    return project.notebooks() / f"{name}.ipynb"


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter written on the command line; lists as 1,2,3 or ["a", "b"].

    Raises ValueError naming the parameter, the text and the type it should have.
    """
    if parameter.type.startswith("list["):
        inner = Parameter(parameter.name, parameter.type[5:-1], None, "")
        items = json.loads(text) if text.lstrip().startswith("[") else text.split(",") if text else []
        return [parse(inner, str(item).strip()) for item in items]
    if parameter.type == "str":
        return text
    if parameter.type == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if parameter.type == "int":
            return int(text)
        if parameter.type == "float":
            return float(text)
    except ValueError:
        pass
    example = {"bool": "true or false", "int": "an integer", "float": "a number"}[parameter.type]
    raise ValueError(f"{parameter.name} must be {example} ({parameter.type}), got {text!r}")


def resolve(name: str, overrides: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of the overridden parameters of a notebook, checked before anything runs.

    A string that names a file or folder seen from the caller becomes its absolute path, because the kernel may
    start elsewhere. The notebook's own checks (the cell tagged `checks`) run here, so a value outside its range
    is refused in their words. Raises ValueError for unknown names (with the nearest), wrong types and ranges.
    """
    known = parameters(name)
    values: dict[str, Any] = {}
    for given, text in overrides:
        if given == "output":
            raise ValueError("output is set by the runner: use --output DIR")
        if given not in known:
            allowed = sorted(set(known) - {"output"})
            raise ValueError(
                f"{given} is not a parameter of {name}{_nearest(given, allowed)}; it has {', '.join(allowed)}"
            )
        value = parse(known[given], text)
        if isinstance(value, str) and value != known[given].default and Path(value).exists():
            value = str(Path(value).resolve())
        values[given] = value
    _run_checks(name, {key: p.default for key, p in known.items()} | values)
    return values


def key(name: str, values: Mapping[str, Any]) -> str:
    """Return the hash of everything that decides a run's outputs.

    Cell sources, parameters, contents of files that a parameter names, sources of dpsim, data, lock, installed
    versions; for the overview also the results of the other notebooks.
    """
    notebook = nbfiles.read(notebook_path(name))
    cells = [[c.cell_type, c.source, c.metadata.get("tags", [])] for c in notebook.cells]
    package = Path(__file__).parent
    files = [*package.glob("*.py"), *project.data().rglob("*"), project.root() / "requirements.lock"]
    if name.startswith("00_"):
        files += project.figures().glob("*/*")
        files = [f for f in files if f.parent.name != name]
    if "official" in values.values():  # a month fetched since makes another run
        files += (project.build() / "data").glob("*.csv")
    for value in values.values():
        if isinstance(value, str) and os.path.isabs(value) and Path(value).exists():
            files += [Path(value), *(Path(value).rglob("*") if Path(value).is_dir() else [])]
    contents = {_label(path): sha256(path) for path in sorted(set(files)) if path.is_file()}
    versions = sorted(f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions())
    whole = {"cells": cells, "parameters": dict(sorted(values.items())), "files": contents}
    whole |= {"versions": versions, "python": sys.version}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plan(
    names: Iterable[str],
    overrides: Iterable[tuple[str, str]] = (),
    output: str | None = None,
    jobs: int | None = None,
) -> tuple[list[Job], int]:
    """Return the jobs of a run and how many run at a time; nothing is written.

    Default parameters without `output` go to figures/<notebook>; all others to build/runs/<notebook>/<key>, or
    to <output>/<notebook>. Raises ValueError for anything a user could have mistyped, before any job starts.
    """
    chosen = list(dict.fromkeys(names)) or project.notebook_names()
    chosen.sort(key=lambda name: name.startswith("00_"))
    overrides = list(overrides)
    cores = len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else os.cpu_count() or 1
    workers = min(checks.integer("jobs", jobs or min(cores, len(chosen)), 1, 1024), len(chosen))
    planned = []
    for name in chosen:
        values = resolve(name, overrides)
        identity = key(name, values)
        runs = project.build() / "runs" / name
        if output is not None:
            target = Path(output).resolve() / name
            _refuse_figures(target)
            record = runs / f"{identity[:16]}-{hashlib.sha256(str(target).encode()).hexdigest()[:8]}"
        elif values:
            target = record = runs / identity[:16]
        else:
            target, record = project.figures() / name, runs / "default"
        if output is not None:
            _refuse_foreign(target)
        planned.append(Job(name, values, identity, str(target), str(record), max(1, cores // workers)))
    return planned, workers


def is_current(job: Job) -> bool:
    """Return whether the job's recorded run has the same key and all its outputs still have their sha256."""
    manifest = Path(job.record) / "manifest.json"
    if not manifest.is_file():
        return False
    recorded = json.loads(manifest.read_text(encoding="utf-8"))
    outputs = recorded.get("outputs", {})
    return (
        recorded.get("key") == job.key
        and recorded.get("output") == job.output
        and bool(outputs)
        and all((Path(job.output) / f).is_file() and sha256(Path(job.output) / f) == h for f, h in outputs.items())
    )


def run(
    planned: list[Job], workers: int, *, force: bool = False, on_event: Callable[[str, dict[str, Any]], None]
) -> list[Outcome]:
    """Return how each job ended, `workers` at a time, the overview after all others.

    on_event(name, event) hears of every cell and wait. SIGTERM and Ctrl-C stop the workers, and their kernels with
    them; what was finished stays, and the next run goes on from there.
    """
    _sweep()
    running: dict[str, subprocess.Popen[str]] = {}  # by output: a sweep runs one notebook many times
    stopping = threading.Event()
    former = signal.getsignal(signal.SIGTERM)
    main = threading.current_thread() is threading.main_thread()

    def one(job: Job) -> Outcome:
        if stopping.is_set():
            return Outcome(job.name, "interrupted", job.output)
        if not force and is_current(job):
            return Outcome(job.name, "unchanged", job.output)
        return _work(job, force, running, stopping, lambda event: on_event(job.name, event))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    outcomes: list[Outcome] = []
    if main:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        with ThreadPoolExecutor(workers) as pool:
            try:
                for stage in (False, True):
                    stage_jobs = [job for job in planned if job.name.startswith("00_") == stage]
                    if stage:  # the overview's key holds the others' results, which exist only now
                        stage_jobs = [_rekeyed(job) for job in stage_jobs]
                    futures: list[Future[Outcome]] = [pool.submit(one, job) for job in stage_jobs]
                    for future in as_completed(futures):
                        outcomes.append(future.result())
                        on_event(outcomes[-1].name, {"event": "end", "outcome": outcomes[-1]})
            except KeyboardInterrupt:
                stopping.set()
                for process in list(running.values()):
                    process.terminate()
                pool.shutdown(wait=True, cancel_futures=True)
                finished = {outcome.output for outcome in outcomes}
                outcomes += [Outcome(j.name, "interrupted", j.output) for j in planned if j.output not in finished]
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
    settings = {
        "JUPYTER_RUNTIME_DIR": scratch,  # sockets: short paths, and removed with the run
        "IPYTHONDIR": f"{scratch}/ipython",  # no start-up files, no history of the user's
        "JUPYTER_PREFER_ENV_PATH": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
    }
    for variable in ("OMP", "NUMBA"):
        settings[f"{variable}_NUM_THREADS"] = str(job.threads)
    for variable in ("OPENBLAS", "MKL"):  # our products are small: more threads would only wait for each other
        settings[f"{variable}_NUM_THREADS"] = "1"
    message = json.dumps({**asdict(job), "force": force, "scratch": scratch, "owner": os.getpid()})
    outcome = Outcome(job.name, "failed", job.output, message="the worker stopped without a word")
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpsim.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **settings},
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
                    outcome = Outcome(**event["outcome"])
                else:
                    on_event(event)
            process.wait()
        finally:
            del running[job.output]
            shutil.rmtree(scratch, ignore_errors=True)
        if stopping.is_set() and outcome.status == "failed":
            return Outcome(job.name, "interrupted", job.output)
        if process.returncode != 0 and outcome.status == "failed" and "without a word" in outcome.message:
            errors.seek(0)
            tail = "".join(errors.readlines()[-5:]).strip()
            outcome.message += f" (exit code {process.returncode})" + (f": {tail}" if tail else "")
    return outcome


def with_threads(job: Job, threads: int) -> Job:
    """Return the job with another number of threads for its kernel; its key does not depend on it."""
    return Job(**{**asdict(job), "threads": threads})


def _rekeyed(job: Job) -> Job:
    """Return the job with its key computed again."""
    return Job(**{**asdict(job), "key": key(job.name, job.parameters)})


def _run_checks(name: str, values: dict[str, Any]) -> None:
    """Run the cell tagged `checks` on the given values; its ValueError is the refusal."""
    notebook = nbfiles.read(notebook_path(name))
    for cell in notebook.cells:
        if "checks" in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}: checks of the parameters", "exec"), dict(values))


def _refuse_figures(target: Path) -> None:
    """Refuse an --output inside figures/, which belongs to default runs."""
    if target.is_relative_to(project.figures().resolve()):
        raise ValueError(f"output must be outside {project.figures()}, which default runs alone write, got {target}")


def _refuse_foreign(target: Path) -> None:
    """Refuse an --output folder with files that no run of ours recorded."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        manifests = (project.build() / "runs").glob("*/*/manifest.json")
        if str(target) not in {json.loads(m.read_text(encoding="utf-8")).get("output") for m in manifests}:
            raise ValueError(f"output must be new, empty or an earlier run's: {target} holds other files")


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


def _nearest(word: str, words: Iterable[str]) -> str:
    """Return a question for the nearest known word, or nothing."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f": did you mean {close[0]}?" if close else ""


def _label(path: Path) -> str:
    """Return a file's name in the key: relative inside the project, so that a moved clone keeps its keys."""
    base = project.root()
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
