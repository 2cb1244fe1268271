"""Plan the memory and the disk of rows that come in packs: see `rows.packer`."""

from __future__ import annotations

from dataclasses import dataclass

BLOCK_BYTES = 8 << 20
"""Bytes of the table that are read at a time."""
DISK_SHARE = 1.5
"""Bytes of the packs of a window, for each byte of the table. There are two windows: one is trained, one is packed."""
LISTS_SHARE = 16
"""The part of the rows' memory that the ids of a window may take."""
LEAST_LISTS = 16 << 20
NODE_BYTES, EDGE_BYTES = 32, 12
"""Bytes of a node and of an edge in a sample: ids, rows, degrees, where neighbours begin; a source and a relation."""
PREPARED = 5
"""Samples in memory where rows come in packs: one of the window that is packed; others are read, wait and are trained."""
BLOCKS = 6
"""Blocks in memory: one is read, one waits, one is packed, and its rows are gathered; and what the heap keeps of earlier ones."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How rows come in packs. ``hot``: rows that stay in memory. ``cold``: the most rows of a batch that come in its pack.

    ``window_rows``: as many bytes as these rows have are on disk of a window, unless one batch alone has more. ``row_bytes``: of
    one row as stored. ``sample_bytes``: of a batch's sample, which waits on disk too, at most. ``block_bytes``: read at a time.
    """

    hot: int
    cold: int
    window_rows: int
    row_bytes: int
    sample_bytes: int = 0
    block_bytes: int = BLOCK_BYTES

    @property
    def disk(self) -> int:
        """The most bytes on disk: those of two windows."""
        return 2 * max(self.window_rows * self.row_bytes, self.batch_bytes)

    @property
    def batch_bytes(self) -> int:
        """The most bytes of a batch on disk."""
        return self.cold * self.row_bytes + self.sample_bytes


def packing_of(nodes: int, row_bytes: int, reached: tuple[int, int], hot: int) -> Packing:
    """Return how rows come in packs where ``hot`` rows stay. ``reached``: the most nodes and edges of a batch's sample."""
    window = min(int(DISK_SHARE * nodes), _list_bytes(row_bytes, hot) // 4)
    cold, edges = min(reached[0], nodes), reached[1]
    return Packing(hot, cold, window, row_bytes, NODE_BYTES * cold + EDGE_BYTES * edges)


def packing_bytes(nodes: int, row_bytes: int, hot: int) -> int:
    """Return the bytes of memory that packing takes beside the rows: where each node's row is, ids of a window, and blocks."""
    return 4 * nodes + _list_bytes(row_bytes, hot) + BLOCKS * BLOCK_BYTES


def _list_bytes(row_bytes: int, hot: int) -> int:
    return max(LEAST_LISTS, hot * row_bytes // LISTS_SHARE)
