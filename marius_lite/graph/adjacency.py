"""In-edge lists: for each node the sources of its training edges, read by partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.graph.checked import CheckedFiles
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.engine import empty_for_range
from marius_lite.storage.flat import open_flat, read_array_range
from marius_lite.storage.small_arrays import read_table

ADJACENCY = Path("adjacency/in")
ARRAYS = ("indptr", "sources", "rel", "weight")


def source_dtype(nodes: int) -> np.dtype[Any]:
    """The dtype of a graph's node ids: uint32 while they fit, else uint64."""
    return np.dtype(np.uint32 if nodes <= 1 << 32 else np.uint64)


def checksum_columns(has_weights: bool) -> int:
    """The number of checksums of a partition: one for each of ARRAYS, for the last one only where there are weights."""
    return len(ARRAYS) if has_weights else len(ARRAYS) - 1


@dataclass(frozen=True, slots=True)
class PartitionLists:
    """The in-edges of one partition's nodes.

    ``indptr``: int64 (size + 1,), node i's list is [indptr[i], indptr[i + 1]), its length the true in-degree.
    ``sources``: node ids, uint32 or uint64 (edges,), ascending inside a list, repeated where edges are parallel.
    ``rel``: their relation ids, uint32 (edges,), None where there is one relation.
    ``weights``: their weights, float32 (edges,), None where there are none or nobody asked for them.
    """

    indptr: npt.NDArray[np.int64]
    sources: npt.NDArray[Any]
    rel: npt.NDArray[np.uint32] | None
    weights: npt.NDArray[np.float32] | None = None


class Adjacency:
    """``folder`` is a dataset's ``adjacency/in``; ``has_weights``: its edges have weights; ``checked``: the dataset's files, by
    which lists' places and checksums are checked themselves, None while they are made."""

    def __init__(self, folder: Path, partitioning: Partitioning, relations: int, has_weights: bool = False,
                 checked: CheckedFiles | None = None):
        self.folder = folder
        self.partitioning = partitioning
        self.has_relations = relations > 1
        self.has_weights = has_weights
        self._checked = checked

    def edge_bytes(self, weights: bool = False) -> int:
        """Bytes of one in-edge: its source's id, its relation where there are several, and its weight where it is read."""
        return source_dtype(self.partitioning.nodes).itemsize + 4 * self.has_relations + 4 * weights

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each partition's lists start among all sources: p + 1 numbers."""
        if self._checked:
            self._checked.check(self.folder / "starts")
        return read_array_range(self.folder / "starts", 0, self.partitioning.partitions + 1)

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint32]:
        if self._checked:
            self._checked.check(self.folder / "checksums")
        return read_table(self.folder / "checksums", np.uint32, (-1, checksum_columns(self.has_weights)))

    def read(self, k: int, weights: bool = False, own_pages: bool = False) -> PartitionLists:
        """Read the lists of partition k's nodes, past the page cache, with ``weights`` where they are asked for.

        ``own_pages``: each array in memory pages of its own, so that it can be pinned. Raises UserError where preprocess wrote
        other bytes.
        """
        size = self.partitioning.size(k)
        first = k * (self.partitioning.rows + 1)
        start, stop = int(self.starts[k]), int(self.starts[k + 1])
        rel = self._read(k, 2, start, stop, own_pages) if self.has_relations else None
        weight = self._read(k, 3, start, stop, own_pages) if weights else None
        indptr, sources = self._read(k, 0, first, first + size + 1, own_pages), self._read(k, 1, start, stop, own_pages)
        return PartitionLists(indptr, sources, rel, weight)

    def _read(self, k: int, array: int, start: int, stop: int, own_pages: bool) -> npt.NDArray[Any]:
        path = self.folder / ARRAYS[array]
        values = read_array_range(path, start, stop, empty_for_range(open_flat(path).dtype, start, stop, own_pages))
        self.check(k, array, crc32c(values.view(np.uint8)))
        return values

    def check(self, k: int, array: int, checksum: int) -> None:
        """Compare the CRC-32C of one of the ARRAYS of partition k with what preprocess wrote. Raises UserError."""
        if checksum != int(self._checksums[k, array]):
            raise UserError(f"{self.folder / ARRAYS[array]}: the lists of partition {k} do not match their checksum, the dataset "
                            "was changed: make it again with `marius-lite preprocess`")
