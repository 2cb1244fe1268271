"""Compare queries with negatives that they share, and compute the gradients of a loss.

Where it can, native code does this, and stores no array of all scores: `csrc/score/shared_loss.h`. There are several ways, each
for other processors. A way gives the same bits wherever it can be used, for the same number of threads. So a run records which
one it takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from marius_lite._native import shared_loss, shared_loss_ways
from marius_lite.nn.losses import Loss
from marius_lite.nn.scoring import NO_PAIRS, Compared, SideGrads, score_in_tiles
from marius_lite.nn.similarities import Inner, Similarity
from marius_lite.nn.workspace import Workspace


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


class SideScoring:
    """Compares queries with their positives and with negatives that they share, and computes the gradients of a loss.

    ``way``: how inner products and their loss are computed on a CPU, one of `usable_ways`, or torch. All else is computed by
    torch, in tiles of scores. What that needs is in ``workspace``, and no larger than one tile.
    """

    def __init__(self, similarity: Similarity, loss: Loss, workspace: Workspace, way: str = "torch"):
        self._similarity, self._loss, self._workspace, self._way = similarity, loss, workspace, way
        self._native = loss.native if suits(way, similarity, loss) else None

    def __call__(self, sides: Sequence[Compared], negatives: Tensor) -> SideGrads:
        """Compare each query with its positive and its chunk's negatives. Returns new tensors: gradients of all sides, in order.

        ``sides``: of n edges each. ``negatives``: (chunks of all sides, k, dim). The edges of a side are split into its chunks
        in order, ceil(n / chunks) to each.
        """
        if self._native is None or negatives.is_cuda:
            return score_in_tiles(self._similarity, self._loss, sides, negatives, self._workspace)
        grads = SideGrads.of(sum(len(side.query) for side in sides), negatives)
        for number, side in enumerate(sides):
            self._compare(*self._native, side, negatives.chunk(len(sides))[number], grads.part(number, len(sides)))
        return grads

    def _compare(self, kind: str, margin: float, side: Compared, negatives: Tensor, out: SideGrads) -> None:
        """Compare a side by native code. ``kind``, ``margin``: see `Loss.native`. ``out`` takes gradients, and adds the loss."""
        losses, left_out, correction = torch.empty(len(side.query)), side.left_out or NO_PAIRS, side.correction
        shared_loss(
            self._way,
            kind,
            margin,
            side.query.contiguous().numpy(),
            side.positive.contiguous().numpy(),
            negatives.contiguous().numpy(),
            left_out.edges,
            left_out.columns,
            (correction.answers, correction.negatives) if correction else None,
            losses.numpy(),
            out.query.numpy(),
            out.positive.numpy(),
            out.negatives.numpy(),
            torch.get_num_threads(),
        )
        out.loss.add_(losses.sum(dtype=torch.float64))
