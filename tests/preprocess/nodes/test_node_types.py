"""Nodes get the types of the file, whatever its format, the memory, the partitioner; what is wrong is one line."""

import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, decoded, make

from marius_lite.cli.main import run
from marius_lite.errors import UserError
from marius_lite.preprocess.ids import keys, renumber
from marius_lite.preprocess.nodes import edge_types, node_types

TYPES = ("paper", "author", "field of study", "ü", "#1")


def types_by_raw_id(dataset):
    raw = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    return dict(zip(raw, dataset.node_types(0, dataset.manifest.nodes).to_pylist()))


def write_types(path, ids, types, format):
    if format == "text":
        path.write_text("".join(f"{one}\t{type}\n" for one, type in zip(ids, types)))
    elif format == "parquet":
        pq.write_table(
            pa.table({"number": range(len(ids)), "type": pa.array(types).dictionary_encode(), "id": ids}), path, row_group_size=7
        )
    else:
        with path.open("wb") as file:
            np.save(file, np.array([[str(one), type] for one, type in zip(ids, types)]))


@st.composite
def typed_nodes(draw):
    """(ids, types) of some rows, a node in several of them perhaps, and edges between some of the nodes."""
    text, count = draw(st.booleans()), draw(st.integers(2, 60))
    names = [f"n{k}" for k in range(count)] if text else [k * draw(st.sampled_from([1, 10**15])) for k in range(count)]
    types = draw(st.lists(st.sampled_from(TYPES), min_size=count, max_size=count))
    rows = draw(st.permutations([*range(count), *draw(st.lists(st.integers(0, count - 1), max_size=20))]))
    ends = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=80))
    return names, types, rows, edges


