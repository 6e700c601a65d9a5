"""Executes a notebook with papermill, in an IPython kernel of this process."""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from typing import Any, TextIO

import numpy as np
import papermill
from ipykernel.inprocess.blocking import BlockingInProcessKernelClient
from ipykernel.inprocess.ipkernel import InProcessKernel
from nbformat.v4 import output_from_msg
from papermill.engines import Engine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

SHOWN = ("stream", "display_data", "execute_result", "error")


class InProcess(Engine):  # type: ignore[misc]  # papermill has no type hints
    """Runs the cells one after the other in this process, and tells the runner about each cell."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, events: TextIO, **_: Any
    ) -> None:
        """Execute the cells until one of them raises an error; papermill writes the notebook once, at the end."""
        kernel = InProcessKernel(config=Config({"HistoryManager": {"enabled": False}}))
        client = BlockingInProcessKernelClient(kernel=kernel, session=kernel.session)
        client.start_channels()
        number = 0
        displays: dict[str, list[Any]] = {}
        for cell in nb_man.nb.cells:
            number += "injected-parameters" not in cell.metadata.get("tags", [])
            tell(events, cell=number, cells=len(nb_man.nb.cells) - 1)
            if cell.cell_type != "code":
                continue
            client.execute(cell.source, allow_stdin=False)
            while (content := (message := client.get_iopub_msg())["content"]).get(
                "execution_state"
            ) != "idle":
                cell.execution_count = content.get(
                    "execution_count", cell.execution_count
                )
                last = cell.outputs[-1] if cell.outputs else {}
                if "name" in content and content["name"] == last.get(
                    "name"
                ):  # only timing separates these pieces
                    last["text"] += content["text"]
                elif message["msg_type"] in SHOWN:
                    cell.outputs.append(output_from_msg(message))
                    if display_id := content.get("transient", {}).get("display_id"):
                        displays.setdefault(display_id, []).append(cell.outputs[-1])
                elif message["msg_type"] == "update_display_data":
                    for shown in displays.get(content["transient"]["display_id"], ()):
                        shown.update(data=content["data"], metadata=content["metadata"])
                if message["msg_type"] == "error":
                    tell(
                        events,
                        message="raised {ename}: {evalue}".format(**content)[:5_000],
                    )  # below 64 KiB as json
                    return
            if (reply := client.get_shell_msg()["content"])[
                "status"
            ] != "ok":  # a wrong magic sends no error message
                tell(events, message="raised {ename}: {evalue}".format(**reply)[:5_000])
                return


def tell(events: TextIO, **event: Any) -> None:
    """Write one event for the runner."""
    print(json.dumps(event), file=events, flush=True)


def mebibytes(maxrss: int, system: str = sys.platform) -> float:
    """Return the largest memory that `getrusage` reports, converted to MiB from KiB or, on macOS, from bytes."""
    return maxrss / (2**20 if system == "darwin" else 2**10)


def execute(job: dict[str, Any], events: TextIO) -> None:
    """Execute the notebook of a job in its file, and tell the runner about each cell and about the end."""
    start = time.perf_counter()
    begun = time.process_time()
    np.random.seed()  # noqa: NPY002  # the state of this generator may have been forked
    os.chdir(job["output"])
    sys.path.append(job["folder"])
    logging.getLogger("matplotlib.font_manager").setLevel(
        logging.ERROR
    )  # it would write into the cells
    papermill_engines.register("dpsim", InProcess)
    try:
        with suppress(PapermillExecutionError):  # `InProcess` has already reported it
            papermill.execute_notebook(
                job["file"],
                job["file"],
                job["parameters"],
                cwd=job["folder"],
                kernel_name="python3",
                language="python",
                engine_name="dpsim",
                events=events,
                progress_bar=False,
                request_save_on_cell_execute=False,
            )
    except (
        OSError
    ) as error:  # the notebook cannot be written, for example because the disk is full
        tell(events, message=f"raised {type(error).__name__}: {error}"[:5_000])
    peak_mib = mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    seconds = time.perf_counter() - start
    cpu_seconds = time.process_time() - begun
    tell(
        events,
        status="ended",
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        peak_mib=peak_mib,
    )
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)  # ends this process if a cell has left threads that do not end
