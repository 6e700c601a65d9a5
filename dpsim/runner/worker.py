"""Executes notebooks with papermill, each in an IPython kernel of a process of its own.

`dpsim run` starts this file with the modules that its notebooks share, which are imported once: each notebook's process
is forked from this one. Through the socket that is standard input comes a byte for each, with two files: a socket,
whence comes the notebook's job and where what happens is told, as lines of json; and a file for standard error. Nothing
of dpsim is imported here, so that a notebook runs the sources as they are when its run begins.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TextIO

import papermill
from ipykernel.inprocess.blocking import BlockingInProcessKernelClient
from ipykernel.inprocess.ipkernel import InProcessKernel
from nbformat.v4 import output_from_msg
from papermill.engines import Engine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

SHOWN = ("stream", "display_data", "execute_result", "error")


class InProcess(Engine):  # type: ignore[misc]  # papermill says no types
    """Runs the cells one after the other in this process, and tells the runner of each."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, *, events: TextIO, **_: Any) -> None:
        """Execute until a cell raises; papermill writes the notebook once, at the end."""
        kernel = InProcessKernel(config=Config({"HistoryManager": {"enabled": False}}))
        client = BlockingInProcessKernelClient(kernel=kernel, session=kernel.session)
        client.start_channels()
        number = 0
        for cell in nb_man.nb.cells:
            number += "injected-parameters" not in cell.metadata.get("tags", [])
            tell(events, cell=number, cells=len(nb_man.nb.cells) - 1)
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
                    tell(events, message="raised {ename}: {evalue}".format(**content)[:5_000])  # as json below 64 KiB
                    return


def tell(events: TextIO, **event: Any) -> None:
    """Write one event for the runner."""
    print(json.dumps(event), file=events, flush=True)


def serve() -> tuple[socket.socket, int]:
    """Return the two files of a notebook, in a new process for each, until the runner has ended."""
    runner = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    while files := socket.recv_fds(runner, 1, 2)[1]:
        if os.fork() == 0:
            runner.close()
            for file in files:
                os.set_inheritable(file, False)
            return socket.socket(fileno=files[0]), files[1]
        for file in files:
            os.close(file)
        os.waitpid(-1, os.WNOHANG)  # one has come, one may have ended
    with suppress(ChildProcessError):
        while True:
            os.wait()
    sys.exit()


def mind(connection: socket.socket) -> None:
    """Return in a new process; this one kills it and all it started when it ends or the runner does, and tells so."""
    notebook = os.fork()
    with suppress(OSError):
        os.setpgid(notebook, notebook)  # here and there: neither goes on before it is done
    if notebook == 0:
        return

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.killpg(notebook, signal.SIGKILL)

    def watch() -> None:
        with suppress(OSError):
            connection.recv(1)
        kill()

    threading.Thread(target=watch, daemon=True).start()
    _, status = os.waitpid(notebook, 0)
    kill()
    with suppress(OSError):  # the runner is gone
        tell(connection.makefile("w"), exit_code=os.waitstatus_to_exitcode(status))
    os._exit(0)


def execute(job: dict[str, Any], events: TextIO) -> None:
    """Execute the notebook of a job, in place."""
    import numpy  # which macOS does not let fork

    numpy.random.seed()  # noqa: NPY002  # the state of this generator has been forked
    os.chdir(job["output"])
    sys.path.append(job["folder"])
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it tells cells when it builds its cache
    papermill_engines.register("dpsim", InProcess)
    start = time.perf_counter()
    form = {"kernel_name": "python3", "engine_name": "dpsim", "events": events}
    form |= {"progress_bar": False, "request_save_on_cell_execute": False}
    with suppress(PapermillExecutionError):  # which has been told
        papermill.execute_notebook(job["file"], job["file"], job["parameters"], cwd=job["folder"], **form)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    used = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time(), "peak_mib": peak_mib}
    tell(events, status="ended", **used)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)  # threads of a cell's that do not end


def main() -> None:
    """Import what is shared, and execute each notebook in a process of its own."""
    gc.set_threshold(50_000)  # at the usual 700, a tenth of a run goes into looking for cycles
    for module in sys.argv[1:]:
        importlib.import_module(module)
    if "numba" in sys.argv:
        sys.modules["numba"].njit("i8(i8)")(lambda x: x)  # the first function takes half a second
    gc.freeze()  # else each process would copy all this in its first collection
    connection, errors = serve()
    job = json.loads(connection.makefile().readline())
    mind(connection)
    for output in (1, 2):
        os.dup2(errors, output)
    execute(job, connection.makefile("w"))


if __name__ == "__main__":
    main()
