"""Features most of whose numbers are 0, such as words of a text: held in memory whole, by the numbers that are not 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite._native import SparseRows
from marius_lite.graph.features import Features
from marius_lite.graph.partitioning import Partitioning
from marius_lite.optim.schedule import Rated
from marius_lite.pipeline.batches import Stages
from marius_lite.rows.batch import Foresee, Learn, PreparedBatch
from marius_lite.rows.host import Gathered, HostGather, OnHost
from marius_lite.rows.resident import RowBuffers, RowsByNode
from marius_lite.types import Ids, Rows

LEAST_SAVED = 4
"""Rows are held so where they take at most this part of what they take on disk: writing zeros is then faster than copying."""
BLOCK_BYTES = 8 << 20
"""Bytes of a file that are read at a time."""


def held_sparse(stored: Features, most: float) -> SparseRows | None:
    """Return the features by their numbers that are not 0; None where these take over ``most`` bytes, or are not few.

    The files are read as long as what was read so far says that all of them fit. Each is compared with its checksum. Raises
    RunError for a file that cannot be read or was changed.
    """
    table, held = stored.table, SparseRows(stored.width)
    allowed = min(most, table.nodes * table.stride // LEAST_SAVED)
    for k in range(table.partitions):
        for _, rows in table.node_blocks(k, BLOCK_BYTES):
            _add(held, stored, rows)
            if held.rows and held.bytes * table.nodes > allowed * held.rows:
                return None
    return held


def _add(held: SparseRows, stored: Features, rows: npt.NDArray[Any]) -> None:
    if stored.scales is not None:
        held.add(rows, scales=stored.scales)
    elif stored.type == "float32":
        held.add(rows)
    else:
        held.add(rows.view(np.uint16), bfloat16=stored.type == "bfloat16")


class SparseGather(HostGather):
    """Gathers rows that are held sparse. See `HostGather`."""

    def __init__(self, held: SparseRows, columns: int, ring: int, threads: int):
        super().__init__(np.empty((0, columns), np.float32), columns, ring, threads)
        self._held = held

    def _gather(self, rows: Rows, out: npt.NDArray[np.float32]) -> None:
        self._held.gather(rows, out, self._threads)


class SparseFeatures(RowsByNode):
    """Features that are only read, and ``held`` sparse. ``ring``, ``threads``: see `rows.host.HostGather`."""

    def __init__(self, stored: Features, partitioning: Partitioning, held: SparseRows, ring: int, threads: int):
        super().__init__(RowBuffers(stored, None, None, 0), partitioning)
        self._gather = SparseGather(held, stored.width, ring, threads)
        self._bytes_read = stored.table.partitions * stored.table.chunk_bytes

    def pipeline(
        self, prepare: Callable[[Any], PreparedBatch[Any]], learn: Learn, foresee: Foresee | None = None
    ) -> Stages[Any, PreparedBatch[Any], Gathered, None]:
        def gathered(prepared: PreparedBatch[Any]) -> Gathered:
            return prepared, OnHost([self._gather(prepared.rows[0])], prepared.arrays)

        def learned(gathered: Gathered) -> tuple[float, None]:
            loss, _ = learn(*gathered)
            return float(loss), None

        return Stages(prepare, gathered, learned, lambda grads: None)

    def rated(self) -> Sequence[Rated]:
        return []

    def cache_most_touched(self, touched: Callable[[], Ids]) -> None:
        """Do nothing: all rows are in memory."""

    def counters(self) -> dict[str, float]:
        return {"bytes_read": self._bytes_read, "bytes_written": 0, "wait_s": 0.0}

    def close(self) -> None:
        """Do nothing: the memory goes with the object."""
