"""Rows on the host: they become float32, tables stand side by side, gradients of equal places are summed in their order, and
rates are heeded. Of 16-bit tables every bit pattern widens to the number that it is."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from marius_lite._native import gather
from marius_lite.config.load import load
from marius_lite.errors import RunError
from marius_lite.graph.feature_types import STORED, decode
from marius_lite.graph.partitioning import Partitioning
from marius_lite.pipeline.batches import run
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.host import HostGather, OnHost
from marius_lite.rows.open import host_rows
from marius_lite.rows.resident import RowBuffers
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.record import record_of
from marius_lite.storage.table import RowTable
from marius_lite.types import NodeBatch

BATCH = NodeBatch(0, 2, 5, np.arange(3))


@pytest.mark.parametrize("bfloat16", [False, True])
def test_every_pattern_is_widened(bfloat16):
    table = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 16)
    rows = np.random.default_rng(0).permutation(len(table))
    out = np.empty((len(table), 16), np.float32)
    gather(table, rows, out, bfloat16=bfloat16, threads=2)
    kind = torch.bfloat16 if bfloat16 else torch.float16
    expected = torch.from_numpy(table[rows].view(np.int16)).view(kind).float().numpy()
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def test_only_the_first_columns_of_rows_inside_the_table():
    table = np.random.default_rng(0).random((9, 8)).astype(np.float16)
    out = np.empty((3, 5), np.float32)
    gather(table.view(np.uint16), np.array([8, 0, 8]), out, bfloat16=False)
    np.testing.assert_array_equal(out, table[[8, 0, 8], :5].astype(np.float32))
    with pytest.raises(ValueError, match="row 9 at position 0"):
        gather(table.view(np.uint16), np.array([9]), out[:1], bfloat16=False)


def test_int8_is_scaled_by_column():
    rng = np.random.default_rng(0)
    table, scales = rng.integers(-128, 128, (20, 7)).astype(np.int8), rng.random(7).astype(np.float32)
    rows, out = rng.integers(20, size=50), np.empty((50, 6), np.float32)
    gather(table, rows, out, scales=scales)
    np.testing.assert_array_equal(out, table[rows, :6].astype(np.float32) * scales[:6])
    with pytest.raises(ValueError, match="fewer scales"):
        gather(table, rows, out, scales=scales[:5])


@pytest.mark.parametrize("type", STORED)
def test_rows_are_what_they_are_stored_for(type):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 8)).astype(np.float16).view(np.uint16).astype(np.uint16)
    table = table if type == "bfloat16" else rng.integers(-100, 100, (20, 8)).astype(STORED[type])
    scales = rng.random(8).astype(np.float32) if type == "int8" else None
    rows = rng.integers(20, size=30)
    found = HostGather(table, 5, type=type, scales=scales)(rows)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found.numpy(), decode(table, type, scales)[rows, :5])


def test_a_result_stays_until_the_ring_is_round():
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    take = HostGather(table, 4, ring=3)
    kept = [take(np.array(rows)) for rows in ([1, 2], [3], [4, 5, 6])]
    for found, rows in zip(kept, ([1, 2], [3], [4, 5, 6])):
        np.testing.assert_array_equal(found.numpy(), table[rows])
    again = take(np.array([7, 8]))
    assert again.data_ptr() == kept[0].data_ptr()


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
        return buffers.main.resident.view(0)[:3, :6].copy()

    assert (trained(0.0) == 1).all()
    assert (trained(1.0) < 1).all()
    rows.close()
