"""Labels of several classes are read row by row, and never out of a file that was changed."""

import numpy as np
import pytest

from marius_lite.errors import RunError, UserError
from marius_lite.graph import Dataset
from marius_lite.graph.manifest import LabelShape
from marius_lite.graph.node_columns import LABELS
from marius_lite.preprocess import make_dataset

NODES, CLASSES = 100, 5


@pytest.fixture
def labelled(tmp_path):
    """100 nodes in 3 partitions; node n has the classes of the bits of n, every tenth has no label."""
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(0, NODES, (300, 2)))
    np.save(tmp_path / "y.npy", np.array([bits(n) for n in range(NODES)]))
    return make_dataset(tmp_path / "e.npy", tmp_path / "d", labels=tmp_path / "y.npy", partitions=3, node_split="0.5,0.2,0.3")


def bits(n):
    return [-1] * CLASSES if n % 10 == 0 else [n >> c & 1 for c in range(CLASSES)]


def test_rows_are_those_asked_for(labelled):
    for k in range(3):
        raw, read = labelled.raw_ids(*(labelled.partitioning.range(k)[e] + (e < 0) for e in (0, -1))), labelled.labels.reader(k)
        for offsets in ([3, 0, 3], [], list(range(len(raw)))):
            found = read(np.array(offsets, np.int64))
            assert found.dtype == np.int8
            assert found.tolist() == [bits(raw[each].as_py()) for each in offsets]
    assert labelled.labels.room(7).shape == (7, CLASSES)


def test_every_changed_byte_is_noticed(labelled):
    labelled.verify()
    path = labelled.path / LABELS / "c/1/0"
    sound = path.read_bytes()
    for place in range(0, len(sound), 7):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        dataset = Dataset.open(labelled.path)
        with pytest.raises(UserError, match=r"tables/labels/c/1/0.* checksum"):
            dataset.verify()
        with pytest.raises(RunError, match="tables/labels/c/1/0: does not match its checksum"):
            dataset.labels.reader(1)(np.array([0]))
        assert len(dataset.labels.reader(0)(np.array([0]))) == 1
    path.write_bytes(sound)
    Dataset.open(labelled.path).verify()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": LabelShape(classes=4)}, r"labels: nodes, rows of a chunk, .* are .*\[0, 5\]\), by the manifest .*\[0, 4\]"),
        ({"labels": None}, "zarr.json: multi_label without labels"),
        ({"multi_label": None}, "describes no array|expected one dimension"),
    ],
)
def test_verify_compares_with_the_manifest(labelled, fields, message):
    with pytest.raises(UserError, match=message):
        Dataset(labelled.path, labelled.manifest.model_copy(update=fields)).verify()
