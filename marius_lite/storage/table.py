"""A table of rows on disk: a Zarr v3 array (nodes, width) with one raw chunk file per partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import crc32c
from marius_lite.config.sizes import STRIDE_STEP, padded_width
from marius_lite.errors import RunError, UserError
from marius_lite.files import ABSENT, disk_errors, remove_tree
from marius_lite.storage.bfloat16 import BITS, floats
from marius_lite.storage.chunks import Chunks, chunk_path
from marius_lite.storage.engine import read_range
from marius_lite.storage.metadata import describe_array, read_description

DTYPES = (np.dtype(np.float32), np.dtype(np.float16), BITS, np.dtype(np.int8))
GAP_BYTES = 64 * 1024  # reading across a smaller gap costs less than another request
SPAN_BYTES = 8 * 1024 * 1024  # the most that is read at once


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table with a record for each node. Partition k, nodes [k*R, (k+1)*R), is chunk k, a file of R rows.

    ``dtype``: float32, or BITS for bfloat16; features may have others. The last chunk file has R rows too; those past ``nodes``
    have no meaning. ``checksums``: the CRC-32C of each chunk file, where it is known. Rows are then only returned from a file
    that was compared with its checksum.
    """

    path: Path
    nodes: int
    width: int
    rows_per_partition: int
    dtype: np.dtype[Any] = DTYPES[0]
    checksums: Mapping[int, int] | None = field(default=None, compare=False, repr=False)
    _compared: set[int] = field(default_factory=set, init=False, compare=False, repr=False)

    @classmethod
    def create(
        cls,
        path: Path,
        nodes: int,
        width: int,
        rows_per_partition: int,
        attributes: Mapping[str, Any] | None = None,
        dtype: npt.DTypeLike = np.float32,
    ) -> RowTable:
        """Make a table of zeros at ``path``, which must not exist; its chunk files take no space yet."""
        dtype = np.dtype(dtype)
        if nodes < 1 or rows_per_partition < 1 or width < 1 or padded_width(width, dtype) != width:
            raise ValueError(
                f"nodes {nodes}, rows per partition {rows_per_partition}, width {width}: all "
                f"must be positive, the width a multiple of {STRIDE_STEP // dtype.itemsize}"
            )
        with disk_errors(path):
            describe_array(path, dtype, (nodes, width), (rows_per_partition, width), attributes)
        table = cls(path, nodes, width, rows_per_partition, dtype)
        for k in range(table.partitions):
            with disk_errors(table.chunk_path(k)):
                table.chunk_path(k).parent.mkdir(parents=True)
                with open(table.chunk_path(k), "wb") as file:
                    file.truncate(table.chunk_bytes)
        return table

    @classmethod
    def open(cls, path: Path) -> RowTable:
        """Open the table at ``path``. Raises UserError where there is no array that this program can page."""
        try:
            found = read_description(path)
        except (*ABSENT, ValueError, KeyError, TypeError, IndexError) as error:
            raise UserError(f"{path}: no Zarr array: {error!r}") from error
        chunks, dtype, shape = found.chunks, found.dtype, found.shape
        rows = len(shape) == 2 and chunks[1:] == shape[1:]
        if not found.raw or not rows or dtype not in DTYPES or padded_width(shape[1], dtype) != shape[1]:
            raise UserError(
                f"{path}: found shape {shape}, chunks {chunks}, dtype {dtype}: expected an "
                "uncompressed Zarr v3 array of float32, float16, uint16 or int8, (nodes, width), whole "
                f"rows in each chunk, rows of a multiple of {STRIDE_STEP} bytes"
            )
        return cls(path, shape[0], shape[1], chunks[0], dtype)

    @property
    def attributes(self) -> dict[str, Any]:
        """What was given to `create`. Raises RunError where it cannot be read."""
        with disk_errors(self.path):
            return read_description(self.path).attributes

    @property
    def partitions(self) -> int:
        return -(-self.nodes // self.rows_per_partition)

    @property
    def stride(self) -> int:
        """Bytes of a row."""
        return self.width * self.dtype.itemsize

    @property
    def chunk_bytes(self) -> int:
        """Bytes of every chunk file."""
        return self.rows_per_partition * self.stride

    @property
    def chunks(self) -> Chunks:
        """The file of each partition."""
        return Chunks(self.path, self.partitions, self.chunk_bytes, rows=True)

    def chunk_path(self, k: int) -> Path:
        return chunk_path(self.path, k, rows=True)

    def size(self, k: int) -> int:
        """Nodes of partition k."""
        return min(self.rows_per_partition, self.nodes - k * self.rows_per_partition)

    def expecting(self, checksums: Mapping[int, int]) -> RowTable:
        """The same table with these ``checksums``, one for each partition. Raises UserError where one is missing."""
        if set(checksums) != set(range(self.partitions)):
            raise UserError(f"{self.path}: {len(checksums)} checksums are known of its {self.partitions} partitions")
        return replace(self, checksums=dict(checksums))

    def unchecked(self) -> RowTable:
        """The same table, whose bytes are not compared with checksums: of a sample that would read all of them."""
        return replace(self, checksums=None)

    def read_into(self, k: int, out: npt.NDArray[Any]) -> None:
        """Read the first columns of all rows of partition k into ``out`` (size, columns), compared with the checksum on the way.

        Rows of bfloat16 become float32 where ``out`` is. Takes a few MiB. Raises RunError for a file that cannot be read or does
        not match its checksum.
        """
        for first, block in self.blocks(k, SPAN_BYTES):
            wanted = block[: max(0, len(out) - first), : out.shape[1]]
            out[first : first + len(block)] = floats(wanted) if out.dtype == np.float32 else wanted

    def blocks(self, k: int, most: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield all rows of partition k's file, about ``most`` bytes at a time: (first row, rows (n, width)).

        Once all are read they are compared with the checksum. Raises RunError for a file that cannot be read or does not match.
        """
        checksum, step = 0, max(1, most // self.stride)
        for first in range(0, self.rows_per_partition, step):
            block = self.read_block(k, first, min(first + step, self.rows_per_partition))
            checksum = crc32c(block.view(np.uint8).reshape(-1), checksum)
            yield first, block
        self._compare(k, checksum)

    def node_blocks(self, k: int, most: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield what `blocks` does, without what fills the file behind the rows of the last node: blocks may be empty."""
        for first, block in self.blocks(k, most):
            yield first, block[: max(0, self.size(k) - first)]

    def check(self, k: int) -> None:
        """Compare partition k's file with its checksum, if that is known, once for this object. Raises RunError."""
        if self.checksums is not None and k not in self._compared:
            self.read_into(k, np.empty((self.size(k), 0), self.dtype))

    def _compare(self, k: int, checksum: int) -> None:
        if self.checksums is not None and self.checksums[k] != checksum:
            raise RunError(f"{self.chunk_path(k)}: does not match its checksum, the file was changed or is damaged")
        self._compared.add(k)

    def read_block(self, k: int, first: int, last: int) -> npt.NDArray[Any]:
        """Read rows [first, last) of partition k's chunk. The caller compares them with the checksum. Raises RunError."""
        block = np.empty((last - first, self.width), self.dtype)
        read_range(self.chunk_path(k), first * self.stride, block.view(np.uint8).reshape(-1))
        return block

    def read_rows(self, k: int, offsets: npt.ArrayLike, columns: slice = slice(None)) -> npt.NDArray[Any]:
        """Read columns of some rows of partition k, in the order asked for: shape (len(offsets), columns).

        ``offsets``: int, inside the partition, repeats allowed. Takes, beside the result, a few MiB at most.
        Raises ValueError for an offset outside the partition, RunError when the file cannot be read or was changed.
        """
        wanted, places = np.unique(np.asarray(offsets, np.int64), return_inverse=True)
        if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < self.size(k):
            outside = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise ValueError(f"{self.path}: row {outside} is not in partition {k} of {self.size(k)} rows")
        rows = np.empty((len(wanted), len(range(*columns.indices(self.width)))), self.dtype)
        if len(wanted):
            self.check(k)
        self._read_spans(k, wanted, columns, rows)
        return rows[places.reshape(-1)]

    def read_rows_into(self, k: int, offsets: npt.NDArray[np.int64], out: npt.NDArray[Any]) -> None:
        """Read the first columns of partition k's rows at ascending ``offsets``, straight into ``out``. Raises RunError."""
        self.check(k)
        self._read_spans(k, offsets, slice(0, out.shape[1]), out)

    def _read_spans(self, k: int, offsets: npt.NDArray[np.int64], columns: slice, out: npt.NDArray[Any]) -> None:
        for first, last in spans(offsets, self.stride):
            base, end = int(offsets[first]), int(offsets[last - 1]) + 1
            block = self.read_block(k, base, end)
            out[first:last] = block[offsets[first:last] - base, columns]

    @contextmanager
    def writing(self, k: int, first: int = 0) -> Iterator[Callable[[npt.NDArray[Any]], object]]:
        """Write whole rows of partition k from row ``first`` on: yield a function that appends rows (n, width).

        The file is changed in place. So this is only for a new table, whose files no checkpoint shares. Nothing is synced.
        Raises OSError.
        """
        with open(self.chunk_path(k), "r+b") as file:
            file.seek(first * self.stride)
            yield lambda rows: file.write(rows.data)

    def remove(self) -> None:
        """Remove the table, with its files. Raises OSError."""
        remove_tree(self.path)


def spans(offsets: npt.NDArray[np.int64], stride: int) -> list[tuple[int, int]]:
    """Cut sorted row offsets into index ranges to read at once, without large gaps and of at most SPAN_BYTES."""
    if not len(offsets):
        return []
    cuts = np.flatnonzero(np.diff(offsets) * stride > GAP_BYTES) + 1
    result = []
    for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(offsets)]):
        while first < last:
            limit = offsets[first] + max(1, SPAN_BYTES // stride)
            end = first + int(np.searchsorted(offsets[first:last], limit))
            result.append((first, end))
            first = end
    return result
