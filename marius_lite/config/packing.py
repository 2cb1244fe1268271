"""Plan the memory and the disk of rows that come in packs: see `rows.packer`."""

from __future__ import annotations

from dataclasses import dataclass

BLOCK_BYTES = 8 << 20
"""Bytes of the table that are read at a time."""
DISK_SHARE = 3
"""Bytes on disk for each byte of the table, where nothing else is said."""
WINDOWS = 2
"""Windows on disk, beside those that are kept: one is trained, the next one is packed."""
LISTS_SHARE = 16
"""The part of the rows' memory that the ids of a window may take."""
LEAST_LISTS = 64 << 20
"""Bytes that they may take all the same. An id takes less than a row, and saves more: a small window reads all rows for few."""
ID_BYTES = 4
"""Bytes of a row's id while a window is packed."""
NODE_BYTES, EDGE_BYTES = 32, 12
"""Bytes of a node and of an edge in a sample: ids, rows, degrees, where neighbours begin; a source and a relation."""
PREPARED = 8
"""Samples in memory where rows come in packs: one is drawn for the window that is packed; others are read, wait, are trained."""
GROWING_NODE, GROWING_EDGE = 48, 32
"""Bytes of a node and of an edge in a sample that grows while in-edge lists are read: ids and rows; what a node draws, in the
order of partitions, then in the order of nodes; half as much again for room to grow."""
LISTS_AT_ONCE = 2
"""Partitions whose in-edge lists are in memory at a time, where all are read in passes: one is drawn from, the next is read."""
GROWING_SHARES = (4, 8, 16)
"""Parts of the memory that the samples of batches may take that are drawn together, the faster one first."""
BLOCKS = 6
"""Blocks in memory: one is read, one waits, one is packed, and its rows are gathered; and what the heap keeps of earlier ones."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How rows come in packs. ``hot``: rows that stay in memory. ``cold``: the most rows of a batch that come in its pack.

    ``window_rows``: as many bytes as these rows have are on disk of a window, unless one batch alone has more. ``row_bytes``: of
    one row as stored. ``sample_bytes``: of a batch's sample, which waits on disk too, at most. ``refresh``: epochs of the same
    samples. ``kept_bytes``: on disk, at most, of windows that are kept for them. ``together``: batches that are sampled in the
    same passes over in-edge lists on disk; 1 where lists are in memory. ``made_lists``: bytes on disk of in-edge lists that have
    to be made for these. ``block_bytes``: read at a time.
    """

    hot: int
    cold: int
    window_rows: int
    row_bytes: int
    sample_bytes: int = 0
    refresh: int = 1
    kept_bytes: int = 0
    together: int = 1
    made_lists: int = 0
    block_bytes: int = BLOCK_BYTES

    @property
    def disk(self) -> int:
        """The most bytes on disk: those of windows that are kept, of two others, the samples of a third, and made lists."""
        window = max(self.window_rows * self.row_bytes, self.batch_bytes)
        return self.kept_bytes + WINDOWS * window + window * self.sample_bytes // self.batch_bytes + self.made_lists

    @property
    def batch_bytes(self) -> int:
        """The most bytes of a batch on disk."""
        return self.cold * self.row_bytes + self.sample_bytes


def growing_bytes(reached: tuple[int, int]) -> int:
    """Return the bytes of a sample that grows in passes. ``reached``: the most nodes and edges of a batch's sample."""
    return GROWING_NODE * reached[0] + GROWING_EDGE * reached[1]


@dataclass(frozen=True, slots=True)
class PackedTable:
    """A table whose rows come in packs. ``disk``: bytes of temporary disk; None: what is usual. ``refresh``: see `Packing`.

    ``batches``: how many an epoch has, or are sampled ahead at most; 0: not known. ``beside``: bytes of a sampled batch that are
    neither of its nodes nor of their edges.
    """

    nodes: int
    row_bytes: int
    disk: int | None = None
    refresh: int = 1
    batches: int = 0
    beside: int = 0

    def packing(self, reached: tuple[int, int], hot: int) -> Packing:
        """Return how its rows come where ``hot`` rows stay. ``reached``: the most nodes and edges of a batch's sample.

        A sample may have a node several times, but its row comes once.
        """
        cold, edges = min(reached[0], self.nodes), reached[1]
        samples = NODE_BYTES * reached[0] + EDGE_BYTES * edges + self.beside
        batch, usual, kept = cold * self.row_bytes + samples, DISK_SHARE * self.nodes * self.row_bytes, 0
        if self.refresh > 1:  # on top of the windows, of which smaller ones would read the table more often
            windows = max(usual, WINDOWS * batch + samples)
            kept = self.batches * batch if self.disk is None else max(0, self.disk - windows)
        disk = usual + kept if self.disk is None else self.disk
        # The samples of a third window are on disk before another one is done with.
        share = WINDOWS + samples / batch
        ids = max(LEAST_LISTS, hot * self.row_bytes // LISTS_SHARE) // ID_BYTES
        window = min(int((disk - kept) / share / self.row_bytes), ids)
        if self.batches:  # more than an epoch's batches never wait
            window = min(window, -(-self.batches * batch // self.row_bytes))
        return Packing(hot, cold, window, self.row_bytes, samples, self.refresh, kept)

    def memory(self, packing: Packing) -> int:
        """Return the bytes that packing takes beside the rows: where each node's row is, ids of a window, and blocks."""
        return 4 * self.nodes + ID_BYTES * max(packing.window_rows, packing.cold) + BLOCKS * BLOCK_BYTES
