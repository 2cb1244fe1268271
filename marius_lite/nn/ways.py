"""Choose how a run computes its scores on this processor: by torch, or in one of the ways of `nn.scoring`."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn.losses import Loss, Softmax
from marius_lite.nn.products import products_in
from marius_lite.nn.scoring import Compared, SideScoring, usable_ways
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.timing import least_seconds, preferred
from marius_lite.nn.workspace import Workspace

TIMED_QUERIES, TIMED_CANDIDATES = 256, 2048
"""The most queries and candidates that ways are timed on."""
WORTH_TIMING = 1 << 22
"""The fewest multiplications of a timed product. Where a batch has fewer, the usual way is taken."""
SOFTMAX = Softmax()


def ways(precision: str, loss: Loss = SOFTMAX) -> list[str]:
    """Return the ways that are tried on this processor for a loss, the one that is usually fastest first.

    Mixed precision lets products round. Where the processor cannot gain by it, the ways that do not round are tried: torch rounds
    nothing either on a processor without wide vectors, and takes up to twice as long.
    """
    return [*(_rounding(precision, loss) or usable_ways(False, loss)), "torch"]


def _rounding(precision: str, loss: Loss) -> list[str]:
    """Return the ways on this processor that round, where the precision lets them."""
    return usable_ways(True, loss) if precision == "mixed" else []


def require_way(way: str, precision: str) -> None:
    """Raise UserError for a way that this processor does not have."""
    there = [*_rounding(precision, SOFTMAX), *usable_ways(False, SOFTMAX), "torch"]
    if way not in there:
        raise UserError(
            f"`training.scoring` is {way}, which this processor does not have: it has {', '.join(there)}; "
            "`resume RUN --set training.scoring=auto` goes on in another way, whose numbers differ in their last digits"
        )


def chosen_way(precision: str, similarity: str, loss: Loss, shape: tuple[int, int, int]) -> str:
    """Return the way for batches of a ``shape``: queries that share candidates, candidates, numbers of each.

    Other similarities than inner products, and losses that native code does not have, are left to torch.
    """
    found = timed_rates(precision, similarity, loss, shape)
    usual = ways(precision, loss)[0] if similarity == "inner" else "torch"
    return preferred(usual, found)


def timed_rates(precision: str, similarity: str, loss: Loss, shape: tuple[int, int, int]) -> dict[str, float]:
    """Return what `rates` says of a part of such batches that is large enough; none where torch computes them anyway."""
    queries, candidates, dim = shape
    if similarity != "inner" or loss.native is None:
        return {}
    return rates(precision, loss, (min(queries, TIMED_QUERIES), min(candidates, TIMED_CANDIDATES), dim))


@cache
def rates(precision: str, loss: Loss, shape: tuple[int, int, int]) -> dict[str, float]:
    """Return GFLOP/s of one thread in each way, by the thread's own time; none where a batch is too small to tell.

    A score counts 6 * dim operations: its product, and those of both gradients.
    """
    queries, candidates, dim = shape
    if queries * candidates * dim < WORTH_TIMING:
        return {}
    generator = np.random.default_rng(0)

    def drawn(*shape: int) -> Tensor:
        return torch.from_numpy(generator.standard_normal(shape, np.float32) * np.float32(dim**-0.5))

    edges, negatives = Compared(drawn(queries, dim), drawn(queries, dim)), drawn(1, candidates, dim)
    operations = 6 * queries * candidates * dim
    scorings = {way: SideScoring(SIMILARITIES["inner"], loss, Workspace(), way) for way in ways(precision, loss)}
    with products_in(precision):
        taken = least_seconds({way: partial(scoring, [edges], negatives) for way, scoring in scorings.items()})
    return {way: operations / 1e9 / seconds for way, seconds in taken.items()}
