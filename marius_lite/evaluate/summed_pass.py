"""Compute a layer that sums the rows of neighbours. All rows are read in the order of their files.

A group of nodes has its sums and its in-edge lists in memory. The rows of all nodes pass by, block after block, and are added to
the sums of the group. So the rows are read once for each group, in long reads, whatever the edges are like. Groups are as large
as the memory allows. A node's neighbours are always added in the same order, so results do not depend on the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import add_block
from marius_lite.evaluate.layer_inputs import ListsOfPartition
from marius_lite.evaluate.layer_pass import InOrder, LayerPass
from marius_lite.evaluate.layer_rows import RowsOnDisk
from marius_lite.evaluate.reach import as_ids
from marius_lite.graph.adjacency import sums_by_list
from marius_lite.pipeline.batches import staged
from marius_lite.storage.engine import own_pages_of
from marius_lite.types import Ids

BLOCKS = 5
"""Blocks of rows in memory: one is added, one waits, one is read; and what the heap keeps of earlier ones."""
BLOCK_SHARE = 64
"""The part of the memory that a block may have."""
LEAST_BLOCK, LARGEST_BLOCK = 512 << 10, 64 << 20
PART_BYTES = 1 << 20
"""Bytes of rows that are mapped at a time. Results must not depend on the memory, so it is always as many."""
TINY = 1e-30
"""What nodes divide by whose edges count nothing."""
PART_COPIES = 10
"""How many times so much it takes to map a part and to write its results, and what direct reads copy at the ends."""


@dataclass(slots=True)
class Accumulator:
    """The sums of some nodes: ``targets``, their places among those that are read. ``without``: see `LayerLists`.

    ``indptr``, ``sources``, ``of_edges``: their in-edges, and what each counts; None where all count alike. ``next``: for each
    node, the first of its edges that is not added yet.
    """

    targets: range | Ids
    without: int
    indptr: npt.NDArray[np.int64]
    sources: npt.NDArray[np.uint32]
    next: npt.NDArray[np.int64]
    factors: npt.NDArray[np.float32]
    sums: npt.NDArray[np.float32]
    of_edges: npt.NDArray[np.float32] | None = None


class SummedPass(LayerPass):
    """A layer that has a `Layered.summed_width`: it takes the mean of neighbours, or, with ``degrees``, GCN's normalised sum."""

    @torch.no_grad()
    def run(self) -> None:
        width = self.encoder.summed_width(self.layer)
        assert width is not None
        self._width = width
        if self.degrees is not None and self.degrees.ndim > 1:
            self.degrees = self.degrees.sum(1)  # of both ends
        self._weighs = self.lists.weighs
        self._step = max(1, PART_BYTES // (4 * max(self.before.width, width, self.encoder.widths[self.layer])))
        with self.writing() as write:
            for group in self._groups():
                self._add(group)
                while group:
                    self._finish(group.pop(0), write)

    def _groups(self) -> Iterator[list[Accumulator]]:
        """Yield groups of nodes that fit in memory, in order: whole partitions, or parts of one."""
        group, free = list[Accumulator](), self._room()
        for k in range(self.lists.partitions):
            count = self.lists.count(k)
            if not count:
                continue
            size = self._bytes(count, self.lists.edges(k))
            if group and size > free:
                yield group
                group, free = [], self._room()
            lists = self.lists.read(k, relations=False)
            if size <= free:
                group.append(self._of(k, lists, 0, count))
                free -= size
            else:
                for first, last in self._parts(k, lists, free):
                    yield [self._of(k, lists, first, last)]
            del lists  # what is still needed of it is in the group
        if group:
            yield group

    def _room(self) -> int:
        """Return the bytes for a group."""
        blocks = BLOCKS * self._block() if isinstance(self.before, RowsOnDisk) else 0
        return self.memory - blocks - PART_COPIES * PART_BYTES

    def _block(self) -> int:
        """Return the bytes of rows that are read at a time."""
        return min(max(self.memory // BLOCK_SHARE, LEAST_BLOCK), LARGEST_BLOCK)

    def _bytes(self, nodes: int, edges: int) -> int:
        """Return the bytes of sums, lists, places in them and factors."""
        wide = 8 if self.lists.before.places.nodes > 1 << 32 else 4
        places = 0 if self.lists.of.ids is None else 8
        return nodes * (4 * self._width + 8 + 8 + 4 + places) + edges * (wide + 4 * self._weighs)

    def _parts(self, k: int, lists: ListsOfPartition, free: int) -> Iterator[tuple[int, int]]:
        """Yield [first, last) of parts of a partition that fit beside its lists. Raises UserError where one node does not."""
        free -= lists.indptr.nbytes + lists.sources.nbytes
        most = free // self._bytes(1, 0) // self._step * self._step  # so that nodes are always mapped with the same others
        if most < 1:
            edges, least = int(lists.indptr[-1]), self._bytes(self._step, 0)
            raise self.too_large(f"the {edges} in-edges of partition {k}", self.memory - free + least)
        for first in range(0, self.lists.count(k), most):
            yield first, min(first + most, self.lists.count(k))

    def _of(self, k: int, lists: ListsOfPartition, first: int, last: int) -> Accumulator:
        indptr, start = lists.indptr[first : last + 1], int(lists.indptr[first])
        targets = self.lists.targets(k)[first:last]
        of_edges = None if lists.factors is None else lists.factors[start : int(indptr[-1])]
        if self.degrees is None and of_edges is not None:
            totals = sums_by_list(indptr, of_edges)
            factors = (1 / totals.clip(TINY)).astype(np.float32)
        elif self.degrees is None:
            factors = (1 / np.diff(indptr).clip(1)).astype(np.float32)
        else:
            factors = _scale(self.degrees[as_ids(targets)])
        pages = own_pages_of(max(1, (last - first) * self._width) * 4)  # pieces of the heap would leave holes
        sums = pages.view(np.float32)[: (last - first) * self._width].reshape(last - first, self._width)
        sources = lists.sources[start : int(indptr[-1])]
        without = self.lists.without(targets)
        return Accumulator(targets, without, indptr - start, sources, indptr[:-1] - start, factors, sums, of_edges)

    def _add(self, group: list[Accumulator]) -> None:
        """Add the rows of all nodes to the sums of a group."""
        with closing(staged(self.before.blocks(self._block()), lambda block: block, 1)) as blocks:
            for first, rows in blocks:
                of_sources = None if self.degrees is None else _scale(self.degrees[first : first + len(rows)])
                for nodes in group:
                    lists = (nodes.indptr, nodes.sources, nodes.factors, nodes.next, nodes.sums)
                    add_block(rows, first, *lists, of_sources, nodes.without, nodes.of_edges)

    def _finish(self, nodes: Accumulator, write: InOrder) -> None:
        """Write the results of nodes whose sums are complete."""
        for start in range(0, len(nodes.sums), self._step):
            sums = nodes.sums[start : start + self._step]
            ids = as_ids(nodes.targets[start : start + self._step])
            rows = np.empty((len(sums), self.before.width), np.float32)
            self.before.read(ids, rows)
            if self.degrees is not None:
                sums += rows[:, : self._width] * (1 / (self.degrees[ids] + 1))[:, None]
            parts = (torch.from_numpy(part).to(self._device) for part in (sums, rows))
            write(self.result(self.encoder.combined(self.layer, *parts)))


def _scale(degrees: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return what GCN multiplies a row with, at both ends of an edge."""
    return ((degrees + 1) ** np.float32(-0.5)).astype(np.float32)
