"""Runs commands of the program in forks of one process that has everything imported: `python fork_server.py SOCKET`.

A request is one line of JSON on a connection: {"arguments": [...], "output": FILE}, and perhaps "errors": another FILE,
"faults": {NAME: VALUE}, "environment": {NAME: VALUE}, "folder": where to run, and "code": Python source, to which the arguments
then go. The answers are two lines, the process id at once and the wait status at the end. Started with tests/native/faults.c
preloaded, the server arms each command's own faults.
"""

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback

import numpy.ma
import pyarrow.dataset
import torch.fx.experimental.symbolic_shapes

import marius_lite.export.run
import marius_lite.graph.describe
import marius_lite.graph.verify
import marius_lite.predict.links
import marius_lite.predict.nodes
import marius_lite.preprocess.build
import marius_lite.report.trace
import marius_lite.tasks.evaluate_run
import marius_lite.tasks.link_prediction
import marius_lite.tasks.node_classification
import marius_lite.tasks.opened_links
import marius_lite.train.run
from marius_lite.cli import main
from marius_lite.nn.products import fastest_library
from marius_lite.preprocess.readers.detect import formats


def serve(path: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    main.app()  # imports every command's module; what these import when they run is imported above
    formats()  # imports what reads files of edges
    fastest_library()  # times products, on the only thread there is: no fork times them again
    gc.freeze()  # forks share these pages for good
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(16)
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                answer(connection)
            connection.close()


def answer(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    stream = connection.makefile("rw")
    request = json.loads(stream.readline())
    pid = os.fork()
    if pid == 0:
        connection.close()
        command(**request)
    for number in (pid, lambda: os.waitpid(pid, 0)[1]):
        stream.write(f"{number() if callable(number) else number}\n")
        stream.flush()
    os._exit(0)


def command(
    arguments: list[str],
    output: str,
    errors: str | None = None,
    faults: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
    folder: str = ".",
    code: str | None = None,
) -> None:
    """One command of the program, as its entry point would run it, or Python source, in this process."""
    ended = 99
    try:
        for number, path in ((1, output), (2, errors or output)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
        os.chdir(folder)
        os.environ.update(environment or {})
        if faults:
            os.environ.update({f"FAULT_{name}": value for name, value in faults.items()})
            ctypes.CDLL(None).faults_reload()
        ended = main.run(arguments) if code is None else run(code, arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended)


def run(code: str, arguments: list[str]) -> int:
    """Run Python source; its exit code."""
    sys.argv = ["-c", *arguments]
    try:
        exec(compile(code, "code", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
