"""Sets of nodes as masks: arrays of truth values, true for nodes of the set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.readers.array_file import ArrayFile, OfArray
from marius_lite.preprocess.readers.node_ids import ADVICE, IdArray, IdList, open_ids
from marius_lite.preprocess.readers.source import locate, magic_of

BLOCK = 1 << 20  # values at once


def open_set(file: Path, usual: Sequence[str], nodes: int | None, split: int | None) -> IdList:
    """Open a list of ids (see `open_ids`), or a mask of ``nodes`` nodes. ``split``: which column to take, where it has several.

    ``nodes`` is None where rows do not belong to ids 0, 1, ...: a mask is refused then."""
    if magic_of(locate(file)[0]) not in ("npy", "zip"):
        return open_ids(file)
    array = ArrayFile(file, ADVICE, usual)
    if array.dtype.kind != "b":
        if nodes in array.shape and _of_zeros_and_ones(array):
            raise UserError(
                f"{array.name}: {nodes} numbers 0 and 1 look like a mask, not like ids: save it as truth values, "
                "array.astype(bool)"
            )
        return IdArray(array)
    if nodes is None:
        raise UserError(
            f"{array.name}: a mask is about ids 0, 1, ..., but rows have ids of their own: list the ids, one in each line"
        )
    return NodeMask(array, nodes, split)


def _of_zeros_and_ones(array: ArrayFile) -> bool:
    """Whether the first numbers are all 0 or 1: more than two numbers cannot be distinct ids then."""
    with array.entries(0) as take:
        first = take(min(BLOCK, math.prod(array.shape)))
    return len(first) > 2 and bool(((first == 0) | (first == 1)).all())


class NodeMask(OfArray):
    """The integer ids for which a mask is true. Its shape is (nodes,), (nodes, splits) or (splits, nodes).

    ``several``: whether it has a place for the splits, of which one is taken.
    """

    def __init__(self, array: ArrayFile, nodes: int, split: int | None):
        super().__init__(array)
        self._nodes = nodes
        shape, two = array.shape, len(array.shape) == 2
        if shape not in ((nodes,), (nodes, *shape[1:2]), (*shape[:1], nodes)):
            raise UserError(
                f"{array.name}: a mask of shape {shape}: there are {nodes} rows of nodes: save one of shape "
                f"({nodes},), ({nodes}, splits) or (splits, {nodes})"
            )
        by_split = two and shape[0] != nodes
        splits = 1 if not two else shape[0] if by_split else shape[1]
        if split is None and splits != 1:
            raise UserError(
                f"{array.name}: a mask of shape {shape} has {splits} splits: choose one with --mask-split 0 to {splits - 1}"
            )
        if two and not 0 <= (split or 0) < splits:
            raise UserError(f"--mask-split {split}: {array.name} has splits 0 to {splits - 1}")
        self.several = two
        self._split = (split or 0) if two else 0
        self._together = splits if by_split == array.by_column else 1  # values of one node that lie side by side

    def place(self, at: int) -> str:
        return f"{self.name}: true value {at}"

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        if kind == "str":
            raise UserError(f"{self.name}: a mask, but the edges name nodes by text: list the ids, one in each line")
        step = max(1, min(BLOCK, block_bytes // 8) // self._together)
        begin, place = (self._split * self._nodes, 0) if self._together == 1 else (0, self._split)
        with self._array.entries(begin) as take:
            for first in range(0, self._nodes, step):
                block = take(min(step, self._nodes - first) * self._together).reshape(-1, self._together)
                yield pa.array(np.flatnonzero(block[:, place]) + first)
