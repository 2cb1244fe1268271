"""The edges of one split, by bucket: read straight from disk, their checksums checked at every read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.engine import read_array_range

COLUMNS = ("src", "dst", "rel")
Offsets = npt.NDArray[np.uint32]


class EdgeBuckets:
    """``folder`` is a dataset's ``edges/<split>``; buckets are (source partition, destination partition)
    pairs.

    Edges are uint32 offsets inside their partitions, and relation ids; inside a bucket ordered by (dst, src,
    rel). ``extra``: names of further columns, which only `stream_columns` reads.
    """

    def __init__(self, folder: Path, partitioning: Partitioning, extra: Sequence[str] = ()):
        self.folder = folder
        self.partitioning = partitioning
        self.columns = (*COLUMNS, *extra)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each bucket starts: p * p + 1 numbers, bucket (i, j) at index i * p + j."""
        return read_array_range(self.folder / "bucket_offsets", 0, self.partitioning.partitions**2 + 1)

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint32]:
        buckets = self.partitioning.partitions**2
        return np.fromfile(self.folder / "bucket_checksums" / "c" / "0" / "0", np.uint32).reshape(buckets, len(self.columns))

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Edges in each bucket, shape (p, p)."""
        p = self.partitioning.partitions
        return np.diff(self.offsets).reshape(p, p)

    @property
    def total(self) -> int:
        return int(self.offsets[-1])

    def read(self, i: int, j: int) -> tuple[Offsets, Offsets, Offsets]:
        """(src, dst, rel) of bucket (i, j). Raises UserError where preprocess wrote other bytes."""
        size = int(self.counts[i, j])
        src, dst, rel = (np.empty(size, np.uint32) for _ in COLUMNS)
        self.read_into([(i, j)], src, dst, rel)
        return src, dst, rel

    def stream(self, i: int, j: int, edges: int) -> Iterator[tuple[Offsets, Offsets, Offsets]]:
        """(src, dst, rel) of bucket (i, j), at most ``edges`` at a time, for buckets of any size."""
        return ((src, dst, rel) for src, dst, rel in self.stream_columns(i, j, edges, COLUMNS))

    def stream_columns(self, i: int, j: int, edges: int, columns: Sequence[str]) -> Iterator[list[npt.NDArray[Any]]]:
        """Some ``columns`` of bucket (i, j), at most ``edges`` at a time.

        The checksums cover the whole bucket, so they are compared before its last piece is given out.
        """
        flat = i * self.partitioning.partitions + j
        start, stop = int(self.offsets[flat]), int(self.offsets[flat + 1])
        checksums = [0] * len(columns)
        for low in range(start, stop, edges):
            high = min(low + edges, stop)
            parts = [read_array_range(self.folder / name, low, high) for name in columns]
            checksums = [crc32c(part.view(np.uint8), before) for part, before in zip(parts, checksums)]
            if high == stop:
                for name, checksum in zip(columns, checksums):
                    self._check(flat, self.columns.index(name), checksum)
            yield parts

    def pieces(self, edges: int) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
        """(how many edges come before, all columns) of ``edges`` edges at a time, bucket after bucket.

        The checksums of a bucket are compared before the piece with its last edges is given out.
        """
        sums = [0] * len(self.columns)
        for low in range(0, self.total, edges):
            high = min(low + edges, self.total)
            parts = [read_array_range(self.folder / name, low, high) for name in self.columns]
            first, last = np.searchsorted(self.offsets, [low, high - 1], side="right") - 1
            ends = np.clip(self.offsets[first : last + 2], low, high) - low
            for flat in (np.flatnonzero(np.diff(ends)) + first).tolist():
                bucket = slice(ends[flat - first], ends[flat - first + 1])
                sums = [crc32c(part[bucket].view(np.uint8), before) for part, before in zip(parts, sums)]
                if self.offsets[flat + 1] <= high:
                    for column, checksum in enumerate(sums):
                        self._check(flat, column, checksum)
                    sums = [0] * len(self.columns)
            yield low, parts

    def read_into(self, buckets: Iterable[tuple[int, int]], src: Offsets, dst: Offsets, rel: Offsets) -> int:
        """Read buckets back to back into the given arrays; the number of edges read.

        Neighbouring buckets of one row are read in one request.
        """
        at = 0
        for first, last in self._runs(buckets):
            start, stop = int(self.offsets[first]), int(self.offsets[last + 1])
            for column, (name, out) in enumerate(zip(COLUMNS, (src, dst, rel))):
                read_array_range(self.folder / name, start, stop, out[at : at + stop - start])
                for flat in range(first, last + 1):
                    low, high = at + self.offsets[flat] - start, at + self.offsets[flat + 1] - start
                    self._check(flat, column, crc32c(out[low:high].view(np.uint8)))
            at += stop - start
        return at

    def _runs(self, buckets: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Flat index ranges (both ends included) of buckets that follow one another."""
        runs: list[tuple[int, int]] = []
        for i, j in buckets:
            flat = i * self.partitioning.partitions + j
            if runs and runs[-1][1] + 1 == flat:
                runs[-1] = (runs[-1][0], flat)
            else:
                runs.append((flat, flat))
        return runs

    def _check(self, flat: int, column: int, checksum: int) -> None:
        if checksum != int(self._checksums[flat, column]):
            p = self.partitioning.partitions
            raise UserError(
                f"{self.folder / self.columns[column]}: bucket ({flat // p}, {flat % p}) does not match its "
                "checksum, the dataset was changed: make it again with `marius-lite preprocess`"
            )
