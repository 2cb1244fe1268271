"""Buffers and tables of a run are those that its inputs ask for: features, then learned rows."""

import pytest

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.rows.open import host_rows, host_tables, open_buffers
from marius_lite.rows.table import create_table

COMMON = ["model.dim=6", "training.threads=1", "storage.direct_io=false"]
OF_INPUTS = {
    "features": ["model.encoder=sage", "model.inputs=features"],
    "embeddings": ["model.inputs=embeddings"],
    "both": ["model.encoder=sage", "model.inputs=both"],
}


@pytest.fixture(params=OF_INPUTS)
def opened(request, featured, tmp_path):
    """(inputs, dataset, configuration, buffers)"""
    dataset, config = Dataset.open(featured), load(sets=[*COMMON, *OF_INPUTS[request.param]])
    buffers = open_buffers(dataset, config, 2, create_table(tmp_path / "live", dataset, config))
    yield request.param, dataset, config, buffers
    buffers.close()


def test_what_there_is_stands_in_order(opened):
    inputs, dataset, _, buffers = opened
    assert (buffers.features is not None) == (inputs != "embeddings")
    assert (buffers.learned is not None) == (inputs != "features")
    assert buffers.all == [buffer for buffer in (buffers.features, buffers.learned) if buffer is not None]
    assert buffers.main is buffers.all[-1]
    assert all(buffer.table.nodes == dataset.manifest.nodes and buffer.slots == 2 for buffer in buffers.all)


def test_only_learned_rows_have_a_step(opened):
    inputs, _, config, buffers = opened
    tables = host_tables(buffers, config)
    assert [table.step is not None for table in tables] == {"features": [False], "embeddings": [True], "both": [False, True]}[
        inputs
    ]
    assert [table.columns for table in tables] == {"features": [8], "embeddings": [6], "both": [8, 6]}[inputs]
    assert all(table.rows is buffer.rows for table, buffer in zip(tables, buffers.all))


def test_rows_on_the_host_go_by_the_datasets_partitions(opened):
    _, dataset, config, buffers = opened
    rows = host_rows(buffers, dataset, config)
    rows.enter((1, 3), ())
    assert rows.base_rows().keys() == {1, 3}
    assert {rows.node_ids(rows.base_rows()[k]) for k in (1, 3)} == {dataset.partitioning.range(k).start for k in (1, 3)}
