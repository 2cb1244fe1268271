"""Which node each feature row belongs to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from marius_lite.errors import UserError
from marius_lite.graph.manifest import FeatureShape, Source
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.features import FeatureFile
from marius_lite.preprocess.readers.node_ids import NodeIdFile
from marius_lite.preprocess.renumber import NodeIds

BLOCK = 1 << 16


class FeatureIds:
    """Row i of ``file`` belongs to raw id i, or to the id in line i of ``names``."""

    def __init__(self, file: FeatureFile, names: NodeIdFile | None):
        self.file = file
        self.names = names

    def number(self, nodes: NodeIds, block_bytes: int) -> None:
        """Into an empty dictionary, so that row i becomes provisional id i. UserError unless each row has an id of its own."""
        if self.names is not None:
            self._number_names(nodes, self.names, block_bytes)
            return
        if nodes.kind == "str":
            raise UserError(f"{self.file.path}: the edges name nodes by text: say whose rows these are with --node-ids FILE, one "
                            "id a line")
        for first in range(0, self.file.rows, BLOCK):
            nodes.add(pa.array(np.arange(first, min(first + BLOCK, self.file.rows), dtype=np.int64)))

    def _number_names(self, nodes: NodeIds, names: NodeIdFile, block_bytes: int) -> None:
        expected = f"{self.file.path} has {self.file.rows} rows: give one id for each row, in their order"
        for ids in names.read(nodes.kind, block_bytes):
            first = len(nodes)
            given = nodes.add(ids)
            again = np.flatnonzero(given != np.arange(first, first + len(ids), dtype=np.uint64))
            if len(again):
                place = int(again[0])
                raise UserError(f"{names.path}:{first + place + 1}: id {ids[place].as_py()!r} stands in line {given[place] + 1} "
                                "already: a node has one row: remove one of them, and its row")
            if len(nodes) > self.file.rows:
                raise UserError(f"{names.path}:{self.file.rows + 1}: more ids than rows: {expected}")
        if len(nodes) < self.file.rows:
            raise UserError(f"{names.path}: {len(nodes)} lines: {expected}")

    def require(self, nodes: NodeIds, edges: Path) -> None:
        """Raise UserError if ``edges`` brought a node that has no row."""
        if len(nodes) <= self.file.rows:
            return
        raw = nodes.take(np.array([self.file.rows]))[0].as_py()
        if self.names is not None:
            raise UserError(f"{edges}: node {raw!r} stands in no line of {self.names.path}: every node of the edges needs a "
                            "feature row: add its id there and its row")
        raise UserError(f"{edges}: node {raw} has no feature row, {self.file.path} has rows 0 to {self.file.rows - 1}: add rows "
                        "up to the largest id, or say whose rows these are with --node-ids FILE")

    @property
    def shape(self) -> FeatureShape:
        """What the manifest says of the rows."""
        return FeatureShape.model_validate({"width": self.file.width, "dtype": self.file.dtype.name})

    def sources(self) -> list[Source]:
        """The files, for the manifest; when both are read."""
        return [Source(name=file.path.name, size=file.path.stat().st_size, crc32c=file.checksum)
                for file in (self.file, self.names) if file is not None]


def open_features(options: Options) -> FeatureIds | None:
    """The feature file and its ids' file, where they are given. Raises UserError for what cannot be read."""
    if options.features is None:
        return None
    return FeatureIds(FeatureFile(options.features), NodeIdFile(options.node_ids) if options.node_ids else None)
