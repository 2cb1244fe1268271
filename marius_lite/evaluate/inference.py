"""Vectors of all nodes from an encoder and every neighbour: layer by layer, out of core.

A layer's results are a table on disk, the next layer's input, so that every node is worked out once for each layer, however the
neighbourhoods overlap. Destinations go in chunks as large as the memory allows; what a chunk needs are the rows of its own nodes
and of their neighbours, each once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

import marius_lite._native as _native
from marius_lite.errors import UserError
from marius_lite.files import disk_error, format_bytes, publish, remove_tree, require_space, sync_tree
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import Block, Layered
from marius_lite.sampling.neighbours import in_degrees
from marius_lite.storage.engine import read_range
from marius_lite.storage.table import SPAN_BYTES, RowTable, padded_width, spans

PART_BYTES = 8 << 20
"""Of rows narrowed at a time."""
BYTES_AN_EDGE = 64
"""Node ids, local numbers and what sorting them takes."""
READ_BYTES = 2 * SPAN_BYTES
"""What reading rows takes beside the rows."""
RESIDENT_SHARE = 0.5
"""Of the memory that a layer's whole input may take: then each row is read once, not once for each chunk that needs it."""

Ids = npt.NDArray[np.int64]


class Features(Protocol):
    """What is asked of nodes' features, by partition."""

    def read(self, k: int) -> npt.NDArray[Any]:
        """The rows of partition k's nodes: (size, width)."""


class InLists(Protocol):
    """What is asked of `marius_lite.graph.adjacency.PartitionLists`."""

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def sources(self) -> npt.NDArray[Any]: ...
    @property
    def rel(self) -> npt.NDArray[Any] | None: ...


class Adjacency(Protocol):
    """In-edges, by partition of their destinations."""

    def read(self, k: int) -> InLists: ...


def infer(encoder: Layered, features: Features | RowTable, adjacency: Adjacency, partitioning: Partitioning, memory: int,
          output: Path, degrees: npt.NDArray[np.float32] | None = None) -> RowTable:
    """Write the encoder's vectors of all nodes to a new table at ``output``: float32, padded with zeros to 16-byte rows.

    ``features``: the first layer's input; a table is read in place (its first ``encoder.in_width`` columns), anything else is
    copied to one first. ``degrees``: `true_degrees`, for an encoder that asks for them. ``memory``: bytes for everything but the
    degrees and the encoder. Beside ``output``, in ``<output>.tmp``, stand two layers' tables at a time. Returns the table.
    UserError where ``output`` exists, the disk is too small, or one node's neighbours do not fit in ``memory``.
    """
    if output.exists():
        raise UserError(f"{output}: it exists already: choose another name, or remove it")
    scratch = output.with_name(output.name + ".tmp")
    remove_tree(scratch)
    _require_space(encoder, features, partitioning, scratch)
    training = encoder.training
    try:
        scratch.mkdir(parents=True)
        encoder.eval()
        table: Features | RowTable = features
        for layer in range(len(encoder.widths)):
            before = _layer_input(encoder, layer, table, scratch, partitioning)
            table = _create(scratch / f"layer-{layer}", encoder.widths[layer], partitioning)
            table = _Layer(encoder, layer, before, table, adjacency, partitioning, memory, degrees).run()
            _remove(before, scratch)
        assert isinstance(table, RowTable)
        assert table.checksums is not None
        sync_tree(table.path)
        publish(table.path, output)
        return RowTable.open(output).expecting(table.checksums)
    except OSError as error:
        raise disk_error(error, scratch) from error
    finally:
        encoder.train(training)
        remove_tree(scratch)


def true_degrees(adjacency: Adjacency, partitioning: Partitioning) -> npt.NDArray[np.float32]:
    """In-degrees of all nodes, float32 (nodes,), their own loops left out, as GCN counts them."""
    degrees = np.empty(partitioning.nodes, np.float32)
    for k in range(partitioning.partitions):
        ids = partitioning.range(k)
        degrees[ids.start : ids.stop] = in_degrees(adjacency.read(k), ids.start)
    return degrees


class _Chunk(NamedTuple):
    """Nodes [first, last) of a partition, by node id, and their in-edges [start, stop) of its lists."""

    first: int
    last: int
    start: int
    stop: int


