"""The process from which the processes of notebooks are forked, so that shared libraries are imported only once and a
killed run leaves nothing behind.

`dpsim run` starts this file with the modules to import. The socket that is its standard input carries one byte for each
notebook, together with two files: a file for the standard error of the notebook, and a socket from which its job is
read and to which its progress is written, as lines of json. No part of dpsim is imported before a fork, so a notebook
runs the sources that exist at that moment.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import signal
import socket
import stat
import sys
import threading
from contextlib import suppress


def serve() -> tuple[socket.socket, int]:
    """Return the two files of a notebook, once for each notebook and each time in a new process. The old process ends
    when the runner has ended."""
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
        os.waitpid(
            -1, os.WNOHANG
        )  # collects another notebook's process if it has ended
    with suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)


def kill(file: int, group: int) -> None:
    """Kill a group of processes when nothing more can be read from a file."""
    with suppress(OSError):
        os.read(file, 1)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def mind(connection: socket.socket) -> None:
    """Return in a new process, while the old process watches over it.

    When the new process or the runner ends, the old process kills the new one, together with all processes that it
    started, and reports the end to the runner.
    """
    ended, minder = os.pipe()
    notebook = os.fork()
    with suppress(OSError):
        os.setpgid(
            notebook, notebook
        )  # in both processes, so that neither goes on before it is done
    if notebook == 0:
        os.close(
            minder
        )  # only the other process holds it, and when that is killed, this one ends too
        threading.Thread(target=kill, args=(ended, 0), daemon=True).start()
        return
    threading.Thread(
        target=kill, args=(connection.fileno(), notebook), daemon=True
    ).start()
    _, status = os.waitpid(notebook, 0)
    with suppress(ProcessLookupError):
        os.killpg(notebook, signal.SIGKILL)
    with suppress(OSError):  # the runner is gone
        connection.sendall(
            json.dumps({"exit_code": os.waitstatus_to_exitcode(status)}).encode()
            + b"\n"
        )
    os._exit(0)


def left_open() -> bool:
    """Return whether any file is still open for writing, so that the interpreter must close it at its end."""
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the descriptor of the listing itself is closed
            writes = fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
            if (
                writes
                and stat.S_ISREG(os.fstat(int(name)).st_mode)
                and not os.path.sameopenfile(int(name), 2)
            ):
                return True
    return False


def leave(finished: list[bool]) -> None:
    """End this process, if its notebook has finished, without the interpreter's clean-up, which takes a second."""
    if finished:
        os._exit(0)


def main() -> None:
    """Import the shared libraries, and execute each notebook in a process of its own."""
    finished: list[bool] = []
    atexit.register(leave, finished)  # registered first, so it runs after all others
    signal.signal(
        signal.SIGCHLD, signal.SIG_DFL
    )  # if it is ignored, no child can be waited for
    gc.set_threshold(
        1_000_000
    )  # with the usual 700, a tenth of a run is spent looking for cycles
    # None makes an import fail. jsonschema and the kernel do not need these two modules, which take 1.5 s to import
    sys.modules.update(dict.fromkeys(("rfc3987_syntax", "debugpy")))  # type: ignore[arg-type]
    for module in sys.argv[1:]:
        importlib.import_module(module)
    if "numba" in sys.argv:
        sys.modules["numba"].njit("i8(i8)")(
            lambda x: x
        )  # the first function takes half a second
    gc.freeze()  # otherwise each process would copy all of it in its first collection
    connection, errors = serve()
    job = json.loads(connection.makefile().readline())
    mind(connection)
    for output in (1, 2):
        os.dup2(errors, output)
    from dpsim.runner import (
        worker,
    )  # this imports the libraries that are not imported above

    events = connection.makefile("w")
    connection.close()  # it stays open as long as the file
    os.register_at_fork(
        after_in_child=events.close
    )  # otherwise the runner would wait for processes that a cell forks
    worker.execute(job, events)
    if not left_open():
        gc.freeze()  # IPython collects garbage at its exit, and would search every import
        finished.append(True)


if __name__ == "__main__":
    main()
