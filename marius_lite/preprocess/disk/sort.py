"""External sort of records (see csrc/graph/records.h) within a memory bound.

Records gather in a buffer. A full buffer is sorted and written to disk as a run. At the end the runs are merged in rounds. Each
round has a block of the smallest records of every run in memory. All records up to the smallest of the blocks' last ones come
next; they are sorted together. Where all records fit in one buffer, nothing is written. Records are ordered by all their bits, so
the result does not depend on the memory.
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
COPIES = 4  # of a record that is being merged: in its run's old block and the new one, in the round, in what uses it


@dataclass(frozen=True)
class SortedRun:
    """A file of ``length`` sorted records, and its crc32c."""

    length: int
    checksum: int


def record_array(count: int, words: int) -> Records:
    return np.empty((count, words), np.uint64)


@dataclass
class _Run:
    path: Path
    total: int
    loaded: Records
    read: int = 0

    @property
    def rest(self) -> int:
        return self.total - self.read

    def load(self, count: int) -> None:
        """Read records until ``count`` are in memory, or all that are left."""
        fresh = min(count - len(self.loaded), self.rest)
        if fresh <= 0 or len(self.loaded) * 2 > count:
            return
        both = record_array(len(self.loaded) + fresh, self.loaded.shape[1])
        both[: len(self.loaded)] = self.loaded
        into = both[len(self.loaded) :].reshape(-1).view(np.uint8)
        read_file_range(str(self.path), self.read * self.loaded.shape[1] * WORD_BYTES, into)
        self.read += fresh
        self.loaded = both


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
        """Return an array to fill, of ``wanted`` records, at most the capacity. `keep` then tells how many were filled."""
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

    def finish_runs(self) -> list[SortedRun]:
        """Write the last records, and return all runs. `merge` reads them."""
        if self._used:
            self._spill()
        return self.runs

    def sorted(self) -> Iterator[Records]:
        """Return all records in order, in pieces."""
        if not self.runs:
            yield self._sort_buffer()
            return
        self.finish_runs()
        self._buffer = record_array(0, self._words)
        yield from merge(self._folder, self.runs, self._words, self._memory, self._threads)
        for number in range(len(self.runs)):
            (self._folder / str(number)).unlink()


def files_of(folder: Path, runs: Sequence[SortedRun], words: int) -> dict[Path, tuple[int, int]]:
    """Return (size, crc32c) of the files of runs."""
    return {folder / str(number): (run.length * words * WORD_BYTES, run.checksum) for number, run in enumerate(runs)}


def run_bytes(records: int, words: int) -> int:
    """What ``records`` of so many ``words`` take in runs."""
    return records * words * WORD_BYTES


def merge(folder: Path, written: Sequence[SortedRun], words: int, memory: int, threads: int) -> Iterator[Records]:
    """Return the records of sorted runs in order, in pieces. The files stay."""
    runs = [_Run(folder / str(number), run.length, record_array(0, words)) for number, run in enumerate(written)]
    block = max(LEAST_RECORDS, memory // (COPIES * words * WORD_BYTES * max(1, len(runs))))
    while live := [run for run in runs if run.rest or len(run.loaded)]:
        for run in live:
            run.load(block)
        yield _merge_round(live, threads)


def _merge_round(runs: list[_Run], threads: int) -> Records:
    bounds = [run.loaded[-1] for run in runs if run.rest]
    least = min(bounds, key=lambda record: tuple(record.tolist())) if bounds else None
    pieces = []
    for run in runs:
        safe = len(run.loaded) if least is None else count_not_above(run.loaded, least)
        pieces.append(run.loaded[:safe])
        run.loaded = run.loaded[safe:]
    records = np.concatenate(pieces)
    sort_records(records, threads)
    return records
