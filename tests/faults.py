"""Programs run under injected file faults: the fixture `faults`, and reading the trace it writes.

The settings are those of tests/native/faults.c, whose first comment explains them, without the prefix FAULT_:

    done = faults.run(code, KILL="*:/run/:17")          # `code` is Python source, or a list: a command line
    trace = faults.trace(code, "*:/run/")               # list of Call, in order

The fixture `forked_faults` of tests/forks.py is the same for Python source alone, of which none imports the storage again.
"""

import io
import os
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
