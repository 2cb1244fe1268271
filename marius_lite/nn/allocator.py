"""Memory habits of the libraries below torch, set before they start."""

from __future__ import annotations

import ctypes
import os

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
KEEP_BYTES = 2**31 - 1
TOP_PAD_BYTES = 64 << 20


KERNELS_KEPT = "32"


def bound_kernel_caches() -> None:
    """Keep few compiled kernels: oneDNN makes one, of up to a MB, for each shape, and every window ends in another shape."""
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, KERNELS_KEPT)


def keep_large_blocks() -> bool:
    """Serve large blocks from glibc's heap and never trim it: freshly mapped pages cost torch half of its time on the CPU.

    False where the C library has no mallopt.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, KEEP_BYTES)
                and mallopt(M_TOP_PAD, TOP_PAD_BYTES))
