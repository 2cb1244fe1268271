"""Edges of a type are those of its relation between nodes of its two types."""

import numpy as np
import pytest
from typed_graph import EDGE_TYPES, TYPES

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from marius_lite.errors import UserError  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg import typed_edges  # noqa: E402
from marius_lite.pyg.typed_edges import TypedEdges  # noqa: E402


def all_types(dataset):
    """The type of each node, by node id."""
    return np.array(dataset.node_types(0, dataset.manifest.nodes).to_pylist())


@pytest.mark.parametrize("at_once", [7, 1 << 18])
def test_relations_become_edge_types(typed, monkeypatch, at_once):
    monkeypatch.setattr(typed_edges, "EDGES_AT_ONCE", at_once)
    dataset, explicit = Dataset.open(typed["dataset"]), Dataset.open(typed["explicit"])
    edges = TypedEdges(dataset)
    assert sorted(edges.edge_types) == EDGE_TYPES
    assert edges.node_types == TYPES
    assert [TYPES[code] for code in edges.codes] == all_types(dataset).tolist()
    numbers = np.array([EDGE_TYPES.index(each) for each in edges.edge_types])
    relations = np.array([int(name) for name in explicit.relation_names()])
    for k in range(4):
        found, expected = edges.read(k), explicit.adjacency.read(k)
        np.testing.assert_array_equal(found.indptr, expected.indptr)
        np.testing.assert_array_equal(found.sources, expected.sources)
        np.testing.assert_array_equal(numbers[found.rel], relations[expected.rel])
        assert edges.read(k, relations=False).rel is None
    assert edges.edge_bytes() == explicit.adjacency.edge_bytes() == 8


def test_one_relation_has_a_name_and_types_of_its_own(typed):
    dataset = Dataset.open(typed["alone"])
    edges, types = TypedEdges(dataset), all_types(dataset)
    assert sorted(edges.edge_types) == [(source, "to", target) for source, _, target in EDGE_TYPES]
    for k in range(4):
        lists, first = edges.read(k), dataset.partitioning.range(k).start
        targets = first + np.repeat(np.arange(len(lists.indptr) - 1), np.diff(lists.indptr))
        named = [edges.edge_types[place] for place in lists.rel]
        assert named == [(source, "to", target) for source, target in zip(types[lists.sources], types[targets])]
    assert edges.edge_bytes() == dataset.adjacency.edge_bytes() + 4


def test_places_of_edges(typed):
    dataset = Dataset.open(typed["dataset"])
    edges, buckets, rows = TypedEdges(dataset), dataset.edges("train"), dataset.partitioning.rows
    names, types = dataset.relation_names(), all_types(dataset)
    for i, j in np.argwhere(buckets.counts).tolist():
        src, dst, rel = buckets.read(i, j)
        src, dst = src.astype(np.int64) + i * rows, dst.astype(np.int64) + j * rows
        expected = [(types[s], names[r], types[d]) for s, r, d in zip(src, rel, dst)]
        assert [edges.edge_types[place] for place in edges.of(np.stack([src, dst]), rel)] == expected
    authors = np.flatnonzero(types == "author")[:2]
    assert edges.of(np.stack([authors, authors[::-1]]), np.zeros(2, np.uint32)).tolist() == [-1, -1]


def test_nodes_without_types_are_refused(wide):
    with pytest.raises(UserError, match="nodes have no types: preprocess stores them with --node-types FILE"):
        TypedEdges(Dataset.open(wide["dataset"]))
