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
"""The types of kernel messages that become outputs of a cell."""

MOST_OF_A_MESSAGE = 5_000
"""The largest number of characters reported of an error; a line of json then stays
below 64 KiB."""


class InProcess(Engine):  # type: ignore[misc]  # papermill has no type hints
    """A papermill engine that runs the cells one after the other in this process and
    reports each cell to the runner."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, events: TextIO, **_: Any
    ) -> None:
        """Execute the cells until one of them raises an error. Papermill writes the
        notebook once, at the end."""
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
            while True:
                message = client.get_iopub_msg()
                content = message["content"]
                if content.get("execution_state") == "idle":
                    break
                cell.execution_count = content.get(
                    "execution_count", cell.execution_count
                )
                last = cell.outputs[-1] if cell.outputs else {}
                if "name" in content and content["name"] == last.get("name"):
                    last["text"] += content["text"]  # only timing separates the pieces
                elif message["msg_type"] in SHOWN:
                    cell.outputs.append(output_from_msg(message))
                    if display_id := content.get("transient", {}).get("display_id"):
                        displays.setdefault(display_id, []).append(cell.outputs[-1])
                elif message["msg_type"] == "update_display_data":
                    for shown in displays.get(content["transient"]["display_id"], ()):
                        shown.update(data=content["data"], metadata=content["metadata"])
                if message["msg_type"] == "error":
                    tell_raised(events, content["ename"], content["evalue"])
                    return
            reply = client.get_shell_msg()["content"]
            if reply["status"] != "ok":  # a wrong magic sends no error message
                tell_raised(events, reply["ename"], reply["evalue"])
                return


def tell(events: TextIO, **event: Any) -> None:
    """Send an event to the runner."""
    print(json.dumps(event), file=events, flush=True)


def tell_raised(events: TextIO, kind: str, text: object) -> None:
    """Report an error to the runner."""
    tell(events, message=f"raised {kind}: {text}"[:MOST_OF_A_MESSAGE])


def mebibytes(maxrss: int, system: str = sys.platform) -> float:
    """Return the memory that `getrusage` reports, converted to MiB from KiB or, on
    macOS, from bytes."""
    return maxrss / (2**20 if system == "darwin" else 2**10)


def execute(job: dict[str, Any], events: TextIO) -> None:
    """Execute the notebook of a job in place, and report each cell and the end to the
    runner."""
    start = time.perf_counter()
    begun = time.process_time()
    # the state of this generator may have been forked
    np.random.seed()  # noqa: NPY002
    os.chdir(job["output"])
    sys.path.append(job["folder"])
    # its warnings would appear in the cells' outputs
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
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
    except OSError as error:
        # the notebook cannot be written, for example because the disk is full
        tell_raised(events, type(error).__name__, error)
    tell(
        events,
        status="ended",
        seconds=time.perf_counter() - start,
        cpu_seconds=time.process_time() - begun,
        peak_mib=mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss),
    )
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)  # ends this process if a cell has left threads that do not end
