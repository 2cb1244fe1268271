"""How many edges the nodes have: as counted while edges were written, or by reading the edges again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import add_to_histogram
from marius_lite.graph.counts import Counts, NodeCounts, count_nodes
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.edges.buckets import Tally, count_dtype, node_bytes
from marius_lite.preprocess.edges.node_counts import TallyWriter
from marius_lite.preprocess.edges.unseen import unseen_edges
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.plan import Bounds

QUANTILES = (0.5, 0.9, 0.99)
SLICE = 1 << 16  # nodes at once: what is made of them stays in a cache


@dataclass(frozen=True)
class DegreeFacts:
    """``out``, ``into``: mean, quantiles and maximum of training degrees. ``without_edges``: nodes without a training edge.
    ``both``: nodes with edges out and in. ``loops_by_chance``: edges from a node to itself, if edges join their ends at random.
    ``unseen``: by other split, nodes without a training edge that have one in it. ``unseen_edges``: by other split, its edges
    with a node or a relation that no training edge has."""

    out: dict[str, int | float]
    into: dict[str, int | float]
    without_edges: int
    unseen: dict[str, int]
    unseen_edges: dict[str, int]
    both: int = 0  # a build that an earlier version began has none
    loops_by_chance: float = 0.0


def degrees_counted(partitioning: Partitioning, options: Bounds, edges: int) -> type[np.unsignedinteger[Any]] | None:
    """Return the dtype in which degrees of all nodes are counted while ``edges`` are written. None where an 8th of the memory
    does not hold the counts."""
    dtype = count_dtype(edges)
    return dtype if partitioning.nodes * node_bytes(dtype) <= options.memory // 8 else None


def degree_facts(
    edges: Mapping[str, EdgeBuckets],
    partitioning: Partitioning,
    tally: Tally,
    in_degrees: Path,
    memory: int,
    counts: TallyWriter | None = None,
    lists: bool = True,
) -> DegreeFacts:
    """Return the facts of ``edges`` (by split), and, where in-edge ``lists`` need it, write the in-degrees in training to file
    ``in_degrees``: by node, of the training edges' `count_dtype`. What is counted of nodes is appended to ``counts`` too. Where
    there are other splits, a file of a byte for each node lies beside it for a while: whether it has a training edge.

    ``memory``: bytes for counts of nodes, where ``tally`` has none."""
    out, into = _Histogram(), _Histogram()
    without, both, met, unseen = 0, 0, 0.0, {name: 0 for name in edges if name != SPLITS[0]}
    dtype = count_dtype(edges[SPLITS[0]].total)
    trained = in_degrees.with_name("trained")
    with open(in_degrees if lists else os.devnull, "wb") as file, open(trained if unseen else os.devnull, "wb") as marks:
        for outs, ins, splits in _sliced(_counted(edges, partitioning, tally, dtype, memory)):
            out.add(outs)
            into.add(ins)
            both += int(np.count_nonzero((outs > 0) & (ins > 0)))
            met += float(np.dot(outs.astype(np.float64), ins))
            if lists:
                file.write(ins.astype(dtype, copy=False).data)
            if counts is not None:
                counts.append(outs, ins, splits)
            trained_ones = splits & 1
            if unseen:
                marks.write(trained_ones.data)
            without += len(splits) - int(np.count_nonzero(trained_ones))
            for name in unseen:
                unseen[name] += int(np.count_nonzero((trained_ones == 0) & (splits >> SPLITS.index(name) & 1 == 1)))
    others = {name: edges[name] for name in unseen}
    missed = unseen_edges(others, trained, tally.relation_counts[0] > 0, memory)
    trained.unlink(missing_ok=True)
    by_chance = met / max(1, edges[SPLITS[0]].total)
    return DegreeFacts(out.facts(), into.facts(), without, unseen, missed, both, by_chance)


def in_degrees_bytes(nodes: int, edges: int) -> int:
    """What the file of in-degrees takes, where there are ``edges`` in all."""
    return nodes * np.dtype(count_dtype(edges)).itemsize


def trained_bytes(nodes: int, splits: int) -> int:
    """What lies beside it for a while where there are other splits."""
    return nodes * (splits > 1)


def _counted(
    edges: Mapping[str, EdgeBuckets], partitioning: Partitioning, tally: Tally, dtype: type[np.unsignedinteger[Any]], memory: int
) -> Iterator[NodeCounts]:
    """Return the counts of nodes in turn: those of the tally; else counted from the edges, of as many nodes as the memory
    holds."""
    if tally.in_splits is not None and tally.out_degrees is not None and tally.in_degrees is not None:
        yield tally.out_degrees, tally.in_degrees, tally.in_splits
        return
    rows, step = partitioning.rows, max(1, memory // 4 // node_bytes(dtype))  # two are in memory for a while
    step -= step % rows if step > rows else 0  # no partition is read twice without need
    for first in range(0, partitioning.nodes, step):
        yield count_nodes(edges, partitioning, range(first, min(first + step, partitioning.nodes)), dtype)


def _sliced(counted: Iterator[NodeCounts]) -> Iterator[NodeCounts]:
    for outs, ins, splits in counted:
        for at in range(0, len(splits), SLICE):
            part = slice(at, at + SLICE)
            yield outs[part], ins[part], splits[part]


class _Histogram:
    """A histogram of degrees. Small degrees are counted; large ones, of which there are few, are kept."""

    SMALL = 1 << 12

    def __init__(self) -> None:
        self._counts = np.zeros(self.SMALL + 1, np.int64)  # the last: of all large ones
        self._large: list[Counts] = []

    @property
    def _small(self) -> npt.NDArray[np.int64]:
        return self._counts[: self.SMALL]

    def add(self, degrees: Counts) -> None:
        before = self._counts[-1]
        add_to_histogram(degrees, self._counts)
        if self._counts[-1] > before:
            self._large.append(degrees[degrees >= self.SMALL])

    def facts(self) -> dict[str, Any]:
        large = np.sort(np.concatenate([np.empty(0, np.uint32), *self._large]))
        below = np.cumsum(self._small)
        nodes = int(below[-1]) + len(large)
        total = int((self._small * np.arange(self.SMALL)).sum()) + int(large.sum(dtype=np.int64))

        def quantile(q: float) -> int:
            place = int(np.searchsorted(below, q * nodes))
            return place if place < self.SMALL else int(large[min(len(large) - 1, int(np.ceil(q * nodes)) - 1 - int(below[-1]))])

        most = int(large[-1]) if len(large) else int(np.flatnonzero(self._small)[-1])
        return {"mean": round(total / nodes, 3), **{f"p{round(100 * q)}": quantile(q) for q in QUANTILES}, "max": most}
