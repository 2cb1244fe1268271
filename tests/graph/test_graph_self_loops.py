"""Self-loops are found by the report, or without it in the edges."""

import pytest

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.self_loops import self_loop_share, self_loops_are_rare


@pytest.mark.parametrize("loops", [0, 1])
@pytest.mark.parametrize("report", ["kept", "gone", "damaged"])
def test_how_many_training_edges_are_self_loops(cli, tmp_path, loops, report):
    edges = [(f"n{i}", f"n{(i * 7 + 1) % 40}") for i in range(40)]
    edges = [(s, t) for s, t in edges if s != t] + [("n5", "n5")] * loops
    (tmp_path / "edges.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in edges))
    assert cli("preprocess", tmp_path / "edges.tsv", "--output", tmp_path / "data", "--partitions", "3") == 0
    if report == "gone":
        (tmp_path / "data" / "report.json").unlink()
    elif report == "damaged":
        (tmp_path / "data" / "report.json").write_text('{"edges": []}')
    dataset = Dataset.open(tmp_path / "data")
    assert self_loop_share(dataset) == loops / len(edges)
    assert self_loops_are_rare(dataset) == (not loops)
