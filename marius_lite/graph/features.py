"""Node features, by partition: read straight from disk, checked against their checksums at every read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.graph.manifest import FeatureShape
from marius_lite.graph.node_columns import TABLES, read_chunk
from marius_lite.storage.table import RowTable

FEATURES = TABLES / "features"


class Features:
    """One row of ``width`` numbers of ``dtype`` (float16 or float32) for each node of a dataset.

    ``table``: where they lie on disk, rows padded with zeros to 16 bytes. ``checksums``: CRC-32C of each partition's chunk file.
    """

    def __init__(self, dataset: Path, shape: FeatureShape, files: Mapping[str, tuple[int, int]]):
        self.table = RowTable.open(dataset / FEATURES)
        self.width = shape.width
        self.dtype: np.dtype[Any] = np.dtype(shape.dtype)
        chunks = [self.table.chunk_path(k).relative_to(dataset) for k in range(self.table.partitions)]
        self.checksums = {k: files[chunk.as_posix()][1] for k, chunk in enumerate(chunks)}

    def read(self, k: int) -> npt.NDArray[Any]:
        """The rows of partition k's nodes, in order of node id: shape (size, width), rows 16-byte multiples apart.

        Reads the whole partition past the page cache. Raises UserError where preprocess wrote other bytes, RunError for a file
        that cannot be read, ValueError for a partition that does not exist.
        """
        if not 0 <= k < self.table.partitions:
            raise ValueError(f"partition {k}: there are {self.table.partitions}")
        elements = self.table.rows_per_partition * self.table.width
        flat = read_chunk(self.table.chunk_path(k), elements, self.dtype, self.checksums[k])
        return flat.reshape(-1, self.table.width)[: self.table.size(k), : self.width]
