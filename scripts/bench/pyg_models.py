"""PyTorch Geometric's models with its loader over `Data` in memory, and with ours over a dataset: only the loader is swapped.

    python scripts/bench/pyg_models.py [--data FOLDER] [--models sage,gat,rgcn,link,link-large,sage-wide] [--seeds 5] [--rounds 3]
        [--work FOLDER] [--memory 4GB] [--threads 1]

FOLDER has cora/cora.npz and coauthor-physics/coauthor_physics.npz; a graph that is not there is left out. That of R-GCN, with
three relations, is made up, and one of 100,000 nodes and 2 M edges for links. Datasets have 8 partitions and permuted raw ids,
which every batch is checked against. Both sides train the same model from the same weights, for as many epochs, and are
evaluated by the same function over all neighbours. With `--seeds 0` only the loaders are timed.

Their loader is NeighborLoader (LinkNeighborLoader) where pyg-lib or torch-sparse is installed. Otherwise it is a loop over
`k_hop_subgraph`: all neighbours, nothing is sampled, and no links. The first line says which. Prints a line a model: the test
accuracy of both (the AUC of links), mean and standard deviation over the seeds; and, of the loaders alone, the median of batches
per second, each a pass over the training nodes or links, in turn, after a first one. Files are in the page cache.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch_geometric
from machine_facts import cpu_name
from pyg_graphs import GRAPHS, Graph, dataset_of, without_links
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch_geometric import typing as installed
from torch_geometric.data import Data
from torch_geometric.loader import LinkNeighborLoader as TheirLinks
from torch_geometric.loader import NeighborLoader as TheirNodes
from torch_geometric.nn import GAT, GraphSAGE, RGCNConv
from torch_geometric.utils import k_hop_subgraph, to_torch_csr_tensor

from marius_lite.pyg import LinkNeighborLoader, NeighborLoader

SAMPLES = installed.WITH_PYG_LIB or installed.WITH_TORCH_SPARSE
Loader = Iterable[Data]


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. ``graph``: what it is trained on."""

    graph: str
    model: Callable[[Graph], torch.nn.Module]
    fanouts: tuple[int, ...]
    batch_size: int
    epochs: int
    lr: float
    decay: float = 5e-4
    links: bool = False


class RGCN(torch.nn.Module):
    """Two layers of RGCNConv, as in PyTorch Geometric's example."""

    def __init__(self, width: int, hidden: int, out: int, relations: int):
        super().__init__()
        self.first, self.second = RGCNConv(width, hidden, relations), RGCNConv(hidden, out, relations)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_type: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index, edge_type).relu(), edge_index, edge_type)


def classes(graph: Graph) -> int:
    return int(graph.data.y.max()) + 1


RECIPES = {
    "sage": Recipe("cora", lambda g: GraphSAGE(g.data.num_features, 64, 2, classes(g), dropout=0.5), (10, 10), 35, 30, 0.005),
    "gat": Recipe("cora", lambda g: GAT(g.data.num_features, 64, 2, classes(g), dropout=0.6, heads=8), (10, 10), 35, 40, 0.005),
    "rgcn": Recipe("relations", lambda g: RGCN(g.data.num_features, 16, classes(g), g.relations), (10, 10), 64, 10, 0.01),
    "link": Recipe("cora", lambda g: GraphSAGE(g.data.num_features, 64, 2, 64), (10, 10), 256, 10, 0.003, links=True),
    "link-large": Recipe("communities", lambda g: GraphSAGE(g.data.num_features, 64, 2, 64), (10, 10), 256, 3, 0.003, links=True),
    "sage-wide": Recipe(
        "coauthor-physics", lambda g: GraphSAGE(g.data.num_features, 64, 2, classes(g), dropout=0.5), (10, 10), 32, 8, 0.003
    ),
}


class AllNeighbours:
    """Where PyTorch Geometric has no sampler: batches with all neighbours of as many hops, by `k_hop_subgraph`."""

    def __init__(self, data: Data, hops: int, nodes: torch.Tensor, batch_size: int):
        self._data, self._hops, self._nodes, self._size = data, hops, nodes, batch_size

    def __iter__(self) -> Iterator[Data]:
        for seeds in self._nodes[torch.randperm(len(self._nodes))].split(self._size):
            nodes, ends, at, kept = k_hop_subgraph(seeds, self._hops, self._data.edge_index, True, num_nodes=self._data.num_nodes)
            order = torch.cat([at, torch.tensor(sorted(set(range(len(nodes))) - set(at.tolist())), dtype=torch.int64)])
            place = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order)))
            ids = nodes[order]
            more = {"edge_type": self._data.edge_type[kept]} if "edge_type" in self._data else {}
            yield Data(self._data.x[ids], place[ends], y=self._data.y[ids], n_id=ids, batch_size=len(seeds), **more)


def theirs(graph: Graph, recipe: Recipe) -> Loader:
    how: dict[str, Any] = {"batch_size": recipe.batch_size, "shuffle": True}
    if recipe.links:
        return TheirLinks(graph.data, list(recipe.fanouts), edge_label_index=graph.loaded, neg_sampling_ratio=1.0, **how)
    if SAMPLES:
        return TheirNodes(graph.data, list(recipe.fanouts), input_nodes=graph.train, **how)
    return AllNeighbours(graph.data, len(recipe.fanouts), graph.train, recipe.batch_size)


def ours(dataset: Path, graph: Graph, recipe: Recipe, a: argparse.Namespace, seed: int) -> NeighborLoader | LinkNeighborLoader:
    how: dict[str, Any] = {"batch_size": recipe.batch_size, "shuffle": True, "seed": seed}
    more = {"memory": a.memory, "threads": a.threads, "folder": a.work}
    if recipe.links:
        return LinkNeighborLoader(
            dataset, list(recipe.fanouts), edge_label_index=graph.loaded, neg_sampling_ratio=1, **how, **more
        )
    return NeighborLoader(dataset, list(recipe.fanouts), input_nodes=graph.train, **how, **more)


