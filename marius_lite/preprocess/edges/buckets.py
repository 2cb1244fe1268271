"""Sorted records to the edge arrays of every split, with bucket offsets, checksums and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import EdgeCounts, EdgeLayout, crc32c_stretches
from marius_lite.errors import RunError
from marius_lite.files import disk_errors, read_numbers
from marius_lite.graph.edges import CARRIED, COLUMNS, EDGES_AT_ONCE
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.sort import Records
from marius_lite.preprocess.options import SPLITS
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.columns import AMPLE, CHUNK, ColumnWriter, chunk_length, filled_length
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import write_array

TOTALS = 5
OFFSET_BYTES, CHECKSUM_BYTES, TALLY_BYTES = 8, 4, 8  # of a bucket: where it begins, checksum of a column, edges of a split


def count_dtype(edges: int) -> type[np.unsignedinteger[Any]]:
    """Return the dtype that can count a node's edges where there are ``edges`` in all."""
    return np.uint32 if edges < 1 << 32 else np.uint64


def node_bytes(counts: type[np.unsignedinteger[Any]]) -> int:
    """Return the bytes that counting takes for a node: two degrees, and the splits in which it has an edge."""
    return 2 * np.dtype(counts).itemsize + 1


@dataclass(frozen=True)
class Tally:
    """What is counted while edges are written. An axis of 3 is the split (train, valid, test).

    ``bucket_counts``: (3, buckets). ``relation_counts``: (3, relations). ``totals``: (5, 3), its rows are duplicates; self-loops;
    edges that also stand in train; edges whose reverse stands in train; edges whose ends a training edge of any relation joins
    the other way round. The last two are not counted where `Options.reverses_sought` is false. By node, where there is memory
    for it: ``out_degrees``, ``in_degrees`` of training edges; ``in_splits``: bit s is set for a node with an edge in split s.
    """

    bucket_counts: npt.NDArray[np.int64]
    relation_counts: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]
    out_degrees: npt.NDArray[Any] | None
    in_degrees: npt.NDArray[Any] | None
    in_splits: npt.NDArray[np.uint8] | None

    @classmethod
    def zeros(cls, partitioning: Partitioning, relations: int, by_node: type[np.unsignedinteger[Any]] | None) -> Tally:
        """Return a tally of nothing. ``by_node``: the dtype of degrees, None where nodes are not counted."""
        nodes = partitioning.nodes
        return cls(
            np.zeros((3, partitioning.partitions**2), np.int64),
            np.zeros((3, relations), np.int64),
            np.zeros((TOTALS, 3), np.int64),
            np.zeros(nodes, by_node) if by_node else None,
            np.zeros(nodes, by_node) if by_node else None,
            np.zeros(nodes, np.uint8) if by_node else None,
        )

    def save(self, path: Path) -> None:
        """Write all but the counts by node. (Not as .npz: where the disk fails, zipfile tries again, or says that
        the file is no archive.)"""
        with disk_errors(path), open(path, "wb") as file:
            for counts in (self.bucket_counts, self.relation_counts, self.totals):
                file.write(counts.data)

    @classmethod
    def load(cls, path: Path, partitioning: Partitioning, relations: int) -> Tally:
        """Read what `save` wrote: nothing by node. Raises RunError for a file of another length."""
        widths = partitioning.partitions**2, relations
        counts = read_numbers(path, np.int64)
        if counts.size != (size := 3 * sum(widths) + 3 * TOTALS):
            raise RunError(f"{path}: {counts.size} counts, {size} were written: give --overwrite to begin again")
        buckets, of_relations, totals = np.split(counts, np.cumsum([3 * width for width in widths]))
        return cls(buckets.reshape(3, -1), of_relations.reshape(3, relations), totals.reshape(TOTALS, 3), None, None, None)


