"""Find the memory, processors and GPU that this process may use. Loads no torch."""

from __future__ import annotations

import mmap
import os
from contextlib import ExitStack
from pathlib import Path

PIECE = 256 << 20
"""Bytes that are touched at a time, to see whether the system then has more to give."""


def available_memory() -> int:
    """Return the bytes that this process may still take: the kernel's MemAvailable, or less where its control groups say so."""
    available = _meminfo("MemAvailable")
    for limit, usage in _cgroup_limits():
        available = min(available, max(limit - usage, 0))
    return available


def reachable_memory(wanted: int) -> int:
    """Return what `available_memory` does, but on a virtual machine whose memory grows as it is touched up to ``wanted`` bytes.

    What such a machine says at first is little. Memory is touched, and given back, only as long as each piece brings more.
    """
    wanted = min(wanted, memory_limit())
    with ExitStack() as stack:
        found, touched = available_memory(), 0
        while found < wanted and available_memory() >= 2 * PIECE:
            try:
                piece = stack.enter_context(mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            except OSError:  # a limit of the process: it gets no more
                break
            for page in range(0, PIECE, mmap.PAGESIZE):
                piece[page] = 1
            touched += PIECE
            now = available_memory() + touched
            if now < found + PIECE // 2:
                break
            found = now
    return found


def total_memory() -> int:
    """Return the bytes of the machine's memory."""
    return _meminfo("MemTotal")


def memory_limit() -> int:
    """Return the bytes that this process may take in all: the machine's memory, or its control groups' limit if that is less."""
    return min([total_memory(), *(limit for limit, _ in _cgroup_limits())])


def cpu_threads() -> int:
    """Return how many threads this process may run at the same time."""
    return len(os.sched_getaffinity(0))


def has_nvidia() -> bool:
    """Return whether the driver of an NVIDIA GPU is loaded."""
    return Path("/dev/nvidiactl").exists()


def _meminfo(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, value = line.split(":")
        if name == key:
            return int(value.split()[0]) * 1024
    raise AssertionError(f"/proc/meminfo lacks {key}")


def _cgroup_limits() -> list[tuple[int, int]]:
    """Return (limit, bytes taken) of each control group, of version 1 or 2, that limits the memory of this process."""
    found = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names = (Path("/sys/fs/cgroup") / path[1:], "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            names = (Path("/sys/fs/cgroup/memory") / path[1:], "memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        folder, limit, usage = names
        try:
            text = (folder / limit).read_text().strip()
            if text != "max":
                found.append((int(text), int((folder / usage).read_text())))
        except (OSError, ValueError):
            continue
    return found
