"""Compute any layer in chunks of nodes. A chunk needs the rows of its own nodes and of all their neighbours, each once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from marius_lite._native import inverse_of, sort_rows
from marius_lite.config.sizes import padded_width
from marius_lite.evaluate.layer_pass import READ_BYTES, LayerPass, ListsOfPartition
from marius_lite.nn.encoders import Block

MOST_EDGES = 2**31 - 1
"""The most edges of a chunk, because int32 numbers them."""
BYTES_AN_EDGE = 64
"""Bytes of an edge of a chunk: node ids, local numbers and what sorting them takes."""


class Chunk(NamedTuple):
    """The node ids [first, last) of a partition, and their in-edges [start, stop) in its lists."""

    first: int
    last: int
    start: int
    stop: int


class ChunkedPass(LayerPass):
    """A layer of any kind. Chunks are as large as the memory allows."""

    @torch.no_grad()
    def run(self) -> None:
        for k in range(self.partitioning.partitions):
            lists = self.adjacency.read(k)
            with self.after.writing(k) as write:
                for chunk in self._chunks(k, lists):
                    write(self.result(self._vectors(chunk, lists)))

    def _chunks(self, k: int, lists: ListsOfPartition) -> Iterator[Chunk]:
        """Yield chunks of consecutive destinations, each as large as fits in memory."""
        ids, indptr = self.partitioning.range(k), lists.indptr
        each = (indptr, lists.sources, lists.rel, lists.factors)
        taken = sum(array.nbytes for array in each if array is not None)
        first = 0
        while first < len(ids):
            low, high = first, len(ids)  # the chunk up to low fits; one beyond high does not
            while low < high:
                middle = (low + high + 1) // 2
                edges = int(indptr[middle] - indptr[first])
                fits = edges <= MOST_EDGES and taken + self._bytes(middle - first, edges) <= self.memory
                low, high = (middle, high) if fits else (low, middle - 1)
            if low == first:
                edges = int(indptr[first + 1] - indptr[first])
                raise self.too_large(f"all {edges} in-edges of node {ids.start + first}", taken + self._bytes(1, edges))
            yield Chunk(ids.start + first, ids.start + low, int(indptr[first]), int(indptr[low]))
            first = low

    def _bytes(self, targets: int, edges: int) -> int:
        """Return the most bytes that a chunk takes: its edges, its rows, its results, and the layer's own work."""
        sources = targets + min(edges, self.partitioning.nodes)
        rows = sources * self.before.width * 4
        results = 4 * targets * (self.encoder.widths[self.layer] + 3 * padded_width(self.after.width, np.float32))
        work = self.encoder.layer_bytes(self.layer, targets, sources, edges)
        return READ_BYTES + edges * BYTES_AN_EDGE + rows + results + work

    def _vectors(self, chunk: Chunk, lists: ListsOfPartition) -> torch.Tensor:
        """Return the layer's results for the chunk's nodes."""
        sources = lists.sources[chunk.start : chunk.stop].astype(np.int64)
        count = chunk.last - chunk.first
        own = (sources >= chunk.first) & (sources < chunk.last)
        others, order, starts = sort_rows(sources[~own])
        local = (sources - chunk.first).astype(np.int32)
        local[~own] = count + inverse_of(order, starts)
        x = np.empty((count + len(others), self.before.width), np.float32)
        self.before.read(np.arange(chunk.first, chunk.last), x[:count])
        self.before.read(others, x[count:])
        degrees = None
        if self.degrees is not None:
            degrees = np.concatenate([self.degrees[chunk.first : chunk.last], self.degrees[others]])
        k = int(chunk.first // self.partitioning.rows)
        start = chunk.first - self.partitioning.range(k).start
        indptr = lists.indptr[start : start + count + 1] - chunk.start
        rel = None if lists.rel is None else lists.rel[chunk.start : chunk.stop].astype(np.int64)
        factors = None if lists.factors is None else lists.factors[chunk.start : chunk.stop]
        arrays = (indptr, local, rel, degrees, factors)
        parts = (None if part is None else torch.from_numpy(part).to(self._device) for part in arrays)
        combine = self.encoder.layer if self.encoder.early_width(self.layer) is None else self.encoder.late
        return combine(self.layer, torch.from_numpy(x).to(self._device), Block(*parts))  # type: ignore[arg-type]
