"""Pairs scored and their gradients, per second of one thread, for each decoder; distances also by torch's arrays of differences.

    taskset -c 0 python scripts/bench/distances.py [--dim 100] [--queries 1000] [--candidates 1001] [--rounds 9]

One tile as training has it: forward, then backward from given gradients of the scores, without the loss. The processor's time of
this thread is counted, for machines that are not idle, the ways in turn; the medians of the rounds. torch's arrays of differences
come in pieces of 8 MiB, which suit a CPU's cache best.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

import torch
from machine_facts import cpu_name

import marius_lite.nn.similarities as similarities
from marius_lite.nn.decoders import DECODERS, decoder_class
from marius_lite.nn.similarities import SIMILARITIES, Distance
from marius_lite.nn.workspace import Workspace

TORCHS_PIECE = 1 << 21


def ways(kind: str, query: torch.Tensor, candidates: torch.Tensor, d_scores: torch.Tensor) -> dict[str, Callable[[], None]]:
    """Forward and backward of one tile: "ours", and "torch" where there is another way."""
    similarity, workspace = SIMILARITIES[kind], Workspace()
    d_query, d_candidates, given = torch.empty_like(query), torch.zeros_like(candidates), torch.empty_like(d_scores)

    def ours() -> None:
        similarity.tile(query[None], candidates[None], workspace)
        given.copy_(d_scores)
        similarity.tile_backward(query[None], candidates[None], given[None], d_query[None], d_candidates[None], workspace)

    def by_torch() -> None:
        assert isinstance(similarity, Distance)
        similarity.tile_by_torch(query[None], candidates[None], given[None], workspace)
        given.copy_(d_scores)
        similarity.tile_backward_by_torch(
            query[None], candidates[None], given[None], d_query[None], d_candidates[None], workspace
        )

    return {"ours": ours, "torch": by_torch} if isinstance(similarity, Distance) else {"ours": ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=1001)
    parser.add_argument("--rounds", type=int, default=9)
    a = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    similarities.DIFFERENCES = TORCHS_PIECE
    query, candidates = torch.randn(a.queries, a.dim), torch.randn(a.candidates, a.dim)
    d_scores = torch.randn(a.queries, a.candidates)
    print(f"{cpu_name()}, torch {torch.__version__}, {a.queries} x {a.candidates} pairs of dim {a.dim}, one thread")
    for decoder, kind in ((name, decoder_class(name).similarity) for name in DECODERS):
        works, times = ways(kind, query, candidates, d_scores), defaultdict(list)
        for _ in range(a.rounds + 1):  # the first warms up
            for name, work in works.items():
                start = time.thread_time()
                work()
                times[name].append(time.thread_time() - start)
        rates = {name: a.queries * a.candidates / statistics.median(seconds[1:]) / 1e6 for name, seconds in times.items()}
        against = f", torch {rates['torch']:.2f} M: {rates['ours'] / rates['torch']:.1f}x" if "torch" in rates else ""
        print(f"{decoder} ({kind}): {rates['ours']:.2f} M pairs/s forward and backward{against}", flush=True)


if __name__ == "__main__":
    main()
