"""The stored edges between nodes that new or removed edges join, in either direction.

Whether an edge is a duplicate, or stands in training too, turned round or not, depends on the edges of its two nodes alone. So
what the figures of a report become follows from what they were, from the new edges, the removed ones and these.
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
from marius_lite.preprocess.disk.spool import SpooledEdges
from marius_lite.preprocess.edges.buckets import carried_words
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.updating.counted import CountedEdges
from marius_lite.preprocess.updating.read import ReadEdges
from marius_lite.preprocess.updating.removed import RemovedEdges
from marius_lite.storage.engine import RangeRoom

MOST_ROWS = 1 << 32  # of all partitions: below, two nodes make a number of 64 bits
AT_ONCE = 8 * EDGES_AT_ONCE  # what is done once for each piece that is read takes as long as the reading of a smaller one
Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RelatedEdges:
    """Stored blocks of edges, whose keys are node ids: ``kept`` ones, and those that are to be ``removed``. ``places``:
    where the removed ones are in the arrays of each split's segments, ascending."""

    kept: list[SpooledEdges]
    removed: list[SpooledEdges]
    places: dict[str, dict[int, Places]]

    @property
    def blocks(self) -> list[SpooledEdges]:
        """All of them."""
        return self.kept + self.removed


def counts_of(blocks: list[SpooledEdges]) -> dict[str, int]:
    """Return how many edges there are of each split."""
    found = dict.fromkeys(SPLITS, 0)
    for block in blocks:
        found[SPLITS[block.split]] += len(block.src)
    return found


def sought_numbers(read: ReadEdges, removed: RemovedEdges | None, partitioning: Partitioning) -> Numbers:
    """Return the numbers, ascending, that the edges ``read`` and those to be ``removed`` have, and those turned round: see
    `edges_with_ends`.

    ``partitioning``: of the stored edges; new edges with other nodes are left out.
    """
    rows, p, parts, place = partitioning.rows, partitioning.partitions, [np.empty(0, np.uint64)], read.placed.ids
    new = ((place[ids[spooled.src]], place[ids[spooled.dst]]) for spooled, ids in read.edges())
    for ends in chain(new, () if removed is None else (removed.ends,)):
        src, dst = (each.astype(np.uint64) for each in ends)
        known = (src < partitioning.nodes) & (dst < partitioning.nodes)
        (i, src), (j, dst) = (np.divmod(each[known], np.uint64(rows)) for each in (src, dst))
        for (a, first), (b, last) in (((i, src), (j, dst)), ((j, dst), (i, src))):
            parts.append(((a * np.uint64(p) + b) * np.uint64(rows) + last) * np.uint64(rows) + first)
    numbers = np.sort(np.concatenate(parts))
    distinct: Numbers = numbers[np.diff(numbers, prepend=numbers[:1] + np.uint64(1)) != 0]
    return distinct


def find_related(
    old: Dataset, sought: Numbers, removed: RemovedEdges | None, counted: CountedEdges | None, most: int
) -> RelatedEdges | None:
    """Read the buckets of the edges whose numbers are ``sought``, and return these edges; None where they are more than ``most``.

    ``removed``: those to be removed; those that are met are marked. ``counted``: counts of nodes and relations, to which all
    stored edges are added, so that all are read; None where they are known.
    """
    p, count, several = old.partitioning, 0, old.manifest.relations > 1
    wanted = np.full(p.partitions**2, counted is not None)  # where none is sought, and none to be counted, nothing is read
    wanted[(sought // np.uint64(p.rows**2)).astype(np.int64)] = True
    found = RelatedEdges([], [], {name: {} for name in old.manifest.edges})
    for name in old.manifest.edges:
        split, edges = SPLITS.index(name), old.edges(name)
        columns = [each for each in edges.columns if several or each != "rel"]
        for number, (segment, holes) in enumerate(zip(edges.segments_as_written, edges.holes)):
            removed_at, gone = list[Places](), np.empty(0, np.int64) if holes is None else holes.all()
            for before, piece in _pieces(segment, columns, p.partitions, wanted):
                if counted is not None:  # a dataset with holes has counts
                    counted.add(piece, split, p, several)
                src, dst, *_ = piece.columns
                at = edges_with_ends(src, dst, piece.buckets, piece.ends, p.partitions, p.rows, sought)
                at = at[~_among(before + at, gone)]
                if len(at):
                    block = _block(piece, at, split, p, several)
                    kept = np.ones(len(at), bool) if removed is None else removed.keep(block)
                    found.kept.append(_part(block, kept))
                    if not kept.all():
                        found.removed.append(_part(block, ~kept))
                        removed_at.append(before + at[~kept])
                count += len(at)
                if count > most:
                    return None
            if removed_at:
                found.places[name][number] = np.concatenate(removed_at)
    if counted is not None:
        total = old.relation_counts()
        counted.relations[0, : len(total)] = total - counted.relations[1:, : len(total)].sum(0)
    return found


def _block(piece: EdgePiece, at: Places, split: int, p: Partitioning, several: bool) -> SpooledEdges:
    """Return the edges at these places of a piece. ``several``: whether it has relations."""
    src, dst, *beside = (column[at] for column in piece.columns)
    rel = beside.pop(0) if several else np.zeros(len(at), np.uint32)
    i, j = np.divmod(piece.buckets[np.searchsorted(piece.ends, at, side="right")], p.partitions)
    first, last = ((ends + number * p.rows).astype(np.uint32) for ends, number in ((src, i), (dst, j)))
    return SpooledEdges(split, 0, first, rel, last, carried_words(beside) if beside else None)


def _part(block: SpooledEdges, which: npt.NDArray[np.bool_]) -> SpooledEdges:
    carried = None if block.carried is None else block.carried[which]
    return SpooledEdges(block.split, block.dictionary, block.src[which], block.rel[which], block.dst[which], carried)


def _among(places: Places, others: Places) -> npt.NDArray[np.bool_]:
    """Return which of some places are among others, ascending."""
    if not len(others):
        return np.zeros(len(places), bool)
    found: npt.NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, places), len(others) - 1)] == places
    return found


def _pieces(
    segment: EdgeBuckets, columns: Sequence[str], partitions: int, wanted: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, EdgePiece]]:
    """Read the ``wanted`` buckets of a segment as they lie on disk, removed edges too. Yields how many edges lie before, and a
    piece. Buckets have their numbers among so many ``partitions``."""
    own = segment.partitioning.partitions
    inside = wanted.reshape(partitions, partitions)[:own, :own]
    every, rooms = inside.all(), [RangeRoom() for _ in columns]
    for rows in [range(own)] if every else (range(i, i + 1) for i in range(own)):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], inside[rows.start], [False]]).astype(np.int8))).reshape(-1, 2)
        for begin, end in [(0, own)] if every else edges.tolist():
            before = int(segment.offsets[rows.start * own + begin])
            for piece in segment.block(rows, range(begin, end), AT_ONCE, columns, rooms):
                yield before, EdgePiece(piece.buckets // own * partitions + piece.buckets % own, piece.ends, piece.columns)
                before += len(piece.columns[0])
