"""The buckets of the training edges to in-edge lists, one partition's at a time.

Bucket (i, j) is ordered by (destination, source), so that appending the buckets of column j in order of i, each edge to the end
of its destination's list, leaves every list ordered by source: one pass over the edges and no sort. Weights go along.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from marius_lite._native import append_in_edges, crc32c
from marius_lite.errors import UserError
from marius_lite.graph.adjacency import ARRAYS, PartitionLists, checksum_columns, source_dtype
from marius_lite.graph.edges import COLUMNS, EdgeBuckets
from marius_lite.preprocess.columns import ColumnWriter, chunk_length, create_group, write_array

PIECE = 1 << 18


class AdjacencyWriter:
    """Writes ``folder`` (a dataset's ``adjacency/in``) from ``edges``; ``memory`` in bytes bounds one partition's lists.

    Weights are in the lists where the edges have them. ``degrees``: a file of the in-edges of each node, uint32. Raises UserError
    where the lists of a partition do not fit. ``files``: chunk files with (size, crc32c).
    """

    def __init__(self, edges: EdgeBuckets, folder: Path, degrees: Path, relations: int, memory: int):
        self.files: dict[Path, tuple[int, int]] = {}
        self._edges, self._folder, self._degrees = edges, folder, degrees
        self._partitioning = edges.partitioning
        source = source_dtype(edges.partitioning.nodes)
        self._relations, self._weights = relations > 1, "weight" in edges.columns
        self._dtypes: dict[str, np.dtype[Any]] = {"indptr": np.dtype(np.int64), "sources": source}
        if self._relations:
            self._dtypes["rel"] = np.dtype(np.uint32)
        if self._weights:
            self._dtypes["weight"] = np.dtype(np.float32)
        self._require_memory(memory)

    def write(self) -> None:
        create_group(self._folder.parent)
        create_group(self._folder)
        p = self._partitioning.partitions
        columns = {name: ColumnWriter(self._folder / name, chunk_length(self._length(name)), dtype)
                   for name, dtype in self._dtypes.items()}
        checksums = np.zeros((p, checksum_columns(self._weights)), np.uint32)
        with tqdm(total=self._edges.total, unit="edge", unit_scale=True, desc="adjacency", mininterval=0.5) as bar:
            for k in range(p):
                lists = self._lists(k, bar)
                arrays = (lists.indptr, lists.sources, lists.rel, lists.weights)
                for place, (name, values) in enumerate(zip(ARRAYS, arrays)):
                    if values is not None:
                        checksums[k, place] = crc32c(values.view(np.uint8))
                        columns[name].append(values)
        for column in columns.values():
            column.close()
            self.files |= column.files
        write_array(self._folder / "starts", np.concatenate([[0], np.cumsum(self._edges.counts.sum(0))]).astype(np.int64))
        write_array(self._folder / "checksums", checksums)

    def _length(self, name: str) -> int:
        return self._partitioning.nodes + self._partitioning.partitions if name == "indptr" else self._edges.total

    def _lists(self, k: int, bar: tqdm[Any]) -> PartitionLists:
        part, count = self._partitioning.range(k), int(self._edges.counts[:, k].sum())
        indptr = np.zeros(len(part) + 1, np.int64)
        sources = np.empty(count, self._dtypes["sources"])
        rel = np.empty(count, np.uint32) if self._relations else None
        weights = np.empty(count, np.float32) if self._weights else None
        cursors = indptr[1:]  # where each list starts, and once it is filled where it ends
        degrees = np.fromfile(self._degrees, np.uint32, len(part) - 1, offset=4 * part.start)
        np.cumsum(degrees, out=cursors[1:])
        wanted = (*COLUMNS, "weight") if self._weights else COLUMNS
        for i in range(self._partitioning.partitions):
            for src, dst, rels, *weight in self._edges.stream_columns(i, k, PIECE, wanted):
                append_in_edges(src, dst, rels, i * self._partitioning.rows, cursors, sources, rel, *weight, weights=weights)
                bar.update(len(src))
        return PartitionLists(indptr, sources, rel, weights)

    def _require_memory(self, memory: int) -> None:
        edge = sum(dtype.itemsize for dtype in self._dtypes.values()) - self._dtypes["indptr"].itemsize
        edges = self._edges.counts.sum(0)
        most = int(edges.argmax())
        needed = self._partitioning.rows * self._dtypes["indptr"].itemsize + int(edges[most]) * edge
        if needed > memory:
            raise UserError(f"--adjacency in: the {edges[most]:,} in-edges of partition {most} take {needed / 1e6:.2f} MB, "
                            f"{memory / 1e6:.2f} MB are free of --memory: give more --memory or more --partitions")


def adjacency_bytes(nodes: int, edges: int, weights: bool = False) -> int:
    """At most what it takes on disk, without relations."""
    return 8 * nodes + (source_dtype(nodes).itemsize + 4 * weights) * edges
