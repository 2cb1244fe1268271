"""Read the edges of one split by bucket, straight from disk. Their checksums are checked at every read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c_stretches
from marius_lite.errors import UserError
from marius_lite.graph.checked import CheckedFiles
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.flat import open_flat, read_array_range
from marius_lite.storage.small_arrays import read_table

COLUMNS = ("src", "dst", "rel")
CARRIED: dict[str, type[np.generic]] = {"weight": np.float32, "time": np.int64}  # what edges may have besides, as it is stored
EDGES_AT_ONCE = 1 << 18
"""Edges that are read at a time where a pass goes through all of them."""
TOGETHER = 1 << 16
"""Edges, at most, of small buckets that are read or changed together: 256 KiB of a column."""
Offsets = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EdgePiece:
    """Edges of several buckets, one bucket after the other. Those of bucket ``buckets[s]`` = i * p + j end at ``ends[s]``."""

    buckets: Places
    ends: Places
    columns: list[npt.NDArray[Any]]

    def bucket_of_each(self) -> Places:
        """Return for each edge the number of its bucket."""
        return np.repeat(self.buckets, np.diff(self.ends, prepend=0))


class EdgeBuckets:
    """The edges in a dataset's folder ``edges/<split>``. A bucket is a pair (source partition, destination partition).

    The columns src and dst are offsets inside the partitions, rel are relation ids; all uint32. Inside a bucket edges are ordered
    by (dst, src, rel). ``extra``: names of further columns; only `block`, `pieces` and `stream_columns` read them. ``checked``:
    the dataset's files, which check where the buckets begin and what their checksums are; None while preprocess makes them.
    """

    def __init__(self, folder: Path, partitioning: Partitioning, extra: Sequence[str] = (), checked: CheckedFiles | None = None):
        self.folder = folder
        self.partitioning = partitioning
        self.columns = (*COLUMNS, *extra)
        self._checked = checked

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each bucket starts: int64 (p * p + 1,), bucket (i, j) at index i * p + j."""
        if self._checked:
            self._checked.check(self.folder / "bucket_offsets")
        return read_array_range(self.folder / "bucket_offsets", 0, self.partitioning.partitions**2 + 1)

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint32]:
        buckets = self.partitioning.partitions**2
        if self._checked:
            self._checked.check(self.folder / "bucket_checksums")
        return read_table(self.folder / "bucket_checksums", np.uint32, (buckets, len(self.columns)))

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many edges each bucket has, (p, p)."""
        p = self.partitioning.partitions
        return np.diff(self.offsets).reshape(p, p)

    @property
    def total(self) -> int:
        """How many edges the split has."""
        return int(self.offsets[-1])

    def read(self, i: int, j: int) -> tuple[Offsets, Offsets, Offsets]:
        """Read (src, dst, rel) of bucket (i, j). Raises UserError where the bytes are not those that preprocess wrote."""
        size = int(self.counts[i, j])
        src, dst, rel = (np.empty(size, np.uint32) for _ in COLUMNS)
        self.read_into([(i, j)], src, dst, rel)
        return src, dst, rel

    def stream_columns(self, i: int, j: int, edges: int, columns: Sequence[str]) -> Iterator[list[npt.NDArray[Any]]]:
        """Read some ``columns`` of bucket (i, j), at most ``edges`` edges at a time. The bucket may have any size."""
        return (piece.columns for piece in self.block(range(i, i + 1), range(j, j + 1), edges, columns))

    def pieces(self, edges: int) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
        """Read all columns of all buckets, ``edges`` edges at a time. Yields (how many edges come before, columns)."""
        every = range(self.partitioning.partitions)
        for number, piece in enumerate(self.block(every, every, edges, self.columns)):
            yield number * edges, piece.columns

    def block(self, rows: range, columns: range, edges: int, names: Sequence[str]) -> Iterator[EdgePiece]:
        """Read the columns ``names`` of buckets (i, j), i in ``rows``, j in ``columns``, row after row, ``edges`` at a time.

        What lies side by side on disk is read at once. The checksum of a bucket is compared before its last edges are yielded.
        Raises UserError where the bytes are not those that preprocess wrote. Takes 32 bytes a bucket beside the edges.
        """
        flats = (np.arange(rows.start, rows.stop)[:, None] * self.partitioning.partitions + np.array(columns)).reshape(-1)
        counts = self.offsets[flats + 1] - self.offsets[flats]
        flats, counts = flats[counts > 0], counts[counts > 0]
        ends = np.cumsum(counts)
        begun = np.zeros(len(names), np.uint32)  # checksums so far of a bucket that the last piece cut
        for low in range(0, int(counts.sum()), edges):
            high = min(low + edges, int(ends[-1]))
            first, last = np.searchsorted(ends, [low, high - 1], side="right").tolist()
            buckets, stops = flats[first : last + 1], ends[first : last + 1]
            begins = self.offsets[buckets]
            begins[0] += max(0, low - int(stops[0] - counts[first]))
            piece = EdgePiece(buckets, np.minimum(stops, high) - low, [])
            sums = np.zeros((len(names), len(buckets)), np.uint32)
            sums[:, 0] = begun
            for name, checksums in zip(names, sums):
                piece.columns.append(self._read_stretches(name, begins, piece.ends))
                crc32c_stretches(piece.columns[-1].view(np.uint8), piece.ends, piece.columns[-1].itemsize, checksums)
            whole = len(buckets) - int(stops[-1] > high)
            self._check_all(buckets[:whole], names, sums[:, :whole])
            begun = sums[:, -1] if whole < len(buckets) else np.zeros_like(begun)
            yield piece

    def _read_stretches(self, name: str, begins: Places, ends: Places) -> npt.NDArray[Any]:
        """Read several stretches of a column, one after the other. The s-th begins at ``begins[s]`` on disk, and ends at
        ``ends[s]`` in the result."""
        path, shifts = self.folder / name, begins - np.concatenate([[0], ends[:-1]])
        runs = np.flatnonzero(np.diff(shifts, prepend=shifts[0] - 1))  # one request reads stretches that lie side by side
        if len(runs) == 1:
            return read_array_range(path, int(begins[0]), int(begins[0] + ends[-1]))
        out = np.empty(int(ends[-1]), open_flat(path).dtype)
        for first, last in zip(runs.tolist(), [*(runs[1:] - 1).tolist(), len(begins) - 1]):
            at, end = int(begins[first] - shifts[first]), int(ends[last])
            read_array_range(path, at + int(shifts[first]), end + int(shifts[first]), out[at:end])
        return out

    def read_into(self, buckets: Iterable[tuple[int, int]], src: Offsets, dst: Offsets, rel: Offsets) -> int:
        """Read buckets into the given arrays, one after the other. Returns the number of edges read.

        One request reads buckets that lie side by side on disk: in the same order here, or small ones in any order.
        Raises UserError where the bytes are not those that preprocess wrote.
        """
        flats = np.array([i * self.partitioning.partitions + j for i, j in buckets], np.int64)
        sizes = self.offsets[flats + 1] - self.offsets[flats]
        starts = np.cumsum(sizes) - sizes
        for part in self._requests(flats, sizes):
            first, last = int(self.offsets[flats[part[0]]]), int(self.offsets[flats[part[-1]] + 1])
            ends, sums = np.cumsum(sizes[part]), np.zeros((len(COLUMNS), len(part)), np.uint32)
            for name, out, checksums in zip(COLUMNS, (src, dst, rel), sums):
                place = out[int(starts[part[0]]) :][: last - first] if _follow(part) else None
                read = read_array_range(self.folder / name, first, last, place)
                crc32c_stretches(read.view(np.uint8), ends, read.itemsize, checksums)
                if place is None:
                    out[np.arange(last - first) + np.repeat(starts[part] - (ends - sizes[part]), sizes[part])] = read
            self._check_all(flats[part], COLUMNS, sums)
        return int(sizes.sum())

    def _requests(self, flats: Places, sizes: Places) -> Iterator[Places]:
        """Yield which of the buckets of these numbers and sizes one request reads: in the order of the disk."""
        order = np.argsort(flats, kind="stable")
        for run in np.split(order, np.flatnonzero(np.diff(flats[order]) != 1) + 1):
            parts = [slice(0, len(run))] if _follow(run) else stretches(sizes[run], TOGETHER)
            yield from (run[part] for part in parts if len(run))

    def _check_all(self, buckets: Places, names: Sequence[str], checksums: npt.NDArray[np.uint32]) -> None:
        """Raise UserError for the first of ``checksums`` (names, buckets) that is not the one preprocess wrote."""
        expected = self._checksums[buckets][:, [self.columns.index(name) for name in names]]
        if not (wrong := np.argwhere(expected != checksums.T)).size:
            return
        flat, name = buckets[wrong[0, 0]], names[wrong[0, 1]]
        i, j = divmod(int(flat), self.partitioning.partitions)
        raise UserError(
            f"{self.folder / name}: bucket ({i}, {j}) does not match its checksum, the dataset was changed: make it "
            "again with `marius-lite preprocess`"
        )


def _follow(numbers: Places) -> bool:
    """Return whether each is one more than the one before it."""
    return bool((np.diff(numbers) == 1).all())


def stretches(sizes: Places, most: int) -> Iterator[slice]:
    """Yield stretches of consecutive things, of at most ``most`` together; one that is larger is alone."""
    start, total = 0, 0
    for index, size in enumerate(sizes.tolist()):
        if index > start and total + size > most:
            yield slice(start, index)
            start, total = index, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
