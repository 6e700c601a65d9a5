"""Executes a notebook with papermill, in a kernel that ends with this process."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import papermill
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets import Dict
from traitlets.config import Config

from dpsim import paths

FEW_COLLECTIONS = "--IPKernelApp.exec_lines=__import__('gc').set_threshold(1_000_000)"
"""An argument of the kernel. With Python's own threshold, a tenth of a run is spent
looking for cycles."""

MOST_OF_A_MESSAGE = 5_000
"""The largest number of characters reported of an error."""

_running: dict[str, subprocess.Popen[bytes]] = {}
"""The kernels of this process, by the folder of their files."""


class Kernel(AsyncKernelManager):  # type: ignore[misc]  # it has no type hints
    """A kernel of this Python, whichever kernels the user has installed, with an
    environment of its own. It writes what is no cell's output to a file."""

    environment = Dict().tag(config=True)

    @property
    def kernel_spec(self) -> KernelSpec:
        """The command that starts the kernel."""
        command = [sys.executable, "-m", "ipykernel_launcher", FEW_COLLECTIONS]
        return KernelSpec(argv=[*command, "-f", "{connection_file}"], language="python")

    async def start_kernel(self, **options: Any) -> None:
        """Start the kernel's process, in a session of its own."""
        folder = Path(self.connection_file).parent
        with (folder / "log").open("wb") as log:
            await super().start_kernel(
                env=self.environment, stdout=log, stderr=log, **options
            )
        _running[str(folder)] = self.provisioner.process


def kill_all() -> None:
    """Kill the kernels of this process and all programs that they started, and remove
    their files."""
    for folder, process in _running.items():
        _kill(process)
        shutil.rmtree(folder, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a kernel, if it has not ended, and the programs that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def execute(
    notebook: Path,
    parameters: dict[str, Any],
    threads: int,
    tell: Callable[[int], object],
) -> str:
    """Execute a notebook in place, and return why it failed, or "".

    Parameters
    ----------
    notebook : Path
        The file.
    parameters : dict
        The values of parameters.
    threads : int
        How many threads the kernel may use.
    tell : callable
        ``tell(number)`` is called when a cell begins.
    """
    number = 0
    why = ""

    def begun(cell: Any, cell_index: int) -> None:
        nonlocal number
        if "injected-parameters" not in cell.metadata.get("tags", []):
            number += 1
            tell(number)

    def raised(cell: Any, cell_index: int, execute_reply: Any) -> None:
        nonlocal why
        error = execute_reply["content"]
        why = f"raised {error['ename']}: {error['evalue']}"[:MOST_OF_A_MESSAGE]

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # the runner tells it
    # papermill fills in parameters between braces
    path = str(notebook).replace("{", "{{").replace("}", "}}")
    with tempfile.TemporaryDirectory(prefix="dpsim-") as folder:
        settings = {
            "transport": "ipc",
            "connection_file": f"{folder}/kernel.json",
            "environment": environment(threads, folder),
        }
        try:
            papermill.execute_notebook(
                path,
                path,
                parameters,
                kernel_name="python3",
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                kernel_manager_class=Kernel,
                config=Config({"Kernel": settings}),
                resources={"metadata": {"path": str(paths.notebooks())}},
                on_cell_start=begun,
                on_cell_error=raised,
            )
        except PapermillExecutionError as error:
            why = why or f"raised {error.ename}: {error.evalue}"[:MOST_OF_A_MESSAGE]
        except (DeadKernelError, RuntimeError) as error:
            code = _running[folder].wait(5) if folder in _running else "none"
            last = _last_line(Path(folder, "log")) or str(error)
            why = f"ended the process, with exit code {code}: {last}"
        except OSError as error:
            # the notebook cannot be written, for example because the disk is full
            why = f"raised {type(error).__name__}: {error}"
        finally:
            if folder in _running:
                _kill(_running.pop(folder))
    return why and f"cell {number} {why}"


def _last_line(file: Path) -> str:
    """Return the last line of a file, or "" if it has none."""
    lines = file.read_text(errors="replace").strip().splitlines()
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


def environment(threads: int, folder: str) -> dict[str, str]:
    """Return the environment variables of a notebook, which make this package
    importable and leave out the user's own settings. The folder is for caches that can
    be kept nowhere else."""
    package = Path(__file__).parents[1]
    settings = {
        name: value for name, value in os.environ.items() if name not in LEFT_OUT
    }
    path = [str(package.parent), os.environ.get("PYTHONPATH", "")]
    settings |= {
        "IPYTHONDIR": f"{folder}/ipython",  # no start-up files
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
        cache = paths.build() if os.access(paths.root(), os.W_OK) else Path(folder)
        settings.setdefault("NUMBA_CACHE_DIR", str(cache / "numba"))
    return settings
