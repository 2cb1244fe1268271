"""Sets of nodes as masks: an array of truth values, true where the node is in the set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.readers.array_file import ArrayFile, OfArray, Take
from marius_lite.preprocess.readers.node_ids import ADVICE, IdArray, IdList, open_ids
from marius_lite.preprocess.readers.source import locate, magic_of

BLOCK = 1 << 20  # values at once


def open_set(file: Path, usual: Sequence[str], nodes: int | None, split: int | None) -> IdList:
    """A list of ids as `open_ids`, or a mask of ``nodes`` nodes, of which ``split`` says the column where it has several.

    ``nodes`` is None where the rows of nodes are not those of ids 0, 1, ...: a mask then says nothing."""
    if magic_of(locate(file)[0]) not in ("npy", "zip"):
        return open_ids(file)
    array = ArrayFile(file, ADVICE, usual)
    if array.dtype.kind != "b":
        return IdArray(array)
    if nodes is None:
        raise UserError(f"{array.name}: a mask is about ids 0, 1, ..., but rows have ids of their own: list the ids, one in "
                        "each line")
    return NodeMask(array, nodes, split)


class NodeMask(OfArray):
    """The integer ids where a mask is true: of shape (nodes,), (nodes, splits) or (splits, nodes)."""

    def __init__(self, array: ArrayFile, nodes: int, split: int | None):
        super().__init__(array)
        self._nodes = nodes
        shape, two = array.shape, len(array.shape) == 2
        if shape not in ((nodes,), (nodes, *shape[1:2]), (*shape[:1], nodes)) or array.by_column:
            order = ", column after column" if array.by_column else ""
            raise UserError(f"{array.name}: a mask of shape {shape}{order}: there are {nodes} rows of nodes: save one of shape "
                            f"({nodes},), ({nodes}, splits) or (splits, {nodes})")
        self._by_row = two and shape[0] != nodes
        splits = 1 if not two else shape[0] if self._by_row else shape[1]
        if split is None and splits != 1:
            raise UserError(f"{array.name}: a mask of shape {shape} has {splits} splits: choose one with --mask-split 0 to "
                            f"{splits - 1}")
        if two and not 0 <= (split or 0) < splits:
            raise UserError(f"--mask-split {split}: {array.name} has splits 0 to {splits - 1}")
        self._split = (split or 0) if two else 0

    def place(self, at: int) -> str:
        return f"{self.name}: true value {at}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        if kind == "str":
            raise UserError(f"{self.name}: a mask, but the edges name nodes by text: list the ids, one in each line")
        width = self._array.shape[1] if len(self._array.shape) == 2 and not self._by_row else 1
        step = max(1, min(BLOCK, block_bytes // 8) // width)
        with self._stream() as take:
            for first in range(0, self._nodes, step):
                block = take(min(step, self._nodes - first))
                yield pa.array(np.flatnonzero(block.reshape(len(block), -1)[:, 0 if self._by_row else self._split]) + first)

    @contextmanager
    def _stream(self) -> Iterator[Take]:
        with self._array.entries(self._split * self._nodes) if self._by_row else self._array.stream() as take:
            yield take
