"""Pack the rows of batches whose table does not fit in memory: the rows used most stay in memory, the others come in packs.

A window of batches is sampled ahead, so that the rows of each are known. One pass over the table, in the order of its files,
then writes each batch a pack: its rows side by side in a temporary file. So nothing is read in small pieces (DiskGNN, Liu et
al., SIGMOD 2025). Which rows stay is measured: those that the first window takes most often.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from marius_lite._native import gather, sort_rows
from marius_lite.config.packing import Packing
from marius_lite.pipeline.stage import staged
from marius_lite.storage.packs import Packs, Records
from marius_lite.storage.table import RowTable

Ids = npt.NDArray[np.int64]
Sorted = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
"""Ascending node ids, as small as they can be stored."""
Item = TypeVar("Item")
Take = Callable[[Records], object]


@dataclass(slots=True)
class PackedWindow(Generic[Item]):
    """Batches, in order, and the ids of the rows that each takes from its pack. The ids go once the ``packs`` are there."""

    batches: list[Item] = field(default_factory=list)
    ids: list[Sorted] = field(default_factory=list)
    rows: int = 0
    packs: Packs | None = None


class Packer:
    """Packs rows of ``table``. ``folder``: where the packs' temporary files are.

    ``memory``: (rows, width) as stored: the rows that stay, then those of the pack that was read last. It is another array where
    a batch has more rows than planned, which takes a fanout of -1. ``bytes_read``, ``bytes_written``: so far.
    """

    def __init__(self, table: RowTable, packing: Packing, folder: Path):
        self._table, self._packing, self._folder = table, packing, folder
        self.memory: npt.NDArray[Any] = np.empty((packing.hot + packing.cold, table.width), table.dtype)
        self._places = np.full(table.nodes, -1, np.int32)  # a node's row in memory, -1 where it comes in packs
        self._chosen = packing.hot == 0
        self._ids: type[np.unsignedinteger[Any]] = np.uint32 if table.nodes <= 1 << 32 else np.uint64
        self.bytes_read = self.bytes_written = 0

    def windows(self, batches: Iterable[tuple[Item, Ids]]) -> Generator[PackedWindow[Item], None, None]:
        """Group batches, each with the distinct nodes that it needs, into windows whose packs fit the disk that is planned."""
        window = PackedWindow[Item]()
        for batch, nodes in batches:
            ids = self._sorted(nodes)
            if window.batches and window.rows + len(ids) > self._packing.window_rows:
                yield window
                window, ids = PackedWindow(), self._sorted(nodes)  # by now it may be known which rows stay
            window.batches.append(batch)
            window.ids.append(ids)
            window.rows += len(ids)
        if window.batches:
            yield window

    def pack(self, window: PackedWindow[Item], stop: threading.Event) -> PackedWindow[Item] | None:
        """Write the packs of a window's batches, in one pass over the table. None once ``stop`` is set. Raises RunError."""
        takers: list[tuple[Sorted, Take]] = []
        if not self._chosen:
            hot = self._choose(window.ids)
            window.ids = [ids[self._places[ids] < 0] for ids in window.ids]
            takers.append((hot, _Filling(self.memory.view(np.float32))))
        packs = Packs(self._folder, [len(ids) for ids in window.ids], self._table.stride)
        done = False
        try:
            for pack, ids in enumerate(window.ids):
                takers.append((ids, lambda rows, pack=pack: packs.append(pack, rows)))  # type: ignore[misc]
            done = self._pass(takers, stop)
        finally:
            if not done:
                packs.close()
                if not self._chosen:  # the rows that were to stay are not in memory
                    self._places[:] = -1
        if not done:
            return None
        self.bytes_written += sum(len(ids) for ids in window.ids) * self._table.stride
        window.packs, window.ids, self._chosen = packs, [], True
        return window

    def places(self, nodes: Ids) -> tuple[Ids, int]:
        """Return the rows in memory of a batch's distinct nodes, once its pack is read, and how many rows the pack has."""
        places: Ids = self._places[nodes].astype(np.int64)
        cold = np.flatnonzero(places < 0)
        _, order, _ = sort_rows(nodes[cold])
        places[cold[order]] = self._packing.hot + np.arange(len(cold))
        return places, len(cold)

    def read(self, packs: Packs, pack: int, rows: int) -> None:
        """Read a pack of so many ``rows`` into memory. Raises RunError."""
        hot = self._packing.hot
        if hot + rows > len(self.memory):
            larger = np.empty((hot + rows, self._table.width), self._table.dtype)
            larger[:hot] = self.memory[:hot]
            self.memory = larger
        packs.read_into(pack, self.memory[hot : hot + rows].view(np.float32))
        self.bytes_read += rows * self._table.stride

    def _sorted(self, nodes: Ids) -> Sorted:
        ids: Sorted = sort_rows(nodes[self._places[nodes] < 0])[0].astype(self._ids)
        return ids

    def _choose(self, of_batches: Sequence[Sorted]) -> Sorted:
        """Choose the rows that stay: those which most batches take, and of the others the first ones."""
        counts = self._places  # the same memory; all of it is -1 now
        for ids in of_batches:
            counts[ids] += 1
        most, room = int(counts.max()), self._packing.hot
        number = np.bincount(counts + 1, minlength=most + 2)  # of nodes that were taken 0, 1, ... times
        above = np.cumsum(number[::-1])[::-1]  # so many times or more often
        least = int(np.argmax(above <= room)) if (above <= room).any() else most + 2
        hot = np.flatnonzero(counts + 1 >= least)
        rest = np.flatnonzero(counts + 1 == least - 1)[: room - len(hot)]
        hot = np.sort(np.concatenate([hot, rest]))
        counts[:] = -1
        self._places[hot] = np.arange(len(hot), dtype=np.int32)
        return hot.astype(self._ids)

    def _pass(self, takers: Sequence[tuple[Sorted, Take]], stop: threading.Event) -> bool:
        """Read the table in order, and give each taker its rows, ascending. False: ``stop`` was set."""
        done = [0] * len(takers)
        room = np.empty((0, self._table.stride // 4), np.float32)
        with closing(staged(self._blocks([ids for ids, _ in takers]), lambda block: block, 1)) as blocks:
            for first, block in blocks:
                if stop.is_set():
                    return False
                records: Records = block.view(np.float32)
                if len(records) > len(room):
                    room = np.empty_like(records)
                for taker, (ids, take) in enumerate(takers):
                    end = done[taker] + int(np.searchsorted(ids[done[taker] :], ids.dtype.type(first + len(block))))
                    if end > done[taker]:
                        part = room[: end - done[taker]]
                        gather(records, ids[done[taker] : end].astype(np.int64) - first, part, 1)
                        take(part)
                        done[taker] = end
        return True

    def _blocks(self, wanted: Sequence[Sorted]) -> Generator[tuple[int, npt.NDArray[Any]], None, None]:
        """Yield (first node, rows) of each partition that has a ``wanted`` row, block after block."""
        for k in range(self._table.partitions):
            first = k * self._table.rows_per_partition
            if any(_between(ids, first, first + self._table.size(k)) for ids in wanted):
                for offset, block in self._table.blocks(k, self._packing.block_bytes):
                    self.bytes_read += block.nbytes
                    yield first + offset, block


class _Filling:
    """Writes rows one after another into ``records``."""

    def __init__(self, records: Records):
        self._records, self._filled = records, 0

    def __call__(self, rows: Records) -> None:
        self._records[self._filled : self._filled + len(rows)] = rows
        self._filled += len(rows)


def _between(ids: Sorted, first: int, end: int) -> bool:
    low, high = np.searchsorted(ids, np.array([first, end], ids.dtype))
    return bool(high > low)
