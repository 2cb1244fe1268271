"""Rows that come in packs, as a task sees them: every partition is resident, a row is a node id, batches come with their values.
Whole runs are in tests/train/test_exact_scope.py."""

from contextlib import closing
from itertools import islice

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


@pytest.mark.parametrize("taken", [24, 7], ids=["whole", "stopped"])
def test_an_epoch_goes_on_where_the_one_before_has_packed(communities, taken):
    """Whether the epoch before was trained to its end, or was stopped and begins again there."""
    with begun(communities, *PACKED, "training.epochs=3") as (rows, stages, batches):
        opened = [list(batches), *(_of(rows._later(), epoch) for epoch in (1, 2))]
        assert [[batch.index for batch in epoch] for epoch in opened] == [[*range(24)]] * 3
        for epoch, start, end in [(0, 0, 24), (1, 0, taken), (1, taken, 24), (2, 0, 24)]:
            rows.comes_next(lambda later=epoch + 1: iter([batch for each in opened[later:] for batch in each]))
            stages = rows.pipeline(stages.sample, None)
            with closing(stages.ahead(iter(opened[epoch][start:]), stages.sample, lambda: False)) as ahead:
                for batch, read in islice(ahead, end - start):
                    prepared, _ = stages.gather(read)
                    expected = stages.sample(batch)
                    assert (batch.epoch, batch.index) == (epoch, start)
                    np.testing.assert_array_equal(batch.nodes, opened[epoch][start].nodes)
                    np.testing.assert_array_equal(prepared.rows[0], expected.rows[0])
                    start += 1
            assert start == end


def _of(batches, epoch):
    return [batch for batch in batches if batch.epoch == epoch]
