"""Edges in provisional ids, between the pass that reads and the one that sorts: blocks on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import read_file_range, write_file


@dataclass(frozen=True)
class SpooledEdges:
    """Edges of one split: ``src``, ``dst`` uint32 or uint64, ``rel`` uint32, provisional ids."""

    split: int
    src: npt.NDArray[Any]
    rel: npt.NDArray[np.uint32]
    dst: npt.NDArray[Any]


@dataclass(frozen=True)
class _Block:
    path: Path
    split: int
    count: int
    dtype: type[np.unsignedinteger[Any]]


class Spool:
    """Gathers ``block_edges`` or more edges, then writes them as one file: src, dst, rel in turn."""

    def __init__(self, folder: Path, block_edges: int):
        self._folder = folder
        self._block_edges = block_edges
        self._blocks: list[_Block] = []
        self._waiting: list[SpooledEdges] = []
        self._waiting_edges = 0
        self.counts = [0, 0, 0]
        folder.mkdir()

    def append(self, edges: SpooledEdges) -> None:
        if self._waiting and self._waiting[0].split != edges.split:
            self.flush()
        self._waiting.append(edges)
        self._waiting_edges += len(edges.src)
        self.counts[edges.split] += len(edges.src)
        if self._waiting_edges >= self._block_edges:
            self.flush()

    def flush(self) -> None:
        """Write what is gathered."""
        if self._waiting_edges:
            wide = any(edges.src.dtype == np.uint64 for edges in self._waiting)
            dtype = np.uint64 if wide else np.uint32
            block = _Block(
                self._folder / str(len(self._blocks)), self._waiting[0].split, self._waiting_edges, dtype
            )
            ends = [
                np.concatenate([getattr(edges, name) for edges in self._waiting], dtype=dtype)
                for name in ("src", "dst")
            ]
            rel = np.concatenate([edges.rel for edges in self._waiting])
            write_file(str(block.path), np.concatenate([part.view(np.uint8) for part in (*ends, rel)]))
            self._blocks.append(block)
        self._waiting, self._waiting_edges = [], 0

    def drain(self) -> Iterator[SpooledEdges]:
        """Every block once more; its file is removed when the next one is asked for."""
        self.flush()
        for block, edges in zip(self._blocks, self.read()):
            yield edges
            block.path.unlink()
        self._blocks = []

    def read(self) -> Iterator[SpooledEdges]:
        """Every block in turn."""
        self.flush()
        for block in self._blocks:
            width = np.dtype(block.dtype).itemsize
            data = np.empty(block.count * (2 * width + 4), np.uint8)
            read_file_range(str(block.path), 0, data)
            src, dst, rel = np.split(data, [block.count * width, 2 * block.count * width])
            yield SpooledEdges(block.split, src.view(block.dtype), rel.view(np.uint32), dst.view(block.dtype))
