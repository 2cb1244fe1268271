"""A graph with communities, and features that say which one a node is in only when its neighbours' are averaged.

    python data_prep/attributed_graph.py OUT [--nodes 2000000] [--edges 40000000] [--features 128] [--classes 32]
        [--homophily 0.7] [--signal 1.0] [--split 0.1,0.05,0.1] [--alpha 0.5] [--seed 0]

A node's class is its community. An edge's source is drawn from all nodes, its destination, with probability ``homophily``,
from the source's community, else from all nodes; inside a community popularity is (rank + 10)^-alpha. A node's features are
its class's mean, a random vector of length ``signal``, plus noise of variance 1 in each column: one node's features say
little, the average over k neighbours has 1/k of the noise's variance. Nothing larger than the lists of nodes is held in
memory; what is written depends on the arguments only.

Writes OUT/edges-00000.npy, ... ((n, 2), int32 or int64), features.npy (float16), labels.npy, train.npy, valid.npy, test.npy (node
ids), and oracle.json, which is printed too. It says what share of a sample of test nodes is classified right from ``raw``
features and from ``averaged`` ones (the node's and its in-neighbours'): by an ``oracle`` that knows the means and takes the
nearest, and by ``regression``, logistic and fitted to as large a sample of training nodes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from power_law import PIECE, SHARD, PowerLaw

NODE_PIECE = 100_000
SAMPLE = 10_000
SPLITS = ("train", "valid", "test")
EDGES, NOISE, MEANS, SPLIT, CHOICE = range(5)  # purposes of random numbers
Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class AttributedGraph:
    """Draws edges and features. Place u in community u % classes has popularity rank u // classes; ids are places, dealt."""

    def __init__(self, nodes: int, classes: int, features: int, homophily: float, signal: float, alpha: float, seed: int):
        if classes < 2 or nodes % classes or nodes // classes < 2:
            raise SystemExit(f"{nodes} nodes in {classes} classes: --nodes must be a multiple of --classes, at least twice")
        self.nodes, self.classes, self.homophily, self.seed = nodes, classes, homophily, seed
        self._law = PowerLaw(nodes // classes, alpha)
        self._multiplier = PowerLaw(nodes, alpha).multiplier
        self._inverse = pow(self._multiplier, -1, nodes)
        means = self.generator(MEANS).standard_normal((classes, features))
        self.means: Floats = (signal * means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)

    def generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])

    def labels(self, ids: Ids) -> Ids:
        return ids * self._inverse % self.nodes % self.classes

    def edges(self, rng: np.random.Generator, count: int) -> Ids:
        """(count, 2) node ids, no self-loops."""
        communities = rng.integers(self.classes, size=(2, count))
        communities[1] = np.where(rng.random(count) < self.homophily, communities[0], communities[1])
        src, dst = (one + self.classes * self._law.ranks(rng, count) for one in communities)
        dst = np.where(src == dst, (dst + self.classes) % self.nodes, dst)
        return np.stack([src, dst], 1) * self._multiplier % self.nodes

    def pieces(self) -> Iterator[tuple[int, Ids]]:
        """(piece, its node ids)"""
        for piece, first in enumerate(range(0, self.nodes, NODE_PIECE)):
            yield piece, np.arange(first, min(first + NODE_PIECE, self.nodes))

    def features(self, piece: int, ids: Ids) -> npt.NDArray[np.float16]:
        noise = self.generator(NOISE, piece).standard_normal((len(ids), self.means.shape[1]), np.float32)
        return (noise + self.means[self.labels(ids)]).astype(np.float16)


def write_edges(out: Path, graph: AttributedGraph, edges: int) -> None:
    dtype = np.int32 if graph.nodes < 2**31 else np.int64
    for shard, first in enumerate(range(0, edges, SHARD)):
        rng, count = graph.generator(EDGES, shard), min(SHARD, edges - first)
        with NpyFile(out / f"edges-{shard:05d}.npy", (count, 2), dtype) as file:
            for at in range(0, count, PIECE):
                file.write(graph.edges(rng, min(PIECE, count - at)))


