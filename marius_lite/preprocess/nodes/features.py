"""Rows of features, or of several labels, from the order of their file to the order of node ids, within a memory bound.

Node ids are a random permutation of the rows, so every block of the file has rows for all parts of the output. The output is cut
into *stretches* of consecutive node ids, each as large as the memory allows. The file is read once, front to back. Rows of the
first stretch go to their place in memory. Those of every other stretch go to its spool, in the order of the file. Then each spool
is read and its rows are placed.

With g stretches, spools are written and read (g - 1) / g times the features each. Reading the file once for each stretch instead
would read it g - 1 more times: never less, and more from g = 3 on. With g = 1 nothing is spooled. (Source: the hybrid hash join
of DeWitt et al., Implementation techniques for main memory database systems, SIGMOD 1984.)

A spool's rows have their places in the stretch in a file beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.config.sizes import padded_width
from marius_lite.files import read_numbers
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.readers.number_rows import Rows
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.engine import read_range
from marius_lite.storage.table import RowTable

Ids = npt.NDArray[Any]
PLACE_BYTES = 16  # of each row beside its numbers, while rows are sorted by stretch
WHOLE_BLOCK = 8 << 20
SPOOL_WRITE = 1 << 20  # blocks are so large that the rows for one spool make a write of about so many bytes


class StoredRows(Protocol):
    """``rows`` x ``width`` numbers of a file, as ``dtype``: see `readers.features.FeatureFile`."""

    rows: int
    width: int
    dtype: np.dtype[Any]

    @property
    def together(self) -> int: ...

    def row_cost(self) -> int: ...

    def attributes(self, rows: int) -> dict[str, Any]: ...

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]: ...


def stored_bytes(file: StoredRows) -> int:
    """Return the bytes that the rows of ``file`` take in a dataset. Spools take no more: each is removed before its stretch is
    written."""
    return file.rows * padded_width(file.width, file.dtype) * file.dtype.itemsize


def spooled_places_bytes(nodes: int) -> int:
    """What the places of spooled rows take at most, while a table of ``nodes`` is written."""
    return nodes * np.dtype(np.uint32).itemsize


class FeatureWriter:
    """Writes the rows of ``file`` as a table at ``path``; ``memory`` in bytes, ``spools`` a folder to be made.

    ``row_ids``: a file of the node id of each row, of dtype ``id_dtype``. ``files``: chunk files with (size, crc32c).
    ``stretch_rows``: node ids of a stretch, at least 1; ``stretches``: how many there are; ``spooled_bytes``: rows outside the
    first.
    """

    def __init__(
        self,
        file: StoredRows,
        path: Path,
        row_ids: Path,
        id_dtype: npt.DTypeLike,
        partitioning: Partitioning,
        spools: Path,
        memory: int,
    ):
        columns = padded_width(file.width, file.dtype)
        self.files: dict[Path, tuple[int, int]] = {}
        self.spooled_bytes, self._checksum = 0, 0
        self._file, self._row_ids, self._id_dtype, self._spools = file, row_ids, np.dtype(id_dtype), spools
        self._all_rows = partitioning.partitions * partitioning.rows  # with those that fill up the last chunk
        self.stretch_rows = max(1, min(self._all_rows, memory // 2 // (columns * file.dtype.itemsize + PLACE_BYTES)))
        self.stretches = -(-self._all_rows // self.stretch_rows)
        # Half of the memory is for a stretch and a quarter for a block. The allocator may keep freed blocks in the last quarter.
        cost = file.row_cost() + file.width * file.dtype.itemsize + PLACE_BYTES
        self._block_bytes = min(memory // 4, max(WHOLE_BLOCK, self.stretches * SPOOL_WRITE, file.together * cost))
        step = max(1, self._block_bytes // cost)
        self._step = step - step % file.together if step >= file.together else step
        self.table = RowTable.create(
            path,
            partitioning.nodes,
            columns,
            partitioning.rows,
            {"values": [0, file.width], **file.attributes(self._step)},
            file.dtype,
        )
        spools.mkdir()

    def write(self) -> None:
        """Write the table, once. Raises UserError for a number that cannot be stored, OSError or RunError."""
        rows: Rows = np.zeros((self.stretch_rows, self.table.width), self._file.dtype)
        self._read_file(rows[:, : self._file.width])
        for stretch, first in enumerate(range(0, self._all_rows, self.stretch_rows)):
            count = min(self.stretch_rows, self._all_rows - first)
            if stretch:
                self._read_spool(stretch, rows[:, : self._file.width])
            rows[max(0, self.table.nodes - first) :] = 0
            self._write_rows(first, rows[:count])

    def _read_file(self, out: Rows) -> None:
        """Read the file: put rows of the first stretch into ``out``, all others into the spools."""
        with progress_bar(self.table.path.name, "row", self._file.rows) as bar:
            for first, rows in self._file.blocks(self._step):
                places = read_numbers(self._row_ids, self._id_dtype, len(rows), first * self._id_dtype.itemsize)
                if self.stretches == 1:
                    out[places] = rows
                else:
                    self._deal(places, rows, out)
                bar.update(len(rows))
                del rows  # before the loop reads the next block, so that one is in memory

    def _deal(self, places: Ids, rows: Rows, out: Rows) -> None:
        """Put each row of a block into ``out`` or into the spool of its stretch. ``places``: the node ids of the rows."""
        stretch = (places // self.stretch_rows).astype(np.min_scalar_type(self.stretches))
        by_stretch = np.argsort(stretch, kind="stable")
        counts = np.bincount(stretch, minlength=self.stretches)
        mine = by_stretch[: counts[0]]
        out[places[mine]] = rows[mine]
        dealt = rows[by_stretch[counts[0] :]]
        self.spooled_bytes += dealt.nbytes
        ends = np.cumsum(counts) - counts[0]
        offsets = (places % self.stretch_rows).astype(np.uint32)[by_stretch[counts[0] :]]
        for number in (1 + np.flatnonzero(counts[1:])).tolist():
            for name, values in ((str(number), dealt), (f"{number}.places", offsets)):
                with open(self._spools / name, "ab") as spool:
                    spool.write(values[ends[number - 1] : ends[number]].data)

    def _read_spool(self, stretch: int, out: Rows) -> None:
        """Put the rows of a stretch to their places in ``out``, and remove its spool."""
        spool, beside = self._spools / str(stretch), self._spools / f"{stretch}.places"
        if not spool.exists():
            return
        places = read_numbers(beside, np.uint32)
        step = max(1, self._block_bytes // (out.shape[1] * out.itemsize + PLACE_BYTES))
        block = np.empty((min(step, len(places)), out.shape[1]), out.dtype)
        for at in range(0, len(places), step):
            rows = block[: len(places) - at]
            read_range(spool, at * out.shape[1] * out.itemsize, rows.view(np.uint8).reshape(-1))
            out[places[at : at + step]] = rows
        spool.unlink()
        beside.unlink()

    def _write_rows(self, first: int, rows: Rows) -> None:
        """Write the rows of node ids ``first``, ...: the end of a chunk file, whole ones, the start of one."""
        while len(rows):
            k, offset = divmod(first, self.table.rows_per_partition)
            part = rows[: self.table.rows_per_partition - offset]
            with self.table.writing(k, offset) as write:
                write(part)
            self._checksum = crc32c(part.view(np.uint8).reshape(-1), self._checksum if offset else 0)
            self.files |= self.table.chunks.entry(k, self._checksum)
            first, rows = first + len(part), rows[len(part) :]
