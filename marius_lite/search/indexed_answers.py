"""Answer questions with an index: exact scores of the nodes that it finds, without those that are to be left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from marius_lite.evaluate.answers import KNOWN_LIMIT, Answers, Asked, Chosen, LeftOut, check_topk
from marius_lite.evaluate.candidates import Candidates
from marius_lite.evaluate.known import KnownAnswers
from marius_lite.evaluate.queries import Queries
from marius_lite.evaluate.scorer import Scorer, query_vectors
from marius_lite.graph.edge_source import EdgeSource
from marius_lite.graph.partitioning import Partitioning
from marius_lite.search.index_folder import IndexOnDisk
from marius_lite.search.vector_index import Probing, VectorIndex, best_of
from marius_lite.types import Ids

BLOCK = 1024
"""Questions that are answered together."""
MOST_LEFT_OUT = 4096
"""Known answers that a question may have: so many more nodes are fetched for it. Questions with more are answered exactly."""


@torch.no_grad()
def answer_by_index(
    index: VectorIndex,
    folder: IndexOnDisk,
    partitioning: Partitioning,
    scorer: Scorer,
    asked: Asked,
    topk: int,
    left_out: LeftOut,
) -> tuple[Answers, npt.NDArray[np.bool_]]:
    """Return the best nodes that the index finds for each question, as `evaluate.answers.answer` does, and which are complete.

    A question is not complete where fewer than ``topk`` nodes are left, or too many known answers are to be left out. Its answers
    should then be looked for among all nodes.
    """
    check_topk(topk)
    topk = min(topk, partitioning.nodes)
    answers = Answers(np.full((len(asked.node), topk), -1), np.full((len(asked.node), topk), -np.inf, np.float32))
    complete = np.zeros(len(asked.node), bool)
    probing = Probing(*folder.record["probing"])
    bits = None
    if left_out.chosen is not None:
        bits, share = chosen_bits(left_out.chosen, partitioning)
        probes = int(np.ceil(probing.probes / max(share, 1e-9)))  # as many chosen nodes are looked at as without a choice
        probing = Probing(min(folder.record["plan"]["lists"], probes), probing.fetched)
    for start in range(0, len(asked.node), BLOCK):
        side, node, rel = (each[start : start + BLOCK] for each in asked)
        queries = Queries(side, node, rel, np.full(len(node), -1), scorer.relation_count)
        gone = _left_out(queries, left_out, partitioning)
        most = int(np.bincount(gone[0], minlength=1).max())
        vectors = query_vectors(scorer, index.rows(queries.node), np.arange(len(queries)), queries.rel, queries.side)
        looked = probing.scaled(topk)
        looked = Probing(looked.probes, min(looked.fetched + min(most, MOST_LEFT_OUT), partitioning.nodes))
        for part, nodes, scores in index.near(scorer, vectors, queries.rel, looked, bits):
            _leave_out(nodes, scores, gone, part)
            best, values = best_of(nodes, scores, topk)
            place = start + queries.place[part]
            answers.nodes[place, : best.shape[1]], answers.scores[place, : best.shape[1]] = best, values
            complete[place] = (answers.nodes[place] >= 0).all(1)
        full = np.bincount(gone[0], minlength=len(queries)) <= MOST_LEFT_OUT
        complete[start + queries.place] &= full
    return answers, complete


def chosen_bits(chosen: Chosen, partitioning: Partitioning) -> tuple[npt.NDArray[np.uint8], float]:
    """Return a bit for each node, the lowest of each byte first, and which share of the nodes is chosen."""
    bits, total = np.zeros(partitioning.nodes + 7 >> 3, np.uint8), 0
    for k in range(partitioning.partitions):
        places = np.flatnonzero(chosen(k)) + partitioning.range(k).start
        np.bitwise_or.at(bits, places >> 3, (1 << (places & 7)).astype(np.uint8))
        total += len(places)
    return bits, total / partitioning.nodes


def _left_out(queries: Queries, left_out: LeftOut, partitioning: Partitioning) -> tuple[Ids, Ids]:
    """Return pairs (query, node) that are no answers, ordered by the query."""
    rows, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    if left_out.selves:
        rows.append(np.arange(len(queries)))
        nodes.append(queries.node)
    for question, node in _known(queries, left_out.known, partitioning):
        counts = queries.starts[question + 1] - queries.starts[question]
        first = np.repeat(queries.starts[question] - np.cumsum(counts) + counts, counts)
        rows.append(first + np.arange(len(first)))
        nodes.append(np.repeat(node, counts))
    row, node = np.concatenate(rows), np.concatenate(nodes)
    order = np.argsort(row, kind="stable")
    return row[order], node[order]


def _known(queries: Queries, known: Sequence[EdgeSource], partitioning: Partitioning) -> list[tuple[Ids, Ids]]:
    """Return (questions, nodes) of the known answers."""
    if not known:
        return []
    candidates = Candidates(partitioning)
    finder = KnownAnswers(known, partitioning, candidates, KNOWN_LIMIT)
    return [
        (found.key, found.position + candidates.first_id(k))
        for k in range(partitioning.partitions)
        for _, _, found in finder.parts(queries, k)
    ]


def _leave_out(nodes: Ids, scores: npt.NDArray[np.float32], gone: tuple[Ids, Ids], part: slice) -> None:
    """Set the scores of nodes that are no answers to -inf."""
    first, last = np.searchsorted(gone[0], [part.start, part.stop])
    for row in np.unique(gone[0][first:last]).tolist():
        begin, end = np.searchsorted(gone[0], [row, row + 1])
        scores[row - part.start, np.isin(nodes[row - part.start], gone[1][begin:end])] = -np.inf
