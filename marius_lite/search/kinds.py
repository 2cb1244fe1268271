"""Choose the kind of an index: what it keeps of each vector, and in how many lists."""

from __future__ import annotations

import math
from dataclasses import dataclass

from marius_lite.errors import UserError
from marius_lite.sizes import format_bytes

KINDS = ("flat", "ivf-flat", "ivf-pq")
FEW = 20_000
"""Nodes up to which an index is flat: to look at each takes no longer than to choose."""
MADE = 18
"""Bytes of a node while an index is made, beside its code: its list, its place, and room to sort."""
WORKING = 160 << 20
"""Bytes for blocks of rows, tiles of scores and questions, beside what grows with the nodes."""
SUBSPACES = (2, 4, 8)
"""How many numbers one byte of a product-quantized code may stand for. Fewer are better, and take more memory."""
MOST_LISTS = 1 << 15
OF_A_LIST = 64
"""Vectors of a list, at most, from which its centroid is learned."""
LEAST_QUANTIZED = 256
"""A product quantizer has 256 centroids, and learns them from no fewer vectors."""


@dataclass(frozen=True)
class IndexPlan:
    """``kind``: one of KINDS. ``width``: numbers of a vector, padded. ``subspace``: how many of them a byte stands for; 0: each
    is a float32. ``lists``: how many lists vectors are in. ``memory``: bytes while it is made; it is searched in less."""

    kind: str
    width: int
    subspace: int
    lists: int
    memory: int

    def learned_from(self, nodes: int, memory: int) -> int:
        """Return from how many vectors the lists are learned. They take an eighth of the memory."""
        return max(
            1, min(nodes, max(self.lists * OF_A_LIST, (1 << 16) if self.subspace else 1 << 10), memory // 8 // (4 * self.width))
        )


def plan_index(kind: str, nodes: int, dim: int, memory: int) -> IndexPlan:
    """Return the plan of an index over so many vectors within ``memory`` bytes. ``kind``: one of KINDS, or auto: flat for few
    nodes, ivf-flat where vectors fit as they are, else ivf-pq.

    Raises UserError for another kind, and where no code is small enough.
    """
    if kind not in ("auto", *KINDS):
        raise UserError(f"--kind {kind}: unknown: use auto, {', '.join(KINDS)}")
    if kind == "ivf-pq" and nodes < LEAST_QUANTIZED:
        raise UserError(f"--kind ivf-pq: needs {LEAST_QUANTIZED} nodes or more, the dataset has {nodes}: use --kind flat")
    lists = min(MOST_LISTS, 1 << round(math.log2(math.sqrt(nodes))))
    plans = [
        IndexPlan("flat", dim, 0, 1, _bytes(nodes, 4 * dim)),
        IndexPlan("ivf-flat", dim, 0, lists, _bytes(nodes, 4 * dim)),
        *(IndexPlan("ivf-pq", -(-dim // sub) * sub, sub, lists, _bytes(nodes, -(-dim // sub))) for sub in SUBSPACES),
    ]
    if kind == "auto":
        plans = plans[:1] if nodes <= FEW else plans[1:]
    wanted = [plan for plan in plans if kind in ("auto", plan.kind)]
    for plan in wanted:
        if plan.memory <= memory:
            return plan
    raise UserError(
        f"memory is {format_bytes(memory)}, but an index of {nodes:,} nodes ({wanted[-1].kind}) needs "
        f"{format_bytes(wanted[-1].memory)}: give more with --memory" + ("" if kind == "auto" else ", or use --kind auto")
    )


def _bytes(nodes: int, code: int) -> int:
    return nodes * (code + MADE) + WORKING
