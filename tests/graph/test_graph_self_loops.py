"""The share of self-loops is what the manifest says, or without it the edges."""

import json

import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.manifest import KEY, Manifest
from marius_lite.graph.self_loops import self_loop_share, self_loops_are_rare


@pytest.mark.parametrize("loops", [0, 1])
@pytest.mark.parametrize("said", [True, False])
def test_how_many_training_edges_are_self_loops(cli, tmp_path, loops, said):
    edges = [(f"n{i}", f"n{(i * 7 + 1) % 40}") for i in range(40)]
    edges = [(s, t) for s, t in edges if s != t] + [("n5", "n5")] * loops
    (tmp_path / "edges.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in edges))
    root = tmp_path / "data" / "zarr.json"
    assert cli("preprocess", tmp_path / "edges.tsv", "--output", tmp_path / "data", "--partitions", "3") == 0
    manifest = Manifest.model_validate(json.loads(root.read_text())["attributes"][KEY])
    assert manifest.self_loops == loops
    if not said:  # as earlier versions made it
        root.write_bytes(manifest.model_copy(update={"self_loops": None}).sealed().root_json())
    (tmp_path / "data" / "report.json").unlink()
    dataset = Dataset.open(tmp_path / "data")
    assert self_loop_share(dataset) == loops / len(edges)
    assert self_loops_are_rare(dataset) == (not loops)
