"""Edge lists as arrays of integers, (E, 2), (E, 3) or (2, E): .npy files, memory-mapped in blocks, or streamed from .npz.

(2, E) is source over destination, as PyTorch Geometric and GraphBolt keep edges; two or three edges so are read as rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.options import IGNORE, ROLES, Options
from marius_lite.preprocess.readers.array_file import ArrayFile
from marius_lite.preprocess.readers.arrays import checked_edges
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.source import InputFile, Progress, checksum_of, magic_of

USUAL = ("edges",)
ADVICE = "save integers of shape (E, 2), (E, 3) or (2, E)"


class NpyReader:
    """Columns are src, dst or src, rel, dst unless --columns says otherwise."""

    kind: IdKind = "int"
    nodes: range | None = None

    def __init__(self, file: InputFile, options: Options, block_rows: int, progress: Progress):
        self.path = file.path
        self._block_rows = block_rows
        self._skip = options.on_bad_row == "skip"
        self._progress = progress
        self.checksum = 0
        self._array: npt.NDArray[Any] | ArrayFile | _Turned
        if file.key is not None or magic_of(file.path) == "zip":
            self._array = ArrayFile(Path(file.name), ADVICE, USUAL)
            name = self._array.name
            if self._array.by_column:
                raise UserError(f"{name}: stored column after column (Fortran order): save numpy.ascontiguousarray(array)")
        else:
            self._array, name = _mapped(file.path), str(file.path)
        self._name = name
        if len(self._array.shape) == 2 and self._array.shape[0] == 2 and self._array.shape[1] > 3:
            self._array = _Turned(self._array) if isinstance(self._array, ArrayFile) else self._array.T
        shape, dtype = self._array.shape, self._array.dtype
        if len(shape) != 2 or shape[1] not in (2, 3) or dtype.kind not in "iu":
            raise UserError(
                f"{name}: an array of {dtype}, shape {shape}: {ADVICE}"
            )
        roles = options.columns or (("src", "dst") if shape[1] == 2 else ROLES)
        if not set(roles) <= {*ROLES, IGNORE} or len(roles) != shape[1]:
            raise UserError(
                f"{name}: --columns {','.join(roles)}: the array has {shape[1]} columns without names: write "
                f"{'src,dst' if shape[1] == 2 else 'src,rel,dst'} in their order"
            )
        self._place = {role: place for place, role in enumerate(roles) if role != IGNORE}
        self.columns = len(self._place)
        self.description = f"array of {dtype.newbyteorder('=')}, columns {','.join(roles)}"

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return int(self._array.shape[0])

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        for first, block in self._blocks():
            block = block.astype(block.dtype.newbyteorder("="), copy=False)
            columns = {
                role: pa.array(np.ascontiguousarray(block[:, place])) for role, place in self._place.items()
            }
            yield checked_edges(
                self._name, first, columns["src"], columns.get("rel"), columns["dst"], kind, self._skip
            )

    def _blocks(self) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        if isinstance(self._array, ArrayFile | _Turned):
            yield from self._array.blocks(self._block_rows)
            self.checksum = self._array.checksum
            self._progress(self.path.stat().st_size)
            return
        self.checksum = checksum_of(self.path, self._progress)
        for first in range(0, self._array.shape[0], self._block_rows):
            yield first, np.asarray(self._array[first : first + self._block_rows])


class _Turned:
    """An array (2, E) as one of (E, 2): its rows are read side by side."""

    def __init__(self, array: ArrayFile):
        self._array = array
        self.shape, self.dtype = array.shape[::-1], array.dtype

    @property
    def checksum(self) -> int:
        return self._array.checksum

    def blocks(self, rows: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        length = self.shape[0]
        with self._array.stream(flat=True) as src, self._array.stream(flat=True) as dst:
            for first in range(0, length, rows):
                dst(min(rows, length - first))
            for first in range(0, length, rows):
                count = min(rows, length - first)
                yield first, np.stack([src(count), dst(count)], axis=1)


def _mapped(path: Path) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise UserError(f"{path}: not a readable .npy array ({error}): {ADVICE}") from error
    return array
