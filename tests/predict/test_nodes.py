"""Files of classified nodes hold what is printed; lists of nodes are read some at a time."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import marius_lite as ml
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.predict.nodes import NodeClasses, read_nodes
from marius_lite.tasks.class_probabilities import Classified


def test_a_file_holds_what_is_told(class_run, cli, tmp_path, capfd):
    expected = list(ml.predict_nodes(class_run))
    pq.write_table(pa.table({"id": [node["id"] for node in expected[::-7]]}), tmp_path / "some.parquet")
    asked = (
        ("all.parquet", (), expected),
        ("some.csv", ("--queries", tmp_path / "some.parquet"), expected[(len(expected) - 1) % 7 :: 7]),
    )
    for name, options, nodes in asked:
        capfd.readouterr()
        assert cli("predict", class_run, *options, "--output", tmp_path / name, "--json") == 0
        assert json.loads(capfd.readouterr().out) == {"output": str(tmp_path / name), "nodes": len(nodes)}
    rows = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert [(row["id"], row["split"], row["class"]) for row in rows] == [(n["id"], n["split"], n["class"]) for n in expected]
    assert [list(row.values())[3:] for row in rows] == [list(node["probabilities"].values()) for node in expected]
    title, *lines = (tmp_path / "some.csv").read_text().splitlines()
    assert title.startswith("id,split,class,probability_")
    assert [line.split(",")[0] for line in lines] == [str(node["id"]) for node in asked[1][2]]


def test_blocks_of_nodes_without_classes_have_one_schema():
    one = Classified(np.arange(2), pa.array([1, 2]), np.zeros(2, np.uint8), np.zeros((2, 2)), np.zeros((2, 2), np.float32))
    few, none = (NodeClasses(["u", "v"], "classes", one, answers) for answers in ([["v"], []], [[], []]))
    assert few.table().schema == none.table().schema


@pytest.mark.parametrize("most", [1, 3, 100])
def test_lists_are_read_some_at_a_time(communities, tmp_path, monkeypatch, most):
    monkeypatch.setattr("marius_lite.predict.nodes.LOOKED_UP", most)
    dataset = Dataset.open(communities)
    raw = dataset.raw_ids(3, 12).to_pylist()
    (tmp_path / "ids").write_text("\n\n".join(map(str, [*raw[::-1], *raw[:2]])))
    for nodes in (tmp_path / "ids", raw[::-1]):
        assert read_nodes(nodes, dataset).tolist() == [*range(3, 12)]
    (tmp_path / "ids").write_text(f"{raw[0]}\n{raw[1]}\n99999999\n")
    with pytest.raises(UserError, match="ids, line 3: the dataset has no node '99999999'"):
        read_nodes(tmp_path / "ids", dataset)
