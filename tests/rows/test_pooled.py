"""Learned rows that come through a pool, as a task sees them: every partition is resident, a row is a node id, batches come with
their values. Whole runs are in tests/train/test_pooled_rows.py."""

import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pytest
from open_parts import CLASSES, open_parts

from marius_lite.graph import Dataset
from marius_lite.pipeline.batches import run
from marius_lite.rows.pool import RowPool
from marius_lite.rows.pooled import PooledRows

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

FEW = (
    "storage.capacity=2",
    "training.batch_size=5",
    "sampling.fanouts=[3]",
    "model.layers=[]",
    "model.inputs=both",
    "model.dim=8",
)


@contextmanager
def begun(communities):
    """The rows of a run whose first step is entered, its stages, and its batches."""
    with open_parts(communities, *CLASSES, *FEW) as parts:
        assert isinstance(parts.work.rows, PooledRows)
        parts.work.initialise()
        (step,) = parts.work.plan(0).steps
        parts.work.enter(step, None)
        (window,) = parts.work.windows(step)
        opened = parts.work.open(0, window, None)
        yield parts.work.rows, parts.work.stages(), opened.batches(0)


def test_values_are_those_of_the_nodes(communities):
    dataset = Dataset.open(communities)
    features = np.concatenate([dataset.features.values(k) for k in range(8)])
    with begun(communities) as (rows, stages, batches):
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


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_training_that_is_closed_early_leaves_no_thread(communities, taken):
    with begun(communities) as (_, stages, batches):
        before = threading.active_count()
        with closing(stages.ahead(batches, stages.sample, lambda: False)) as ahead:
            for _ in range(taken):
                stages.gather(next(ahead)[1])
        assert threading.active_count() == before


@pytest.mark.parametrize("staleness", [0, 2])
def test_a_stop_does_not_wait_for_a_window(communities, monkeypatch, staleness):
    """As a signal asks for while the first window comes."""
    coming, bring = threading.Event(), RowPool.bring

    def slowly(pool, nodes, stop):
        coming.set()
        stop.wait(20)
        return bring(pool, nodes, stop)

    monkeypatch.setattr(RowPool, "bring", slowly)
    with begun(communities) as (_, stages, batches):
        start = time.monotonic()
        assert list(run(batches, stages, staleness, coming.is_set, coming.is_set)) == []
        assert time.monotonic() - start < 10


def test_rows_that_batches_use_stay_when_all_ends(communities):
    """The next window waits for them. What lets it go on is then no sign that they are free."""
    with begun(communities) as (rows, stages, batches):
        with closing(stages.ahead(batches, stages.sample, lambda: False)) as ahead:
            placed, _ = stages.gather(next(ahead)[1])
            places = placed.prepared.rows[-1]
            nodes = rows._pool.nodes_at(places)
            time.sleep(0.3)  # the next window is sampled meanwhile
        np.testing.assert_array_equal(rows._pool.nodes_at(places), nodes)
