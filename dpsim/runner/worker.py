"""One notebook in one process: papermill executes it in an IPython kernel of this very process.

`dpsim run` starts it in the folder that holds the notebook, writes a job as a line of json to its standard input, and
reads what happens as lines of json from its standard output. It ends as soon as that input is closed.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from typing import Any

SPARED = ("debugpy", "ipywidgets", "rfc3987_syntax", "scipy.stats")
"""What the imports below load where it is installed, each for a use that no run has: two processor seconds."""
sys.modules |= dict.fromkeys(SPARED)  # type: ignore[arg-type]  # not importable

import papermill  # noqa: E402
import seaborn  # noqa: E402, F401
from ipykernel.inprocess.blocking import BlockingInProcessKernelClient  # noqa: E402
from ipykernel.inprocess.ipkernel import InProcessKernel  # noqa: E402
from nbformat.v4 import output_from_msg  # noqa: E402
from papermill.engines import Engine, papermill_engines  # noqa: E402
from papermill.exceptions import PapermillExecutionError  # noqa: E402
from traitlets.config import Config  # noqa: E402

JOBS, EVENTS = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
SHOWN = ("stream", "display_data", "execute_result", "error")


def tell(**event: Any) -> None:
    """Write one event for the runner."""
    print(json.dumps(event), file=EVENTS, flush=True)


class InProcess(Engine):  # type: ignore[misc]  # papermill says no types
    """Runs the cells one after the other in this process, and tells the runner of each."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **_: Any) -> None:
        """Execute until a cell raises; the notebook is written once, at the end."""
        nb_man.save = lambda **_: None  # else twice a cell: seconds, and nobody reads it before the end
        kernel = InProcessKernel(config=Config({"HistoryManager": {"enabled": False}}))
        client = BlockingInProcessKernelClient(kernel=kernel, session=kernel.session)
        client.start_channels()
        for name in SPARED:  # a cell may import them
            sys.modules.pop(name, None)
        written = [cell for cell in nb_man.nb.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
        for index, cell in enumerate(nb_man.nb.cells):
            if cell in written:
                tell(cell=written.index(cell) + 1, cells=len(written))
            if cell.cell_type != "code":
                continue
            nb_man.cell_start(cell, index)
            client.execute(cell.source, allow_stdin=False)
            state = None
            while state != "idle":
                message = client.get_iopub_msg()
                state = message["content"].get("execution_state")
                if message["msg_type"] in SHOWN:
                    cell.outputs.append(output_from_msg(message))
                if message["msg_type"] == "execute_input":
                    cell.execution_count = message["content"]["execution_count"]
            if any(output.output_type == "error" for output in cell.outputs):
                nb_man.cell_exception(cell, index)
                break
            nb_man.cell_complete(cell, index)
        del nb_man.save


def watch() -> None:
    """Kill this process and all it started as soon as the runner is gone, however it went."""
    while os.read(JOBS.fileno(), 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Execute the notebook whose job comes in, in place."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # a cell's programs neither read jobs nor write events
    job = json.loads(JOBS.readline())
    threading.Thread(target=watch, daemon=True).start()
    for library in ("papermill", "matplotlib.font_manager"):  # the latter tells cells when it builds its cache
        logging.getLogger(library).setLevel(logging.ERROR)
    sys.path.append(job["folder"])
    papermill_engines.register("dpsim", InProcess)
    start, form = time.perf_counter(), {"kernel_name": "python3", "engine_name": "dpsim", "progress_bar": False}
    try:
        papermill.execute_notebook(job["file"], job["file"], job["parameters"], cwd=job["folder"], **form)
    except PapermillExecutionError as error:
        tell(message=f"raised {error.ename}: {error.evalue}"[:10_000])
    else:
        used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu_seconds = sum(of.ru_utime + of.ru_stime for of in used)
        peak_mib = max(of.ru_maxrss for of in used) / (2**20 if sys.platform == "darwin" else 2**10)
        tell(status="done", seconds=time.perf_counter() - start, cpu_seconds=cpu_seconds, peak_mib=peak_mib)
    EVENTS.close()


if __name__ == "__main__":
    main()
