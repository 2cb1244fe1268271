"""The buckets of training edges to in-edge lists, of as many partitions at a time as the memory holds.

Bucket (i, j) is ordered by (destination, source). The buckets of column j are read in order of i, and each edge is appended to
the list of its destination. So every list is ordered by source after one pass over the edges, without a sort. Weights go along.
In each row of buckets, columns that are made together lie side by side, so that one read brings them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from marius_lite._native import append_in_edges, crc32c
from marius_lite.errors import MemoryWanted
from marius_lite.files import read_numbers
from marius_lite.graph.adjacency import ADJACENCY, ARRAYS, PartitionLists, checksum_columns, source_dtype
from marius_lite.graph.edges import COLUMNS, EDGES_AT_ONCE, EdgeBuckets
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.edges.buckets import count_dtype
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.columns import AMPLE, ColumnWriter, chunk_length, filled_length
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import write_array

NODE_BYTES = 8  # where a node's list ends


class AdjacencyWriter:
    """Writes ``folder`` (a dataset's ``adjacency/in``) from ``edges``.

    ``memory`` in bytes bounds the lists in memory, ``columns`` those that wait to be written. The lists have weights where the
    edges have them. ``degrees``: a file of the number of in-edges of each node, of dtype `count_dtype`. Raises MemoryWanted where
    the lists of a partition do not fit. ``files``: the chunk files that were written, with (size, crc32c).
    """

    def __init__(self, edges: EdgeBuckets, folder: Path, degrees: Path, relations: int, memory: int, columns: int = AMPLE):
        self.files: dict[Path, tuple[int, int]] = {}
        self._edges, self._folder, self._degrees, self._memory, self._columns = edges, folder, degrees, memory, columns
        self._partitioning = edges.partitioning
        self._relations, self._weights = relations > 1, "weight" in edges.columns
        self._edge_bytes = list_edge_bytes(edges.partitioning.nodes, self._relations, self._weights)
        self._dtypes: dict[str, np.dtype[Any]] = {"indptr": np.dtype(np.int64), "sources": source_dtype(edges.partitioning.nodes)}
        if self._relations:
            self._dtypes["rel"] = np.dtype(np.uint32)
        if self._weights:
            self._dtypes["weight"] = np.dtype(np.float32)
        self._in_edges = edges.counts.sum(0)
        most = int(self._in_edges.argmax())
        require_memory(self._partitioning, int(self._in_edges[most]), f"partition {most}", self._edge_bytes, memory)

    def write(self) -> None:
        create_group(self._folder.parent)
        create_group(self._folder)
        each = self._columns // len(self._dtypes)
        columns = {
            name: ColumnWriter(self._folder / name, chunk_length(self._length(name)), dtype, each)
            for name, dtype in self._dtypes.items()
        }
        checksums = np.zeros((self._partitioning.partitions, checksum_columns(self._weights)), np.uint32)
        with progress_bar("adjacency", "edge", self._edges.total) as bar:
            for parts in self._groups():
                for k, lists in zip(parts, self._lists(parts, bar)):
                    arrays = (lists.indptr, lists.sources, lists.rel, lists.weights)
                    for place, (name, values) in enumerate(zip(ARRAYS, arrays)):
                        if values is not None:
                            checksums[k, place] = crc32c(values.view(np.uint8))
                            columns[name].append(values)
        for column in columns.values():
            column.close()
            self.files |= column.files
        write_array(self._folder / "starts", np.concatenate([[0], np.cumsum(self._in_edges)]).astype(np.int64))
        write_array(self._folder / "checksums", checksums)

    def _length(self, name: str) -> int:
        return self._partitioning.nodes + self._partitioning.partitions if name == "indptr" else self._edges.total

    def _groups(self) -> Iterator[range]:
        """Return ranges of partitions whose lists fit in memory together, beside a copy of where the lists of one end."""
        rows, first, used = self._partitioning.rows * NODE_BYTES, 0, 0
        for k, edges in enumerate(self._in_edges.tolist()):
            needed = rows + edges * self._edge_bytes
            if k > first and used + needed + rows > self._memory:
                yield range(first, k)
                first, used = k, 0
            used += needed
        yield range(first, self._partitioning.partitions)

    def _lists(self, parts: range, bar: tqdm[Any]) -> Iterator[PartitionLists]:
        """Return the lists of each of the partitions ``parts``."""
        p = self._partitioning
        nodes, starts = range(p.range(parts[0]).start, p.range(parts[-1]).stop), np.cumsum([0, *self._in_edges[parts]])
        ends = np.zeros(len(nodes) + 1, np.int64)
        sources = np.empty(starts[-1], self._dtypes["sources"])
        rel = np.empty(starts[-1], np.uint32) if self._relations else None
        weights = np.empty(starts[-1], np.float32) if self._weights else None
        cursors = ends[1:]  # where each list starts; once it is filled, where it ends
        dtype = np.dtype(count_dtype(self._edges.total))
        np.cumsum(read_numbers(self._degrees, dtype, len(nodes) - 1, dtype.itemsize * nodes.start), out=cursors[1:])
        wanted = (*COLUMNS, "weight") if self._weights else COLUMNS
        for piece in self._edges.block(range(p.partitions), parts, EDGES_AT_ONCE, wanted):
            src, dst, rels, *weight = piece.columns
            append_in_edges(
                src,
                dst,
                rels,
                piece.buckets,
                piece.ends,
                p.partitions,
                p.rows,
                nodes.start,
                cursors,
                sources,
                rel,
                weight[0] if weight else None,
                weights,
            )
            bar.update(len(src))
        for k, begin, end in zip(parts, starts.tolist(), starts[1:].tolist()):
            at = k * p.rows - nodes.start
            indptr, edges = ends[at : at + p.size(k) + 1], slice(begin, end)
            yield PartitionLists(
                indptr - begin if begin else indptr,
                sources[edges],
                None if rel is None else rel[edges],
                None if weights is None else weights[edges],
            )


def require_memory(partitioning: Partitioning, edges: int, where: str, edge_bytes: int, memory: int) -> None:
    """Raise MemoryWanted where ``memory`` does not hold the lists of a partition with so many ``edges``. ``where`` names it."""
    needed = partitioning.rows * NODE_BYTES + edges * edge_bytes
    if needed > memory:
        raise MemoryWanted(
            f"--adjacency in: the lists of {where}, {partitioning.rows:,} nodes and {edges:,} in-edges, take "
            f"{needed / 1e6:.2f} MB, {memory / 1e6:.2f} MB are free of --memory: give more --memory, and the same "
            "command goes on, or more --partitions"
        )


def list_edge_bytes(nodes: int, relations: bool, weights: bool) -> int:
    """Return the bytes of an edge in the lists."""
    return source_dtype(nodes).itemsize + 4 * relations + 4 * weights


def lists_bytes(nodes: int, partitions: int, edges: int, edge_bytes: int) -> int:
    """What ``adjacency/in`` takes for so many training ``edges``, each of them ``edge_bytes`` (see `list_edge_bytes`)."""
    return filled_length(edges) * edge_bytes + filled_length(nodes + partitions) * NODE_BYTES


def write_adjacency(site: Site, edges: EdgeBuckets, relations: int) -> Files:
    """Write ``adjacency/in`` of the training edges, where it is asked for. Returns its chunk files with (size, crc32c)."""
    options = site.options
    if options.adjacency == "none":
        return {}
    writer = AdjacencyWriter(
        edges, site.root / ADJACENCY, site.work / "in_degrees", relations, plan.pass_memory(options), plan.column_memory(options)
    )
    writer.write()
    return writer.files
