"""The nodes' class numbers as a .npy array of integers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.array_file import ArrayFile

BLOCK = 1 << 18
MOST_CLASSES = 1 << 24  # more are surely no classes: what cross entropy takes for each would not fit
USUAL = ("labels", "label", "y")
ADVICE = "save a one-dimensional array of integers, a class number for each node and -1 for none, with numpy.save"


class LabelFile:
    """An opened label file of ``rows`` integers. Raises UserError for a file that holds anything else.

    ``checksum``: the crc32c of the file's bytes, known when `blocks` has ended.
    """

    def __init__(self, path: Path):
        self._array = ArrayFile(path, ADVICE, USUAL)
        self.path = self._array.path
        shape, dtype = self._array.shape, self._array.dtype
        if dtype.kind not in "iu" or len(shape) not in (1, 2) or shape[0] < 1 or shape[1:] not in ((), (1,)):
            raise UserError(f"{self._array.name}: an array of {dtype}, shape {shape}: {ADVICE}")
        self.rows = int(shape[0])

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def checksum(self) -> int:
        return self._array.checksum

    def blocks(self) -> Iterator[tuple[int, npt.NDArray[np.int32]]]:
        """(first row, labels), -1 for none. Raises UserError for one that is neither that nor a class number."""
        for first, block in self._array.blocks(BLOCK):
            values = block.reshape(-1)
            wrong = (values < -1) | (values >= MOST_CLASSES)
            if wrong.any():
                row = int(wrong.argmax())
                raise UserError(f"{self._array.name}: row {first + row}: label {values[row]}: class numbers are 0 to "
                                f"{MOST_CLASSES - 1}, or -1 for no label: number the classes from 0")
            yield first, values.astype(np.int32)

    def classes(self) -> int:
        """How many there are: the largest class number and one. Raises UserError for a wrong label, or where no row has one."""
        largest = max(int(labels.max()) for _, labels in self.blocks())
        if largest < 0:
            raise UserError(f"{self._array.name}: no row has a label, all are -1: give the class numbers of some nodes")
        return largest + 1
