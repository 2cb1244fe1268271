"""Learned rows that come through a pool, as a task sees them: every partition is resident, a row is a node id, batches come with
their values. Whole runs are in tests/train/test_pooled_rows.py."""

import time
from contextlib import closing

import numpy as np
import pytest
from exact_rows import POOLED, begun

from marius_lite.graph import Dataset

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")


def test_values_are_those_of_the_nodes(communities):
    dataset = Dataset.open(communities)
    features = np.concatenate([dataset.features.values(k) for k in range(8)])
    with begun(communities, *POOLED) as (rows, stages, batches):
        assert rows.base_rows() == {k: 75 * k for k in range(8)}
        table = rows.learned
        learned = [np.empty((table.size(k), 8), np.float32) for k in range(8)]
        for k, each in enumerate(learned):
            table.expecting(rows.flush()).read_into(k, each)
        expected = np.concatenate([features, np.concatenate(learned)], 1)
        np.testing.assert_array_equal(rows.node_ids(np.arange(600)), np.arange(600))
        seen = []
        with closing(stages.ahead(batches, stages.sample, lambda: False)) as ahead:
            for batch, read in ahead:
                placed, arrived = stages.gather(read)
                assert placed.prepared.batch is batch or placed.prepared.batch == batch
                nodes = placed.prepared.sampled.sample.nodes
                np.testing.assert_array_equal(arrived.values().numpy(), expected[nodes])
                seen.append(batch.index)
                if placed.ends:
                    break
        assert seen == list(range(len(seen)))
        assert rows.counters()["bytes_read"] > 0 < rows.counters()["wait_s"]


def test_rows_that_batches_use_stay_when_all_ends(communities):
    """The next window waits for them. What lets it go on is then no sign that they are free."""
    with begun(communities, *POOLED) as (rows, stages, batches):
        with closing(stages.ahead(batches, stages.sample, lambda: False)) as ahead:
            placed, _ = stages.gather(next(ahead)[1])
            places = placed.prepared.rows[-1]
            nodes = rows._pool.nodes_at(places)
            time.sleep(0.3)  # the next window is sampled meanwhile
        np.testing.assert_array_equal(rows._pool.nodes_at(places), nodes)
