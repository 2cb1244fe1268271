"""Train on graphs that are made up, and compare with plain PyTorch: are models right on graphs that nothing was chosen by?

    python scripts/bench/made_up.py [--graphs weak,social] [--seeds 0,1,2] [--recipes "default;4 resident"] [--peers yes|no]
                                    [--work FOLDER] [--table FILE]

Each row is a graph of `made_up_graphs.py`, `made_up_worlds.py`, `made_up_weights.py`, `made_up_nodes.py`, `made_up_classes.py`,
`made_up_ends.py`, `made_up_profiles.py`, `made_up_trades.py`, `made_up_contagion.py` or `made_up_large.py`, a recipe and the test
figure by seed: filtered MRR, accuracy, micro F1 or (of a rare class) ROC AUC, and the epochs. Recipes are what a user types.
Peers are written in plain PyTorch and PyTorch Geometric, and look at everything at once. `mlp known` sees which neighbours are
training nodes of which class, where classes pass along edges. `oracle` knows how the graph was made,
`popularity` ranks by counts of training edges. `made_up_counts.py` counts more; its figures are of 1,200 test edges.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from made_up_classes import CLASSES
from made_up_contagion import CONTAGION, known_neighbours
from made_up_counts import counters
from made_up_ends import ENDS
from made_up_figures import classed_right, figure_of
from made_up_graphs import LINKS as GRAPHS
from made_up_graphs import Links
from made_up_large import LARGE
from made_up_nodes import NODES as FEATURED
from made_up_nodes import Nodes
from made_up_profiles import PROFILES
from made_up_weights import WEIGHTS
from made_up_worlds import WORLDS
from torch.nn import functional as F

from marius_lite.cli.main import run

Array = npt.NDArray[Any]
LINKS: dict[str, Callable[[int], Links]] = {**GRAPHS, **WORLDS, **WEIGHTS}
NODES: dict[str, Callable[[int], Nodes]] = {**FEATURED, **CLASSES, **ENDS, **PROFILES, **CONTAGION, **LARGE}
COUNTED = 1200
ONE = ["--set", "training.threads=1"]
QUARTER = ["--set", "storage.capacity=4"]
RECIPES: dict[str, list[str]] = {"default": [], "4 resident": QUARTER, "mixed": ["--set", "training.precision=mixed"]}
OF_LINKS: dict[str, list[str]] = {
    **RECIPES,
    "kg": ["--config", "preset:kg"],
    "kg, 4 resident": ["--config", "preset:kg", *QUARTER],
    "kg-large": ["--config", "preset:kg-large"],
    "kg-large, 4 resident": ["--config", "preset:kg-large", *QUARTER],
    "kg-small": ["--config", "preset:kg-small", "--set", "model.dim=256"],
    "social": ["--config", "preset:social"],
    "social, 4 resident": ["--config", "preset:social", *QUARTER],
    "plain": ["--config", "preset:plain"],
    "plain, 4 resident": ["--config", "preset:plain", *QUARTER],
    "plain, 4 lanes": ["--config", "preset:plain", "--set", "scale.ranks=4"],
    "2 lanes": ["--set", "scale.ranks=2"],
    "sage": ["--set", "model.encoder=sage"],
    "sage, 4 resident": ["--set", "model.encoder=sage", *QUARTER],
    "held": ["--set", "regularizer.eases=false"],
    "alike": ["--set", "training.weight_power=0"],
    "by weight": ["--set", "training.weight_power=1"],
    "dot": ["--set", "model.decoder=dot"],
    "complex": ["--set", "model.decoder=complex"],
    "distmult": ["--set", "model.decoder=distmult"],
}
OF_NODES: dict[str, list[str]] = {
    **RECIPES,
    "sage": ["--config", "preset:sage"],
    "score 0": ["--set", "evaluation.calibrated=false"],
    "score 0, 4 resident": ["--set", "evaluation.calibrated=false", *QUARTER],
    "8 hops": ["--set", "init.hops=8"],
    "by accuracy": ["--set", "training.metric=accuracy", "--set", "model.directions=in"],
    "balanced": ["--set", "loss.class_weights=balanced"],
    "degrees not seen": ["--set", "model.degree_unit=0"],
    "classes not seen": ["--set", "model.known_classes=false"],
    "features": ["--set", "model.inputs=features"],
    "two hops": ["--set", "model.layers=[128]", "--set", "model.inputs=features"],
    "columns": ["--set", "model.normalize_features=columns"],
    "codes as amounts": ["--set", "model.codes={}"],
    "some neighbours": ["--set", "sampling.fanouts=[15,10]"],
    "gcn": ["--config", "preset:gcn"],
    "divided": ["--set", "model.normalize_features=true"],
    "drawn rows": ["--set", "init.hops=0", "--set", "model.directions=in"],
    "sage, 4 resident": ["--config", "preset:sage", *QUARTER],
    "sage, 4 resident alone": ["--config", "preset:sage", *QUARTER, "--set", "sampling.scope=resident"],
    "gat": ["--set", "model.encoder=gat"],
    "layerwise": ["--set", "training.method=layerwise"],
    "sgc": ["--set", "model.encoder=sgc", "--set", "training.method=layerwise"],
    "sign": ["--set", "model.encoder=sign", "--set", "training.method=layerwise"],
}


def marius(*arguments: str | Path) -> dict[str, Any]:
    """Run a command in this process, which has loaded what commands need, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run([*map(str, arguments), "--json"])
    if code:
        raise RuntimeError(f"{arguments[0]} ended with {code}")
    result: dict[str, Any] = json.loads(printed.getvalue())
    return result


