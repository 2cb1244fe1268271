"""An array with a column for each class gives each node any number of them; whatever is wrong with it is one line."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_rows import csr, formats
from preprocess_tools import data_files, make

from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.multi_labels import MultiLabels
from marius_lite.preprocess.readers.feature_rows import open_rows
from marius_lite.preprocess.readers.multi_labels import MultiLabelRows

WITHOUT = {"b": None, "i": -1, "u": None, "f": np.nan}


@st.composite
def labelled(draw):
    """(labels as stored, an array that says so): rows of 0 and 1, some of them of nothing."""
    nodes, classes, dtype = (
        draw(st.integers(1, 40)),
        draw(st.integers(2, 20)),
        np.dtype(draw(st.sampled_from(["?", "i1", ">i4", "<i8", "u1", "f2", "<f4", ">f8"]))),
    )
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    stored = rng.integers(0, 2, (nodes, classes)).astype(np.int8)
    stored[rng.random(nodes) < 0.2] = 0
    array = stored.astype(dtype)
    if WITHOUT[dtype.kind] is not None:
        for row in np.flatnonzero(rng.random(nodes) < 0.3)[: nodes - 1]:
            stored[row] = -1
            array[row, rng.integers(classes)] = draw(st.sampled_from([WITHOUT[dtype.kind], -1]))
    return stored, array


@settings(max_examples=25, deadline=None)
@given(labelled(), st.integers(1, 6), st.integers(0, 3), st.booleans())
def test_each_node_has_its_classes(data, partitions, seed, named):
    stored, array = data
    with tempfile.TemporaryDirectory() as name:
        folder, nodes = Path(name), len(stored)
        raw = [f"n{k}" for k in range(nodes)] if named else list(range(nodes))
        (folder / "e.tsv").write_text("".join(f"{s}\t{d}\n" for s, d in zip(raw, raw[::-1])))
        np.save(folder / "y.npy", array)
        options = {"labels": folder / "y.npy"}
        if named:
            (folder / "ids").write_text("\n".join(raw))
            options["node_ids"] = folder / "ids"
        train = [raw[k] for k in np.flatnonzero(stored[:, 0] >= 0)[::2]]
        (folder / "train").write_text("".join(f"{each}\n" for each in train))
        dataset = make(
            folder / "d", folder / "e.tsv", partitions=partitions, seed=seed, header="no", train_nodes=folder / "train", **options
        )
        dataset.verify()
        order = [raw.index(each) for each in dataset.raw_ids(0, nodes).to_pylist()]
        sizes = [dataset.partitioning.size(k) for k in range(dataset.partitioning.partitions)]
        found = np.concatenate([dataset.labels.reader(k)(np.arange(size)) for k, size in enumerate(sizes)])
        np.testing.assert_array_equal(found, stored[order])
        assert {raw[order[k]] for k in dataset.node_split("train")} == set(train)
        opened = Dataset.open(folder / "d")
        assert isinstance(opened.labels, MultiLabels)
        assert (opened.manifest.multi_label, opened.manifest.labels.classes) == (True, stored.shape[1])
        assert opened.class_names == [str(c) for c in range(stored.shape[1])]
        assert json.loads((folder / "d/report.json").read_text())["labels"] == {
            "classes": stored.shape[1],
            "labelled": int((stored[:, 0] >= 0).sum()),
            "multi_label": True,
        }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.tsv").write_text("0\t1\n1\t2\n2\t3\n")
    return tmp_path


def test_one_column_is_one_class_a_node_as_before(folder):
    np.save(folder / "y.npy", np.array([[1], [0], [1], [-1]]))
    dataset = make(folder / "d", folder / "e.tsv", labels=folder / "y.npy", partitions=1)
    assert dataset.manifest.multi_label is None
    assert "multi_label" not in json.loads((folder / "d/zarr.json").read_text())["attributes"]["marius_lite"]
    assert sorted(dataset.labels.read(0).tolist()) == [-1, 0, 1, 1]


def test_a_dataset_does_not_depend_on_the_memory_that_made_it(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "e.npy", rng.integers(0, 5000, (20_000, 2)))
    labels = rng.integers(0, 2, (5000, 700)).astype(np.float32)
    np.savez_compressed(tmp_path / "y.npz", x=rng.normal(size=(5000, 3)).astype(np.float32), y=labels)
    for memory in ("1500kB", "1GB"):
        made = make(
            tmp_path / memory,
            tmp_path / "e.npy",
            features=tmp_path / "y.npz",
            labels=tmp_path / "y.npz",
            partitions=4,
            memory=memory,
            node_split="0.5,0.2,0.3",
        )
        made.verify()
    assert data_files(tmp_path / "1500kB") == data_files(tmp_path / "1GB")
    raw = made.raw_ids(0, made.partitioning.size(0)).to_numpy()
    np.testing.assert_array_equal(made.labels.reader(0)(np.arange(len(raw))), labels[raw])


def test_names_of_classes_stand_beside_the_labels(folder):
    labels = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    np.savez(folder / "y.npz", y=labels, class_names=np.array(["red", "gr\u00fcn"]))
    dataset = make(folder / "d", folder / "e.tsv", labels=folder / "y.npz", partitions=1)
    dataset.verify()
    assert dataset.manifest.class_names == ("red", "gr\u00fcn")
    for names, message in (
        (["a"], r"y.npz:class_names: an array of <U1, shape \(1,\), for 2 classes"),
        ([1, 2], r"y.npz:class_names: an array of int64"),
        (["a", "a"], "a name is empty or stands twice"),
    ):
        np.savez(folder / "y.npz", y=labels, class_names=np.array(names))
        with pytest.raises(UserError, match=message):
            make(folder / "d2", folder / "e.tsv", labels=folder / "y.npz")


def test_every_format_of_rows_makes_the_same_dataset(tmp_path):
    rng = np.random.default_rng(2)
    labels = (rng.random((300, 7)) < 0.2).astype(np.float32)
    np.save(tmp_path / "e.npy", rng.integers(0, 300, (900, 2)))
    files = [file for file in formats(tmp_path, labels, 32) if "csr" not in file and "columns" not in file]
    np.savez(tmp_path / "scipy.npz", format=b"csr", **csr(labels))
    adjacency = csr(np.eye(300), "adj_")
    np.savez(tmp_path / "named.npz", **adjacency, **csr(labels, "y_"))
    np.savez(tmp_path / "other.npz", **adjacency, **csr(labels, "classes_"))
    found = {}
    for file in [*files, "scipy.npz", "named.npz", "other.npz:classes"]:
        given = f"{file}:x" if file == "several.npz" else file
        made = make(tmp_path / f"d-{file}", tmp_path / "e.npy", labels=tmp_path / given, partitions=3, memory="1MiB")
        made.verify()
        assert isinstance(made.labels, MultiLabels)
        found[file] = {path: data for path, data in data_files(made.path).items() if path != Path("zarr.json")}
    assert len(found) == 11
    assert all(data == found["a.npy"] for data in found.values())


def test_a_matrix_that_is_not_named_as_labels_is_none(tmp_path):
    np.savez(tmp_path / "y.npz", **csr(np.eye(4), "adj_"), z=np.arange(4))
    (tmp_path / "e.tsv").write_text("0\t1\n1\t2\n2\t3\n")
    with pytest.raises(UserError, match="which array"):
        make(tmp_path / "d", tmp_path / "e.tsv", labels=tmp_path / "y.npz")


def test_a_matrix_stored_by_column_is_refused(tmp_path):
    np.savez(tmp_path / "y.npz", format=b"csc", **csr(np.eye(4)[[1, 2, 3, 0]]))
    (tmp_path / "e.tsv").write_text("0\t1\n1\t2\n2\t3\n")
    for option in ("labels", "features"):
        with pytest.raises(UserError, match=r"y.npz: a matrix in csc format: save matrix.tocsr\(\)"):
            make(tmp_path / "d", tmp_path / "e.tsv", **{option: tmp_path / "y.npz"})


def test_rows_come_in_blocks_however_few(tmp_path):
    labels = np.random.default_rng(1).integers(0, 2, (17, 3)).astype(bool)
    np.save(tmp_path / "y.npy", labels)
    rows = MultiLabelRows(open_rows(tmp_path / "y.npy"))
    found = list(rows.blocks(4))
    assert [first for first, _ in found] == [0, 4, 8, 12, 16]
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), labels)


FEW = np.zeros((4, 3))
WRONG = {
    "2": (np.array([[0, 1, 0]] * 3 + [[0, 2, 0]]), r"y.npy: row 3, class 1: 2: an array of shape \(nodes, classes\) holds 1 for"),
    "-3": (np.array([[0, -3], [0, 0], [1, 1], [0, 0]], np.int8), r"y.npy: row 0, class 1: -3: an array"),
    "a half": (FEW + 0.5, r"y.npy: row 0, class 0: 0.5: an array"),
    "2 beside -1": (np.array([[0, 1]] * 3 + [[-1, 2]]), r"y.npy: row 3, class 1: 2: an array"),
    "infinity": (FEW - np.inf, r"row 0, class 0: -inf: an array"),
    "names": (np.full((4, 2), "a"), r"an array of <U1, shape \(4, 2\): save a one-dimensional array of integers or names"),
    "no classes": (np.zeros((4, 0)), r"an array of float64, shape \(4, 0\): save a one-dimensional array"),
    "too many": (np.zeros((4, 65_537), bool), r"65,537 columns, there may be 65,536 classes: an array of shape"),
    "columns": (np.asfortranarray(FEW), r"stored column after column \(Fortran order\): save numpy.ascontiguousarray\(array\)"),
    "no label": (FEW - 1, r"y.npy: no row is a label, all have -1 or NaN: give the classes of some nodes"),
    "three dimensions": (np.zeros((4, 2, 2)), r"an array of float64, shape \(4, 2, 2\): save a one-dimensional array"),
    "a node too few": (FEW[:3], r"node 3 has no label row, .*y.npy has rows 0 to 2"),
}


@pytest.mark.parametrize(("array", "message"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_one_line_and_leaves_nothing(folder, array, message):
    np.save(folder / "y.npy", array)
    with pytest.raises(UserError, match=message) as raised:
        make(folder / "d", folder / "e.tsv", labels=folder / "y.npy")
    assert "\n" not in str(raised.value)
    assert sorted(path.name for path in folder.iterdir()) == ["e.tsv", "y.npy"]


def test_a_node_without_a_label_is_of_no_split_one_without_a_class_may_be(folder):
    np.save(folder / "y.npy", np.array([[0, 0], [1, 1], [-1, 0], [1, 0]]))
    (folder / "train").write_text("0\n2\n")
    with pytest.raises(UserError, match=r"train:2: node 2 has no label \(-1\): a node of a split needs one"):
        make(folder / "d", folder / "e.tsv", labels=folder / "y.npy", train_nodes=folder / "train")
    (folder / "train").write_text("0\n")
    dataset = make(folder / "d", folder / "e.tsv", labels=folder / "y.npy", train_nodes=folder / "train", partitions=1)
    assert dataset.raw_ids(0, 1).to_pylist() == [0]
    assert dataset.labels.reader(0)(np.array([0])).tolist() == [[0, 0]]
