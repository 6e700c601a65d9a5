"""The process from which those of notebooks are forked: what they share is imported once.

`dpsim run` starts this file with the modules to import. Through the socket that is standard input comes a byte for each
notebook, with two files: a socket, whence comes the notebook's job and where what happens is told, as lines of json;
and one for standard error. Nothing of dpsim is imported before a fork: a notebook runs the sources that are there then.
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
    os._exit(0)


def kill(file: int, group: int) -> None:
    """Kill a group of processes when a file ends, or is broken."""
    with suppress(OSError):
        os.read(file, 1)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def mind(connection: socket.socket) -> None:
    """Return in a new process; this one kills it and all it started when it ends or the runner does, and tells so."""
    ended, minder = os.pipe()
    notebook = os.fork()
    with suppress(OSError):
        os.setpgid(notebook, notebook)  # here and there: neither goes on before it is done
    if notebook == 0:
        os.close(minder)  # only the other process holds it, and when that is killed, this one ends too
        threading.Thread(target=kill, args=(ended, 0), daemon=True).start()
        return
    threading.Thread(target=kill, args=(connection.fileno(), notebook), daemon=True).start()
    _, status = os.waitpid(notebook, 0)
    with suppress(ProcessLookupError):
        os.killpg(notebook, signal.SIGKILL)
    with suppress(OSError):  # the runner is gone
        connection.sendall(json.dumps({"exit_code": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
    os._exit(0)


def left_open() -> bool:
    """Return whether a file is open for writing, which the end of the interpreter closes."""
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # that of the listing is closed
            writes = fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
            if writes and stat.S_ISREG(os.fstat(int(name)).st_mode) and not os.path.sameopenfile(int(name), 2):
                return True
    return False


def leave(finished: list[bool]) -> None:
    """End this process, when it has finished, without taking every module apart, which takes a second."""
    if finished:
        os._exit(0)


def main() -> None:
    """Import what is shared, and execute each notebook in a process of its own."""
    finished: list[bool] = []
    atexit.register(leave, finished)  # the first, so it comes after all others
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nothing can be waited for
    gc.set_threshold(1_000_000)  # at the usual 700, a tenth of a run goes into looking for cycles
    # None: an import of it fails. jsonschema and the kernel do without these two, which take 1.5 s
    sys.modules.update(dict.fromkeys(("rfc3987_syntax", "debugpy")))  # type: ignore[arg-type]
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
    from dpsim.runner import worker  # which imports what no module above has

    events = connection.makefile("w")
    connection.close()  # it stays open as long as the file
    os.register_at_fork(after_in_child=events.close)  # else the runner would wait for what a cell forks
    worker.execute(job, events)
    if not left_open():
        gc.freeze()  # IPython collects once more at the exit, and would search all that is imported
        finished.append(True)


if __name__ == "__main__":
    main()
