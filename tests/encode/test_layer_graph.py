"""A sample's tensors are its arrays: the same edges, hops and relations, and true degrees where an encoder asks for them."""

import numpy as np
import pytest
import torch

from marius_lite.encode.layer_graph import graph_arrays, layer_graph
from marius_lite.graph.dataset import Dataset
from marius_lite.rows.host import OnHost
from marius_lite.sampling.neighbours import NeighbourLists


@pytest.mark.parametrize("degrees", [False, True])
def test_nothing_is_lost_on_the_way(surrounded, degrees):
    dataset = Dataset.open(surrounded)
    lists = NeighbourLists(dataset.adjacency, degrees=degrees)
    lists.enter({k: 75 * k for k in range(4)})
    sample = lists.sample(np.array([3, 80, 290]), [4, -1], seed=7)
    arrays = graph_arrays(sample, lists)
    graph = layer_graph(sample, OnHost([], arrays), arrays)
    assert graph.hop_nodes == tuple(sample.hop_nodes)
    assert graph.hop_edges == tuple(sample.hop_edges)
    np.testing.assert_array_equal(graph.indptr, sample.indptr)
    np.testing.assert_array_equal(graph.indices, sample.indices)
    assert graph.rel.dtype == torch.int64
    np.testing.assert_array_equal(graph.rel, sample.rel)
    if degrees:
        true = np.concatenate([np.diff(dataset.adjacency.read(k).indptr) for k in range(4)])
        assert (graph.degrees.numpy() <= true[sample.nodes]).all()  # loops do not count
        assert (graph.degrees.numpy() >= true[sample.nodes] - 3).all()
    else:
        assert graph.degrees is None
    lists.close()
