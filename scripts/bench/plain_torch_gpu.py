"""The peer on a GPU: ComplEx as a plain torch loop over a table in pinned host memory, without any library.

    python plain_torch_gpu.py EDGES.npy --nodes N [--batches 100] [--device cuda]

The ids of a batch are drawn and made unique on the GPU, its rows gathered by index_select into pinned memory, copied over,
trained, updated by row-wise Adagrad on the GPU, copied back and put into the table. Prints edges/s of the batches after the
warm-up.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from torch.nn.functional import cross_entropy

WARM_UP = 10


def combine(entity: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
    er, ei = entity.chunk(2, -1)
    rr, ri = relation.chunk(2, -1)
    return torch.cat([er * rr - ei * ri, er * ri + ei * rr], -1)


def row_adagrad(values: torch.Tensor, state: torch.Tensor, grads: torch.Tensor, lr: float) -> None:
    state += grads.square().mean(1, keepdim=True)
    values -= lr * grads / (state.sqrt() + 1e-10)


class Loop:
    def __init__(self, a: argparse.Namespace):
        self.a, self.device = a, torch.device(a.device)
        pinned = self.device.type == "cuda"
        self.table = torch.empty(a.nodes, a.dim + 1, pin_memory=pinned)  # the values, then the sum of squares
        self.table[:, :-1].normal_(0, 1e-3)
        self.table[:, -1] = 0
        places = 2 * a.batch + 2 * a.chunks * a.negs
        self.staging = torch.empty(places, a.dim + 1, pin_memory=pinned)
        relations = torch.zeros(2, a.relations, a.dim)
        relations[..., : a.dim // 2] = 1
        self.relations = relations.to(self.device)
        self.relation_state = torch.zeros_like(self.relations)

    def step(self, batch: torch.Tensor) -> None:
        a, n = self.a, len(batch)
        src, rel, dst = batch.to(self.device, torch.int64, non_blocking=True).T
        drawn = torch.randint(a.nodes, (2 * a.chunks * a.negs,), device=self.device)
        rows, places = torch.unique(torch.cat([src, dst, drawn]), return_inverse=True)
        there = rows.cpu()
        staging = self.staging[: len(there)]
        torch.index_select(self.table, 0, there, out=staging)
        records = staging.to(self.device, non_blocking=True)
        values = records[:, :-1].detach().requires_grad_()
        weights = self.relations[:, rel].requires_grad_()
        self.loss(values.index_select(0, places), weights, n).backward()
        assert values.grad is not None
        assert weights.grad is not None
        row_adagrad(records[:, :-1], records[:, -1:], values.grad, a.lr)
        grads = torch.zeros_like(self.relations).index_add_(1, rel, weights.grad)
        self.relation_state.addcmul_(grads, grads)
        self.relations -= a.lr * grads / (self.relation_state.sqrt() + 1e-10)
        staging.copy_(records)
        self.table[there] = staging

    def loss(self, gathered: torch.Tensor, weights: torch.Tensor, n: int) -> torch.Tensor:
        a = self.a
        s, d, negatives = gathered[:n], gathered[n : 2 * n], gathered[2 * n :].view(2, a.chunks, a.negs, -1)
        loss = gathered.new_zeros(())
        for side, (entity, positive) in enumerate(((s, d), (d, s))):
            query = combine(entity, weights[side])
            scores = torch.bmm(query.view(a.chunks, n // a.chunks, -1), negatives[side].transpose(1, 2)).view(n, a.negs)
            scores = torch.cat([(query * positive).sum(-1, keepdim=True), scores], 1)
            loss = loss + cross_entropy(scores, torch.zeros(n, dtype=torch.long, device=self.device), reduction="sum")
        return loss


def read(path: str) -> torch.Tensor:
    pairs = np.load(path)
    return torch.from_numpy(np.stack([pairs[:, 0], np.zeros(len(pairs), pairs.dtype), pairs[:, 1]], 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges")
    parser.add_argument("--device", default="cuda")
    for name, default in (
        ("nodes", 1_000_000),
        ("relations", 1),
        ("dim", 100),
        ("batch", 50_000),
        ("negs", 1000),
        ("chunks", 10),
        ("batches", 100),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--lr", type=float, default=0.1)
    a = parser.parse_args()
    torch.manual_seed(0)
    edges, loop = read(a.edges), Loop(a)
    order, start = torch.randperm(len(edges)), 0.0
    for k in range(WARM_UP + a.batches):
        if k == WARM_UP:
            if loop.device.type == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
        loop.step(edges[order[k * a.batch : (k + 1) * a.batch]])
    if loop.device.type == "cuda":
        torch.cuda.synchronize()
    print(f"{a.batches * a.batch / (time.perf_counter() - start):.0f} edges/s", flush=True)


if __name__ == "__main__":
    main()
