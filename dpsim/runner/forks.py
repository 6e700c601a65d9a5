"""The process that imports the shared libraries once and from which each notebook's
process is then forked.

`dpsim run` starts this file with the modules to import as arguments. For each notebook,
the runner sends one byte and two open files through the socket that is this process's
standard input. The first is a socket from which the job is read and to which its
progress is written, both as lines of json; the second is a file for the notebook's
standard error. No part of dpsim is imported before a fork, so a notebook runs the
sources that exist at that moment. When a notebook or the runner ends, all processes
that the notebook has started are killed.
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
    """Return the two files of a notebook, once for each notebook and each time in a new
    process. The old process ends when the runner has ended."""
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
        # collects the process of an earlier notebook if that process has ended
        os.waitpid(-1, os.WNOHANG)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)


def kill(file: int, group: int) -> None:
    """Kill a group of processes as soon as the other end of a file is closed."""
    with suppress(OSError):
        os.read(file, 1)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def mind(connection: socket.socket) -> None:
    """Return in a new process, while the old process watches over the new one.

    When the new process or the runner ends, the old process kills the new one, together
    with all processes that it started, and reports the end to the runner.
    """
    ended, minder = os.pipe()
    notebook = os.fork()
    # in both processes, so that neither goes on before it is done
    with suppress(OSError):
        os.setpgid(notebook, notebook)
    if notebook == 0:
        # only the old process has it open, so this one ends if that one is killed
        os.close(minder)
        threading.Thread(target=kill, args=(ended, 0), daemon=True).start()
        return
    watched = (connection.fileno(), notebook)
    threading.Thread(target=kill, args=watched, daemon=True).start()
    _, status = os.waitpid(notebook, 0)
    with suppress(ProcessLookupError):
        os.killpg(notebook, signal.SIGKILL)
    event = json.dumps({"exit_code": os.waitstatus_to_exitcode(status)})
    with suppress(OSError):  # the runner is gone
        connection.sendall(event.encode() + b"\n")
    os._exit(0)


def left_open() -> bool:
    """Return whether an ordinary file other than standard error is still open for
    writing, so that the interpreter must close it at its end."""
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the descriptor of the listing itself is closed
            file = int(name)
            mode = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE
            ordinary = stat.S_ISREG(os.fstat(file).st_mode)
            if mode != os.O_RDONLY and ordinary and not os.path.sameopenfile(file, 2):
                return True
    return False


def leave(finished: list[bool]) -> None:
    """End this process if its notebook has finished. The interpreter's clean-up, which
    takes a second, is skipped."""
    if finished:
        os._exit(0)


def main() -> None:
    """Import the shared libraries, and execute each notebook in a process of its
    own."""
    finished: list[bool] = []
    atexit.register(leave, finished)  # registered first, so it runs after all others
    # if it is ignored, no child can be waited for
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # with the usual 700, a tenth of a run is spent looking for cycles
    gc.set_threshold(1_000_000)
    # None makes an import fail; jsonschema and the kernel do not need these two
    # modules, which take 1.5 s to import
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    sys.modules["debugpy"] = None  # type: ignore[assignment]
    for module in sys.argv[1:]:
        importlib.import_module(module)
    if "numba" in sys.argv:
        # compiling the first function takes half a second
        sys.modules["numba"].njit("i8(i8)")(lambda x: x)
    gc.freeze()  # otherwise each process would copy all of it in its first collection
    connection, errors = serve()
    job = json.loads(connection.makefile().readline())
    mind(connection)
    for output in (1, 2):
        os.dup2(errors, output)
    # this imports the libraries that are not imported above
    from dpsim.runner import worker

    events = connection.makefile("w")
    connection.close()  # the socket stays open as long as the file
    # otherwise the runner would wait for processes that a cell forks
    os.register_at_fork(after_in_child=events.close)
    worker.execute(job, events)
    if not left_open():
        # IPython collects garbage when it exits, and would search every import
        gc.freeze()
        finished.append(True)


if __name__ == "__main__":
    main()
