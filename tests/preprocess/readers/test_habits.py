"""Files as pandas, R, numpy, networkx and Gephi write them are read as they are meant, or a line says what is odd about them."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError
from marius_lite.preprocess import make_dataset
from marius_lite.preprocess.readers import lines

N = 100
RNG = np.random.default_rng(0)
EDGES = [*RNG.integers(0, N, (300, 2)).tolist(), *((i, (i + 1) % N) for i in range(N))]
CLASS = ["ABCD"[k] for k in RNG.integers(0, 4, N)]
NUMBER = ["ABCD".index(name) for name in CLASS]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    (tmp_path / "t.csv").write_text("source,target\n" + "".join(f"p{a},p{b}\n" for a, b in EDGES))
    return tmp_path


def warnings(folder):
    return json.loads((folder / "d/report.json").read_text())["warnings"]


def labels_of(dataset):
    """Class name by raw id, without nodes that have none."""
    raw = [str(each).removeprefix("p") for each in dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()]
    return {int(node): dataset.class_names[k] for node, k in zip(raw, dataset.labels.read(0).tolist()) if k >= 0}


def rows(form, values=CLASS):
    return "".join(form.format(i=i, y=y) for i, y in enumerate(values))


NAMED = {
    "pandas' title of a column without a name": ("e", "0\n" + rows("{y}\n")),
    "pandas' titles of two": ("t", "0,1\n" + rows("p{i},{y}\n")),
    "spaces between": ("e", rows("{i} {y}\n")),
    "type and label": ("e", "id,type,label\n" + rows("{i},paper,{y}\n")),
    "name and id": ("t", "name,id,label\n" + rows("somebody {i},p{i},{y}\n")),
    "an index before": ("t", ",paper,topic\n" + rows("{i},p{i},{y}\n")),
    "label before id": ("t", "label,id\n" + rows("{y},p{i}\n")),
    "label before another id": ("t", "label,paper\n" + rows("{y},p{i}\n")),
    "spaces after": ("t", "id, label\n" + rows("p{i}, {y}\n")),
    "quoted lines": ("e", '"label"\n' + rows('"{y}"\n')),
}


@pytest.mark.parametrize(("edges", "text"), NAMED.values(), ids=list(NAMED))
def test_labels_as_programs_write_them(folder, edges, text):
    (folder / "y.csv").write_text(text)
    dataset = make(folder / "d", folder / f"{edges}.csv", labels=folder / "y.csv", partitions=1)
    assert dataset.manifest.nodes == N
    assert labels_of(dataset) == dict(enumerate(CLASS))
    assert warnings(folder) == []


def test_a_label_that_is_not_there(folder):
    with_gaps = [name if i % 5 else "NA" for i, name in enumerate(CLASS)]
    (folder / "y.csv").write_text("id,label\n" + rows("{i},{y}\n", with_gaps))
    dataset = make(folder / "d", folder / "e.csv", labels=folder / "y.csv", partitions=1)
    assert labels_of(dataset) == {i: name for i, name in enumerate(CLASS) if i % 5}
    [said] = warnings(folder)
    assert "y.csv: 20 rows have NA, null or the like, which is no label: call it otherwise if it is a class" in said
    (folder / "y.csv").write_text("label\n" + rows("{y}\n", [f"{k}.0" if i % 5 else '""' for i, k in enumerate(NUMBER)]))
    dataset = make(folder / "d", folder / "e.csv", labels=folder / "y.csv", partitions=1, overwrite=True)
    assert labels_of(dataset) == {i: str(k) for i, k in enumerate(NUMBER) if i % 5}
    np.savetxt(folder / "y.csv", [float(k) if i % 5 else -1 for i, k in enumerate(NUMBER)])
    dataset = make(folder / "d", folder / "e.csv", labels=folder / "y.csv", partitions=1, overwrite=True)
    assert labels_of(dataset) == {i: str(k) for i, k in enumerate(NUMBER) if i % 5}


def test_class_names_keep_their_leading_zeros(folder):
    (folder / "y.csv").write_text("id,label\n" + rows("{i},0{y}\n", NUMBER))
    dataset = make(folder / "d", folder / "e.csv", labels=folder / "y.csv", partitions=1)
    assert labels_of(dataset) == {i: f"0{k}" for i, k in enumerate(NUMBER)}


ODD_LABELS = {
    "a title that is a number above numbers": (
        "e",
        "0\n" + rows("{y}\n", NUMBER),
        "1 of 101 nodes has no edge: if .*y.csv begins with a title that is a number",
    ),
    "other ids": ("t", "id,label\n" + rows("P{i},{y}\n"), "100 of 200 nodes have no edge, and stand only in files about nodes"),
    "as many classes as nodes": (
        "e",
        "Id,Label,modularity_class\n" + rows("{i},Person {i},{y}\n"),
        "100 classes in 100 labels, for example 'Person 0'",
    ),
    "one class": ("e", "id,label\n" + rows("{i},paper\n"), "all labels are 'paper': is this the right column"),
}


@pytest.mark.parametrize(("edges", "text", "warning"), ODD_LABELS.values(), ids=list(ODD_LABELS))
def test_odd_labels_are_told(folder, edges, text, warning):
    (folder / "y.csv").write_text(text)
    make(folder / "d", folder / f"{edges}.csv", labels=folder / "y.csv", partitions=1)
    [said] = warnings(folder)
    assert re.search(warning, said)


def test_one_of_each_row_of_classes_is_told(folder):
    np.save(folder / "y.npy", np.eye(4, dtype=np.int8)[NUMBER])
    make(folder / "d", folder / "e.csv", labels=folder / "y.npy", partitions=1)
    [said] = warnings(folder)
    assert "every node has just one of the classes" in said


def test_features_of_the_same_name_are_refused(folder):
    columns = [pa.array(np.arange(N, dtype=np.float32))] * 3
    pq.write_table(pa.Table.from_arrays(columns, names=["f0", "f1", "f0"]), folder / "x.parquet")
    with pytest.raises(UserError, match=r"x\.parquet: 2 columns are called 'f0': give them names of their own"):
        make(folder / "d", folder / "e.csv", features=folder / "x.parquet")


def test_ids_are_no_features(folder):
    values = np.arange(N, dtype=np.float32)
    for name, metadata in (("node", None), ("paper", {"pandas": json.dumps({"index_columns": ["paper"]})})):
        pq.write_table(pa.table({"f0": values, name: np.arange(N)}).replace_schema_metadata(metadata), folder / "x.parquet")
        with pytest.raises(UserError, match=f"column '{name}' looks like ids of nodes, not like a feature: leave it out"):
            make(folder / "d", folder / "e.csv", features=folder / "x.parquet")
    pq.write_table(pa.table({"node_id": np.arange(N)[::-1], "f0": values}), folder / "own.parquet")
    dataset = make(folder / "own", folder / "e.csv", features=folder / "own.parquet", partitions=1)
    assert dataset.features.read(0)[:, 0].tolist() == [N - 1 - i for i in dataset.raw_ids(0, N).to_pylist()]
    (folder / "ids.txt").write_text("".join(f"{i}\n" for i in range(N)))
    with pytest.raises(UserError, match=r"--node-ids .*ids.txt: .*own.parquet has its own ids beside the features"):
        make(folder / "d", folder / "e.csv", features=folder / "own.parquet", node_ids=folder / "ids.txt")
    np.savez(folder / "x.npz", ids=np.arange(N)[::-1], x=values[:, None])
    with pytest.raises(UserError, match=r"the archive has 'ids' beside it: .* give --node-ids .*x.npz:ids, else leave them out"):
        make(folder / "d", folder / "e.csv", features=folder / "x.npz")
    dataset = make(folder / "d", folder / "e.csv", features=folder / "x.npz", node_ids=f"{folder}/x.npz:ids", partitions=1)
    found = dict(zip(dataset.raw_ids(0, N).to_pylist(), dataset.features.read(0)[:, 0].tolist()))
    assert found == {i: N - 1 - i for i in range(N)}


EDGE_FILES = {
    "spaces after the delimiter": ("p{a}, r{r}, p{b}\n", "begins or ends with a space"),
    "some numbers with a point": ("{a}.0,{b}\n", "is a number with a point"),
    "tuples": ("({a},{b})\n", "looks like JSON or a tuple"),
    "networkx": ("{a} {b} {{}}\n", "every edge that was looked at has the destination '{}'"),
    "quotes elsewhere": ('"p{a}";"p{b}"\n', "is in quotes: these are read as such in comma-separated files only"),
}


@pytest.mark.parametrize(("form", "warning"), EDGE_FILES.values(), ids=list(EDGE_FILES))
def test_odd_edges_are_told(tmp_path, form, warning):
    (tmp_path / "e.txt").write_text("".join(form.format(a=a, b=b, r=a % 3) for a, b in EDGES))
    make(tmp_path / "d", tmp_path / "e.txt")
    assert any(warning in line for line in warnings(tmp_path))


def test_hashtags_are_no_comments(tmp_path):
    (tmp_path / "e.tsv").write_text("".join(f"{'#' if a % 2 else '@'}{a}\t@{b}\n" for a, b in EDGES))
    dataset = make(tmp_path / "d", tmp_path / "e.tsv")
    [said] = [line for line in warnings(tmp_path) if "lines are comments" in line]
    assert said.endswith("edges: if those are edges too, give --comment another mark, or '' for none")
    assert dataset.manifest.edges["train"] < len(EDGES)
    assert make(tmp_path / "d", tmp_path / "e.tsv", comment="", overwrite=True).manifest.edges["train"] == len(EDGES)


@pytest.mark.parametrize("cut", [1, 9, 18])
def test_a_header_that_the_first_block_cuts(tmp_path, monkeypatch, cut):
    monkeypatch.setattr(lines, "SAMPLE_BYTES", 100)
    comment, header = f"# {'-' * (97 - cut)}\n", "source\tdestination\n"
    (tmp_path / "e.tsv").write_text(comment + header + "".join(f"a{a}\tb{b}\n" for a, b in EDGES))
    dataset = make(tmp_path / "d", tmp_path / "e.tsv")
    assert dataset.manifest.edges["train"] == len(EDGES)
    assert "source" not in dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()


@pytest.mark.parametrize("option", ["labels", "node_types"])
def test_nodes_that_begin_with_a_hash_are_told_of(tmp_path, option):
    nodes = [f"{'#' if a % 2 else '@'}{a}" for a in range(4 * N)]
    (tmp_path / "e.tsv").write_text("".join(f"@{2 * a}\t@{2 * b}\n" for a, b in EDGES))
    (tmp_path / "n.tsv").write_text("".join(f"{node}\t{'even' if a % 4 else 'odd'}\n" for a, node in enumerate(nodes)))
    make(tmp_path / "d", tmp_path / "e.tsv", **{option: tmp_path / "n.tsv"})
    [said] = [line for line in warnings(tmp_path) if "lines are comments" in line]
    assert said.startswith(f"{tmp_path}/n.tsv: {2 * N} lines are comments, {2 * N} are nodes: if those are nodes too")


def test_a_column_of_row_numbers_is_left_out(tmp_path):
    (tmp_path / "e.csv").write_text(",citing,cited\n" + "".join(f"{k},{a},{b}\n" for k, (a, b) in enumerate(EDGES)))
    pq.write_table(
        pa.table({"citing": [a for a, _ in EDGES], "cited": [b for _, b in EDGES], "__index_level_0__": range(len(EDGES))}),
        tmp_path / "e.parquet",
    )
    for name in ("e.csv", "e.parquet"):
        dataset = make(tmp_path / name[2:], tmp_path / name)
        assert (dataset.manifest.nodes, dataset.manifest.relations, dataset.manifest.edges["train"]) == (N, 1, len(EDGES))


def test_rows_that_begin_with_a_delimiter_are_no_row_numbers(tmp_path):
    (tmp_path / "e.csv").write_text("".join(f",{a},{b}\n" for a, b in EDGES))
    with pytest.raises(UserError, match=r"e.csv:1: column 1 \(src\): empty"):
        make(tmp_path / "d", tmp_path / "e.csv")


@pytest.mark.parametrize("text", ["{", "[1]", '{"index_columns": 3}', "[" * 100_000])
def test_what_pandas_did_not_write_is_not_asked(folder, text):
    table = pa.table({"f0": np.zeros(N, np.float32)}).replace_schema_metadata({"pandas": text})
    pq.write_table(table, folder / "x.parquet")
    assert make(folder / "d", folder / "e.csv", features=folder / "x.parquet").manifest.features.width == 1


def test_a_header_stays_one_where_the_columns_are_named_by_role(tmp_path):
    (tmp_path / "e.csv").write_text("head,relation,tail\n" + "".join(f"p{a},r{a % 3},p{b}\n" for a, b in EDGES))
    dataset = make(tmp_path / "d", tmp_path / "e.csv", columns="src,rel,dst")
    assert (dataset.manifest.nodes, dataset.manifest.relations) == (N, 3)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_same_titles_in_another_order_are_refused(tmp_path, kind):
    for name, titles in (("a", ("paper", "cites")), ("b", ("cites", "paper"))):
        ends = EDGES if name == "a" else [(b, a) for a, b in EDGES]
        if kind == "csv":
            (tmp_path / name).write_text(",".join(titles) + "\n" + "".join(f"{a},{b}\n" for a, b in ends))
        else:
            pq.write_table(pa.table(dict(zip(titles, map(list, zip(*ends, strict=True)), strict=True))), tmp_path / name)
    with pytest.raises(UserError, match=r"b: columns cites, paper, in another order than in a file .*--columns paper,cites"):
        make_dataset([tmp_path / "a", tmp_path / "b"], tmp_path / "d")
    both = make_dataset([tmp_path / "a", tmp_path / "b"], tmp_path / "d", columns="paper,cites", drop_duplicates=True)
    assert both.manifest.edges["train"] == len({tuple(edge) for edge in EDGES})


def test_a_split_without_edges_is_told(tmp_path):
    (tmp_path / "e.tsv").write_text("1\t2\n2\t3\n3\t4\n")
    make(tmp_path / "d", tmp_path / "e.tsv", split="0.8,0.1,0.1")
    assert any("--split left no edge for it" in line for line in warnings(tmp_path))


def test_quoted_titles_tell_the_direction(tmp_path):
    (tmp_path / "e.csv").write_text('"to";"from"\n' + "".join(f"{b};{a}\n" for a, b in EDGES))
    found = {(edge[0], edge[-1]) for edge in decoded(make(tmp_path / "d", tmp_path / "e.csv"))}
    assert found == {tuple(edge) for edge in EDGES}


def test_titles_again_among_the_rows_are_told(folder):
    with (folder / "t.csv").open("a") as file:
        file.write("source,target\np1,p2\n")
    make(folder / "d", folder / "t.csv")
    [said] = warnings(folder)
    assert said.startswith("the titles 'source', 'target' stand again among the rows, and are an edge there")


@pytest.mark.parametrize("first", ["001\t002", "+1\t+2", "1.0\t2.0", "1e3\t.5"])
def test_numbers_are_no_titles_however_they_are_written(tmp_path, first):
    (tmp_path / "e.tsv").write_text(f"{first}\n1\t2\n2\t3\n")
    dataset = make(tmp_path / "d", tmp_path / "e.tsv")
    assert dataset.manifest.edges == {"train": 3}
    assert set(first.split("\t")) <= set(dataset.raw_ids(0, dataset.manifest.nodes).to_pylist())
