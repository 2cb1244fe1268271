"""The in-edges of one layer's nodes, by partition, with sources as places among the nodes whose rows the layer reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.evaluate.layer_inputs import InEdgeReader, ListsOfPartition
from marius_lite.evaluate.reach import Reach, as_ids
from marius_lite.types import Ids


@dataclass(frozen=True)
class SomeInEdges:
    """See `layer_inputs.ListsOfPartition`."""

    indptr: npt.NDArray[np.int64]
    sources: npt.NDArray[Any]
    rel: npt.NDArray[Any] | None
    factors: npt.NDArray[np.float32] | None


class LayerLists:
    """The in-edges of the nodes ``of`` a layer. ``before``: the nodes whose rows it reads, these among them.

    ``loops``: whether edges from a node to itself count; they are left out of some nodes' lists only, see `without`.
    """

    def __init__(self, adjacency: InEdgeReader, before: Reach, of: Reach, loops: bool):
        self._adjacency, self._loops, self.before, self.of, self.weighs = adjacency, loops, before, of, adjacency.weighs

    @property
    def partitions(self) -> int:
        return self.of.partitioning.partitions

    def count(self, k: int) -> int:
        """Return how many nodes of partition k the layer is worked out for."""
        return self.of.count(k)

    def edges(self, k: int) -> int:
        """Return how many in-edges these have, at most."""
        return self._adjacency.edges(k) if self.of.edges is None else self.of.edges[k]

    def targets(self, k: int) -> range | Ids:
        """Return their places ``before``, ascending; a range where they follow one another."""
        nodes = self.of.nodes(k)
        return nodes if isinstance(nodes, range) else self.before.places_of(nodes)

    def without(self, targets: range | Ids) -> int:
        """Return the first target, from whose list on each node's edge to itself is to be left out; -1: there are none."""
        return -1 if self._loops or not isinstance(targets, range) else targets.start

    def read(self, k: int, relations: bool = True) -> ListsOfPartition:
        """Read the lists of these nodes of partition k."""
        lists = self._adjacency.read(k, relations=relations)
        if self.of.ids is None:
            return lists
        marks, lengths = self.of.marks(k), np.diff(lists.indptr)
        arrays = _kept((lists.sources, lists.rel, lists.factors), np.repeat(marks, lengths))
        lengths = lengths[marks]
        if not self._loops:
            ids = as_ids(self.of.nodes(k)).astype(lists.sources.dtype)
            others = arrays[0] != np.repeat(ids, lengths)
            lengths -= np.bincount(np.repeat(np.arange(len(ids)), lengths)[~others], minlength=len(ids))
            arrays = _kept(arrays, others)
        sources, rel, factors = arrays
        if self.before.ids is not None:
            sources = self._place_of[sources]
        return SomeInEdges(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), sources, rel, factors)

    @cached_property
    def _place_of(self) -> npt.NDArray[np.uint32]:
        assert self.before.ids is not None
        places = np.zeros(self.before.partitioning.nodes, np.uint32)
        places[self.before.ids] = np.arange(len(self.before.ids), dtype=np.uint32)
        return places


def _kept(arrays: Any, marks: npt.NDArray[np.bool_]) -> Any:
    """Return the marked entries of each array that there is."""
    return tuple(None if each is None else each[marks] for each in arrays)
