"""Fit how probable an edge is by its score, on a split that was not trained.

What is probable is that an edge is a true one, where true edges and random ones are met equally often. True ones are those of the
split. Of each a random one is made: one end, by chance the source or the destination, is replaced by a node drawn from all nodes,
so that no known edge comes of it. Platt scaling turns scores into probabilities. 0.9 then says that of the edges with such a
score, taken from as many true ones as random ones, 9 in 10 are true. It does not say how often the best of all nodes is right:
few random edges score as high, so that nothing is fitted there.

Tabacof and Costabello, "Probability calibration for knowledge graph embedding models" (2020), do so where there are no negatives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.evaluate.edges import EdgeBlock, select_edges
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.platt import PlattScaling, fit_platt
from marius_lite.evaluate.scorer import Scorer, Tiles, query_vectors
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.log import log
from marius_lite.seeds import generator_for
from marius_lite.types import Ids

EDGES = 10_000
"""Edges that a fit takes at most."""
DRAWN = 8
"""Nodes drawn for each edge. The first that makes no known edge is taken; an edge for which all do is left out."""
AT_ONCE = 2048
"""Edges that are scored at a time; three rows of each are in memory."""

Scores = npt.NDArray[np.float32]


def calibrate(pages: Pages, scorer: Scorer, valid: EdgeSource, known: Sequence[EdgeSource], seed: int = 0) -> PlattScaling:
    """Return the scaling for a model's scores, fitted on at most EDGES edges of ``valid``, which has one at least.

    ``known``: the edges that are true. They are read once. Memory grows with EDGES, not with the graph. The same dataset, model
    and seed give the same scaling. Raises RunError for scores that are NaN.
    """
    true, false = scored_pairs(pages, scorer, next(select_edges(valid, EDGES, seed, EDGES)), known, seed)
    if not len(true):
        log.warning("probabilities: each random edge that was drawn is a known one, so there is nothing to compare: all are 0.5")
        return PlattScaling(0.0, 0.0)
    scaling = fit_platt(true, false)
    if not scaling.slope:
        log.warning("probabilities: edges of the validation split score no higher than random ones: all are 0.5")
    return scaling


def scored_pairs(pages: Pages, scorer: Scorer, edges: EdgeBlock, known: Sequence[EdgeSource], seed: int) -> tuple[Scores, Scores]:
    """Return the scores of ``edges`` (n,), and of the random edge made of each (n,), without those for which none was found.

    They come in another order than ``edges``. Both are scored as answers to the question for the end that was replaced.
    """
    generator, nodes = generator_for(seed, "evaluate/calibration"), pages.partitioning.nodes
    side = generator.integers(2, size=len(edges.src))
    order = np.argsort(side, kind="stable")  # sides ascend where queries are scored
    side, (src, rel, dst) = side[order], (column[order] for column in edges)
    node, right = np.where(side, dst, src), np.where(side, src, dst)
    drawn = generator.integers(nodes, size=(len(side), DRAWN))
    turned, same = side[:, None] == 1, np.broadcast_to(node[:, None], drawn.shape)
    made = EdgeBlock(np.where(turned, drawn, same).ravel(), np.repeat(rel, DRAWN), np.where(turned, same, drawn).ravel())
    free = ~_are_known(made, known, nodes, scorer.relation_count).reshape(drawn.shape)
    found = np.flatnonzero(free.any(1))
    wrong = drawn[found, free[found].argmax(1)]
    parts = [slice(start, start + AT_ONCE) for start in range(0, len(found), AT_ONCE)]
    scores = [
        _scores(pages, scorer, (side[found[part]], node[found[part]], rel[found[part]]), right[found[part]], wrong[part])
        for part in parts
    ]
    true, false = np.concatenate([np.empty((0, 2), np.float32), *scores]).T
    return true, false


def _are_known(edges: EdgeBlock, known: Sequence[EdgeSource], nodes: int, relations: int) -> npt.NDArray[np.bool_]:
    """Return for each of ``edges`` whether a known edge is equal to it."""
    ends = edges.src * nodes + edges.dst
    pairs = np.unique(ends)
    codes = np.searchsorted(pairs, ends) * relations + edges.rel  # a relation and two node ids might not fit 64 bits
    found = np.zeros(len(codes), np.bool_)
    for split in known:
        for block in select_edges(split, None, 0):
            ends = block.src * nodes + block.dst
            at = np.minimum(np.searchsorted(pairs, ends), len(pairs) - 1)
            hit = pairs[at] == ends
            found |= np.isin(codes, at[hit] * relations + block.rel[hit])
    return found


@torch.no_grad()
def _scores(pages: Pages, scorer: Scorer, asked: tuple[Ids, Ids, Ids], right: Ids, wrong: Ids) -> Scores:
    """Return the scores (n, 2) of a right and of a wrong answer to each question (side, node, rel); sides ascend.

    They have the bits that `answer` gives them.
    """
    side, node, rel = asked
    places, place = np.unique(np.stack([node, right, wrong]), return_inverse=True)
    rows, (about, *ends) = pages.gather(places), place.reshape(3, -1)
    vectors, tiles = query_vectors(scorer, rows, about, rel, side), Tiles(scorer, pages.dim)
    found, at_once = np.empty((len(node), 2), np.float32), tiles.shape.queries
    for start in range(0, len(node), at_once):
        tiles.load(rows[np.concatenate([end[start : start + at_once] for end in ends])])
        for begin, stop, scores in tiles.scores(vectors, rel, start, min(start + at_once, len(node))):
            own = torch.arange(stop - begin, device=scores.device)
            found[begin:stop] = torch.stack([scores[own, own], scores[own, own + len(own)]], 1).cpu().numpy()
    return found
