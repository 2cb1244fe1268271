"""How many partitions a dataset gets when the user leaves it open."""

from __future__ import annotations

LEAST_EDGES_PER_BUCKET = 20_000
LEAST_NODES_PER_PARTITION = 1_000
MOST_PARTITIONS = 64


def choose_partitions(nodes: int, edges: int) -> int:
    """Return the largest power of two up to 64 that leaves 20,000 edges per bucket on average and 1,000 nodes per partition.

    There are many small partitions on purpose: training groups them to fit its memory.
    """
    partitions = 1
    while (
        partitions < MOST_PARTITIONS
        and edges >= LEAST_EDGES_PER_BUCKET * (2 * partitions) ** 2
        and nodes >= LEAST_NODES_PER_PARTITION * 2 * partitions
    ):
        partitions *= 2
    return partitions
