"""Labels in every form that people have them, and sets of nodes as masks, give the classes that they mean."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import make

from marius_lite.errors import UserError
from marius_lite.graph import Dataset

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
NUMBERS, NAMES = [10, 0, 30, -1, 20, 10], ["b", "a", "é d", None, "c", "b"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.tsv").write_text("".join(f"{s}\t{d}\n" for s, d in EDGES))
    return tmp_path


def save(path, values):
    with path.open("wb") as file:
        np.save(file, values)


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)


FILES = {
    "integers": lambda path: save(path, np.array(NUMBERS, np.int16)),
    "floats": lambda path: save(path, np.array([10, 0, 30, np.nan, 20, 10], np.float32)),
    "one column": lambda path: save(path, np.array(NUMBERS)[:, None]),
    "names": lambda path: save(path, np.array(["b", "a", "é d", "", "c", "b"])),
    "big-endian names": lambda path: save(path, np.array(["b", "a", "é d", "-1", "c", "b"], ">U5")),
    "text": lambda path: path.write_text("\n".join(map(str, NUMBERS))),
    "text with a title": lambda path: path.write_text("# made\nlabel\n" + "".join(f"{each}\r\n" for each in NUMBERS)),
    "text of names": lambda path: path.write_text("b\na\né d\n-1\nc\nb\n"),
    "text of floats": lambda path: path.write_text("10.0\n0.0\n30.\nnan\n20.0\n10.0\n"),
    "gzip": lambda path: path.write_bytes(gzip.compress("".join(f"{each}\n" for each in NUMBERS).encode())),
    "csv": lambda path: path.write_text("node,label\n5,10\n0,10\n2,30\n1,0\n4,20\n"),
    "tsv": lambda path: path.write_text("1\ta\n0\tb\n2\té d\n3\t-1\n4\tc\n5\tb\n"),
    "an empty cell": lambda path: path.write_text("1,a\n0,b\n2,é d\n3,\n4,c\n5,b\n"),
    "parquet": lambda path: parquet(path, y=pa.array(NAMES)),
    "parquet of numbers": lambda path: parquet(path, y=pa.array([10.0, 0, 30, None, 20, 10])),
    "parquet with ids and gaps": lambda path: parquet(path, label=["a", None, "b", "c", "é d", "b"], id=[1, 3, 0, 4, 2, 5]),
    "parquet with ids and empty text": lambda path: parquet(path, label=["a", "", "b", "c", "é d", "b"], id=[1, 3, 0, 4, 2, 5]),
    "parquet with ids, floats": lambda path: parquet(path, id=[1, 3, 0, 4, 2, 5], label=[0.0, np.nan, 10.0, 20.0, 30.0, 10.0]),
    "parquet with ids, null": lambda path: parquet(path, id=[1, 3, 0, 4, 2, 5], label=pa.array([0, None, 10, 20, 30, 10])),
    "parquet with ids": lambda path: parquet(path, label=["a", "b", "c", "é d", "b"], id=[1, 0, 4, 2, 5]),
}


@pytest.mark.parametrize("write", FILES.values(), ids=list(FILES))
def test_every_form_of_labels(folder, write):
    write(folder / "y")
    dataset = make(folder / "d", folder / "e.tsv", labels=folder / "y", partitions=1)
    dataset.verify()
    raw = dataset.raw_ids(0, 6).to_pylist()
    names = {node: dataset.class_names[k] for node, k in zip(raw, dataset.labels.read(0).tolist()) if k >= 0}
    wanted = [NUMBERS, NAMES]["b" in names.values()]
    assert names == {node: str(wanted[node]) for node in range(6) if node != 3}
    assert dataset.class_names == [["0", "10", "20", "30"], ["a", "b", "c", "é d"]]["b" in names.values()]
    assert dataset.manifest.labels.classes == 4
    assert Dataset.open(folder / "d").manifest.class_names == tuple(dataset.class_names)
    assert json.loads((folder / "d/report.json").read_text())["labels"] == {
        "classes": 4,
        "labelled": 5,
        "names": dataset.class_names,
    }


def test_labels_beside_ids_of_their_own_and_features_in_rows(folder):
    np.save(folder / "x.npy", np.arange(7, dtype=np.float32)[:, None])
    (folder / "y.csv").write_text("4,x\n6,y\n0,x\n")
    (folder / "train").write_text("6\n4\n")
    dataset = make(
        folder / "d",
        folder / "e.tsv",
        features=folder / "x.npy",
        labels=folder / "y.csv",
        partitions=2,
        train_nodes=folder / "train",
    )
    found = {
        raw: (int(label), value)
        for k in range(2)
        for raw, label, value in zip(
            dataset.raw_ids(4 * k, 4 * k + 4).to_pylist(), dataset.labels.read(k), dataset.features.read(k)[:, 0]
        )
    }
    assert found == {node: ({4: 0, 6: 1, 0: 0}.get(node, -1), node) for node in range(7)}
    assert set(dataset.raw_ids(0, 2).to_pylist()) == {4, 6}


def test_names_of_text_ids_need_no_row_for_each(folder):
    (folder / "e.tsv").write_text("a\tb\nb\tc\n")
    (folder / "y.tsv").write_text("c\tgood\nz\tbad\n")
    dataset = make(folder / "d", folder / "e.tsv", labels=folder / "y.tsv", partitions=1)
    raw = dataset.raw_ids(0, 4).to_pylist()
    assert dict(zip(raw, dataset.labels.read(0).tolist())) == {"a": -1, "b": -1, "c": 1, "z": 0}


def test_numbers_that_are_all_there_have_no_names(folder):
    np.save(folder / "y.npy", [2, 1, 0, -1, 1, 2])
    assert make(folder / "d", folder / "e.tsv", labels=folder / "y.npy").manifest.class_names is None
    (folder / "y.txt").write_text("2\n1\n0\n-1\n1\n2\n")
    dataset = make(folder / "d2", folder / "e.tsv", labels=folder / "y.txt")
    assert (dataset.manifest.class_names, dataset.class_names) == (None, ["0", "1", "2"])


WRONG = {
    "fractions": ("0.5\n1\n", None),  # names, as any text
    "an empty line": ("0\n\n1\n", r"y:2: no label: write one in each line, -1 for none"),
    "not UTF-8": (b"0\nx\n\xff\n", r"y:3: not UTF-8"),
    "none": ("-1\n-1\n", "no row has a label"),
    "below -1": ("0\n-7\n", r"y: row 1: label -7: class numbers are 0 to"),
    "one id twice": ("0,1\n1,1\n0,2\n", r"y: row 2: id 0 stands at .*y: row 0 already"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=list(WRONG))
def test_wrong_text(tmp_path, text, message):
    (tmp_path / "e.tsv").write_text("0\t1\n")
    (tmp_path / "y").write_bytes(text if isinstance(text, bytes) else text.encode())
    if message is None:
        assert make(tmp_path / "d", tmp_path / "e.tsv", labels=tmp_path / "y").class_names == ["0.5", "1"]
        return
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "e.tsv", labels=tmp_path / "y")
    assert "\n" not in str(raised.value)


def test_a_file_of_one_short_line(tmp_path):
    (tmp_path / "e.tsv").write_text("0\t0\n")
    (tmp_path / "y").write_text("7\n")
    assert make(tmp_path / "d", tmp_path / "e.tsv", labels=tmp_path / "y").class_names == ["7"]


def test_a_line_without_end_is_no_label(tmp_path, monkeypatch):
    monkeypatch.setattr("marius_lite.preprocess.readers.lines.LONGEST_LINE", 1 << 20)
    (tmp_path / "e.tsv").write_text("0\t1\n")
    (tmp_path / "y").write_text("x\n" + "a" * (4 << 20))
    with pytest.raises(UserError, match="y: no end of line within 1048576 bytes: this is no text with a label in each line"):
        make(tmp_path / "d", tmp_path / "e.tsv", labels=tmp_path / "y")


def test_ids_given_twice_are_refused(folder):
    (folder / "y.csv").write_text("0,a\n1,b\n")
    (folder / "ids").write_text("0\n1\n")
    with pytest.raises(UserError, match="has its own ids beside the labels: leave out --node-ids"):
        make(folder / "d", folder / "e.tsv", labels=folder / "y.csv", node_ids=folder / "ids")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("turned", [False, True])
def test_masks_of_several_splits(tmp_path, turned, order):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "e.npy", rng.integers(0, 500, (900, 2)))
    np.save(tmp_path / "y.npy", rng.integers(0, 3, 500))
    parts = rng.integers(0, 3, (500, 4))
    for code, name in enumerate(("train", "valid", "test")):
        mask = parts == code
        np.save(tmp_path / f"{name}.npy", np.array(mask.T if turned else mask, order=order))
    options = {f"{name}_nodes": tmp_path / f"{name}.npy" for name in ("train", "valid", "test")}
    for split in (0, 3):
        dataset = make(tmp_path / str(split), tmp_path / "e.npy", labels=tmp_path / "y.npy", mask_split=split, **options)
        raw = dataset.raw_ids(0, 500).to_numpy()
        for code, name in enumerate(options):
            nodes = raw[dataset.node_split(name.removesuffix("_nodes"))]
            assert sorted(nodes.tolist()) == np.flatnonzero(parts[:, split] == code).tolist()
    with pytest.raises(UserError, match=r"--mask-split 4: .*train.npy has splits 0 to 3"):
        make(tmp_path / "d", tmp_path / "e.npy", labels=tmp_path / "y.npy", mask_split=4, **options)


@pytest.mark.parametrize("option", ["labels", "node_types"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_whose_name_another_has_too_is_not_chosen(folder, option, form):
    file = folder / f"v.{form}"
    if form == "csv":
        file.write_text("id,class,class\n" + "".join(f"{n},{n % 2},{n % 3}\n" for n in range(6)))
    else:
        columns = [pa.array(values) for values in (range(6), [0, 1] * 3, [0, 1, 2] * 2)]
        pq.write_table(pa.Table.from_arrays(columns, names=["id", "class", "class"]), file)
    with pytest.raises(UserError, match=rf"v\.{form}.*: 2 columns are called 'class': give them names of their own"):
        make(folder / "d", folder / "e.tsv", **{option: file})


@pytest.mark.parametrize("train", [np.arange(6) < 3, np.arange(3)], ids=["mask", "ids"])
def test_a_split_is_chosen_only_where_a_mask_has_several(folder, train):
    save(folder / "y.npy", np.arange(6) % 2)
    save(folder / "train.npy", train)
    given = {"labels": folder / "y.npy", "train_nodes": folder / "train.npy"}
    with pytest.raises(UserError, match=r"--mask-split 0: .*not in .*train\.npy: leave out the option"):
        make(folder / "d", folder / "e.tsv", **given, mask_split=0)
    save(folder / "valid.npy", np.stack([np.arange(6) == 4, np.arange(6) == 5], axis=1))
    dataset = make(folder / "d", folder / "e.tsv", **given, valid_nodes=folder / "valid.npy", mask_split=1, partitions=1)
    assert dataset.node_counts == {"train": 3, "valid": 1}
