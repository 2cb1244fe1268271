"""External sort of records (see csrc/graph/records.h) within a memory bound.

Records gather in memory; a full buffer is sorted and written as a run. At the end the runs are merged: in
each round every run shows a block of its smallest records, all records up to the least of the blocks' last
ones are surely next, and those are sorted together. With one buffer or less nothing is written. The order is
total over the records' bits, so the result does not depend on the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite._native import count_not_above, crc32c, read_file_range, sort_records, write_file

Records = npt.NDArray[np.uint64]  # (n, words)
WORD_BYTES = 8
LEAST_RECORDS = 1024
COPIES = 4  # of a record that is being merged: in its run's block, old and new, in the round, in what uses it


@dataclass(frozen=True)
class SortedRun:
    """Records of a file, and its crc32c."""

    length: int
    checksum: int


def record_array(count: int, words: int) -> Records:
    return np.empty((count, words), np.uint64)


@dataclass
class _Run:
    path: Path
    total: int
    shown: Records
    read: int = 0

    @property
    def rest(self) -> int:
        return self.total - self.read

    def show(self, count: int) -> None:
        """Have ``count`` records in memory, or all that are left."""
        fresh = min(count - len(self.shown), self.rest)
        if fresh <= 0 or len(self.shown) * 2 > count:
            return
        both = record_array(len(self.shown) + fresh, self.shown.shape[1])
        both[: len(self.shown)] = self.shown
        into = both[len(self.shown) :].reshape(-1).view(np.uint8)
        read_file_range(str(self.path), self.read * self.shown.shape[1] * WORD_BYTES, into)
        self.read += fresh
        self.shown = both


class ExternalSort:
    """Sorts ``expected`` records or fewer, of ``words`` words each. ``memory`` in bytes; runs go to ``folder``."""

    def __init__(self, folder: Path, memory: int, threads: int, expected: int, words: int = 2):
        self._folder, self._memory, self._threads, self._words = folder, memory, threads, words
        self.capacity = max(LEAST_RECORDS, min(memory // (words * WORD_BYTES), expected))
        self._buffer = record_array(self.capacity, words)
        self._used = 0
        self.runs: list[SortedRun] = []  # written to disk
        folder.mkdir()

    def room(self, wanted: int) -> Records:
        """An array of ``wanted`` <= capacity records to fill; `keep` says how many were."""
        if self._used + wanted > self.capacity:
            self._spill()
        return self._buffer[self._used : self._used + wanted]

    def keep(self, count: int) -> None:
        self._used += count

    def _sort_buffer(self) -> Records:
        records = self._buffer[: self._used]
        sort_records(records, self._threads)
        return records

    def _spill(self) -> None:
        data = self._sort_buffer().reshape(-1).view(np.uint8)
        write_file(str(self._folder / str(len(self.runs))), data)
        self.runs.append(SortedRun(self._used, crc32c(data)))
        self._used = 0

    def settle(self) -> list[SortedRun]:
        """No more records come: all are on disk, in these runs; `merge` gives them back."""
        if self._used:
            self._spill()
        return self.runs

    def sorted(self) -> Iterator[Records]:
        """All records in order, in pieces."""
        if not self.runs:
            yield self._sort_buffer()
            return
        self.settle()
        self._buffer = record_array(0, self._words)
        yield from merge(self._folder, self.runs, self._words, self._memory, self._threads)
        for number in range(len(self.runs)):
            (self._folder / str(number)).unlink()


def files_of(folder: Path, runs: Sequence[SortedRun], words: int) -> dict[Path, tuple[int, int]]:
    """(size, crc32c) of the files of runs."""
    return {folder / str(number): (run.length * words * WORD_BYTES, run.checksum) for number, run in enumerate(runs)}


def run_bytes(records: int, words: int) -> int:
    """What ``records`` of so many ``words`` take in runs."""
    return records * words * WORD_BYTES


def merge(folder: Path, written: Sequence[SortedRun], words: int, memory: int, threads: int) -> Iterator[Records]:
    """The records of sorted runs in order, in pieces; the files stay."""
    runs = [_Run(folder / str(number), run.length, record_array(0, words)) for number, run in enumerate(written)]
    block = max(LEAST_RECORDS, memory // (COPIES * words * WORD_BYTES * max(1, len(runs))))
    while live := [run for run in runs if run.rest or len(run.shown)]:
        for run in live:
            run.show(block)
        yield _merge_round(live, threads)


def _merge_round(runs: list[_Run], threads: int) -> Records:
    bounds = [run.shown[-1] for run in runs if run.rest]
    least = min(bounds, key=lambda record: tuple(record.tolist())) if bounds else None
    pieces = []
    for run in runs:
        safe = len(run.shown) if least is None else count_not_above(run.shown, least)
        pieces.append(run.shown[:safe])
        run.shown = run.shown[safe:]
    records = np.concatenate(pieces)
    sort_records(records, threads)
    return records
