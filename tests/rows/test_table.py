"""The table of learned rows: what is opened is what was made for the same configuration, and nothing else."""

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.rows.first_rows import initialise
from marius_lite.rows.table import create_table, open_table, table_bytes
from marius_lite.storage.buffer import PartitionBuffer

CONFIG = load(sets=["model.dim=6", "optimizer.rows.name=adagrad"])


@pytest.fixture
def dataset(tiny_dataset):
    return Dataset.open(tiny_dataset)


def test_it_opens_as_it_was_made(dataset, tmp_path):
    table = create_table(tmp_path / "live", dataset, CONFIG)
    with PartitionBuffer(table, 4, threads=1, direct=False) as buffer:
        checksums = initialise(buffer, CONFIG)
    opened = open_table(tmp_path / "live", dataset, CONFIG, checksums)
    assert (opened.path, opened.nodes, opened.width) == (table.path, dataset.manifest.nodes, 12)
    rows = np.empty((opened.size(0), 6), np.float32)
    opened.read_into(0, rows)
    assert rows.any()
    checksums[0] ^= 1
    with pytest.raises(Exception, match="checksum"):
        open_table(tmp_path / "live", dataset, CONFIG, checksums).read_into(0, rows)


def test_its_bytes_are_known_before_it_is_made(dataset, tmp_path):
    with PartitionBuffer(create_table(tmp_path / "live", dataset, CONFIG), 4, threads=1, direct=False) as buffer:
        initialise(buffer, CONFIG)
    files = [path for path in (tmp_path / "live/nodes").rglob("*") if path.is_file() and path.name != "zarr.json"]
    assert sum(path.stat().st_size for path in files) == table_bytes(dataset, CONFIG)


@pytest.mark.parametrize("other", ["model.dim=18", "optimizer.rows.name=adam"])
def test_a_table_of_another_run_is_refused(dataset, tmp_path, other):
    create_table(tmp_path / "live", dataset, CONFIG)
    with pytest.raises(UserError, match="300 rows of 12 float32, 75 in a file, the run has 300 of"):
        open_table(tmp_path / "live", dataset, load(sets=["model.dim=6", "optimizer.rows.name=adagrad", other]), {})


def test_features_alone_need_none(dataset, tmp_path):
    config = load(sets=["model.encoder=sage", "model.inputs=features", "task=node_classification"])
    assert create_table(tmp_path / "live", dataset, config) is None
    assert open_table(tmp_path / "live", dataset, config, {}) is None
    assert table_bytes(dataset, config) == 0
