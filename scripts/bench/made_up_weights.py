"""Graphs of links with weights, as `made_up.py` has them: where these say how strong a link is, how far, how sure, or nothing.

Test edges are drawn uniformly among all, or, where the name ends with ``-strong``, among the strongest fifth of the edges alone
(where weights are distances: the nearest).
Every kind is a function of (seed).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from made_up_graphs import Array, Links, drawn, in_group

BOTH = ["--undirected"]


def weighed(nodes: int, edges: Array, weights: Array, rng: np.random.Generator, strong: int, options: list[str]) -> Links:
    """Distinct ``edges`` (n, 3) by split, under new ids. ``strong``: 1 or -1: edges of the largest or least weights are held."""
    named = rng.permutation(nodes)
    edges, first = np.unique(edges, axis=0, return_index=True)
    edges, weights = np.column_stack([named[edges[:, 0]], edges[:, 1], named[edges[:, 2]]]), weights[first]
    order = rng.permutation(len(edges))
    held = len(edges) // 10
    if strong:  # half of the strongest fifth
        order = order[np.argsort(-strong * weights[order], kind="stable")]
        order[: 2 * held] = rng.permutation(order[: 2 * held])
        held = held // 2
    parts = [order[2 * held :], order[held : 2 * held], order[:held]]
    relations = int(edges[:, 1].max()) + 1
    return Links(nodes, relations, [edges[p] for p in parts], None, options, [weights[p].astype(np.float32) for p in parts])


def _undirected(src: Array, dst: Array, weights: Array) -> tuple[Array, Array]:
    """Links between different nodes, from the lower to the higher id."""
    kept = src != dst
    low, high = np.minimum(src, dst)[kept], np.maximum(src, dst)[kept]
    return np.column_stack([low, np.zeros_like(low), high]), weights[kept]


def _ties(rng: np.random.Generator, nodes: int, size: int, near: int, far: int) -> tuple[Array, Array, Array]:
    """``near`` links of each node inside groups of ``size``, and ``far`` by chance: ends, and whether they are inside."""
    members = rng.permutation(nodes).reshape(-1, size)
    of = np.empty(nodes, int)
    of[members] = np.arange(len(members))[:, None]
    src = np.repeat(np.arange(nodes), near + far)
    inside = np.tile(np.arange(near + far) < near, nodes)
    dst = np.where(inside, in_group(members, of[src], rng), rng.integers(nodes, size=len(src)))
    return src, dst, inside


def ties(seed: int, strong: bool = False, nodes: int = 1000) -> Links:
    """Friends: few strong ties inside groups of 20, many weak ones by chance."""
    rng = np.random.default_rng(seed)
    src, dst, inside = _ties(rng, nodes, 20, 3, 7)
    weights = np.where(inside, rng.gamma(4, 5, len(src)), rng.gamma(1, 1, len(src)))
    return weighed(nodes, *_undirected(src, dst, weights), rng, strong, BOTH)


def meaningless(seed: int, strong: bool = False, nodes: int = 1000) -> Links:
    """The same links, whose weights say nothing."""
    rng = np.random.default_rng(seed)
    src, dst, _ = _ties(rng, nodes, 20, 6, 4)
    return weighed(nodes, *_undirected(src, dst, rng.lognormal(0, 1, len(src))), rng, strong, BOTH)


def messages(seed: int, strong: bool = False, nodes: int = 1000) -> Links:
    """Counts with a long tail: inside groups often many, by chance mostly one. One pair has a million."""
    rng = np.random.default_rng(seed)
    src, dst, inside = _ties(rng, nodes, 25, 5, 6)
    tail = 1 + rng.pareto(0.9, len(src))
    weights = np.minimum(np.where(inside, 4 * tail, tail), 1e5).round()
    weights[rng.integers(len(weights))] = 1e6
    return weighed(nodes, *_undirected(src, dst, weights), rng, strong, BOTH)


def distances(seed: int, strong: bool = False, nodes: int = 1000) -> Links:
    """Places in a square, each linked to near ones and to some by chance. The weight is the distance."""
    rng = np.random.default_rng(seed)
    place = rng.random((nodes, 2))
    away = np.linalg.norm(place[:, None] - place[None], axis=2)
    near = np.argsort(away, axis=1)[:, 1:16]
    picked = np.take_along_axis(near, rng.random(near.shape).argsort(1)[:, :6], 1)
    dst = np.concatenate([picked, rng.integers(nodes, size=(nodes, 4))], 1).reshape(-1)
    src = np.repeat(np.arange(nodes), 10)
    return weighed(nodes, *_undirected(src, dst, away[src, dst] * 100), rng, -int(strong), BOTH)


def bought(seed: int, strong: bool = False, nodes: int = 900, baskets: int = 4500) -> Links:
    """Things bought together, with how often: baskets have three things of one topic, and two that are popular."""
    rng = np.random.default_rng(seed)
    members = rng.permutation(nodes).reshape(-1, 15)
    popular = 1 / np.arange(1, nodes + 1) ** 0.6
    topic = drawn(1 / np.arange(1, len(members) + 1) ** 0.5, baskets, rng)
    inside = np.column_stack([in_group(members, topic, rng) for _ in range(3)])
    things = np.concatenate([inside, drawn(popular, 2 * baskets, rng).reshape(-1, 2)], 1)
    pairs = np.concatenate([things[:, [a, b]] for a in range(5) for b in range(a)])
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], 1)
    pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    keep = rng.random(len(pairs)) < np.minimum(1, 0.5 * counts)
    return weighed(nodes, *_undirected(*pairs[keep].T, counts[keep].astype(float)), rng, strong, BOTH)


def ratings(seed: int, strong: bool = False, users: int = 800, items: int = 500) -> Links:
    """Users who rate 20 items each from 1 to 5, by their tastes. Which they rate follows popularity, and taste a little."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.normal(size=(users, 6)), rng.normal(size=(items, 6))
    liking = taste @ kind.T / 6**0.5
    chance = np.log(1 / np.arange(1, items + 1) ** 0.7) + 0.5 * liking + rng.gumbel(size=liking.shape)
    item = np.argsort(-chance, 1)[:, :20].reshape(-1)
    user = np.repeat(np.arange(users), 20)
    rated = np.clip(np.round(3.3 + liking[user, item] + 0.5 * rng.normal(size=len(user))), 1, 5)
    edges = np.column_stack([user, np.zeros_like(user), users + item])
    return weighed(users + items, edges, rated, rng, strong, [])


