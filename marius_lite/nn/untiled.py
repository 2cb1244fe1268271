"""Compute the softmax loss among shared negatives without storing scores, in mixed precision on processors with AMX."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from marius_lite._native import shared_softmax, shared_softmax_usable
from marius_lite.config.memory import UNTILED_QUERIES
from marius_lite.nn.losses import Loss, Softmax
from marius_lite.nn.products import mixed
from marius_lite.nn.side_grads import SideGrads
from marius_lite.nn.similarities import Inner, Similarity
from marius_lite.types import Pairs


def suits(similarity: Similarity, loss: Loss, query: Tensor) -> bool:
    """Return whether this module's `score_side` can be used."""
    return (
        mixed() and not query.is_cuda and isinstance(similarity, Inner) and isinstance(loss, Softmax) and shared_softmax_usable()
    )


def score_side(
    similarity: Similarity, query: Tensor, positive: Tensor, negatives: Tensor, left_out: Pairs | None = None
) -> SideGrads:
    """Do what `marius_lite.nn.scoring.score_side` does, by `csrc/score/shared_softmax.h`."""
    chunks, n = len(negatives), len(query)
    scores = similarity.pairs(query, positive)
    losses, d_scores, d_query, d_negatives = (torch.empty_like(each) for each in (scores, scores, query, negatives))
    size = -(-n // chunks)
    for chunk in range(chunks):
        first, last = min(chunk * size, n), min((chunk + 1) * size, n)
        calls = -(-(last - first) // UNTILED_QUERIES) or 1  # a chunk without queries needs one too, which sets its gradients
        rows = -(-(last - first) // calls)
        for start in range(first, last, rows) if rows else (first,):
            part = slice(start, min(start + rows, last))
            shared_softmax(
                query[part].numpy(),
                negatives[chunk].numpy(),
                scores[part].numpy(),
                *_hidden(left_out, part),
                losses[part].numpy(),
                d_scores[part].numpy(),
                d_query[part].numpy(),
                d_negatives[chunk].numpy(),
                start > first,
                torch.get_num_threads(),
            )
    d_positive = torch.empty_like(positive)
    similarity.pairs_backward(query, positive, d_scores, d_query, d_positive)
    return SideGrads(losses.sum(dtype=torch.float64), d_query, d_positive, d_negatives)


def _hidden(pairs: Pairs | None, queries: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of some queries: (query, counted from the first of them; candidate), in the order of candidates."""
    if pairs is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    part = slice(*np.searchsorted(pairs.edges, (queries.start, queries.stop)).tolist())
    edges, columns = np.asarray(pairs.edges[part], np.int64) - queries.start, np.asarray(pairs.columns[part], np.int64)
    order = np.argsort(columns, kind="stable")
    return edges[order], columns[order]
