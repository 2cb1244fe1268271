"""In-memory stand-ins for PartitionBuffer and EdgeBuckets, strict about what is resident."""

import numpy as np

from marius_lite.graph.edges import COLUMNS, EdgePiece
from marius_lite.graph.partitioning import Partitioning
from marius_lite.storage.resident import ResidentPartitions


class FakeBuffer:
    """Slots of rows; what is not resident is not there, and free slots hold NaN."""

    def __init__(self, table, partitioning, slots=2, padding=3):
        self.table, self.partitioning = table, partitioning
        self.slots = min(slots, partitioning.partitions)
        self.slot_rows = partitioning.rows + padding
        self.rows = np.full((self.slots * self.slot_rows, table.shape[1] + 1), np.nan, np.float32)
        self.held = {}
        self.loads = 0

    def enter(self, now, next=()):
        wanted = [*now, *next][: self.slots]
        assert len(now) <= self.slots
        for k in [k for k in self.held if k not in wanted]:
            self.rows[self._range(self.held.pop(k))] = np.nan
        for k in wanted:
            if k not in self.held:
                slot = max(set(range(self.slots)) - set(self.held.values()))
                self.held[k] = slot
                ids = self.partitioning.range(k)
                rows = self.rows[slot * self.slot_rows :][: len(ids)]
                rows[:, : self.table.shape[1]] = self.table[ids.start : ids.stop]
                self.loads += 1
        return ResidentPartitions(self.rows, lambda k: self.held[k] * self.slot_rows, self.partitioning.size, now)

    def _range(self, slot):
        return slice(slot * self.slot_rows, (slot + 1) * self.slot_rows)


class FakeEdges:
    """Edges (n, 3) of source, relation, destination, dealt to buckets; read ``piece`` at a time."""

    def __init__(self, edges, partitioning: Partitioning, piece=7):
        self.partitioning, self.piece = partitioning, piece
        self.edges = np.asarray(edges, np.int64).reshape(-1, 3)
        p = partitioning.partitions
        bucket = partitioning.partition_of(self.edges[:, 0]) * p + partitioning.partition_of(self.edges[:, 2])
        order = np.argsort(bucket, kind="stable")
        self.edges = self.edges[order]
        self.counts = np.bincount(bucket, minlength=p * p).reshape(p, p)
        self.starts = np.append(0, np.cumsum(self.counts))
        self.total = len(self.edges)
        self.buckets_read = set()

    def block(self, rows, columns, edges, names):
        assert names == COLUMNS
        p = self.partitioning.partitions
        flats = [i * p + j for i in rows for j in columns if self.counts[i, j]]
        self.buckets_read |= {divmod(flat, p) for flat in flats}
        places = np.concatenate([np.empty(0, int), *(np.arange(self.starts[flat], self.starts[flat + 1]) for flat in flats)])
        size = min(edges, self.piece)
        for start in range(0, len(places), size):
            part = self.edges[places[start : start + size]]
            flat = np.searchsorted(self.starts, places[start : start + size], side="right") - 1
            buckets, counts = np.unique(flat, return_counts=True)
            src, dst = (part[:, end] % self.partitioning.rows for end in (0, 2))
            yield EdgePiece(buckets, np.cumsum(counts), [column.astype(np.uint32) for column in (src, dst, part[:, 1])])
