"""Losses and gradients of queries that share their negatives: each way of this processor, and torch in tiles of scores.

    python scripts/bench/shared_loss.py [--threads 2] [--queries 1000] [--chunks 1] [--negatives 40943] [--dim 512]
                                           [--rounds 7] [--loss softmax]

The ways in turn, medians of the rounds, in memory: wall-clock time, and the processor's time of all threads. Threads of torch
sleep soon while they wait (GOMP_SPINCOUNT) and freed blocks are kept, as `train` keeps them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict

os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as marius_lite sets it

import torch
from machine_facts import cpu_name

from marius_lite.nn.allocator import keep_large_blocks
from marius_lite.nn.losses import LOSSES
from marius_lite.nn.products import products_in
from marius_lite.nn.scoring import Compared, SideScoring
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.ways import ways
from marius_lite.nn.workspace import Workspace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("threads", 2), ("queries", 1000), ("negatives", 40943), ("dim", 512), ("chunks", 1), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--loss", choices=LOSSES, default="softmax")
    a = parser.parse_args()
    loss = LOSSES[a.loss]()
    keep_large_blocks()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    query, positive = (torch.randn(a.queries, a.dim).mul_(0.3) for _ in range(2))
    negatives = torch.randn(a.chunks, a.negatives, a.dim).mul_(0.3)
    print(
        f"{cpu_name()}, torch {torch.__version__}, {a.threads} threads, {a.queries} queries, {a.chunks} x {a.negatives} "
        f"negatives, dim {a.dim}, {a.loss}"
    )
    for precision in ("float32", "mixed"):
        times = defaultdict(list)
        for _ in range(a.rounds + 1):  # the first warms up
            for way in ways(precision, loss):
                scoring = SideScoring(SIMILARITIES["inner"], loss, Workspace(), way)
                start, used = time.perf_counter(), time.process_time()
                with products_in(precision):
                    scoring([Compared(query, positive)], negatives)
                times[way].append((time.perf_counter() - start, time.process_time() - used))
        products = 6 * a.queries * a.negatives * a.dim  # scores and both gradients, a multiplication and an addition each
        middle = {way: [statistics.median(each) for each in zip(*taken[1:])] for way, taken in times.items()}
        for way, (wall, used) in middle.items():
            print(
                f"{precision}, {way}: {wall * 1e3:.1f} ms, {products / wall / 1e9:.0f} GFLOP/s, "
                f"{middle['torch'][0] / wall:.2f}x of torch; processor {used * 1e3:.1f} ms, "
                f"{products / used / 1e9:.0f} GFLOP/s of a thread"
            )


if __name__ == "__main__":
    main()
