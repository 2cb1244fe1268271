"""The groups of the map are what its caption and its key say."""

import numpy as np
import pytest
from preprocess_tools import make

pytest.importorskip("matplotlib", reason="reports need the extra `report`")


def test_a_degree_of_most_nodes_is_one_group(tmp_path):
    """58 of 90 nodes have one edge: fewer than five groups are left."""
    from marius_lite.report.embedding_map import _colours

    edges = [*((0, node) for node in range(1, 59)), *((a, b) for a in range(59, 80) for b in range(80, 90))]
    (tmp_path / "e.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in edges))
    data = make(tmp_path / "d", tmp_path / "e.tsv")
    group, names, by = _colours(data, np.arange(data.manifest.nodes))
    assert list(names) == ["1", "10 to 58"]
    assert np.bincount(group).tolist() == [58, 32]
    assert by == "degree in training, up to five groups, each degree in one of them"
