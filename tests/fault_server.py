"""Runs Python programs, each in a fork of one process that has the storage imported: `python fault_server.py`.

A request is a line of JSON on standard input: {"code": SOURCE, "output": FILE, "errors": FILE, "faults": {NAME: VALUE}}. The
answers are two lines, the process id at once and the wait status at the end. Started with tests/native/faults.c preloaded, each
program has its own faults.
"""

import ctypes
import gc
import json
import os
import sys
import traceback

from marius_lite.storage import buffer, table


def serve() -> None:
    assert buffer
    assert table
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            program(**json.loads(line))
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


def program(code: str, output: str, errors: str, faults: dict[str, str]) -> None:
    ended = 1
    try:
        for number, path in ((0, os.devnull), (1, output), (2, errors)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), number)
        os.environ.update({f"FAULT_{name}": value for name, value in faults.items()})
        ctypes.CDLL(None).faults_reload()
        exec(compile(code, "program", "exec"), {"__name__": "__main__"})
        ended = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended)


if __name__ == "__main__":
    serve()
