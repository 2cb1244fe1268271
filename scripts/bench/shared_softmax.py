"""Softmax loss and gradients of queries that share their negatives, in mixed precision: without an array of scores, and in tiles.

    python scripts/bench/shared_softmax.py [--threads 2] [--queries 1000] [--chunks 1] [--negatives 40943] [--dim 512]
                                           [--rounds 7]

Where the processor has no AMX only tiles are timed. The ways in turn, wall-clock medians of the rounds, in memory; threads of
torch sleep while they wait (OMP_WAIT_POLICY=PASSIVE) and freed blocks are kept, as `train` keeps them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from machine_facts import cpu_name

from marius_lite._native import shared_softmax_usable
from marius_lite.nn import scoring, untiled
from marius_lite.nn.allocator import keep_large_blocks
from marius_lite.nn.losses import Softmax
from marius_lite.nn.precision import products_in
from marius_lite.nn.side_grads import SideGrads
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("threads", 2), ("queries", 1000), ("negatives", 40943), ("dim", 512), ("chunks", 1), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args()
    keep_large_blocks()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    inner, workspace = SIMILARITIES["inner"], Workspace()
    query, positive = (torch.randn(a.queries, a.dim).mul_(0.3) for _ in range(2))
    negatives = torch.randn(a.chunks, a.negatives, a.dim).mul_(0.3)
    ways: dict[str, Callable[[], SideGrads]] = {
        "tiles": lambda: scoring.score_in_tiles(inner, Softmax(), query, positive, negatives, workspace)
    }
    if shared_softmax_usable():
        ways["no scores"] = lambda: untiled.score_side(inner, query, positive, negatives)
    times = defaultdict(list)
    with products_in("mixed"):
        for _ in range(a.rounds + 1):  # the first warms up
            for name, work in ways.items():
                start = time.perf_counter()
                work()
                times[name].append(time.perf_counter() - start)
    print(
        f"{cpu_name()}, torch {torch.__version__}, {a.threads} threads, {a.queries} queries, {a.chunks} x {a.negatives} "
        f"negatives, dim {a.dim}, mixed precision"
    )
    products = 6 * a.queries * a.negatives * a.dim  # scores and both gradients, a multiplication and an addition each
    middle = {name: statistics.median(seconds[1:]) for name, seconds in times.items()}
    for name, seconds in middle.items():
        rate, ratio = products / seconds / 1e9, middle["tiles"] / seconds
        print(f"{name}: {seconds * 1e3:.1f} ms, {rate:.0f} GFLOP/s, {ratio:.2f}x of tiles")


if __name__ == "__main__":
    main()
