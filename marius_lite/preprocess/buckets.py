"""Sorted records to the edge arrays of every split, with bucket offsets, checksums and counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c, unpack_edges
from marius_lite.graph.edges import COLUMNS
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.columns import ColumnWriter, chunk_length, create_group, write_array
from marius_lite.preprocess.options import SPLITS
from marius_lite.preprocess.sort import Records

PIECE = 1 << 18


@dataclass(frozen=True)
class Tally:
    """What was counted on the way, by split (train, valid, test) where an array's first axis is 3.

    ``out_degrees``, ``in_degrees``: of training edges, per node. ``seen``: bit s set for a node with an edge
    in split s.
    ``totals``: rows duplicates, self-loops, edges that also stand in train.
    """

    bucket_counts: npt.NDArray[np.int64]
    relation_counts: npt.NDArray[np.int64]
    out_degrees: npt.NDArray[np.uint32]
    in_degrees: npt.NDArray[np.uint32]
    seen: npt.NDArray[np.uint8]
    totals: npt.NDArray[np.int64]

    @classmethod
    def zeros(cls, partitioning: Partitioning, relations: int) -> Tally:
        nodes = partitioning.nodes
        return cls(
            np.zeros((3, partitioning.partitions**2), np.int64),
            np.zeros(relations, np.int64),
            np.zeros(nodes, np.uint32),
            np.zeros(nodes, np.uint32),
            np.zeros(nodes, np.uint8),
            np.zeros((3, 3), np.int64),
        )


class SplitWriter:
    """Writes ``edges/<split>``: src, dst, rel, bucket_offsets, bucket_checksums."""

    def __init__(self, folder: Path, upper_bound: int, partitioning: Partitioning):
        self.folder = folder
        create_group(folder)
        self._columns = [ColumnWriter(folder / name, chunk_length(upper_bound)) for name in COLUMNS]
        self._checksums = np.zeros((partitioning.partitions**2, 3), np.uint32)

    def append(
        self, columns: npt.NDArray[np.uint32], first_bucket: int, counts: npt.NDArray[np.int64]
    ) -> None:
        """(3, n) edges of buckets ``first_bucket``, ... with so many edges each."""
        ends = np.cumsum(counts)
        for place in np.flatnonzero(counts).tolist():
            part = columns[:, ends[place] - counts[place] : ends[place]]
            checksums = self._checksums[first_bucket + place]
            checksums[:] = [crc32c(part[k].view(np.uint8), int(checksums[k])) for k in range(3)]
        for column, values in zip(self._columns, columns):
            column.append(values)

    def close(self, bucket_counts: npt.NDArray[np.int64]) -> dict[Path, tuple[int, int]]:
        """Finish the arrays; the chunk files with (size, crc32c)."""
        for column in self._columns:
            column.close()
        write_array(
            self.folder / "bucket_offsets", np.concatenate([[0], np.cumsum(bucket_counts)]).astype(np.int64)
        )
        write_array(self.folder / "bucket_checksums", self._checksums)
        return {path: entry for column in self._columns for path, entry in column.files.items()}


def write_buckets(
    pieces: Iterable[Records],
    writers: dict[str, SplitWriter],
    partitioning: Partitioning,
    tally: Tally,
    drop_duplicates: bool,
) -> dict[Path, tuple[int, int]]:
    """Write sorted records; the files written, with (size, crc32c). ``tally`` is filled."""
    stream = np.full(3, 2**64 - 1, np.uint64)
    stream[2] = 0
    out = np.empty((3, 3, PIECE), np.uint32)
    for records in pieces:
        for at in range(0, len(records), PIECE):
            piece = records[at : at + PIECE]
            first, last = (int(piece[end, 0]) >> partitioning.offset_bits for end in (0, -1))
            before = tally.bucket_counts[:, first : last + 1].copy()
            written = unpack_edges(
                piece,
                rows=partitioning.rows,
                partitions=partitioning.partitions,
                offset_bits=partitioning.offset_bits,
                drop_duplicates=drop_duplicates,
                stream=stream,
                out=out,
                bucket_counts=tally.bucket_counts,
                relation_counts=tally.relation_counts,
                out_degrees=tally.out_degrees,
                in_degrees=tally.in_degrees,
                seen=tally.seen,
                totals=tally.totals,
            )
            counts = tally.bucket_counts[:, first : last + 1] - before
            for split, name in enumerate(SPLITS):
                if written[split]:
                    writers[name].append(out[split, :, : written[split]], first, counts[split])
    files: dict[Path, tuple[int, int]] = {}
    for split, name in enumerate(SPLITS):
        if name in writers:
            files |= writers[name].close(tally.bucket_counts[split])
    return files
