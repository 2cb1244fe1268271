"""Find the best answers to questions among all nodes, exactly: one pass over the table for each block of questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.errors import UserError
from marius_lite.evaluate.best import BestAnswers
from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.known import KnownAnswers
from marius_lite.evaluate.masks import Masks
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.scorer import Scorer, Tiles, query_vectors
from marius_lite.evaluate.sending import sent
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.types import Ids

BLOCK = 4096
"""Questions that are answered in one pass over the table."""
KNOWN_LIMIT = 1 << 22
"""Known answers in memory at a time."""

Chosen = Callable[[int], npt.NDArray[np.bool_]]
"""Tells for a partition which of its nodes may be answers, (size,)."""


class Asked(NamedTuple):
    """Questions, (n,) int64 each: side 0 asks (node, rel, ?), side 1 asks (?, rel, node)."""

    side: Ids
    node: Ids
    rel: Ids


class Answers(NamedTuple):
    """The best nodes of each question and their scores, (n, k), best first. Where there are fewer, the rest is -1 and -inf."""

    nodes: Ids
    scores: npt.NDArray[np.float32]


class LeftOut(NamedTuple):
    """Which nodes are no answers: those that ``known`` edges give; with ``selves`` the node that a question is about; and those
    that are not ``chosen``, None where all are."""

    known: Sequence[EdgeSource] = ()
    selves: bool = False
    chosen: Chosen | None = None


NOTHING_LEFT_OUT = LeftOut()


@torch.no_grad()
def answer(
    pages: Pages, scorer: Scorer, asked: Asked, topk: int, left_out: LeftOut = NOTHING_LEFT_OUT, block: int = BLOCK
) -> Answers:
    """Return the ``topk`` best nodes for each question.

    Of equal scores the lower node id comes first. Memory grows with the answers and with ``block``, the questions of a pass, not
    with the graph. Raises UserError for topk below 1, RunError for scores that are NaN.
    """
    check_topk(topk)
    partitioning = pages.partitioning
    topk = min(topk, partitioning.nodes)
    tiles, candidates = Tiles(scorer, pages.dim), Candidates(partitioning)
    answers = Answers(*(np.empty((len(asked.node), topk), dtype) for dtype in (np.int64, np.float32)))
    known = KnownAnswers(left_out.known, partitioning, candidates, KNOWN_LIMIT)
    for start in range(0, len(asked.node), block):
        side, node, rel = (each[start : start + block] for each in asked)
        queries = Queries(side, node, rel, np.full(len(node), -1), scorer.relation_count)
        places, place = np.unique(queries.node, return_inverse=True)
        vectors = query_vectors(scorer, pages.gather(places), place, queries.rel, queries.side)
        best = BestAnswers(len(queries), topk, vectors.device)
        for k, values in pages.each(range(partitioning.partitions)):
            gone = None if left_out.chosen is None else sent(~left_out.chosen(k), vectors.device)
            for first, last, found in known.parts(queries, k):
                masks = Masks(queries, candidates, k, found, tiles.shape.together, vectors.device)
                begin, end = int(queries.starts[first]), int(queries.starts[last])
                for low, high in candidates.tiles(k, tiles.shape.together):
                    tiles.load(values[low:high])
                    ids = torch.arange(low, high, device=vectors.device) + candidates.first_id(k)
                    for begun, stop, scores in tiles.scores(vectors, queries.rel, begin, end):
                        if left_out.selves:
                            scores.index_put_(masks.selves(begun, stop, low, high), best.worst)
                        if gone is not None:
                            scores.masked_fill_(gone[low:high], -torch.inf)
                        best.add(begun, stop, scores, ids, masks.tile(begun, stop, low, high))
        answers.nodes[start + queries.place] = best.nodes.cpu().numpy()
        answers.scores[start + queries.place] = best.scores.cpu().numpy()
    return answers


def check_topk(topk: int) -> None:
    """Raise UserError for a number of answers below 1."""
    if topk < 1:
        raise UserError(f"topk is {topk}: ask for 1 or more")
