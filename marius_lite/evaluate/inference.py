"""Compute an encoder's vectors of all nodes from all neighbours, layer by layer, out of core.

The results of a layer are the input of the next one. So every node is computed once in each layer, however much neighbourhoods
overlap. The results stay in memory where they fit, else they go to a table on disk. Destinations are taken in chunks, which are
as large as the memory allows. A chunk needs the rows of its own nodes and of their neighbours, each once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from marius_lite._native import sort_rows
from marius_lite.errors import UserError
from marius_lite.evaluate.layer_rows import LayerRows, RowsInMemory, RowsOnDisk
from marius_lite.files import disk_error, format_bytes, remove_tree, require_space
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import Block, Layered
from marius_lite.sampling.batch_rows import inverse_of
from marius_lite.sampling.neighbours import in_degrees
from marius_lite.storage.table import SPAN_BYTES, RowTable, padded_width

PART_BYTES = 8 << 20
"""Bytes of input rows that are written at a time."""
MOST_EDGES = 2**31 - 1
"""The most edges of a chunk, because int32 numbers them."""
BYTES_AN_EDGE = 64
"""Bytes of an edge of a chunk: node ids, local numbers and what sorting them takes."""
READ_BYTES = 2 * SPAN_BYTES
"""Bytes that reading rows takes beside the rows."""
IN_MEMORY_SHARE = 0.5
"""The share of the memory that rows of whole layers may take. A row in memory is read once, not by each chunk that needs it."""

Ids = npt.NDArray[np.int64]


class RowsOfPartition(Protocol):
    """The nodes' features, read by partition."""

    def read(self, k: int) -> npt.NDArray[Any]:
        """Return the rows of partition k's nodes, (size, width)."""


class ListsOfPartition(Protocol):
    """The part of `marius_lite.graph.adjacency.PartitionLists` that inference uses."""

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def sources(self) -> npt.NDArray[Any]: ...
    @property
    def rel(self) -> npt.NDArray[Any] | None: ...


class InEdgeReader(Protocol):
    """In-edges, read by partition of their destinations."""

    def read(self, k: int) -> ListsOfPartition: ...


def infer(
    encoder: Layered,
    features: RowsOfPartition,
    adjacency: InEdgeReader,
    partitioning: Partitioning,
    memory: int,
    output: Path,
    degrees: npt.NDArray[np.float32] | None = None,
) -> RowTable:
    """Write the encoder's vectors of all nodes to a new table at ``output``: float32, padded with zeros to 16-byte rows.

    ``degrees``: `true_degrees`, for an encoder that needs them. ``memory``: bytes for everything but the degrees and the encoder.
    What does not fit goes to ``<output>.tmp``, which has the tables of two layers at a time. Returns the table, which is not
    synced. Raises UserError where ``output`` exists, the disk is too small, or the neighbours of one node do not fit in
    ``memory``.
    """
    if output.exists():
        raise UserError(f"{output}: exists already: choose another name, or remove it")
    scratch = output.with_name(output.name + ".tmp")
    remove_tree(scratch)
    _require_space(encoder, partitioning, scratch)
    training = encoder.training
    try:
        encoder.eval()
        rows: LayerRows = _room(scratch / "input", partitioning, encoder.early_width(0) or encoder.in_width, 0, memory)
        _fill(rows, encoder, features, partitioning)
        for layer in range(len(encoder.widths) - 1):
            width = encoder.early_width(layer + 1) or encoder.widths[layer]
            after = _room(scratch / f"layer-{layer}", partitioning, width, rows.memory_bytes, memory)
            _Layer(encoder, layer, rows, after, adjacency, partitioning, memory, degrees).run()
            rows.remove()
            rows = after
        vectors = RowsOnDisk(output, partitioning, encoder.widths[-1])
        _Layer(encoder, len(encoder.widths) - 1, rows, vectors, adjacency, partitioning, memory, degrees).run()
        return vectors.table()
    except BaseException as error:
        remove_tree(output)
        if isinstance(error, OSError):
            raise disk_error(error, scratch) from error
        raise
    finally:
        encoder.train(training)
        remove_tree(scratch)


def _room(path: Path, partitioning: Partitioning, width: int, used: int, memory: int) -> LayerRows:
    """Make room for the rows of a layer: in memory where they fit beside ``used`` bytes, else in a table at ``path``."""
    if used + partitioning.nodes * width * 4 <= memory * IN_MEMORY_SHARE:
        return RowsInMemory(partitioning, width)
    path.parent.mkdir(parents=True, exist_ok=True)
    return RowsOnDisk(path, partitioning, width)


def true_degrees(adjacency: InEdgeReader, partitioning: Partitioning) -> npt.NDArray[np.float32]:
    """Return the in-degrees of all nodes in the whole graph, float32 (nodes,), without self-loops, as GCN counts them."""
    degrees = np.empty(partitioning.nodes, np.float32)
    for k in range(partitioning.partitions):
        ids = partitioning.range(k)
        degrees[ids.start : ids.stop] = in_degrees(adjacency.read(k), ids.start)
    return degrees


