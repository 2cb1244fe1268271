"""Labels and splits find their nodes; training nodes come first; whatever is wrong is one line and leaves nothing."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, make

from marius_lite.errors import UserError
from marius_lite.graph import Dataset

SPLITS = ("train", "valid", "test")


@st.composite
def labelled_nodes(draw):
    """(raw ids are text, raw id of each row, its label, its split or None)."""
    text, count = draw(st.booleans()), draw(st.integers(1, 40))
    names = draw(st.permutations([f"n{k}" for k in range(count)])) if text else list(range(count))
    labels = np.array(draw(st.lists(st.integers(-1, 4), min_size=count, max_size=count)))
    labels[draw(st.integers(0, count - 1))] = 3
    splits = [draw(st.sampled_from([None, *SPLITS])) if label >= 0 else None for label in labels]
    splits[int(np.argmax(labels >= 0))] = "train"
    return text, names, labels, splits


@settings(max_examples=25, deadline=None)
@given(labelled_nodes(), st.sampled_from(["<i8", ">i4", "<i2", "i1"]), st.booleans(), st.integers(1, 6), st.integers(0, 3))
def test_each_node_has_its_label_and_split(nodes, dtype, listed_as_text, partitions, seed):
    text, names, labels, splits = nodes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "e.tsv").write_text("".join(f"{s}\t{d}\n" for s, d in zip(names, names[::-1])))
        np.save(folder / "y.npy", labels.astype(dtype))
        options = {"labels": folder / "y.npy"}
        if text:
            (folder / "ids.txt").write_text("".join(f"{name}\n" for name in names))
            options["node_ids"] = folder / "ids.txt"
        for split in set(splits) - {None}:
            listed = [raw for raw, its in zip(names, splits) if its == split]
            options[f"{split}_nodes"] = path = folder / f"{split}.list"
            if text or listed_as_text:
                path.write_text("".join(f"{raw}\n" for raw in listed))
            else:
                with path.open("wb") as file:
                    np.save(file, np.array(listed, np.int32))
        dataset = make(folder / "d", folder / "e.tsv", partitions=partitions, seed=seed, header="no", **options)
        dataset.verify()
        raw = dataset.raw_ids(0, len(names)).to_pylist()
        found = np.concatenate([dataset.labels.read(k) for k in range(dataset.partitioning.partitions)])
        assert found.dtype == np.int64
        classes = np.unique(labels[labels >= 0]).tolist()
        assert [int(dataset.class_names[k]) if k >= 0 else k for k in found] == [labels[names.index(one)] for one in raw]
        assert dataset.labels.classes == len(classes)
        assert (dataset.manifest.class_names is None) == (classes == list(range(len(classes))))
        assert dataset.node_counts == {split: splits.count(split) for split in SPLITS if split in splits}
        for split in dataset.node_counts:
            ids = dataset.node_split(split)
            assert ids.dtype == np.int64
            assert ids.tolist() == [k for k, one in enumerate(raw) if splits[names.index(one)] == split]
        assert dataset.node_split("train").tolist() == list(range(splits.count("train")))
        holders = dataset.partitioning.partition_of(dataset.node_split("train"))
        assert dataset.manifest.training_partitions == len(set(holders.tolist()))


@pytest.fixture
def inputs(tmp_path):
    """Edges among 2,000 nodes, a label for 1,500 of them."""
    rng = np.random.default_rng(5)
    np.save(tmp_path / "e.npy", rng.integers(0, 2000, (6000, 2)))
    np.save(tmp_path / "y.npy", np.where(np.arange(2000) < 1500, rng.integers(0, 7, 2000), -1))
    return tmp_path


def codes_by_raw_id(dataset):
    raw = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    return {raw[k]: split for split in dataset.node_counts for k in dataset.node_split(split).tolist()}


def test_fractions_deal_labelled_nodes_by_their_raw_ids(inputs):
    found = make(inputs / "d", inputs / "e.npy", labels=inputs / "y.npy", node_split="0.6,0.3,0.1")
    counts = found.node_counts
    assert sum(counts.values()) == 1500
    assert abs(counts["train"] - 900) < 80
    assert abs(counts["test"] - 150) < 50
    codes = codes_by_raw_id(found)
    assert set(codes) == set(range(1500))
    # Other nodes and edges do not matter, the seed does.
    np.save(inputs / "less.npy", np.load(inputs / "y.npy")[:1000])
    np.save(inputs / "few.npy", np.array([[0, 1]]))
    fewer = codes_by_raw_id(make(inputs / "d2", inputs / "few.npy", labels=inputs / "less.npy", node_split="0.6,0.3,0.1"))
    assert fewer == {raw: split for raw, split in codes.items() if raw < 1000}
    other = codes_by_raw_id(make(inputs / "d3", inputs / "e.npy", labels=inputs / "y.npy", node_split="0.6,0.3,0.1", seed=1))
    assert np.mean([other[raw] == codes[raw] for raw in codes]) < 0.6
    assert set(make(inputs / "d4", inputs / "e.npy", labels=inputs / "y.npy", node_split="0.5,0,0.5").node_counts) == {
        "train",
        "test",
    }


def test_the_order_is_that_without_training_nodes_but_for_them(inputs):
    train = np.random.default_rng(0).permutation(1500)[:300]
    np.save(inputs / "train.npy", train)
    plain = make(inputs / "plain", inputs / "e.npy", labels=inputs / "y.npy", partitions=8)
    assert (plain.manifest.training_partitions, plain.node_counts) == (None, {})
    before = plain.raw_ids(0, 2000).to_numpy()
    dealt = make(inputs / "d", inputs / "e.npy", labels=inputs / "y.npy", partitions=8, train_nodes=inputs / "train.npy")
    trains = np.isin(before, train)
    assert dealt.raw_ids(0, 2000).to_numpy().tolist() == [*before[trains], *before[~trains]]
    assert dealt.manifest.training_partitions == 2
    np.save(inputs / "turned.npy", train[::-1])
    again = make(inputs / "d2", inputs / "e.npy", labels=inputs / "y.npy", partitions=8, train_nodes=inputs / "turned.npy")
    one, other = data_files(dealt.path), data_files(again.path)
    assert {path for path in one if one[path] != other[path]} == {Path("zarr.json")}  # it names the sources


def test_features_and_labels_stand_in_the_same_order(inputs):
    np.save(inputs / "x.npy", np.arange(2000, dtype=np.float32)[:, None])
    np.save(inputs / "y.npy", np.arange(2000))
    dataset = make(
        inputs / "d", inputs / "e.npy", features=inputs / "x.npy", labels=inputs / "y.npy", node_split="0.1,0.1,0.8", partitions=4
    )
    for k in range(4):
        assert dataset.features.read(k)[:, 0].tolist() == dataset.labels.read(k).tolist()


def test_what_the_manifest_and_the_report_say(inputs):
    dataset = make(inputs / "d", inputs / "e.npy", labels=inputs / "y.npy", node_split="0.6,0.3,0.1")
    manifest = json.loads((inputs / "d/zarr.json").read_text())["attributes"]["marius_lite"]
    assert manifest["labels"] == {"classes": 7}
    assert manifest["node_split"] == dataset.node_counts
    assert {source["name"] for source in manifest["sources"]} == {"e.npy", "y.npy"}
    report = json.loads((inputs / "d/report.json").read_text())
    assert report["labels"] == {"classes": 7, "labelled": 1500}
    assert report["node_split"] == dataset.node_counts
    plain = make(inputs / "plain", inputs / "e.npy")
    assert (plain.labels, plain.node_counts, (inputs / "plain/tables").exists()) == (None, {}, False)
    stored = json.loads((inputs / "plain/zarr.json").read_text())["attributes"]["marius_lite"]
    assert not {"labels", "node_split", "training_partitions", "features"} & set(stored)
    assert "node_split" not in stored["options"]


Y = np.array([0, 1, 1, -1])
LABELS = {
    "fractions": (Y + 0.5, "row 0: label 0.5: labels are classes, and numbers are not predicted"),
    "infinite": (np.array([0, 1, np.inf, -1]), "row 2: label inf"),
    "complex": (Y + 1j, "an array of complex128, shape .*one-dimensional array of integers"),
    "truth values": (Y > 0, "an array of bool"),
    "two-dimensional": (np.zeros((4, 2, 2), int), r"shape \(4, 2, 2\)"),
    "no rows": (Y[:0], r"shape \(0,\)"),
    "below -1": (np.array([0, -2, 1, 1]), "row 1: label -2: class numbers are 0 to"),
    "an id perhaps": (np.array([0, 1, 1, 2**40]), "row 3: label 1099511627776"),
    "above int64": (np.array([0, 1, 1, 2**64 - 1], np.uint64), "row 3: label 18446744073709551615"),
    "no label": (np.full(4, -1), "no row has a label"),
    "fewer rows than features": (Y[:3], "3 rows, .*x.npy has 4"),
    "more rows than features": (np.array([0, 1, 1, 1, 1]), "5 rows, .*x.npy has 4"),
}


@pytest.mark.parametrize(("labels", "message"), LABELS.values(), ids=list(LABELS))
def test_wrong_labels(tmp_path, labels, message):
    np.save(tmp_path / "y.npy", labels)
    np.save(tmp_path / "x.npy", np.zeros((4, 3)))
    (tmp_path / "e.tsv").write_text("0\t1\n1\t3\n")
    refused(tmp_path, rf"y\.npy: .*{message}", features=tmp_path / "x.npy", labels=tmp_path / "y.npy")


def refused(folder, message, **options):
    before = sorted(folder.iterdir())
    with pytest.raises(UserError, match=message) as raised:
        make(folder / "d", folder / "e.tsv", **options)
    assert "\n" not in str(raised.value)
    assert sorted(folder.iterdir()) == before


LISTS = {
    # train, valid: an array, or text
    "unknown": ([0, 9], None, r"train: row 1: node 9 is unknown"),
    "unknown in text": ("0\n9\n", None, r"train:2: node 9 is unknown"),
    "negative": ([0, -1], None, r"train: row 1: -1 is no id"),
    "twice in a list": ([0, 1, 0], None, r"train: row 2: node 0 stands in this list already"),
    "in two lists": ([0, 1], "2\n1\n", r"valid:2: node 1 stands in train already: list each node once"),
    "without a label": ([0, 3], None, r"train: row 1: node 3 has no label \(-1\)"),
    "no ids": (np.array([], int), None, r"train: no ids at all"),
    "no lines": ([0], "", r"valid: no ids at all"),
    "floats": ([0.5], None, r"train: an array of float64"),
    "a short mask": (Y[:3] > 0, None, r"train: a mask of shape \(3,\): there are 4 rows of nodes: save one of shape \(4,\)"),
    "several masks": (np.ones((4, 2), bool), None, r"a mask of shape \(4, 2\) has 2 splits: choose one with --mask-split 0 to 1"),
    "a mask of unlabelled": (Y < 0, None, r"train: true value 0: node 3 has no label"),
    "no integer": ("0\nx\n", None, r"train:2: not an integer id"),
}


@pytest.mark.parametrize(("train", "valid", "message"), LISTS.values(), ids=list(LISTS))
def test_wrong_lists(tmp_path, train, valid, message):
    np.save(tmp_path / "y.npy", Y)
    (tmp_path / "e.tsv").write_text("0\t1\n1\t3\n")
    options = {"labels": tmp_path / "y.npy"}
    for name, ids in (("train", train), ("valid", valid)):
        if isinstance(ids, str):
            (tmp_path / name).write_text(ids)
        elif ids is not None:
            with open(tmp_path / name, "wb") as file:
                np.save(file, ids)
        if ids is not None:
            options[f"{name}_nodes"] = tmp_path / name
    refused(tmp_path, message, **options)


def test_options_that_do_not_go_together(tmp_path):
    np.save(tmp_path / "y.npy", Y)
    np.save(tmp_path / "n.npy", [0])
    (tmp_path / "e.tsv").write_text("0\t1\n1\t3\n")
    (tmp_path / "names.tsv").write_text("a\tb\n")
    y, n = tmp_path / "y.npy", tmp_path / "n.npy"
    refused(tmp_path, "--train-nodes: .* --labels", train_nodes=n)
    refused(tmp_path, "--node-split: .* --labels", node_split="0.6,0.2,0.2")
    refused(tmp_path, "--valid-nodes: nothing to learn from: .* --train-nodes", labels=y, valid_nodes=n)
    refused(tmp_path, "--node-split cannot stand beside --train-nodes", labels=y, train_nodes=n, node_split="0.6,0.2,0.2")
    refused(tmp_path, "--node-split 0.6,0.2: write three", labels=y, node_split="0.6,0.2")
    refused(tmp_path, "--node-split 0.9,0.01,0.09: no node for valid among 3", labels=y, node_split="0.9,0.01,0.09")
    refused(tmp_path, "none: No such file", labels=tmp_path / "none")
    refused(tmp_path, "none: No such file", labels=y, train_nodes=tmp_path / "none")
    (tmp_path / "e5.tsv").write_text("0\t4\n")
    with pytest.raises(UserError, match=r"node 4 has no label row, .*y.npy has rows 0 to 3"):
        make(tmp_path / "d", tmp_path / "e5.tsv", labels=y)
    with pytest.raises(UserError, match=r"y.npy: the edges name nodes by text: .*--node-ids"):
        make(tmp_path / "d", tmp_path / "names.tsv", labels=y)


def test_integer_ids_kept_as_text(tmp_path):
    np.save(tmp_path / "ids.npy", [30, 10, 20])
    np.save(tmp_path / "y.npy", [[3], [1], [2]])  # one column, as some collections have it
    np.save(tmp_path / "train.npy", [20])
    (tmp_path / "e.tsv").write_text("10\t20\n20\t30\n")
    for kind in ("int", "str"):
        dataset = make(
            tmp_path / kind,
            tmp_path / "e.tsv",
            ids=kind,
            labels=tmp_path / "y.npy",
            node_ids=tmp_path / "ids.npy",
            train_nodes=tmp_path / "train.npy",
            partitions=1,
        )
        names = [dataset.class_names[k] for k in dataset.labels.read(0)]
        assert [str(int(raw) // 10) for raw in dataset.raw_ids(0, 3).to_pylist()] == names
        assert names[0] == "2"


def test_a_kept_dataset_opens_again(inputs):
    made = make(inputs / "d", inputs / "e.npy", labels=inputs / "y.npy", node_split="0.6,0.3,0.1")
    found = Dataset.open(inputs / "d")
    assert found.node_split("valid").tolist() == made.node_split("valid").tolist()
    with pytest.raises(UserError, match="no node split 'dev': it has train, valid, test"):
        found.node_split("dev")


@pytest.mark.parametrize(
    ("option", "rows", "what"),
    [
        ("labels", 98_305, r"the labels of 98,305 nodes takes 786.44 KB"),
        ("features", 196_609, r"the features of 196,609 nodes takes 786.44 KB"),
    ],
)
def test_what_is_placed_in_memory_is_refused_before_any_edge_is_read(tmp_path, option, rows, what):
    (tmp_path / "e.tsv").write_text("no edges at all")
    values = np.zeros(rows, np.int8) if option == "labels" else np.zeros((rows, 1), np.float32)
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(UserError, match=rf"--memory: placing {what}, three quarters of it at most: give more --memory"):
        make(tmp_path / "d", tmp_path / "e.tsv", memory=1 << 20, **{option: tmp_path / "x.npy"})
