"""Time several ways to compute the same on this processor, and choose one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch

LEAST_ROUNDS, MOST_ROUNDS, SECONDS = 3, 12, 0.3
"""How often the ways are timed in turn: until so many seconds are over. The least time of each counts: another process can only
make it longer."""
AHEAD = 1.25
"""How many times as fast another way must be to be taken instead of the usual one. So two runs on one machine choose alike."""


def least_seconds(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least time of each work, in turn, on one thread of torch: by the time of the calling thread itself."""
    least = dict.fromkeys(works, float("inf"))
    threads, start = torch.get_num_threads(), time.perf_counter()
    torch.set_num_threads(1)
    try:
        for done in range(MOST_ROUNDS):
            if done >= LEAST_ROUNDS and time.perf_counter() - start > SECONDS:
                break
            least = {name: min(least[name], _seconds(work)) for name, work in works.items()}
    finally:
        torch.set_num_threads(threads)
    return least


def preferred(usual: str, rates: Mapping[str, float]) -> str:
    """Return the way with the highest of ``rates`` where it is AHEAD of the usual one, else the usual one."""
    best = max(rates, key=lambda name: rates[name], default=usual)
    return best if rates and rates[best] > AHEAD * rates[usual] else usual


def _seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return max(time.thread_time() - start, 1e-9)