def values(model: torch.nn.Module, batch: Data) -> torch.Tensor:
    types = [batch.edge_type] if "edge_type" in batch else []
    found: torch.Tensor = model(batch.x, batch.edge_index, *types)
    return found


def trained(graph: Graph, recipe: Recipe, loader: Loader, seed: int, checked: bool) -> float:
    """The test figure of a model trained by ``loader``. ``checked``: each batch is compared with the source."""
    torch.manual_seed(seed)
    model = recipe.model(graph)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr, weight_decay=recipe.decay)
    model.train()
    for _ in range(recipe.epochs):
        for batch in loader:
            if checked:
                assert torch.equal(batch.x, graph.data.x[batch.n_id])
                assert recipe.links or torch.equal(batch.y[: batch.batch_size], graph.data.y[batch.n_id[: batch.batch_size]])
            optimizer.zero_grad()
            found = values(model, batch)
            if recipe.links:
                source, target = batch.edge_label_index
                loss = binary_cross_entropy_with_logits((found[source] * found[target]).sum(1), batch.edge_label)
            else:
                loss = cross_entropy(found[: batch.batch_size], batch.y[: batch.batch_size])
            loss.backward()
            optimizer.step()
    return evaluated(graph, recipe, model.eval())


@torch.no_grad()
def evaluated(graph: Graph, recipe: Recipe, model: torch.nn.Module) -> float:
    """Accuracy of the test nodes, over all neighbours; of links the AUC against as many random pairs."""
    found = model(graph.data.x, adjacency(graph)) if isinstance(model, GraphSAGE) else values(model, graph.data)
    if not recipe.links:
        return float((found[graph.test].argmax(1) == graph.data.y[graph.test]).float().mean())
    assert graph.links is not None
    others = torch.from_numpy(np.random.default_rng(4).integers(graph.data.num_nodes, size=tuple(graph.links.shape)))
    scores = [(found[pairs[0]] * found[pairs[1]]).sum(1) for pairs in (graph.links, others)]
    right = (scores[0][:, None] > scores[1][None]).float() + 0.5 * (scores[0][:, None] == scores[1][None]).float()
    return float(right.mean())


def adjacency(graph: Graph) -> torch.Tensor:
    """The edges as a sparse matrix: where features are wide, a row for each edge does not fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that such matrices are new
        return to_torch_csr_tensor(graph.data.edge_index.flip(0), size=(graph.data.num_nodes,) * 2)


def batches_per_s(loader: Loader) -> float:
    started, count = time.perf_counter(), 0
    for _ in loader:
        count += 1
    return count / (time.perf_counter() - started)


def compared(name: str, a: argparse.Namespace) -> str:
    """A line of the table."""
    recipe = RECIPES[name]
    graph = GRAPHS[recipe.graph](a.data)
    if recipe.links:
        graph = without_links(graph)
    dataset = dataset_of(graph, a.work / name)
    figures: dict[str, list[float]] = {"theirs": [], "ours": []}
    for seed in range(a.seeds):
        torch.manual_seed(seed + 1000)  # their loader draws from it
        if SAMPLES or not recipe.links:
            figures["theirs"].append(trained(graph, recipe, theirs(graph, recipe), seed, checked=False))
        with ours(dataset, graph, recipe, a, seed) as loader:
            figures["ours"].append(trained(graph, recipe, loader, seed, checked=True))
    rates: dict[str, list[float]] = {"theirs": [], "ours": []}
    with ours(dataset, graph, recipe, a, 0) as loader:
        for _ in range(a.rounds + 1):
            if SAMPLES or not recipe.links:
                rates["theirs"].append(batches_per_s(theirs(graph, recipe)))
            rates["ours"].append(batches_per_s(loader))
    speed = {side: statistics.median(found[1:]) if found else None for side, found in rates.items()}
    cells = [f"{name}, {recipe.graph}", shown(figures["theirs"]), shown(figures["ours"])]
    cells += [f"{rate:.1f}" if rate else "-" for rate in speed.values()]
    cells.append(f"{speed['ours'] / speed['theirs']:.2f}x" if speed["theirs"] and speed["ours"] else "-")
    return "| " + " | ".join(cells) + " |"


def shown(figures: list[float]) -> str:
    if not figures:
        return "-"
    return f"{100 * statistics.mean(figures):.1f} ± {100 * (statistics.stdev(figures) if len(figures) > 1 else 0):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(RECIPES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--work", type=Path, default=Path("build/bench/pyg_models"))
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    sampler = (
        "pyg-lib" if installed.WITH_PYG_LIB else "torch-sparse" if SAMPLES else "no sampler: all neighbours, by k_hop_subgraph"
    )
    print(
        f"{cpu_name()}, {a.threads} threads, torch {torch.__version__}, torch_geometric {torch_geometric.__version__} ({sampler})"
    )
    print(f"memory of our loader: {a.memory}, {a.seeds} seeds, medians of {a.rounds} rounds")
    print("| model, graph | theirs | ours | theirs, batches/s | ours | |\n|---|---|---|---|---|---|")
    for name in a.models:
        folder = {"cora": "cora", "coauthor-physics": "coauthor-physics"}.get(RECIPES[name].graph)
        if folder and not (a.data / folder).is_dir():
            print(f"| {name}, {folder} | {a.data / folder} is not there | | | | |")
            continue
        print(compared(name, a), flush=True)


if __name__ == "__main__":
    main()
