"""A dataset made again with other partitions is the one that preprocess makes with these, byte for byte."""

import dataclasses
import errno
import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from preprocess_tools import data_files, decoded, make

import marius_lite
from marius_lite.errors import RunError, UserError
from marius_lite.graph import Dataset
from marius_lite.graph.report import UNKNOWN, leak_lines
from marius_lite.preprocess import plan, repartition_dataset
from marius_lite.preprocess.disk import sort
from marius_lite.preprocess.gather import gather
from marius_lite.preprocess.ids import renumber
from marius_lite.preprocess.repartitioning import nodes

NODES = 300


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Edges with relations in text, the same without as integers, features, labels, lists of nodes."""
    folder, rng = tmp_path_factory.mktemp("inputs"), np.random.default_rng(8)
    rows = (rng.integers(0, NODES, (6000, 3)) ** 2 // NODES) % [NODES, 4, NODES]
    np.savetxt(folder / "e.tsv", rows, "node%d\tr%d\tnode%d")
    np.save(folder / "e.npy", rows[:, [0, 2]])
    (folder / "valid.tsv").write_text("node1\tr0\tnode2\nnode1\tr0\tnode2\n")
    np.save(folder / "x.npy", rng.normal(size=(NODES, 5)).astype(np.float32))
    np.save(folder / "y.npy", rng.integers(-1, 6, NODES))
    np.save(folder / "t.npy", rng.integers(0, 12, NODES) ** 2 // 12)
    np.save(folder / "several.npy", rng.integers(0, 2, (NODES, 9)))
    return folder


NODE_DATA = {"features": "x.npy", "labels": "y.npy"}
KINDS = {
    "relations and splits": ("e.tsv", {"split": "0.8,0.1,0.1", "adjacency": "in"}),
    "undirected": ("e.npy", {"undirected": True, "drop_duplicates": True, "adjacency": "in"}),
    "validation file": ("e.tsv", {"valid": "valid.tsv", "drop_self_loops": True}),
    "features and labels": ("e.npy", {**NODE_DATA, "node_split": "0.4,0.3,0.3"}),
    "training nodes anywhere": ("e.npy", {**NODE_DATA, "node_split": "0.4,0.3,0.3", "training_partitions": "all"}),
    "several classes": ("e.npy", {"features": "x.npy", "labels": "several.npy", "node_split": "0.4,0.3,0.3"}),
    "types": ("e.npy", {"node_types": "t.npy", "labels": "y.npy", "node_split": "0.4,0.3,0.3"}),
    "bfloat16": ("e.npy", {"features": "x.npy", "feature_dtype": "bfloat16"}),
    "int8": ("e.npy", {"features": "x.npy", "feature_dtype": "int8", "adjacency": "in"}),
}


def preprocessed(inputs, output, edges, options, partitions):
    given = ("features", "labels", "node_types", "valid")
    files = {name: inputs / value if name in given else value for name, value in options.items()}
    return make(output, inputs / edges, partitions=partitions, **files)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("before", "after"), [(1, 7), (5, 3), (8, 1), pytest.param(4, 4, marks=pytest.mark.slow)])
def test_what_preprocess_makes_with_that_many_partitions(inputs, tmp_path, kind, before, after):
    preprocessed(inputs, tmp_path / "old", *KINDS[kind], before)
    preprocessed(inputs, tmp_path / "expected", *KINDS[kind], after)
    made = repartition_dataset(tmp_path / "old", tmp_path / "new", after)
    assert data_files(made.path) == data_files(tmp_path / "expected")
    made.verify()
    said, wanted = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("new", "expected"))
    assert said.pop("repartitioned") == {"partitions": before, "fingerprint": Dataset.open(tmp_path / "old").fingerprint}
    for report in (said, wanted):
        report.pop("seconds"), report.pop("checksum"), report.pop("sorted_runs", None)
    assert said == wanted


def test_what_edges_carry_goes_along(inputs, tmp_path, monkeypatch):
    def weighed(self, edges, file, take=gather.Gatherer._spool_edges):
        rows = np.arange(len(edges.src))
        weight, time = pa.array((rows % 7 / 3).astype(np.float32)), pa.array(rows % 11 - 5)
        take(self, dataclasses.replace(edges, weight=weight, time=time), file)

    monkeypatch.setattr(gather.Gatherer, "_spool_edges", weighed)
    options = {"split": "0.7,0.2,0.1", "adjacency": "in"}
    preprocessed(inputs, tmp_path / "old", "e.tsv", options, 3)
    expected = preprocessed(inputs, tmp_path / "expected", "e.tsv", options, 6)
    assert expected.manifest.edge_columns == ("weight", "time")
    made = repartition_dataset(tmp_path / "old", tmp_path / "new", 6)
    assert data_files(made.path) == data_files(expected.path)
    made.verify()


def test_the_same_bytes_for_any_memory(inputs, tmp_path, monkeypatch):
    preprocessed(inputs, tmp_path / "old", *KINDS["relations and splits"], 6)
    much = repartition_dataset(tmp_path / "old", tmp_path / "much", 4)
    monkeypatch.setattr(sort, "LEAST_RECORDS", 64)
    monkeypatch.setattr(plan, "sort_memory", lambda _: 9_000)
    monkeypatch.setattr("marius_lite.preprocess.disk.rechunk.BYTES_AT_ONCE", 1000)
    little = repartition_dataset(tmp_path / "old", tmp_path / "little", 4, memory="1MiB")
    assert "sort" in json.loads((little.path / "report.json").read_text())["seconds"]
    assert data_files(much.path) == data_files(little.path)


def test_ids_by_locality_stay(inputs, tmp_path):
    old = preprocessed(inputs, tmp_path / "old", "e.npy", {"partitioner": "locality"}, 4)
    new = repartition_dataset(tmp_path / "old", tmp_path / "new", 2)
    assert new.raw_ids(0, NODES).equals(old.raw_ids(0, NODES))
    assert decoded(new) == decoded(old)
    new.verify()
    report = json.loads((tmp_path / "new/report.json").read_text())
    assert report["partitioner"] == new.manifest.options["partitioner"] == "locality"
    counts = new.edges("train").counts
    assert report["edge_cut"] == round(1 - counts.trace() / counts.sum(), 6)


def test_row_groups_do_not_depend_on_how_ids_arrive(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(renumber, "GROUP_BYTES", 200)
    monkeypatch.setattr(nodes, "NAMES_AT_ONCE", 37)
    preprocessed(inputs, tmp_path / "old", *KINDS["relations and splits"], 2)
    expected = preprocessed(inputs, tmp_path / "expected", *KINDS["relations and splits"], 3)
    made = repartition_dataset(tmp_path / "old", tmp_path / "new", 3)
    assert (made.path / "nodes.parquet").read_bytes() == (expected.path / "nodes.parquet").read_bytes()
    assert pa.parquet.ParquetFile(made.path / "nodes.parquet").num_row_groups > 4


def test_in_place(inputs, tmp_path):
    options = ("e.npy", {"adjacency": "in"})
    preprocessed(inputs, tmp_path / "d", *options, 4)
    preprocessed(inputs, tmp_path / "expected", *options, 2)
    with pytest.raises(UserError, match="exists already"):
        repartition_dataset(tmp_path / "d", tmp_path / "d", 2)
    repartition_dataset(tmp_path / "d", tmp_path / "d", 2, overwrite=True)
    assert data_files(tmp_path / "d") == data_files(tmp_path / "expected")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "expected"]


@pytest.mark.parametrize("where", ["preprocess.disk.sort.write_file", "storage.columns.write_file_range"])
def test_after_a_full_disk_the_same_command_goes_on(inputs, tmp_path, monkeypatch, caplog, where):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "some/file")

    preprocessed(inputs, tmp_path / "old", *KINDS["relations and splits"], 2)
    monkeypatch.setattr(f"marius_lite.{where}", full)
    monkeypatch.setattr(plan, "sort_memory", lambda _: 15_000)
    with pytest.raises(RunError, match="disk is full"):
        repartition_dataset(tmp_path / "old", tmp_path / "new", 5)
    assert not (tmp_path / "new").exists()
    monkeypatch.undo()
    caplog.set_level("INFO", "marius_lite")
    repartition_dataset(tmp_path / "old", tmp_path / "new", 5).verify()
    before = "tables" if "sort" in where else "sort"
    assert f"going on after pass '{before}'" in caplog.text
    repartition_dataset(tmp_path / "old", tmp_path / "whole", 5)
    assert data_files(tmp_path / "new") == data_files(tmp_path / "whole")


@pytest.mark.parametrize(
    "file",
    [
        "nodes.parquet",
        "relations.parquet",
        "tables/features/c/1/0",
        "tables/labels/c/0",
        "edges/train/src/c/0",
        "edges/train/dst/c/0",
    ],
)
def test_a_damaged_dataset_is_refused_and_nothing_left(inputs, tmp_path, file):
    preprocessed(inputs, tmp_path / "old", *KINDS["features and labels"], 3)
    damaged = bytearray((tmp_path / "old" / file).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "old" / file).write_bytes(damaged)
    with pytest.raises(UserError, match=f"{file.removesuffix('/c/0')}.*checksum"):
        repartition_dataset(tmp_path / "old", tmp_path / "new", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_report_that_is_gone_is_not_needed(inputs, tmp_path):
    preprocessed(inputs, tmp_path / "old", "e.npy", {}, 2)
    (tmp_path / "old/report.json").unlink()
    made = repartition_dataset(tmp_path / "old", tmp_path / "new", 3)
    report = json.loads((made.path / "report.json").read_text())
    assert (report["partitions"], report["edges"]) == (3, {"train": {"stored": 6000}})
    assert leak_lines(report) == [UNKNOWN]


@pytest.mark.parametrize("partitions", ["auto", "0", "many", 1025])
def test_partitions_that_cannot_be(inputs, tmp_path, partitions):
    preprocessed(inputs, tmp_path / "old", "e.npy", {}, 2)
    with pytest.raises(UserError, match=f"--partitions {partitions}: must be "):
        repartition_dataset(tmp_path / "old", tmp_path / "new", partitions)
    with pytest.raises(UserError, match="nowhere"):
        repartition_dataset(tmp_path / "nowhere", tmp_path / "new", 2)


def test_too_little_space_is_refused_before_writing(inputs, tmp_path, monkeypatch):
    preprocessed(inputs, tmp_path / "old", "e.npy", {}, 2)
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 1000)
    with pytest.raises(UserError, match=r"repartitioning 6,000 edges needs .* are free"):
        repartition_dataset(tmp_path / "old", tmp_path / "new", 3)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_from_the_command_line(inputs, tmp_path, cli, capfd):
    preprocessed(inputs, tmp_path / "old", "e.npy", {}, 2)
    capfd.readouterr()
    assert cli("repartition", tmp_path / "old", "--output", tmp_path / "new", "--partitions", 3, "--json") == 0
    assert json.loads(capfd.readouterr().out)["partitions"] == 3
    shutil.rmtree(tmp_path / "new")
    assert cli("repartition", tmp_path / "old", "-o", tmp_path / "new", "--partitions", 3, "--memory", "100MB") == 0
    assert "225 nodes in 3 partitions instead of 2 (" in capfd.readouterr().out
    assert cli("repartition", tmp_path / "old", "-o", tmp_path / "new", "--partitions", 3) == 2
    assert "exists already" in capfd.readouterr().err
    assert marius_lite.open_dataset(tmp_path / "new").partitioning.partitions == 3
    assert marius_lite.repartition_dataset is repartition_dataset
