"""A dataset that grew by updates has what a dataset of all its edges has: edges, nodes, figures; older versions stay."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import data_files, decoded, make

import marius_lite
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.report import read_report
from marius_lite.preprocess import plan
from marius_lite.preprocess.ids import renumber

PARTS = 4  # the first is preprocessed, the others are updates
FIGURES = ("nodes", "relations", "edges", "train_degrees")


def triples(seed, nodes=90, count=240):
    """Parts of edges among more and more nodes and relations. Some are equal, some lead from a node to itself."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, (low, 2 + part, low), (count, 3)) for part, low in enumerate(np.linspace(30, nodes, PARTS, dtype=int))
    ]


def as_text(path, rows, template="n%d\tr%d\tn%d"):
    np.savetxt(path, rows, template)
    return path


KINDS = {
    "names": ({}, "n%d\tr%d\tn%d"),
    "integers": ({"adjacency": "in"}, "%d\t%d\t%d"),
    "undirected": ({"undirected": True, "drop_duplicates": True, "drop_self_loops": True}, "n%d\tr%d\tn%d"),
    "weights": ({"columns": "src,rel,dst,weight", "adjacency": "in"}, "n%d\tr%d\tn%d\t%d"),
    "no relations": ({"columns": "src,_,dst"}, "n%d\tr%d\tn%d"),
    "locality": ({"partitioner": "locality"}, "n%d\tr%d\tn%d"),
}


def weighted(rows, template):
    return np.column_stack([rows, rows.sum(1) % 7]) if template.count("%") == 4 else rows


def lists(dataset):
    """The in-edge lists by raw id: of each node the sources, relations and weights."""
    found, adjacency, weights = {}, dataset.adjacency, bool(dataset.manifest.edge_columns)
    names, relations = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist(), dataset.relation_names()
    for k in range(dataset.partitioning.partitions):
        read = adjacency.read(k, weights)
        for place, node in enumerate(dataset.partitioning.range(k)):
            inside = slice(read.indptr[place], read.indptr[place + 1])
            weight = read.weights[inside].tolist() if weights else [None] * (inside.stop - inside.start)
            edges = zip(read.sources[inside].tolist(), read.rel[inside].tolist(), weight)
            found[names[node]] = Counter((names[source], relations[rel], each) for source, rel, each in edges)
    return found


def figures(dataset):
    report = read_report(dataset.path)
    return {name: report[name] for name in FIGURES}


