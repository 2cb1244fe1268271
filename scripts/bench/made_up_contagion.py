"""The graphs of `made_up.py` where classes pass along edges: customers who leave, opinions, firms that default, words. Features
say little, and where a node is says little; which of its neighbours are known to be of which class says most."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from made_up_nodes import Nodes

Floats = npt.NDArray[np.float64]


def _near(rng: np.random.Generator, nodes: int, each: int, far: float) -> tuple[Any, Any]:
    """Edges from each node to about so many: nodes nearby on a ring, and a share of them anywhere."""
    source = np.repeat(np.arange(nodes), 1 + rng.poisson(each - 1, nodes))
    steps = rng.integers(1, 4 * each, len(source)) * rng.choice([-1, 1], len(source))
    target = np.where(rng.random(len(source)) < far, rng.integers(nodes, size=len(source)), (source + steps) % nodes)
    kept = source != target
    return source[kept], target[kept]


def _shares(to: Any, come_from: Any, weights: Floats, have: Floats) -> Floats:
    """Of each node, the share of what comes to it by weight that has something."""
    total = np.bincount(to, weights, len(have))
    return np.bincount(to, weights * have[come_from], len(have)) / np.maximum(total, 1e-9)


def leavers(seed: int, nodes: int = 12_000) -> Nodes:
    """Customers call each other. Who calls people that left leaves more often, in the end one in twenty-five. Bills and ages say
    hardly anything."""
    rng = np.random.default_rng(seed)
    source, target = _near(rng, nodes, 5, 0.3)
    minutes = rng.lognormal(3, 1.2, len(source))
    both, others, twice = np.r_[source, target], np.r_[target, source], np.tile(minutes, 2)
    unhappy, left = rng.normal(size=nodes), np.zeros(nodes)
    for _ in range(5):
        odds = -5.4 + 0.6 * unhappy + 10 * _shares(both, others, twice, left)
        left = np.maximum(left, rng.random(nodes) < 1 / (1 + np.exp(-odds)))
    x = np.stack([rng.lognormal(3, 0.5, nodes), unhappy + 1.5 * rng.normal(size=nodes), rng.integers(18, 90, nodes)], 1)
    splits = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10])
    return Nodes(np.stack([source, target], 1), x.astype(np.float32), left.astype(int), splits, weights=minutes, one_way=True)


def opinions(seed: int, nodes: int = 5000, count: int = 4) -> Nodes:
    """People hold one of four opinions, at first by chance and by what they are, then often that of somebody they know."""
    rng = np.random.default_rng(seed)
    source, target = _near(rng, nodes, 4, 0.1)
    known = np.split(np.r_[target, source][np.argsort(np.r_[source, target], kind="stable")], _ends(source, target, nodes))
    x = rng.normal(size=(nodes, 6))
    y = (x @ rng.normal(size=(6, count)) + 2.5 * rng.gumbel(size=(nodes, count))).argmax(1)
    for node in rng.integers(nodes, size=6 * nodes):
        if rng.random() < 0.9:
            y[node] = y[rng.choice(known[node])] if len(known[node]) else y[node]
    splits = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10])
    return Nodes(np.stack([source, target], 1), x.astype(np.float32), y, splits)


def defaults(seed: int, nodes: int = 8000) -> Nodes:
    """Firms buy from each other. A firm whose buyers default often does too; ratios of its balance say a little."""
    rng = np.random.default_rng(seed)
    buyer, seller = _near(rng, nodes, 6, 0.5)
    amounts, weak, failed = rng.lognormal(2, 1.5, len(buyer)), rng.normal(size=nodes), np.zeros(nodes)
    for _ in range(6):
        odds = -5.3 + 0.8 * weak + 7 * _shares(seller, buyer, amounts, failed)
        failed = np.maximum(failed, rng.random(nodes) < 1 / (1 + np.exp(-odds)))
    x = np.stack([weak + 1.2 * rng.normal(size=nodes), rng.normal(size=nodes), rng.lognormal(5, 2, nodes)], 1)
    splits = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10])
    return Nodes(np.stack([buyer, seller], 1), x.astype(np.float32), failed.astype(int), splits, weights=amounts, one_way=True)


def words(seed: int, nodes: int = 6000, count: int = 12, glosses: bool = False) -> Nodes:
    """Words of twelve topics. A word nearly always has the topic of what it is a kind of, and often that of what it is a part of.
    Which words rhyme, or are derived from each other, says nothing. ``glosses``: with features that say a little."""
    rng = np.random.default_rng(seed)
    order, y = rng.permutation(nodes), rng.integers(count, size=nodes)
    edges, relation = [], []
    for place in range(20, nodes):
        word, kind, whole = order[place], *order[rng.integers(place, size=2)]
        y[word] = y[kind] if rng.random() < 0.93 else y[whole] if rng.random() < 0.5 else y[word]
        others = rng.integers(nodes, size=(3, 2))
        edges += [(word, kind), (word, whole), *((word, other) if rng.random() < 0.5 else (other, word) for other, _ in others)]
        relation += [0, 1, 2, 2, 3]
    x = 0.35 * np.eye(count)[y] + rng.normal(size=(nodes, count)) if glosses else np.empty((nodes, 0))
    splits = np.split(rng.permutation(nodes), [nodes // 2, 7 * nodes // 10])
    return Nodes(np.array(edges), x.astype(np.float32), y, splits, one_way=True, relation=np.array(relation))


def known_neighbours(graph: Nodes) -> npt.NDArray[np.float32]:
    """Of each node, the shares of its neighbours, by weight, that are training nodes of each class, and of these alone; those of
    each relation and direction apart. And the logarithm of how many neighbours it has. All as columns of deviation 1."""
    both, others = graph.edges.reshape(-1), graph.edges[:, ::-1].reshape(-1)
    weights = np.ones(len(both)) if graph.weights is None else np.repeat(graph.weights, 2)
    trained, classes = np.zeros(len(graph.y)), int(graph.y.max()) + 1
    trained[graph.splits[0]] = 1
    columns = [np.log1p(np.bincount(both, minlength=len(graph.y)))]
    kinds = np.zeros(len(both), int) if graph.relation is None else 2 * np.repeat(graph.relation, 2) + np.arange(len(both)) % 2
    for kind in np.unique(kinds):
        here = kinds == kind
        told = [_shares(both[here], others[here], weights[here], trained * (graph.y == c)) for c in range(classes)]
        columns += [*told, *(each / np.maximum(sum(told), 1e-9) for each in told)]
    found = np.stack(columns, 1)
    return ((found - found.mean(0)) / np.maximum(found.std(0), 1e-9)).astype(np.float32)


def _ends(source: Any, target: Any, nodes: int) -> Any:
    """Where the lists of each node but the first begin, of edges at both ends."""
    return np.cumsum(np.bincount(np.r_[source, target], minlength=nodes))[:-1]


CONTAGION: dict[str, Callable[[int], Nodes]] = {
    "leavers": leavers,
    "opinions": opinions,
    "defaults": defaults,
    "words": words,
    "glosses": partial(words, glosses=True),
}
