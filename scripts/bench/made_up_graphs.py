"""The graphs of links of `made_up.py`: kinds that published collections lack, each with a structure that is known.

Raw ids are drawn anew, but where a kind is about ids. Every kind is a function of (seed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SPLIT = (0.8, 0.1, 0.1)


@dataclass
class Links:
    """Edges (source, relation, destination) by split, and what an oracle that knows the structure scores.

    ``oracle``: from (nodes, relations, whether destinations are asked for) to scores of all nodes; None where nobody knows.
    ``weights``: of each edge, by split; None where edges have none.
    """

    nodes: int
    relations: int
    splits: list[Array]
    oracle: Callable[[Array, Array, bool], Array] | None = None
    options: list[str] = field(default_factory=list)
    weights: list[Array] | None = None


def dealt(edges: Array, rng: np.random.Generator) -> list[Array]:
    """Distinct edges in random order, by split."""
    edges = rng.permutation(np.unique(edges, axis=0))
    return np.split(edges, [int(SPLIT[0] * len(edges)), int((SPLIT[0] + SPLIT[1]) * len(edges))])


def drawn(weights: Array, count: int, rng: np.random.Generator) -> Array:
    return np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(count))


def in_group(members: Array, group: Array, rng: np.random.Generator) -> Array:
    """A node of each group. ``members``: (groups, size)."""
    return members[group, rng.integers(members.shape[1], size=len(group))]


def knowledge(seed: int, nodes: int = 2000, groups: int = 200, edges: int = 3000) -> Links:
    """Relations between groups of 10: symmetric, two turned round of each other, a cycle, its square, and many to one."""
    rng = np.random.default_rng(seed)
    members = rng.permutation(nodes).reshape(groups, -1)
    of = np.empty(nodes, int)
    of[members] = np.arange(groups)[:, None]
    partner = np.arange(groups) ^ 1
    order = rng.permutation(groups)
    onward = np.empty(groups, int)
    onward[order] = np.roll(order, -1)
    back = np.argsort(onward)
    hub = rng.permutation(groups) // 10  # ten groups lead to one
    maps = [partner, onward, back, onward[onward], hub]
    parts = []
    for relation, to in enumerate(maps):
        source = rng.integers(nodes, size=edges)
        parts.append(np.stack([source, np.full(edges, relation), in_group(members, to[of[source]], rng)], 1))

    def oracle(known: Array, relation: Array, forward: bool) -> Array:
        to = np.stack(maps)
        if forward:
            return (of[None] == to[relation, of[known]][:, None]).astype(float)
        return (to[relation][:, of] == of[known][:, None]).astype(float)

    return Links(nodes, len(maps), dealt(np.concatenate(parts), rng), oracle)


def rare(seed: int, relations: int = 300) -> Links:
    """`knowledge` with 300 relations, most of them with some edges alone; 200 nodes that training has once or never."""
    rng = np.random.default_rng(seed)
    nodes, groups = 2000, 100
    members = rng.permutation(nodes)[: 18 * groups].reshape(groups, -1)
    of = np.full(nodes, -1)
    of[members] = np.arange(groups)[:, None]
    maps = np.stack([rng.permutation(groups) for _ in range(relations)])
    relation = drawn(1 / np.arange(1, relations + 1.0), 20_000, rng)
    source = members.reshape(-1)[rng.integers(members.size, size=len(relation))]
    edges = np.stack([source, relation, in_group(members, maps[relation, of[source]], rng)], 1)
    left = np.flatnonzero(of < 0)
    edges[: len(left), 0] = left

    def oracle(known: Array, relation: Array, forward: bool) -> Array:
        own = of[known]
        group = maps[relation, own] if forward else np.argsort(maps, 1)[relation, own]
        return np.where((own >= 0)[:, None], of[None] == group[:, None], False).astype(float)

    return Links(nodes, relations, dealt(edges, rng), oracle)


def apart(seed: int, size: int = 8, count: int = 200) -> Links:
    """Small worlds without a link between them: of the pairs in each, six of ten are linked."""
    rng = np.random.default_rng(seed)
    of = rng.permutation(np.repeat(np.arange(count), size))
    pairs = np.array([(a, 0, b) for g in range(count) for a in np.flatnonzero(of == g) for b in np.flatnonzero(of == g) if a < b])
    kept = pairs[rng.random(len(pairs)) < 0.6]

    def oracle(known: Array, _: Array, forward: bool) -> Array:
        return (of[None] == of[known][:, None]).astype(float)

    return Links(size * count, 1, dealt(kept, rng), oracle, ["--undirected"])


def drift(seed: int, nodes: int = 1000, groups: int = 100, edges: int = 15_000) -> Links:
    """What a group is linked to changes once, each group at its own time. Splits are by time: the last tenth is the test."""
    rng = np.random.default_rng(seed)
    members = rng.permutation(nodes).reshape(groups, -1)
    of = np.empty(nodes, int)
    of[members] = np.arange(groups)[:, None]
    before, after, turn = rng.permutation(groups), rng.permutation(groups), rng.random(groups)
    when = np.sort(rng.random(edges))
    source = rng.integers(nodes, size=edges)
    group = of[source]
    to = np.where(when < turn[group], before[group], after[group])
    rows = np.stack([source, np.zeros(edges, int), in_group(members, to, rng)], 1)
    _, first = np.unique(rows, axis=0, return_index=True)
    rows = rows[np.sort(first)]
    now = np.where(turn > 0.95, before, after)

    def oracle(known: Array, _: Array, forward: bool) -> Array:
        return (now[of[known]][:, None] == of[None] if forward else now[of][None] == of[known][:, None]).astype(float)

    return Links(nodes, 1, np.split(rows, [int(0.8 * len(rows)), int(0.9 * len(rows))]), oracle)


def latent(seed: int, users: int = 1500, items: int = 1000, edges: int = 30_000) -> Links:
    """Users take items by the product of 8 numbers each, and by how popular items are."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(users, 8)), rng.normal(size=(items, 8))
    scores = u @ v.T + rng.normal(size=items)
    activity = rng.pareto(1.5, users) + 0.2
    source = drawn(activity, edges, rng)
    chances = np.cumsum(np.exp(scores - scores.max(1, keepdims=True)), 1)
    item = np.array([np.searchsorted(chances[s], x * chances[s, -1]) for s, x in zip(source, rng.random(edges))])
    called = rng.permutation(users + items)
    back = np.argsort(called)
    worth = np.full((users + items, users + items), -np.inf)
    log = scores - np.log(np.exp(scores).sum(1, keepdims=True)) + np.log(activity)[:, None]
    worth[np.ix_(called[:users], called[users:])] = log

    def oracle(known: Array, _: Array, forward: bool) -> Array:
        return worth[known] if forward else worth[:, known].T

    del back
    return Links(users + items, 1, dealt(np.stack([called[source], 0 * source, called[users + item]], 1), rng), oracle)


