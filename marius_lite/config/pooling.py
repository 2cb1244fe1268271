"""Plan the memory and the disk of learned rows that a window of batches brings into a pool: see `rows.pooled`."""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite.config.packing import EDGE_BYTES, NODE_BYTES

SLOTS = 3
"""Partitions in memory beside the pool: one from which rows come and to which others go, one is read, one is written."""
PLACE_BYTES = 8
"""Bytes of a node: its place in the pool, and the last window that asked for it."""
SLOT_BYTES = 8 + 1 + 1
"""Bytes of a place of the pool: its node, whether it was changed, and whether the next window takes it."""
ID_BYTES, IDS = 8, 6
"""Bytes of an id, and how many there are for a place: those of a window that is sampled, and of one that comes, in order, its new
ones, what leaves for them, and places."""
LEAST_SAMPLES = 64 << 20
"""Bytes on disk that the samples of a window may take, if its rows have not as many."""
SAMPLED = 2
"""Windows whose samples are on disk at a time: one is trained, and one is sampled."""


@dataclass(frozen=True, slots=True)
class Pooling:
    """How learned rows come where neighbours are drawn among all nodes. ``rows``: places in the pool, for as many nodes.

    A window has no more rows, unless one batch has. ``batch``: the most rows of a batch. ``row_bytes``: of a node in all tables.
    ``sample_bytes``: of a batch's sample, which waits on disk, at most. ``samples``: of those of a window, unless one batch has
    more. ``whole``: whether every node has a place. ``together``: batches that are sampled in the same passes over in-edge lists
    on disk; 1 where lists are in memory. ``made_lists``: see `packing.Packing`.
    """

    rows: int
    batch: int
    row_bytes: int
    sample_bytes: int
    samples: int
    whole: bool = False
    together: int = 1
    made_lists: int = 0

    @property
    def disk(self) -> int:
        """The most bytes on disk."""
        return SAMPLED * max(self.samples, self.sample_bytes) + self.made_lists

    def windows(self, batches: int) -> int:
        """Return into how many windows so many batches fall at most."""
        at_once = min(self.samples // max(1, self.sample_bytes), self.rows // self.batch)
        small = batches.bit_length() if self.whole else 0  # each has twice the batches of the one before
        return -(-batches // max(1, at_once)) + small


@dataclass(frozen=True, slots=True)
class PooledTable:
    """Learned rows of ``nodes``, of ``row_bytes`` each in all tables, that come through a pool.

    ``disk``: bytes of temporary disk; None: what is usual. ``beside``: bytes of a sampled batch that are neither of its nodes nor
    of their edges.
    """

    nodes: int
    row_bytes: int
    disk: int | None = None
    beside: int = 0

    def pooling(self, reached: tuple[int, int], rows: int) -> Pooling:
        """Return how they come where the pool has ``rows`` places, or as many more as batches need.

        ``reached``: the most nodes and edges of a batch's sample.
        """
        batch = max(1, min(reached[0], self.nodes))
        places = min(max(batch, rows), self.nodes)
        sample = NODE_BYTES * reached[0] + EDGE_BYTES * reached[1] + self.beside
        samples = max(LEAST_SAMPLES, places * self.row_bytes)
        if self.disk is not None:
            samples = min(samples, self.disk // SAMPLED)
        return Pooling(places, batch, self.row_bytes, sample, samples, places == self.nodes)

    def memory(self, pooling: Pooling) -> int:
        """Return the bytes that the pool takes beside its rows: where each node's row is, whose each row is, ids of windows."""
        return PLACE_BYTES * self.nodes + (SLOT_BYTES + IDS * ID_BYTES) * pooling.rows