def stored_links(graph: Links, folder: Path) -> None:
    columns = ["src", "rel", "dst"] if graph.relations > 1 else ["src", "dst"]
    for name, edges, weights in zip(("train", "valid", "test"), graph.splits, graph.weights or [None] * 3):
        table = edges if graph.relations > 1 else edges[:, [0, 2]]
        np.savetxt(folder / f"{name}.tsv", table if weights is None else np.column_stack([table, weights]), "%.9g", "\t")
    files = [folder / "train.tsv", "--valid", folder / "valid.tsv", "--test", folder / "test.tsv"]
    files += ["--columns", ",".join([*columns, "weight"])] if graph.weights else []
    marius("preprocess", *files, *graph.options, "--output", folder / "dataset", "--partitions", "16", "--adjacency", "in")


def stored_nodes(graph: Nodes, folder: Path) -> None:
    beside = {"rel": graph.relation, "weight": None if graph.weights is None else graph.weights.astype(float)}
    more = {name: values for name, values in beside.items() if values is not None}
    edges = np.column_stack([graph.edges, *more.values()])
    columns = ["--columns", ",".join(["src", "dst", *more])] if more else []
    np.save(folder / "edges.npy", edges)
    np.save(folder / "x.npy", graph.x)
    np.save(folder / "y.npy", graph.y)
    ids: list[str | Path] = []
    for name, nodes in zip(("train", "valid", "test"), graph.splits):
        np.save(folder / f"{name}.npy", nodes)
        ids += [f"--{name}-nodes", folder / f"{name}.npy"]
    table = [*(["--features", folder / "x.npy"] if graph.x.shape[1] else []), "--labels", folder / "y.npy"]
    both = [] if graph.one_way else ["--undirected"]
    told = [*columns, *both, *table, *ids]
    marius("preprocess", folder / "edges.npy", *told, "--output", folder / "dataset", "--partitions", "16", "--adjacency", "in")


def trained(folder: Path, recipe: list[str], seed: int, to: Path) -> dict[str, Any]:
    """Train and evaluate. Returns the figures of the test split."""
    epochs = marius("train", folder / "dataset", "--run", to, *ONE, *recipe, "--set", f"training.seed={seed}", "--quiet")[
        "epochs"
    ]
    return {**marius("eval", to, "--quiet"), "epochs": epochs}


def in_both(graph: Links) -> list[torch.Tensor]:
    """Edges by split, in both directions where the dataset has them so."""
    both = "--undirected" in graph.options
    return [torch.from_numpy(np.concatenate([e, e[:, ::-1]]) if both else e).long() for e in graph.splits]


def ranked(
    scores: Callable[[torch.Tensor, torch.Tensor, bool], torch.Tensor], splits: list[torch.Tensor], at: int, nodes: int
) -> float:
    """Filtered MRR of a split's edges on both sides, without the query's own node; ties have their mean rank."""
    known: dict[tuple[int, int, bool], list[int]] = {}
    for s, r, d in torch.cat(splits).tolist():
        known.setdefault((s, r, True), []).append(d)
        known.setdefault((d, r, False), []).append(s)
    total = 0.0
    for part in splits[at].split(500):
        for forward in (True, False):
            query, answer = (part[:, 0], part[:, 2]) if forward else (part[:, 2], part[:, 0])
            found = scores(query, part[:, 1], forward).clone().double()
            right = found.gather(1, answer[:, None])
            for k, (node, relation) in enumerate(zip(query.tolist(), part[:, 1].tolist())):
                found[k, [*known[node, relation, forward], node]] = -torch.inf
            above, equal = (found > right).sum(1), ((found == right) & (found > -torch.inf)).sum(1)
            total += float((1 / (1 + above + equal / 2)).sum())
    return total / (2 * len(splits[at]))


