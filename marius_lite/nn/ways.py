"""Choose how a run computes its scores on this processor: by torch, or in one of the ways of `nn.shared_loss`."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import torch
from torch import Tensor

from marius_lite.errors import UserError
from marius_lite.nn import shared_loss
from marius_lite.nn.losses import Loss, Softmax
from marius_lite.nn.products import products_in
from marius_lite.nn.scoring import SideScoring
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace

TIMED_QUERIES, TIMED_CANDIDATES = 256, 2048
"""The most queries and candidates that ways are timed on."""
WORTH_TIMING = 1 << 22
"""The fewest multiplications of a timed product. Where a batch has fewer, the usual way is taken."""
LEAST_ROUNDS, MOST_ROUNDS, SECONDS = 3, 12, 0.3
"""How often the ways are timed in turn: until so many seconds are over. The least time of each counts: another process can only
make it longer."""
SOFTMAX = Softmax()
AHEAD = 1.25
"""How many times as fast another way must be to be taken instead of the usual one. So two runs on one machine choose alike."""


def ways(precision: str, loss: Loss = SOFTMAX) -> list[str]:
    """Return the ways that there are on this processor for a loss, the one that is usually fastest first."""
    return [*shared_loss.usable_ways(precision == "mixed", loss), "torch"]


def require_way(way: str, precision: str) -> None:
    """Raise UserError for a way that this processor does not have."""
    if way not in ways(precision) and way != "torch":
        raise UserError(
            f"`training.scoring` is {way}, which this processor does not have: it has {', '.join(ways(precision))}; "
            "`resume RUN --set training.scoring=auto` goes on in another way, whose numbers differ in their last digits"
        )


def chosen_way(precision: str, similarity: str, loss: Loss, shape: tuple[int, int, int]) -> str:
    """Return the way for batches of a ``shape``: queries that share candidates, candidates, numbers of each.

    Other similarities than inner products, and losses that native code does not have, are left to torch.
    """
    found = timed_rates(precision, similarity, loss, shape)
    usual = ways(precision, loss)[0] if similarity == "inner" else "torch"
    best = max(found, key=lambda way: found[way], default=usual)
    return best if found and found[best] > AHEAD * found[usual] else usual


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

    tensors = drawn(queries, dim), drawn(queries, dim), drawn(1, candidates, dim)
    operations = 6 * queries * candidates * dim
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with products_in(precision):
            taken = _least_seconds(ways(precision, loss), loss, tensors)
    finally:
        torch.set_num_threads(threads)
    return {way: operations / 1e9 / seconds for way, seconds in taken.items()}


def _least_seconds(names: list[str], loss: Loss, tensors: tuple[Tensor, Tensor, Tensor]) -> dict[str, float]:
    least = dict.fromkeys(names, float("inf"))
    start = time.perf_counter()
    for done in range(MOST_ROUNDS):
        if done >= LEAST_ROUNDS and time.perf_counter() - start > SECONDS:
            break
        least = {way: min(before, _seconds(way, loss, tensors)) for way, before in least.items()}
    return least


def _seconds(way: str, loss: Loss, tensors: tuple[Tensor, Tensor, Tensor]) -> float:
    scoring = SideScoring(SIMILARITIES["inner"], loss, Workspace(), way)
    start = time.thread_time()
    scoring(*tensors)
    return max(time.thread_time() - start, 1e-9)
