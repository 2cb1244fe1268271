"""Whole collections in one .npz archive: edges, features, labels and node lists by their usual names, or by key."""

from collections import Counter

import numpy as np
import pytest
from preprocess_tools import decoded, make, shared

from marius_lite.errors import UserError


def feature_rows(archive):
    """The dense rows of an archive's CSR features, the plain way."""
    rows, width = archive["feat_shape"]
    dense = np.zeros((rows, width), archive["feat_data"].dtype)
    counts = np.diff(archive["feat_indptr"])
    dense[np.repeat(np.arange(rows), counts), archive["feat_indices"]] = archive["feat_data"]
    return dense


def test_cora(tmp_path):
    path = shared("cora/cora.npz")
    dataset = make(
        tmp_path / "d", path, features=path, labels=path, train_nodes=path, valid_nodes=path, test_nodes=path, partitions=4
    )
    dataset.verify()
    archive = np.load(path)
    raw = dataset.raw_ids(0, 2708).to_numpy()
    assert sorted(decoded(dataset).elements()) == sorted((s, "", d) for s, d in archive["edges"].tolist())
    assert np.array_equal(np.concatenate([dataset.labels.read(k) for k in range(4)]), archive["labels"][raw])
    assert np.array_equal(np.concatenate([dataset.features.read(k) for k in range(4)]), feature_rows(archive)[raw])
    assert (dataset.features.width, dataset.labels.classes) == (1433, 7)
    assert dataset.node_counts == {"train": 140, "valid": 500, "test": 1000}
    assert dataset.manifest.training_partitions == 1
    for name, key in (("train", "train"), ("valid", "val"), ("test", "test")):
        assert sorted(raw[dataset.node_split(name)]) == sorted(archive[key])
    assert [source.name for source in dataset.manifest.sources] == ["cora.npz"]


def test_coauthor_physics(tmp_path):
    path = shared("coauthor-physics/coauthor_physics.npz")
    dataset = make(
        tmp_path / "d",
        f"{path}:edges",
        features=f"{path}:feat",
        labels=f"{path}:labels",
        node_split="0.6,0.2,0.2",
        feature_dtype="int8",
        memory="64MiB",
    )
    archive = np.load(path)
    assert dataset.edges("train").total == len(archive["edges"])
    assert (dataset.manifest.nodes, dataset.features.width, dataset.labels.classes) == (34493, 8415, 5)
    ids = dataset.partitioning.range(1)
    raw = dataset.raw_ids(ids.start, ids.stop).to_numpy()
    assert np.array_equal(dataset.labels.read(1), archive["labels"][raw])
    largest = np.zeros(8415, np.float32)
    np.maximum.at(largest, archive["feat_indices"], archive["feat_data"])
    for offset in range(0, len(ids), 500):
        row = slice(archive["feat_indptr"][raw[offset]], archive["feat_indptr"][raw[offset] + 1])
        expected = np.zeros(8415, np.float32)
        expected[archive["feat_indices"][row]] = archive["feat_data"][row]
        found = dataset.features.decode(dataset.features.table.read_rows(1, [offset], slice(0, 8415)))[0]
        assert (np.abs(found - expected) <= largest / 253).all()


def test_names_as_pytorch_geometric_has_them(tmp_path):
    file, rng = tmp_path / "g.npz", np.random.default_rng(1)
    known = {"edge_index": rng.integers(0, 40, (2, 90)), "x": rng.random((40, 3), np.float32), "y": np.arange(40) % 4}
    masks = {f"{name}_mask": np.arange(40) % 3 == i for i, name in enumerate(("train", "val", "test"))}
    np.savez(file, **known, **masks)
    dataset = make(tmp_path / "d", file, features=file, labels=file, train_nodes=file, valid_nodes=file, test_nodes=file)
    assert decoded(dataset).total() == 90
    assert (dataset.features.width, dataset.labels.classes) == (3, 4)
    assert dataset.node_counts == {"train": 14, "valid": 13, "test": 13}
    kinds = np.arange(90) % 5
    np.savez(file, **known, edge_type=kinds)
    expected = Counter((s, r, d) for s, d, r in zip(*known["edge_index"].tolist(), kinds.tolist()))
    assert decoded(make(tmp_path / "typed", file)) == expected
    assert make(tmp_path / "named", f"{file}:edge_index").manifest.relations == 1
    np.savez(file, **known, edge_type=kinds[1:])
    with pytest.raises(UserError, match="edge_type: the relation of each edge by its name"):
        make(tmp_path / "short", file)
    np.savez(file, indptr=np.array([0, 1, 2]), indices=np.array([1, 0]), data=np.ones(2), shape=np.array([2, 2]), **known)
    assert decoded(make(tmp_path / "beside", file)).total() == 90


def test_names_that_nobody_knows_are_told(tmp_path):
    np.savez(tmp_path / "g.npz", a=np.array([[0, 1]]), b=np.array([[0, 1]]))
    with pytest.raises(UserError, match=r"the archive has a, b: name one as g.npz:KEY \(without a key edges or edge_index is"):
        make(tmp_path / "d", tmp_path / "g.npz")


@pytest.fixture
def archive(tmp_path):
    np.savez(
        tmp_path / "g.npz",
        edges=np.array([[0, 1], [1, 2]], np.int32),
        more=np.array([[2, 0]]),
        typed=np.array([[0, 5, 1]]),
        turned=np.array([[0, 1], [1, 2]]).T,
    )
    return tmp_path / "g.npz"


def test_edges_by_key(tmp_path, archive):
    assert make(tmp_path / "a", archive).edges("train").total == 2
    both = make(tmp_path / "b", [f"{archive}:edges", f"{archive}:more"])
    assert decoded(both) == {(0, "", 1): 1, (1, "", 2): 1, (2, "", 0): 1}
    assert decoded(make(tmp_path / "c", f"{archive}:typed")) == {(0, 5, 1): 1}
    assert decoded(make(tmp_path / "t", f"{archive}:turned")) == {(0, "", 1): 1, (1, "", 2): 1}  # stored column after column
    assert make(tmp_path / "d", f"{archive}:edges", test=f"{archive}:more").edges("test").total == 1
    assert make(tmp_path / "g", f"{tmp_path}/*.npz:more").edges("train").total == 1


def test_edges_that_are_none(tmp_path, archive):
    for edges, message in {
        f"{archive}:none": r"g\.npz:none: which array\? the archive has edges, more, typed, turned",
        f"{tmp_path}/x.npz:edges": r"x\.npz:edges: no such file",
    }.items():
        with pytest.raises(UserError, match=message):
            make(tmp_path / "d", edges)
    with pytest.raises(UserError, match=r"g\.npz:edges: named twice"):
        make(tmp_path / "d", [f"{archive}:edges", f"{archive}:edges"])
    np.savez(tmp_path / "bad.npz", edges=np.array([[0, 1], [1, -2]]))
    with pytest.raises(UserError, match=r"bad\.npz:edges: row 1: dst: negative id"):
        make(tmp_path / "d", tmp_path / "bad.npz")
    assert not (tmp_path / "d").exists()
