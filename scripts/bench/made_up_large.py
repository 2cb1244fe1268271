"""The graphs of `made_up.py` that presets of small ones are not for: 120,000 nodes at least. They run where they are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from made_up_graphs import drawn, in_group
from made_up_nodes import Nodes, classed
from made_up_profiles import profiles, stages

NODES = 120_000


def bare(seed: int) -> Nodes:
    """Nodes have classes, and no features."""
    graph = classed(seed, nodes=NODES, same=0.6)
    return replace(graph, x=np.zeros((NODES, 0), np.float32))


def payments(seed: int, nodes: int = 200_000, count: int = 1_300_000, frauds: int = 2_000) -> Nodes:
    """Accounts pay others of their town, and shops. One of a hundred is a fraud: strangers pay it, and it pays others of its
    ring, and those that take the money out. Its age and balance are a little lower, and eight features say nothing."""
    rng = np.random.default_rng(seed)
    town, shop = rng.permutation(nodes) % 500, rng.random(nodes) < 0.04
    popular = (rng.pareto(1.3, nodes) + 0.2) * np.where(shop, 30, 1)
    source = drawn(rng.pareto(1.6, nodes) + 0.3, count, rng)
    order = np.argsort(town, kind="stable").reshape(500, -1)
    target = np.where(rng.random(count) < 0.5, in_group(order, town[source], rng), drawn(popular, count, rng))
    amount = np.exp(rng.normal(3.5, 1.3, count)) * np.where(shop[target], 0.5, 1.5)
    fraud = rng.choice(np.flatnonzero(~shop), frauds, replace=False).reshape(-1, 5)  # rings of five
    ring, takers = np.arange(frauds) // 5, rng.choice(nodes, len(fraud))
    paid, passed, out = (np.repeat(np.arange(frauds), rng.poisson(mean, frauds)) for mean in (5, 3, 2))
    flat = fraud.reshape(-1)
    source = np.concatenate([source, rng.choice(nodes, len(paid)), flat[passed], flat[out]])
    target = np.concatenate([target, flat[paid], in_group(fraud, ring[passed], rng), takers[ring[out]]])
    amount = np.concatenate([amount, *(np.exp(rng.normal(5.2, 1.1, len(part))) for part in (paid, passed, out))])
    y = np.zeros(nodes, np.int64)
    y[flat] = 1
    sums = [np.bincount(ends, amount, nodes) * np.exp(rng.normal(0, 0.5, nodes)) for ends in (source, target)]
    age, balance = np.exp(rng.normal(6 - 0.8 * y, 1.2)), np.exp(rng.normal(7 - 0.4 * y, 1.8))
    x = np.stack([age, balance, *sums, shop & (rng.random(nodes) < 0.9), *rng.normal(size=(8, nodes))], 1)
    others = source != target
    splits = np.split(rng.permutation(nodes), [2 * nodes // 5, 3 * nodes // 5])
    edges = np.stack([source, target], 1)[others]
    return Nodes(edges, x.astype(np.float32), y, splits, weights=amount[others], one_way=True)


LARGE: dict[str, Callable[[int], Nodes]] = {
    "large-weak": lambda seed: classed(seed, nodes=NODES, signal=1.0),
    "large-weaker": lambda seed: classed(seed, nodes=NODES, signal=0.5, train=0.01),
    "large-one-way": lambda seed: replace(classed(seed, nodes=NODES, signal=1.0), one_way=True),
    "large-any-class": lambda seed: classed(seed, nodes=NODES, signal=2.0, same=0.0),
    "large-profiles": lambda seed: profiles(seed, NODES),
    "large-bare": bare,
    "large-other-class": lambda seed: classed(seed, nodes=NODES, signal=2.0, step=1),
    "large-stages": lambda seed: stages(seed, NODES),
    "payments": payments,
}
