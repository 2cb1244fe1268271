"""The graphs of `made_up.py` whose nodes have features and classes. Every kind is a function of (seed)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
WIDTH = 64
"""Features of a node."""


@dataclass
class Nodes:
    """A graph with features and classes. ``splits``: nodes to train on, validate and test. ``weights``: of edges, where they have
    some, ``relation``: likewise. Edges are stored both ways, or, with ``one_way``, as they are."""

    edges: Array
    x: Array
    y: Array
    splits: list[Array]
    weights: Array | None = None
    one_way: bool = False
    relation: Array | None = None


def classed(
    seed: int,
    *,
    nodes: int = 3000,
    classes: int = 8,
    signal: float = 1.0,
    same: float = 0.8,
    shares: Array | None = None,
    train: float = 0.1,
    step: int = 0,
) -> Nodes:
    """Classes of nodes. A link leads with the chance ``same`` to the class ``step`` further, else anywhere.

    ``signal``: how far the means of the features of classes are apart, in standard deviations of one number.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, nodes, p=shares)
    members = [np.flatnonzero(y == c) for c in range(classes)]
    source = rng.integers(nodes, size=4 * nodes)
    near = np.array([rng.choice(members[c]) for c in (y[source] + step) % classes])
    target = np.where(rng.random(len(source)) < same, near, rng.integers(nodes, size=len(source)))
    means = rng.normal(size=(classes, WIDTH)) * signal / np.sqrt(2 * WIDTH)
    x = (means[y] + rng.normal(size=(nodes, WIDTH))).astype(np.float32)
    order = rng.permutation(nodes)
    at = [int(train * nodes), int((train + 0.2) * nodes)]
    return Nodes(np.stack([source, target], 1), x, y, np.split(order, at))


def uneven(seed: int) -> Nodes:
    """Columns of features have any size from a thousandth to a thousand, and means that are as far from 0."""
    graph, rng = classed(seed, signal=2.0), np.random.default_rng(seed + 5)
    x = graph.x * 10.0 ** rng.uniform(-3, 3, WIDTH) + 10.0 ** rng.uniform(-2, 3, WIDTH)
    return Nodes(graph.edges, x.astype(np.float32), graph.y, graph.splits)


def one_large(seed: int) -> Nodes:
    """The first feature is an income, which says nothing, beside numbers about 1."""
    graph = classed(seed, signal=2.0)
    x = graph.x.copy()
    x[:, 0] = np.random.default_rng(seed + 9).lognormal(8, 1.5, len(x))
    return Nodes(graph.edges, x, graph.y, graph.splits)


def flags(seed: int) -> Nodes:
    """Half of the features are flags of chance, most of them rare; the others are measurements of many sizes."""
    graph, rng = classed(seed, signal=2.0), np.random.default_rng(seed + 6)
    half, x = WIDTH // 2, graph.x.astype(float)
    x[:, :half] *= 10.0 ** rng.uniform(-1, 2.5, half)
    x[:, half:] = rng.random((len(x), half)) < 10.0 ** rng.uniform(-3, -0.5, half)
    return Nodes(graph.edges, x.astype(np.float32), graph.y, graph.splits)


def in_order(graph: Nodes) -> Nodes:
    """The graph with ids in the order of classes."""
    order = np.argsort(graph.y, kind="stable")
    called = np.argsort(order)
    return Nodes(called[graph.edges], graph.x[order], graph.y[order], [called[part] for part in graph.splits])


def two_hops(seed: int, nodes: int = 2000, classes: int = 4) -> Nodes:
    """People and the pages they read. Pages have no features; a person's class is seen at other readers alone."""
    graph = classed(seed, nodes=nodes, classes=classes, signal=1.5)
    rng = np.random.default_rng(seed + 1)
    pages = nodes
    topic = rng.integers(classes, size=pages)
    by = [np.flatnonzero(topic == c) for c in range(classes)]
    person = np.repeat(np.arange(nodes), 6)
    page = np.where(
        rng.random(len(person)) < 0.8, [rng.choice(by[c]) for c in graph.y[person]], rng.integers(pages, size=len(person))
    )
    x = np.concatenate([graph.x, np.zeros((pages, graph.x.shape[1]), np.float32)])
    y = np.concatenate([graph.y, np.full(pages, -1)])
    return Nodes(np.stack([person, nodes + page], 1), x, y, graph.splits)


