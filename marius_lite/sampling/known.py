"""Find negatives that are no wrong answers: another edge of the batch has them, or they are the node that is asked about."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.types import EdgeBatch, Pairs, Rows


def known_among(edges: EdgeBatch, negatives: npt.NDArray[np.int64]) -> tuple[Pairs, ...]:
    """For each side, the negatives that are true answers of an edge by an edge of the batch, the edge itself included.

    ``negatives``: (sides, chunks, count) rows, or (1, chunks, count) for both sides.
    """
    ends = ((edges.src, edges.dst), (edges.dst, edges.src))
    return tuple(
        _true_pairs(node, edges.rel, answer, negatives[side % len(negatives)]) for side, (node, answer) in enumerate(ends)
    )


def with_selves(left_out: tuple[Pairs, ...], edges: EdgeBatch, negatives: npt.NDArray[np.int64]) -> tuple[Pairs, ...]:
    """For each side, ``left_out`` and the negatives that are the node that the question is about. ``negatives``: as above.

    An edge from a node to itself has no such negative: there the node is the answer.
    """
    each = np.flatnonzero(edges.src != edges.dst)
    selves = [
        _pairs_among(each, node[each], edges.size, negatives[side % len(negatives)])
        for side, node in enumerate((edges.src, edges.dst))
    ]
    return tuple(_merged(*both) for both in zip(left_out, selves)) if left_out else tuple(selves)


def _merged(one: Pairs, other: Pairs) -> Pairs:
    columns = [np.concatenate(pair) for pair in ((one.edges, other.edges), (one.columns, other.columns))]
    order = np.argsort(columns[0], kind="stable")
    return Pairs(*(column[order] for column in columns))


def _true_pairs(node: Rows, rel: Rows, answer: Rows, negatives: npt.NDArray[np.int64]) -> Pairs:
    return _pairs_among(*_answers(node, rel, answer), len(node), negatives)


def _pairs_among(edge: Rows, true: Rows, edges: int, negatives: npt.NDArray[np.int64]) -> Pairs:
    """The places of nodes ``true`` among the negatives of their ``edge``s' chunks. Edges ascend, of a batch of ``edges``."""
    size = -(-edges // len(negatives))  # edges of a chunk, as `nn.scoring` cuts them
    found: list[tuple[Rows, Rows]] = []
    for chunk, drawn in enumerate(negatives):
        first, last = np.searchsorted(edge, (chunk * size, (chunk + 1) * size))
        order = np.argsort(drawn)
        low, high = (np.searchsorted(drawn, true[first:last], side, sorter=order) for side in ("left", "right"))
        found.append((np.repeat(edge[first:last], high - low), order[_ranges(low, high - low)]))
    return Pairs(*(np.concatenate(columns) for columns in zip(*found)))


def _answers(node: Rows, rel: Rows, answer: Rows) -> tuple[Rows, Rows]:
    """(edge, answer) for each edge and each answer of the batch to its question; edges ascend."""
    _, group, counts = np.unique(node * (int(rel.max(initial=0)) + 1) + rel, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(counts) - counts
    edge = np.repeat(np.arange(len(node)), counts[group])
    return edge, answer[order[_ranges(starts[group], counts[group])]]


def _ranges(starts: Rows, sizes: Rows) -> Rows:
    """starts[0], starts[0] + 1, ... (sizes[0] of them), then those from starts[1], and so on."""
    ends = np.cumsum(sizes)
    result: Rows = np.arange(int(sizes.sum())) + np.repeat(starts - (ends - sizes), sizes)
    return result
