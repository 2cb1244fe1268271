"""How many edges the nodes have: from what was counted while edges were written, or by reading them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.buckets import Tally
from marius_lite.preprocess.options import SPLITS

QUANTILES = (0.5, 0.9, 0.99)
PIECE = 1 << 18
Counts = npt.NDArray[np.uint32]
NodeCounts = tuple[Counts, Counts, npt.NDArray[np.uint8]]  # out-degrees, in-degrees, seen, as in `Tally`


@dataclass(frozen=True)
class DegreeFacts:
    """``out``, ``into``: mean, quantiles and maximum of the training degrees. ``without_edges``: nodes that training never sees;
    ``unseen``: those of them that another split sees, by its name."""

    out: dict[str, float]
    into: dict[str, float]
    without_edges: int
    unseen: dict[str, int]


def degree_facts(edges: Mapping[str, EdgeBuckets], partitioning: Partitioning, tally: Tally, in_degrees: Path) -> DegreeFacts:
    """``edges``: by split. In-degrees are also written to ``in_degrees``, uint32 by node."""
    out, into = _Histogram(), _Histogram()
    without, unseen = 0, {name: 0 for name in edges if name != SPLITS[0]}
    with open(in_degrees, "wb") as file:
        for outs, ins, seen in _by_partition(edges, partitioning, tally):
            out.add(outs)
            into.add(ins)
            file.write(ins.data)
            without += int(np.count_nonzero(seen & 1 == 0))
            for name in unseen:
                unseen[name] += int(np.count_nonzero((seen & 1 == 0) & (seen >> SPLITS.index(name) & 1 == 1)))
    return DegreeFacts(out.facts(), into.facts(), without, unseen)


def _by_partition(edges: Mapping[str, EdgeBuckets], partitioning: Partitioning, tally: Tally) -> Iterator[NodeCounts]:
    for k in range(partitioning.partitions):
        if tally.seen is not None and tally.out_degrees is not None and tally.in_degrees is not None:
            part = slice(partitioning.range(k).start, partitioning.range(k).stop)
            yield tally.out_degrees[part], tally.in_degrees[part], tally.seen[part]
        else:
            yield _count(edges, partitioning, k)


def _count(edges: Mapping[str, EdgeBuckets], partitioning: Partitioning, k: int) -> NodeCounts:
    """Of partition k: its row and its column of buckets, read again."""
    size = partitioning.size(k)
    outs, ins, seen = np.zeros(size, np.uint32), np.zeros(size, np.uint32), np.zeros(size, np.uint8)
    for name, buckets in edges.items():
        bit = np.uint8(1 << SPLITS.index(name))
        for other in range(partitioning.partitions):
            for column, degrees, bucket in ((0, outs, (k, other)), (1, ins, (other, k))):
                for piece in buckets.stream(*bucket, PIECE):
                    found = np.bincount(piece[column], minlength=size).astype(np.uint32)
                    seen |= np.where(found > 0, bit, np.uint8(0))
                    if name == SPLITS[0]:
                        degrees += found
    return outs, ins, seen


class _Histogram:
    """Of degrees: small ones counted exactly, large ones kept, of which there are few."""

    SMALL = 1 << 12

    def __init__(self) -> None:
        self._small = np.zeros(self.SMALL, np.int64)
        self._large: list[Counts] = []

    def add(self, degrees: Counts) -> None:
        large = degrees >= self.SMALL
        self._large.append(degrees[large])
        self._small += np.bincount(degrees[~large], minlength=self.SMALL)

    def facts(self) -> dict[str, Any]:
        large = np.sort(np.concatenate(self._large))
        below = np.cumsum(self._small)
        nodes = int(below[-1]) + len(large)
        total = int((self._small * np.arange(self.SMALL)).sum()) + int(large.sum(dtype=np.int64))

        def quantile(q: float) -> int:
            place = int(np.searchsorted(below, q * nodes))
            return place if place < self.SMALL else int(large[min(len(large) - 1, int(np.ceil(q * nodes)) - 1 - int(below[-1]))])

        most = int(large[-1]) if len(large) else int(np.flatnonzero(self._small)[-1])
        return {"mean": round(total / nodes, 3), **{f"p{round(100 * q)}": quantile(q) for q in QUANTILES}, "max": most}
