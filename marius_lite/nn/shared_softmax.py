"""The softmax loss among shared negatives, by native code that stores no array of all scores: `csrc/score/shared_softmax.h`.

There are several ways, each for other processors. A way gives the same bits wherever it can be used, for the same number of
threads. So a run records which one it takes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from marius_lite._native import shared_softmax, shared_softmax_ways
from marius_lite.nn.losses import Loss, SideGrads, Softmax
from marius_lite.nn.similarities import Inner, Similarity
from marius_lite.types import Correction, Pairs

_NONE = np.empty(0, np.int64)


def usable_ways(rounds: bool) -> list[str]:
    """Return the ways that this processor has, the one that is usually fastest first: those that round to bfloat16, or others."""
    return [name for name, rounded in shared_softmax_ways() if rounded == rounds]


def suits(similarity: Similarity, loss: Loss) -> bool:
    """Return whether these can be computed so."""
    return isinstance(similarity, Inner) and isinstance(loss, Softmax)


def score_side(
    way: str,
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    left_out: Pairs | None = None,
    correction: Correction | None = None,
) -> SideGrads:
    """Do what `marius_lite.nn.scoring` does for inner products and softmax. All tensors are on the CPU."""
    losses = torch.empty(len(query))
    d_query, d_positive, d_negatives = (torch.empty_like(each) for each in (query, positive, negatives))
    edges, columns = (left_out.edges, left_out.columns) if left_out else (_NONE, _NONE)
    shared_softmax(
        way,
        query.contiguous().numpy(),
        positive.contiguous().numpy(),
        negatives.contiguous().numpy(),
        edges,
        columns,
        (correction.answers, correction.negatives) if correction else None,
        losses.numpy(),
        d_query.numpy(),
        d_positive.numpy(),
        d_negatives.numpy(),
        torch.get_num_threads(),
    )
    return SideGrads(losses.sum(dtype=torch.float64), d_query, d_positive, d_negatives)
