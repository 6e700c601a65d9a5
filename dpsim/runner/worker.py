"""One notebook in one process: papermill executes it in an IPython kernel of this very process.

`dpsim run` starts it in the folder that holds the notebook, writes a job as a line of json to its standard input, and
reads what happens as lines of json from its standard output. It ends as soon as that input is closed.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import papermill
from ipykernel.inprocess.blocking import BlockingInProcessKernelClient
from ipykernel.inprocess.ipkernel import InProcessKernel
from nbformat.v4 import output_from_msg
from papermill.engines import Engine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

JOBS, EVENTS = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
SHOWN = ("stream", "display_data", "execute_result", "error")


def tell(**event: Any) -> None:
    """Write one event for the runner."""
    print(json.dumps(event), file=EVENTS, flush=True)


class InProcess(Engine):  # type: ignore[misc]  # papermill says no types
    """Runs the cells one after the other in this process, and tells the runner of each."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **_: Any) -> None:
        """Execute until a cell raises; papermill writes the notebook once, at the end."""
        kernel = InProcessKernel(config=Config({"HistoryManager": {"enabled": False}}))
        client = BlockingInProcessKernelClient(kernel=kernel, session=kernel.session)
        client.start_channels()
        number = 0
        for cell in nb_man.nb.cells:
            number += "injected-parameters" not in cell.metadata.get("tags", [])
            tell(cell=number, cells=len(nb_man.nb.cells) - 1)
            if cell.cell_type != "code":
                continue
            client.execute(cell.source, allow_stdin=False)
            while (content := (message := client.get_iopub_msg())["content"]).get("execution_state") != "idle":
                cell.execution_count = content.get("execution_count", cell.execution_count)
                last = cell.outputs[-1] if cell.outputs else {}
                if "name" in content and content["name"] == last.get("name"):  # timing alone separates these pieces
                    last["text"] += content["text"]
                elif message["msg_type"] in SHOWN:
                    cell.outputs.append(output_from_msg(message))
                if message["msg_type"] == "error":
                    tell(message="raised {ename}: {evalue}".format(**content)[:5_000])  # as json below 64 KiB
                    return


def watch() -> None:
    """Kill this process and all it started as soon as the runner is gone, however it went."""
    while os.read(JOBS.fileno(), 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Execute the notebook whose job comes in, in place."""
    gc.set_threshold(50_000)  # at the usual 700, a tenth of a run goes into looking for cycles
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # a cell's programs neither read jobs nor write events
    job = json.loads(JOBS.readline())
    threading.Thread(target=watch, daemon=True).start()
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it tells cells when it builds its cache
    sys.path.append(job["folder"])
    papermill_engines.register("dpsim", InProcess)
    start, form = time.perf_counter(), {"kernel_name": "python3", "engine_name": "dpsim", "progress_bar": False}
    with suppress(PapermillExecutionError):  # which has been told
        papermill.execute_notebook(job["file"], job["file"], job["parameters"], cwd=job["folder"], **form)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    tell(status="ended", seconds=time.perf_counter() - start, cpu_seconds=time.process_time(), peak_mib=peak_mib)
    EVENTS.close()


if __name__ == "__main__":
    main()
