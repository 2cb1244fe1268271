"""The graphs of `made_up.py` whose nodes have classes and no features, and those whose nodes have several classes.

Every kind is a function of (seed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from made_up_nodes import Nodes, classed


def bare(graph: Nodes) -> Nodes:
    return replace(graph, x=graph.x[:, :0])


def communities(seed: int) -> Nodes:
    """Three of five links stay in one of eight communities."""
    return bare(classed(seed, same=0.6))


def few_known(seed: int) -> Nodes:
    """The same, with five nodes of a community to train."""
    return bare(classed(seed, same=0.6, train=40 / 3000))


def onward(seed: int) -> Nodes:
    """Four of five links lead to the next of eight classes."""
    return bare(classed(seed, same=0.8, step=1))


def circle(seed: int, nodes: int = 3000, classes: int = 6) -> Nodes:
    """Places on a circle, linked to near ones; a class is a stretch of it."""
    rng = np.random.default_rng(seed)
    place = rng.random(nodes)
    order = np.argsort(place)
    source = rng.integers(nodes, size=5 * nodes)
    target = (source + np.round(rng.normal(0, 40, len(source))).astype(int)) % nodes
    splits = np.split(rng.permutation(nodes), [150, 650])
    return Nodes(order[np.stack([source, target], 1)], np.empty((nodes, 0), np.float32), (place * classes).astype(int), splits)


def interests(seed: int, nodes: int = 2400, kinds: int = 24, uneven: bool = False) -> Nodes:
    """Nodes have one to three of 24 interests. Three of four links join two that share the interest they come from.

    ``uneven``: an interest is as frequent as 1 / its number, instead of all alike.
    """
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, kinds + 1)
    chances = share / share.sum() if uneven else None  # equal ones, if given, would draw others
    y = np.zeros((nodes, kinds), np.int8)
    for node in range(nodes):
        y[node, rng.choice(kinds, rng.integers(1, 4), replace=False, p=chances)] = 1
    members = [np.flatnonzero(y[:, kind]) for kind in range(kinds)]
    source = rng.integers(nodes, size=12 * nodes)
    near = np.array([rng.choice(members[rng.choice(np.flatnonzero(y[node]))]) for node in source])
    target = np.where(rng.random(len(source)) < 0.75, near, rng.integers(nodes, size=len(source)))
    return Nodes(
        np.stack([source, target], 1), np.empty((nodes, 0), np.float32), y, np.split(rng.permutation(nodes), [1000, 1500])
    )


def uneven(seed: int) -> Nodes:
    """Interests of which few are frequent."""
    return interests(seed, uneven=True)


def topics(seed: int) -> Nodes:
    """Interests, and 32 features of which each interest moves all, less than chance does."""
    graph, rng = interests(seed), np.random.default_rng(seed + 1)
    x = graph.y @ rng.normal(size=(graph.y.shape[1], 32)) + 3 * rng.normal(size=(len(graph.y), 32))
    return replace(graph, x=x.astype(np.float32))


def arcs(seed: int, nodes: int = 3000, classes: int = 10) -> Nodes:
    """Places on a circle, linked to near ones; each class is an arc of a twentieth to two fifths of it, and they overlap."""
    graph, rng = circle(seed, nodes), np.random.default_rng(seed + 1)
    place = np.random.default_rng(seed).random(nodes)  # as `circle` draws it
    begin, width = rng.random(classes), rng.uniform(0.05, 0.4, classes)
    y = ((place[:, None] - begin) % 1 < width).astype(np.int8)
    return replace(graph, y=y, splits=np.split(rng.permutation(nodes), [300, 800]))


def forest(seed: int, trees: int = 80, size: int = 60, classes: int = 8) -> Nodes:
    """Trees without a link between them, each of one class. A node hangs on one of the eight before it."""
    rng = np.random.default_rng(seed)
    node = np.arange(1, size)
    above = np.concatenate([size * tree + rng.integers(np.maximum(0, node - 8), node) for tree in range(trees)])
    below = (size * np.arange(trees)[:, None] + node).ravel()
    return _named(np.stack([below, above], 1), np.repeat(rng.integers(classes, size=trees), size), rng)


def subtrees(seed: int, nodes: int = 5000, classes: int = 6) -> Nodes:
    """One tree. A node's class is that of the branch it hangs on, below the third level."""
    rng = np.random.default_rng(seed)
    node = np.arange(1, nodes)
    above = np.insert(rng.integers(np.maximum(0, (node - 1) // 3 - 1), (node - 1) // 3 + 1), 0, 0)
    depth, branch = np.zeros(nodes, int), np.arange(nodes)
    for each in node:
        depth[each] = depth[above[each]] + 1
        branch[each] = branch[above[each]] if depth[each] > 3 else each
    return _named(np.stack([node, above[1:]], 1), rng.integers(classes, size=nodes)[branch], rng)


def _named(edges: npt.NDArray[np.int64], y: npt.NDArray[np.int64], rng: np.random.Generator) -> Nodes:
    """Give nodes without features their ids by chance, and train a tenth of them."""
    called, nodes = rng.permutation(len(y)), len(y)
    labels = np.empty_like(y)
    labels[called] = y
    splits = np.split(rng.permutation(nodes), [nodes // 10, 3 * nodes // 10])
    return Nodes(called[edges], np.empty((nodes, 0), np.float32), labels, splits)


BOTH_WAYS: dict[str, Callable[[int], Nodes]] = {
    "communities": communities,
    "few-known": few_known,
    "onward": onward,
    "circle": circle,
    "interests": interests,
    "uneven": uneven,
    "topics": topics,
    "arcs": arcs,
    "forest": forest,
    "subtrees": subtrees,
}


def _one_way(kind: Callable[[int], Nodes]) -> Callable[[int], Nodes]:
    return lambda seed: replace(kind(seed), one_way=True)


CLASSES: dict[str, Callable[[int], Nodes]] = {
    **BOTH_WAYS,
    **{f"{name}-one-way": _one_way(kind) for name, kind in BOTH_WAYS.items()},
}
