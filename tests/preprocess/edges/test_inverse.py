"""Edges dealt by --split that a training edge of another relation gives away are counted exactly, whatever the memory."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import make

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.report import leak_lines
from marius_lite.preprocess.edges import inverse
from marius_lite.preprocess.edges.inverse import inverse_edges

EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=60)
SPLIT = "0.4,0.3,0.3"


def _made(folder, edges, **options):
    (folder / "edges").write_text("".join(f"{s}\t{r}\t{d}\n" for s, r, d in edges))
    make(folder / "d", folder / "edges", overwrite=True, **{"split": SPLIT, **options})
    return json.loads((folder / "d/report.json").read_text())


def _expected(dataset):
    """Count by sets, from the edges that are stored."""
    rows, every = dataset.partitioning.rows, range(dataset.partitioning.partitions)
    stored = {
        name: [
            (i * rows + s, j * rows + d)
            for i in every
            for j in every
            for s, d in np.array(dataset.edges(name).read(i, j)[:2]).T.tolist()
        ]
        for name in dataset.manifest.edges
    }
    trained = set(stored.pop("train"))
    return {name: sum(s != d and (d, s) in trained for s, d in edges) for name, edges in stored.items()}


@settings(deadline=None, max_examples=20)
@given(EDGES, st.integers(1, 4), st.booleans())
def test_counts_are_those_of_sets(tmp_path_factory, edges, partitions, drop):
    folder = tmp_path_factory.mktemp("inverse")
    report = _made(folder, edges, partitions=partitions, drop_duplicates=drop)
    found = {name: entry["inverse_in_train"] for name, entry in report["edges"].items() if name != "train"}
    assert found == _expected(Dataset.open(folder / "d"))


@pytest.mark.parametrize(("at_once", "nodes", "edges"), [(1, 4, 130), (7, 30, 600), (1000, 30, 600)])
def test_pieces_of_any_size_give_the_same(tmp_path, monkeypatch, at_once, nodes, edges):
    rng = np.random.default_rng(3)
    _made(tmp_path, rng.integers(0, nodes, (edges, 3)) % [nodes, 4, nodes], partitions=3)
    dataset = Dataset.open(tmp_path / "d")
    monkeypatch.setattr(inverse, "LEAST_EDGES", at_once)
    monkeypatch.setattr(inverse, "EDGES_AT_ONCE", at_once)
    found = inverse_edges(dataset.edges("train"), {name: dataset.edges(name) for name in ("valid", "test")}, 0)
    assert found == _expected(dataset)
    assert min(found.values()) > 20


def test_an_inverse_relation_is_told_with_split_too(tmp_path, caplog):
    """As hypernym and hyponym: a link's other name is dealt by itself."""
    pairs = [(s, d) for s, d in np.unique(np.random.default_rng(4).integers(0, 400, (1200, 2)), axis=0).tolist() if s < d]
    both = [edge for s, d in pairs for edge in ((s, "above", d), (d, "below", s))]
    report = _made(tmp_path, both, split="0.8,0.1,0.1")
    told = [line for line in leak_lines(report) if re.search("another relation joins the other way around", line)]
    assert [line.partition(":")[0] for line in told] == ["valid", "test"]
    assert set(told) <= {record.getMessage() for record in caplog.records if record.levelname == "WARNING"}


def test_too_many_nodes_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(inverse, "TOO_MANY_ROWS", 10)
    report = _made(tmp_path, [(s, s % 2, (s * 3 + 1) % 20) for s in range(20)])
    assert not any("inverse_in_train" in entry for entry in report["edges"].values())
