"""Pinning the partition buffer, first touch included, against cudaHostAlloc of the same size.

    python scripts/bench/gpu_pin.py [--size 16GiB] [--rounds 5] [--json]

The size is rounded down to a power of two, of at most half of the free memory. `pin_memory` of torch is cudaHostAlloc of the next
power of two, so of this size too.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import on_device
import torch
from on_device import Report

from marius_lite.device.accelerator import Accelerator

RATIO_GOAL = 3.0
MEMORY_GOAL = 1.01


def memory_taken() -> int:
    """Bytes of this process that are resident or, where the kernel counts them apart, pinned: the larger of the two."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return max(int(lines[key].split()[0]) * 1024 for key in ("VmRSS", "VmPin") if key in lines)


def host_functions() -> tuple[Callable[..., int], Callable[..., int]]:
    """cudaHostAlloc and cudaFreeHost of the CUDA runtime that torch has loaded; the driver's where none is found."""
    loaded = {line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    runtimes = [path for path in loaded if Path(path).name.startswith("libcudart.so")]
    library = ctypes.CDLL(runtimes[0] if runtimes else "libcuda.so.1")
    allocate, free = (
        (library.cudaHostAlloc, library.cudaFreeHost) if runtimes else (library.cuMemHostAlloc, library.cuMemFreeHost)
    )
    allocate.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_uint]
    free.argtypes = [ctypes.c_void_p]
    return allocate, free


def ours(accelerator: Accelerator, size: int, threads: int) -> tuple[float, float, float]:
    """(seconds to have the memory, seconds to give it back, resident bytes it took / bytes asked for)."""
    before, start = memory_taken(), time.perf_counter()
    memory = on_device.buffer_memory(size)
    pinned = accelerator.library.pin(memory, on_device.BOUNDARY, accelerator.index, threads)
    seconds, resident = time.perf_counter() - start, memory_taken() - before
    start = time.perf_counter()
    pinned.close()
    del memory, pinned
    gc.collect()
    return seconds, time.perf_counter() - start, resident / size


def theirs(accelerator: Accelerator, size: int) -> float:
    """Seconds of cudaHostAlloc; on a device without such memory, of an allocation."""
    if not accelerator.pinned:
        start = time.perf_counter()
        torch.zeros(size, dtype=torch.uint8)
        return time.perf_counter() - start
    allocate, free = host_functions()
    address, start = ctypes.c_void_p(), time.perf_counter()
    code = allocate(ctypes.byref(address), size, 0)
    seconds = time.perf_counter() - start
    code = code or free(address)
    if code:
        raise SystemExit(f"cudaHostAlloc of {size} bytes, or giving them back, failed with code {code}")
    return seconds


def main(arguments: list[str] | None = None) -> None:
    parser = on_device.parser(__doc__)
    parser.add_argument("--size", type=on_device.size, default=16 << 30)
    parser.add_argument("--threads", type=int, default=0, help="that touch the memory first; 0: all")
    a = parser.parse_args(arguments)
    accelerator = on_device.accelerator()
    on_device.require_memory(a.size)
    report = Report("gpu_pin", on_device.settings(accelerator, a), a.json)
    ours(accelerator, min(a.size, 1 << 30), a.threads)  # the warm-up
    found, others = [], []
    for _ in range(a.rounds):
        found.append(ours(accelerator, a.size, a.threads))
        others.append(theirs(accelerator, a.size))
    seconds, back, taken = (statistics.median(column) for column in zip(*found))
    other, gib = statistics.median(others), a.size / (1 << 30)
    report.add(
        "pinning the buffer, first touch included", seconds / gib, "s/GiB", detail=f"{seconds:.2f} s; unpinned in {back:.2f} s"
    )
    report.add("cudaHostAlloc", other / gib, "s/GiB", detail=f"{other:.2f} s")
    report.add("cudaHostAlloc / pinning the buffer", other / seconds, "x", at_least=RATIO_GOAL)
    report.add("resident memory taken / asked for", taken, at_most=MEMORY_GOAL, detail=f"of {gib:g} GiB")


if __name__ == "__main__":
    main()
