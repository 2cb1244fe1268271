"""One contract for resident rows, on the host and by every path to a device: the bits of a plain table in memory."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from marius_lite._native import crc32c
from marius_lite.config.load import load
from marius_lite.config.resolve import BatchNeeds
from marius_lite.device.open import open_batches
from marius_lite.errors import RunError
from marius_lite.graph.partitioning import Partitioning
from marius_lite.optim.rows import ROW_OPTIMIZERS
from marius_lite.pipeline.batches import run
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.host import HostRowUpdater
from marius_lite.rows.on_device import DeviceRows
from marius_lite.rows.open import host_rows, host_tables
from marius_lite.rows.resident import RowBuffers
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.record import record_of
from marius_lite.storage.table import RowTable
from marius_lite.types import NodeBatch, RowGrads

NODES, DIM, WIDTH = 90, 6, 3
PARTITIONING = Partitioning(NODES, 4)
STEPS = [(0, 1), (1, 2), (0, 3), (2, 3)]
WAYS = {
    "host": [],
    "host, gathered ahead": ["training.staleness=2"],
    "zero_copy": ["storage.device_path=zero_copy"],
    "staged": ["storage.device_path=staged"],
    "bulk": ["storage.device_path=bulk"],
    "cached": ["storage.device_path=zero_copy", "storage.device_cache=1kB"],
}


def first_rows():
    return np.random.default_rng(0).normal(size=(NODES, DIM)).astype(np.float32)


def features():
    return np.random.default_rng(1).normal(size=(NODES, WIDTH)).astype(np.float32)


def make_buffer(folder, name, values, width):
    table = RowTable.create(folder / name, NODES, width, PARTITIONING.rows)
    buffer = PartitionBuffer(table, 3, threads=1, direct=False)
    for k in range(PARTITIONING.partitions):
        span = PARTITIONING.range(k)
        buffer.adopt(k)[:, : values.shape[1]] = values[span.start : span.stop]
        buffer.flush()
        buffer.enter([k])
    return buffer


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def make_rows(request, tmp_path, way):
    """Makes rows: learned ones by Adagrad, and features beside them where asked."""
    made = []

    def make(with_features=False, seed=0):
        config = load(
            sets=[f"model.dim={DIM}", "optimizer.rows.name=adagrad", "optimizer.rows.lr=0.1", "training.threads=1", *WAYS[way]]
        )
        stored = held = None
        if with_features:
            held = make_buffer(tmp_path, "features", features(), 4)
            stored = SimpleNamespace(width=WIDTH, type="float32", scales=None)
        learned = make_buffer(tmp_path, "nodes", first_rows(), record_of("adagrad", DIM).width)
        buffers = RowBuffers(stored, held, learned, DIM)
        if way.startswith("host"):
            made.append(host_rows(buffers, SimpleNamespace(partitioning=PARTITIONING), config))
        else:
            from emulated import accelerator

            device = accelerator(request.getfixturevalue("host_library"), seed)[0]
            batches = open_batches(device, config, host_tables(buffers, config), BatchNeeds({}), [])
            made.append(DeviceRows(buffers, PARTITIONING, batches))
        return made[-1]

    yield make
    for rows in made:
        rows.close()


def batches_of(step, resident, rng, count=6):
    nodes = np.concatenate([PARTITIONING.range(k) for k in resident])
    return [NodeBatch(0, step, index, rng.choice(nodes, 17)) for index in range(count)]


def learn(prepared, arrived):
    """Gradients whose bits are the same everywhere: there are no sums, and products with powers of two alone."""
    values = arrived.values()
    assert values.shape == (len(prepared.batch.nodes), values.shape[1])
    grads = values[:, -DIM:] * 2 + arrived.tensor("more")[:, None]
    loss = values.max().double()
    arrived.check(loss, prepared.batch)
    return loss, [grads[:4], grads[4:]]


def train(rows, step, resident, following, rng):
    rows.enter(resident, following)
    batches = batches_of(step, resident, rng)
    rows.cache_most_touched(lambda: np.concatenate([batch.nodes for batch in batches]))
    rows.mark_changed()

    def prepare(batch):
        places = rows.rows_of(len(rows.buffers.all) - 1, batch.nodes)
        np.testing.assert_array_equal(rows.node_ids(places), batch.nodes)
        return PreparedBatch(batch, None, rows.each_table(places, batch.nodes), {"more": (batch.nodes % 4).astype(np.float32)})

    return [finished.loss for finished in run(batches, rows.pipeline(prepare, learn), 0, lambda: False)]


def in_a_plain_table(steps, with_features=False):
    """(losses, values) where everything is in memory and one batch follows another."""
    table = np.zeros((NODES, record_of("adagrad", DIM).width), np.float32)
    table[:, :DIM] = first_rows()
    updater, rng, losses = HostRowUpdater(ROW_OPTIMIZERS["adagrad"](), DIM, 0.1), np.random.default_rng(5), []
    for step, resident in enumerate(steps):
        for batch in batches_of(step, resident, rng):
            values = torch.from_numpy(table[batch.nodes, :DIM])
            seen = torch.cat([torch.from_numpy(features()[batch.nodes]), values], 1) if with_features else values
            losses.append(float(seen.max().double()))
            grads = values * 2 + torch.from_numpy((batch.nodes % 4).astype(np.float32))[:, None]
            updater.apply(table, RowGrads((batch.nodes,), [grads]))
    return losses, table[:, :DIM]


def values_of(rows):
    table = rows.learned.expecting(rows.flush())
    return np.concatenate(
        [table.read_rows(k, np.arange(PARTITIONING.size(k)), slice(0, DIM)) for k in range(PARTITIONING.partitions)]
    )


@pytest.mark.parametrize("with_features", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_bits_of_a_plain_table(make_rows, with_features, seed):
    rows, rng, losses = make_rows(with_features, seed), np.random.default_rng(5), []
    for step, (resident, after) in enumerate(zip(STEPS, [*STEPS[1:], ()])):
        losses += train(rows, step, resident, [k for k in after if k not in resident], rng)
    expected_losses, expected = in_a_plain_table(STEPS, with_features)
    assert losses == expected_losses
    np.testing.assert_array_equal(values_of(rows), expected)


@pytest.mark.parametrize("between", ["flush", "release"])
def test_what_is_written_between_steps_changes_nothing(make_rows, between):
    rows, rng = make_rows(), np.random.default_rng(5)
    for step, resident in enumerate(STEPS):
        train(rows, step, resident, [], rng)
        checksums = getattr(rows, between)()
        for k, found in checksums.items():
            assert crc32c((rows.learned.path / "c" / str(k) / "0").read_bytes()) == found
    np.testing.assert_array_equal(values_of(rows), in_a_plain_table(STEPS)[1])


def test_flushed_rows_stay_resident(make_rows):
    rows, rng = make_rows(), np.random.default_rng(5)
    train(rows, 0, STEPS[0], [], rng)
    rows.flush()
    before = rows.counters()["bytes_read"]
    batches = batches_of(1, STEPS[0], rng)
    rows.mark_changed()
    stages = rows.pipeline(
        lambda batch: PreparedBatch(batch, None, [rows.rows_of(0, batch.nodes)], {"more": (batch.nodes % 4).astype(np.float32)}),
        learn,
    )
    assert len(list(run(batches, stages, 0, lambda: False))) == len(batches)
    assert rows.counters()["bytes_read"] == before
    np.testing.assert_array_equal(values_of(rows), in_a_plain_table([STEPS[0], STEPS[0]])[1])


def test_a_loss_that_is_no_number_is_told_with_its_batch(make_rows):
    rows = make_rows()
    rows.enter(STEPS[0], [])

    def diverged(prepared, arrived):
        loss = arrived.values().max().double() * float("nan")
        arrived.check(loss, prepared.batch)
        return loss, [arrived.values()[:, :DIM]]

    stages = rows.pipeline(lambda batch: PreparedBatch(batch, None, [rows.rows_of(0, batch.nodes)]), diverged)
    with pytest.raises(RunError, match=r"the loss is nan in epoch 0, step 3, batch 0"):
        list(run(batches_of(3, STEPS[0], np.random.default_rng(0)), stages, 0, lambda: False))
