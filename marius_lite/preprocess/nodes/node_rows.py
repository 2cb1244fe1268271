"""Which node each row of the feature file and of the label file belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.ids.id_runs import IdRun
from marius_lite.preprocess.readers.node_ids import IdList

BLOCK = 1 << 16


class NodeRows:
    """Row i of ``path``, which has ``count`` rows, belongs to raw id i, or to the i-th id of ``names``.

    ``what``: the word for what a node has in a row.
    """

    def __init__(self, path: Path, count: int, what: str, names: IdList | None):
        self.path, self.count, self.what, self.names = path, count, what, names

    def read(self, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        """The raw ids of the rows in turn. UserError where there are fewer or more than rows, or no such ids."""
        if self.names is not None:
            yield from self._read_names(self.names, kind, block_bytes)
            return
        if kind == "str":
            raise UserError(f"{self.path}: the edges name nodes by text: give the id of each row with --node-ids FILE, one id in "
                            "each line")
        for first in range(0, self.count, BLOCK):
            yield pa.array(np.arange(first, min(first + BLOCK, self.count), dtype=np.int64))

    def _read_names(self, names: IdList, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        expected = f"{self.path} has {self.count} rows: give one id for each row, in their order"
        found = 0
        for ids in names.read(kind, block_bytes):
            found += len(ids)
            if found > self.count:
                raise UserError(f"{names.place(self.count)}: more ids than rows: {expected}")
            yield ids
        if found < self.count:
            raise UserError(f"{names.path}: {found} ids: {expected}")

    def place(self, row: int) -> str:
        """Where it is said whose row this is, for messages."""
        return f"{self.path}: row {row}" if self.names is None else self.names.place(row)

    def twice(self, raw: str | int, first: int, second: int) -> UserError:
        """An id that two rows have."""
        return UserError(f"{self.place(second)}: id {raw!r} stands at {self.place(first)} already: each node has one row: "
                         "remove one of the ids, and its row")

    def missing(self, raw_ids: IdRun, place: int) -> UserError:
        """A node that has no row, the one that is ``place``-th among ``raw_ids``."""
        raw = raw_at(raw_ids, place)
        if self.names is not None:
            return UserError(f"node {raw!r} does not stand in {self.names.path}: every node needs a "
                             f"{self.what} row: add its id and its row")
        return UserError(f"node {raw} has no {self.what} row, {self.path} has rows 0 to {self.count - 1}: add rows "
                         "up to the largest id, or give the id of each row with --node-ids FILE")


def raw_at(raw_ids: IdRun, place: int) -> str | int:
    """One raw id of a run."""
    for ids in raw_ids.read():
        if place < len(ids):
            found: str | int = ids[place].as_py()
            return found
        place -= len(ids)
    raise IndexError(place)
