"""Removed edges of segments that stay as they are: where they are in the files of edges and of in-edge lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.graph.adjacency import ADJACENCY, Adjacency, PartitionLists
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.holes import Holes, write_holes
from marius_lite.preprocess.disk.spool import SpooledEdges
from marius_lite.preprocess.updating.segments import SegmentPlan, holes_folder

MOST = 8  # a segment is written again where more than an 8th of its edges were removed
Places = npt.NDArray[np.int64]


def segments_left(old: Dataset, places: Mapping[str, Mapping[int, Places]]) -> dict[str, int]:
    """Return how many of the first segments of each split may stay where edges at these ``places`` are removed: up to the first
    that would have too many holes."""
    found = {}
    for name, of_segments in places.items():
        edges = old.edges(name)
        stored = [each.total for each in edges.segments_as_written]
        before = [0 if each is None else int(each.offsets[-1]) for each in edges.holes]
        holes = [count + len(of_segments.get(number, ())) for number, count in enumerate(before)]
        full = (number for number, (count, size) in enumerate(zip(holes, stored)) if count * MOST > size)
        found[name] = next(full, len(stored))
    return found


def write_edge_holes(old: Dataset, root: Path, split: str, plan: SegmentPlan, places: Mapping[int, Places]) -> None:
    """Write the holes, old and new, of the segments that stay and have new ones."""
    edges = old.edges(split)
    for number, new in places.items():
        if number < plan.stay:
            folder = root / holes_folder(split, plan.old[number]).parent
            write_holes(folder, _with(edges.holes[number], new), edges.segments_as_written[number].offsets)


def write_list_holes(old: Dataset, root: Path, removed: Iterable[SpooledEdges]) -> None:
    """Write the holes, old and new, of the stored in-edge lists. ``removed``: training edges, some of which are in these."""
    assert old.adjacency is not None
    lists = old.adjacency.stored
    blocks = [_of_nodes(each, lists.partitioning.nodes) for each in removed]
    src, rel, dst = (np.concatenate([getattr(each, name) for each in blocks]) for name in ("src", "rel", "dst"))
    parts, places = lists.partitioning.partition_of(dst), [np.empty(0, np.int64)]
    for k in np.unique(parts).tolist():
        own = parts == k
        places.append(int(lists.starts[k]) + _in_lists(lists, k, src[own], rel[own], dst[own]))
    write_holes(root / ADJACENCY, _with(old.adjacency.holes, np.concatenate(places)), lists.starts)


def _of_nodes(block: SpooledEdges, nodes: int) -> SpooledEdges:
    """Return the edges to the first so many nodes."""
    inside = block.dst < nodes
    return SpooledEdges(block.split, 0, block.src[inside], block.rel[inside], block.dst[inside])


def _with(holes: Holes | None, new: Places) -> Places:
    """Return the places of all holes, ascending."""
    places = np.sort(new if holes is None else np.concatenate([holes.all(), new]), kind="stable")
    distinct: Places = places[np.diff(places, prepend=-1) != 0]
    return distinct


def _in_lists(
    lists: Adjacency, k: int, src: npt.NDArray[np.uint32], rel: npt.NDArray[np.uint32], dst: npt.NDArray[np.uint32]
) -> Places:
    """Return where these edges, and all their equals, are in the stored lists of partition k."""
    read = lists.read(k)
    node = dst.astype(np.int64) - lists.partitioning.range(k).start
    first, last = (_bound(read, node, src, side) for side in (False, True))
    counts = last - first
    at = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    return at if read.rel is None else at[read.rel[at] == np.repeat(rel, counts)]


def _bound(lists: PartitionLists, nodes: Places, sources: npt.NDArray[np.uint32], after: bool) -> Places:
    """Return where in each node's list a source begins, or with ``after`` where it ends: a binary search for all of them."""
    low, high = lists.indptr[nodes], lists.indptr[nodes + 1]
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) // 2
        found = lists.sources[middle]
        beyond = found <= sources[open_] if after else found < sources[open_]
        low[open_] = np.where(beyond, middle + 1, low[open_])
        high[open_] = np.where(beyond, high[open_], middle)
    return low
