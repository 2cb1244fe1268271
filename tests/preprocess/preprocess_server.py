"""Runs commands in forks of one process that has everything imported: `python preprocess_server.py`.

A request is a line of JSON on standard input: {"arguments": [...], "output": FILE, "faults": {NAME: VALUE}, "settings":
{"module.NAME": NUMBER}}; the answer a line with the wait status. Started with tests/native/faults.c preloaded, each command has
its own faults.
``settings`` replaces constants of marius_lite.preprocess, or functions there by ones that always return the number.
"""

import ctypes
import gc
import json
import os
import sys
import traceback
from functools import reduce
from importlib import import_module

from marius_lite.cli import main
from marius_lite.preprocess import build
from marius_lite.preprocess.readers.detect import formats


def serve() -> None:
    main.app()
    assert build
    formats()  # imports what reads files of edges
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            command(**json.loads(line))
        print(os.waitpid(pid, 0)[1], flush=True)


def command(arguments: list[str], output: str, faults: dict[str, str], settings: dict[str, float]) -> None:
    code = 99
    try:
        for number, path in ((0, os.devnull), (1, output), (2, output)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | (os.O_APPEND if number else 0), 0o644), number)
        for name, value in settings.items():
            module, _, attribute = name.rpartition(".")
            module, *names = module.split(".")
            owner = reduce(getattr, names, import_module(f"marius_lite.preprocess.{module}"))
            setattr(owner, attribute, (lambda *_, value=value, **__: value) if callable(getattr(owner, attribute)) else value)
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
    serve()