def several(seed: int) -> Nodes:
    """Each node has any of 12 classes, one and a half on average; links lead to nodes that share one."""
    rng = np.random.default_rng(seed)
    nodes, classes = 3000, 12
    y = rng.random((nodes, classes)) < 1.5 / classes
    y[np.arange(nodes), rng.integers(classes, size=nodes)] = True
    members = [np.flatnonzero(y[:, c]) for c in range(classes)]
    source = rng.integers(nodes, size=4 * nodes)
    near = np.array([rng.choice(members[rng.choice(np.flatnonzero(y[s]))]) for s in source])
    target = np.where(rng.random(len(source)) < 0.8, near, rng.integers(nodes, size=len(source)))
    x = (y @ rng.normal(size=(classes, WIDTH)) / 4 + rng.normal(size=(nodes, WIDTH))).astype(np.float32)
    return Nodes(np.stack([source, target], 1), x, y.astype(np.int8), np.split(rng.permutation(nodes), [300, 900]))


def one_region(seed: int) -> Nodes:
    """Regions, each with all classes; training and validation nodes are of one region, test nodes of the others."""
    rng = np.random.default_rng(seed)
    parts = [classed(seed + 10 * k, nodes=1500, classes=5, signal=0) for k in range(4)]
    means = rng.normal(size=(5, 64)) * 1.2 / np.sqrt(128)
    edges = np.concatenate([part.edges + 1500 * k for k, part in enumerate(parts)])
    across = rng.integers(6000, size=(600, 2))
    y = np.concatenate([part.y for part in parts])
    x = np.concatenate([part.x for part in parts]) + means[y].astype(np.float32)
    first = rng.permutation(1500)
    return Nodes(np.concatenate([edges, across]), x, y, [first[:750], first[750:], np.arange(1500, 6000)])


def isolated(seed: int) -> Nodes:
    """A third of the nodes has no edge: their features are all there is."""
    graph = classed(seed, signal=3.0)
    alone = np.random.default_rng(seed + 2).random(len(graph.y)) < 1 / 3
    return Nodes(graph.edges[~alone[graph.edges].any(1)], graph.x, graph.y, graph.splits)


def hubs(seed: int) -> Nodes:
    """Half of the links lead to hubs of chance, most others to nodes of the same class."""
    rng = np.random.default_rng(seed)
    nodes, classes = 5000, 6
    y = rng.integers(classes, size=nodes)
    source = rng.integers(nodes, size=4 * nodes)
    chance = rng.zipf(1.6, size=4 * nodes) % nodes
    to_hub = rng.random(4 * nodes) < 0.5
    members = [np.flatnonzero(y == c) for c in range(classes)]
    near = np.array([rng.choice(members[y[s]]) for s in source])
    near = np.where(rng.random(4 * nodes) < 0.9, near, rng.integers(nodes, size=4 * nodes))
    target = np.where(to_hub, chance, near)
    means = rng.normal(size=(classes, 32)) * 1.5 / np.sqrt(64)
    x = (means[y] + rng.normal(size=(nodes, 32))).astype(np.float32)
    return Nodes(np.stack([source, target], 1), x, y, np.split(rng.permutation(nodes), [500, 1500]))


def weighted(seed: int) -> Nodes:
    """Edges between nodes of a class weigh 3 to 10, others below 1. Features say little, and half of the edges lead anywhere."""
    graph, rng = classed(seed, signal=1.0, same=0.4), np.random.default_rng(seed + 11)
    alike = graph.y[graph.edges[:, 0]] == graph.y[graph.edges[:, 1]]
    return replace(graph, weights=np.where(alike, rng.uniform(3, 10, len(alike)), rng.uniform(0, 1, len(alike))))


