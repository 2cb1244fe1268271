"""First rows follow from the seed and what they are drawn from, not from how much memory there is to make them in."""

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.popularity import popularity
from marius_lite.nn.biases import FACTOR
from marius_lite.nn.decoders import decoder_class
from marius_lite.rows import first_rows
from marius_lite.rows.first_rows import draw_of, initialise
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable

NODES, ROWS, DIM, WIDTH = 90, 25, 6, 8


def made(folder, slots, *sets):
    """The values and the other columns of all first rows."""
    table = RowTable.create(folder, NODES, WIDTH, ROWS)
    with PartitionBuffer(table, slots, threads=1, direct=False) as buffer:
        checksums = initialise(buffer, load(sets=[f"model.dim={DIM}", *sets]))
    assert checksums.keys() == set(range(4))
    rows = np.concatenate([table.expecting(checksums).read_rows(k, np.arange(table.size(k)), slice(0, WIDTH)) for k in range(4)])
    return rows[:, :DIM], rows[:, DIM:]


def test_slots_and_blocks_change_no_bit(tmp_path, monkeypatch):
    values, state = made(tmp_path / "one", 4)
    assert not state.any()
    assert len(np.unique(values, axis=0)) == NODES
    np.testing.assert_array_equal(made(tmp_path / "two", 2)[0], values)
    monkeypatch.setattr(first_rows, "INITIAL_BLOCK", 7)
    np.testing.assert_array_equal(made(tmp_path / "three", 3)[0], values)


def test_another_seed_is_another_beginning(tmp_path):
    assert (made(tmp_path / "one", 4)[0] != made(tmp_path / "two", 4, "training.seed=1")[0]).all()


def test_rows_are_as_wide_as_asked(tmp_path):
    values, _ = made(tmp_path / "rows", 4, "init.nodes.kind=uniform", "init.nodes.scale=0.25")
    assert 0.2 < np.abs(values).max() <= 0.25


@pytest.mark.parametrize("decoder", ["dot", "complex", "transe", "rotate"])
def test_what_is_not_asked_for_is_the_decoders_own(decoder):
    usual = decoder_class(decoder).node_draw(DIM)
    assert draw_of(load().init.nodes, usual) == usual
    assert draw_of(load(sets=["init.nodes.scale=2"]).init.nodes, usual).kind == usual.kind


def test_biases_begin_with_how_often_a_node_is_an_answer(tiny_dataset, tmp_path):
    dataset = Dataset.open(tiny_dataset)
    edges, partitioning = dataset.edges("train"), dataset.partitioning
    table = RowTable.create(tmp_path / "rows", partitioning.nodes, WIDTH, partitioning.rows)
    sets = ["model.dim=6", "model.decoder=dot", "model.biases=true", "optimizer.rows.name=adagrad"]
    with PartitionBuffer(table, 2, threads=1, direct=False) as buffer:
        table = table.expecting(initialise(buffer, load(sets=sets), edges))
    for k in range(partitioning.partitions):
        rows = table.read_rows(k, np.arange(table.size(k)), slice(0, WIDTH))
        ratios = (popularity(edges, k) + 1) / (edges.total / partitioning.nodes + 1)
        np.testing.assert_allclose(np.exp(FACTOR * rows[:, 4:6].T), ratios, rtol=1e-4)
        assert np.abs(rows[:, :4]).max() < 0.01
