"""Programs run under injected file faults: the fixture `faults`, and reading the trace it writes.

The settings are those of tests/native/faults.c, whose first comment explains them, without the prefix FAULT_:

    done = faults.run(code, KILL="*:/run/:17")          # `code` is Python source, or a list: a command line
    trace = faults.trace(code, "*:/run/")               # list of Call, in order

The fixture `forked_faults` is the same for Python source alone, of which none imports the storage again.
"""

import io
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATH = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
"""PYTHONPATH of programs that tests start: what it is, and this package before it."""
KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Call:
    """One traced call; ``other`` is the new path of rename, link and symlink, ``data`` what was written, where it was kept."""

    op: str
    path: str
    offset: int
    length: int
    other: str
    result: int
    data: bytes = b""


class Faults:
    def __init__(self, library: Path, folder: Path):
        self.library = library
        self.folder = folder

    def run(self, program: str | list[str], timeout: float = 60, **settings: str) -> subprocess.CompletedProcess:
        """Run Python source or a command line under faults; output is captured as text, never checked."""
        command = [sys.executable, "-c", program] if isinstance(program, str) else program
        environment = os.environ | {"LD_PRELOAD": str(self.library), "PYTHONPATH": PATH}
        environment |= {f"FAULT_{name}": value for name, value in settings.items()}
        return subprocess.run(command, env=environment, timeout=timeout, text=True, capture_output=True)

    def trace(self, program: str | list[str], match: str = "*:", **settings: str) -> list[Call]:
        """The matching calls (OPS:PATH) of a run that must end well."""
        file = self.folder / "trace.tsv"
        file.unlink(missing_ok=True)
        done = self.run(program, TRACE=f"{match}:{file}", **settings)
        assert done.returncode == 0, done.stderr
        return self.read_trace(file)

    @staticmethod
    def read_trace(file: Path, data: Path | None = None) -> list[Call]:
        """``data``: what was written, as FAULT_DATA keeps it."""
        calls, written = [], io.BytesIO(data.read_bytes() if data else b"")
        for line in file.read_text().splitlines() if file.exists() else []:
            op, path, offset, length, other, result = line.split("\t")
            part = written.read(max(0, int(result))) if op in ("write", "pwrite") else b""
            calls.append(Call(op, path, int(offset), int(length), other, int(result), part))
        assert not written.read(1)
        return calls


class ForkedFaults(Faults):
    """Its programs are forks of a process that is started with the first of them."""

    def __init__(self, server: subprocess.Popen, folder: Path):
        self.server = server
        self.folder = folder

    def run(self, program: str, timeout: float = 60, **settings: str) -> subprocess.CompletedProcess:
        told = [self.folder / name for name in ("told.out", "told.err")]
        for path in told:
            path.write_bytes(b"")
        request = {"code": program, "output": str(told[0]), "errors": str(told[1]), "faults": settings}
        self.server.stdin.write(json.dumps(request).encode() + b"\n")
        pid = int(self.server.stdout.readline())
        over = select.select([self.server.stdout], [], [], timeout)[0]
        if not over:
            os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(int(self.server.stdout.readline()))
        if not over:
            raise subprocess.TimeoutExpired(program, timeout)
        return subprocess.CompletedProcess(program, status, *(path.read_text() for path in told))


@pytest.fixture(scope="session")
def fault_library(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).parent / "native" / "faults.c"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def faults(fault_library, tmp_path) -> Faults:
    return Faults(fault_library, tmp_path)


@pytest.fixture(scope="session")
def fault_server(fault_library):
    environment = os.environ | {"LD_PRELOAD": str(fault_library), "PYTHONPATH": PATH}
    command = [sys.executable, Path(__file__).with_name("fault_server.py")]
    with subprocess.Popen(command, bufsize=0, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.stdin.close()


@pytest.fixture
def forked_faults(fault_server, tmp_path_factory) -> Faults:
    return ForkedFaults(fault_server, tmp_path_factory.mktemp("told"))