@settings(max_examples=25, deadline=None)
@given(
    typed_nodes(),
    st.sampled_from(["text", "parquet", "npy"]),
    st.integers(1, 5),
    st.sampled_from(["random", "locality"]),
    st.booleans(),
    st.integers(0, 3),
)
def test_each_node_has_its_type(nodes, format, partitions, partitioner, tight, seed):
    names, types, rows, edges = nodes
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        (folder / "e.tsv").write_text("".join(f"{names[s]}\t{names[d]}\n" for s, d in edges))
        write_types(folder / "t", [names[row] for row in rows], [types[row] for row in rows], format)
        options = {
            "node_types": folder / "t",
            "partitions": partitions,
            "partitioner": partitioner,
            "seed": seed,
            "header": "no",
            "comment": "",
        }
        dataset = make(folder / "d", folder / "e.tsv", **options)
        dataset.verify()
        assert types_by_raw_id(dataset) == dict(zip(names, types))
        assert dataset.manifest.node_types == tuple(sorted(set(types)))
        count = dataset.manifest.nodes
        found = dataset.node_types(count // 3, count // 2)
        assert found.dictionary.to_pylist() == list(dataset.manifest.node_types)
        assert found.to_pylist() == dataset.node_types(0, count).to_pylist()[count // 3 : count // 2]
        report = json.loads((folder / "d/report.json").read_text())
        assert report["node_types"] == dict(sorted(Counter(types).items()))
        by_name, stored = dict(zip(names, types)), decoded(dataset)
        expected = Counter()
        for (s, _, d), edge_count in stored.items():
            expected[by_name[s], by_name[d]] += edge_count
        assert {(e["source"], e["destination"]): e["edges"] for e in report["edge_types"]} == expected
        if tight:  # several tables of ids, and several stretches of them
            patch.setattr(keys, "TABLE_SHARE", 200)
            patch.setattr(node_types, "PLACED_SHARE", 1 << 20)
            patch.setattr(node_types, "LEAST_STRETCH", 7)
            make(folder / "tight", folder / "e.tsv", memory="1MiB", **options)
            assert data_files(folder / "tight") == data_files(folder / "d")


@pytest.fixture
def inputs(tmp_path):
    """Edges in text and as integers; of 300 nodes with 3 types, some of which have no edges."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 290, (2000, 3)) % [290, 4, 290]
    np.savetxt(tmp_path / "e.tsv", rows, "n%d\tr%d\tn%d")
    np.save(tmp_path / "e.npy", rows[:, [0, 2]])
    types = np.array(["a", "b", "c"])[np.arange(300) % 3]
    (tmp_path / "t.tsv").write_text("".join(f"n{k}\t{type}\n" for k, type in enumerate(types)))
    np.save(tmp_path / "t.npy", np.arange(300) % 12)
    np.save(tmp_path / "y.npy", rng.integers(-1, 5, 300))
    return tmp_path


def test_types_beside_labels_a_split_and_features(inputs):
    np.save(inputs / "x.npy", np.arange(300, dtype=np.float32)[:, None])
    dataset = make(
        inputs / "d",
        inputs / "e.npy",
        node_types=inputs / "t.npy",
        features=inputs / "x.npy",
        labels=inputs / "y.npy",
        node_split="0.3,0.3,0.4",
        partitions=4,
    )
    dataset.verify()
    assert types_by_raw_id(dataset) == {k: str(k % 12) for k in range(300)}
    features = np.concatenate([dataset.features.read(k)[:, 0] for k in range(4)])
    assert dataset.node_types(0, 300).indices.to_pylist() == (features.astype(int) % 12).tolist()


def test_names_that_are_numbers_are_in_the_order_of_numbers(inputs):
    dataset = make(inputs / "d", inputs / "e.npy", node_types=inputs / "t.npy")
    assert dataset.manifest.node_types == tuple(map(str, range(12)))


def test_what_is_stored(inputs):
    dataset = make(inputs / "d", inputs / "e.tsv", node_types=inputs / "t.tsv", partitions=3, split="0.8,0.1,0.1")
    manifest = json.loads((inputs / "d/zarr.json").read_text())["attributes"]["marius_lite"]
    assert manifest["node_types"] == ["a", "b", "c"]
    assert {source["name"] for source in manifest["sources"]} == {"e.tsv", "t.tsv"}
    file = pq.ParquetFile(inputs / "d/nodes.parquet")
    assert file.schema_arrow.field("type").type == pa.dictionary(pa.int32(), pa.string())
    assert file.num_row_groups == 3
    assert "RLE_DICTIONARY" in file.metadata.row_group(1).column(2).encodings
    report = json.loads((inputs / "d/report.json").read_text())
    assert report["node_types"] == {"a": 100, "b": 100, "c": 100}
    expected = Counter()
    for split in ("train", "valid", "test"):
        for (s, r, d), count in decoded(dataset, split).items():
            expected["abc"[int(s[1:]) % 3], r, "abc"[int(d[1:]) % 3]] += count
    found = report["edge_types"]
    assert {(e["source"], e["relation"], e["destination"]): e["edges"] for e in found} == expected
    assert [e["relation"] for e in found] == sorted(e["relation"] for e in found)
    for relation in dataset.relation_names():
        counts = [e["edges"] for e in found if e["relation"] == relation]
        assert counts == sorted(counts, reverse=True)
    plain = make(inputs / "plain", inputs / "e.tsv")
    assert "node_types" not in json.loads((inputs / "plain/zarr.json").read_text())["attributes"]["marius_lite"]
    assert pq.read_schema(inputs / "plain/nodes.parquet").names == ["node_id", "raw_id"]
    assert not {"node_types", "edge_types"} & set(json.loads((inputs / "plain/report.json").read_text()))
    with pytest.raises(UserError, match=r"nodes have no types: .*--node-types"):
        plain.node_types(0, 1)


@pytest.mark.parametrize("limit", ["MOST_COUNTED", "MOST_LISTED", "NODES_SHARE"])
def test_edges_are_not_counted_by_types_where_that_is_too_much(inputs, monkeypatch, limit):
    monkeypatch.setattr(edge_types, limit, 1 << 40 if limit == "NODES_SHARE" else 8)
    make(inputs / "d", inputs / "e.tsv", node_types=inputs / "t.tsv")
    report = json.loads((inputs / "d/report.json").read_text())
    assert "edge_types" not in report
    assert report["node_types"] == {"a": 100, "b": 100, "c": 100}


def test_a_dictionary_in_the_file_of_each_row_group_is_of_what_occurs(inputs, monkeypatch):
    """Many names do not stand in every partition's row group."""
    names = [f"type {k:05}" for k in range(300)]
    (inputs / "many.tsv").write_text("".join(f"n{k}\t{name}\n" for k, name in enumerate(names)))
    monkeypatch.setattr(renumber, "GROUP_ROWS", 10)
    dataset = make(inputs / "d", inputs / "e.tsv", node_types=inputs / "many.tsv", partitions=4)
    dataset.verify()
    assert types_by_raw_id(dataset) == {f"n{k}": name for k, name in enumerate(names)}
    file = pq.ParquetFile(inputs / "d/nodes.parquet")
    assert file.num_row_groups > 28
    assert {len(file.read_row_group(group)["type"].chunk(0).dictionary) for group in range(file.num_row_groups)} <= {5, 10}


FORMATS = {
    "header": "id\ttype\nn0\ta\nn1\tb\n",
    "columns turned round, by their names": "type,node_id\na,n0\nb,n1\n",
    "one of several columns": "node\tborn\tkind\nn0\t1\ta\nn1\t2\tb\n",
    "quotes": 'n0,"a"\n"n1",b\n',
    "comments, blank lines, carriage returns": "# of nodes\r\nn0 a\r\n\r\nn1 b",
    "semicolons": "n0;a\nn1;b\nn1;b\n",
}


@pytest.mark.parametrize("text", FORMATS.values(), ids=list(FORMATS))
def test_text(tmp_path, text):
    (tmp_path / "e.tsv").write_text("n0\tn1\n")
    (tmp_path / "t.txt").write_bytes(text.encode())
    assert types_by_raw_id(make(tmp_path / "d", tmp_path / "e.tsv", node_types=tmp_path / "t.txt")) == {"n0": "a", "n1": "b"}


def test_other_files(tmp_path):
    (tmp_path / "e.tsv").write_text("0\t1\n1\t2\n")
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"0,y\n2,x\n1,x\n"))
    pq.write_table(pa.table({"a": pa.array([2, 0, 1], pa.int16()), "b": ["x", "y", "x"]}), tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", node_types=np.array(["y", "x", "x"]), other=np.zeros(3))
    np.save(tmp_path / "pairs.npy", np.array([["2", "x"], ["0", "y"], ["1", "x"]], ">U3"))
    for place, file in enumerate(("t.gz", "t.parquet", "t.npz", "t.npz:node_types", "pairs.npy")):
        dataset = make(tmp_path / f"d{place}", tmp_path / "e.tsv", node_types=tmp_path / file)
        assert types_by_raw_id(dataset) == {0: "y", 1: "x", 2: "x"}
    dataset = make(tmp_path / "text", tmp_path / "e.tsv", ids="str", node_types=tmp_path / "t.parquet")
    assert types_by_raw_id(dataset) == {"0": "y", "1": "x", "2": "x"}


def test_ids_that_turn_out_to_be_large(tmp_path):
    """Rows that were keyed already are keyed again."""
    (tmp_path / "e.tsv").write_text("1\t2\n" * 30_000 + f"2\t{10**17}\n")
    (tmp_path / "t.tsv").write_text(f"2\ttwo\n{10**17}\tlarge\n1\tone\n")
    found = make(tmp_path / "d", tmp_path / "e.tsv", node_types=tmp_path / "t.tsv", memory="1MiB")
    assert types_by_raw_id(found) == {1: "one", 2: "two", 10**17: "large"}


def refused(folder, message, **options):
    before = sorted(folder.iterdir())
    with pytest.raises(UserError, match=message) as raised:
        make(folder / "d", folder / "e.tsv", **options)
    assert "\n" not in str(raised.value)
    assert "on-bad-row" not in str(raised.value)
    assert sorted(folder.iterdir()) == before


WRONG = {
    "no type": ("n0\ta\n", r"t.tsv: 1 of 2 nodes has no type, 'n1' for one: .*add a row for it, .*`unknown`"),
    "two types": ("n0\ta\nn1\ta\nn1\tb\nn1\ta\n", r"t.tsv: node 'n1' has type 'a' and type 'b': .*remove one of the rows"),
    "empty type": ("n0\ta\nn1\t\n", r"t.tsv:2: column 2 \(type\): empty: 'n1\\t': mend the line$"),
    "empty id": ("n0\ta\n\tb\n", r"t.tsv:2: column 1 \(id\): empty: .*: mend the line$"),
    "too many columns": ("n0\ta\nn1\tb\nn2\tb\tc\n", r"t.tsv:3: 3 columns where 2 were expected: .*: mend the line$"),
    "one column": ("n0\nn1\n", r"t.tsv:?.*: no tab, comma, .*at least two columns"),
    "three columns without names": ("n0\ta\tb\nn1\tc\td\n", r"t.tsv:1: 3 columns .*`id` and `type` in a header"),
    "nothing": ("", r"t.tsv: no rows"),
    "not UTF-8": (b"n0\ta\nn1\t\xff\n", r"t.tsv:2: column 2 \(type\): not UTF-8"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=list(WRONG))
@pytest.mark.parametrize("on_bad_row", ["error", "skip"])
def test_wrong_text(tmp_path, text, message, on_bad_row):
    (tmp_path / "e.tsv").write_text("n0\tn1\n")
    (tmp_path / "t.tsv").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(tmp_path, message, node_types=tmp_path / "t.tsv", on_bad_row=on_bad_row)


def test_all_nodes_without_a_type_are_counted_in_all_stretches(inputs, monkeypatch):
    monkeypatch.setattr(node_types, "PLACED_SHARE", 1 << 40)
    monkeypatch.setattr(node_types, "LEAST_STRETCH", 10)
    lines = (inputs / "t.tsv").read_text().splitlines(keepends=True)
    (inputs / "t.tsv").write_text("".join(lines[5:]))
    refused(inputs, r"t.tsv: 5 of 300 nodes have no type, 'n[0-4]' for one", node_types=inputs / "t.tsv")


WRONG_ARRAYS = {
    "floats": (np.zeros(3), r"t.npy: an array of float64, shape \(3,\): .*numpy.save"),
    "three columns": (np.zeros((3, 3), int), r"shape \(3, 3\)"),
    "column after column": (np.asfortranarray(np.zeros((3, 2), int)), "column after column"),
    "negative id": (np.array([[0, 1], [-1, 1]]), r"t.npy: row 1: id: negative id: '-1, 1': mend the row"),
    "an empty name": (np.array([["0", "a"], ["1", ""]]), r"t.npy: row 1: type: empty"),
    "a name for an id": (np.array([["0", "a"], ["b", "a"]]), r"row 1: id: not an integer id: 'b, a': .*--ids str"),
    "too few": (np.zeros(1, int), r"t.npy: 1 of 2 nodes has no type, 1 for one"),
}


@pytest.mark.parametrize(("array", "message"), WRONG_ARRAYS.values(), ids=list(WRONG_ARRAYS))
def test_wrong_arrays(tmp_path, array, message):
    (tmp_path / "e.tsv").write_text("0\t1\n")
    np.save(tmp_path / "t.npy", array)
    refused(tmp_path, message, node_types=tmp_path / "t.npy")


WRONG_TABLES = {
    "null type": ({"id": [0, 1], "type": ["a", None]}, r"t.parquet: row 1: type: null"),
    "null id": ({"id": [0, None], "type": ["a", "b"]}, r"t.parquet: row 1: id: null"),
    "first of several": ({"id": [0, -1, 2], "type": [None, "b", None]}, r"t.parquet: row 0: type: null"),
    "floats": ({"id": [0.0, 1.0], "type": ["a", "b"]}, r"t.parquet: column 'id' is of type double: .*integers or strings"),
    "three columns": ({"x": [0], "y": [1], "z": [2]}, r"t.parquet: 3 columns \(x, y, z\)"),
}


@pytest.mark.parametrize(("columns", "message"), WRONG_TABLES.values(), ids=list(WRONG_TABLES))
def test_wrong_tables(tmp_path, columns, message):
    (tmp_path / "e.tsv").write_text("0\t1\n")
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    refused(tmp_path, message, node_types=tmp_path / "t.parquet")


def test_rows_by_number_where_nodes_have_names(inputs):
    refused(inputs, r"t.npy: the edges name nodes by text, .*rows of an id and its type", node_types=inputs / "t.npy")


def test_names_that_do_not_occur_are_no_types(tmp_path):
    (tmp_path / "e.tsv").write_text("0\t1\n")
    column = pa.DictionaryArray.from_arrays([2, 2], ["spare", "other", "used"])
    pq.write_table(pa.table({"id": [0, 1], "type": column}), tmp_path / "t.parquet")
    assert make(tmp_path / "d", tmp_path / "e.tsv", node_types=tmp_path / "t.parquet").manifest.node_types == ("used",)


@pytest.mark.parametrize("types", [1 << 16, (1 << 16) + 1])
def test_as_many_types_as_there_may_be(tmp_path, types):
    nodes = np.arange(types)
    np.save(tmp_path / "e.npy", np.stack([nodes, nodes[::-1]], 1))
    np.save(tmp_path / "t.npy", nodes)
    if types > 1 << 16:
        with pytest.raises(UserError, match="more than 65,536 distinct types, '65536' is one more"):
            make(tmp_path / "d", tmp_path / "e.npy", node_types=tmp_path / "t.npy")
        return
    dataset = make(tmp_path / "d", tmp_path / "e.npy", node_types=tmp_path / "t.npy", partitions=3)
    dataset.verify()
    found = dataset.node_types(0, types)
    assert found.indices.to_pylist() == dataset.raw_ids(0, types).to_pylist()


def test_names_that_fill_the_memory(tmp_path):
    (tmp_path / "e.tsv").write_text("0\t1\n")
    (tmp_path / "t.tsv").write_text("".join(f"{k}\t{k:0100000}\n" for k in range(12)))
    refused(tmp_path, r"t.tsv: 11 distinct types and more, .*--memory", node_types=tmp_path / "t.tsv", memory="1MiB")


def test_the_command(inputs, capsys):
    """What a user types and sees."""

    def told(*arguments):
        return run([str(each) for each in arguments]), *capsys.readouterr()

    code, out, _ = told("preprocess", inputs / "e.tsv", "--node-types", inputs / "t.tsv", "--output", inputs / "d")
    assert code == 0
    assert "300 nodes with 3 types, 4 relations" in out
    assert "node_types          a, b, c" in told("info", inputs / "d", "--verify")[1]
    code, _, error = told("preprocess", inputs / "e.tsv", "--node-types", inputs / "none", "--output", inputs / "d2")
    assert code == 2
    assert error.endswith(f"{inputs}/none: No such file or directory: name a file that can be read\n")
