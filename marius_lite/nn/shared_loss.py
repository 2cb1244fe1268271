"""Losses among shared negatives, by native code that stores no array of all scores: `csrc/score/shared_loss.h`.

There are several ways, each for other processors. A way gives the same bits wherever it can be used, for the same number of
threads. So a run records which one it takes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from marius_lite._native import shared_loss, shared_loss_ways
from marius_lite.nn.losses import Loss, SideGrads
from marius_lite.nn.similarities import Inner, Similarity
from marius_lite.types import Correction, Pairs

_NONE = np.empty(0, np.int64)


def usable_ways(rounds: bool, loss: Loss) -> list[str]:
    """Return the ways for a loss that this processor has, the one that is usually fastest first.

    ``rounds``: those that round to bfloat16, or those that do not.
    """
    if loss.native is None:
        return []
    kind, _ = loss.native
    return [name for name, rounded, every in shared_loss_ways() if rounded == rounds and (every or kind == "softmax")]


def suits(way: str, similarity: Similarity, loss: Loss) -> bool:
    """Return whether these can be computed in this way."""
    return isinstance(similarity, Inner) and any(way in usable_ways(rounds, loss) for rounds in (False, True))


def score_side(
    way: str,
    loss: Loss,
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    left_out: Pairs | None = None,
    correction: Correction | None = None,
    out: SideGrads | None = None,
) -> SideGrads:
    """Do what `marius_lite.nn.scoring` does for inner products, on the CPU. ``out``: what takes the gradients, if given."""
    assert loss.native is not None
    kind, margin = loss.native
    losses = torch.empty(len(query))
    grads = out or SideGrads.of(len(query), negatives)
    edges, columns = (left_out.edges, left_out.columns) if left_out else (_NONE, _NONE)
    shared_loss(
        way,
        kind,
        margin,
        query.contiguous().numpy(),
        positive.contiguous().numpy(),
        negatives.contiguous().numpy(),
        edges,
        columns,
        (correction.answers, correction.negatives) if correction else None,
        losses.numpy(),
        grads.query.numpy(),
        grads.positive.numpy(),
        grads.negatives.numpy(),
        torch.get_num_threads(),
    )
    grads.loss.add_(losses.sum(dtype=torch.float64))
    return grads
