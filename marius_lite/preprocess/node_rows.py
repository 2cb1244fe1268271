"""Which node each row of the feature file and of the label file belongs to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.node_ids import IdList
from marius_lite.preprocess.renumber import NodeIds

BLOCK = 1 << 16


class NodeRows:
    """Row i of ``path``, which has ``count`` rows, belongs to raw id i, or to the i-th id of ``names``.

    ``what``: the word for what a node has in a row.
    """

    def __init__(self, path: Path, count: int, what: str, names: IdList | None):
        self.path, self.count, self.what, self.names = path, count, what, names

    def number(self, nodes: NodeIds, block_bytes: int) -> None:
        """Into an empty dictionary, so that row i becomes provisional id i. UserError unless each row has an id of its own."""
        if self.names is not None:
            self._number_names(nodes, self.names, block_bytes)
            return
        if nodes.kind == "str":
            raise UserError(f"{self.path}: the edges name nodes by text: say whose rows these are with --node-ids FILE, one id a "
                            "line")
        for first in range(0, self.count, BLOCK):
            nodes.add(pa.array(np.arange(first, min(first + BLOCK, self.count), dtype=np.int64)))

    def _number_names(self, nodes: NodeIds, names: IdList, block_bytes: int) -> None:
        expected = f"{self.path} has {self.count} rows: give one id for each row, in their order"
        for ids in names.read(nodes.kind, block_bytes):
            first = len(nodes)
            given = nodes.add(ids)
            again = np.flatnonzero(given != np.arange(first, first + len(ids), dtype=np.uint64))
            if len(again):
                place = int(again[0])
                raise UserError(f"{names.place(first + place)}: id {ids[place].as_py()!r} stands at "
                                f"{names.place(int(given[place]))} already: a node has one row: remove one of them, and its row")
            if len(nodes) > self.count:
                raise UserError(f"{names.place(self.count)}: more ids than rows: {expected}")
        if len(nodes) < self.count:
            raise UserError(f"{names.path}: {len(nodes)} ids: {expected}")

    def require(self, nodes: NodeIds, edges: Path) -> None:
        """Raise UserError if ``edges`` brought a node that has no row."""
        if len(nodes) <= self.count:
            return
        raw = nodes.take(np.array([self.count]))[0].as_py()
        if self.names is not None:
            raise UserError(f"{edges}: node {raw!r} does not stand in {self.names.path}: every node of the edges needs a "
                            f"{self.what} row: add its id there and its row")
        raise UserError(f"{edges}: node {raw} has no {self.what} row, {self.path} has rows 0 to {self.count - 1}: add rows up to "
                        "the largest id, or say whose rows these are with --node-ids FILE")
