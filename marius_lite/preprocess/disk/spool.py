"""Blocks of edges on disk, between the pass that reads and the one that sorts. Nodes and relations are keys (see `ids.keys`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c, read_file_range, write_file
from marius_lite.files import read_numbers
from marius_lite.storage.background import WriteBehind

Keys = npt.NDArray[np.uint32]
Ids = npt.NDArray[Any]  # that keys stand for: uint32 or uint64
KEY_BYTES, CARRIED_BYTES = 4, 8


@dataclass(frozen=True)
class SpooledEdges:
    """Edges of one split. ``src``, ``rel``, ``dst``: keys, uint32; those of nodes belong to ``dictionary``.

    ``carried``: what each edge carries besides (see `graph.edges.CARRIED`), (edges, columns) uint64, or None.
    """

    split: int
    dictionary: int
    src: Keys
    rel: Keys
    dst: Keys
    carried: npt.NDArray[np.uint64] | None = None

    def with_own_keys(self, src: Ids, dst: Ids) -> tuple[SpooledEdges, Ids]:
        """Return these edges with a key for each end of each, and the ids of those keys, which ``src`` and ``dst`` are: for a few
        edges that is less than a table of all nodes. The ends of a self-loop have one key: it is known by that."""
        first, second = np.arange(2 * len(src), dtype=np.uint32).reshape(2, -1)
        return replace(self, src=first, dst=np.where(src == dst, first, second)), np.concatenate([src, dst])


@dataclass(frozen=True)
class SpoolShape:
    """What is kept of an edge beside its ends: its relation (where there is none, all are 0), and a word for each column in
    ``carried``."""

    relations: bool
    carried: tuple[str, ...] = ()

    @property
    def edge_bytes(self) -> int:
        return KEY_BYTES * (2 + self.relations) + CARRIED_BYTES * len(self.carried)


@dataclass(frozen=True)
class SpoolBlock:
    """A file of ``count`` edges, column after column. Its crc32c is known once the spool is closed.

    ``shard``: the part of the input that a worker has read into it by itself. Then a file says what its keys of relations are.
    """

    number: int
    split: int
    dictionary: int
    count: int
    checksum: int = 0
    shard: int | None = None


class Spool:
    """Collects edges into blocks of ``block_edges``, each a file in ``folder``. Another thread writes the files."""

    def __init__(self, folder: Path, block_edges: int, shape: SpoolShape):
        self._folder, self._block_edges, self._shape = folder, block_edges, shape
        self._writer = WriteBehind()
        self._parts: list[SpooledEdges] = []
        self._waiting = 0
        self.blocks: list[SpoolBlock] = []
        self._checksums: list[int] = []
        folder.mkdir(exist_ok=True)

    def append(self, edges: SpooledEdges) -> None:
        if self._parts and (self._parts[0].split, self._parts[0].dictionary) != (edges.split, edges.dictionary):
            self.flush()
        self._parts.append(edges)
        self._waiting += len(edges.src)
        if self._waiting >= self._block_edges:
            self.flush()

    def flush(self) -> None:
        """Give all edges that wait to the thread that writes."""
        parts, count = self._parts, self._waiting
        self._parts, self._waiting = [], 0
        if not count:
            return
        block = SpoolBlock(len(self.blocks), parts[0].split, parts[0].dictionary, count)
        self.blocks.append(block)
        self._writer.call(self._write, block, parts)

    def _write(self, block: SpoolBlock, parts: list[SpooledEdges]) -> None:
        names = ("src", "dst", "rel") if self._shape.relations else ("src", "dst")
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        if self._shape.carried:
            columns.append(np.concatenate([part.carried for part in parts if part.carried is not None]))
        data = np.concatenate([column.reshape(-1).view(np.uint8) for column in columns])
        self._checksums.append(crc32c(data))
        write_file(str(self._folder / str(block.number)), data)

    def close(self) -> None:
        """Write all edges to files, and wait for it."""
        self.flush()
        self._writer.close()
        self.blocks = [replace(block, checksum=checksum) for block, checksum in zip(self.blocks, self._checksums)]


def read_spool(folder: Path, blocks: Iterable[SpoolBlock], shape: SpoolShape) -> Iterator[SpooledEdges]:
    """Read block after block."""
    shard, relations = None, np.empty(0, np.uint32)
    for block in blocks:
        count = block.count
        data = np.empty(count * shape.edge_bytes, np.uint8)
        read_file_range(str(folder / str(block.number)), 0, data)
        keys = data[: count * KEY_BYTES * (2 + shape.relations)].view(np.uint32).reshape(-1, count)
        rel = keys[2] if shape.relations else np.zeros(count, np.uint32)
        if block.shard is not None and shape.relations:
            if block.shard != shard:
                shard, relations = block.shard, read_numbers(relations_path(folder, block.shard), np.uint32)
            rel = relations[rel]
        carried = data[keys.nbytes :].view(np.uint64).reshape(count, -1) if shape.carried else None
        yield SpooledEdges(block.split, block.dictionary, keys[0], rel, keys[1], carried)


def relations_path(folder: Path, shard: int) -> Path:
    """Return the file of a spool that has the key of each of a shard's relations: uint32."""
    return folder / f"relations.{shard}"
