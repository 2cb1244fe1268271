"""The stored edges between nodes that new edges join, in either direction.

Whether an edge is a duplicate, or stands in training too, turned round or not, depends on the edges of its two nodes alone. So
what the figures of a report become follows from what they were, from the new edges and from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from marius_lite._native import edges_with_ends
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EDGES_AT_ONCE, EdgeBuckets, EdgePiece
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.spool import Ids, SpooledEdges
from marius_lite.preprocess.edges.buckets import carried_words
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.updating.counted import CountedEdges
from marius_lite.preprocess.updating.read import ReadEdges

MOST_ROWS = 1 << 32  # of all partitions: below, two nodes make a number of 64 bits
AT_ONCE = 4 * EDGES_AT_ONCE  # what is done once for each piece that is read takes as long as the reading of a smaller one
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
    several = old.manifest.relations > 1
    for name in old.manifest.edges:
        split, edges = SPLITS.index(name), old.edges(name)
        columns = [each for each in edges.columns if several or each != "rel"]
        for piece in chain.from_iterable(_pieces(each, columns, p.partitions) for each in edges.segments):
            if counted is not None:
                counted.add(piece, split, p, several)
            src, dst, *_ = piece.columns
            at = edges_with_ends(src, dst, piece.buckets, piece.ends, p.partitions, p.rows, sought)
            if not len(at):
                continue
            src, dst, *beside = (column[at] for column in piece.columns)
            rel = beside.pop(0) if several else np.zeros(len(at), np.uint32)
            i, j = np.divmod(piece.buckets[np.searchsorted(piece.ends, at, side="right")], p.partitions)
            first, last = ((ends + number * p.rows).astype(np.uint32) for ends, number in ((src, i), (dst, j)))
            found.append(SpooledEdges(split, 0, first, rel, last, carried_words(beside) if beside else None))
            count += len(at)
            if count > most:
                return None
    if counted is not None:
        total = old.relation_counts()
        counted.relations[0, : len(total)] = total - counted.relations[1:, : len(total)].sum(0)
    return RelatedEdges(found, old.manifest.nodes)


def _pieces(segment: EdgeBuckets, columns: Sequence[str], partitions: int) -> Iterator[EdgePiece]:
    """Read all edges of a segment as they lie on disk. Buckets have the numbers that they have among so many ``partitions``."""
    own = segment.partitioning.partitions
    for piece in segment.block(range(own), range(own), AT_ONCE, columns):
        yield EdgePiece(piece.buckets // own * partitions + piece.buckets % own, piece.ends, piece.columns)
