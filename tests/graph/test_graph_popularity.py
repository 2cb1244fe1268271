"""Popularity is counted partition by partition: how often each node is a destination and a source of training edges."""

import numpy as np
import pytest

from marius_lite.graph import popularity as module
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.popularity import popularity


@pytest.mark.parametrize("at_once", [100, 1 << 18])
def test_it_counts_the_edges_at_both_ends_of_each_node(tiny_dataset, monkeypatch, at_once):
    monkeypatch.setattr(module, "EDGES_AT_ONCE", at_once)
    dataset = Dataset.open(tiny_dataset)
    edges, partitioning = dataset.edges("train"), dataset.partitioning
    expected = np.zeros((2, partitioning.nodes), int)
    for i in range(partitioning.partitions):
        for j in range(partitioning.partitions):
            src, dst, _ = edges.read(i, j)
            np.add.at(expected[0], partitioning.range(j).start + dst.astype(int), 1)
            np.add.at(expected[1], partitioning.range(i).start + src.astype(int), 1)
    found = [popularity(edges, k) for k in range(partitioning.partitions)]
    np.testing.assert_array_equal(np.concatenate(found, 1), expected)
