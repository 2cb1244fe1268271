"""The stored edges between nodes that new edges join, in either direction.

Whether an edge is a duplicate, or stands in training too, turned round or not, depends on the edges of its two nodes alone. So
what the figures of a report become follows from what they were, from the new edges and from these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import edges_with_ends
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.edges.buckets import carried_words
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.updating.counted import CountedEdges
from marius_lite.preprocess.updating.read import ReadEdges

MOST_ROWS = 1 << 32  # of all partitions: below, two nodes make a number of 64 bits
Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class RelatedEdges:
    """Stored ``blocks`` of edges, whose keys are node ids. ``nodes``: of the dataset."""

    blocks: list[SpooledEdges]
    nodes: int

    def counts(self) -> dict[str, int]:
        """Return how many there are of each split."""
        found = dict.fromkeys(SPLITS, 0)
        for block in self.blocks:
            found[SPLITS[block.split]] += len(block.src)
        return found

    def edges(self) -> Iterator[tuple[SpooledEdges, Ids]]:
        """Return the blocks, each with the id of each key: the key itself."""
        itself = np.arange(self.nodes, dtype=np.uint32)
        return ((block, itself) for block in self.blocks)


def sought_numbers(read: ReadEdges, partitioning: Partitioning) -> Numbers:
    """Return the numbers, ascending, that the edges ``read`` have, and those turned round: see `edges_with_ends`.

    ``partitioning``: of the stored edges; new edges with other nodes are left out.
    """
    rows, p, parts, place = partitioning.rows, partitioning.partitions, [np.empty(0, np.uint64)], read.placed.ids
    for spooled, ids in read.edges():
        src, dst = (place[ids[ends]].astype(np.uint64) for ends in (spooled.src, spooled.dst))
        known = (src < partitioning.nodes) & (dst < partitioning.nodes)
        (i, src), (j, dst) = (np.divmod(ends[known], np.uint64(rows)) for ends in (src, dst))
        for (a, first), (b, last) in (((i, src), (j, dst)), ((j, dst), (i, src))):
            parts.append(((a * np.uint64(p) + b) * np.uint64(rows) + last) * np.uint64(rows) + first)
    numbers = np.sort(np.concatenate(parts))
    distinct: Numbers = numbers[np.diff(numbers, prepend=numbers[:1] + np.uint64(1)) != 0]
    return distinct


def find_related(old: Dataset, sought: Numbers, counted: CountedEdges | None, most: int) -> RelatedEdges | None:
    """Read all stored edges, and return those whose numbers are ``sought``; None where they are more than ``most``.

    ``counted``: counts of nodes and relations, to which all stored edges are added; None where they are known.
    """
    p, found, count = old.partitioning, list[SpooledEdges](), 0
    every, several = range(p.partitions), old.manifest.relations > 1
    for name in old.manifest.edges:
        split, edges = SPLITS.index(name), old.edges(name)
        columns = [each for each in edges.columns if several or each != "rel"]
        for piece in edges.block(every, every, EDGES_AT_ONCE, columns):
            if not several:
                piece.columns.insert(2, np.zeros(1, np.uint32).repeat(len(piece.columns[0])))
            src, dst, rel, *carried = piece.columns
            if counted is not None:
                counted.add(piece, split, p)
            at = edges_with_ends(src, dst, piece.buckets, piece.ends, p.partitions, p.rows, sought)
            if not len(at):
                continue
            i, j = np.divmod(piece.bucket_of_each()[at], p.partitions)
            ends = ((column[at] + number * p.rows).astype(np.uint32) for column, number in ((src, i), (dst, j)))
            first, last = ends
            words: npt.NDArray[Any] | None = carried_words([column[at] for column in carried]) if carried else None
            found.append(SpooledEdges(split, 0, first, rel[at], last, words))
            count += len(at)
            if count > most:
                return None
    if counted is not None:
        total = old.relation_counts()
        counted.relations[0, : len(total)] = total - counted.relations[1:, : len(total)].sum(0)
    return RelatedEdges(found, old.manifest.nodes)
