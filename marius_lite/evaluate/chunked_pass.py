"""Compute any layer in chunks of nodes. A chunk needs the rows of its own nodes and of all their neighbours, each once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from marius_lite._native import inverse_of, sort_rows
from marius_lite.config.sizes import padded_width
from marius_lite.evaluate.layer_inputs import ListsOfPartition
from marius_lite.evaluate.layer_pass import READ_BYTES, LayerPass
from marius_lite.evaluate.reach import as_ids
from marius_lite.nn.encoders import Block
from marius_lite.types import Ids

MOST_EDGES = 2**31 - 1
"""The most edges of a chunk, because int32 numbers them."""
BYTES_AN_EDGE = 64
"""Bytes of an edge of a chunk: node ids, local numbers and what sorting them takes."""


class Chunk(NamedTuple):
    """The nodes [first, last) of those of a partition, and their in-edges [start, stop) in its lists."""

    first: int
    last: int
    start: int
    stop: int


class ChunkedPass(LayerPass):
    """A layer of any kind. Chunks are as large as the memory allows."""

    @torch.no_grad()
    def run(self) -> None:
        with self.writing() as write:
            for k in range(self.lists.partitions):
                if self.lists.count(k):
                    lists, targets = self.lists.read(k), self.lists.targets(k)
                    for chunk in self._chunks(targets, lists):
                        write(self.result(self._vectors(chunk, targets[chunk.first : chunk.last], lists)))

    def _chunks(self, targets: range | Ids, lists: ListsOfPartition) -> Iterator[Chunk]:
        """Yield chunks of consecutive destinations, each as large as fits in memory."""
        indptr = lists.indptr
        each = (indptr, lists.sources, lists.rel, lists.factors)
        taken = sum(array.nbytes for array in each if array is not None)
        first = 0
        while first < len(targets):
            low, high = first, len(targets)  # the chunk up to low fits; one beyond high does not
            while low < high:
                middle = (low + high + 1) // 2
                edges = int(indptr[middle] - indptr[first])
                fits = edges <= MOST_EDGES and taken + self._bytes(middle - first, edges) <= self.memory
                low, high = (middle, high) if fits else (low, middle - 1)
            if low == first:
                edges, node = int(indptr[first + 1] - indptr[first]), self.lists.before.id_of(int(targets[first]))
                raise self.too_large(f"all {edges} in-edges of node {node}", taken + self._bytes(1, edges))
            yield Chunk(first, low, int(indptr[first]), int(indptr[low]))
            first = low

    def _bytes(self, targets: int, edges: int) -> int:
        """Return the most bytes that a chunk takes: its edges, its rows, its results, and the layer's own work."""
        sources = targets + min(edges, self.lists.before.places.nodes)
        rows = sources * self.before.width * 4
        results = 4 * targets * (self.encoder.widths[self.layer] + 3 * padded_width(self.after.width, np.float32))
        work = self.encoder.layer_bytes(self.layer, targets, sources, edges)
        return READ_BYTES + edges * BYTES_AN_EDGE + rows + results + work

    def _vectors(self, chunk: Chunk, targets: range | Ids, lists: ListsOfPartition) -> torch.Tensor:
        """Return the layer's results for the chunk's nodes."""
        sources = lists.sources[chunk.start : chunk.stop].astype(np.int64)
        ids = as_ids(targets)
        count = len(ids)
        if isinstance(targets, range):
            place = sources - targets.start
            own = (place >= 0) & (place < count)
        else:
            place = np.searchsorted(ids, sources)
            own = ids[np.minimum(place, count - 1)] == sources
        others, order, starts = sort_rows(sources[~own])
        local = place.astype(np.int32)
        local[~own] = count + inverse_of(order, starts)
        x = np.empty((count + len(others), self.before.width), np.float32)
        self.before.read(ids, x[:count])
        self.before.read(others, x[count:])
        degrees = None if self.degrees is None else np.concatenate([self.degrees[ids], self.degrees[others]])
        indptr = lists.indptr[chunk.first : chunk.last + 1] - chunk.start
        rel = None if lists.rel is None else lists.rel[chunk.start : chunk.stop].astype(np.int64)
        factors = None if lists.factors is None else lists.factors[chunk.start : chunk.stop]
        arrays = (indptr, local, rel, degrees, factors)
        parts = (None if part is None else torch.from_numpy(part).to(self._device) for part in arrays)
        combine = self.encoder.layer if self.encoder.early_width(self.layer) is None else self.encoder.late
        return combine(self.layer, torch.from_numpy(x).to(self._device), Block(*parts))  # type: ignore[arg-type]
