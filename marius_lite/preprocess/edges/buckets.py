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
from marius_lite.graph.edges import CARRIED, COLUMNS
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.disk.sort import Records
from marius_lite.preprocess.options import SPLITS
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.columns import AMPLE, ColumnWriter, chunk_length
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import write_array

EDGES_AT_ONCE = 1 << 18
TOTALS = 5


def count_dtype(edges: int) -> type[np.unsignedinteger[Any]]:
    """What counts the edges of a node where there are ``edges`` in all."""
    return np.uint32 if edges < 1 << 32 else np.uint64


def node_bytes(counts: type[np.unsignedinteger[Any]]) -> int:
    """What is counted of a node: two degrees and the splits it is seen in."""
    return 2 * np.dtype(counts).itemsize + 1


@dataclass(frozen=True)
class Tally:
    """What was counted on the way, by split (train, valid, test) where an array's first axis is 3.

    ``relation_counts``: (3, relations). ``totals``: rows duplicates, self-loops, edges that also stand in train, edges whose
    reverse stands in train, edges whose ends a training edge of any relation joins the other way around (these two are not
    counted where `Options.reverses_sought` is false). By node, where there is memory for it:
    ``out_degrees``, ``in_degrees`` of training edges; ``seen``: bit s set for a node with an edge in split s.
    """

    bucket_counts: npt.NDArray[np.int64]
    relation_counts: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]
    out_degrees: npt.NDArray[Any] | None
    in_degrees: npt.NDArray[Any] | None
    seen: npt.NDArray[np.uint8] | None

    @classmethod
    def zeros(cls, partitioning: Partitioning, relations: int, by_node: type[np.unsignedinteger[Any]] | None) -> Tally:
        """``by_node``: the dtype of degrees, where they are counted."""
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
        """All but what is by node. (Not as .npz: zipfile tries again where the disk fails, or calls the file none of its own.)"""
        with disk_errors(path), open(path, "wb") as file:
            for counts in (self.bucket_counts, self.relation_counts, self.totals):
                file.write(counts.data)

    @classmethod
    def load(cls, path: Path, partitioning: Partitioning, relations: int) -> Tally:
        """What was saved, nothing by node. Raises RunError."""
        widths = partitioning.partitions**2, relations
        counts = read_numbers(path, np.int64)
        if counts.size != (size := 3 * sum(widths) + 3 * TOTALS):
            raise RunError(f"{path}: {counts.size} counts, {size} were written: give --overwrite to begin again")
        buckets, of_relations, totals = np.split(counts, np.cumsum([3 * width for width in widths]))
        return cls(buckets.reshape(3, -1), of_relations.reshape(3, relations), totals.reshape(TOTALS, 3), None, None, None)


class SplitWriter:
    """Writes ``edges/<split>``: src, dst, rel, what edges carry, bucket_offsets, bucket_checksums.

    ``memory``: bytes for what waits to be written."""

    def __init__(self, folder: Path, upper_bound: int, partitioning: Partitioning, carried: Sequence[str], memory: int = AMPLE):
        self.folder = folder
        create_group(folder)
        names = (*COLUMNS, *carried)
        chunk, each = chunk_length(upper_bound), memory // len(names)
        self._columns = [ColumnWriter(folder / name, chunk, CARRIED.get(name, np.uint32), each) for name in names]
        self._checksums = np.zeros((len(self._columns), partitioning.partitions**2), np.uint32)

    def append(self, columns: Sequence[npt.NDArray[Any]], first_bucket: int, counts: npt.NDArray[np.int64]) -> None:
        """Columns of the edges of buckets ``first_bucket``, ... with so many edges each."""
        ends, known = np.cumsum(counts), self._checksums[:, first_bucket : first_bucket + len(counts)]
        for column, values, checksums in zip(self._columns, columns, known):
            crc32c_stretches(values.view(np.uint8), ends, values.itemsize, checksums)
            column.append(values)

    def close(self, bucket_counts: npt.NDArray[np.int64]) -> dict[Path, tuple[int, int]]:
        """Finish the arrays; the chunk files with (size, crc32c)."""
        for column in self._columns:
            column.close()
        write_array(
            self.folder / "bucket_offsets", np.concatenate([[0], np.cumsum(bucket_counts)]).astype(np.int64)
        )
        write_array(self.folder / "bucket_checksums", np.ascontiguousarray(self._checksums.T))
        return {path: entry for column in self._columns for path, entry in column.files.items()}


def write_buckets(pieces: Iterable[Records], writers: Mapping[str, SplitWriter], layout: EdgeLayout, nodes: int,
                  carried: Sequence[str], tally: Tally, drop_duplicates: bool) -> dict[Path, tuple[int, int]]:
    """Write sorted records of ``layout``; the files written, with (size, crc32c). ``tally`` is filled."""
    counts = EdgeCounts(tally.bucket_counts, tally.relation_counts, tally.totals, tally.out_degrees, tally.in_degrees, tally.seen)
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
    """The same pieces, with a bar of the records that passed."""
    with progress_bar("write", "edge", total) as bar:
        for records in pieces:
            yield records
            bar.update(len(records))


def _carried(words: npt.NDArray[np.uint64], names: Sequence[str]) -> list[npt.NDArray[Any]]:
    """The columns that edges carry, from a word for each: its lowest bytes are the value's."""
    columns = []
    for word, name in zip(words.T, names):
        dtype = np.dtype(CARRIED[name])
        columns.append(np.ascontiguousarray(word).view(dtype)[:: 8 // dtype.itemsize].copy())
    return columns


def carried_words(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    """(edges, columns): the words that edges carry."""
    words = np.zeros((len(columns[0]), len(columns)), np.uint64)
    for place, values in enumerate(columns):
        words[:, place] = values.view(f"u{values.itemsize}")
    return words
