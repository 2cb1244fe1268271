"""Edge lists as .npy arrays of integers, (E, 2) or (E, 3), memory-mapped in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import IGNORE, ROLES, Options
from marius_lite.preprocess.readers.arrays import checked_edges
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.source import Progress, checksum_of


class NpyReader:
    """Columns are src, dst or src, rel, dst unless --columns says otherwise."""

    kind: IdKind = "int"

    def __init__(self, path: Path, options: Options, block_rows: int, progress: Progress):
        self.path = path
        self._block_rows = block_rows
        self._skip = options.on_bad_row == "skip"
        self._progress = progress
        self.checksum = 0
        try:
            self._array = np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise UserError(
                f"{path}: not a readable .npy array ({error}): save an integer array of shape (E, 2) or "
                "(E, 3)"
            ) from error
        shape, dtype = self._array.shape, self._array.dtype
        if len(shape) != 2 or shape[1] not in (2, 3) or dtype.kind not in "iu":
            raise UserError(
                f"{path}: an array of {dtype}, shape {shape}: save integers of shape (E, 2) or (E, 3)"
            )
        roles = options.columns or (("src", "dst") if shape[1] == 2 else ROLES)
        if not set(roles) <= {*ROLES, IGNORE} or len(roles) != shape[1]:
            raise UserError(
                f"{path}: --columns {','.join(roles)}: the array has {shape[1]} columns without names: write "
                f"{'src,dst' if shape[1] == 2 else 'src,rel,dst'} in their order"
            )
        self._place = {role: place for place, role in enumerate(roles) if role != IGNORE}
        self.columns = len(self._place)

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return int(self._array.shape[0])

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        self.checksum = checksum_of(self.path, self._progress)
        for first in range(0, self._array.shape[0], self._block_rows):
            block = np.asarray(self._array[first : first + self._block_rows])
            block = block.astype(block.dtype.newbyteorder("="), copy=False)
            columns = {
                role: pa.array(np.ascontiguousarray(block[:, place])) for role, place in self._place.items()
            }
            yield checked_edges(
                str(self.path), first, columns["src"], columns.get("rel"), columns["dst"], kind, self._skip
            )
