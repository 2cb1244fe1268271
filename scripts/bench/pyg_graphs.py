"""The graphs of `pyg_models.py`: read or made up, with permuted ids, and the same as datasets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from marius_lite import make_dataset

MOST_TESTED, MOST_LOADED = 2000, 10_000
"""Links that are tested, and that an epoch trains, at most."""


@dataclass
class Graph:
    """A graph whose nodes have permuted ids. ``links``: edges that are tested, (2, m); the graph does not have them.

    ``loaded``: the edges that an epoch of links trains, (2, m).
    """

    data: Data
    train: torch.Tensor
    test: torch.Tensor
    relations: int = 1
    links: torch.Tensor | None = None
    loaded: torch.Tensor | None = None


def permuted(edges: np.ndarray, x: np.ndarray, y: np.ndarray, seed: int) -> tuple[Data, np.ndarray]:
    """The graph with ids drawn anew; what each node is called now."""
    called = np.random.default_rng(seed).permutation(len(y))
    order = np.argsort(called)
    return Data(
        torch.from_numpy(x[order]), torch.from_numpy(called[edges]), y=torch.from_numpy(y[order].astype(np.int64))
    ), called


def stored(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Distinct edges (2, E), features as float32, each row divided by its sum, and labels of an archive."""
    archive = dict(np.load(path))
    x = np.zeros(archive["feat_shape"], np.float32)
    rows = np.repeat(np.arange(len(x)), np.diff(archive["feat_indptr"]))
    x[rows, archive["feat_indices"]] = archive["feat_data"]
    x /= np.maximum(x.sum(1, keepdims=True), 1e-9)
    return np.unique(archive["edges"], axis=0).T.astype(np.int64), x, archive["labels"], archive


def cora(folder: Path) -> Graph:
    edges, x, y, archive = stored(folder / "cora/cora.npz")
    data, called = permuted(edges, x, y, 0)
    return Graph(data, torch.from_numpy(called[archive["train"]]), torch.from_numpy(called[archive["test"]]))


def physics(folder: Path) -> Graph:
    """A hundred training nodes of each class; 5,000 others are tested."""
    edges, x, y, _ = stored(folder / "coauthor-physics/coauthor_physics.npz")
    data, called = permuted(edges, x, y, 0)
    order = np.random.default_rng(1).permutation(len(y))
    train = np.concatenate([order[y[order] == c][:100] for c in range(5)])
    return Graph(data, torch.from_numpy(called[train]), torch.from_numpy(called[np.setdiff1d(order, train)[:5000]]))


def relations(_: Path, n: int = 4000) -> Graph:
    """Nodes of 4 classes. One relation leads to the own class, one to the next, one anywhere: features alone say little."""
    rng = np.random.default_rng(2)
    y = rng.integers(4, size=n)
    x = (rng.normal(size=(n, 16)) + np.eye(4, 16)[y]).astype(np.float32)
    target, kind = rng.integers(n, size=(2, 10 * n)) % [[n], [3]]
    members = [np.flatnonzero(y == c) for c in range(4)]
    near = np.array([rng.choice(members[(y[t] + k) % 4]) for t, k in zip(target, kind)])
    source = np.where(kind == 2, rng.integers(n, size=len(target)), near)
    data, called = permuted(np.stack([source, target]), x, y, 0)
    data.edge_type = torch.from_numpy(kind)
    order = torch.from_numpy(called[rng.permutation(n)])
    return Graph(data, order[: n // 5], order[n // 5 :], relations=3)


def communities(_: Path, n: int = 100_000, degree: int = 20, classes: int = 32) -> Graph:
    """Most edges lead to a node of the own class. A node's features say little of it, those of its neighbours more."""
    rng = np.random.default_rng(5)
    y = np.sort(rng.integers(classes, size=n))
    source, target = rng.integers(n, size=(2, degree * n))
    begins = np.searchsorted(y, np.arange(classes + 1))
    near = begins[y[source]] + target % np.diff(begins)[y[source]]
    x = rng.normal(size=(n, 128)).astype(np.float32) + rng.normal(size=(classes, 128), scale=0.1).astype(np.float32)[y]
    data, called = permuted(np.stack([source, np.where(rng.random(len(source)) < 0.8, near, target)]), x, y, 0)
    order = torch.from_numpy(called[rng.permutation(n)])
    return Graph(data, order[: n // 10], order[n // 10 :])


GRAPHS: dict[str, Callable[[Path], Graph]] = {
    "cora": cora,
    "coauthor-physics": physics,
    "relations": relations,
    "communities": communities,
}


def without_links(graph: Graph) -> Graph:
    """The graph without a tenth of its links, or 2,000, in both directions, and these as what is tested."""
    ends = graph.data.edge_index[:, graph.data.edge_index[0] < graph.data.edge_index[1]]
    keys = (ends[0] * graph.data.num_nodes + ends[1]).unique()  # sorted, which takes columns much longer
    once = torch.stack([keys // graph.data.num_nodes, keys % graph.data.num_nodes])
    order = torch.from_numpy(np.random.default_rng(3).permutation(once.shape[1]))
    count = min(len(order) // 10, MOST_TESTED)
    tested, kept = once[:, order[:count]], once[:, order[count:]]
    data = Data(graph.data.x, torch.cat([kept, kept.flip(0)], 1), y=graph.data.y)
    drawn = torch.from_numpy(np.random.default_rng(6).permutation(data.num_edges)[:MOST_LOADED])
    return Graph(data, graph.train, graph.test, links=tested, loaded=data.edge_index[:, drawn])


def dataset_of(graph: Graph, folder: Path) -> Path:
    """The graph as a dataset of 8 partitions."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = graph.data.edge_index.T.numpy()
    rows = ends if graph.relations == 1 else np.insert(ends, 1, graph.data.edge_type.numpy(), 1)
    np.save(folder / "edges.npy", rows)
    np.save(folder / "x.npy", graph.data.x.numpy())
    np.save(folder / "y.npy", graph.data.y.numpy())
    make_dataset(
        [folder / "edges.npy"],
        folder / "dataset",
        partitions=8,
        adjacency="in",
        features=folder / "x.npy",
        labels=folder / "y.npy",
        overwrite=True,
    )
    return folder / "dataset"
