"""A command whose output is read line by line while it runs, and which is over when its time is up."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None)
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
PATIENCE = 10
"""Seconds that a killed process may take to give back what it has pinned."""


class Lines:
    """Hands bytes on as whole lines."""

    def __init__(self, tell: Callable[[str], None]):
        self.tell, self.pending = tell, b""

    def take(self, data: bytes) -> None:
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.tell(line.decode(errors="replace"))

    def close(self) -> None:
        """What was printed without an end of line is a line too."""
        if self.pending:
            self.take(b"\n")


def follow(
    command: tuple[str, ...],
    environment: dict[str, str],
    folder: Path,
    end: float,
    out: Callable[[str], None],
    err: Callable[[str], None],
) -> int | None:
    """Run ``command`` in a group of processes of its own, which ends with this process, and at ``end`` of the monotonic clock.

    Every line of its standard output goes to ``out``, and of its standard error to ``err``, when it comes. The exit code, or None
    where time was up.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL),
    )
    try:
        in_time = _read(process, {process.stdout: Lines(out), process.stderr: Lines(err)}, end)
    finally:
        _kill_group(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.stdout.close()
        process.stderr.close()
    return process.returncode if in_time else None


def _read(process: subprocess.Popen[bytes], pipes: dict, end: float) -> bool:
    """Read until the process has ended and its pipes are empty; whether it ended in time."""
    in_time = True
    with selectors.DefaultSelector() as selector:
        for pipe, lines in pipes.items():
            selector.register(pipe, selectors.EVENT_READ, lines)
        while True:
            over = _ended(process)  # asked first: all that it printed is in the pipes then
            in_time = in_time and (over or time.monotonic() < end)
            if over or not in_time:
                _kill_group(process)
            ready = selector.select(0 if over else 0.05)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                key.data.take(data)
                if not data:
                    selector.unregister(key.fileobj)
            if not ready and (over or time.monotonic() > end + PATIENCE):
                break
    for lines in pipes.values():
        lines.close()
    return in_time


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Without collecting its exit code: its number stays its own until its group is killed."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
