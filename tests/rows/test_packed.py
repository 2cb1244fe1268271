"""Rows that come in packs, as a task sees them: every partition is resident, a row is a node id, batches come with their values.
Whole runs are in tests/train/test_exact_scope.py."""

import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pytest
from open_parts import CLASSES, open_parts

from marius_lite.graph import Dataset
from marius_lite.pipeline.batches import run
from marius_lite.rows.packed import PackedRows
from marius_lite.rows.packer import Packer

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")


@contextmanager
def begun(communities):
    """The rows of a run whose first step is entered, its stages, and its batches."""
    with open_parts(communities, *CLASSES, "storage.capacity=2", "training.batch_size=5") as parts:
        assert isinstance(parts.work.rows, PackedRows)
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
    """As a signal asks for while the first window is packed."""
    packing, pack = threading.Event(), Packer.pack

    def slowly(packer, window, stop):
        packing.set()
        stop.wait(20)
        return pack(packer, window, stop)

    monkeypatch.setattr(Packer, "pack", slowly)
    with begun(communities) as (_, stages, batches):
        start = time.monotonic()
        assert list(run(batches, stages, staleness, packing.is_set, packing.is_set)) == []
        assert time.monotonic() - start < 10
