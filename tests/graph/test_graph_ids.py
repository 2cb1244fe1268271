import pyarrow as pa
import pytest

from marius_lite.errors import UserError
from marius_lite.graph.ids import as_raw


def test_raw_ids_and_node_ids_are_a_bijection(dataset):
    nodes = dataset.manifest.nodes
    raw = dataset.raw_ids(0, nodes).to_pylist()
    assert len(set(raw)) == nodes
    assert dataset.lookup_nodes(raw).tolist() == list(range(nodes))
    assert dataset.raw_ids(50, 150).to_pylist() == raw[50:150]
    assert dataset.raw_ids(7, 7).to_pylist() == []


def test_unknown_and_repeated_raw_ids(dataset):
    known = dataset.raw_ids(5, 6).to_pylist()[0]
    assert dataset.lookup_nodes([known, "nobody", known, "nobody"]).tolist() == [5, -1, 5, -1]
    assert dataset.lookup_nodes(pa.array([known])).tolist() == [5]
    assert dataset.lookup_nodes([]).tolist() == []


def test_relations(dataset):
    assert dataset.relation_names() == ["r0", "r1", "r2", "r3"]
    assert dataset.lookup_relations(["r2", "r9"]).tolist() == [2, -1]


def test_raw_ids_of_the_wrong_kind():
    assert as_raw(["12", 13], "int").to_pylist() == [12, 13]
    for value in ("x", 2**63):
        with pytest.raises(UserError, match="integers of at most 63 bits"):
            as_raw([value], "int")
