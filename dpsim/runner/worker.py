"""One notebook in one process: takes the lock, executes with papermill, and publishes the outputs whole.

Reads a job as json from standard input and writes events as json lines to standard output. Run by `dpsim run`.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import filelock
import papermill
import psutil
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from dpsim import files, paths
from dpsim.runner.schedule import Job, Outcome, Status, is_current

KERNEL_STARTS = 3
"""How often a kernel that does not come up is started again."""


LONGEST_SOCKET = 95
"""Bytes of a socket's path: Linux takes 107 and macOS 103, with a number behind it."""


def tell(event: str, **details: Any) -> None:
    """Write one event for the runner."""
    print(json.dumps({"event": event, **details}), file=sys.__stdout__, flush=True)


class ReportingEngine(NBClientEngine):  # type: ignore[misc]  # papermill says no types
    """papermill's own engine, telling the runner each time a cell starts; it writes the notebook once, at the end."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **settings: Any) -> Any:
        """Execute as papermill does, with an event before each cell."""
        start = nb_man.cell_start

        def cell_start(cell: Any, cell_index: int | None = None, **rest: Any) -> Any:
            tell("cell", cell=(cell_index or 0) + 1, of=len(nb_man.nb.cells))
            return start(cell, cell_index, **rest)

        nb_man.cell_start = cell_start
        nb_man.save = lambda **_: None  # else twice a cell: seconds, and nobody reads it before the end
        try:
            return super().execute_managed_notebook(nb_man, kernel_name, **settings)
        finally:
            del nb_man.save


def stop_children() -> None:
    """Kill every process below this one, kernels above all."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        child.kill()
    psutil.wait_procs(children, timeout=5)


class Workspace:
    """The places of one run: a staging folder beside the output, the output, and its record in build/."""

    def __init__(self, job: Job) -> None:
        self.output = Path(job.output)
        self.record = Path(job.record)
        self.staging = self.output.with_name(f".{self.output.name}.partial")
        self.previous = self.output.with_name(f".{self.output.name}.previous")

    def prepare(self) -> None:
        """Undo a publication that was cut in two, and start with an empty staging folder."""
        if self.previous.exists() and not self.output.exists():
            os.replace(self.previous, self.output)
        for leftover in (self.previous, self.staging):
            shutil.rmtree(leftover, ignore_errors=True)
        self.staging.mkdir(parents=True)
        self.record.mkdir(parents=True, exist_ok=True)

    def publish(self, kept: tuple[str, ...]) -> dict[str, str]:
        """Put the staged files in the place of the old ones; return their sha256.

        Files named in `kept` stay: a run with other parameters keeps its record beside its figures.
        """
        for name in kept:
            if (self.output / name).exists():
                os.replace(self.output / name, self.staging / name)
        if self.output.exists():
            os.replace(self.output, self.previous)
        os.replace(self.staging, self.output)
        shutil.rmtree(self.previous, ignore_errors=True)
        made = sorted(path for path in self.output.rglob("*") if path.is_file() and path.name not in kept)
        return {str(path.relative_to(self.output)): files.sha256(path) for path in made}