@dataclass
class _Layer:
    """One layer, from the table ``before`` to the table ``after``."""

    encoder: Layered
    layer: int
    before: RowTable
    after: RowTable
    adjacency: Adjacency
    partitioning: Partitioning
    memory: int
    degrees: npt.NDArray[np.float32] | None

    def __post_init__(self) -> None:
        self._early = self.encoder.early_width(self.layer)
        self._width = self._early or (self.encoder.in_width, *self.encoder.widths)[self.layer]
        self._device = next(self.encoder.parameters()).device
        self._resident: npt.NDArray[np.float32] | None = None
        size = self.partitioning.nodes * self._width * 4
        if size <= self.memory * RESIDENT_SHARE:
            self.memory -= size
            self._resident = np.empty((self.partitioning.nodes, self._width), np.float32)
            for k in range(self.partitioning.partitions):
                ids = self.partitioning.range(k)
                self.before.read_into(k, self._resident[ids.start : ids.stop])

    @torch.no_grad()
    def run(self) -> RowTable:
        """The table ``after``, written, with its checksums."""
        checksums = {}
        for k in range(self.partitioning.partitions):
            lists = self.adjacency.read(k)
            with _ChunkFile(self.after, k) as file:
                for chunk in self._chunks(k, lists):
                    rows = np.zeros((chunk.last - chunk.first, self.after.width), np.float32)
                    rows[:, : self.encoder.widths[self.layer]] = self._vectors(chunk, lists).cpu().numpy()
                    file.write(rows)
                file.sync()
            checksums[k] = file.checksum
        return self.after.expecting(checksums)

    def _chunks(self, k: int, lists: InLists) -> Iterator[_Chunk]:
        """Consecutive destinations, as many at a time as fit."""
        ids, indptr = self.partitioning.range(k), lists.indptr
        taken = indptr.nbytes + lists.sources.nbytes + (0 if lists.rel is None else lists.rel.nbytes)
        first = 0
        while first < len(ids):
            low, high = first, len(ids)  # low destinations fit, more than high do not
            while low < high:
                middle = (low + high + 1) // 2
                needed = taken + self._bytes(middle - first, int(indptr[middle] - indptr[first]))
                low, high = (middle, high) if needed <= self.memory else (low, middle - 1)
            if low == first:
                edges = int(indptr[first + 1] - indptr[first])
                raise UserError(f"storage.memory: layer {self.layer + 1} of the encoder over all {edges} in-edges of node "
                                f"{ids.start + first} needs {format_bytes(taken + self._bytes(1, edges))}, "
                                f"{format_bytes(self.memory)} are left for it: allow more, or make more partitions")
            yield _Chunk(ids.start + first, ids.start + low, int(indptr[first]), int(indptr[low]))
            first = low

    def _bytes(self, targets: int, edges: int) -> int:
        """What a chunk takes at most: its edges, its rows, and the layer's own work."""
        sources = targets + min(edges, self.partitioning.nodes)
        rows = sources * self._width * 4
        results = 2 * targets * self.after.stride
        work = self.encoder.layer_bytes(self.layer, targets, sources, edges)
        return READ_BYTES + edges * BYTES_AN_EDGE + rows + results + work

    def _vectors(self, chunk: _Chunk, lists: InLists) -> torch.Tensor:
        """The layer's results for the chunk's nodes."""
        sources = lists.sources[chunk.start : chunk.stop].astype(np.int64)
        count = chunk.last - chunk.first
        own = (sources >= chunk.first) & (sources < chunk.last)
        others = np.unique(sources[~own])
        local = np.where(own, sources - chunk.first, count + np.searchsorted(others, sources)).astype(np.int32)
        x = np.empty((count + len(others), self._width), np.float32)
        self._read(np.arange(chunk.first, chunk.last), x[:count])
        self._read(others, x[count:])
        degrees = None
        if self.degrees is not None:
            degrees = np.concatenate([self.degrees[chunk.first : chunk.last], self.degrees[others]])
        k = int(chunk.first // self.partitioning.rows)
        start = chunk.first - self.partitioning.range(k).start
        indptr = lists.indptr[start : start + count + 1] - chunk.start
        rel = None if lists.rel is None else lists.rel[chunk.start : chunk.stop].astype(np.int64)
        parts = (None if part is None else torch.from_numpy(part).to(self._device) for part in (indptr, local, rel, degrees))
        combine = self.encoder.late if self._early else self.encoder.layer
        return combine(self.layer, torch.from_numpy(x).to(self._device), Block(*parts))  # type: ignore[arg-type]

    def _read(self, ids: Ids, out: npt.NDArray[np.float32]) -> None:
        """Rows of ascending node ids of the layer before."""
        if self._resident is not None:
            _native.gather(self._resident, ids, out)
            return
        bounds = np.searchsorted(ids, np.arange(self.partitioning.partitions + 1) * self.partitioning.rows)
        for k in np.flatnonzero(np.diff(bounds)).tolist():
            part = slice(int(bounds[k]), int(bounds[k + 1]))
            _read_rows(self.before, k, ids[part] - self.partitioning.range(k).start, out[part])


def _read_rows(table: RowTable, k: int, offsets: Ids, out: npt.NDArray[np.float32]) -> None:
    """The first columns of partition k's rows at ascending ``offsets``, straight into ``out``."""
    table.check(k)
    for first, last in spans(offsets, table.stride):
        base, end = int(offsets[first]), int(offsets[last - 1]) + 1
        block = np.empty((end - base, table.width), table.dtype)
        read_range(table.chunk_path(k), base * table.stride, block.view(np.uint8).reshape(-1))
        out[first:last] = block[offsets[first:last] - base, : out.shape[1]]


class _ChunkFile:
    """The file of partition k of a new table, written from its first row on; ``checksum``: its CRC-32C, once it is closed."""

    def __init__(self, table: RowTable, k: int):
        self._file = open(table.chunk_path(k), "r+b")  # noqa: SIM115 closed by __exit__
        self._left = table.chunk_bytes
        self.checksum = 0

    def write(self, rows: npt.NDArray[np.float32]) -> None:
        self._file.write(rows.data)
        self._count(rows.view(np.uint8).reshape(-1))

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> _ChunkFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        zeros = np.zeros(min(self._left, SPAN_BYTES), np.uint8)  # the last partition's file is as long as the others
        while self._left:
            self._count(zeros[: self._left])

    def _count(self, data: npt.NDArray[np.uint8]) -> None:
        self.checksum = _native.crc32c(data, self.checksum)
        self._left -= len(data)


def _create(path: Path, width: int, partitioning: Partitioning) -> RowTable:
    return RowTable.create(path, partitioning.nodes, padded_width(width, np.float32), partitioning.rows, {"columns": width})


def _layer_input(encoder: Layered, layer: int, rows: Features | RowTable, scratch: Path, partitioning: Partitioning) -> RowTable:
    """The table that a layer combines: its rows as they are, or narrowed first by the maps that come before any neighbour."""
    width = encoder.early_width(layer)
    if width is None and isinstance(rows, RowTable):
        return rows
    inner = (encoder.in_width, *encoder.widths)[layer]
    table = _create(scratch / f"input-{layer}", width or inner, partitioning)
    device, checksums = next(encoder.parameters()).device, {}
    for k in range(partitioning.partitions):
        with _ChunkFile(table, k) as file:
            for part in _parts(rows, k, inner):
                padded = np.zeros((len(part), table.width), np.float32)
                if width is None:
                    padded[:, :inner] = part
                else:
                    with torch.no_grad():
                        padded[:, :width] = encoder.early(layer, torch.from_numpy(part).to(device)).cpu().numpy()
                file.write(padded)
        checksums[k] = file.checksum
    if isinstance(rows, RowTable):
        _remove(rows, scratch)
    return table.expecting(checksums)


def _parts(rows: Features | RowTable, k: int, width: int) -> Iterator[npt.NDArray[np.float32]]:
    """Partition k's rows, the first ``width`` columns, as float32, some at a time."""
    if isinstance(rows, RowTable):
        for start in range(0, rows.size(k), step := max(1, PART_BYTES // rows.stride)):
            part = np.empty((min(step, rows.size(k) - start), width), np.float32)
            _read_rows(rows, k, np.arange(start, start + len(part)), part)
            yield part
        return
    whole = rows.read(k)
    for start in range(0, len(whole), step := max(1, PART_BYTES // (width * 4))):
        yield np.ascontiguousarray(whole[start:start + step, :width], dtype=np.float32)


def _remove(table: RowTable, scratch: Path) -> None:
    """A table of a layer before; one that was given stays."""
    if table.path.parent == scratch:
        remove_tree(table.path)


def _require_space(encoder: Layered, features: Features | RowTable, partitioning: Partitioning, path: Path) -> None:
    widths = []
    for layer, width in enumerate(encoder.widths):
        early = encoder.early_width(layer)
        if early is not None or (layer == 0 and not isinstance(features, RowTable)):
            widths.append(early or encoder.in_width)
        widths.append(width)
    numbers = max(sum(padded_width(width, np.float32) for width in widths[at : at + 2]) for at in range(len(widths)))
    require_space(path, numbers * 4 * partitioning.rows * partitioning.partitions, "the vectors of all nodes, layer by layer,")
