"""Rows on the host: tables stand side by side, gradients of equal places are summed in their order, and rates are heeded."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from marius_lite.config.load import load
from marius_lite.errors import RunError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.pipeline.batches import run
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.host import OnHost
from marius_lite.rows.open import host_rows
from marius_lite.rows.resident import RowBuffers
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.record import record_of
from marius_lite.storage.table import RowTable
from marius_lite.types import NodeBatch

BATCH = NodeBatch(0, 2, 5, np.arange(3))


def test_values_of_tables_stand_side_by_side():
    features, learned = torch.rand(3, 2), torch.rand(3, 4)
    assert torch.equal(OnHost([features, learned], {}).values(), torch.cat([features, learned], 1))
    assert OnHost([learned], {}).values() is learned


def test_sums_follow_the_order_given():
    rng = np.random.default_rng(0)
    parts = [torch.from_numpy(rng.normal(size=(n, 4)).astype(np.float32)) for n in (5, 3)]
    order, starts = rng.permutation(8).astype(np.int32), np.array([0, 1, 5, 8], np.int32)
    out = torch.empty(3, 4)
    OnHost([], {"order": order, "starts": starts}).sum_segments(parts, "order", "starts", out)
    grads = torch.cat(parts).numpy()
    for segment, (low, high) in enumerate(pairwise(starts)):
        total = np.zeros(4, np.float32)
        for place in order[low:high]:
            total += grads[place]
        np.testing.assert_array_equal(out[segment].numpy(), total)


def test_a_loss_is_looked_at_at_once():
    OnHost([], {}).check(torch.tensor(1.0), BATCH)
    with pytest.raises(RunError, match="the loss is inf in epoch 0, step 2, batch 5"):
        OnHost([], {}).check(torch.tensor(float("inf")), BATCH)


@pytest.mark.parametrize("staleness", [0, 2])
def test_at_rate_0_rows_stay(tmp_path, staleness):
    partitioning = Partitioning(40, 2)
    table = RowTable.create(tmp_path / "nodes", 40, record_of("sgd", 6).width, partitioning.rows)
    buffers = RowBuffers(None, None, PartitionBuffer(table, 2, threads=1, direct=False), 6)
    for k in range(2):
        buffers.main.adopt(k)[:] = k + 1
    config = load(sets=["model.dim=6", "optimizer.rows.name=sgd", "training.threads=1", f"training.staleness={staleness}"])
    rows = host_rows(buffers, SimpleNamespace(partitioning=partitioning), config)
    rows.enter((0, 1), ())

    def trained(rate):
        for each in rows.rated():
            each.rate = rate
        rows.mark_changed()
        stages = rows.pipeline(
            lambda batch: PreparedBatch(batch, None, [rows.rows_of(0, batch.nodes)]),
            lambda prepared, arrived: (arrived.values().sum(), [torch.ones_like(arrived.values())]),
        )
        assert len(list(run([BATCH, BATCH], stages, staleness, lambda: False))) == 2
        return buffers.main.view(0)[:3, :6].copy()

    assert (trained(0.0) == 1).all()
    assert (trained(1.0) < 1).all()
    rows.close()