def check_same(grown, whole):
    grown.verify()
    assert list(grown.manifest.edges) == list(whole.manifest.edges)
    for split in whole.manifest.edges:
        assert decoded(grown, split) == decoded(whole, split)
    names = [each.raw_ids(0, each.manifest.nodes).to_pylist() for each in (grown, whole)]
    assert sorted(names[0]) == sorted(names[1])
    counts = [dict(zip(each.relation_names(), each.relation_counts().tolist())) for each in (grown, whole)]
    assert counts[0] == counts[1]
    assert figures(grown) == figures(whole)
    assert grown.manifest.self_loops == whole.manifest.self_loops
    if whole.adjacency is not None:
        assert lists(grown) == lists(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_updates_give_what_all_edges_at_once_give(tmp_path, kind, monkeypatch):
    options, template = KINDS[kind]
    parts = [as_text(tmp_path / f"{n}.tsv", weighted(rows, template), template) for n, rows in enumerate(triples(1))]
    reading = {name: value for name, value in options.items() if name == "columns"}
    grown = make(tmp_path / "grown", parts[0], partitions=3, **options)
    if kind in ("names", "weights"):  # the sort goes over disk
        monkeypatch.setattr(plan, "sort_memory", lambda _: 20_000)
    for part in parts[1:]:
        grown = marius_lite.update_dataset(tmp_path / "grown", part, **reading)
    assert grown.partitioning.partitions > 3
    check_same(grown, make(tmp_path / "whole", parts, partitions=3, **options))


def test_after_ten_updates_of_all_splits_and_one_that_removes(tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.integers(0, (80, 4, 80), (2000, 3))
    files = {
        name: [as_text(tmp_path / f"{name}{n}", part) for n, part in enumerate(np.array_split(rows[at::10], 11))]
        for name, at in (("edges", slice(None)), ("valid", 0), ("test", 1))
        if isinstance(at, int)
    }
    files["edges"] = [as_text(tmp_path / f"edges{n}", part) for n, part in enumerate(np.array_split(rows[2::5], 11))]
    place, added = tmp_path / "grown", []
    make(place, files["edges"][0], valid=files["valid"][0], test=files["test"][0], partitions=2)
    for n in range(1, 11):
        given = {name: files[name][n] for name in ("valid", "test") if n % 2}
        added += [n]
        marius_lite.update_dataset(place, files["edges"][n], **given)
    gone = as_text(tmp_path / "gone", np.concatenate([rows[2:400:5], [[1, 0, 900]]]))
    grown = marius_lite.update_dataset(place, remove=gone)
    told = read_report(grown.path)["update"]
    removed = set(gone.read_text().splitlines())

    def left(name, numbers):
        lines = [line for n in numbers for line in files[name][n].read_text().splitlines() if line not in removed]
        (tmp_path / f"{name}-left").write_text("\n".join(lines) + "\n")
        return tmp_path / f"{name}-left"

    odd = [0, *range(1, 11, 2)]
    whole = make(tmp_path / "whole", left("edges", range(11)), valid=left("valid", odd), test=left("test", odd), partitions=2)
    for split in ("train", "valid", "test"):
        assert decoded(grown, split) == decoded(whole, split)
    grown.verify()
    assert figures(grown)["edges"] == figures(whole)["edges"]
    before = Dataset.open(f"{place}@11")
    assert told["removed"] == sum(before.manifest.edges.values()) - sum(grown.manifest.edges.values()) > 0
    assert told["not_there"] == 1
    assert grown.manifest.lineage[-1].fingerprint == before.fingerprint


@pytest.mark.parametrize("undirected", [False, True])
def test_removed_edges_go_from_every_split_with_all_their_equals(tmp_path, undirected):
    edges, valid, gone = tmp_path / "e.tsv", tmp_path / "v.tsv", tmp_path / "gone.tsv"
    edges.write_text("a\tr\tb\na\tr\tb\nb\tr\tc\na\ts\tb\nc\tr\ta\n")
    valid.write_text("a\tr\tb\n")
    gone.write_text("a\tr\tb\nc\tr\tb\nx\tr\ta\na\tt\tb\n")
    made = make(tmp_path / "d", edges, valid=valid, undirected=undirected)
    stored = dict(made.manifest.edges)
    grown = marius_lite.update_dataset(tmp_path / "d", remove=gone)
    told = read_report(grown.path)["update"]
    assert grown.manifest.edges["valid"] == 0
    if undirected:
        assert stored["train"] - grown.manifest.edges["train"] == 6  # a b and c b, both ways
        assert (told["not_there"], told["not_there_examples"]) == (2, ["x r a", "a t b"])
    else:
        assert stored["train"] - grown.manifest.edges["train"] == 2
        assert (told["not_there"], told["not_there_examples"]) == (3, ["c r b", "x r a", "a t b"])
    assert ("a", "r", "b") not in decoded(grown)
    grown.verify()


def test_edges_to_remove_are_named_as_they_were_written(tmp_path):
    as_text(tmp_path / "e.tsv", [(n, n + 1) for n in range(30)], "%d\t%d")
    as_text(tmp_path / "gone.tsv", [(0, 1), (3, 9), *((50 + n, 4) for n in range(20))], "%d\t%d")
    make(tmp_path / "d", tmp_path / "e.tsv")
    told = read_report(marius_lite.update_dataset(tmp_path / "d", remove=tmp_path / "gone.tsv").path)
    assert (told["update"]["removed"], told["update"]["not_there"]) == (1, 21)
    assert told["update"]["not_there_examples"] == ["3 9", *(f"{50 + n} 4" for n in range(9))]
    assert "not there: 3 9, 50 4, 51 4" in told["warnings"][0]


def test_older_versions_keep_their_bytes_and_their_names(tmp_path):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(triples(4))]
    first = make(tmp_path / "d", parts[0], partitions=3)
    before = data_files(tmp_path / "d")
    names = first.raw_ids(0, first.manifest.nodes).to_pylist()
    second = marius_lite.update_dataset(tmp_path / "d", parts[1])
    third = marius_lite.update_dataset(tmp_path / "d", parts[2])
    assert {name: data for name, data in data_files(tmp_path / "d").items() if not str(name).startswith("versions")} == before
    assert third.raw_ids(0, first.manifest.nodes).to_pylist() == names
    assert third.relation_names()[: first.manifest.relations] == first.relation_names()
    opened = [Dataset.open(f"{tmp_path / 'd'}@{n}").fingerprint for n in (1, 2, 3)]
    assert opened == [first.fingerprint, second.fingerprint, third.fingerprint]
    assert [each.fingerprint for each in third.manifest.lineage] == opened[:2]
    assert Dataset.open(tmp_path / "d", first.fingerprint).fingerprint == first.fingerprint
    with pytest.raises(UserError, match="no version 7: there are 1, 2, 3"):
        Dataset.open(f"{tmp_path / 'd'}@7")
    with pytest.raises(UserError, match="only the newest can be updated"):
        marius_lite.update_dataset(f"{tmp_path / 'd'}@1", parts[3])


def test_the_same_command_of_the_same_files_does_nothing_twice(tmp_path):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(triples(5))]
    make(tmp_path / "d", parts[0])
    grown = marius_lite.update_dataset(tmp_path / "d", parts[1])
    assert marius_lite.update_dataset(tmp_path / "d", parts[1]).fingerprint == grown.fingerprint
    as_text(parts[1], triples(6)[1])  # other edges in the same file
    assert marius_lite.update_dataset(tmp_path / "d", parts[1]).manifest.edges != grown.manifest.edges


