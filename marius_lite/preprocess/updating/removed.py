"""The edges that `update` leaves out: which stored edges they are, and which of them are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.errors import MemoryWanted
from marius_lite.files import read_numbers
from marius_lite.preprocess.disk.spool import SpooledEdges

EDGE = np.dtype([("ends", np.uint64), ("rel", np.uint64)])
"""The nodes of an edge as one number, source * nodes + destination, and its relation."""
MEMORY_SHARE, COPIES = 8, 3  # an 8th of --memory is for these edges, of which there are copies while they are sorted
Edges = npt.NDArray[np.void]
Nodes = npt.NDArray[np.int64]


class RemovedEdges:
    """Distinct edges of a graph of so many ``nodes``. Without a ``direction`` an edge and its reverse of a relation are one.

    ``edges``: of dtype EDGE, in order.
    """

    def __init__(self, edges: Edges, nodes: int, direction: bool):
        self.edges, self._nodes, self._direction = edges, nodes, direction
        self.found = np.zeros(len(edges), bool)
        """Whether `keep` has met each."""

    @classmethod
    def of(cls, blocks: Iterable[tuple[Nodes, Nodes, Nodes]], nodes: int, direction: bool, memory: int) -> RemovedEdges:
        """Return the edges with these (sources, relations, destinations). Raises MemoryWanted where ``memory`` (bytes) does not
        hold them."""
        parts, count = [np.empty(0, EDGE)], 0
        for src, rel, dst in blocks:
            parts.append(_pack(src, rel, dst, nodes, direction))
            count += len(src)
            if count * EDGE.itemsize * COPIES > memory:
                raise MemoryWanted(f"--remove: {count:,} edges and more do not fit their share of --memory: give more")
        edges = np.concatenate(parts)
        edges = edges[np.lexsort((edges["rel"], edges["ends"]))]
        new = (edges["ends"][1:] != edges["ends"][:-1]) | (edges["rel"][1:] != edges["rel"][:-1])
        return cls(edges[np.concatenate([np.ones(min(1, len(edges)), bool), new])], nodes, direction)

    @classmethod
    def load(cls, path: Path, nodes: int, direction: bool) -> RemovedEdges:
        """Read what `save` wrote."""
        return cls(read_numbers(path, np.uint8).view(EDGE), nodes, direction)

    def save(self, path: Path) -> None:
        path.write_bytes(self.edges.tobytes())

    def keep(self, stored: SpooledEdges) -> npt.NDArray[np.bool_]:
        """Return which stored edges are none of these, and remember those of these that were met."""
        edges = _pack(stored.src, stored.rel, stored.dst, self._nodes, self._direction)
        place = np.searchsorted(self.edges["ends"], edges["ends"])
        kept = np.ones(len(edges), bool)
        left = np.arange(len(edges))
        while len(left):  # edges of the same nodes, one relation after the other
            inside = place[left] < len(self.edges)
            left = left[inside]
            left = left[self.edges["ends"][place[left]] == edges["ends"][left]]
            equal = self.edges["rel"][place[left]] == edges["rel"][left]
            kept[left[equal]] = False
            self.found[place[left[equal]]] = True
            left = left[~equal]
            place[left] += 1
        return kept

    @property
    def ends(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The nodes of each edge; without a direction in the order of their ids."""
        first, second = np.divmod(self.edges["ends"], np.uint64(self._nodes))
        return first, second

    def missing(self, most: int) -> Iterator[tuple[int, int, int]]:
        """Return (source, relation, destination) of at most so many edges that were not met."""
        for edge in self.edges[~self.found][:most]:
            src, dst = divmod(int(edge["ends"]), self._nodes)
            yield src, int(edge["rel"]), dst


def _pack(
    src: Nodes | npt.NDArray[np.uint32], rel: object, dst: Nodes | npt.NDArray[np.uint32], nodes: int, direction: bool
) -> Edges:
    first, second = src.astype(np.uint64), dst.astype(np.uint64)
    if not direction:
        first, second = np.minimum(first, second), np.maximum(first, second)
    edges = np.empty(len(src), EDGE)
    edges["ends"] = first * np.uint64(nodes) + second
    edges["rel"] = rel
    return edges
