"""Pack the rows of batches whose table does not fit in memory: the rows used most stay in memory, the others come in packs.

A window of batches is sampled ahead, so that the rows of each are known. The samples wait in a temporary file. One pass over the
table, in the order of its files, writes each batch a pack: its rows side by side in another file. So nothing is read in small
pieces (DiskGNN, Liu et al., SIGMOD 2025). Which rows stay is measured: those that the first window takes most often.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marius_lite._native import gather, place_rows
from marius_lite.config.packing import Packing
from marius_lite.pipeline.batches import staged
from marius_lite.storage.packs import Kept, KeptObjects, Packs, Records, ScratchFile
from marius_lite.storage.table import RowTable
from marius_lite.types import Ids

Sorted = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
"""Ascending node ids, as small as they can be stored."""
COUNTED = 1 << 20
"""Nodes that are counted at a time."""
Key = tuple[int, int, int]
"""What a batch is called: its generation (epochs that train the same samples), its step and its index."""
Take = Callable[[Records], object]


@dataclass(slots=True, eq=False)
class PackedWindow:
    """Batches, in order, as they were sampled. ``rows``: how many all packs have together, once they are written.

    ``ids``: the ids of these rows, until the packs are written. ``keys``: what the batches are called. ``kept``: whether the
    window stays for other epochs.
    """

    samples: KeptObjects
    packs: Packs | None = None
    kept: bool = False
    keys: list[Key] = field(default_factory=list)
    rows: int = 0
    batches: list[Kept] = field(default_factory=list)
    ids: list[Sorted] = field(default_factory=list)

    def close(self) -> None:
        """Give the disk space back. A second call does nothing."""
        self.samples.close()
        if self.packs is not None:
            self.packs.close()


class InWindow(NamedTuple):
    """Where a batch is: its place in a window."""

    window: PackedWindow
    pack: int

    @property
    def is_last(self) -> bool:
        return self.pack == len(self.window.batches) - 1

    @property
    def key(self) -> Key:
        return self.window.keys[self.pack]


class Packer:
    """Packs rows of ``table``. ``folder``: where the packs' temporary files are.

    ``memory``: (rows, width) as stored: the rows that stay, then those of the pack that was read last. It grows where a batch has
    more rows than planned, which takes a fanout of -1. ``bytes_read``, ``bytes_written``: so far.
    """

    def __init__(self, table: RowTable, packing: Packing, folder: Path):
        self._table, self._packing, self._folder = table, packing, folder
        self.memory: npt.NDArray[Any] = np.empty((packing.hot + packing.cold, table.width), table.dtype)
        self._places = np.full(table.nodes, -1, np.int32)  # a node's row in memory, -1 where it comes in packs
        self._chosen = packing.hot == 0
        self._ids: type[np.unsignedinteger[Any]] = np.uint32 if table.nodes <= 1 << 32 else np.uint64
        self._open: list[PackedWindow] = []
        self._spare: list[ScratchFile] = []  # one at most: a thread that is done with a window gives it to the one that packs
        self._kept: dict[Key, InWindow] = {}
        self._kept_bytes = 0
        self._read = {"table": 0, "samples": 0, "packs": 0}  # bytes, each counted by a thread of its own
        self.bytes_written = 0

    @property
    def bytes_read(self) -> int:
        return sum(self._read.values())

    def kept(self, generation: int) -> dict[Key, InWindow]:
        """Return the batches that are kept, by their keys. Those of another generation, a key's first number, go."""
        for window in [window for window in self._open if window.kept and window.keys[0][0] != generation]:
            window.kept = False
            self._kept_bytes -= self._bytes(window)
            self._give_up(window)
        self._kept = {key: at for key, at in self._kept.items() if key[0] == generation}
        return dict(self._kept)

    def windows(self, batches: Iterable[tuple[Key, object, Ids]]) -> Generator[PackedWindow, None, None]:
        """Group sampled batches into windows that fit the disk that is planned.

        ``batches``: what each is called, the batch, and the distinct nodes that it needs.
        """
        window, rows, plan = self._begun(), 0, self._packing
        for key, batch, nodes in batches:
            ids, samples = self._sorted(nodes), window.samples.size + plan.sample_bytes
            if window.batches and (rows + len(ids)) * self._table.stride + samples > plan.window_rows * self._table.stride:
                yield window
                window, rows, ids = self._begun(), 0, self._sorted(nodes)  # by now it may be known which rows stay
            window.keys.append(key)
            window.batches.append(window.samples.keep(batch))
            window.ids.append(ids)
            rows += len(ids)
        if window.batches:
            yield window

    def done(self, window: PackedWindow) -> None:
        """Give up a window, unless it is kept. The file of its packs is for those of the next window."""
        if not window.kept:
            if window.packs is not None and not self._spare:
                self._spare.append(window.packs.take_file())
                window.packs = None
            self._give_up(window)

    def abandon(self) -> None:
        """Give the disk space of the windows back that are not kept."""
        for window in list(self._open):
            self.done(window)
        self._close_spare()

    def close(self) -> None:
        """Give the disk space of all windows back."""
        self._close_spare()
        self._kept = {}
        while self._open:
            self._open.pop().close()

    def _give_up(self, window: PackedWindow) -> None:
        window.close()
        self._open.remove(window)

    def _close_spare(self) -> None:
        while self._spare:
            self._spare.pop().close()

    def _begun(self) -> PackedWindow:
        self._open.append(PackedWindow(KeptObjects(self._folder)))
        return self._open[-1]

    def pack(self, window: PackedWindow, stop: threading.Event) -> PackedWindow | None:
        """Write the packs of a window's batches, in one pass over the table. None once ``stop`` is set. Raises RunError."""
        takers: list[tuple[Sorted, Take]] = []
        if not self._chosen:
            hot = self._choose(window.ids)
            window.ids = [ids[self._places[ids] < 0] for ids in window.ids]
            takers.append((hot, _Filling(self.memory.view(np.float32))))
        done = False
        try:
            spare = self._spare.pop() if self._spare else None
            window.packs = packs = Packs(self._folder, [len(ids) for ids in window.ids], self._table.stride, spare)
            for pack, ids in enumerate(window.ids):
                takers.append((ids, lambda rows, pack=pack: packs.append(pack, rows)))  # type: ignore[misc]
            done = self._pass(takers, stop)
        finally:
            if not done and not self._chosen:  # the rows that were to stay are not in memory
                self._places[:] = -1
        if not done:
            return None
        window.rows = sum(len(ids) for ids in window.ids)
        self.bytes_written += self._bytes(window)
        if self._packing.refresh > 1 and self._kept_bytes + self._bytes(window) <= self._packing.kept_bytes:
            window.kept = True
            self._kept_bytes += self._bytes(window)
            self._kept.update({key: InWindow(window, pack) for pack, key in enumerate(window.keys)})
        window.ids, self._chosen = [], True
        return window

    def _bytes(self, window: PackedWindow) -> int:
        return window.rows * self._table.stride + window.samples.size

    def sample(self, at: InWindow) -> Any:
        """Read a batch as it was sampled. Raises RunError."""
        kept = at.window.batches[at.pack]
        self._read["samples"] += kept.size
        return at.window.samples.read(kept)

    def places(self, nodes: Ids) -> tuple[Ids, int]:
        """Return the rows in memory of a batch's distinct nodes, once its pack is read, and how many rows the pack has."""
        places, cold = place_rows(self._places, np.ascontiguousarray(nodes), self._packing.hot)
        return places, len(cold)

    def read(self, at: InWindow, rows: int) -> None:
        """Read a batch's pack of so many ``rows`` into memory. Raises RunError."""
        assert at.window.packs is not None
        hot = self._packing.hot
        if hot + rows > len(self.memory):
            self.memory.resize((hot + rows, self._table.width), refcheck=False)  # no view of it is in use now
        at.window.packs.read_into(at.pack, self.memory[hot : hot + rows].view(np.float32))
        self._read["packs"] += rows * self._table.stride

    def _sorted(self, nodes: Ids) -> Sorted:
        ids: Sorted = place_rows(self._places, np.ascontiguousarray(nodes), self._packing.hot)[1].astype(self._ids)
        return ids

    def _choose(self, of_batches: Sequence[Sorted]) -> Sorted:
        """Choose the rows that stay: those which most batches take, and of the others the first ones."""
        counts = self._places  # the same memory; all of it is -1 now
        for ids in of_batches:
            counts[ids] += 1
        counts += 1  # how many batches take a node
        parts = [slice(at, at + COUNTED) for at in range(0, len(counts), COUNTED)]
        number = np.sum([np.bincount(counts[part], minlength=len(of_batches) + 1) for part in parts], 0)
        above, room = np.cumsum(number[::-1])[::-1], self._packing.hot  # so many batches or more
        least = int(np.argmax(above <= room)) if above[-1] <= room else len(number)
        rest = room - (int(above[least]) if least < len(number) else 0)  # places for nodes of one batch fewer
        found = []
        for part in parts:
            hot = counts[part] >= least
            others = np.flatnonzero(counts[part] == least - 1)[:rest]
            hot[others] = True
            rest -= len(others)
            found.append((part.start + np.flatnonzero(hot)).astype(self._ids))
        chosen = np.concatenate(found)
        counts[:] = -1
        self._places[chosen] = np.arange(len(chosen), dtype=np.int32)
        return chosen

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
                    self._read["table"] += block.nbytes
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
