"""Whether links without a direction join nodes that are alike, as an inner product of two rows says.

Nodes that are alike have neighbours in common: walks of two or four steps lead from one to the other. Elsewhere only walks of
three do. Things are bought with things of other kinds, members belong to clubs, and streets lead from one crossing to the next:
what has the same neighbours is not linked. There an inner product, which is largest for rows that are alike, is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marius_lite._native import neighbour_sum
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE

Floats = npt.NDArray[np.float32]
Pairs = npt.NDArray[np.int32]
MOST_EDGES = 50_000_000
"""Edges (each way) of graphs that are looked at, at most: some ten seconds."""
EDGE_BYTES, NODE_BYTES = 40, 16
"""What an edge and a node take meanwhile."""
SHARE = 0.25
"""The share of the memory that may be taken."""
MOST_NODES, STARTS = 10_000, 8
"""Nodes whose links are looked at, at most: those that are nearest to so many."""
HELD, FEWEST = 250, 50
"""Links that are left out and asked for; how many must be, so that figures mean something."""
SURELY, MORE = 3, 1.5
"""Standard errors by which, and times that, the figure by three steps must be larger."""


@dataclass(frozen=True)
class LinkSteps:
    """Mean reciprocal ranks of the other ends of links that were left out: by walks of two and four steps, and of three."""

    even: float
    three: float


def link_steps(dataset: Dataset, memory: int) -> LinkSteps | None:
    """Compare both for the training links of a dataset that stores them in both directions. None where three steps are not far
    better, and where nothing is known: of large graphs, for ``memory`` bytes, and of few links. Takes 200 MB at least.

    Raises UserError for damaged edges, RunError for a file that cannot be read.
    """
    nodes, count = dataset.manifest.nodes, dataset.manifest.edges["train"]
    if count > MOST_EDGES or EDGE_BYTES * count + NODE_BYTES * nodes > SHARE * memory:
        return None
    nodes, links = _near(nodes, _links(dataset))
    held = min(HELD, len(links) // 10)
    if held < FEWEST:
        return None
    even, three = _reciprocal_ranks(nodes, links[held:], links[:held])
    more = three - even
    sure = more.mean() > SURELY * more.std() / held**0.5 and three.mean() > MORE * even.mean()
    return LinkSteps(float(even.mean()), float(three.mean())) if sure else None


def _links(dataset: Dataset) -> Pairs:
    """Return the training links, (links, 2) in any order, each once: from the lower id to the higher."""
    p, edges = dataset.partitioning, dataset.edges("train")
    every, parts = range(p.partitions), [np.empty((0, 2), np.int32)]
    for piece in edges.block(every, every, EDGES_AT_ONCE, COLUMNS[:2]):
        src, dst = piece.node_ids(p)
        up = src < dst
        parts.append(np.stack([src[up], dst[up]], 1).astype(np.int32))
    links = np.concatenate(parts)
    links = links[np.lexsort((links[:, 1], links[:, 0]))]
    distinct = np.concatenate([np.ones(min(1, len(links)), bool), (links[1:] != links[:-1]).any(1)])
    return np.random.default_rng(0).permutation(links[distinct])


def _near(nodes: int, links: Pairs) -> tuple[int, Pairs]:
    """Return how many nodes are looked at, and the links among them, with ids below that."""
    chosen = looked_at(nodes, links)
    return int(np.count_nonzero(chosen)), (np.cumsum(chosen) - 1).astype(np.int32)[links[chosen[links].all(1)]]


def looked_at(nodes: int, links: Pairs) -> npt.NDArray[np.bool_]:
    """Return which nodes are looked at, (nodes,): all, or of a larger graph those that are nearest to some, so that these have
    their own neighbours. ``links``: in random order."""
    chosen = np.full(nodes, nodes <= MOST_NODES or not len(links))
    if chosen.all():
        return chosen
    rng = np.random.default_rng(1)
    found = rng.choice(links[:, 0], STARTS)
    while len(found) and (count := int(np.count_nonzero(chosen))) < MOST_NODES:
        chosen[found[: MOST_NODES - count]] = True
        one, other = chosen[links].T
        found = rng.permutation(np.unique(np.concatenate([links[other & ~one, 0], links[one & ~other, 1]])))
        if not len(found):  # a part of the graph without links to others ends here
            found = rng.permutation(links[~one & ~other, 0])[:STARTS]
    return chosen


def _reciprocal_ranks(nodes: int, links: Pairs, asked: Pairs) -> tuple[Floats, Floats]:
    """Return one over the rank of each asked link's ends among all nodes that are not linked to the other, the mean of both, by
    walks over ``links`` of two and four steps, and of three. Steps weigh by the degrees of both ends."""
    src, dst = np.concatenate([links, links[:, ::-1]]).T
    counts = np.bincount(dst, minlength=nodes)
    indptr, sources = np.concatenate([[0], np.cumsum(counts)]), np.ascontiguousarray(src[np.argsort(dst, kind="stable")])
    roots = (1 / np.sqrt(np.maximum(counts, 1))).astype(np.float32)[:, None]

    def step(walks: Floats) -> Floats:
        out = np.empty_like(walks)
        neighbour_sum(walks * roots, indptr, sources, out, None)
        out *= roots
        return out

    one, other, each = asked.T.reshape(-1), asked.T[::-1].reshape(-1), np.arange(2 * len(asked))
    begun = np.zeros((nodes, len(each)), np.float32)
    begun[one, each] = 1
    near = step(begun)
    left_out = (near > 0) | (begun > 0)
    two = step(near)
    three = step(two)

    def ranked(walks: Floats) -> Floats:
        walks = np.where(left_out, -1, walks)
        right = walks[other, each]
        rank = 1 + (walks > right).sum(0) + (walks == right).sum(0) / 2
        found: Floats = (1 / rank).reshape(2, -1).mean(0)
        return found

    return ranked(two + step(three)), ranked(three)