class NpyFile:
    """A .npy file written block by block."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike):
        self._dtype = np.dtype(dtype)
        self._file = path.open("wb")
        np.lib.format.write_array_header_1_0(self._file, {"descr": self._dtype.str, "fortran_order": False, "shape": shape})

    def write(self, block: npt.NDArray[np.generic]) -> None:
        self._file.write(np.ascontiguousarray(block, self._dtype).data)

    def __enter__(self) -> NpyFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def write_nodes(out: Path, graph: AttributedGraph, bounds: npt.NDArray[np.float64]) -> None:
    """Features, labels and lists; ``bounds``: where train, valid and test end among numbers from 0 to 1."""
    with (
        NpyFile(out / "features.npy", (graph.nodes, graph.means.shape[1]), np.float16) as features,
        NpyFile(out / "labels.npy", (graph.nodes,), np.int32) as labels,
    ):
        for piece, ids in graph.pieces():
            features.write(graph.features(piece, ids))
            labels.write(graph.labels(ids))
    for split, name in enumerate(SPLITS):
        chosen = [ids[split_of(graph, piece, len(ids), bounds) == split] for piece, ids in graph.pieces()]
        np.save(out / f"{name}.npy", np.concatenate(chosen))


def split_of(graph: AttributedGraph, piece: int, count: int, bounds: npt.NDArray[np.float64]) -> Ids:
    return np.searchsorted(bounds, graph.generator(SPLIT, piece).random(count), side="right")


def averages(out: Path, wanted: Ids) -> Floats:
    """The mean of each wanted node's features and its in-neighbours'; ``wanted`` ascending. One pass over the edges."""
    features = np.load(out / "features.npy", mmap_mode="r")
    sums, counts = features[wanted].astype(np.float32), np.ones(len(wanted))
    for path in sorted(out.glob("edges-*.npy")):
        shard = np.load(path, mmap_mode="r")
        for at in range(0, len(shard), PIECE):
            edges = np.array(shard[at : at + PIECE])
            place = np.minimum(np.searchsorted(wanted, edges[:, 1]), len(wanted) - 1)
            hits = wanted[place] == edges[:, 1]
            np.add.at(sums, place[hits], features[np.ascontiguousarray(edges[hits, 0])].astype(np.float32))
            counts += np.bincount(place[hits], minlength=len(wanted))
    return (sums / counts[:, None]).astype(np.float32)


def fit_regression(x: Floats, labels: Ids, classes: int, steps: int = 300, penalty: float = 1e-3) -> Floats:
    """Weights (features + 1, classes) of multinomial logistic regression, by gradient descent with momentum."""
    x = with_bias(x)
    targets = np.eye(classes, dtype=np.float32)[labels]
    weights = np.zeros((x.shape[1], classes), np.float32)
    speed = np.zeros_like(weights)
    rate = 1.0 / float(np.linalg.norm(x, 2) ** 2 / len(x) / 2 + penalty)
    for _ in range(steps):
        scores = x @ weights
        scores = np.exp(scores - scores.max(1, keepdims=True))
        scores /= scores.sum(1, keepdims=True)
        speed = 0.9 * speed - rate * (x.T @ (scores - targets) / len(x) + penalty * weights)
        weights = weights + speed
    return weights


def with_bias(x: Floats) -> Floats:
    return np.concatenate([x, np.ones((len(x), 1), np.float32)], 1)


def accuracy(graph: AttributedGraph, fit: tuple[Floats, Ids], test: tuple[Floats, Ids]) -> dict[str, float]:
    """Shares classified right of ``test``: (features, labels) of each of the two."""
    mean, deviation = fit[0].mean(0), fit[0].std(0)
    x, y = test
    # All means are as long: the nearest is the one whose product with the features is largest.
    oracle = np.argmax(x @ graph.means.T, 1)
    weights = fit_regression((fit[0] - mean) / deviation, fit[1], graph.classes)
    regression = np.argmax(with_bias((x - mean) / deviation) @ weights, 1)
    return {"oracle": float((oracle == y).mean()), "regression": float((regression == y).mean())}


def scores(out: Path, graph: AttributedGraph) -> dict[str, dict[str, float]]:
    """Accuracy on a sample of test nodes, of raw features and of averaged ones."""
    samples = []
    for name in ("train", "test"):
        ids = np.load(out / f"{name}.npy")
        samples.append(np.sort(graph.generator(CHOICE).permutation(ids)[:SAMPLE]))
    features = np.load(out / "features.npy", mmap_mode="r")
    labels = [graph.labels(ids) for ids in samples]
    everyone = np.unique(np.concatenate(samples))
    averaged = averages(out, everyone)
    return {
        "raw": accuracy(graph, *((features[ids].astype(np.float32), y) for ids, y in zip(samples, labels))),
        "averaged": accuracy(graph, *((averaged[np.searchsorted(everyone, ids)], y) for ids, y in zip(samples, labels))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--edges", type=int, default=40_000_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--classes", type=int, default=32)
    parser.add_argument("--homophily", type=float, default=0.7, help="share of edges that stay in a community, by intent")
    parser.add_argument("--signal", type=float, default=1.0, help="length of a class's mean, in deviations of the noise")
    parser.add_argument("--split", default="0.1,0.05,0.1", help="shares of nodes for train, valid and test")
    parser.add_argument("--alpha", type=float, default=0.5, help="0 is uniform; degrees fall off with exponent 1 + 1/alpha")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for stale in a.out.glob("edges-*.npy"):
        stale.unlink()
    graph = AttributedGraph(a.nodes, a.classes, a.features, a.homophily, a.signal, a.alpha, a.seed)
    write_edges(a.out, graph, a.edges)
    write_nodes(a.out, graph, np.cumsum([float(share) for share in a.split.split(",")]))
    found = scores(a.out, graph)
    settings = {name: value for name, value in vars(a).items() if name != "out"}
    (a.out / "oracle.json").write_text(json.dumps({"settings": settings, "accuracy": found}, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
