"""Rows of features, or of several labels, from the order of their file to the order of node ids, within a memory bound.

Node ids are a random permutation of the rows: any block of the file has rows for all of the output. The output is cut into
*stretches* of consecutive node ids, each as large as the memory allows. The file is read once, front to back: rows of the first
stretch go to their place in memory, those of the others into a spool for each stretch, in the order of the file. Then each spool
is read and its rows are placed. With g stretches 2 (g - 1) / g times the features are spooled and read again; reading the file
once for each stretch would read it g - 1 more times, which is never less and from g = 3 on more. With g = 1 nothing is spooled.
(Source: the hybrid hash join of DeWitt et al., Implementation techniques for main memory database systems, SIGMOD 1984.)

Beside its rows a spool has their places in the stretch, in a file of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.files import read_numbers
from marius_lite.graph.partitioning import Partitioning
from marius_lite.preprocess.readers.number_rows import Rows
from marius_lite.progress_bar import progress_bar
from marius_lite.storage.engine import read_range
from marius_lite.storage.table import RowTable, padded_width

Ids = npt.NDArray[Any]
PLACE_BYTES = 16  # what sorting takes for each row, beside the row
WHOLE_BLOCK = 8 << 20
SPOOL_PIECE = 1 << 20  # a block read is so large that its share of a spool is a good write


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
    """Bytes that the rows of ``file`` take in a dataset. Spools take no more: each goes before its stretch is written."""
    return file.rows * padded_width(file.width, file.dtype) * file.dtype.itemsize


def spooled_places_bytes(nodes: int) -> int:
    """What the places of spooled rows take at most, while a table of ``nodes`` is written."""
    return nodes * np.dtype(np.uint32).itemsize


class FeatureWriter:
    """Writes the rows of ``file`` as a table at ``path``; ``memory`` in bytes, ``spools`` a folder to be made.

    ``row_ids``: a file of the node id of each row, of dtype ``id_dtype``. ``files``: chunk files with (size, crc32c).
    ``stretch_rows``: node ids of a stretch, at least 1, of ``stretches``; ``spooled_bytes``: what did not fit the first.
    """

    def __init__(self, file: StoredRows, path: Path, row_ids: Path, id_dtype: npt.DTypeLike, partitioning: Partitioning,
                 spools: Path, memory: int):
        columns = padded_width(file.width, file.dtype)
        self.files: dict[Path, tuple[int, int]] = {}
        self.spooled_bytes, self._checksum = 0, 0
        self._file, self._row_ids, self._id_dtype, self._spools = file, row_ids, np.dtype(id_dtype), spools
        self._all_rows = partitioning.partitions * partitioning.rows  # those that fill up the last chunk included
        self.stretch_rows = max(1, min(self._all_rows, memory // 2 // (columns * file.dtype.itemsize + PLACE_BYTES)))
        self.stretches = -(-self._all_rows // self.stretch_rows)
        # A quarter more is left to what the allocator keeps of blocks that were freed.
        cost = file.row_cost() + file.width * file.dtype.itemsize + PLACE_BYTES
        self._block_bytes = min(memory // 4, max(WHOLE_BLOCK, self.stretches * SPOOL_PIECE, file.together * cost))
        step = max(1, self._block_bytes // cost)
        self._step = step - step % file.together if step >= file.together else step
        self.table = RowTable.create(path, partitioning.nodes, columns, partitioning.rows,
                                     {"values": [0, file.width], **file.attributes(self._step)}, file.dtype)
        spools.mkdir()

    def write(self) -> None:
        """Everything, once. Raises UserError for a number that may not stand there, OSError or RunError."""
        rows: Rows = np.zeros((self.stretch_rows, self.table.width), self._file.dtype)
        self._read_file(rows[:, :self._file.width])
        for stretch, first in enumerate(range(0, self._all_rows, self.stretch_rows)):
            count = min(self.stretch_rows, self._all_rows - first)
            if stretch:
                self._read_spool(stretch, rows[:, :self._file.width])
            rows[max(0, self.table.nodes - first):] = 0
            self._write_rows(first, rows[:count])

    def _read_file(self, out: Rows) -> None:
        """Rows of the first stretch into ``out``, all others into the spools."""
        with progress_bar(self.table.path.name, "row", self._file.rows) as bar:
            for first, rows in self._file.blocks(self._step):
                places = read_numbers(self._row_ids, self._id_dtype, len(rows), first * self._id_dtype.itemsize)
                if self.stretches == 1:
                    out[places] = rows
                else:
                    self._deal(places, rows, out)
                bar.update(len(rows))
                del rows  # the next block comes before the loop lets go of this one

    def _deal(self, places: Ids, rows: Rows, out: Rows) -> None:
        stretch = (places // self.stretch_rows).astype(np.min_scalar_type(self.stretches))
        by_stretch = np.argsort(stretch, kind="stable")
        counts = np.bincount(stretch, minlength=self.stretches)
        mine = by_stretch[: counts[0]]
        out[places[mine]] = rows[mine]
        dealt = rows[by_stretch[counts[0]:]]
        self.spooled_bytes += dealt.nbytes
        ends = np.cumsum(counts) - counts[0]
        offsets = (places % self.stretch_rows).astype(np.uint32)[by_stretch[counts[0]:]]
        for number in (1 + np.flatnonzero(counts[1:])).tolist():
            for name, values in ((str(number), dealt), (f"{number}.places", offsets)):
                with open(self._spools / name, "ab") as spool:
                    spool.write(values[ends[number - 1] : ends[number]].data)

    def _read_spool(self, stretch: int, out: Rows) -> None:
        """A stretch's rows to their places, its spool removed."""
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
        """Rows of node ids ``first``, ...: the end of a chunk file, whole ones, the start of one."""
        while len(rows):
            k, offset = divmod(first, self.table.rows_per_partition)
            part = rows[: self.table.rows_per_partition - offset]
            with self.table.writing(k, offset) as write:
                write(part)
            self._checksum = crc32c(part.view(np.uint8).reshape(-1), self._checksum if offset else 0)
            self.files |= self.table.chunks.entry(k, self._checksum)
            first, rows = first + len(part), rows[len(part):]