def citations(seed: int, nodes: int = 3000, topics: int = 30) -> Links:
    """Papers in the order of time, which are their ids, cite older ones: 8 of 10 of their topic, those cited before first."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(topics, size=nodes)
    cited: list[list[int]] = [[] for _ in range(topics)]
    every: list[int] = []
    pairs = []
    for node in range(nodes):
        for _ in range(10 if node > 20 else 0):
            pool = cited[topic[node]] if rng.random() < 0.8 and cited[topic[node]] else every
            to = pool[rng.integers(len(pool))]
            pairs.append((node, 0, to))
            cited[topic[to]].append(to)
            every.append(to)
        cited[topic[node]].append(node)
        every.append(node)
    return Links(nodes, 1, dealt(np.array(pairs), rng))


def lattice(seed: int, side: int = 60) -> Links:
    """Streets: each crossing leads to four, eight of ten streets are there, one of fifty leads far away."""
    rng = np.random.default_rng(seed)
    at = rng.permutation(side * side).reshape(side, side)
    pairs = np.concatenate([np.stack([at, np.roll(at, -1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])
    pairs = pairs[rng.random(len(pairs)) < 0.9]
    far = rng.random(len(pairs)) < 0.02
    pairs[far, 1] = rng.integers(side * side, size=int(far.sum()))
    edges = np.insert(pairs, 1, 0, axis=1)
    return Links(side * side, 1, dealt(edges, rng), options=["--undirected"])


def social(seed: int, nodes: int = 3000, groups: int = 50, edges: int = 20_000, hub: float = 0.0) -> Links:
    """Groups, and degrees of a power law: both say who is linked. ``hub``: share of the links that one node has."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=nodes)
    weight = (1 - rng.random(nodes)) ** (-1 / 1.8)
    members = [np.flatnonzero(group == g) for g in range(groups)]
    source = drawn(weight, edges, rng)
    near = np.array([members[g][drawn(weight[members[g]], 1, rng)[0]] for g in group[source]])
    target = np.where(rng.random(edges) < 0.8, near, drawn(weight, edges, rng))
    if hub:
        target[rng.random(edges) < hub] = 0
    kept = source != target
    pairs = np.sort(np.stack([source, target], 1)[kept], 1)
    total = np.array([weight[m].sum() for m in members])

    def oracle(known: Array, _: Array, forward: bool) -> Array:
        share = np.where(group[None] == group[known][:, None], 0.8 / total[group][None], 0) + 0.2 / weight.sum()
        scores = share * weight[None]
        if hub:
            scores[:, 0] = np.inf
        return scores

    return Links(nodes, 1, dealt(np.insert(pairs, 1, 0, axis=1), rng), oracle, ["--undirected"])