@pytest.mark.parametrize(
    ("lines", "given", "told"),
    [
        ("a\tr\n", {}, "columns"),
        ("a\tb\n", {"columns": "src,dst"}, "no relation column, the dataset has relations"),
        ("a\tr\tb\t1.5\n", {"columns": "src,rel,dst,weight"}, "its edges have no values, the new ones weight"),
        ("a\tr\tb\n\tr\tb\n", {}, r"new\.tsv.*2"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_the_dataset(tmp_path, lines, given, told):
    made = make(tmp_path / "d", as_text(tmp_path / "e.tsv", triples(7)[0]))
    (tmp_path / "new.tsv").write_text(lines)
    with pytest.raises(UserError, match=told):
        marius_lite.update_dataset(tmp_path / "d", tmp_path / "new.tsv", **given)
    assert Dataset.open(tmp_path / "d").fingerprint == made.fingerprint
    assert not any((tmp_path / "d/versions").glob(".*"))


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_ids_of_another_kind_are_told_what_update_takes(tmp_path, kind):
    make(tmp_path / "d", as_text(tmp_path / "e.tsv", triples(7)[0][:, ::2], "%d\t%d"))
    new = tmp_path / f"new.{kind}"
    new.write_text("n1\tn2\n") if kind == "tsv" else pq.write_table(pa.table({"src": ["n1"], "dst": ["n2"]}), new)
    for given in ({"edges": new}, {"remove": new}):
        with pytest.raises(UserError, match=r"not an integer id.*ids of this dataset are integers") as said:
            marius_lite.update_dataset(tmp_path / "d", **given)
        assert "--ids" not in str(said.value)


def test_a_missing_file_of_edges_to_remove_is_called_so(tmp_path):
    make(tmp_path / "d", as_text(tmp_path / "e.tsv", triples(7)[0]))
    with pytest.raises(UserError, match="none: no such file: name the files of edges to remove, or a pattern"):
        marius_lite.update_dataset(tmp_path / "d", remove=tmp_path / "none")


def test_what_is_known_of_nodes_stays_and_new_nodes_have_none(tmp_path, monkeypatch):
    monkeypatch.setattr(renumber, "GROUP_ROWS", 7)
    rng = np.random.default_rng(8)
    edges, more, labels = tmp_path / "e.npy", tmp_path / "more.npy", rng.integers(0, 3, 50)
    np.save(edges, rng.integers(0, 50, (300, 2)))
    np.save(more, rng.integers(0, 64, (50, 2)))
    np.save(tmp_path / "x.npy", rng.normal(size=(50, 3)).astype(np.float32))
    np.save(tmp_path / "y.npy", labels)
    kinds = {"labels": tmp_path / "y.npy", "node_split": "0.5,0.3,0.2", "partitions": 4}
    first = make(tmp_path / "d", edges, **kinds)
    grown = marius_lite.update_dataset(tmp_path / "d", more)
    grown.verify()
    assert grown.node_counts == first.node_counts
    read = np.concatenate([grown.labels.read(k) for k in range(grown.partitioning.partitions)])
    names = np.array(grown.raw_ids(0, grown.manifest.nodes).to_pylist())
    assert (read[names < 50] == labels[names[names < 50]]).all()
    assert (read[names >= 50] == -1).all()
    make(tmp_path / "features", edges, features=tmp_path / "x.npy", **kinds)
    with pytest.raises(UserError, match=r"new nodes in these edges, and update cannot give them features"):
        marius_lite.update_dataset(tmp_path / "features", more)
    np.save(more, rng.integers(0, 50, (50, 2)))
    same = marius_lite.update_dataset(tmp_path / "features", more)
    same.verify()
    kept = [same.path / "tables/features/c/0/0", tmp_path / "features/tables/features/c/0/0"]
    assert kept[0].samefile(kept[1])


@pytest.mark.parametrize("titles", ["src,rel,dst,cost", "person,kind,friend,cost"])
def test_files_of_edges_to_remove_need_no_values(tmp_path, titles):
    ends = titles.rpartition(",")[0]
    for name, text in (
        ("old", f"{titles}\na,r,b,1\nb,r,c,2\nc,s,a,3\n"),
        ("gone", f"{ends}\na,r,b\n"),
        ("more", f"{titles}\nz,r,b,4\n"),
        ("gone2", f"{titles}\nc,s,a,9\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    marius_lite.make_dataset(tmp_path / "old.csv", tmp_path / "d", edge_weight="cost", columns=ends)
    gone = [tmp_path / "gone.csv", tmp_path / "gone2.csv"]
    grown = marius_lite.update_dataset(tmp_path / "d", tmp_path / "more.csv", remove=gone)
    assert grown.manifest.edges == {"train": 2}
    assert read_report(grown.path)["update"]["removed"] == 2


def test_a_column_of_weights_is_no_end_of_an_edge_to_remove(tmp_path):
    (tmp_path / "old.csv").write_text("u,v,w\n1,2,5\n2,3,6\n5,2,1\n")
    (tmp_path / "gone.csv").write_text("u,v,w\n1,2,7\n")
    marius_lite.make_dataset(tmp_path / "old.csv", tmp_path / "d", edge_weight="w")
    grown = marius_lite.update_dataset(tmp_path / "d", remove=tmp_path / "gone.csv")
    assert grown.manifest.edges == {"train": 2}
