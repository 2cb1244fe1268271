"""Edges of a Marius dataset: ``edges/train_edges.bin`` in a folder with ``dataset.yaml``.

The file holds rows of two or three integers of 32 or 64 bits: source, perhaps relation, destination. Source: the storage of
https://github.com/marius-team/marius, whose dataset.yaml tells the numbers of nodes and edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from marius_lite.config.yaml_text import parse_yaml, shown
from marius_lite.errors import UserError
from marius_lite.files import reading
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.columns import ROLES
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.arrays import checked_edges
from marius_lite.preprocess.readers.format import Format
from marius_lite.preprocess.readers.raw import RawEdges
from marius_lite.preprocess.readers.source import InputFile, Progress, checksum_of
from marius_lite.storage.engine import read_range

FACTS = "dataset.yaml"
COUNTS = {"train_edges.bin": "num_train", "validation_edges.bin": "num_valid", "test_edges.bin": "num_test"}
ROWS = {8: (2, np.int32), 12: (3, np.int32), 16: (2, np.int64), 24: (3, np.int64)}  # bytes of a row: columns, dtype


def is_marius_bin(path: Path) -> bool:
    """Whether a file holds edges of a Marius dataset."""
    return path.name in COUNTS and (path.parent.parent / FACTS).exists()


class MariusReader:
    """Reads one file of edges. Raises UserError where it does not agree with ``dataset.yaml``."""

    kind: IdKind = "int"
    titles: tuple[str, ...] = ()

    def __init__(self, file: InputFile, options: Options, block_rows: int, progress: Progress):
        self.path = file.path
        self._block_rows = block_rows
        self._options = options
        self._progress = progress
        self.checksum = 0
        facts = self._facts()
        self._rows = self._number(facts, COUNTS[self.path.name])
        size = self.path.stat().st_size
        width, left = divmod(size, self._rows) if self._rows else (12, size)
        if left or width not in ROWS:
            raise UserError(
                f"{self.path}: {size} bytes, which are no {self._rows} edges ({COUNTS[self.path.name]} of {FACTS}) "
                "of two or three integers of 4 or 8 bytes: get the folder again"
            )
        self._width, self._dtype = ROWS[width]
        self.columns = self._width if self._rows else None
        if options.columns is not None:
            raise UserError(
                f"{self.path}: --columns {','.join(options.columns)}: {FACTS} says what the columns are: leave out --columns"
            )
        self.nodes = range(self._number(facts, "num_nodes"))
        self.description = f"Marius edges, {self._width} columns of {np.dtype(self._dtype)}"

    def _facts(self) -> Any:
        path = self.path.parent.parent / FACTS
        with reading(path):
            text = path.read_bytes()
        try:
            return parse_yaml(text)
        except ValueError as error:
            raise UserError(f"{path}: not readable YAML ({error}): get the folder again") from error

    def _number(self, facts: Any, key: str) -> int:
        value = facts.get(key) if isinstance(facts, dict) else None
        if not isinstance(value, int) or value < 0:
            raise UserError(f"{self.path.parent.parent / FACTS}: {key}: {shown(value)}: must be a number of 0 or more")
        return value

    def close(self) -> None:
        """Nothing stays open between blocks."""

    def rows_expected(self) -> int:
        return self._rows

    def read(self, kind: IdKind) -> Iterator[RawEdges]:
        self.checksum = checksum_of(self.path, self._progress)
        for first in range(0, self._rows, self._block_rows):
            block = np.empty((min(self._block_rows, self._rows - first), self._width), self._dtype)
            read_range(self.path, first * block.strides[0], block.view(np.uint8).reshape(-1))
            roles = ROLES if self._width == 3 else ("src", "dst")
            columns = {role: pa.array(np.ascontiguousarray(column)) for role, column in zip(roles, block.T)}
            yield checked_edges(str(self.path), first, columns, kind, self._options)


FORMAT = Format(
    lambda opening: MariusReader(opening.file, opening.options, opening.block_rows, opening.progress), beside=is_marius_bin
)
