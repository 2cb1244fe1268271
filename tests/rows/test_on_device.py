"""Rows on a device: what was trained comes back when its partition leaves, and rates are heeded, whatever the path."""

import numpy as np
import pytest
import torch
from emulated import accelerator
from open_parts import ENCODER, LINKS, open_parts

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.pipeline.batches import run
from marius_lite.rows.batch import PreparedBatch
from marius_lite.rows.first_rows import initialise
from marius_lite.rows.open import device_rows, open_buffers
from marius_lite.rows.table import create_table
from marius_lite.train import build
from marius_lite.types import NodeBatch

PATHS = {"zero_copy": [], "staged": [], "bulk": [], "cached": ["storage.device_path=zero_copy", "storage.device_cache=2kB"]}


@pytest.fixture(params=PATHS)
def rows(request, host_library, tiny_dataset, tmp_path):
    """Learned rows of `tiny_dataset` by plain SGD, in the way of one path."""
    dataset = Dataset.open(tiny_dataset)
    config = load(
        sets=[
            "model.dim=8",
            "model.inputs=embeddings",
            "optimizer.rows.name=sgd",
            "optimizer.rows.lr=1",
            "training.threads=1",
            "storage.capacity=3",
            *(PATHS[request.param] or [f"storage.device_path={request.param}"]),
        ]
    )
    buffers = open_buffers(dataset, config, 3, create_table(tmp_path / "live", dataset, config))
    initialise(buffers.main, config)
    made = device_rows(accelerator(host_library)[0], buffers, dataset, config, [])
    yield made
    made.close()


def train(rows, nodes):
    """A batch whose loss is the sum of its nodes' numbers: at rate 1 each becomes less by 1."""
    rows.cache_most_touched(lambda: nodes)
    rows.mark_changed()
    stages = rows.pipeline(
        lambda batch: PreparedBatch(batch, None, [rows.rows_of(0, batch.nodes)]),
        lambda prepared, arrived: (arrived.values().sum().double(), [torch.ones_like(arrived.values())]),
    )
    assert len(list(run([NodeBatch(0, 0, 0, nodes)], stages, 0, lambda: False))) == 1


def values(rows, nodes):
    k = nodes[0] // rows.partitioning.rows
    return rows.learned.expecting(rows.flush()).read_rows(k, nodes - k * rows.partitioning.rows, slice(0, 8))


def test_trained_rows_come_back(rows):
    first, other = np.array([0, 3, 7]), np.array([80, 90])
    before = values(rows, first), values(rows, other)
    rows.enter((0, 1), ())
    train(rows, np.concatenate([first, other]))
    rows.enter((1, 2), ())
    train(rows, other)
    rows.release()
    np.testing.assert_allclose(values(rows, first), before[0] - 1, atol=1e-6)
    np.testing.assert_allclose(values(rows, other), before[1] - 2, atol=1e-6)


def test_at_rate_0_rows_stay(rows):
    nodes = np.array([5, 6])
    before = values(rows, nodes)
    for each in rows.rated():
        each.rate = 0.0
    rows.enter((0,), ())
    train(rows, nodes)
    np.testing.assert_array_equal(values(rows, nodes), before)


def test_buffers_are_closed_even_where_the_device_fails(rows, monkeypatch):
    def failing():
        raise RuntimeError("the device is gone")

    with monkeypatch.context() as patch:
        patch.setattr(rows._batches, "close", failing)
        with pytest.raises(RuntimeError, match="the device is gone"):
            rows.close()
    assert len(rows.main.rows) == 0


@pytest.mark.parametrize(
    ("sets", "in_turn"),
    [(LINKS, True), ([*LINKS, "negatives.count=5000"], False), ([*LINKS, *ENCODER], False)],
    ids=["few rows", "many", "neighbours"],
)
def test_only_batches_of_few_rows_are_prepared_in_turn(host_library, monkeypatch, featured, sets, in_turn):
    """How many rows neighbours take is not known before they are drawn, which a thread does ahead."""
    monkeypatch.setattr(build, "open_accelerator", lambda device: accelerator(host_library)[0])
    with open_parts(featured, *sets) as parts:
        work = parts.work
        work.enter(work.plan(0).steps[0], None)
        assert work.stages().in_turn == in_turn