def watch(parent: int) -> None:
    """Stop this process and its kernel as soon as the runner is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(0.2)
    stop_children()
    os._exit(1)


def execute(job: Job, workspace: Workspace, executed: Path) -> None:
    """Execute the notebook into the staging folder; the executed copy appears when it has ended."""
    papermill_engines.register("dpsim", ReportingEngine)
    partial = executed.with_name(f".{executed.name}")
    config = Config()
    socket = f"{os.environ['JUPYTER_RUNTIME_DIR']}/kernel"  # its default is shared by all runs
    if os.name == "posix" and len(socket.encode()) < LONGEST_SOCKET:
        config.KernelManager.transport = "ipc"  # no ports to race for
        config.KernelManager.ip = socket
    for attempt in range(KERNEL_STARTS):
        try:
            papermill.execute_notebook(
                str(paths.notebooks() / f"{job.name}.ipynb"),
                str(partial),
                parameters={**job.parameters, "output": str(workspace.staging)},
                kernel_name="python3",
                engine_name="dpsim",
                progress_bar=False,
                cwd=str(paths.notebooks()),
                config=config,
            )
            break
        except RuntimeError as error:
            if "Kernel died" not in str(error) or attempt + 1 == KERNEL_STARTS:
                raise
            tell("retry", attempt=attempt + 1)
        finally:
            if partial.exists():
                os.replace(partial, executed)


def manifest(job: Job, outputs: dict[str, str], outcome: Outcome) -> dict[str, Any]:
    """Return the record of a run: what decided it, what came out, and what it took."""
    return {
        "notebook": job.name,
        "key": job.key,
        "parameters": job.parameters,
        "output": job.output,
        "outputs": outputs,
        "seconds": round(outcome.seconds, 3),
        "cpu_seconds": round(outcome.cpu_seconds, 3),
        "peak_memory_mib": round(outcome.peak_mib, 1),
        "git_commit": git_commit(),
        "python": platform.python_version(),
        "versions": {m["Name"]: m["Version"] for m in (d.metadata for d in importlib.metadata.distributions())},
    }


def git_commit() -> str | None:
    """Return the commit of the project's clone; None in an unpacked archive, and where there is no git."""
    if not (paths.root() / ".git").exists():  # git would look further up, and find somebody else's
        return None
    command = ["git", "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, cwd=paths.root(), capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None


def work(job: Job, force: bool) -> Outcome:
    """Return the outcome of one job, run under the lock of its output folder."""
    workspace = Workspace(job)
    locks = paths.build() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    name = job.output.strip("/").replace("/", "%")[-150:]
    lock, holder = filelock.FileLock(locks / f"{name}.lock"), locks / f"{name}.holder"
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        tell("waiting", holder=holder.read_text(encoding="utf-8") if holder.exists() else "another run")
        lock.acquire()
    try:
        holder.write_text(f"process {os.getpid()}", encoding="utf-8")
        if not force and is_current(job):
            return Outcome(job.name, Status.UNCHANGED, job.output)
        return _locked(job, workspace)
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _locked(job: Job, workspace: Workspace) -> Outcome:
    """Execute and publish, the lock being held."""
    start = time.perf_counter()
    workspace.prepare()
    signal.signal(signal.SIGTERM, lambda *_: _abandon(workspace))
    executed = Path(job.record) / f"{job.name}.ipynb"
    try:
        execute(job, workspace, executed)
    except PapermillExecutionError as error:
        failed = executed.with_name(f"{job.name}-failed.ipynb")
        os.replace(executed, failed)
        shutil.rmtree(workspace.staging, ignore_errors=True)
        text = f"cell {error.cell_index + 1} raised {error.ename}: {error.evalue} (see {failed})"
        return Outcome(job.name, Status.FAILED, job.output, message=text)
    except BaseException:
        shutil.rmtree(workspace.staging, ignore_errors=True)
        raise
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    seconds, cpu_seconds = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    outcome = Outcome(job.name, Status.DONE, job.output, seconds, cpu_seconds, peak)
    outputs = workspace.publish((executed.name, "manifest.json"))
    files.write_json(Path(job.record) / "manifest.json", manifest(job, outputs, outcome))
    return outcome


def _abandon(workspace: Workspace) -> None:
    """Leave as if this run had never started."""
    stop_children()
    shutil.rmtree(workspace.staging, ignore_errors=True)
    os._exit(143)


def main() -> int:
    """Run the job given on standard input; return the exit code."""
    sys.stdout = sys.stderr  # standard output carries events alone
    message = json.load(sys.stdin)
    force, scratch, owner = message.pop("force"), message.pop("scratch"), message.pop("owner")
    threading.Thread(target=watch, args=(owner,), daemon=True).start()
    logging.getLogger("papermill").setLevel(logging.ERROR)
    import matplotlib.font_manager  # noqa: F401  builds the font cache here, not inside a notebook

    job = Job(**message)
    try:
        outcome = work(job, force)
    except Exception as error:
        outcome = Outcome(job.name, Status.FAILED, job.output, message=f"{type(error).__name__}: {error}")
    finally:
        stop_children()
        shutil.rmtree(scratch, ignore_errors=True)
    tell("outcome", outcome=vars(outcome))
    return 0


if __name__ == "__main__":
    sys.exit(main())
