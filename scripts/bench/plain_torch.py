"""The peer: link prediction as a plain torch loop, what a user would write without any library.

    python plain_torch.py EDGES --model distmult --dim 100 --batch 10000 --negs 1000 --chunks 10 --epochs 1 | --batches 50

EDGES: .npy (E, 2), or text of integer src, rel, dst separated by tabs. Everything is in memory; prints edges/s for each epoch.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from torch.nn.functional import cross_entropy


def read(path: str) -> torch.Tensor:
    if path.endswith(".npy"):
        pairs = np.load(path)
        return torch.from_numpy(np.stack([pairs[:, 0], np.zeros(len(pairs), pairs.dtype), pairs[:, 1]], 1))
    return torch.from_numpy(np.loadtxt(path, dtype=np.int64, delimiter="\t"))


def combine(model: str, entity: torch.Tensor, relation: torch.Tensor, conjugate: bool) -> torch.Tensor:
    if model == "dot":
        return entity
    if model == "distmult":
        return entity * relation
    er, ei = entity.chunk(2, -1)
    rr, ri = relation.chunk(2, -1)
    if conjugate:
        ri = -ri
    return torch.cat([er * rr - ei * ri, er * ri + ei * rr], -1)


def adagrad(table: torch.Tensor, state: torch.Tensor, rows: torch.Tensor, grads: torch.Tensor, lr: float) -> None:
    sums = state[rows].addcmul_(grads, grads)
    state[rows] = sums
    table[rows] -= lr * grads / (sums.sqrt() + 1e-10)


def step(
    a: argparse.Namespace,
    nodes: torch.Tensor,
    node_state: torch.Tensor,
    relations: torch.Tensor,
    relation_state: torch.Tensor,
    batch: torch.Tensor,
) -> float:
    src, rel, dst = (column.long() for column in batch.T)
    n = len(batch)
    drawn = torch.randint(len(nodes), (2, a.chunks, a.negs))
    rows, places = torch.unique(torch.cat([src, dst, drawn.reshape(-1)]), return_inverse=True)
    values = nodes[rows].requires_grad_()
    gathered = values[places]
    s, d, negatives = gathered[:n], gathered[n : 2 * n], gathered[2 * n :].view(2, a.chunks, a.negs, -1)
    weights = relations[:, rel].requires_grad_()
    loss = torch.zeros(())
    for side, (entity, positive) in enumerate(((s, d), (d, s))):
        query = combine(a.model, entity, weights[side], side == 1)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
            scores = torch.bmm(query.view(a.chunks, n // a.chunks, -1), negatives[side].transpose(1, 2)).view(n, a.negs)
        scores = torch.cat([(query * positive).sum(-1, keepdim=True), scores.float()], 1)
        loss = loss + cross_entropy(scores, torch.zeros(n, dtype=torch.long), reduction="sum")
    loss.backward()
    with torch.no_grad():
        adagrad(nodes, node_state, rows, values.grad, a.lr)
        if a.model != "dot":
            unique, inverse = torch.unique(rel, return_inverse=True)
            for side in range(2):
                sums = torch.zeros(len(unique), a.dim).index_add_(0, inverse, weights.grad[side])
                adagrad(relations[side], relation_state[side], unique, sums, a.lr)
    return float(loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges")
    parser.add_argument("--model", default="distmult", choices=["dot", "distmult", "complex"])
    for name, default in (
        ("dim", 100),
        ("batch", 10000),
        ("negs", 1000),
        ("chunks", 10),
        ("epochs", 1),
        ("batches", 0),
        ("threads", 2),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--bf16", action="store_true", help="scores in bfloat16, by autocast")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    edges = read(a.edges)
    nodes = torch.empty(int(edges[:, [0, 2]].max()) + 1, a.dim).normal_(0, 1e-3)
    relations = torch.ones(2, int(edges[:, 1].max()) + 1, a.dim)
    tables = nodes, torch.zeros_like(nodes), relations, torch.zeros_like(relations)
    for epoch in range(a.epochs):
        order, start, done = torch.randperm(len(edges)), time.perf_counter(), 0
        count = min(len(edges) // a.batch, a.batches + 3 if a.batches else len(edges))
        for k in range(count):
            if a.batches and k == 3:  # the first batches warm up
                start, done = time.perf_counter(), 0
            step(a, *tables, edges[order[k * a.batch : (k + 1) * a.batch]])
            done += a.batch
        print(f"epoch {epoch} {done / (time.perf_counter() - start):.0f} edges/s", flush=True)


if __name__ == "__main__":
    main()
