"""Read in-edge lists by partition: for each node the sources of the training edges that lead to it."""

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
    """Return the dtype of a graph's node ids in the lists: uint32 where they fit, else uint64."""
    return np.dtype(np.uint32 if nodes <= 1 << 32 else np.uint64)


def checksum_columns(has_weights: bool) -> int:
    """Return how many checksums a partition has: one for each of ARRAYS, but for the last one only where edges have weights."""
    return len(ARRAYS) if has_weights else len(ARRAYS) - 1


@dataclass(frozen=True, slots=True)
class PartitionLists:
    """The in-edges of one partition's nodes.

    ``indptr``: int64 (size + 1,). The list of the partition's i-th node is [indptr[i], indptr[i + 1]), as long as its in-degree.
    ``sources``: node ids, uint32 or uint64 (edges,), ascending inside a list. Parallel edges repeat them.
    ``rel``: the edges' relation ids, uint32 (edges,). None where there is one relation.
    ``weights``: the edges' weights, float32 (edges,). None where edges have none, or they were not asked for.
    """

    indptr: npt.NDArray[np.int64]
    sources: npt.NDArray[Any]
    rel: npt.NDArray[np.uint32] | None
    weights: npt.NDArray[np.float32] | None = None


class Adjacency:
    """The in-edge lists in a dataset's folder ``adjacency/in``.

    ``has_weights``: whether edges have weights. ``checked``: the dataset's files, which check where the lists begin and what
    their checksums are. It is None while preprocess makes them.
    """

    def __init__(
        self,
        folder: Path,
        partitioning: Partitioning,
        relations: int,
        has_weights: bool = False,
        checked: CheckedFiles | None = None,
    ):
        self.folder = folder
        self.partitioning = partitioning
        self.has_relations = relations > 1
        self.has_weights = has_weights
        self._checked = checked

    def edge_bytes(self, weights: bool = False) -> int:
        """Return the bytes of one in-edge: its source, its relation where there are several, its ``weights`` where it is read."""
        return source_dtype(self.partitioning.nodes).itemsize + 4 * self.has_relations + 4 * weights

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each partition's lists start among all sources: int64 (p + 1,)."""
        if self._checked:
            self._checked.check(self.folder / "starts")
        return read_array_range(self.folder / "starts", 0, self.partitioning.partitions + 1)

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint32]:
        if self._checked:
            self._checked.check(self.folder / "checksums")
        return read_table(self.folder / "checksums", np.uint32, (-1, checksum_columns(self.has_weights)))

    def edges(self, k: int) -> int:
        """Return how many in-edges partition k's nodes have."""
        return int(self.starts[k + 1] - self.starts[k])

    def read(self, k: int, weights: bool = False, own_pages: bool = False, *, relations: bool = True) -> PartitionLists:
        """Read the lists of partition k's nodes, past the page cache. ``weights``, ``relations``: whether to read those too.

        ``own_pages``: whether each array gets memory pages of its own, so that it can be pinned. Raises UserError where the bytes
        are not those that preprocess wrote.
        """
        size = self.partitioning.size(k)
        first = k * (self.partitioning.rows + 1)
        start, stop = int(self.starts[k]), int(self.starts[k + 1])
        rel = self._read(k, 2, start, stop, own_pages) if self.has_relations and relations else None
        weight = self._read(k, 3, start, stop, own_pages) if weights else None
        indptr, sources = self._read(k, 0, first, first + size + 1, own_pages), self._read(k, 1, start, stop, own_pages)
        return PartitionLists(indptr, sources, rel, weight)

    def _read(self, k: int, array: int, start: int, stop: int, own_pages: bool) -> npt.NDArray[Any]:
        path = self.folder / ARRAYS[array]
        values = read_array_range(path, start, stop, empty_for_range(open_flat(path).dtype, start, stop, own_pages))
        self.check(k, array, crc32c(values.view(np.uint8)))
        return values

    def check(self, k: int, array: int, checksum: int) -> None:
        """Raise UserError unless ``checksum`` is the CRC-32C that preprocess wrote for one of the ARRAYS of partition k."""
        if checksum != int(self._checksums[k, array]):
            raise UserError(
                f"{self.folder / ARRAYS[array]}: the lists of partition {k} do not match their checksum, the dataset "
                "was changed: make it again with `marius-lite preprocess`"
            )
