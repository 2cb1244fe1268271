"""Runs commands of the program in forks of one process that has everything imported: `python fork_server.py SOCKET`.

A request is one line of JSON on a connection: {"arguments": [...], "output": FILE, "faults": {NAME: VALUE}}. The answers are
two lines, the process id at once and the wait status at the end. Started with tests/native/faults.c preloaded, the server
arms each command's own faults.
"""

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback
from importlib.util import find_spec

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

if find_spec("torch_geometric"):  # a second of every run through an encoder
    import torch_geometric.nn

    torch_geometric.nn.SAGEConv(1, 1)  # the first one makes code from a template


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


def command(arguments: list[str], output: str, faults: dict[str, str]) -> None:
    """One command of the program, as its entry point would run it, in this process."""
    code = 99
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        if faults:
            os.environ.update({f"FAULT_{name}": value for name, value in faults.items()})
            ctypes.CDLL(None).faults_reload()
        code = main.run(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