def counted(seed: int) -> Nodes:
    """Weights count messages: thousands of them among nodes of a class, hundreds otherwise."""
    graph, rng = classed(seed, signal=1.0, same=0.4), np.random.default_rng(seed + 12)
    alike = graph.y[graph.edges[:, 0]] == graph.y[graph.edges[:, 1]]
    return replace(graph, weights=np.ceil(rng.lognormal(np.where(alike, 8, 5), 1)))


def distances(seed: int) -> Nodes:
    """Weights are distances: nodes of a class are near."""
    graph, rng = classed(seed, signal=1.0, same=0.4), np.random.default_rng(seed + 13)
    alike = graph.y[graph.edges[:, 0]] == graph.y[graph.edges[:, 1]]
    return replace(graph, weights=rng.uniform(1, 5, len(alike)) * np.where(alike, 1, 10))


def any_weight(seed: int) -> Nodes:
    """Weights say nothing, and some are a hundred times as large as others."""
    graph, rng = classed(seed, signal=1.0), np.random.default_rng(seed + 14)
    return replace(graph, weights=rng.lognormal(0, 1.5, len(graph.edges)))


def roles(seed: int) -> Nodes:
    """Features say nothing, and nodes of the three classes have 2, 6 and 18 links that they made."""
    rng = np.random.default_rng(seed)
    nodes = 3000
    y = rng.integers(3, size=nodes)
    made = np.array([2, 6, 18])[y]
    source = np.repeat(np.arange(nodes), made)
    target = rng.choice(nodes, size=len(source), p=made / made.sum())
    x = rng.normal(size=(nodes, 16)).astype(np.float32)
    return Nodes(np.stack([source, target], 1), x, y, np.split(rng.permutation(nodes), [900, 1500]))


def mean_of_neighbours(edges: Array, rows: Array) -> Array:
    """The means over both directions of edges; 0 without any."""
    sums, counts = np.zeros_like(rows), np.zeros(len(rows))
    for ends, others in (edges.T, edges.T[::-1]):
        np.add.at(sums, ends, rows[others])
        np.add.at(counts, ends, 1)
    return sums / np.maximum(counts, 1)[:, None]


def bins(seed: int) -> Nodes:
    """A number is a sum of a node's 12 measurements and of its neighbours' means; the class is its bin of five."""
    rng, nodes = np.random.default_rng(seed), 3000
    edges = rng.integers(nodes, size=(4 * nodes, 2))
    x = rng.normal(size=(nodes, 12))
    number = 0.6 * x @ rng.normal(size=12) + 2 * mean_of_neighbours(edges, x) @ rng.normal(size=12) + 0.3 * rng.normal(size=nodes)
    y = np.searchsorted(np.quantile(number, [0.2, 0.4, 0.6, 0.8]), number)
    return Nodes(edges, x.astype(np.float32), y, np.split(rng.permutation(nodes), [900, 1500]))


def averages(seed: int) -> Nodes:
    """The class is the largest of four sums of means over two hops of 16 measurements."""
    rng, nodes = np.random.default_rng(seed), 2500
    edges = rng.integers(nodes, size=(3 * nodes, 2))
    x = rng.normal(size=(nodes, 16))
    means = mean_of_neighbours(edges, mean_of_neighbours(edges, x))
    y = (means / means.std(0) @ rng.normal(size=(16, 4))).argmax(1)
    return Nodes(edges, x.astype(np.float32), y, np.split(rng.permutation(nodes), [700, 1200]))


