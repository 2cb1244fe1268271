"""Start the processes of a run on this machine, and watch them to their end."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

from marius_lite.errors import EndedElsewhere, RunError
from marius_lite.machine_process import ADDRESS, COUNT, PORT, RANK
from marius_lite.processes.interrupt import SIGNALS

LOOPBACK = "127.0.0.1"
MODULE = ("-m", "marius_lite")
LAST_WORDS = 10.0
"""Seconds in which the others may end by themselves once one process has failed."""
POLL = 0.05
STARTED_BY = "MARIUS_LITE_STARTED_BY"
"""The process that started this one, in its environment."""
PR_SET_PDEATHSIG = 1  # prctl.h


def run_processes(count: int, arguments: Sequence[str]) -> None:
    """Run the command line with ``arguments`` in so many processes, which train together.

    A signal to stop goes to all of them. Where one is killed, the others end too. Raises RunError for such a one, EndedElsewhere
    where they end with an exit code other than 0.
    """
    places = {COUNT: str(count), ADDRESS: LOOPBACK, PORT: str(_free_port()), STARTED_BY: str(os.getpid())}
    environment = {**os.environ, **places, "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, *MODULE, *arguments]
    processes: list[subprocess.Popen[bytes]] = []

    def forward(signum: int, frame: FrameType | None) -> None:
        for process in processes:
            process.send_signal(signum)

    before = {signum: signal.signal(signum, forward) for signum in SIGNALS}
    try:
        for rank in range(count):
            # A group of its own: Ctrl-C in a terminal reaches each process once, by `forward`.
            processes.append(subprocess.Popen(command, env={**environment, RANK: str(rank)}, start_new_session=True))
        if code := _ended(processes):
            raise EndedElsewhere(code)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for signum, handler in before.items():
            signal.signal(signum, handler)


def stop_with_starter() -> None:
    """Let this process be told to stop, as by a SIGTERM, once the one that started it by `run_processes` has ended.

    It cannot say so itself where it is killed. Does nothing in other processes.
    """
    starter = os.environ.get(STARTED_BY)
    if starter is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(starter):  # it has ended already
        os.kill(os.getpid(), signal.SIGTERM)


def _ended(processes: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait for all to end, or for one to fail and the others to follow. Returns the largest exit code."""
    deadline: float | None = None
    while None in (codes := [process.poll() for process in processes]):
        if any(codes) and deadline is None:
            deadline = time.monotonic() + LAST_WORDS
        if deadline is not None and time.monotonic() > deadline:
            break
        time.sleep(POLL)
    for rank, process in enumerate(processes):
        if process.returncode is not None and process.returncode < 0:
            raise RunError(
                f"process {rank} of {len(processes)} was killed by signal {-process.returncode}, so the run has ended: "
                "`marius-lite resume` goes on from its last checkpoint"
            )
    return max((process.returncode or 0 for process in processes), default=0)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