class SplitWriter:
    """Writes ``edges/<split>``: src, dst, rel, the ``carried`` columns, bucket_offsets, bucket_checksums.

    ``upper_bound``: the most edges there can be. ``memory``: bytes for columns that wait to be written."""

    def __init__(self, folder: Path, upper_bound: int, partitioning: Partitioning, carried: Sequence[str], memory: int = AMPLE):
        self.folder = folder
        create_group(folder)
        names = (*COLUMNS, *carried)
        chunk, each = chunk_length(upper_bound), memory // len(names)
        self._columns = [ColumnWriter(folder / name, chunk, CARRIED.get(name, np.uint32), each) for name in names]
        self._checksums = np.zeros((len(self._columns), partitioning.partitions**2), np.uint32)

    def append(self, columns: Sequence[npt.NDArray[Any]], first_bucket: int, counts: npt.NDArray[np.int64]) -> None:
        """Append the columns of the edges of buckets ``first_bucket``, ...; ``counts``: the edges of each bucket."""
        ends, of_buckets = np.cumsum(counts), self._checksums[:, first_bucket : first_bucket + len(counts)]
        for column, values, checksums in zip(self._columns, columns, of_buckets):
            crc32c_stretches(values.view(np.uint8), ends, values.itemsize, checksums)
            column.append(values)

    def close(self, bucket_counts: npt.NDArray[np.int64]) -> dict[Path, tuple[int, int]]:
        """Finish the arrays. Returns the chunk files with (size, crc32c)."""
        for column in self._columns:
            column.close()
        write_array(self.folder / "bucket_offsets", np.concatenate([[0], np.cumsum(bucket_counts)]).astype(np.int64))
        write_array(self.folder / "bucket_checksums", np.ascontiguousarray(self._checksums.T))
        return {path: entry for column in self._columns for path, entry in column.files.items()}


def edge_bytes(carried: Sequence[str]) -> int:
    """What an edge takes in the columns of its split."""
    return sum(np.dtype(CARRIED.get(name, np.uint32)).itemsize for name in (*COLUMNS, *carried))


def edges_filled(edges: int, splits: int, dealt: bool) -> int:
    """How many edges the chunk files of all splits have room for, at most: each split's last chunk is filled up.

    ``dealt``: nobody knows before how many of the ``edges`` each split gets.
    """
    if splits > 1 and (dealt or edges > CHUNK):
        return edges + splits * chunk_length(edges)
    return filled_length(edges)


def bucket_bytes(splits: int, carried: Sequence[str]) -> int:
    """What a bucket takes beside its edges: where it begins and its checksums, in each split."""
    return splits * (OFFSET_BYTES + CHECKSUM_BYTES * (len(COLUMNS) + len(carried)))


def tallied_bytes(partitions: int) -> int:
    """What the counts of all buckets take in a saved `Tally`."""
    return len(SPLITS) * partitions**2 * TALLY_BYTES


def write_buckets(
    pieces: Iterable[Records],
    writers: Mapping[str, SplitWriter],
    layout: EdgeLayout,
    nodes: int,
    carried: Sequence[str],
    tally: Tally,
    drop_duplicates: bool,
) -> dict[Path, tuple[int, int]]:
    """Write sorted records of ``layout``, and count them in ``tally``. Returns the files with (size, crc32c)."""
    counts = EdgeCounts(
        tally.bucket_counts, tally.relation_counts, tally.totals, tally.out_degrees, tally.in_degrees, tally.in_splits
    )
    out = np.empty((3, 3, EDGES_AT_ONCE), np.uint32)
    words = np.empty((3, EDGES_AT_ONCE, len(carried)), np.uint64) if carried else None
    for records in pieces:
        for at in range(0, len(records), EDGES_AT_ONCE):
            piece = records[at : at + EDGES_AT_ONCE]
            first, last = (layout.bucket(piece[end]) for end in (0, -1))
            before = tally.bucket_counts[:, first : last + 1].copy()
            written = layout.unpack(piece, nodes, drop_duplicates, counts, out, words)
            new = tally.bucket_counts[:, first : last + 1] - before
            for split, name in enumerate(SPLITS):
                if count := written[split]:
                    beside = () if words is None else _carried(words[split, :count], carried)
                    writers[name].append((*out[split, :, :count], *beside), first, new[split])
    done: dict[Path, tuple[int, int]] = {}
    for split, name in enumerate(SPLITS):
        if name in writers:
            done |= writers[name].close(tally.bucket_counts[split])
    return done


def with_bar(pieces: Iterable[Records], total: int) -> Iterator[Records]:
    """Return the same pieces, and show a bar of the records that have passed."""
    with progress_bar("write", "edge", total) as bar:
        for records in pieces:
            yield records
            bar.update(len(records))


def _carried(words: npt.NDArray[np.uint64], names: Sequence[str]) -> list[npt.NDArray[Any]]:
    """Return the columns that edges carry, from a word for each value. The word's lowest bytes are the value's."""
    columns = []
    for word, name in zip(words.T, names):
        dtype = np.dtype(CARRIED[name])
        columns.append(np.ascontiguousarray(word).view(dtype)[:: 8 // dtype.itemsize].copy())
    return columns


def carried_words(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    """Return ``columns`` as words, (edges, columns). A word's lowest bytes are the value's."""
    words = np.zeros((len(columns[0]), len(columns)), np.uint64)
    for place, values in enumerate(columns):
        words[:, place] = values.view(f"u{values.itemsize}")
    return words
