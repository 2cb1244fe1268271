"""How torch's threads wait for work: they sleep.

By itself OpenMP, which torch computes with, lets a thread spin for milliseconds after each loop. It then holds a core that others
could use: threads of this package, or another process. OpenMP reads what it should do when torch is loaded, so it is said before.
"""

from __future__ import annotations

import os
import sys

POLICY = "OMP_WAIT_POLICY"

_came_too_late = False


def let_threads_sleep() -> None:
    """Let torch's threads sleep while they wait, unless the environment says otherwise, or torch is loaded already."""
    global _came_too_late
    if POLICY not in os.environ:
        _came_too_late = "torch" in sys.modules
        os.environ[POLICY] = "PASSIVE"  # for processes that this one starts, too


def threads_spin() -> bool:
    """Return whether torch was loaded before this could be said."""
    return _came_too_late
