"""First rows from an older version: known nodes keep their records, new ones get the mean of their known neighbours."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.graph import Partitioning
from marius_lite.graph.edges import EdgePiece
from marius_lite.rows import warm_rows
from marius_lite.rows.warm_rows import WarmRows
from marius_lite.storage.bfloat16 import BITS, from_bfloat16, to_bfloat16

WIDTH, VALUES = 8, 5


class FakeBuckets:
    """Edges in memory, given out one bucket and a few edges at a time."""

    def __init__(self, edges, partitioning):
        self.partitioning, self._edges = partitioning, edges

    def block(self, rows, columns, edges, names):
        size, p = self.partitioning.rows, self.partitioning.partitions
        for i in rows:
            for j in columns:
                inside = self._edges[(self._edges // size == [i, j]).all(1)] - [i * size, j * size]
                for at in range(0, len(inside), edges):
                    part = inside[at : at + edges].astype(np.uint32)
                    yield EdgePiece(np.array([i * p + j]), np.array([len(part)]), list(part.T))


def fake_table(records, size):
    return SimpleNamespace(
        nodes=len(records),
        width=records.shape[1],
        rows_per_partition=size,
        read_rows=lambda k, offsets: records[k * size + np.asarray(offsets)],
    )


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BITS])
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(0, 20), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_known_rows_stay_and_new_ones_are_means(dtype, known, new, size, at_once, seed):
    rng = np.random.default_rng(seed)
    nodes = known + new
    edges = rng.integers(0, nodes, (3 * nodes, 2))
    partitioning = Partitioning(nodes, -(-nodes // size), size)
    records, drawn = (rng.normal(size=(count, WIDTH)).astype(np.float32) for count in (known, nodes))
    if dtype == BITS:
        records, drawn = to_bfloat16(records), to_bfloat16(drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_rows, "BYTES_AT_ONCE", 8 * WIDTH * at_once)
        warm = WarmRows(fake_table(records, size), FakeBuckets(edges, partitioning), VALUES)
        found = drawn.copy()
        for k in range(partitioning.partitions):
            span = partitioning.range(k)
            warm.fill(k, found[span.start : span.stop])
    numbers = from_bfloat16 if dtype == BITS else np.asarray
    assert (found[:known] == records).all()
    for node in range(known, nodes):
        others = [*edges[edges[:, 1] == node, 0], *edges[edges[:, 0] == node, 1]]
        others = [other for other in others if other < known]
        wanted = numbers(records)[others, :VALUES].astype(np.float64).mean(0) if others else numbers(drawn)[node, :VALUES]
        np.testing.assert_allclose(numbers(found)[node, :VALUES], wanted, rtol=1e-2 if dtype == BITS else 1e-5, atol=1e-5)
        assert (found[node, VALUES:] == drawn[node, VALUES:]).all()
