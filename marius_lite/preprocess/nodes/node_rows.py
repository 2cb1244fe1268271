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
        """Read the raw id of each row, in blocks. Raises UserError where there are not as many ids as rows, or ids are of another
        kind."""
        if self.names is not None:
            yield from self._read_names(self.names, kind, block_bytes)
            return
        if kind == "str":
            raise UserError(
                f"{self.path}: the edges name nodes by text: give the id of each row with --node-ids FILE, one id in each line"
            )
        for first in range(0, self.count, BLOCK):
            yield pa.array(np.arange(first, min(first + BLOCK, self.count), dtype=np.int64))

    def _read_names(self, names: IdList, kind: IdKind, block_bytes: int) -> Iterator[pa.Array]:
        expected = f"{self.path} has {self.count} rows: give one id for each row, in their order"
        count = 0
        for ids in names.read(kind, block_bytes):
            count += len(ids)
            if count > self.count:
                raise UserError(f"{names.place(self.count)}: more ids than rows: {expected}")
            yield ids
        if count < self.count:
            raise UserError(f"{names.path}: {count} ids: {expected}")

    def place(self, row: int) -> str:
        """Return the place, for messages, that says whose row this is."""
        return f"{self.path}: row {row}" if self.names is None else self.names.place(row)

    def twice(self, raw: str | int, first: int, second: int) -> UserError:
        """Return the error for an id that two rows have."""
        return UserError(
            f"{self.place(second)}: id {raw!r} stands at {self.place(first)} already: each node has one row: "
            "remove one of the ids, and its row"
        )

    def missing(self, raw_ids: IdRun, place: int) -> UserError:
        """Return the error for a node without a row: the ``place``-th of ``raw_ids``, counted from 0."""
        raw = raw_at(raw_ids, place)
        if self.names is not None:
            return UserError(
                f"node {raw!r} does not stand in {self.names.path}: every node needs a {self.what} row: add its id and its row; "
                "if it is no node but the title of a column of ids, call that `id`"
            )
        return UserError(
            f"node {raw} has no {self.what} row, {self.path} has rows 0 to {self.count - 1}: add rows "
            "up to the largest id, or give the id of each row with --node-ids FILE"
        )


def raw_at(raw_ids: IdRun, place: int) -> str | int:
    """Return the ``place``-th raw id of a run, counted from 0."""
    for ids in raw_ids.read():
        if place < len(ids):
            raw: str | int = ids[place].as_py()
            return raw
        place -= len(ids)
    raise IndexError(place)