def hub(seed: int) -> Links:
    return social(seed, hub=0.3)


def repeated(seed: int, nodes: int = 2000, groups: int = 80) -> Links:
    """Messages between people of a group: one relation, a pair writes four times on average, some fifty times."""
    rng = np.random.default_rng(seed)
    members = rng.permutation(nodes).reshape(groups, -1)
    of = np.empty(nodes, int)
    of[members] = np.arange(groups)[:, None]
    source = rng.integers(nodes, size=12_000)
    splits = dealt(np.stack([source, 0 * source, in_group(members, (of[source] + 1) % groups, rng)], 1), rng)
    times = np.minimum(rng.zipf(1.6, len(splits[0])), 50)

    def oracle(known: Array, _: Array, forward: bool) -> Array:
        return (of[None] == ((of[known] + (1 if forward else -1)) % groups)[:, None]).astype(float)

    return Links(nodes, 1, [np.repeat(splits[0], times, axis=0), *splits[1:]], oracle)


def ancestors(seed: int, depth: int = 7, branches: int = 3) -> Links:
    """A tree in which each node leads to all of its ancestors. Ranks are counted by who has which ancestors in common."""
    rng = np.random.default_rng(seed)
    nodes = sum(branches**level for level in range(depth + 1))
    called, above, pairs = rng.permutation(nodes), np.arange(nodes), []
    while above.any():
        above = np.where(above > 0, (above - 1) // branches, -1)
        below = np.flatnonzero(above >= 0)
        pairs.append(np.stack([called[below], 0 * below, called[above[below]]], 1))
        above = np.maximum(above, 0)
    return Links(nodes, 1, dealt(np.concatenate(pairs), rng))


def followers(seed: int, nodes: int = 5000, groups: int = 60, edges: int = 50_000, back: float = 0.4) -> Links:
    """Who follows whom: `social` with a direction. A few are followed by many, and four of ten follow back."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=nodes)
    liked, active = (1 - rng.random(nodes)) ** (-1 / 1.5), (1 - rng.random(nodes)) ** (-1 / 2)
    members = [np.flatnonzero(group == g) for g in range(groups)]
    source = drawn(active, edges, rng)
    near = np.array([members[g][drawn(liked[members[g]], 1, rng)[0]] for g in group[source]])
    target = np.where(rng.random(edges) < 0.7, near, drawn(liked, edges, rng))
    pairs = np.stack([source, 0 * source, target], 1)
    pairs = np.concatenate([pairs, pairs[rng.random(edges) < back][:, ::-1]])
    return Links(nodes, 1, dealt(pairs[pairs[:, 0] != pairs[:, 2]], rng))


def noisy(seed: int, nodes: int = 2500, size: int = 25, noise: float = 0.7, skew: float = 0.0) -> Links:
    """Groups of 25, six links a node. So many of the training edges, and none of the others, are between anybody.

    ``skew``: exponent of the power law by which nodes have links; 0: all have as many.
    """
    rng = np.random.default_rng(seed)
    of = rng.permutation(np.repeat(np.arange(nodes // size), size))
    members = np.argsort(of, kind="stable").reshape(-1, size)
    popular = (1 - rng.random(nodes)) ** (-1 / skew) if skew else np.ones(nodes)
    source = drawn(popular, 6 * nodes, rng)
    pairs = np.stack([source, 0 * source, in_group(members, of[source], rng)], 1)
    train, valid, test = dealt(pairs[pairs[:, 0] != pairs[:, 2]], rng)
    count = int(len(train) * noise / (1 - noise))
    anybody = np.stack([drawn(popular, count, rng), np.zeros(count, int), drawn(popular, count, rng)], 1)
    train = rng.permutation(np.concatenate([train, anybody[anybody[:, 0] != anybody[:, 2]]]))

    def oracle(known: Array, _: Array, forward: bool) -> Array:
        return (of[None] == of[known][:, None]) * (1.0 if forward else popular[None])

    return Links(nodes, 1, [train, valid, test], oracle)


LINKS: dict[str, Callable[[int], Links]] = {
    "knowledge": knowledge,
    "tiny": lambda seed: knowledge(seed, nodes=50, groups=10, edges=60),
    "rare": rare,
    "many-relations": lambda seed: rare(seed, relations=3000),
    "apart": apart,
    "drift": drift,
    "latent": latent,
    "citations": citations,
    "lattice": lattice,
    "social": social,
    "hub": hub,
    "repeated": repeated,
    "ancestors": ancestors,
    "followers": followers,
    "noisy": noisy,
    "noisy-popular": lambda seed: noisy(seed, skew=2.0),
}