class Bilinear(torch.nn.Module):
    """ComplEx (or an inner product), with a bias for each node and side."""

    def __init__(self, graph: Links, dim: int, popular: torch.Tensor) -> None:
        super().__init__()
        self.dot = "--undirected" in graph.options
        self.node = torch.nn.Parameter(torch.randn(graph.nodes, dim) * 1e-3)
        self.relation = torch.nn.Parameter(torch.randn(2 * graph.relations, dim) * 1e-3 + 1.0 * self.dot)
        self.bias = torch.nn.Parameter(popular)
        self.relations = graph.relations

    def query(self, node: torch.Tensor, relation: torch.Tensor, forward: bool) -> torch.Tensor:
        rows = self.node[node]
        if self.dot:
            return rows
        (a, b), (c, d) = rows.chunk(2, 1), self.relation[relation + (0 if forward else self.relations)].chunk(2, 1)
        return torch.cat([a * c - b * d, a * d + b * c], 1)

    def forward(self, node: torch.Tensor, relation: torch.Tensor, forward: bool) -> torch.Tensor:
        return self.query(node, relation, forward) @ self.node.T + self.bias[int(forward)]


def peer_links(graph: Links, seed: int, n3: float, biases: bool, epochs: int = 24, dim: int = 64) -> tuple[float, float]:
    """Train by Adagrad against all nodes (Lacroix et al.). Returns the best validation MRR, and the test MRR there."""
    torch.manual_seed(seed)
    splits = in_both(graph)
    counts = torch.stack([torch.bincount(splits[0][:, k], minlength=graph.nodes) for k in (0, 2)])
    model = Bilinear(graph, dim, (counts + 0.5).log() if biases else torch.zeros(2, graph.nodes))
    weights = [p for name, p in model.named_parameters() if biases or name != "bias"]
    optimizer = torch.optim.Adagrad(weights, lr=0.1)
    best, since = (-1.0, 0.0), 0
    for epoch in range(epochs):
        for part in splits[0][torch.randperm(len(splits[0]))].split(500):
            loss = torch.zeros(())
            for forward in (True, False):
                query, answer = (part[:, 0], part[:, 2]) if forward else (part[:, 2], part[:, 0])
                loss = loss + F.cross_entropy(model(query, part[:, 1], forward), answer, reduction="sum")
                rows = [model.node[query], model.node[answer]]
                loss = loss + n3 * sum((row.unflatten(1, (2, -1)).square().sum(1) + 1e-12).pow(1.5).sum() for row in rows)
            optimizer.zero_grad()
            (loss / len(part)).backward()
            optimizer.step()
        if epoch % 4 == 3:
            with torch.no_grad():
                figure = ranked(model, splits, 1, graph.nodes)
                if figure > best[0]:
                    best, since = (figure, ranked(model, splits, 2, graph.nodes)), 0
                else:
                    since += 1
            if since == 2:
                break
    return best