def frauds(seed: int, nodes: int = 4000, devices: int = 1500) -> Nodes:
    """One account in forty is a fraud: its links lead to bad devices, whose features show it a little. Devices have no class."""
    rng = np.random.default_rng(seed)
    y = (rng.random(nodes) < 1 / 40).astype(np.int64)
    bad = devices // 30
    links = rng.poisson(3, nodes) + 1
    source = np.repeat(np.arange(nodes), links)
    to_bad = rng.random(len(source)) < np.where(y[source] == 1, 0.7, 0.02)
    target = nodes + np.where(to_bad, rng.integers(bad, size=len(source)), rng.integers(devices, size=len(source)))
    x = rng.normal(size=(nodes + devices, 8)).astype(np.float32)
    x[:nodes, 0] += 0.3 * y
    x[nodes : nodes + bad, 1] += 1.5
    order = rng.permutation(nodes)
    labels = np.concatenate([y, np.full(devices, -1)])
    return Nodes(np.stack([source, target], 1), x, labels, np.split(order, [nodes // 3, nodes // 2]), one_way=True)


def numbers(seed: int, nodes: int = 4000) -> Nodes:
    """A node's class is how many of its neighbours have a flag: none, one, two or more. Nodes have one to thirty neighbours."""
    rng = np.random.default_rng(seed)
    wanted = np.minimum(rng.pareto(1.5, nodes) + 1, 30)
    ends = rng.choice(nodes, (2 * nodes, 2), p=wanted / wanted.sum())
    edges = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], 1), axis=0)
    flag = rng.random(nodes) < 0.25
    found = np.zeros(nodes, np.int64)
    for here, there in (edges.T, edges.T[::-1]):
        np.add.at(found, here, flag[there])
    x = np.column_stack([flag, rng.normal(size=(nodes, 7))]).astype(np.float32)
    order = rng.permutation(nodes)
    return Nodes(edges, x, np.minimum(found, 2), np.split(order, [nodes // 4, nodes // 2]))


def far_words(seed: int, words: int = 600) -> Nodes:
    """Few words of each node, a little more often those of its class, and 15 nodes to train of each: many hops tell the class."""
    graph, rng = classed(seed, nodes=4000, classes=6, signal=0, same=0.75, train=90 / 4000), np.random.default_rng(seed + 3)
    common = 1 / np.arange(10, 10 + words)
    chances = np.tile(10 * common / common.sum(), (6, 1))
    for c in range(6):
        chances[c, rng.choice(words, 40, replace=False)] *= 1.6
    return replace(graph, x=(rng.random((4000, words)) < chances[graph.y]).astype(np.float32))


NODES: dict[str, Callable[[int], Nodes]] = {
    "strong": lambda seed: classed(seed, signal=3.0),
    "weak": lambda seed: classed(seed, signal=1.0),
    "scaled": lambda seed: (lambda g: Nodes(g.edges, 100 * g.x + 50, g.y, g.splits))(classed(seed, signal=2.0)),
    "uneven": uneven,
    "one-large": one_large,
    "flags": flags,
    "other-class": lambda seed: classed(seed, signal=2.0, step=1),
    "any-class": lambda seed: classed(seed, signal=2.0, same=0.0),
    "rare-classes": lambda seed: classed(
        seed, signal=2.0, shares=np.array([0.8, 0.1, 0.05, 0.02, 0.01, 0.01, 0.005, 0.005]), train=0.2
    ),
    "sorted": lambda seed: in_order(classed(seed, signal=1.0)),
    "few-trained": lambda seed: classed(seed, signal=1.5, train=0.02),
    "two-hops": two_hops,
    "several": several,
    "one-region": one_region,
    "isolated": isolated,
    "hubs": hubs,
    "useless": lambda seed: classed(seed, signal=0.0),
    "enough": lambda seed: classed(seed, signal=5.0, same=0.0),
    "roles": roles,
    "weighted": weighted,
    "counted": counted,
    "distances": distances,
    "any-weight": any_weight,
    "much": lambda seed: classed(seed, signal=4.0, same=0.25),
    "bins": bins,
    "averages": averages,
    "frauds": frauds,
    "far-words": far_words,
    "numbers": numbers,
}