def trust(seed: int, strong: bool = False, nodes: int = 1000) -> Links:
    """Who trusts (1) or distrusts (-1) whom: trust inside groups, distrust across. All are edges."""
    rng = np.random.default_rng(seed)
    src, dst, inside = _ties(rng, nodes, 25, 5, 5)
    weights = np.where(inside ^ (rng.random(len(src)) < 0.1), 1.0, -1.0)
    kept = src != dst
    edges = np.column_stack([src, np.zeros_like(src), dst])[kept]
    return weighed(nodes, edges, weights[kept], rng, strong, [])


def extracted(seed: int, strong: bool = False, nodes: int = 1000, groups: int = 50) -> Links:
    """Facts of four relations between groups, as read by a machine, with how sure it is. Half of them are wrong."""
    rng = np.random.default_rng(seed)
    members = rng.permutation(nodes).reshape(groups, -1)
    of = np.empty(nodes, int)
    of[members] = np.arange(groups)[:, None]
    src, rel = rng.integers(nodes, size=10 * nodes), rng.integers(4, size=10 * nodes)
    onward = np.stack([rng.permutation(groups) for _ in range(4)])
    right = rng.random(len(src)) < 0.5
    dst = np.where(right, in_group(members, onward[rel, of[src]], rng), rng.integers(nodes, size=len(src)))
    sure = np.where(right, rng.beta(6, 2, len(src)), rng.beta(2, 5, len(src)))
    return weighed(nodes, np.column_stack([src, rel, dst]), sure, rng, strong, [])


KINDS: tuple[Callable[..., Links], ...] = (ties, meaningless, messages, distances, bought, ratings, trust, extracted)
WEIGHTS: dict[str, Callable[[int], Links]] = {
    kind.__name__ + end: partial(kind, strong=bool(end)) for kind in KINDS for end in ("", "-strong")
}
