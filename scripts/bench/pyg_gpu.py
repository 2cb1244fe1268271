"""The peer on a GPU: GraphSAGE by PyTorch Geometric, its batches made by worker processes and pinned, without our trainer.

    python pyg_gpu.py FOLDER [--batch 1000] [--fanouts 15,10,5] [--workers 8] [--device cuda]

FOLDER: what gpu_gnn.py made: all.npy, features.npy, labels.npy, train.npy, dataset. Loads with torch_geometric's NeighborLoader;
where neither pyg-lib nor torch-sparse is installed, which that needs, the same from our sampler: workers that sample with it and
take the features by index_select, behind torch's DataLoader. Layers are trimmed to what they need, as ours are (torch-sparse does
not tell what that is). Prints JSON: which loader it was, and the batches per second after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.nn import GraphSAGE
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
from torch_geometric.utils import to_undirected

WIDTH, CLASSES = 128, 40
WARM_UP = 10
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int] | None, list[int] | None]
"""Features, edges (2, e) from source to target, labels of the seeds, nodes and edges of each hop."""


class Surroundings(torch.utils.data.Dataset[Batch]):
    """Batch i of the training nodes with its neighbourhood, sampled by marius_lite."""

    def __init__(self, folder: Path, batch: int, fanouts: list[int]):
        from marius_lite import open_dataset
        from marius_lite.sampling.neighbours import NeighbourLists

        dataset = open_dataset(folder / "dataset")
        assert dataset.adjacency is not None
        assert dataset.features is not None
        assert dataset.labels is not None
        partitions = range(dataset.partitioning.partitions)
        self._lists = NeighbourLists(dataset.adjacency)
        self._lists.enter({k: k * dataset.partitioning.rows for k in partitions})
        self._features = torch.from_numpy(np.concatenate([dataset.features.values(k) for k in partitions]))
        self._labels = torch.from_numpy(np.concatenate([dataset.labels.read(k) for k in partitions]))
        self._nodes = np.random.default_rng(0).permutation(dataset.node_split("train"))
        self._batch, self._fanouts = batch, fanouts

    def __len__(self) -> int:
        return len(self._nodes) // self._batch

    def __getitem__(self, index: int) -> Batch:
        seeds = self._nodes[index * self._batch : (index + 1) * self._batch]
        found = self._lists.sample(seeds, self._fanouts, index, 1)
        indptr = torch.from_numpy(found.indptr)
        edges = torch.stack([torch.from_numpy(found.indices).long(), torch.repeat_interleave(indptr.diff())])
        x = self._features.index_select(0, torch.from_numpy(found.nodes))
        return x, edges, self._labels[torch.from_numpy(seeds)], found.hop_nodes.tolist(), found.hop_edges.tolist()


def ours(a: argparse.Namespace, pinned: bool) -> Iterator[Batch]:
    yield from torch.utils.data.DataLoader(
        Surroundings(a.folder, a.batch, a.fanouts), batch_size=None, num_workers=a.workers, pin_memory=pinned
    )


def theirs(a: argparse.Namespace, pinned: bool) -> Iterator[Batch]:
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    features, labels, pairs, seeds = (
        torch.from_numpy(np.load(a.folder / f"{name}.npy")) for name in ("features", "labels", "all", "train")
    )
    data = Data(x=features, y=labels, edge_index=to_undirected(pairs.T.long(), num_nodes=len(features)))
    loader = NeighborLoader(
        data,
        num_neighbors=a.fanouts,
        input_nodes=seeds,
        batch_size=a.batch,
        shuffle=True,
        drop_last=True,
        num_workers=a.workers,
        pin_memory=pinned,
    )
    for batch in loader:
        nodes, edges = (getattr(batch, f"num_sampled_{kind}", None) for kind in ("nodes", "edges"))
        yield batch.x, batch.edge_index, batch.y[: a.batch], nodes, edges


def train(batches: Iterator[Batch], a: argparse.Namespace, device: torch.device) -> float:
    """Batches per second."""
    model: Any = GraphSAGE(WIDTH, WIDTH, len(a.fanouts), CLASSES).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    start = count = 0.0
    for index, (*tensors, nodes, edges) in enumerate(batches):
        if index == WARM_UP:
            finish(device)
            start = time.perf_counter()
        x, edge_index, labels = (each.to(device, non_blocking=True) for each in tensors)
        optimizer.zero_grad()
        out = model(x, edge_index, num_sampled_nodes_per_hop=nodes, num_sampled_edges_per_hop=edges)
        torch.nn.functional.cross_entropy(out[: len(labels)], labels).backward()
        optimizer.step()
        count = index + 1
    finish(device)
    return (count - WARM_UP) / (time.perf_counter() - start)


def finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--fanouts", type=lambda text: [int(each) for each in text.split(",")], default=[15, 10, 5])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    a = parser.parse_args()
    device, compiled = torch.device(a.device), "pyg-lib" if WITH_PYG_LIB else "torch-sparse" if WITH_TORCH_SPARSE else ""
    batches = (theirs if compiled else ours)(a, device.type == "cuda")
    name = f"NeighborLoader over {compiled}" if compiled else "DataLoader over our sampler (no pyg-lib, no torch-sparse)"
    print(json.dumps({"loader": name, "batches_per_s": train(batches, a, device)}), flush=True)


if __name__ == "__main__":
    main()
