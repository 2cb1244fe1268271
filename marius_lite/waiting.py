"""How torch's threads wait for work: they spin for some microseconds, then they sleep.

By itself GNU's OpenMP, which torch computes with, lets a thread spin for milliseconds after each loop. It then holds a core that
others could use: threads of this package, or another process. A thread that sleeps at once takes long to wake: torch's short
loops, one after the other, then take half as long again. OpenMP reads what to do when torch is loaded, so it is said before.
NumPy's OpenBLAS has threads of its own, which would spin for some tens of milliseconds when it is loaded, for nothing.
"""

from __future__ import annotations

import os
import sys

SPINS, POLICY = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"
NUMPYS, LEAST = "OPENBLAS_THREAD_TIMEOUT", "4"
"""The least that OpenBLAS takes, as a power of two of ticks of the processor's clock."""
FEW = "1000"
"""Turns of the loop that spins: some microseconds. From 300 to 10,000 were alike."""

_came_too_late = False


def let_threads_sleep() -> None:
    """Let torch's and NumPy's threads sleep soon while they wait, unless the environment says otherwise, or they are loaded
    already."""
    global _came_too_late
    os.environ.setdefault(NUMPYS, LEAST)
    if SPINS not in os.environ and POLICY not in os.environ:
        _came_too_late = "torch" in sys.modules
        os.environ[SPINS] = FEW  # for processes that this one starts, too


def threads_spin() -> bool:
    """Return whether torch was loaded before this could be said."""
    return _came_too_late
