"""Neighbour sums and whole training steps of encoders on the shapes of a batch, against torch_geometric and torch.sparse.

    python scripts/bench/encoders.py [--width 128] [--threads 2] [--rounds 9] [--cpu-time] [--precision mixed]

The shapes are those that 1,000 seeds with fanouts 15, 10, 5 have in a power-law graph of 1 M nodes and 20 M edges: 8,223 nodes
within one hop, 51,228 within two, 153,579 in all, 284,550 edges. Prints medians in milliseconds,
forward and forward with backward, all with the allocator that training sets. --cpu-time
counts the processor's time, for machines that are not idle: `taskset -c 0 python ... --threads 1 --cpu-time`. --precision is
that of our training steps alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GAT, GCN, GraphSAGE
from torch_geometric.utils import scatter

from marius_lite.nn.aggregate import neighbour_sum, targets_of
from marius_lite.nn.allocator import keep_large_blocks
from marius_lite.nn.encoders import Block, EncoderShape, LayerGraph, make_encoder
from marius_lite.nn.products import products_in

CLOCK = time.perf_counter
HOP_NODES, HOP_EDGES = (1_000, 7_223, 43_005, 102_351), (8_991, 65_990, 209_569)


def batch() -> LayerGraph:
    """Every node but the seeds is somebody's neighbour, the other edges lead anywhere within the next hop."""
    counts, indices, known = [], [], 0
    for hop, edges in enumerate(HOP_EDGES):
        known += HOP_NODES[hop]
        size = torch.multinomial(torch.ones(HOP_NODES[hop]), edges, replacement=True).bincount(minlength=HOP_NODES[hop])
        new = torch.arange(known, known + HOP_NODES[hop + 1])[:edges]
        rest = torch.randint(known + HOP_NODES[hop + 1], (edges - len(new),))
        indices.append(torch.cat([new, rest])[torch.randperm(edges)])
        counts.append(size)
    indptr = torch.nn.functional.pad(torch.cat(counts).cumsum(0), (1, 0))
    return LayerGraph(
        HOP_NODES, indptr, torch.cat(indices).int(), degrees=torch.full((sum(HOP_NODES),), 20.0), hop_edges=HOP_EDGES
    )


def ways(block: Block, sources: int) -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """The mean of each target's neighbours, computed in three ways from rows (sources, width)."""
    ids, targets = block.indices.long(), targets_of(block.indptr, len(block.indices))
    weights = (1 / block.indptr.diff().clamp(min=1).float())[targets]

    def sparse(x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = torch.sparse_csr_tensor(block.indptr, ids, weights, (block.targets, sources)) @ x
        return out

    return {
        "ours": lambda x: neighbour_sum(x, block.indptr, block.indices, mean=True),
        "torch_geometric": lambda x: scatter(x[ids], targets, 0, block.targets, "mean"),
        "torch.sparse": sparse,
    }


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds + 2):
        start = CLOCK()
        work()
        times.append(CLOCK() - start)
    return statistics.median(times[2:]) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--precision", choices=("float32", "mixed"), default="float32")
    a = parser.parse_args()
    if a.cpu_time:
        global CLOCK
        CLOCK = time.process_time
    keep_large_blocks()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")  # torch.sparse calls itself experimental
    graph = batch()
    for layer in range(2):
        block, sources = graph.block(layer), graph.nodes(graph.hops - layer)
        x, grad = torch.rand(sources, a.width, requires_grad=True), torch.rand(block.targets, a.width)
        for name, mean in ways(block, sources).items():
            forward = milliseconds(lambda mean=mean, x=x: mean(x.detach()), a.rounds)
            both = milliseconds(lambda mean=mean, x=x, grad=grad: mean(x).backward(grad), a.rounds)
            print(
                f"mean, {block.targets} targets, {sources} sources, {len(block.indices)} edges, {name}: "
                f"{forward:.1f} forward, {both:.1f} with backward"
            )
    features, labels = torch.rand(sum(HOP_NODES), a.width), torch.randint(0, 40, (HOP_NODES[0],))
    edges = graph.block(0).edge_index()
    hops = {"num_sampled_nodes_per_hop": list(HOP_NODES), "num_sampled_edges_per_hop": list(HOP_EDGES)}
    for name, kind, options in (("sage", GraphSAGE, {}), ("gcn", GCN, {}), ("gat", GAT, {"v2": True, "heads": 4})):
        ours = make_encoder(name, EncoderShape(a.width, [a.width, a.width, 40], heads=4))
        theirs = kind(a.width, a.width, 3, 40, **options)

        def step(ours: torch.nn.Module = ours) -> None:
            with products_in(a.precision):
                cross_entropy(ours(features, graph), labels).backward()

        def step_of_theirs(theirs: torch.nn.Module = theirs) -> None:
            cross_entropy(theirs(features, edges, **hops)[: HOP_NODES[0]], labels).backward()

        print(
            f"{name}, forward and backward: {milliseconds(step, a.rounds):.1f}, "
            f"torch_geometric {milliseconds(step_of_theirs, a.rounds):.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
