"""Set how the libraries below torch use memory. This is done before they start."""

from __future__ import annotations

import ctypes
import os

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
KEEP_BYTES = 2**31 - 1
TOP_PAD_BYTES = 64 << 20


KERNELS_KEPT = "32"


def bound_kernel_caches() -> None:
    """Let oneDNN keep few compiled kernels. It makes one for each shape, of up to a MB, and every window ends in a new shape."""
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, KERNELS_KEPT)


def keep_large_blocks() -> bool:
    """Let glibc take large blocks from its heap, and never give the heap back. Returns False where the C library has no mallopt.

    Otherwise large blocks get freshly mapped pages, which cost torch half of its time on the CPU.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(
        mallopt and mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, KEEP_BYTES) and mallopt(M_TOP_PAD, TOP_PAD_BYTES)
    )


def give_back() -> None:
    """Give the memory back that is free: what follows needs other blocks, so that they would come on top of it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
