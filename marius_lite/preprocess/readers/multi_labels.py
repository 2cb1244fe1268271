"""The classes of nodes that may have several: 0 and 1 in a row for each node and a column for each class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.graph.node_columns import MULTI_LABEL
from marius_lite.preprocess.readers.array_file import ArrayFile, keys_of
from marius_lite.preprocess.readers.number_rows import NumberRows, OfRows
from marius_lite.preprocess.readers.source import magic_of

BLOCK_BYTES = 1 << 20  # of the file, at once
MOST_COLUMNS = 1 << 16
NONE = -1
NAMES = "class_names"
ADVICE = (
    "an array of shape (nodes, classes) holds 1 for each class that the node of a row has, 0 for the others, -1 or NaN for "
    "a node without a label; where each node has one class, save its number in an array of shape (nodes,)"
)

Rows = npt.NDArray[np.int8]


class MultiLabelRows:
    """The rows as a table stores them: int8, 0 and 1, or -1 throughout for a node without a label. Raises UserError for too many
    columns."""

    dtype: np.dtype[Any] = MULTI_LABEL

    def __init__(self, source: NumberRows):
        self._source = source
        if source.width > MOST_COLUMNS:
            raise UserError(f"{source.name}: {source.width:,} columns, there may be {MOST_COLUMNS:,} classes: {ADVICE}")
        self.rows, self.width = source.rows, source.width

    @property
    def together(self) -> int:
        """Rows that are best read at once."""
        return self._source.together

    def row_cost(self) -> int:
        """Return the bytes of memory that `blocks` takes for each row: as it is read, stored, and checked."""
        return self._source.row_cost() + 5 * self.width

    def attributes(self, rows: int) -> dict[str, Any]:
        return {}

    def blocks(self, rows: int) -> Iterator[tuple[int, Rows]]:
        """Read (first row, rows) from front to back, ``rows`` at a time. Raises UserError for any other number."""
        for first, block in self._source.blocks(rows):
            none = block == NONE
            if block.dtype.kind == "f":
                none |= np.isnan(block)
            have = block == 1
            wrong = ~(none | have | (block == 0))
            if wrong.any():
                row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
                raise UserError(f"{self._source.name}: row {first + row}, class {column}: {block[row, column]}: {ADVICE}")
            stored = have.astype(self.dtype)
            stored[none.any(1)] = NONE
            del block, none, have, wrong  # before the loop reads the next ones, so that one block is in memory
            yield first, stored
            del stored


class MultiLabelFile(OfRows):
    """An opened file of labels of which a node may have several; see `labels.LabelFile`. ``table`` has the classes. ``names``
    come from the array class_names beside an archive's labels, or are None."""

    ids = None

    def __init__(self, source: NumberRows):
        super().__init__(source)
        self.warnings: list[str] = []
        self.table = MultiLabelRows(source)
        named = source.path.is_file() and magic_of(source.path) == "zip" and NAMES in keys_of(source.path)
        self.names = _names(Path(f"{source.path}:{NAMES}"), self.table.width) if named else None

    def classes(self) -> int:
        """Return how many classes there are. Reads all rows. Raises UserError for a wrong value, or where no node has a label."""
        labelled = single = 0
        for rows in self._rows():
            labelled += int(np.count_nonzero(rows[:, 0] >= 0))
            single += int(np.count_nonzero(rows.sum(1, dtype=np.int64) == 1))
        if labelled == single and self.table.width > 1:
            self.warnings = [
                f"{self._source.name}: every node has just one of the classes: if none can have several, give their "
                "numbers, for example with numpy.argmax(labels, axis=1)"
            ]
        if not labelled:
            raise UserError(f"{self._source.name}: no row is a label, all have -1 or NaN: give the classes of some nodes")
        return self.table.width

    def blocks(self) -> Iterator[npt.NDArray[np.int32]]:
        """Read 0 for each row that is a label, -1 for others, in blocks."""
        for rows in self._rows():
            yield np.minimum(rows[:, 0], 0).astype(np.int32)

    def _rows(self) -> Iterator[Rows]:
        for _, rows in self.table.blocks(max(1, BLOCK_BYTES // self.table.row_cost())):
            yield rows


def _names(file: Path, classes: int) -> list[str]:
    """Return the names of classes that an archive has. Raises UserError unless each class has a name of its own."""
    array = ArrayFile(file, f"save an array of {classes} different texts, in the order of the classes, or leave it out")
    if array.dtype.kind != "U" or array.shape != (classes,):
        raise UserError(
            f"{array.name}: an array of {array.dtype}, shape {array.shape}, for {classes} classes: save one of as "
            "many texts, or leave it out"
        )
    names = [str(name) for _, block in array.blocks(classes) for name in block]
    if len(set(names)) < classes or "" in names:
        raise UserError(f"{array.name}: a name is empty or stands twice: give each class a name of its own, or leave it out")
    return names
