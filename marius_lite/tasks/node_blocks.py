"""Look at nodes by partition, and in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marius_lite.types import Ids

SCORES = 1 << 20
"""How many scores are read at a time."""


def by_partition(nodes: Ids, rows: int) -> Iterator[tuple[int, Ids]]:
    """Yield (partition, offsets inside it) of nodes, whose ids ascend. ``rows``: those of a partition."""
    for k in np.unique(nodes // rows).tolist():
        low, high = np.searchsorted(nodes, [k * rows, (k + 1) * rows])
        yield k, nodes[low:high] - k * rows


def blocks(offsets: Ids, width: int) -> Iterator[Ids]:
    """Split offsets into blocks that have at most SCORES numbers, ``width`` for each offset; at least one offset a block."""
    size = max(1, SCORES // width)
    return (offsets[start : start + size] for start in range(0, len(offsets), size))
