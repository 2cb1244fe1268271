"""Write what is counted of a dataset's edges by node and by relation (`graph.counts`), so that an update need not count again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import write_file
from marius_lite.graph.counts import BY_NODE, COUNTS, has_counts, stored_counts, stored_relations
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.passes import Files
from marius_lite.preprocess.edges.buckets import node_bytes
from marius_lite.storage.columns import ColumnWriter, create_node_column
from marius_lite.storage.flat import open_flat, read_array_range
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import write_array

BUFFERED = 1 << 20  # bytes of a column that wait to be written
AT_ONCE = 1 << 20  # nodes


class TallyWriter:
    """Writes the folder ``counts`` of the dataset in ``root``, a chunk for each partition. ``degrees``: their dtype."""

    def __init__(self, root: Path, partitioning: Partitioning, degrees: npt.DTypeLike):
        self._root = root
        create_group(root / COUNTS)
        dtypes = (degrees, degrees, np.uint8)
        self._columns = [
            ColumnWriter(root / COUNTS / name, partitioning.rows, dtype, BUFFERED) for name, dtype in zip(BY_NODE, dtypes)
        ]

    def append(self, *by_node: npt.NDArray[Any]) -> None:
        """Append the counts `BY_NODE` of the next nodes."""
        for column, values in zip(self._columns, by_node):
            column.append(values.astype(column.dtype, copy=False))

    def close(self, relations: npt.NDArray[np.int64]) -> Files:
        """Finish the folder. ``relations``: (3, relations). Returns (size, crc32c) of the large files."""
        for column in self._columns:
            column.close()
        write_array(self._root / COUNTS / "relations", np.ascontiguousarray(relations))
        return {path: entry for column in self._columns for path, entry in column.files.items()}


def write_grown_counts(
    old: Dataset,
    root: Path,
    partitioning: Partitioning,
    by_node: Sequence[npt.NDArray[Any]],
    relations: npt.NDArray[np.int64],
    touched: npt.NDArray[np.bool_],
) -> Files:
    """Write the folder of the next version of a dataset from the whole arrays `BY_NODE`. A partition that is not ``touched``
    shares its files with ``old``, where that has any. Returns (size, crc32c) of the large files."""
    files, rows, shared = Files(), partitioning.rows, has_counts(old)
    create_group(root / COUNTS)
    for name, values in zip(BY_NODE, by_node):
        before = stored_counts(old, name) if shared else None
        chunks = create_node_column(root / COUNTS / name, values.dtype, partitioning.nodes, rows)
        for k in range(chunks.count):
            if before is not None and before.dtype == values.dtype and k < before.chunks.count and not touched[k]:
                chunks.share(k, before.chunks)
                files |= chunks.entry(k, before.checksums[k])
            else:
                part = values[k * rows : (k + 1) * rows]
                part = np.concatenate([part, np.zeros(rows - len(part), part.dtype)]) if len(part) < rows else part
                files |= chunks.entry(k, write_file(str(chunks.path(k)), part.view(np.uint8)))
    write_array(root / COUNTS / "relations", np.ascontiguousarray(relations))
    return files


def copy_counts(old: Dataset, root: Path, partitioning: Partitioning) -> Files:
    """Write the counts of a dataset, where it has any, for other partitions of its nodes."""
    if not has_counts(old):
        return {}
    old.checked.check(old.path / COUNTS)
    paths = [old.path / COUNTS / name for name in BY_NODE]
    writer = TallyWriter(root, partitioning, open_flat(paths[0]).dtype)
    for low in range(0, partitioning.nodes, AT_ONCE):
        writer.append(*(read_array_range(path, low, min(low + AT_ONCE, partitioning.nodes)) for path in paths))
    return writer.close(stored_relations(old))


def counts_bytes(nodes: int, partitions: int, degrees: type[np.unsignedinteger[Any]]) -> int:
    """What the counts take: the last chunk is filled up."""
    return (nodes + partitions) * node_bytes(degrees)
