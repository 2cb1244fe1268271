"""A segment of a split: edges that were written together, ordered by bucket. A split is one segment, or several after updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.checked import CheckedFiles
from marius_lite.graph.holes import Holes
from marius_lite.storage.flat import open_flat, read_array_range
from marius_lite.storage.small_arrays import read_table

TOGETHER = 1 << 16
"""Edges, at most, of small buckets that are read or changed together: 256 KiB of a column."""
Places = npt.NDArray[np.int64]


class EdgeSegment:
    """The ``columns`` of the edges in ``folder``, with so many ``partitions``: those there were when it was written.

    ``checked``, ``as_written``: see `EdgeBuckets`.
    """

    def __init__(
        self, folder: Path, partitions: int, columns: Sequence[str], checked: CheckedFiles | None, as_written: bool = False
    ):
        self.folder, self.partitions, self.columns = folder, partitions, columns
        self._checked, self._as_written = checked, as_written

    @cached_property
    def holes(self) -> Holes | None:
        """The edges that were removed; None where there are none."""
        return None if self._as_written else Holes.find(self.folder, self.partitions**2, self._checked)

    @cached_property
    def left(self) -> Places:
        """How many edges that were not removed come before each bucket: int64 (p * p + 1,)."""
        return self.offsets if self.holes is None else self.offsets - self.holes.offsets

    @cached_property
    def offsets(self) -> Places:
        """Where each bucket starts on disk: int64 (p * p + 1,), bucket (i, j) at index i * p + j."""
        if self._checked:
            self._checked.check(self.folder / "bucket_offsets")
        return read_array_range(self.folder / "bucket_offsets", 0, self.partitions**2 + 1)

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint32]:
        if self._checked:
            self._checked.check(self.folder / "bucket_checksums")
        return read_table(self.folder / "bucket_checksums", np.uint32, (self.partitions**2, len(self.columns)))

    def counts(self, partitions: int) -> Places:
        """How many edges each bucket has, (p, p), where there are so many ``partitions`` now."""
        own = np.diff(self.left).reshape(self.partitions, self.partitions)
        added = partitions - self.partitions
        return np.pad(own, ((0, added), (0, added))) if added else own

    def flat(self, i: Places, j: Places) -> Places:
        """Return the index of buckets (i, j) here, -1 for those that came later."""
        return np.where(np.maximum(i, j) < self.partitions, i * self.partitions + j, -1)

    def read(self, name: str, begins: Places, places: Places, sizes: Places, out: npt.NDArray[Any]) -> None:
        """Read stretches of a column into ``out``: of ``sizes[s]`` edges, from ``begins[s]`` here, ``places[s]`` there.

        One request reads stretches that lie side by side here, in their order.
        """
        for run in _runs(begins[1:] == begins[:-1] + sizes[:-1]):
            first, count = int(begins[run.start]), int(sizes[run].sum())
            if (np.diff(places[run]) == sizes[run][:-1]).all():
                at = int(places[run.start])
                self.read_between(name, first, first + count, out[at : at + count])
            else:
                shifts = places[run] - (np.cumsum(sizes[run]) - sizes[run])
                out[np.arange(count) + np.repeat(shifts, sizes[run])] = self.read_between(name, first, first + count)

    def read_between(self, name: str, first: int, last: int, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Read edges [first, last) of a column, into ``out`` where it is given, once their files are on this machine."""
        if self._checked:
            self._checked.need_range(self.folder / name, first, last)
        return read_array_range(self.folder / name, first, last, out)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a column."""
        return open_flat(self.folder / name).dtype

    def check(self, buckets: Places, names: Sequence[str], checksums: npt.NDArray[np.uint32]) -> None:
        """Raise UserError for the first of ``checksums`` (names, buckets) that is not the one that was written."""
        expected = self._checksums[buckets][:, [self.columns.index(name) for name in names]]
        if not (wrong := np.argwhere(expected != checksums.T)).size:
            return
        flat, name = buckets[wrong[0, 0]], names[wrong[0, 1]]
        i, j = divmod(int(flat), self.partitions)
        raise UserError(
            f"{self.folder / name}: bucket ({i}, {j}) does not match its checksum, the dataset was changed: make it "
            "again with `marius-lite preprocess`"
        )


def _runs(joined: npt.NDArray[np.bool_]) -> Iterator[slice]:
    """Yield the runs of things of which each is ``joined`` to the next, one entry fewer than things."""
    cuts = [0, *(np.flatnonzero(~joined) + 1).tolist(), len(joined) + 1]
    return (slice(low, high) for low, high in pairwise(cuts))


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


def requests(flats: Places, sizes: Places, side_by_side: bool) -> Iterator[Places]:
    """Yield which of the buckets of these numbers and sizes one request reads: in the order of the disk. ``side_by_side``: those
    that follow each other on disk do so in memory too."""
    order = np.argsort(flats, kind="stable")
    for run in np.split(order, np.flatnonzero(np.diff(flats[order]) != 1) + 1):
        parts = [slice(0, len(run))] if side_by_side and _follow(run) else stretches(sizes[run], TOGETHER)
        yield from (run[part] for part in parts if len(run))


def _follow(numbers: Places) -> bool:
    """Return whether each is one more than the one before it."""
    return bool((np.diff(numbers) == 1).all())