def peers_of_links(graph: Links, seed: int) -> dict[str, float]:
    splits = in_both(graph)
    counts = [torch.bincount(splits[0][:, k], minlength=graph.nodes).double() for k in (0, 2)]
    result = {"popularity": ranked(lambda q, _, forward: counts[2 * forward // 2].expand(len(q), -1), splits, 2, graph.nodes)}
    oracle = graph.oracle
    if oracle is not None:
        chance = torch.Generator().manual_seed(seed)

        def known(q: torch.Tensor, r: torch.Tensor, forward: bool) -> torch.Tensor:
            scores = torch.from_numpy(oracle(q.numpy(), r.numpy(), forward))
            return scores + 1e-9 * torch.rand(scores.shape, generator=chance)  # what it cannot tell apart, it orders by chance

        result["oracle"] = ranked(known, splits, 2, graph.nodes)
    mixed = splits[2][torch.randperm(len(splits[2]), generator=torch.Generator().manual_seed(1))]
    some = [splits[0], splits[1], mixed[:COUNTED], mixed[COUNTED:]]
    for kind, scores in counters(splits[0], graph.nodes, graph.relations).items():
        result[kind] = ranked(scores, some, 2, graph.nodes)
    tried = [peer_links(graph, seed, n3, graph.relations == 1) for n3 in (0.03,)]
    return {**result, "peer": max(tried)[1]}


def peer_nodes(graph: Nodes, kind: str, seed: int, epochs: int = 300) -> float:
    """Two full-batch layers of PyTorch Geometric, Adam 0.01. Returns the test figure of the epoch that validates best.

    Without features each node has 64 numbers that are learned.
    """
    from torch_geometric.nn import GCN, MLP, GraphSAGE

    torch.manual_seed(seed)
    edges = torch.from_numpy(np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.copy())
    x, y = torch.from_numpy(graph.x), torch.from_numpy(graph.y.astype(np.int64))
    x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6) if x.shape[1] else torch.randn(len(x), 64).requires_grad_()
    if kind == "mlp known":
        x = torch.cat([torch.from_numpy(graph.x), torch.from_numpy(known_neighbours(graph))], 1)
    several = y.ndim == 2
    width = y.shape[1] if several else int(y.max()) + 1
    model = (
        MLP([x.shape[1], 64, width])
        if "mlp" in kind
        else {"gcn": GCN, "sage": GraphSAGE}[kind](x.shape[1], 64, 2, width, dropout=0.5)
    )
    learned = [x] if x.requires_grad else []
    optimizer = torch.optim.Adam([*model.parameters(), *learned], lr=0.01, weight_decay=5e-4)
    train, valid, test = (torch.from_numpy(part) for part in graph.splits)
    best = (-1.0, 0.0)
    for _ in range(epochs):
        model.train()
        out = model(x) if "mlp" in kind else model(x, edges)
        loss = (
            F.binary_cross_entropy_with_logits(out[train], y[train].float()) if several else F.cross_entropy(out[train], y[train])
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(x) if "mlp" in kind else model(x, edges)
        best = max(best, (classed_right(out[valid], y[valid]), classed_right(out[test], y[test])), key=lambda pair: pair[0])
    return best[1]


def rows_of(name: str, seed: int, recipes: list[str], peers: bool, folder: Path) -> dict[str, str]:
    """The test figure of each recipe and peer on one graph, with the epochs of ours."""
    link = name in LINKS
    graph: Any = (LINKS if link else NODES)[name](seed)
    table, result = (OF_LINKS if link else OF_NODES), {}
    if peers and link:
        result = {kind: f"{figure:.4f}" for kind, figure in peers_of_links(graph, seed).items()}
    elif peers:
        kinds = ["mlp", "gcn", "sage", *(["mlp known"] if name in CONTAGION else [])]
        result = {f"PyG {kind}": f"{100 * peer_nodes(graph, kind, seed):.1f}" for kind in kinds}
    if recipes:
        (stored_links if link else stored_nodes)(graph, folder)
    for number, recipe in enumerate(recipes):
        try:
            figures = trained(folder, table[recipe], seed, folder / f"run{number}")
        except RuntimeError as error:
            result[recipe] = f"{error}"
            continue
        kind = "mrr" if link else figure_of(graph.y)
        main = figures[kind] if link else 100 * figures[kind]
        result[recipe] = f"{main:.4f} ({figures['epochs']})" if link else f"{main:.1f} ({figures['epochs']})"
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default=",".join(name for name in [*LINKS, *NODES] if name not in LARGE))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--recipes", default="default;4 resident", help="separated by ;")
    parser.add_argument("--peers", default="yes", choices=["yes", "no"])
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--table", type=Path, default=None)
    a = parser.parse_args()
    torch.set_num_threads(1)
    for name in a.graphs.split(","):
        known = OF_LINKS if name in LINKS else OF_NODES
        recipes = [recipe for recipe in a.recipes.split(";") if recipe in known]
        rows: dict[str, list[str]] = {}
        for seed in map(int, a.seeds.split(",")):
            with tempfile.TemporaryDirectory(dir=a.work) as folder:
                for kind, figure in rows_of(name, seed, recipes, a.peers == "yes", Path(folder)).items():
                    rows.setdefault(kind, []).append(figure)
        for kind, figures in rows.items():
            line = f"| {name} | {kind} | {' | '.join(figures)} |"
            print(line, flush=True)
            if a.table:
                with a.table.open("a") as file:
                    print(line, file=file)


if __name__ == "__main__":
    main()
