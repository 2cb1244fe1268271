"""glibc's allocator, told to keep large blocks: freshly mapped pages cost torch half of its time on the CPU."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
KEEP_BYTES = 2**31 - 1
TOP_PAD_BYTES = 64 << 20


def keep_large_blocks() -> bool:
    """Serve large blocks from the heap and never trim it; False where the C library has no mallopt."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, KEEP_BYTES)
                and mallopt(M_TOP_PAD, TOP_PAD_BYTES))
