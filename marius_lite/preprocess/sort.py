"""External sort of packed edges (16-byte records, see csrc/graph/edges.h) within a memory bound.

Records gather in memory; a full buffer is sorted and written as a run. At the end the runs are merged: in
each round every run shows a block of its smallest records, all records up to the least of the blocks' last
ones are surely next, and those are sorted together. With one buffer or less nothing is written. The order is
total over the records' bits, so the result does not depend on the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite._native import count_not_above, read_file_range, sort_edges, write_file

Records = npt.NDArray[np.uint64]
RECORD_BYTES = 16
LEAST_RECORDS = 1024


def record_array(count: int) -> Records:
    return np.empty((count, 2), np.uint64)


@dataclass
class _Run:
    path: Path
    total: int
    read: int = 0
    shown: Records = field(default_factory=lambda: record_array(0))

    @property
    def rest(self) -> int:
        return self.total - self.read

    def show(self, count: int) -> None:
        """Have ``count`` records in memory, or all that are left."""
        fresh = min(count - len(self.shown), self.rest)
        if fresh <= 0 or len(self.shown) * 2 > count:
            return
        both = record_array(len(self.shown) + fresh)
        both[: len(self.shown)] = self.shown
        into = both[len(self.shown) :].reshape(-1).view(np.uint8)
        read_file_range(str(self.path), self.read * RECORD_BYTES, into)
        self.read += fresh
        self.shown = both


class ExternalSort:
    """``memory`` in bytes; runs go to ``folder``."""

    def __init__(self, folder: Path, memory: int, threads: int, expected: int):
        self._folder = folder
        self._memory = memory
        self._threads = threads
        self.capacity = max(LEAST_RECORDS, min(memory // (2 * RECORD_BYTES), expected))
        self._buffer = record_array(self.capacity)
        self._used = 0
        self._runs: list[_Run] = []
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
        sort_edges(records, record_array(len(records)), self._threads)
        return records

    def _spill(self) -> None:
        run = _Run(self._folder / str(len(self._runs)), self._used)
        write_file(str(run.path), self._sort_buffer().reshape(-1).view(np.uint8))
        self._runs.append(run)
        self._used = 0

    @property
    def runs(self) -> int:
        """Runs written to disk."""
        return len(self._runs)

    def sorted(self) -> Iterator[Records]:
        """All records in order, in pieces."""
        if not self._runs:
            yield self._sort_buffer()
            return
        if self._used:
            self._spill()
        self._buffer = record_array(0)
        # A record shown stands in its block, in the round's array and in the sort's scratch.
        block = max(LEAST_RECORDS, self._memory // (3 * RECORD_BYTES * len(self._runs)))
        while live := [run for run in self._runs if run.rest or len(run.shown)]:
            for run in live:
                run.show(block)
            yield self._merge_round(live)
        for run in self._runs:
            run.path.unlink()

    def _merge_round(self, runs: list[_Run]) -> Records:
        bounds = [tuple(run.shown[-1].tolist()) for run in runs if run.rest]
        pieces = []
        for run in runs:
            safe = count_not_above(run.shown, *min(bounds)) if bounds else len(run.shown)
            pieces.append(run.shown[:safe])
            run.shown = run.shown[safe:]
        records = np.concatenate(pieces)
        sort_edges(records, record_array(len(records)), self._threads)
        return records
