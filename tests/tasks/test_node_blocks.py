"""Nodes are looked at by partition and in blocks: each once, in order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.tasks import node_blocks
from marius_lite.tasks.node_blocks import blocks, by_partition


@given(st.sets(st.integers(0, 200)), st.integers(1, 90))
def test_partitions_have_their_nodes(nodes, rows):
    ids = np.array(sorted(nodes), np.int64)
    parts = list(by_partition(ids, rows))
    assert [k for k, _ in parts] == sorted({node // rows for node in nodes})
    assert [k * rows + offset for k, offsets in parts for offset in offsets] == sorted(nodes)


@given(st.integers(0, 50), st.integers(1, 40))
def test_blocks_are_bounded_and_end_to_end(count, width):
    before, node_blocks.SCORES = node_blocks.SCORES, 100
    try:
        parts = list(blocks(np.arange(count), width))
    finally:
        node_blocks.SCORES = before
    assert all(len(part) * width <= max(100, width) for part in parts)
    assert [offset for part in parts for offset in part] == list(range(count))
