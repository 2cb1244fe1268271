"""Labels and splits of a dataset, paged by partition."""

import numpy as np
import pytest

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.manifest import LabelShape
from marius_lite.graph.node_columns import LABELS, SPLIT
from marius_lite.preprocess import make_dataset


@pytest.fixture
def labelled(tmp_path):
    """100 nodes in 3 partitions; the label is the raw id, every fifth node is for training."""
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(0, 100, (300, 2)))
    np.save(tmp_path / "y.npy", np.arange(100))
    np.save(tmp_path / "train.npy", np.arange(0, 100, 5))
    np.save(tmp_path / "test.npy", np.arange(1, 100, 5))
    return make_dataset(
        tmp_path / "e.npy",
        tmp_path / "d",
        labels=tmp_path / "y.npy",
        train_nodes=tmp_path / "train.npy",
        test_nodes=tmp_path / "test.npy",
        partitions=3,
    )


def test_each_partition(labelled):
    for k in range(3):
        ids = labelled.partitioning.range(k)
        found = labelled.labels.read(k)
        assert (found.dtype, found.shape) == (np.int64, (len(ids),))
        assert found.tolist() == labelled.raw_ids(ids.start, ids.stop).to_pylist()
    for k in (-1, 3):
        with pytest.raises(ValueError, match=f"partition {k}: there are 3"):
            labelled.labels.read(k)


def test_splits_are_ascending_node_ids(labelled):
    raw = labelled.raw_ids(0, 100).to_numpy()
    for name, rest in (("train", 0), ("test", 1)):
        ids = labelled.node_split(name)
        assert (np.diff(ids) > 0).all()
        assert sorted(raw[ids]) == list(range(rest, 100, 5))
    assert labelled.node_counts == {"train": 20, "test": 20}
    with pytest.raises(UserError, match="no node split 'valid': it has train, test"):
        labelled.node_split("valid")


def test_training_nodes_need_only_their_partitions(labelled):
    assert labelled.manifest.training_partitions == 1
    (labelled.path / SPLIT / "c/2").write_bytes(bytes(34))
    assert labelled.node_split("train").tolist() == list(range(20))
    with pytest.raises(UserError, match="tables/split/c/2: does not match its checksum"):
        labelled.node_split("test")


@pytest.mark.parametrize("column", [LABELS, SPLIT])
def test_every_changed_byte_is_noticed(labelled, column):
    path = labelled.path / column / "c/1"
    data = path.read_bytes()
    for place in (0, len(data) - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(UserError, match="does not match its checksum"):
            labelled.verify()
        with pytest.raises(UserError, match="does not match its checksum"):
            labelled.labels.read(1) if column == LABELS else labelled.node_split("test")
    path.write_bytes(data[:-1])
    with pytest.raises(UserError, match=r"c/1: \d+ bytes"):
        Dataset.open(labelled.path)


def test_every_file_is_recorded(labelled):
    there = {path.relative_to(labelled.path).as_posix() for path in labelled.path.rglob("*") if path.is_file()}
    assert there == {*labelled.manifest.files, "zarr.json", "report.json"}


def test_a_dataset_without_labels(dataset):
    assert (dataset.labels, dataset.node_counts) == (None, {})
    with pytest.raises(UserError, match="it has none; preprocess makes them with --train-nodes"):
        dataset.node_split("train")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": LabelShape(classes=50)}, r"labels: node \d+ has a label outside 50 classes"),
        ({"node_split": {"train": 20, "test": 21}}, "split: 20 nodes for test, the manifest says 21"),
        ({"node_split": {"train": 20, "valid": 1}}, "split: 0 nodes for valid, the manifest says 1"),
    ],
)
def test_verify_compares_with_the_manifest(labelled, fields, message):
    labelled.verify()
    with pytest.raises(UserError, match=message):
        Dataset(labelled.path, labelled.manifest.model_copy(update=fields)).verify()