class _Chunk(NamedTuple):
    """The node ids [first, last) of a partition, and their in-edges [start, stop) in its lists."""

    first: int
    last: int
    start: int
    stop: int


@dataclass
class _Layer:
    """One layer over all nodes. ``before``: the rows of its input. ``after``: where its results go, mapped first by the next
    layer where `Layered.early` makes them narrower."""

    encoder: Layered
    layer: int
    before: LayerRows
    after: LayerRows
    adjacency: InEdgeReader
    partitioning: Partitioning
    memory: int
    degrees: npt.NDArray[np.float32] | None

    def __post_init__(self) -> None:
        self._device = next(self.encoder.parameters()).device
        size = self.partitioning.nodes * self.before.width * 4
        if isinstance(self.before, RowsOnDisk) and self.after.memory_bytes + size <= self.memory * IN_MEMORY_SHARE:
            self.before = self.before.in_memory()
        self.memory -= self.before.memory_bytes + self.after.memory_bytes

    @torch.no_grad()
    def run(self) -> None:
        """Compute the layer for all nodes, and write the rows ``after``."""
        for k in range(self.partitioning.partitions):
            lists = self.adjacency.read(k)
            with self.after.writing(k) as write:
                for chunk in self._chunks(k, lists):
                    write(_narrowed(self.encoder, self.layer + 1, self._vectors(chunk, lists)).cpu().numpy())

    def _chunks(self, k: int, lists: ListsOfPartition) -> Iterator[_Chunk]:
        """Yield chunks of consecutive destinations, each as large as fits in memory."""
        ids, indptr = self.partitioning.range(k), lists.indptr
        taken = indptr.nbytes + lists.sources.nbytes + (0 if lists.rel is None else lists.rel.nbytes)
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
                raise UserError(
                    f"storage.memory: layer {self.layer + 1} of the encoder over all {edges} in-edges of node "
                    f"{ids.start + first} needs {format_bytes(taken + self._bytes(1, edges))}, "
                    f"{format_bytes(self.memory)} are left for it: give more storage.memory, or make more partitions"
                )
            yield _Chunk(ids.start + first, ids.start + low, int(indptr[first]), int(indptr[low]))
            first = low

    def _bytes(self, targets: int, edges: int) -> int:
        """Return the most bytes that a chunk takes: its edges, its rows, its results, and the layer's own work."""
        sources = targets + min(edges, self.partitioning.nodes)
        rows = sources * self.before.width * 4
        results = 4 * targets * (self.encoder.widths[self.layer] + 3 * padded_width(self.after.width, np.float32))
        work = self.encoder.layer_bytes(self.layer, targets, sources, edges)
        return READ_BYTES + edges * BYTES_AN_EDGE + rows + results + work

    def _vectors(self, chunk: _Chunk, lists: ListsOfPartition) -> torch.Tensor:
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
        parts = (None if part is None else torch.from_numpy(part).to(self._device) for part in (indptr, local, rel, degrees))
        combine = self.encoder.layer if self.encoder.early_width(self.layer) is None else self.encoder.late
        return combine(self.layer, torch.from_numpy(x).to(self._device), Block(*parts))  # type: ignore[arg-type]


def _narrowed(encoder: Layered, layer: int, rows: torch.Tensor) -> torch.Tensor:
    """Return rows (n, width) as a layer keeps them: whole, or mapped by `Layered.early` where that makes them narrower."""
    if layer == len(encoder.widths) or encoder.early_width(layer) is None:
        return rows
    return encoder.early(layer, rows)


@torch.no_grad()
def _fill(rows: LayerRows, encoder: Layered, features: RowsOfPartition, partitioning: Partitioning) -> None:
    """Write the features as the first layer keeps them."""
    device, step = next(encoder.parameters()).device, max(1, PART_BYTES // (encoder.in_width * 4))
    for k in range(partitioning.partitions):
        whole = features.read(k)
        with rows.writing(k) as write:
            for start in range(0, len(whole), step):
                part = np.ascontiguousarray(whole[start : start + step, : encoder.in_width], dtype=np.float32)
                write(_narrowed(encoder, 0, torch.from_numpy(part).to(device)).cpu().numpy())


def _require_space(encoder: Layered, partitioning: Partitioning, path: Path) -> None:
    """Raise UserError unless the disk has room for the tables of two layers at a time, as if none stayed in memory."""
    widths = [encoder.early_width(layer) or width for layer, width in enumerate((encoder.in_width, *encoder.widths[:-1]))]
    widths.append(encoder.widths[-1])
    padded = [padded_width(width, np.float32) for width in widths]
    numbers = max(map(sum, itertools.pairwise(padded)))
    require_space(path, numbers * 4 * partitioning.rows * partitioning.partitions, "the vectors of all nodes, layer by layer,")
