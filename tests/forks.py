"""Processes that are forks of one warm process, which has torch and the program imported, and are used as those of subprocess.

`fork_server` is that process (end_to_end/fork_server.py); `forked` starts one, `forked_processes` lets `--processes` do so, and
`forked_faults` runs Python source under faults:

    process = forked(code, "1", env={"RANK": "1"})     # Python source and its arguments, or a list: those of the command line
    out, err = process.communicate()
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from faults import PATH, Faults

from marius_lite.machine_process import ADDRESS, COUNT, PORT, RANK
from marius_lite.processes import start

ROOT = Path(__file__).parent.parent
PLACES = (COUNT, ADDRESS, PORT, RANK, "GLOO_SOCKET_IFNAME")


class Forked:
    """A process as subprocess.Popen has it."""

    def __init__(self, address: str, request: dict):
        self._paths = [Path(request[name]) for name in ("output", "errors")]
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
        self._stream = self._connection.makefile("rw")
        self._stream.write(json.dumps(request) + "\n")
        self._stream.flush()
        self.pid, self.returncode = int(self._stream.readline()), None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._connection.settimeout(0)
            try:
                over = bool(self._connection.recv(1, socket.MSG_PEEK))
            except BlockingIOError:
                return None
            assert over
            self._connection.settimeout(None)
            self.returncode = os.waitstatus_to_exitcode(int(self._stream.readline()))
            self._stream.close()
            self._connection.close()
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a fork", timeout)
            time.sleep(0.01)
        return self.returncode

    def communicate(self, timeout: float = 60) -> tuple[str, str]:
        self.wait(timeout)
        return tuple(path.read_text() for path in self._paths)

    def first_line(self) -> str:
        """The first line that it printed, or all if it has ended before."""
        while "\n" not in (told := self._paths[0].read_text()) and self.poll() is None:
            time.sleep(0.01)
        return told[: told.find("\n") + 1]

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@pytest.fixture(scope="session")
def fork_server(fault_library, tmp_path_factory):
    """The path of its socket. Each fork may have faults of its own."""
    address = str(tmp_path_factory.mktemp("forks") / "socket")
    environment = os.environ | {"LD_PRELOAD": str(fault_library), "PYTHONPATH": PATH, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, ROOT / "tests/end_to_end/fork_server.py", address]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield address
        process.send_signal(signal.SIGTERM)


@pytest.fixture
def forked(fork_server, tmp_path_factory):
    begun = []

    def fork(program, *arguments, env=(), cwd=None, errors=None, faults=None):
        folder = tmp_path_factory.mktemp("told")
        for name in ("out", "err"):
            (folder / name).touch()
        request = {"arguments": [*map(str, arguments)], "code": program} if isinstance(program, str) else {"arguments": program}
        request |= {
            "output": str(folder / "out"),
            "errors": errors or str(folder / "err"),
            "environment": dict(env),
            "faults": faults,
            "folder": str(cwd or folder),
        }
        begun.append(Forked(fork_server, request))
        return begun[-1]

    yield fork
    for process in begun:
        process.kill()
        process.wait()


class ForkedFaults(Faults):
    """Its programs are forks, each with faults of its own."""

    def __init__(self, forked, folder: Path):
        self.forked, self.folder = forked, folder

    def run(self, program: str, timeout: float = 60, **settings: str) -> subprocess.CompletedProcess:
        process = self.forked(program, faults=settings)
        told = process.communicate(timeout)
        return subprocess.CompletedProcess(program, process.returncode, *told)


@pytest.fixture
def forked_faults(forked, tmp_path_factory) -> Faults:
    return ForkedFaults(forked, tmp_path_factory.mktemp("told"))


@pytest.fixture
def forked_processes(fork_server, monkeypatch):
    """The processes of `--processes` are forks. What they print, this process prints."""

    def fork(command, env, start_new_session):
        assert start_new_session
        _, *module = command[: 1 + len(start.MODULE)]
        assert tuple(module) == start.MODULE
        told = {name: f"/proc/{os.getpid()}/fd/{number}" for name, number in (("output", 1), ("errors", 2))}
        request = {"arguments": command[1 + len(start.MODULE) :], "environment": {name: env[name] for name in PLACES}}
        return Forked(fork_server, {**request, **told, "folder": os.getcwd()})

    monkeypatch.setattr(start, "subprocess", SimpleNamespace(Popen=fork))
