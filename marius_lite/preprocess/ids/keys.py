"""Raw node ids to keys while files are read. A key is a 32-bit number that stands for a raw id in spooled edges.

Integers below a bound are their own keys, and a bitmap marks those that occur. All other ids go through a table, which numbers
them in the order in which they first occur. A table that fills its share of the memory is closed: its ids are written to disk in
their final order, as a *run*, and a new table begins. Tables are dictionaries 0, 1, ... of keys. `numbering` merges the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite import files
from marius_lite._native import IntIdTable, StringIdTable, mark_ids, write_file
from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind, order_key, string_buffers
from marius_lite.preprocess.disk.spool import KEY_BYTES, Keys
from marius_lite.preprocess.ids.id_runs import IdRun, IdRunWriter, id_run_bytes, pieces

DENSE_SHARE = 32  # integers below a 32nd of the memory's bytes are their own keys; later each takes 4 bytes, up to three times
TABLE_SHARE = 2  # a table may take half of the memory
SLICE = 1 << 18
WORDS = SLICE // 64  # of a bitmap
MOST_DENSE = 1 << 32
MOST_KEYS = 1 << 31  # of a table when a block begins: it has room for 2^32 - 1, and no block brings so many
FILES_OF_A_RUN, OTHER_FILES = 4, 100  # open when runs are merged
HASH_MASK = 2**64 - 1  # the bits of a raw id's hash that order strings; tests take fewer


@dataclass(frozen=True)
class Dictionaries:
    """What keys stand for. ``bound`` > 0: keys are integers below it, and the bitmap on disk marks those that occur. Else they
    are ids of ``runs``; beside each run, ``rank`` on disk gives the place of each key in it."""

    kind: IdKind
    folder: Path
    bound: int
    runs: tuple[IdRun, ...]

    @property
    def key_bytes(self) -> int:
        """Bytes that the ids of all keys take, where there is a bitmap. The more memory was given, the larger it can be."""
        return KEY_BYTES * self.bound

    @property
    def bitmap_path(self) -> Path:
        return self.folder / "bitmap"

    def rank_path(self, dictionary: int) -> Path:
        return self.runs[dictionary].folder / "rank"


class NodeKeys(Protocol):
    """Gives keys to raw ids of nodes."""

    @property
    def dictionary(self) -> int:
        """The dictionary of the keys that `add` gives."""
        ...

    def add(self, raw: pa.Array) -> Keys | None:
        """Return the keys of raw ids (int64, or string without nulls); None where an id does not fit this kind of keys."""
        ...

    def close_full_table(self) -> None:
        """Close a table that is full, and begin a new one. To be called between two blocks."""
        ...

    def finish(self) -> Dictionaries: ...


def open_keys(kind: IdKind, seed: int, folder: Path, memory: int, threads: int) -> NodeKeys:
    """Return keys for ids of this kind. Integers begin with `DenseKeys`; once one does not fit, `TableKeys` takes over."""
    return DenseKeys(folder, memory) if kind == "int" else TableKeys(kind, seed, folder, memory, threads)


class DenseKeys:
    """Keys of integers below a 32nd of ``memory`` (bytes): the integers themselves."""

    dictionary = 0

    def __init__(self, folder: Path, memory: int):
        self._folder = folder
        self._bound = min(MOST_DENSE, max(1 << 16, memory // DENSE_SHARE) // 64 * 64)
        self._bitmap = np.zeros(self._bound // 64, np.uint64)

    def add(self, raw: pa.Array) -> Keys | None:
        ids = raw.to_numpy()
        keys = np.empty(len(ids), np.uint32)
        return keys if mark_ids(np.ascontiguousarray(ids), self._bound, self._bitmap, keys) else None

    def close_full_table(self) -> None:
        pass

    def marked(self) -> Iterator[npt.NDArray[np.int64]]:
        """Return all ids that were added, in blocks."""
        for first in range(0, len(self._bitmap), WORDS):
            bits = np.unpackbits(self._bitmap[first : first + WORDS].view(np.uint8), bitorder="little")
            yield np.flatnonzero(bits) + 64 * first

    def finish(self) -> Dictionaries:
        used = np.flatnonzero(self._bitmap)
        bitmap = self._bitmap[: int(used[-1]) + 1 if len(used) else 0]
        dictionaries = Dictionaries("int", self._folder, max(64, len(bitmap) * 64), ())
        self._folder.mkdir(parents=True)
        dictionaries.bitmap_path.write_bytes(bitmap.data)
        return dictionaries


class TableKeys:
    """Keys of any raw ids. A table takes at most half of ``memory`` (bytes). Closed tables lie in ``folder`` as runs."""

    def __init__(self, kind: IdKind, seed: int, folder: Path, memory: int, threads: int):
        self._kind, self._key, self._folder, self._threads = kind, order_key(seed), folder, threads
        self._most_bytes = memory // TABLE_SHARE
        self._runs: list[IdRun] = []
        self._table = self._new_table()

    @property
    def dictionary(self) -> int:
        return len(self._runs)

    def _new_table(self) -> Any:
        return IntIdTable(self._key) if self._kind == "int" else StringIdTable(self._key, HASH_MASK)

    def add(self, raw: pa.Array) -> Keys:
        out = np.empty(len(raw), np.uint32)
        if self._kind == "int":
            self._table.add(np.ascontiguousarray(raw.to_numpy()), out)
        elif len(raw):
            self._table.add(*string_buffers(raw), out)
        return out

    def close_full_table(self) -> None:
        if self._table.peak_bytes > self._most_bytes or len(self._table) > MOST_KEYS:
            self._close_table()

    def finish(self) -> Dictionaries:
        if len(self._table) or not self._runs:
            self._close_table()
        return Dictionaries(self._kind, self._folder, 0, tuple(self._runs))

    def _close_table(self) -> None:
        table = self._table
        if FILES_OF_A_RUN * (len(self._runs) + 1) + OTHER_FILES > files.most_open():
            raise UserError(
                f"{len(self._runs):,} tables of ids were filled and written already, too many to be open at a time "
                "when they are merged (ulimit -n): give more --memory"
            )
        table.close()
        order, rank = np.empty(len(table), np.uint32), np.empty(len(table), np.uint32)
        table.rank(order, rank, self._threads)
        folder = self._folder / str(len(self._runs))
        writer = IdRunWriter(folder, self._kind)
        for first in range(0, len(order), SLICE):
            self._write(writer, order[first : first + SLICE])
        self._runs.append(writer.close())
        write_file(str(folder / "rank"), rank.view(np.uint8))
        self._table = self._new_table()

    def _write(self, writer: IdRunWriter, keys: Keys) -> None:
        if self._kind == "int":
            ids = np.empty(len(keys), np.int64)
            self._table.take(keys, ids)
            writer.append_ints(ids)
            return
        offsets = string_offsets(self._table, keys)
        first = 0
        for part in pieces(offsets):
            writer.append_strings(part - part[0], string_bytes(self._table, keys[first : first + len(part) - 1], part))
            first += len(part) - 1


def table_bytes(kind: IdKind, count: int, size: int) -> int:
    """What a closed table takes: ``count`` raw ids, ``size`` bytes of values, and the place of each key."""
    return id_run_bytes(kind, count, size) + KEY_BYTES * count


def dictionary_bytes(found: Dictionaries) -> int:
    """What the dictionaries take: closed tables, or a bitmap of integers."""
    return sum(table_bytes(run.kind, run.count, run.bytes) for run in found.runs) or found.bound // 8


def string_offsets(table: Any, keys: Keys) -> npt.NDArray[np.int64]:
    """Return where the strings of keys begin and end if they are written one after the other: one offset more than keys."""
    offsets = np.empty(len(keys) + 1, np.int64)
    table.offsets(keys, offsets)
    return offsets


def string_bytes(table: Any, keys: Keys, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return the bytes of the strings of keys, one after the other. ``offsets``: their `string_offsets`."""
    data = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
    table.take(keys, data)
    return data
