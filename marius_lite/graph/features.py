"""Read node features by partition, straight from disk. Their checksums are checked at every read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from marius_lite.graph.checked import CheckedFiles
from marius_lite.graph.feature_types import STORED, decode
from marius_lite.graph.manifest import FeatureShape
from marius_lite.graph.node_columns import TABLES, read_chunk
from marius_lite.storage.table import RowTable

FEATURES = TABLES / "features"


class Features:
    """The features of a dataset: a row of ``width`` numbers for each node.

    ``type``: see `feature_types`. ``dtype``: the dtype of stored rows, which is uint16 for bfloat16. ``scales``: for int8, the
    scale of each column. ``table``: the rows on disk, padded with zeros to 16 bytes, with the ``checksums``: CRC-32C of each
    partition's chunk file. ``bring``: fetches the rows, where they may be elsewhere yet; it is called before their first use.
    """

    def __init__(self, table: RowTable, shape: FeatureShape, bring: Callable[[], object] = lambda: None):
        assert table.checksums is not None
        self.width = shape.width
        self.type = shape.dtype
        self.dtype: np.dtype[Any] = STORED[self.type]
        self.scales = np.array(table.attributes["scales"], np.float32) if self.type == "int8" else None
        self._table, self.checksums, self._bring = table, table.checksums, bring

    @classmethod
    def open(cls, dataset: Path, shape: FeatureShape, checked: CheckedFiles) -> Self:
        """Open the features in a dataset's folder. ``checked``: its files. Raises UserError where they cannot be read."""
        table = RowTable.open(dataset / FEATURES)
        checksums = table.chunks.checksums(dataset, checked.files)
        return cls(table.expecting(checksums), shape, partial(checked.need, dataset / FEATURES))

    @property
    def table(self) -> RowTable:
        """The rows on disk. They are on this machine from here on."""
        self._bring()
        return self._table

    @property
    def stride(self) -> int:
        """The bytes of a row."""
        return self._table.stride

    def read(self, k: int) -> npt.NDArray[Any]:
        """Read the rows of partition k's nodes as stored, in order of node id: shape (size, width), rows 16-byte multiples apart.

        The whole partition is read, past the page cache. Raises UserError where the bytes are not those that preprocess wrote,
        RunError for a file that cannot be read, ValueError for a partition that does not exist.
        """
        if not 0 <= k < self.table.partitions:
            raise ValueError(f"partition {k}: there are {self.table.partitions}")
        flat = read_chunk(self.table.chunks, k, self.dtype, self.checksums[k])
        return flat.reshape(-1, self.table.width)[: self.table.size(k), : self.width]

    def values(self, k: int) -> npt.NDArray[np.float32]:
        """Read and decode the rows of partition k: shape (size, width), float32. Raises as `read` does."""
        return self.decode(self.read(k))

    def decode(self, stored: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return stored rows (n, width) as float32: a copy."""
        return decode(stored, self.type, self.scales)
