"""Raw ids in an index folder are those of the dataset, and are found by their hashes."""

import numpy as np
import pytest

import marius_lite as ml
from marius_lite.errors import RunError
from marius_lite.search.index_folder import IndexWriter
from marius_lite.search.node_names import NAMES, NodeNames, names_bytes, write_names


@pytest.fixture(params=["int", "str"])
def grown(request, tmp_path):
    """A dataset whose names are in two segments."""
    rng, template = np.random.default_rng(0), "%d\t%d" if request.param == "int" else "ä%d\tä%d"
    for name, low, size in (("e", 0, 500), ("new", 450, 40)):
        np.savetxt(tmp_path / name, rng.integers(low, low + size, (4 * size, 2)), template, encoding="utf-8")
    ml.make_dataset(tmp_path / "e", tmp_path / "d", partitions=4)
    dataset = ml.update_dataset(tmp_path / "d", tmp_path / "new")
    assert dataset.manifest.ids == request.param
    return dataset


@pytest.fixture
def index(grown, tmp_path):
    (tmp_path / "index").mkdir()
    writer = IndexWriter(tmp_path / "index")
    write_names(writer, grown)
    return writer.finished({})


def test_names_are_those_of_the_dataset(grown, index):
    names, every = NodeNames.open(index, grown), grown.raw_ids(0, grown.manifest.nodes).to_pylist()
    nodes = np.random.default_rng(1).integers(0, len(every), 200)
    assert names.raw(nodes).to_pylist() == [every[node] for node in nodes]
    assert (names.lookup([every[node] for node in nodes]) == nodes).all()
    absent = ["123456789", every[3], "77777777"]
    assert names.lookup(absent).tolist() == [-1, 3, -1]
    assert names.lookup([]).size == 0
    assert index.bytes <= names_bytes(grown) + 1000


def test_a_changed_name_is_noticed(grown, index):
    data = bytearray((index.path / NAMES).read_bytes())
    data[5] ^= 1
    (index.path / NAMES).write_bytes(data)
    with pytest.raises(RunError, match="names: does not match its checksum"):
        NodeNames.open(index, grown)


def test_an_index_of_an_earlier_version_has_none(grown, tmp_path):
    (tmp_path / "old").mkdir()
    assert NodeNames.open(IndexWriter(tmp_path / "old").finished({}), grown) is None
