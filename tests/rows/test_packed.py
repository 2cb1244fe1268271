"""Rows that come in packs, as a task sees them: every partition is resident, a row is a node id, batches come with their values.
Whole runs are in tests/train/test_exact_scope.py."""

from contextlib import closing

import numpy as np
import pytest
from exact_rows import PACKED, begun

from marius_lite.graph import Dataset

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")


def test_values_are_those_of_the_nodes(communities):
    dataset = Dataset.open(communities)
    features = np.concatenate([dataset.features.values(k) for k in range(8)])
    with begun(communities, *PACKED) as (rows, stages, batches):
        assert rows.base_rows() == {k: 75 * k for k in range(8)}
        assert rows.learned is None
        assert rows.flush() == rows.release() == {}
        np.testing.assert_array_equal(rows.node_ids(np.arange(600)), np.arange(600))
        seen = []
        with closing(stages.ahead(batches, stages.sample, lambda: False)) as ahead:
            for batch, read in ahead:
                prepared, arrived = stages.gather(read)
                assert prepared.batch is batch
                np.testing.assert_array_equal(arrived.values().numpy(), features[prepared.rows[0]])
                seen.append(batch.index)
        assert seen == list(range(24))
        counted = rows.counters()
        assert counted["bytes_read"] > counted["bytes_written"] > 0
        assert counted["wait_s"] > 0
